"""More shapes of files: labels with a long tail, of several words, and in some rows only."""

import json

from _support.shapes import (
    DAYS,
    NOTES,
    PEOPLE,
    ROWS,
    TITLES,
    Shape,
    _random,
    cycle,
    heading,
    hexes,
    joined,
    json_lines,
    objects,
    sentence,
    some,
    table,
)

_FEW = ["family life", "trade", "sea voyages", "public health", "photography", "law"]
_RARE = [f"{a} {b}" for a in ("early", "rural", "folk", "urban") for b in _FEW]


def themes(n):
    """Return labels of several words with a long tail; every seventh item has none."""
    draw = _random(f"themes {n}")
    often = draw.choices(_FEW, [9, 6, 4, 3, 2, 1], k=1 + n % 3)
    rare = [draw.choice(_RARE)] if n % 3 == 0 else []
    return [] if n % 7 == 6 else list(dict.fromkeys(often + rare))


THEMES = [themes(n) for n in ROWS]
# Without any label nothing is known.
KNOWN = [own or None for own in THEMES]
LONG = [" ".join(sentence(f"long {n} {k}", 9 + k) for k in range(1 + n % 5)) for n in ROWS]
LINKS = [f"https://example.org/{hexes(n, 6)}/page" for n in ROWS]
NUMBERS = [str(1001 + 7 * n) for n in ROWS]
MAILS = [f"{one.lower().replace(' ', '.')}@example.org" for one in PEOPLE]


def bibtex():
    return "\n".join(
        f"@article{{Lee{2000 + n}{'abcd'[n % 4]}{n},\nabstract = {{{LONG[n]}}},\n"
        f"annote = {{}},\nauthor = {{{PEOPLE[n]} and {PEOPLE[-1]}}},\ndoi = {{10.5555/{n}}},\n"
        f"file = {{:C$\\backslash$:/Documents/Papers/paper {n}.pdf:pdf}},\n"
        f"journal = {{Journal of Rivers}},\nkeywords = {{{','.join(THEMES[n])}}},\n"
        f"mendeley-groups = {{To read}},\npages = {{1--{n + 2}}},\ntitle = {{{{{TITLES[n]}}}}},\n"
        f"url = {{{LINKS[n]}}},\nyear = {{{2000 + n % 20}}}\n}}"
        for n in ROWS
    )


RAYYAN = {
    "key": [f"rayyan-{9000 + n}" for n in ROWS],
    "title": TITLES,
    "year": [str(2000 + n % 20) for n in ROWS],
    "month": "",
    "journal": cycle("Rivers", "Annals of Bridges", "Bread Letters"),
    "issn": cycle("0001-1234", "0001-5678"),
    "authors": [f"{one} and {PEOPLE[-1]}" for one in PEOPLE],
    "url": LINKS,
    "language": cycle("eng", "ger", "eng"),
    "publisher": "",
    "abstract": LONG,
    "notes": [f'RAYYAN-INCLUSION: {{"Ann"=>"{("Included", "Excluded")[n % 2]}"}}' for n in ROWS],
    "doi": "",
    "keywords": joined("; ", THEMES),
    "pubmed_id": [str(30_000_000 + n * 71) for n in ROWS],
}
COVIDENCE = {
    "Title": TITLES,
    "Authors": [f"{one.split()[1]}, A.; Lee, B." for one in PEOPLE],
    "Abstract": LONG,
    "Published Year": [str(2000 + n % 20) for n in ROWS],
    "Journal": cycle("Rivers", "Annals of Bridges"),
    "Accession Number": [str(30_000_000 + n * 71) for n in ROWS],
    "Ref": "",
    "Covidence #": [f"#{n + 12}" for n in ROWS],
    "Study": [f"{one.split()[1]} {2000 + n % 20}" for n, one in enumerate(PEOPLE)],
    "Notes": some([f"Ann Lee: {one} ({DAYS[0]});" for one in NOTES], 4),
    "Tags": joined("; ", THEMES),
}


def brat():
    files = {}
    for n in ROWS:
        files[f"doc-{n:02}.txt"] = LONG[n] + "\n"
        files[f"doc-{n:02}.ann"] = "".join(
            f"T{k + 1}\t{one.title().replace(' ', '_')} {4 * k} {4 * k + 3}\tThe\n"
            for k, one in enumerate(THEMES[n])
        )
    return files


