"""Shapes of files made after the reading had changed, to count again what is silently wrong."""

import json

from _support.shapes import (
    DAYS,
    NOTES,
    PEOPLE,
    ROWS,
    TITLES,
    Shape,
    cycle,
    hexes,
    joined,
    json_lines,
    objects,
    sentence,
    some,
    table,
)
from _support.shapes_third import COMMON, KNOWN, LINKS, LONG, MAILS, NUMBERS, THEMES

FEW = [own or [] for own in COMMON]
SLUGS = [[one.replace(" ", "-") for one in own] for own in THEMES]
KINDS = cycle("history", "travel", "food", "travel", "history", "art")

REDCAP = {
    "record_id": [str(n + 1) for n in ROWS],
    "redcap_survey_identifier": "",
    "interview_timestamp": [f"{one} 10:11:12" for one in DAYS],
    "what_happened": LONG,
    **{f"topics___{k + 1}": ["01"[(n * k + n) % 3 == 0] for n in ROWS] for k in range(5)},
    "interview_complete": cycle("2", "2", "0"),
}
REDCAP_LABELS = [[f"topics___{k + 1}" for k in range(5) if (n * k + n) % 3 == 0] for n in ROWS]
LENS_LABELS = [
    list(dict.fromkeys(f"A{n % 4}1B{len(one)}/00" for one in THEMES[n])) or None for n in ROWS
]
LENS = {
    "#": [str(n + 1) for n in ROWS],
    "Jurisdiction": cycle("US", "EP", "WO"),
    "Kind": cycle("A1", "B2"),
    "Display Key": [f"US {9000000 + n} B2" for n in ROWS],
    "Lens ID": [f"{n:03}-{n * 7:03}-{n * 13:03}-{n * 31 % 1000:03}" for n in ROWS],
    "Publication Date": DAYS,
    "Title": TITLES,
    "Abstract": LONG,
    "Applicants": [f"{one.upper()};;ACME CORP" for one in PEOPLE],
    "Inventors": [f"{one.split()[1].upper()} {one.split()[0].upper()}" for one in PEOPLE],
    "URL": LINKS,
    "Document Type": cycle("Patent Application", "Granted Patent"),
    "Cited by Patent Count": [str(n % 7) for n in ROWS],
    "Simple Family Members": [f"US {9000000 + n} B2;;WO {2000 + n} A1" for n in ROWS],
    "CPC Classifications": joined(";;", [own or [] for own in LENS_LABELS]),
}


def relief(n):
    return {
        "id": str(3_000_000 + n),
        "score": 1,
        "fields": {
            "title": TITLES[n],
            "body": LONG[n],
            "date": {"created": f"{DAYS[n]}T10:00:00+00:00"},
            "country": [{"id": 8 + n % 3, "name": ["Finland", "Italy", "Japan"][n % 3]}],
            "source": [{"id": 1503, "name": "Red Bridge"}],
            "theme": [{"id": len(one), "name": one} for one in THEMES[n]],
            "format": [{"id": 8, "name": "News and Press Release"}],
        },
    }


def guardian(n):
    return {
        "id": f"world/2020/jan/0{n % 9}/{TITLES[n].lower().replace(' ', '-')}",
        "type": "article",
        "sectionId": KINDS[n],
        "sectionName": KINDS[n].title(),
        "webPublicationDate": f"{DAYS[n]}T10:00:00Z",
        "webTitle": TITLES[n],
        "webUrl": LINKS[n],
        "apiUrl": LINKS[n],
        "fields": {"trailText": NOTES[n], "bodyText": LONG[n], "wordcount": str(100 + n)},
        "tags": [
            {"id": f"world/{one}", "type": "keyword", "webTitle": one, "webUrl": LINKS[n]}
            for one in THEMES[n]
        ],
        "isHosted": False,
        "pillarName": "News",
    }


def times(n):
    return {
        "abstract": NOTES[n],
        "web_url": LINKS[n],
        "snippet": NOTES[n],
        "lead_paragraph": LONG[n],
        "source": "The Times",
        "headline": {"main": TITLES[n], "kicker": None, "print_headline": TITLES[n]},
        "keywords": [
            {"name": "subject", "value": one, "rank": k + 1, "major": "N"}
            for k, one in enumerate(THEMES[n])
        ],
        "pub_date": f"{DAYS[n]}T10:00:00+0000",
        "document_type": "article",
        "news_desk": ["Foreign", "Metro"][n % 2],
        "byline": {"original": f"By {PEOPLE[n]}", "person": []},
        "_id": f"nyt://article/{hexes(n)}",
        "word_count": 100 + n,
    }


