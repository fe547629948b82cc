"""Shapes of files that were made after the reading of corpora, to count what is silently wrong."""

import json

from _support.shapes import (
    BODIES,
    DAYS,
    NOTES,
    PEOPLE,
    ROWS,
    TAGS,
    TITLES,
    Shape,
    cycle,
    hexes,
    joined,
    json_lines,
    json_list,
    objects,
    some,
    table,
)

MAIL = [f"{one.lower().replace(' ', '.')}@example.org" for one in PEOPLE]
TIMES = [f"{one} 09:{n % 60:02}:11" for n, one in enumerate(DAYS)]


def jira():
    head = ["Summary", "Issue key", "Issue id", "Issue Type", "Status", "Project key", "Priority"]
    head += ["Resolution", "Assignee", "Reporter", "Created", "Labels", "Labels", "Labels"]
    head += ["Description", "Environment", "Watchers", "Comment"]
    rows = []
    for n in ROWS:
        own = [*TAGS[n], "", ""][:3]
        kind, state = ["Bug", "Story", "Task"][n % 3], ["To Do", "Done"][n % 2]
        row = [TITLES[n], f"RIV-{n}", str(10000 + n), kind, state, "RIV"]
        row += [["Medium", "High"][n % 2], "", PEOPLE[n], MAIL[n], TIMES[n], *own, BODIES[n]]
        rows.append([*row, "", MAIL[n], f"{DAYS[n]};{PEOPLE[n]};{NOTES[n]}"])
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in [head, *rows])


GITLAB = {
    "Title": TITLES,
    "Description": BODIES,
    "Issue ID": [str(n + 1) for n in ROWS],
    "URL": [f"https://gitlab.com/a/b/-/issues/{n + 1}" for n in ROWS],
    "State": cycle("Open", "Closed"),
    "Author": PEOPLE,
    "Author Username": [one.split()[0].lower() for one in PEOPLE],
    "Assignee": some(PEOPLE, 3),
    "Confidential": "No",
    "Locked": "No",
    "Due Date": "",
    "Created At (UTC)": TIMES,
    "Milestone": cycle("", "v1.0", "v1.1"),
    "Weight": cycle("", "1", "3"),
    "Labels": joined(","),
    "Time Estimate": "0",
}
AIRTABLE = {
    "Name": TITLES,
    "Notes": BODIES,
    "Attachments": [
        f"scan {n}.pdf (https://dl.airtable.com/.attachments/{hexes(n)})" for n in ROWS
    ],
    "Status": cycle("Todo", "In progress", "Done"),
    "Collaborator": PEOPLE,
    "Themes": joined(","),
    "Created": DAYS,
    "Done?": cycle("checked", ""),
}
FORM = {
    "Timestamp": [f"{one.replace('-', '/')} 10:00:00 AM GMT+1" for one in DAYS],
    "Email Address": MAIL,
    "How satisfied are you overall?": [str(1 + n % 5) for n in ROWS],
    "Which topics interest you? (tick all that apply)": joined(", "),
    "Is there anything else that you want to tell us?": BODIES,
    "Do you agree to the use of your data?": "Yes, I agree",
}
MOMA = {
    "Title": TITLES,
    "Artist": PEOPLE,
    "ConstituentID": [str(6000 + n % 6) for n in ROWS],
    "ArtistBio": [
        f"({('Finnish', 'Italian', 'Japanese')[n % 3]}, {1841 + n}-{1918 + n})" for n in ROWS
    ],
    "Nationality": [f"({('Finnish', 'Italian', 'Japanese')[n % 3]})" for n in ROWS],
    "BeginDate": [f"({1841 + n})" for n in ROWS],
    "Gender": cycle("(male)", "(female)"),
    "Date": [str(1896 + n) for n in ROWS],
    "Medium": cycle("Ink and cut-and-pasted painted pages on paper", "Gelatin silver print"),
    "Dimensions": [f'{19 + n} 1/8 x {66 + n} 1/2" (48.6 x 168.9 cm)' for n in ROWS],
    "CreditLine": [f"Gift of {one} in honour of the museum" for one in PEOPLE],
    "AccessionNumber": [f"{800 + n}.1996" for n in ROWS],
    "Classification": cycle("Architecture", "Photograph", "Drawing"),
    "Department": cycle("Architecture & Design", "Photography", "Drawings & Prints"),
    "DateAcquired": DAYS,
    "Cataloged": "Y",
    "ObjectID": [str(2 + n) for n in ROWS],
    "URL": [f"https://www.moma.org/collection/works/{2 + n}" for n in ROWS],
}
NATURALIST = {
    "id": [str(90000 + n) for n in ROWS],
    "observed_on": DAYS,
    "user_login": [one.split()[1].lower() for one in PEOPLE],
    "quality_grade": cycle("research", "needs_id", "casual"),
    "license": cycle("CC-BY-NC", "CC0"),
    "url": [f"https://www.inaturalist.org/observations/{90000 + n}" for n in ROWS],
    "tag_list": joined(", "),
    "description": some(BODIES, 3),
    "num_identification_agreements": [str(n % 4) for n in ROWS],
    "captive_cultivated": "false",
    "place_guess": cycle("Oulu, FI", "Torino, IT", "Kobe, JP"),
    "latitude": [f"{60 + n / 7:.6f}" for n in ROWS],
    "species_guess": cycle("Red Fox", "Great Tit", "Common Frog"),
    "scientific_name": cycle("Vulpes vulpes", "Parus major", "Rana temporaria"),
    "common_name": cycle("Red Fox", "Great Tit", "Common Frog"),
    "iconic_taxon_name": cycle("Mammalia", "Aves", "Amphibia"),
}
NATURALIST_TEXTS = (some(BODIES, 3),)