def argilla(n):
    return {
        "id": hexes(n, 32),
        "text": LONG[n],
        "inputs": {"text": LONG[n]},
        "prediction": [{"label": one, "score": 0.4} for one in reversed(_FEW)],
        "prediction_agent": "model-2",
        "annotation": THEMES[n] or None,
        "annotation_agent": "ann",
        "status": "Validated" if THEMES[n] else "Default",
        "event_timestamp": f"{DAYS[n]}T10:00:00",
        "metrics": {"text_length": len(LONG[n])},
        "vectors": None,
        "explanation": None,
    }


def label_studio_min(n):
    topic = THEMES[n][0] if len(THEMES[n]) == 1 else {"choices": THEMES[n]}
    return {
        "review": LONG[n],
        "id": n + 1,
        **({"topic": topic} if THEMES[n] else {}),
        "annotator": 1 + n % 2,
        "annotation_id": 40 + n,
        "created_at": f"{DAYS[n]}T10:00:00.101Z",
        "updated_at": f"{DAYS[n]}T10:00:09.101Z",
        "lead_time": 2.5 + n / 7,
    }


def victoria_albert(n):
    return {
        "systemNumber": f"O{100000 + n * 31}",
        "accessionNumber": f"{n}-1901",
        "objectType": ["Photograph", "Print", "Teapot"][n % 3],
        "_currentLocation": {"id": "THES48602", "type": "storage", "displayName": "In store"},
        "_primaryTitle": TITLES[n],
        "_primaryMaker": {"name": PEOPLE[n], "association": ["maker", "artist"][n % 2]},
        "_primaryImageId": f"2006A{n:04}",
        "_primaryDate": f"ca. {1800 + n}",
        "_primaryPlace": ["London", "Oulu", ""][n % 3],
        "_warningTypes": [],
        "_images": {"_iiif_image_base_url": LINKS[n], "imageResolution": "high"},
    }


def europeana(n):
    names = {"edmConceptPrefLabelLangAware": {"en": THEMES[n]}} if THEMES[n] else {}
    return {
        "completeness": n % 10,
        "country": [["Germany", "Finland"][n % 2]],
        "dataProvider": [["Library of Rivers", "City Archive", "Museum of Bread"][n % 3]],
        "dcCreator": [PEOPLE[n]],
        "dcDescription": [LONG[n]],
        "dcLanguage": [["de", "fi"][n % 2]],
        **names,
        "europeanaCollectionName": ["91_Ag_DE"],
        "guid": LINKS[n],
        "id": f"/91/{hexes(n, 12)}",
        "rights": ["http://creativecommons.org/publicdomain/mark/1.0/"],
        "title": [TITLES[n]],
        "type": ["IMAGE", "TEXT"][n % 2],
        "ugc": [False],
        "year": [str(1850 + n)],
    }


PETITIONS = {
    "Petition": [f"{TITLES[n]}: {sentence(f'petition {n}', 7)}" for n in ROWS],
    "URL": [f"https://petition.example.org/petitions/{n + 200000}" for n in ROWS],
    "State": cycle("open", "rejected", "closed"),
    "Signatures Count": [str(n * n * 7 + 5) for n in ROWS],
}
AWARDS = {
    "AwardNumber": [str(2_000_000 + n * 173) for n in ROWS],
    "Title": TITLES,
    "NSFOrganization": cycle("SES", "BCS", "EAR"),
    "Program(s)": joined(", ", [[one.title() for one in own] for own in THEMES]),
    "StartDate": [f"{one[5:7]}/{one[8:]}/{one[:4]}" for one in DAYS],
    "PrincipalInvestigator": PEOPLE,
    "State": cycle("CA", "NY", "TX", "OH", "WA"),
    "Organization": cycle("University of Rivers", "Bridge College", "Oulu State University"),
    "AwardInstrument": cycle("Standard Grant", "Continuing Grant"),
    "AwardedAmountToDate": [f"${100 + n},{n:03}.00" for n in ROWS],
    "PIEmailAddress": MAILS,
    "OrganizationStreet": [f"{n} HARBOUR ST" for n in ROWS],
    "ProgramElementCode(s)": [f"{1300 + n % 5}, {7500 + n % 3}" for n in ROWS],
    "Abstract": LONG,
}
MICROSOFT = {
    "ID": [str(n + 1) for n in ROWS],
    "Start time": [f"{one} 10:01:02" for one in DAYS],
    "Completion time": [f"{one} 10:04:55" for one in DAYS],
    "Email": "anonymous",
    "Name": "",
    "Which subjects did the course cover?": ["".join(f"{one};" for one in own) for own in THEMES],
    "What would you change?": LONG,
    "Would you recommend it?": cycle("Yes", "No", "Maybe"),
}