SHOPIFY = [
    "Handle,Title,Body (HTML),Vendor,Type,Tags,Published,Option1 Name,Option1 Value,Variant SKU"
]
for _n in ROWS:
    _handle = TITLES[_n].lower().replace(" ", "-")
    _own = f'Riverside,Shirt,"{", ".join(THEMES[_n])}",TRUE,Size,S,R{_n}-S'
    SHOPIFY.append(f'{_handle},{TITLES[_n]},"<p>{LONG[_n]}</p>",{_own}')
    SHOPIFY += [f"{_handle},,,,,,,,{size},R{_n}-{size}" for size in "ML"]
STORYGRAPH = {
    "Title": TITLES,
    "Authors": PEOPLE,
    "Contributors": "",
    "ISBN/UID": [f"978{n:010}" for n in ROWS],
    "Format": cycle("paperback", "digital", "audio"),
    "Read Status": cycle("read", "to-read", "currently-reading"),
    "Date Added": DAYS,
    "Read Count": cycle("1", "0"),
    "Moods": joined(", ", [[*own, "dark"][:2] for own in THEMES]),
    "Pace": cycle("slow", "medium", "fast"),
    "Star Rating": cycle("4.0", "3.5", ""),
    "Review": some([f"<div>{one}</div>" for one in LONG], 2),
    "Content Warnings": "",
    "Tags": joined(", ", THEMES),
    "Owned?": cycle("Yes", "No"),
}
HUB = {
    "dataset": "a/rivers",
    "config": "default",
    "split": "train",
    "features": [
        {"feature_idx": 0, "name": "text", "type": {"dtype": "string", "_type": "Value"}},
        {
            "feature_idx": 1,
            "name": "label",
            "type": {"names": ["neg", "pos"], "_type": "ClassLabel"},
        },
    ],
    "rows": objects(
        lambda n: {"row_idx": n, "row": {"text": LONG[n], "label": n % 2}, "truncated_cells": []}
    ),
    "num_rows_total": 40,
}
SPARQL = {
    "head": {"vars": ["item", "itemLabel", "itemDescription", "genreLabel"]},
    "results": {
        "bindings": objects(
            lambda n: {
                "item": {"type": "uri", "value": f"http://www.wikidata.org/entity/Q{n + 100}"},
                "itemLabel": {"xml:lang": "en", "type": "literal", "value": TITLES[n]},
                "itemDescription": {"xml:lang": "en", "type": "literal", "value": NOTES[n]},
                "genreLabel": {"xml:lang": "en", "type": "literal", "value": KINDS[n]},
            }
        )
    },
}
GEO = {
    "type": "FeatureCollection",
    "features": objects(
        lambda n: {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [25.0 + n / 9, 60.0 + n / 7]},
            "properties": {
                "name": TITLES[n],
                "description": LONG[n],
                "categories": THEMES[n],
                "marker-color": ["#ff0000", "#00ff00"][n % 2],
                "osm_id": 7000 + n,
            },
        }
    ),
}
TROPY = {
    "@context": {"@version": 1.1, "@vocab": "https://tropy.org/v1/tropy#"},
    "@graph": objects(
        lambda n: {
            "@type": "Item",
            "template": "https://tropy.org/v1/templates/generic",
            "title": TITLES[n],
            "description": LONG[n],
            "date": DAYS[n],
            "tag": THEMES[n],
            "photo": [{"@type": "Photo", "filename": f"IMG_{n}.jpg", "mimetype": "image/jpeg"}],
        }
    ),
}
ATOM = {
    "legacyId": [str(n + 1) for n in ROWS],
    "parentId": some([str(n) for n in ROWS], 3),
    "identifier": [f"F{n:03}" for n in ROWS],
    "title": TITLES,
    "levelOfDescription": cycle("Fonds", "Series", "File"),
    "extentAndMedium": [f"{n} cm of textual records" for n in ROWS],
    "repository": "City Archive",
    "archivalHistory": some(NOTES, 9),
    "scopeAndContent": LONG,
    "language": "en",
    "script": "Latn",
    "subjectAccessPoints": joined("|", THEMES),
    "placeAccessPoints": cycle("Oulu", "Turin|Milan", "Kobe"),
    "nameAccessPoints": PEOPLE,
    "eventDates": [str(1900 + n) for n in ROWS],
    "culture": "en",
}
EMOTIONS = "\n".join(
    f"{LONG[n]}\t{','.join(sorted({str(n % 5), str(n * n % 7)}))}\t{hexes(n, 7)}" for n in ROWS
)
EMOTION_LABELS = [sorted({str(n % 5), str(n * n % 7)}) for n in ROWS]