def dcat(n):
    return {
        "@type": "dcat:Dataset",
        "accessLevel": "public",
        "bureauCode": ["010:86"],
        "contactPoint": {"fn": PEOPLE[n], "hasEmail": f"mailto:{MAIL[n]}"},
        "description": BODIES[n],
        "distribution": [{"@type": "dcat:Distribution", "mediaType": "text/csv", "title": "csv"}],
        "identifier": f"ID-{n:04}",
        "keyword": TAGS[n],
        "modified": DAYS[n],
        "programCode": ["010:000"],
        "publisher": {"@type": "org:Organization", "name": "Department of Bridges"},
        "title": TITLES[n],
    }


DCAT = {
    "@context": "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld",
    "@type": "dcat:Catalog",
    "conformsTo": "https://project-open-data.cio.gov/v1.1/schema",
    "describedBy": "https://project-open-data.cio.gov/v1.1/schema/catalog.json",
    "dataset": objects(dcat),
}
DIIGO = {
    "title": TITLES,
    "url": [f"https://example.org/{n}" for n in ROWS],
    "tags": joined(" "),
    "description": some(NOTES, 3),
    "comments": "",
    "annotations": [f"Highlight: {BODIES[n]}" if n % 4 == 0 else "" for n in ROWS],
    "created_at": TIMES,
}
READWISE = {
    "Highlight": BODIES,
    "Book Title": cycle("On Rivers", "Of Bridges", "The Glass Horse"),
    "Book Author": cycle("Ann Lee", "Boris Novak"),
    "Amazon Book ID": cycle("B00X", "B00Y", "B00Z"),
    "Note": some(NOTES, 5),
    "Color": cycle("yellow", "blue"),
    "Tags": joined(", "),
    "Location Type": "location",
    "Location": [str(100 + 9 * n) for n in ROWS],
    "Highlighted at": [f"{one}+00:00" for one in TIMES],
    "Document tags": cycle("non-fiction", ""),
}


def library_thing(n):
    return {
        "books_id": str(200 + n),
        "title": TITLES[n],
        "sortcharacter": "1",
        "public": "true",
        "primaryauthor": PEOPLE[n],
        "authors": [{"lf": PEOPLE[n], "fl": PEOPLE[n], "role": "Author"}],
        "tags": TAGS[n],
        "tagidA": [hash(one) % 1000 for one in TAGS[n]],
        "collections": [["Your library"], ["Your library", "To read"]][n % 2],
        "publication": "Bread Press (2004), 288 pages",
        "date": str(1990 + n % 30),
        "summary": f"{TITLES[n]} by {PEOPLE[n]} ({1990 + n % 30})",
        "language": ["English"],
        "format": [{"code": "1", "text": "Paper Book"}],
        "rating": 4,
        "entrydate": DAYS[n],
    }


