"""Shapes of files that the reading of corpora was developed with."""

import json

from _support.shapes import (
    BODIES,
    COUNT,
    DAYS,
    NOTES,
    PEOPLE,
    ROWS,
    TAGS,
    TITLES,
    Shape,
    cycle,
    heading,
    hexes,
    joined,
    json_lines,
    json_list,
    objects,
    person,
    sentence,
    some,
    table,
)

AFFILIATIONS = [
    f"Department of {('Physics', 'History', 'Medicine')[n % 3]}, University of Northern "
    f"{('Finland', 'Italy', 'Japan')[n % 3]}, {n} Harbour Street, 00{n:03} "
    f"{('Oulu', 'Turin', 'Kobe')[n % 3]}; Institute of Applied Studies, {n * 7} Long Road, "
    f"{('Helsinki', 'Rome', 'Tokyo')[n % 3]}, {('Finland', 'Italy', 'Japan')[n % 3]}"
    for n in ROWS
]
SCOPUS = {
    "Authors": [f"{one}; {PEOPLE[-1]}" for one in PEOPLE],
    "Author full names": [f"{one} ({n}57190)" for n, one in enumerate(PEOPLE)],
    "Author(s) ID": [f"5719{n:07}; 3529{n:07}" for n in ROWS],
    "Title": TITLES,
    "Year": [str(2001 + n % 20) for n in ROWS],
    "Source title": cycle("Journal of Rivers", "Annals of Bridges", "Bread Letters"),
    "Volume": cycle("12", "7", "31"),
    "Cited by": [str(n % 9) for n in ROWS],
    "DOI": [f"10.1016/j.riv.{2000 + n}" for n in ROWS],
    "Link": [f"https://www.scopus.com/inward/record.uri?eid=2-s2.0-85{n:09}" for n in ROWS],
    "Affiliations": AFFILIATIONS,
}
SCOPUS_END = {
    "Document Type": cycle("Article", "Article", "Review", "Conference paper"),
    "Publication Stage": "Final",
    "Open Access": cycle("", "All Open Access; Gold Open Access"),
    "Source": "Scopus",
    "EID": [f"2-s2.0-85{n:09}" for n in ROWS],
}


def prodigy_spans(n):
    text = BODIES[n]
    words = text.split()
    tokens = [{"text": word, "start": 0, "end": 3, "id": k} for k, word in enumerate(words)]
    spans = [{"start": 0, "end": 3, "token_start": 0, "label": one.upper()} for one in TAGS[n]]
    return {
        "text": text,
        "_input_hash": 1000 + n,
        "_task_hash": -2000 - n,
        "tokens": tokens,
        "spans": spans,
        "_session_id": "ann",
        "answer": "accept",
    }


def prodigy_binary(n):
    return {
        "text": BODIES[n],
        "_input_hash": 1000 + n,
        "_task_hash": -2000 - n,
        "label": "TRAVEL",
        "meta": {"source": "letters"},
        "answer": ["accept", "reject", "accept", "ignore"][n % 4],
    }


PRODIGY_BINARY = [[["TRAVEL"], [], ["TRAVEL"], None][n % 4] for n in ROWS]


def label_studio(n):
    result = {
        "value": {"choices": TAGS[n]},
        "id": hexes(n, 10),
        "from_name": "topic",
        "to_name": "text",
        "type": "choices",
        "origin": "manual",
    }
    annotation = {
        "id": n + 1,
        "completed_by": 1,
        "result": [result],
        "was_cancelled": False,
        "created_at": "2023-01-05T10:00:00Z",
        "lead_time": 4.2 + n,
        "project": 3,
    }
    return {
        "id": n + 1,
        "annotations": [annotation],
        "file_upload": "7c1-letters.csv",
        "drafts": [],
        "predictions": [],
        "data": {"text": BODIES[n]},
        "meta": {},
        "created_at": "2023-01-04T10:00:00Z",
        "inner_id": n + 1,
        "total_annotations": 1,
        "project": 3,
        "comment_authors": [],
    }