def reddit(n):
    return {
        "id": hexes(n, 6),
        "subreddit": "rivers",
        "title": TITLES[n],
        "selftext": LONG[n] if n % 3 else "",
        "author": PEOPLE[n].split()[0].lower() + str(n),
        "link_flair_text": KINDS[n],
        "score": n * 3,
        "over_18": False,
        "num_comments": n % 9,
        "created_utc": 1_600_000_000 + n,
        "permalink": f"/r/rivers/comments/{hexes(n, 6)}/",
        "is_self": bool(n % 3),
    }


BUGZILLA = {
    "Bug ID": [str(100000 + n) for n in ROWS],
    "Product": cycle("Firefox", "Core"),
    "Component": cycle("Tabs", "Layout", "Networking", "Audio"),
    "Assignee": cycle("nobody", "ann", "boris"),
    "Status": cycle("NEW", "RESOLVED"),
    "Resolution": cycle("---", "FIXED"),
    "Summary": [sentence(f"bug {n}", 8) for n in ROWS],
    "Changed": [f"{one} 10:11:12" for one in DAYS],
    "Keywords": some(joined(", ", SLUGS), 2),
}
EXIF = {
    "SourceFile": [f"./2020/IMG_{1000 + n}.JPG" for n in ROWS],
    "FileName": [f"IMG_{1000 + n}.JPG" for n in ROWS],
    "Model": cycle("Canon EOS 80D", "Pixel 6"),
    "ISO": cycle("100", "400"),
    "Headline": TITLES,
    "Caption-Abstract": LONG,
    "Keywords": joined(", ", THEMES),
    "GPSLatitude": [f"60 deg {n}' 10.00\" N" for n in ROWS],
}
KARAKEEP = {
    "bookmarks": objects(
        lambda n: {
            "createdAt": 1_700_000_000 + n,
            "title": TITLES[n],
            "tags": SLUGS[n],
            "content": {"type": "link", "url": LINKS[n]},
            "note": NOTES[n] if n % 4 == 0 else None,
            "archived": False,
        }
    )
}
CHAT = "\n".join(f"[{DAYS[n]}, 10:{n:02}:09] {PEOPLE[n]}: {NOTES[n]}" for n in ROWS)


def pelican(n):
    head = f"Title: {TITLES[n]}\nDate: {DAYS[n]}\nCategory: News\n"
    return f"{head}Tags: {', '.join(THEMES[n])}\nSlug: post-{n}\n\n{LONG[n]}\n"


def nikola(n):
    head = f".. title: {TITLES[n]}\n.. slug: post-{n}\n.. date: {DAYS[n]}\n"
    return f"{head}.. tags: {', '.join(THEMES[n])}\n.. link:\n\n{LONG[n]}\n"


def org(n):
    tags = f" :{':'.join(one.replace(' ', '_') for one in THEMES[n])}:" if THEMES[n] else ""
    return f"* {TITLES[n]}{tags}\n  {LONG[n]}\n"


HAND = "\n".join(
    [
        "Nr;Objekt;Was man sieht;Thema 1;Thema 2;Thema 3;Notiz",
        *(
            f"{n + 1};{TITLES[n]};{LONG[n]};{';'.join([*THEMES[n], '', '', ''][:3])};"
            f"{'noch prüfen' if n % 9 == 0 else ''}"
            for n in ROWS
        ),
        ";;;;;;",
        "Summe;40;;;;;",
    ]
)
HAND_LABELS = [own[:3] or None for own in THEMES]


TOPICS = ["family life", "trade", "sea voyages", "public health", "photography"]