LETTERBOXD = {
    "Date": DAYS,
    "Name": TITLES,
    "Year": [str(1950 + n) for n in ROWS],
    "Letterboxd URI": [f"https://boxd.it/{hexes(n, 5)}" for n in ROWS],
    "Rating": cycle("4", "3.5", ""),
    "Rewatch": cycle("", "Yes"),
    "Review": BODIES,
    "Tags": joined(", "),
    "Watched Date": DAYS,
}


def day_one(n):
    return {
        "uuid": hexes(n, 32).upper(),
        "creationDate": f"{DAYS[n]}T10:00:00Z",
        "modifiedDate": f"{DAYS[n]}T11:00:00Z",
        "timeZone": "Europe/Helsinki",
        "starred": n % 7 == 0,
        "isPinned": False,
        "text": f"# {TITLES[n]}\n\n{BODIES[n]}",
        "tags": TAGS[n],
        "creationDevice": ["iPhone", "MacBook"][n % 2],
        "weather": {"conditionsDescription": "Mostly Cloudy", "temperatureCelsius": 3 + n},
        "location": {"placeName": "Harbour Street 3", "localityName": "Oulu", "latitude": 65.0},
    }


def simplenote(n):
    return {
        "id": hexes(n, 32),
        "content": f"{TITLES[n]}\r\n{BODIES[n]}",
        "creationDate": f"{DAYS[n]}T10:00:00.000Z",
        "lastModified": f"{DAYS[n]}T11:00:00.000Z",
        **({"tags": TAGS[n]} if n % 5 else {}),
        "markdown": True,
    }


SIMPLENOTE = {
    "activeNotes": objects(simplenote),
    "trashedNotes": [{"id": hexes(99, 32), "content": "Old words to be thrown away soon"}],
}


def hypothesis(n):
    return {
        "id": hexes(n, 22),
        "created": f"{DAYS[n]}T10:00:00+00:00",
        "user": f"acct:{PEOPLE[n].split()[0].lower()}@hypothes.is",
        "uri": f"https://example.org/article/{n % 4}",
        "text": NOTES[n],
        "tags": TAGS[n],
        "group": "__world__",
        "permissions": {"read": ["group:__world__"], "admin": ["acct:a"]},
        "target": [
            {
                "source": f"https://example.org/article/{n % 4}",
                "selector": [
                    {"type": "TextQuoteSelector", "exact": BODIES[n], "prefix": "a", "suffix": "b"},
                    {"type": "TextPositionSelector", "start": 10, "end": 20},
                ],
            }
        ],
        "document": {"title": ["An article about rivers"]},
        "flagged": False,
    }


TAGUETTE = [(n, tag) for n in ROWS for tag in TAGS[n]]
TAGUETTE = "id,document,content,tag\n" + "".join(
    f"{n + 1},interview {n % 3}.docx,{BODIES[n]},{tag}\n" for n, tag in TAGUETTE
)


def zendesk(n):
    return {
        "url": f"https://a.zendesk.com/api/v2/tickets/{n}.json",
        "id": 35000 + n,
        "external_id": None,
        "via": {"channel": ["email", "web"][n % 2], "source": {"rel": None}},
        "created_at": f"{DAYS[n]}T10:00:00Z",
        "type": ["incident", "question", None][n % 3],
        "subject": TITLES[n],
        "raw_subject": TITLES[n],
        "description": BODIES[n],
        "priority": ["high", "normal", None][n % 3],
        "status": ["open", "solved"][n % 2],
        "recipient": "help@example.org",
        "requester_id": 20978392 + n % 5,
        "collaborator_ids": [],
        "tags": TAGS[n],
        "custom_fields": [{"id": 27642, "value": "745"}, {"id": 27648, "value": None}],
        "satisfaction_rating": {"score": ["good", "unoffered"][n % 2]},
    }