def csl(n):
    return {
        "id": f"http://zotero.org/users/1/items/{hexes(n, 8).upper()}",
        "type": ["article-journal", "book", "chapter"][n % 3],
        "title": TITLES[n],
        "abstract": BODIES[n],
        "container-title": ["Journal of Rivers", "Annals of Bridges"][n % 2],
        "language": ["en", "de", "en"][n % 3],
        "author": [{"family": person(n).split()[1], "given": person(n).split()[0]}],
        "issued": {"date-parts": [[2000 + n % 20]]},
    }


def roam(n):
    children = [
        {"string": sentence(f"roam {n} {k}", 8), "uid": hexes(n * 10 + k, 9), "create-time": 16e11}
        for k in range(3)
    ]
    return {"title": TITLES[n], "children": children, "edit-time": 1.6e12 + n}


ROAM = [[sentence(f"roam {n} {k}", 8) for n in ROWS] for k in range(3)]


def trello(n):
    labels = [{"id": hexes(7, 24), "name": one, "color": "red"} for one in TAGS[n]]
    return {
        "id": hexes(n),
        "badges": {
            "votes": 0,
            "viewingMemberVoted": False,
            "description": False,
            "comments": n % 3,
        },
        "closed": False,
        "desc": "",
        "dueComplete": False,
        "idBoard": hexes(1),
        "idList": hexes(n % 3),
        "name": TITLES[n],
        "pos": 65535 * n,
        "shortUrl": f"https://trello.com/c/{hexes(n, 8)}",
        "labels": labels,
        "isTemplate": False,
    }


TRELLO = {
    "id": hexes(1),
    "name": "Board",
    "desc": "",
    "closed": False,
    "cards": objects(trello),
    "lists": [{"id": hexes(n), "name": f"List {n}", "closed": False} for n in range(3)],
    "labels": [{"id": hexes(7), "name": one, "color": "red"} for one in ("art", "food")],
    "actions": [
        {
            "id": hexes(n),
            "type": "createCard",
            "date": DAYS[n],
            "data": {"card": {"name": TITLES[n]}},
        }
        for n in ROWS
    ],
}


def keep(n):
    return json.dumps(
        {
            "color": "DEFAULT",
            "isTrashed": False,
            "isPinned": n % 5 == 0,
            "isArchived": n % 4 == 0,
            "textContent": BODIES[n],
            "title": TITLES[n] if n % 3 else "",
            "userEditedTimestampUsec": 1_600_000_000_000_000 + n,
            "createdTimestampUsec": 1_500_000_000_000_000 + n,
            "labels": [{"name": one} for one in TAGS[n]],
        }
    )


def marc_json(n):
    subjects = [{"650": {"ind1": " ", "ind2": "0", "subfields": [{"a": one}]}} for one in TAGS[n]]
    return {
        "leader": "01471cjm a2200349 a 4500",
        "fields": [
            {"001": f"56741{n:03}"},
            {"008": "940826s1994    mau           000 0 eng  "},
            {"245": {"ind1": "1", "ind2": "0", "subfields": [{"a": TITLES[n]}]}},
            {"520": {"ind1": " ", "ind2": " ", "subfields": [{"a": BODIES[n]}]}},
            {"700": {"ind1": "1", "ind2": " ", "subfields": [{"a": PEOPLE[n]}]}},
            *subjects,
        ],
    }


def ovid(n):
    subjects = "\n    ".join(one.title() for one in TAGS[n])
    return (
        f"<{n + 1}>\nUnique Identifier\n  {30000000 + n}\nTitle\n  {TITLES[n]}\nSource\n"
        f"  Annals of Bridges. {n}(2):11-19, 2004.\nAuthors\n  {PEOPLE[n]}\nAbstract\n"
        f"  {BODIES[n]}\nSubject Headings\n    {subjects}\nYear of Publication\n  2004\n"
    )