def survey_monkey():
    chosen = [*_FEW, *_RARE[:3]]
    top = ["Respondent ID", "Collector ID", "Start Date", "Which subjects? (all that apply)"]
    top += [""] * (len(chosen) - 1) + ["What would you change?"]
    under = ["", "", "", *chosen, "Open-Ended Response"]
    rows = [
        [NUMBERS[n], "4401", DAYS[n], *(one if one in THEMES[n] else "" for one in chosen), LONG[n]]
        for n in ROWS
    ]
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in [top, under, *rows])


SURVEYED = [[one for one in own if one in [*_FEW, *_RARE[:3]]] for own in THEMES]
ASANA = {
    "Task ID": [str(1_200_000_000_000_000 + n) for n in ROWS],
    "Created At": DAYS,
    "Completed At": some(DAYS, 3),
    "Last Modified": DAYS,
    "Name": TITLES,
    "Section/Column": cycle("Backlog", "Doing", "Done"),
    "Assignee": some(PEOPLE, 2),
    "Assignee Email": some(MAILS, 2),
    "Start Date": "",
    "Due Date": some(DAYS, 4),
    "Tags": joined(",", THEMES),
    "Notes": some(LONG, 2),
    "Projects": "Museum",
    "Parent task": some([heading(n + 3) for n in ROWS], 9),
    "Blocked By (Dependencies)": "",
}
INSTAPAPER = {
    "URL": LINKS,
    "Title": TITLES,
    "Selection": some(NOTES, 5),
    "Folder": cycle("Unread", "Archive", "Unread"),
    "Timestamp": [str(1_600_000_000 + n * 86_400) for n in ROWS],
    "Tags": [json.dumps(own) for own in THEMES],
}


def standard_notes():
    notes = [
        {
            "uuid": hexes(n, 32),
            "content_type": "Note",
            "content": {"title": TITLES[n], "text": LONG[n], "references": []},
            "created_at": f"{DAYS[n]}T10:00:00.000Z",
        }
        for n in ROWS
    ]
    tags = [
        {
            "uuid": hexes(500 + k, 32),
            "content_type": "Tag",
            "content": {
                "title": one,
                "references": [
                    {"uuid": hexes(n, 32), "content_type": "Note"} for n in ROWS if one in THEMES[n]
                ],
            },
        }
        for k, one in enumerate([*_FEW, *_RARE])
    ]
    return {"version": "004", "items": notes + tags}


def youtube(n):
    return {
        "kind": "youtube#video",
        "etag": hexes(n, 20),
        "id": hexes(n, 11),
        "snippet": {
            "publishedAt": f"{DAYS[n]}T10:00:00Z",
            "channelId": f"UC{hexes(n % 2, 10)}",
            "title": TITLES[n],
            "description": LONG[n],
            "thumbnails": {"default": {"url": LINKS[n], "width": 120, "height": 90}},
            "channelTitle": ["River TV", "Bridges"][n % 2],
            **({"tags": THEMES[n]} if THEMES[n] else {}),
            "categoryId": str(22 + n % 4),
            "liveBroadcastContent": "none",
            "localized": {"title": TITLES[n], "description": LONG[n]},
        },
        "statistics": {"viewCount": str(n * 991), "likeCount": str(n)},
    }


KOBO_NAMES = [one.replace(" ", "_") for one in _FEW]
KOBO_TAGS = [[one.replace(" ", "_") for one in own if one in _FEW] for own in THEMES]
KOBO = {
    "start": [f"{one}T10:00:00.000+02:00" for one in DAYS],
    "end": [f"{one}T10:09:00.000+02:00" for one in DAYS],
    "interviewer": PEOPLE,
    "What do you need?": LONG,
    "topics": joined(" ", KOBO_TAGS),
    **{f"topics/{one}": ["01"[one in own] for own in KOBO_TAGS] for one in KOBO_NAMES},
    "_id": NUMBERS,
    "_uuid": [hexes(n, 32) for n in ROWS],
    "_submission_time": DAYS,
    "_status": "submitted_via_web",
    "_index": [str(n + 1) for n in ROWS],
}