def crossref(n):
    return {
        "DOI": f"10.5555/{n:05}",
        "type": ["journal-article", "book-chapter"][n % 2],
        "title": [TITLES[n]],
        "abstract": f"<jats:p>{BODIES[n]}</jats:p>",
        "container-title": [["Journal of Rivers", "Annals of Bridges"][n % 2]],
        "author": [{"given": "Ann", "family": PEOPLE[n], "sequence": "first", "affiliation": []}],
        "subject": TAGS[n],
        "publisher": "Bread Press",
        "language": "en",
        "reference-count": n,
        "reference": [{"key": f"r{k}", "unstructured": NOTES[k]} for k in range(n % 3)],
        "issued": {"date-parts": [[2000 + n % 20, 3]]},
        "URL": f"https://doi.org/10.5555/{n:05}",
        "ISSN": ["0000-0000"],
        "score": 1.0,
    }


CROSSREF = {
    "status": "ok",
    "message-type": "work-list",
    "message-version": "1.0.0",
    "message": {
        "facets": {},
        "total-results": 4000,
        "items": objects(crossref),
        "items-per-page": 40,
        "query": {"start-index": 0, "search-terms": "rivers"},
    },
}


def scholar(n):
    return {
        "paperId": hexes(n, 40),
        "externalIds": {"DOI": f"10.5555/{n:05}", "CorpusId": 1000 + n},
        "title": TITLES[n],
        "abstract": BODIES[n] if n % 4 else None,
        "venue": ["Rivers", "Bridges"][n % 2],
        "year": 2000 + n % 20,
        "authors": [{"authorId": str(n), "name": PEOPLE[n]}],
        "publicationTypes": [["JournalArticle"], ["Review", "JournalArticle"]][n % 2],
        "s2FieldsOfStudy": [{"category": one.title(), "source": "s2-fos-model"} for one in TAGS[n]],
        "tldr": {"model": "tldr@v2.0.0", "text": NOTES[n]},
    }


OUTLOOK = {
    "Subject": TITLES,
    "Body": BODIES,
    "From: (Name)": PEOPLE,
    "From: (Address)": MAIL,
    "From: (Type)": "SMTP",
    "To: (Name)": cycle("Ann Lee", "Boris Novak"),
    "CC: (Name)": "",
    "Billing Information": "",
    "Categories": joined(";"),
    "Importance": cycle("Normal", "High", "Normal"),
    "Mileage": "",
    "Sensitivity": "Normal",
}
REQUESTS = {
    "Unique Key": [str(61000000 + n) for n in ROWS],
    "Created Date": [f"{one[5:7]}/{one[8:]}/{one[:4]} 10:11:00 AM" for one in DAYS],
    "Closed Date": "",
    "Agency": cycle("NYPD", "HPD", "DSNY"),
    "Agency Name": cycle("New York City Police Department", "Housing", "Sanitation"),
    "Complaint Type": cycle("Noise - Residential", "HEAT/HOT WATER", "Illegal Parking"),
    "Descriptor": cycle(
        "Banging/Pounding", "ENTIRE BUILDING", "Blocked Hydrant", "Loud Music/Party"
    ),
    "Location Type": cycle("Residential Building/House", "Street/Sidewalk"),
    "Incident Zip": [f"{10000 + n % 9}" for n in ROWS],
    "Incident Address": [f"{100 + n} EAST {n} STREET" for n in ROWS],
    "City": cycle("BRONX", "NEW YORK"),
    "Status": cycle("In Progress", "Closed"),
    "Resolution Description": cycle(
        "The Police Department responded to the complaint and took action to fix the condition.",
        "The Department of Housing inspected the following conditions and found no violation.",
        "Your complaint has been received by the Police Department and is being looked at.",
    ),
    "Borough": cycle("BRONX", "MANHATTAN"),
    "Latitude": [f"{40 + n / 99:.6f}" for n in ROWS],
}
ASREVIEW = {
    "record_id": [str(n) for n in ROWS],
    "title": TITLES,
    "abstract": BODIES,
    "authors": PEOPLE,
    "doi": [f"10.5555/{n}" for n in ROWS],
    "included": cycle("0", "1", "0", "0"),
    "asreview_ranking": [str(n + 1) for n in ROWS],
}
BY_HAND = "\n".join(
    [
        "Sammlung Brücken;;;;",
        "Stand: 3.4.2024;;;;",
        ";;;;",
        "Lfd. Nr.;Titel;Beschreibung;Schlagworte;Preis",
        *(f"{n + 1};{TITLES[n]};{BODIES[n]};{', '.join(TAGS[n])};{n},50" for n in ROWS),
    ]
)