def checks(folder):
    """Write a workbook with ticks in columns of topics, below a title in merged cells."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Inventory"
    sheet.append(["Inventory of the museum, 2024"])
    sheet.merge_cells("A1:H1")
    sheet.append(["No", "Object", "Description", *TOPICS])
    for n in ROWS:
        ticks = ["✓" if one in THEMES[n] else None for one in TOPICS]
        sheet.append([n + 1, TITLES[n], LONG[n], *ticks])
    book.save(folder / "inventory.xlsx")


TICKED = [[one for one in own if one in TOPICS] for own in THEMES]


def ics(n):
    return (
        f"BEGIN:VEVENT\r\nUID:{hexes(n)}@example.org\r\nDTSTART:20200101T100000Z\r\n"
        f"SUMMARY:{TITLES[n]}\r\nDESCRIPTION:{NOTES[n]}\r\nCATEGORIES:{','.join(THEMES[n])}\r\nEND:VEVENT\r\n"
    )


ENW = "".join(
    f"%0 Journal Article\n%T {TITLES[n]}\n%X {LONG[n]}\n%K {'; '.join(THEMES[n])}\n\n" for n in ROWS
)
CSV_NUMBERS = {f"x{k}": [f"{(n * k) % 17 / 3:.3f}" for n in ROWS] for k in range(9)}

FOURTH = {
    "REDCap": Shape({"data.csv": table(REDCAP)}, (LONG,), REDCAP_LABELS),
    "Lens": Shape({"patents.csv": table(LENS)}, (TITLES, LONG), LENS_LABELS),
    "ReliefWeb": Shape(
        {"reports.json": json.dumps({"time": 5, "count": 40, "data": objects(relief)})},
        (TITLES, LONG),
        KNOWN,
    ),
    "Guardian": Shape(
        {"search.json": json.dumps({"response": {"status": "ok", "results": objects(guardian)}})},
        (TITLES, LONG),
        KNOWN,
    ),
    "New York Times": Shape(
        {"2020-1.json": json.dumps({"copyright": "c", "response": {"docs": objects(times)}})},
        (TITLES, LONG),
        KNOWN,
    ),
    "Shopify": Shape(
        {"products.csv": "\n".join(SHOPIFY)},
        (TITLES, LONG),
        KNOWN,
    ),
    "StoryGraph": Shape({"books.csv": table(STORYGRAPH)}, (TITLES, some(LONG, 2)), KNOWN),
    "viewer of data sets": Shape(
        {"rows.json": json.dumps(HUB)}, (LONG,), [[str(n % 2)] for n in ROWS]
    ),
    "answers of SPARQL": Shape(
        {"query.json": json.dumps(SPARQL)}, (TITLES, NOTES), [[one] for one in KINDS]
    ),
    "GeoJSON": Shape({"places.geojson": json.dumps(GEO)}, (TITLES, LONG), KNOWN),
    "Tropy": Shape({"items.json": json.dumps(TROPY)}, (TITLES, LONG), KNOWN),
    "AtoM": Shape({"records.csv": table(ATOM)}, (TITLES, LONG), KNOWN),
    "emotions": Shape({"train.tsv": EMOTIONS}, (LONG,), EMOTION_LABELS),
    "Reddit": Shape(
        {"posts.jsonl": json_lines(reddit)},
        (TITLES, [one if n % 3 else "" for n, one in enumerate(LONG)]),
        [[one] for one in KINDS],
    ),
    "Bugzilla": Shape(
        {"bugs.csv": table(BUGZILLA)},
        (BUGZILLA["Summary"],),
        [own or None if n % 2 == 0 else None for n, own in enumerate(SLUGS)],
    ),
    "ExifTool": Shape({"photos.csv": table(EXIF)}, (TITLES, LONG), KNOWN),
    "Karakeep": Shape(
        {"bookmarks.json": json.dumps(KARAKEEP)}, (TITLES,), [o or None for o in SLUGS]
    ),
    "WhatsApp": Shape({"_chat.txt": CHAT}, (NOTES,)),
    "Pelican": Shape({f"p{n:02}.md": pelican(n) for n in ROWS}, (LONG,), KNOWN),
    "Nikola": Shape({f"p{n:02}.rst": nikola(n) for n in ROWS}, (LONG,), KNOWN),
    "Org": Shape({f"n{n}.org": org(n) for n in ROWS}, refused="it has no text files .*but n0.org"),
    "topics in three columns": Shape({"objekte.csv": HAND}, (TITLES, LONG), HAND_LABELS),
    "ticks in a workbook": Shape(checks, (TITLES, LONG), TICKED),
    "calendar": Shape(
        {"events.ics": f"BEGIN:VCALENDAR\r\n{''.join(map(ics, ROWS))}END:VCALENDAR\r\n"},
        refused="files ending in .ics are unknown",
    ),
    "refer": Shape({"library.enw": ENW}, refused="export it as RIS or BibTeX"),
    "only numbers": Shape({"x.csv": table(CSV_NUMBERS)}, refused="no field looks like a text"),
    "contacts": Shape(
        {"contacts.csv": table({"Name": PEOPLE, "E-mail": MAILS, "Phone": NUMBERS})},
        refused="no field looks like a text|not sure",
    ),
}