def discogs():
    return {
        "Catalog#": [f"CAT {n:03}" for n in ROWS],
        "Artist": PEOPLE,
        "Title": TITLES,
        "Label": cycle("Blue Note", "Verve", "Impulse!", "Blue Note"),
        "Format": cycle("LP, Album", '12"', "LP, Album, RE", "CD"),
        "Rating": cycle("", "4", "5"),
        "Released": [str(1960 + n % 50) for n in ROWS],
        "release_id": [str(100000 + 7 * n) for n in ROWS],
        "CollectionFolder": "Uncategorized",
        "Date Added": [f"{one} 12:00:00" for one in DAYS],
        "Collection Media Condition": cycle("Mint (M)", "Near Mint (NM or M-)"),
    }


MET = {
    "Object Number": [f"{1900 + n % 90}.{n}" for n in ROWS],
    "Is Highlight": cycle("False", "True", "False"),
    "Is Public Domain": cycle("True", "False"),
    "Object ID": [str(500 + n) for n in ROWS],
    "Department": cycle("Drawings and Prints", "European Paintings", "Asian Art"),
    "AccessionYear": [str(1900 + n % 90) for n in ROWS],
    "Object Name": cycle("Print", "Painting", "Vase"),
    "Title": TITLES,
    "Artist Display Name": PEOPLE,
    "Artist Nationality": cycle("Finnish", "Italian", "Japanese"),
    "Object Date": [f"ca. {1700 + n}" for n in ROWS],
    "Medium": cycle("Oil on canvas", "Etching", "Porcelain"),
    "Dimensions": [f"{20 + n} x {30 + n} in. (50.8 x 76.2 cm)" for n in ROWS],
    "Credit Line": [f"Gift of {one}, {1900 + n}" for n, one in enumerate(PEOPLE)],
    "Link Resource": [f"http://www.metmuseum.org/art/collection/search/{500 + n}" for n in ROWS],
    "Repository": "Metropolitan Museum of Art, New York, NY",
    "Tags": joined("|"),
    "Tags AAT URL": joined("|", [[f"http://vocab.getty.edu/{x}" for x in own] for own in TAGS]),
}


def ckan(n):
    return {
        "author": PEOPLE[n],
        "id": hexes(n, 32),
        "license_title": "UK Open Government Licence (OGL)",
        "metadata_created": DAYS[n],
        "name": TITLES[n].lower().replace(" ", "-"),
        "notes": BODIES[n],
        "num_resources": 1,
        "num_tags": len(TAGS[n]),
        "private": False,
        "state": "active",
        "title": TITLES[n],
        "type": "dataset",
        "resources": [
            {"description": "CSV of it", "format": ["CSV", "PDF"][n % 2], "name": "Data", "id": "r"}
        ],
        "tags": [
            {"display_name": one, "id": hexes(n, 8), "name": one, "state": "active"}
            for one in TAGS[n]
        ],
        "groups": [],
        "organization": {"name": "council", "title": "Council", "type": "organization"},
    }


CKAN = {
    "help": "https://data.gov.uk/api/3/action/help_show?name=package_search",
    "success": True,
    "result": {"count": 900, "sort": "score", "results": objects(ckan), "search_facets": {}},
}
CFPB = {
    "Date received": DAYS,
    "Product": cycle("Debt collection", "Mortgage", "Credit card"),
    "Sub-product": cycle("I do not know", "FHA mortgage", "Store credit card"),
    "Issue": cycle("Communication tactics", "Trouble during payment", "Closing your account"),
    "Consumer complaint narrative": BODIES,
    "Company public response": "Company chooses not to provide a public response",
    "Company": cycle("ALPHA BANK", "BETA CREDIT", "GAMMA LLC"),
    "State": cycle("CA", "NY", "TX", "FL"),
    "ZIP code": [f"{10000 + 17 * n}" for n in ROWS],
    "Tags": some(cycle("Older American", "Servicemember"), 10),
    "Submitted via": cycle("Web", "Phone"),
    "Complaint ID": [str(7000000 + 3 * n) for n in ROWS],
}
# Words as features, among them words that are names of roles.
SPAMBASE = {
    "id": [f"mail{n}" for n in ROWS],
    **{
        word: [str(int((n * k) % 7 == 0)) for n in ROWS]
        for k, word in enumerate(("subject", "document", "money", "price", "text", "button"), 2)
    },
    "content": BODIES,
    "category": cycle("spam", "ham", "ham"),
}
WINE = {
    "name": TITLES,
    "body": [f"{5 + n % 10 / 2}" for n in ROWS],
    "aroma": [f"{4 + n % 7 / 2}" for n in ROWS],
    "review": BODIES,
    "varieties": joined(", "),
}