def slack(n):
    return {
        "type": "message",
        "user": f"U0{n % 5}ABC",
        "text": BODIES[n],
        "ts": f"16{n:08}.000200",
        "client_msg_id": hexes(n, 32),
        "team": "T01",
        "reactions": [{"name": ["thumbsup", "tada"][n % 2], "users": ["U01ABC"], "count": 1}],
        "user_profile": {"real_name": PEOPLE[n], "name": PEOPLE[n].split()[0].lower()},
    }


def telegram(n):
    return {
        "id": n,
        "type": "message",
        "date": f"{DAYS[n]}T10:00:00",
        "from": PEOPLE[n],
        "from_id": f"user{n % 6}",
        "text": BODIES[n],
        "text_entities": [{"type": "plain", "text": BODIES[n]}],
    }


TELEGRAM = {"name": "Rivers", "type": "public_channel", "id": 17, "messages": objects(telegram)}
OCCURRENCES = {
    "gbifID": [str(1234500 + n) for n in ROWS],
    "datasetKey": "50c9509d-22c7-4a22-a47d-8c48425ef4a7",
    "kingdom": "Animalia",
    "phylum": cycle("Chordata", "Arthropoda"),
    "class": cycle("Aves", "Insecta"),
    "family": cycle("Paridae", "Apidae", "Turdidae"),
    "species": cycle("Parus major", "Apis mellifera", "Turdus merula"),
    "countryCode": cycle("FI", "IT", "JP"),
    "locality": cycle("Harbour of Oulu, east side", "Torino", "Kobe"),
    "decimalLatitude": [f"{60 + n / 7:.5f}" for n in ROWS],
    "eventDate": DAYS,
    "basisOfRecord": "HUMAN_OBSERVATION",
    "recordedBy": PEOPLE,
    "license": "CC_BY_4_0",
}