def atlas(folder):
    """Write the workbook of quotations of ATLAS.ti: codes on lines of a cell."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(
        ["ID", "Document", "Quotation Name", "Quotation Content", "Comment", "Codes", "Reference"]
    )
    for n in ROWS:
        codes = "\n".join(THEMES[n]) or None
        place = f"Interview {n % 3}.docx"
        row = [f"{1 + n % 3}:{n}", place, f"{LONG[n][:28]}…", LONG[n], None, codes, f"¶ {n}"]
        sheet.append(row)
    book.save(folder / "Quotations.xlsx")


DEDOOSE = {
    "Media Title": cycle("Interview 1.docx", "Interview 2.docx", "Diary.docx"),
    "Excerpt Range": [f"{n * 90}-{n * 90 + 80}" for n in ROWS],
    "Excerpt Creator": cycle("ann", "boris"),
    "Excerpt Date": DAYS,
    "Excerpt Copy": LONG,
    "Codes Applied Combined": joined(", ", [[one for one in own if one in _FEW] for own in THEMES]),
    "Resource Creator": "ann",
}
for _one in _FEW:
    DEDOOSE[f"Code: {_one} Applied"] = [str(_one in own) for own in THEMES]
    DEDOOSE[f"Code: {_one} Range"] = some(["0-0" for _ in ROWS], 50)
    DEDOOSE[f"Code: {_one} Weight"] = ""
COMMON = [[one for one in own if one in _FEW] or None for own in THEMES]


def product(n):
    return {
        "asin": f"B00{hexes(n, 7).upper()}",
        "title": TITLES[n],
        "feature": [sentence(f"feature {n} {k}", 5) for k in range(3)],
        "description": [LONG[n]],
        "price": f"${3 + n}.99",
        "imageURL": [LINKS[n]],
        "also_buy": [f"B00{hexes((n + k) % 40, 7).upper()}" for k in range(1, 4)],
        "also_viewed": [f"B00{hexes((n + k) % 40, 7).upper()}" for k in range(4, 6)],
        "brand": ["Riverside", "Bridge & Co", "Harbour"][n % 3],
        "rank": f"{n * 97},{n:03} in Books (",
        "category": THEMES[n],
    }


RECIPES = {
    "name": [one.lower() for one in TITLES],
    "id": NUMBERS,
    "minutes": [str(5 * (n % 12)) for n in ROWS],
    "contributor_id": [str(4000 + n % 9) for n in ROWS],
    "submitted": DAYS,
    "tags": [str(own) for own in THEMES],
    "nutrition": [str([51.5 + n, 0.0, 13.0, 0.0, 2.0]) for n in ROWS],
    "n_steps": [str(2 + n % 3) for n in ROWS],
    "steps": [str([sentence(f"step {n} {k}", 6).lower() for k in range(2 + n % 3)]) for n in ROWS],
    "description": LONG,
    "ingredients": [
        str(_random(f"food {n}").sample(["flour", "sugar", "salt", "egg", "milk", "oil"], 4))
        for n in ROWS
    ],
    "n_ingredients": "4",
}
TRIALS = {
    "NCT Number": [f"NCT0{3000000 + n * 137}" for n in ROWS],
    "Study Title": TITLES,
    "Study URL": LINKS,
    "Acronym": some([f"R{n}X" for n in ROWS], 3),
    "Study Status": cycle("COMPLETED", "RECRUITING", "UNKNOWN"),
    "Brief Summary": LONG,
    "Study Results": cycle("NO", "YES", "NO"),
    "Conditions": joined("|", [own or ["law"] for own in THEMES]),
    "Interventions": [f"DRUG: Compound {n}|OTHER: Placebo" for n in ROWS],
    "Sponsor": cycle("University of Oulu", "Bridge Pharma", "Bread Hospital"),
    "Sex": cycle("ALL", "FEMALE"),
    "Age": cycle("ADULT, OLDER_ADULT", "CHILD, ADULT"),
    "Phases": cycle("PHASE2", "NA", "PHASE1|PHASE2"),
    "Enrollment": [str(20 + n * 3) for n in ROWS],
    "Funder Type": cycle("OTHER", "INDUSTRY"),
    "Study Type": cycle("INTERVENTIONAL", "OBSERVATIONAL"),
}
CLICKUP = {
    "Task ID": [hexes(n, 9) for n in ROWS],
    "Task Name": TITLES,
    "Task Content": some(LONG, 2),
    "Status": cycle("to do", "in progress", "complete"),
    "Date Created": [str(1_600_000_000_000 + n * 86_400_000) for n in ROWS],
    "Assignees": [f"[{one}]" for one in PEOPLE],
    "Priority": cycle("null", "2", "3"),
    "Tags": [f"[{','.join(own)}]" for own in THEMES],
    "List Name": "Museum",
    "Comments": "[]",
    "Time Logged": "0",
}


def tweets():
    made = [
        {
            "tweet": {
                "id_str": str(1_200_000_000_000_000_000 + n),
                "full_text": f"{NOTES[n]} {' '.join('#' + one for one in KOBO_TAGS[n])}",
                "created_at": "Wed Oct 10 20:19:24 +0000 2018",
                "lang": ["en", "fr"][n % 2],
                "source": '<a href="http://twitter.com">Twitter Web App</a>',
                "favorite_count": str(n % 5),
                "entities": {
                    "hashtags": [{"text": one, "indices": ["0", "3"]} for one in KOBO_TAGS[n]],
                    "urls": [],
                    "user_mentions": [],
                },
            }
        }
        for n in ROWS
    ]
    return f"window.YTD.tweets.part0 = {json.dumps(made, indent=2)}"


CLIPPINGS = "".join(
    f"\ufeff{cycle('On Rivers', 'Of Bridges')[n]} ({PEOPLE[n]})\r\n- Your Highlight on page {n} | "
    f"Location {n * 10}-{n * 10 + 2} | Added on Monday, 3 February 2020 10:11:12\r\n\r\n"
    f"{LONG[n]}\r\n==========\r\n"
    for n in ROWS
)

THIRD = {
    "Mendeley": Shape({"library.bib": bibtex()}, (TITLES, LONG), KNOWN, ("Users",)),
    "Rayyan": Shape({"articles.csv": table(RAYYAN)}, (TITLES, LONG), KNOWN, ("RAYYAN",)),
    "Covidence": Shape({"review.csv": table(COVIDENCE)}, (TITLES, LONG), KNOWN),
    "brat": Shape(
        brat(), (LONG,), [[x.title().replace(" ", "_") for x in own] or None for own in THEMES]
    ),
    "Argilla": Shape({"records.json": json_lines(argilla)}, (LONG,), KNOWN),
    "Label Studio, short": Shape(
        {"project-1.json": json.dumps(objects(label_studio_min))}, (LONG,), KNOWN
    ),
    "Victoria and Albert": Shape(
        {"search.json": json.dumps({"info": {"page": 1}, "records": objects(victoria_albert)})},
        (TITLES,),
    ),
    "Europeana": Shape(
        {
            "search.json": json.dumps(
                {"apikey": "x", "success": True, "totalResults": 999, "items": objects(europeana)}
            )
        },
        (TITLES, LONG),
        KNOWN,
    ),
    "petitions": Shape({"petitions.csv": table(PETITIONS)}, (TITLES,)),
    "awards": Shape(
        {"Awards.csv": table(AWARDS)},
        (TITLES, LONG),
        [[x.title() for x in own] or None for own in THEMES],
        ("HARBOUR",),
    ),
    "Microsoft Forms": Shape({"answers.csv": table(MICROSOFT)}, (LONG,), KNOWN),
    "SurveyMonkey": Shape({"survey.csv": survey_monkey()}, (LONG,), SURVEYED),
    "Asana": Shape({"museum.csv": table(ASANA)}, (TITLES, some(LONG, 2)), KNOWN),
    "Instapaper": Shape({"instapaper.csv": table(INSTAPAPER)}, (TITLES,), THEMES),
    "Standard Notes": Shape(
        {"backup.txt": json.dumps(standard_notes(), indent=2)}, (TITLES, LONG), KNOWN
    ),
    "YouTube": Shape(
        {"videos.json": json.dumps({"kind": "youtube#videoList", "items": objects(youtube)})},
        (TITLES, LONG),
        KNOWN,
    ),
    "KoboToolbox": Shape({"form.csv": table(KOBO, ";")}, (LONG,), [x or None for x in KOBO_TAGS]),
    "ATLAS.ti": Shape(atlas, (LONG,), KNOWN),
    "Dedoose": Shape({"excerpts.csv": table(DEDOOSE)}, (LONG,), COMMON),
    "products": Shape({"meta_Books.json": json_lines(product)}, (TITLES, LONG), THEMES, ("B00",)),
    "recipes": Shape({"recipes.csv": table(RECIPES)}, (RECIPES["name"], LONG), THEMES),
    "trials": Shape(
        {"ctg-studies.csv": table(TRIALS)},
        (TITLES, LONG),
        [own or ["law"] for own in THEMES],
    ),
    "ClickUp": Shape({"tasks.csv": table(CLICKUP)}, (TITLES, some(LONG, 2)), THEMES),
    "tweets": Shape({"tweets.js": tweets()}, refused="X's archive; remove what is before the list"),
    "clippings": Shape({"My Clippings.txt": CLIPPINGS}, (LONG,)),
}