def merged_sheet(folder):
    """Write a workbook with a row of merged groups above the names of the columns."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Object", None, None, "Subjects", None, None, "Admin", None])
    for cells in ("A1:C1", "D1:F1", "G1:H1"):
        sheet.merge_cells(cells)
    sheet.append(["No.", "Title", "Description", "Tag 1", "Tag 2", "Tag 3", "Checked by", "Date"])
    for n in ROWS:
        own = [*TAGS[n], None, None][:3]
        sheet.append([f"A{n:03}", TITLES[n], BODIES[n], *own, PEOPLE[n % 2], DAYS[n]])
    book.save(folder / "objects.xlsx")


FENCED = """# {title}

{body}

```python
# not-a-tag
x = "#neither"  #this
```

    #!/bin/sh indented #nope

<div style="background: #feebee; color: #bada55" id="#x">shown</div>

{tags}
"""


def bib(n, mark):
    return (
        f"@article{{k{mark == ';'}{n},\n  title = {{{TITLES[n]}}},\n  abstract = {{{BODIES[n]}}},\n"
        f"  keywords = {{{mark.join(TAGS[n])}}},\n  year = {{2004}},\n}}\n"
    )


def two_bibs():
    return {
        "one.bib": "\n".join(bib(n, "; ") for n in ROWS[:20]),
        "two.bib": "\n".join(bib(n, ", ") for n in ROWS[20:]),
    }


def pocket_highlights(n):
    quotes = [sentence(f"quote {n} {k}", 12) for k in range(1 + n % 3)]
    return {
        "title": TITLES[n],
        "url": f"https://example.org/read/{n}",
        "time_added": 1600000000 + n,
        "highlights": [{"quote": one, "created_at": 1600000100 + n} for one in quotes],
        "status": "archive",
    }


MOJIBAKE = [
    one.replace(" near ", " â€™near ").replace("The", "Thé").replace("é", "Ã©") for one in BODIES
]
# A row for each code, some of them twice.
CODES = [(n, code) for n in ROWS for code in TAGS[n]]
CODES += CODES[::4]
CODED = "patient,report,code\n" + "".join(f"p{n},{BODIES[n]},{code}\n" for n, code in sorted(CODES))
WOS_TEXT = "FN Clarivate Analytics Web of Science\nVR 1.0\n" + "".join(
    f"PT J\nAU {PEOPLE[n]}\nTI {TITLES[n]}\nDE {'; '.join(TAGS[n])}\nAB {BODIES[n]}\nER\n\n"
    for n in ROWS
)
HTML_CODE = [
    f"{BODIES[n]} If x < 3 and y > 2 then {heading(n)} R&D <b>bold</b><br/>{NOTES[n]}" for n in ROWS
]

FIRST = {
    "Scopus": Shape(
        {
            "scopus.csv": table(
                {
                    **SCOPUS,
                    "Abstract": BODIES,
                    "Author Keywords": joined("; "),
                    **SCOPUS_END,
                }
            )
        },
        (TITLES, BODIES),
        TAGS,
        ("University of",),
    ),
    "Scopus without abstracts and keywords": Shape(
        {"scopus.csv": table({**SCOPUS, **SCOPUS_END})}, (TITLES,), None, ("University of",)
    ),
    "Web of Science": Shape({"savedrecs.txt": WOS_TEXT}, refused="export BibTeX or RIS"),
    "Prodigy spans": Shape(
        {"spans.jsonl": json_lines(prodigy_spans)},
        (BODIES,),
        [[one.upper() for one in own] for own in TAGS],
    ),
    "Prodigy yes and no": Shape(
        {"binary.jsonl": json_lines(prodigy_binary)}, (BODIES,), PRODIGY_BINARY
    ),
    "doccano spans": Shape(
        {
            "admin.jsonl": json_lines(
                lambda n: {
                    "id": n + 1,
                    "text": BODIES[n],
                    "label": [[3 * k, 3 * k + 2, one.upper()] for k, one in enumerate(TAGS[n])],
                    "Comments": [],
                }
            )
        },
        (BODIES,),
        [[one.upper() for one in own] for own in TAGS],
    ),
    "Label Studio": Shape({"project.json": json_list(label_studio)}, (BODIES,), TAGS),
    "CSL of Zotero without keywords": Shape({"lib.json": json_list(csl)}, (TITLES, BODIES)),
    "Roam": Shape({"backup.json": json_list(roam)}, (TITLES, *ROAM)),
    "Trello without descriptions": Shape(
        {"board.json": json.dumps(TRELLO)}, (TITLES,), TAGS, ("False",)
    ),
    "Google Keep": Shape(
        {f"Keep/{TITLES[n]}.json": keep(n) for n in ROWS},
        (sorted(BODIES, key=lambda one: TITLES[BODIES.index(one)]),),
        [own for _, own in sorted(zip(TITLES, TAGS, strict=True))],
    ),
    "Google Keep, one note": Shape({"note.json": keep(4)}, (BODIES[4:5],), TAGS[4:5], count=1),
    "MARC in JSON": Shape({"records.json": json_list(marc_json)}, (TITLES, BODIES), TAGS),
    "MARC in JSON, one record": Shape(
        {"record.json": json.dumps(marc_json(3))}, (TITLES[3:4], BODIES[3:4]), TAGS[3:4], count=1
    ),
    "Ovid": Shape({"citations.txt": "\n".join(map(ovid, ROWS))}, refused="RIS"),
    "Discogs": Shape({"collection.csv": table(discogs())}, (TITLES,)),
    "Metropolitan Museum": Shape({"MetObjects.csv": table(MET)}, (TITLES,), TAGS, ("Gift",)),
    "CKAN": Shape({"package_search.json": json.dumps(CKAN)}, (TITLES, BODIES), TAGS),
    "complaints of consumers": Shape({"complaints.csv": table(CFPB)}, (BODIES,)),
    "words as columns": Shape(
        {"mails.csv": table(SPAMBASE)}, (BODIES,), [[one] for one in SPAMBASE["category"]]
    ),
    "scores named body": Shape({"wines.csv": table(WINE)}, (TITLES, BODIES), TAGS),
    "workbook with merged groups": Shape(merged_sheet, (TITLES, BODIES), TAGS),
    "Markdown with code": Shape(
        {
            f"{n:02}.md": FENCED.format(
                title=TITLES[n], body=BODIES[n], tags=" ".join(f"#{one}" for one in TAGS[n])
            )
            for n in ROWS
        },
        (TITLES, BODIES),
        TAGS,
    ),
    "BibTeX with two separators": Shape(two_bibs(), (TITLES, BODIES), TAGS),
    "highlights of Pocket": Shape({"part_0.json": json_list(pocket_highlights)}, (TITLES,)),
    "a row for each code": Shape({"codes.csv": CODED}, (BODIES,), TAGS),
    "HTML with signs": Shape(
        {"a.jsonl": json_lines(lambda n: {"id": n, "text": HTML_CODE[n], "tags": TAGS[n]})},
        (
            [f"If x < 3 and y > 2 then {heading(n)} R&D bold" for n in ROWS],
            NOTES,
        ),
        TAGS,
        ("<b>", "<br"),
    ),
}
assert COUNT == 40