def segments(folder):
    """Write the workbook of coded segments of MAXQDA: a row for each segment and code."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    names = "Color|Comment|Document group|Document name|Code|Beginning|End|Weight score|Segment|"
    sheet.append(f"{names}Modified by|Modified on|Area|Coverage %".split("|"))
    for n in ROWS:
        for code in TAGS[n]:
            row = ["*", "", "Interviews", f"I{n % 3}", code, n, n + 3, 0, BODIES[n], PEOPLE[n % 2]]
            sheet.append([*row, DAYS[n], len(BODIES[n]), 0.31 + n / 100])
    book.save(folder / "segments.xlsx")


DIMENSIONS = '"About the data: Exported on Jan 3, 2024, from Dimensions"\n' + table(
    {
        "Rank": [str(500 - n) for n in ROWS],
        "Publication ID": [f"pub.11{n:05}" for n in ROWS],
        "DOI": [f"10.5555/{n}" for n in ROWS],
        "Title": TITLES,
        "Abstract": BODIES,
        "Source title": cycle("Journal of Rivers", "Annals of Bridges"),
        "PubYear": [str(2000 + n % 20) for n in ROWS],
        "Open Access": cycle("All OA; Gold", "Closed"),
        "Publication Type": cycle("Article", "Chapter"),
        "Authors": [f"{one}; {PEOPLE[0]}" for one in PEOPLE],
        "Authors Affiliations": [f"{one} (University of Oulu)" for one in PEOPLE],
        "Times cited": [str(n % 8) for n in ROWS],
        "Fields of Research (ANZSRC 2020)": joined("; "),
    }
)
TODOIST = {
    "TYPE": "task",
    "CONTENT": TITLES,
    "DESCRIPTION": some(NOTES, 2),
    "PRIORITY": cycle("1", "4", "4"),
    "INDENT": cycle("1", "2"),
    "AUTHOR": cycle("Ann (123)", "Boris (124)"),
    "RESPONSIBLE": "",
    "DATE": some(DAYS, 3),
    "DATE_LANG": "en",
    "TIMEZONE": "Europe/Helsinki",
}

SECOND = {
    "Jira": Shape({"jira.csv": jira()}, (TITLES, BODIES), TAGS),
    "GitLab": Shape({"issues.csv": table(GITLAB)}, (TITLES, BODIES), TAGS),
    "Airtable": Shape({"grid.csv": table(AIRTABLE)}, (TITLES, BODIES), TAGS, ("airtable.com",)),
    "Google Forms": Shape({"answers.csv": table(FORM)}, (BODIES,), TAGS, ("@",)),
    "Museum of Modern Art": Shape({"Artworks.csv": table(MOMA)}, (TITLES,), None, ("Gift",)),
    "iNaturalist": Shape({"observations.csv": table(NATURALIST)}, NATURALIST_TEXTS, TAGS),
    "DCAT": Shape({"data.json": json.dumps(DCAT)}, (TITLES, BODIES), TAGS),
    "Diigo": Shape({"diigo.csv": table(DIIGO)}, (TITLES, some(NOTES, 3)), TAGS, ("https",)),
    "Readwise": Shape({"readwise.csv": table(READWISE)}, (BODIES,), TAGS),
    "LibraryThing": Shape(
        {"library.json": json.dumps({str(200 + n): library_thing(n) for n in ROWS})},
        (TITLES,),
        TAGS,
    ),
    "Letterboxd": Shape({"reviews.csv": table(LETTERBOXD)}, (TITLES, BODIES), TAGS),
    "Day One": Shape(
        {"Journal.json": json.dumps({"metadata": {"version": "1.0"}, "entries": objects(day_one)})},
        (TITLES, BODIES),
        TAGS,
    ),
    "Simplenote": Shape(
        {"notes.json": json.dumps(SIMPLENOTE)},
        (TITLES, BODIES),
        [own if n % 5 else None for n, own in enumerate(TAGS)],
    ),
    "Hypothesis": Shape(
        {"annotations.json": json.dumps({"total": 40, "rows": objects(hypothesis)})},
        (NOTES,),
        TAGS,
    ),
    "Taguette": Shape({"highlights.csv": TAGUETTE}, (BODIES,), TAGS),
    "Zendesk": Shape({"tickets.json": json_lines(zendesk)}, (TITLES, BODIES), TAGS),
    "Crossref": Shape({"works.json": json.dumps(CROSSREF)}, (TITLES, BODIES), TAGS, ("<jats",)),
    "Semantic Scholar": Shape(
        {"papers.jsonl": json_lines(scholar)},
        (TITLES, [one if n % 4 else "" for n, one in enumerate(BODIES)]),
        [[one.title() for one in own] for own in TAGS],
    ),
    "Outlook": Shape({"outlook.csv": table(OUTLOOK)}, (TITLES, BODIES), TAGS),
    "requests of citizens": Shape({"311.csv": table(REQUESTS)}, (REQUESTS["Descriptor"],)),
    "ASReview": Shape(
        {"review.csv": table(ASREVIEW)},
        (TITLES, BODIES),
        [["included"] if one == "1" else [] for one in ASREVIEW["included"]],
    ),
    "a table by hand": Shape({"bruecken.csv": BY_HAND}, (TITLES, BODIES), TAGS),
    "Slack": Shape({"general.json": json_list(slack)}, (BODIES,)),
    "Telegram": Shape({"result.json": json.dumps(TELEGRAM)}, (BODIES,)),
    "occurrences of species": Shape(
        {"occurrence.tsv": table(OCCURRENCES, "\t")}, refused="no field looks like a text|not sure"
    ),
    "coded segments of MAXQDA": Shape(segments, (BODIES,), TAGS),
    "Dimensions": Shape({"dimensions.csv": DIMENSIONS}, (TITLES, BODIES), TAGS),
    "Todoist": Shape({"tasks.csv": table(TODOIST)}, (TITLES, some(NOTES, 2))),
}
