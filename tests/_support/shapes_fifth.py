"""Shapes that were read once, after all changes: none was silently wrong."""

import json

from _support.shapes import (
    DAYS,
    PEOPLE,
    ROWS,
    TITLES,
    Shape,
    cycle,
    joined,
    objects,
    sentence,
    some,
    table,
)
from _support.shapes_fourth import KINDS
from _support.shapes_third import KNOWN, LINKS, LONG, MAILS, NUMBERS, THEMES

QUERIES = [sentence(f"q{n}", 4) for n in ROWS]
SLUGS = [[one.replace(" ", "-") for one in own] or None for own in THEMES]
FIFTH = {}
FIFTH["Linear"] = Shape(
    {
        "l.csv": table(
            {
                "ID": [f"ENG-{n}" for n in ROWS],
                "Team": "Eng",
                "Title": TITLES,
                "Description": some(LONG, 2),
                "Status": cycle("Todo", "Done"),
                "Estimate": "",
                "Priority": cycle("High", "No priority"),
                "Project ID": "",
                "Creator": MAILS,
                "Assignee": some(MAILS, 2),
                "Labels": joined(", ", THEMES),
                "Created": DAYS,
                "Archived": "",
            }
        )
    },
    (TITLES, some(LONG, 2)),
    KNOWN,
)
FIFTH["Mantis"] = Shape(
    {
        "m.csv": table(
            {
                "Id": [f"{n:07}" for n in ROWS],
                "Project": "River",
                "Reporter": PEOPLE,
                "Priority": "normal",
                "Severity": cycle("minor", "major"),
                "Reproducibility": cycle("always", "have not tried"),
                "Category": KINDS,
                "Date Submitted": DAYS,
                "Status": cycle("new", "closed"),
                "Summary": TITLES,
                "Resolution": "open",
            }
        )
    },
    (TITLES,),
    [[k] for k in KINDS],
)
FIFTH["Freshdesk"] = Shape(
    {
        "f.csv": table(
            {
                "Ticket ID": NUMBERS,
                "Subject": TITLES,
                "Description": LONG,
                "Status": cycle("Open", "Closed"),
                "Priority": cycle("Low", "High"),
                "Source": cycle("Email", "Portal"),
                "Type": cycle("Question", "Incident", ""),
                "Agent": PEOPLE,
                "Group": cycle("Support", "Sales"),
                "Created time": DAYS,
                "Tags": joined(",", THEMES),
            }
        )
    },
    (TITLES, LONG),
    KNOWN,
)
FIFTH["HubSpot notes"] = Shape(
    {
        "h.csv": table(
            {
                "Record ID": NUMBERS,
                "Note body": [f"<p>{x}</p>" for x in LONG],
                "Activity date": DAYS,
                "Activity assigned to": PEOPLE,
                "Topics": joined(";", THEMES),
            }
        )
    },
    (LONG,),
    KNOWN,
)
FIFTH["Omeka"] = Shape(
    {
        "o.csv": table(
            {
                "dcterms:identifier": NUMBERS,
                "dcterms:title": TITLES,
                "dcterms:creator": PEOPLE,
                "dcterms:date": DAYS,
                "dcterms:description": LONG,
                "dcterms:subject": joined("|", THEMES),
                "dcterms:format": "image/jpeg",
                "dcterms:type": "StillImage",
            }
        )
    },
    (TITLES, LONG),
    KNOWN,
)
FIFTH["INSPIRE"] = Shape(
    {
        "i.json": json.dumps(
            {
                "hits": {
                    "total": 40,
                    "hits": objects(
                        lambda n: {
                            "id": str(n),
                            "created": DAYS[n],
                            "metadata": {
                                "titles": [{"title": TITLES[n]}],
                                "abstracts": [{"value": LONG[n], "source": "arXiv"}],
                                "keywords": [{"value": x, "schema": "INSPIRE"} for x in THEMES[n]],
                                "authors": [{"full_name": PEOPLE[n]}],
                                "document_type": ["article"],
                            },
                        }
                    ),
                }
            }
        )
    },
    (TITLES, LONG),
    KNOWN,
)
FIFTH["Zenodo"] = Shape(
    {
        "z.json": json.dumps(
            {
                "hits": {
                    "hits": objects(
                        lambda n: {
                            "conceptdoi": f"10.5281/zenodo.{n}",
                            "id": n,
                            "metadata": {
                                "title": TITLES[n],
                                "description": f"<p>{LONG[n]}</p>",
                                "keywords": THEMES[n],
                                "creators": [{"name": PEOPLE[n], "affiliation": "X"}],
                                "resource_type": {"title": "Dataset", "type": "dataset"},
                                "access_right": "open",
                            },
                            "links": {"self": LINKS[n]},
                            "stats": {"downloads": n},
                        }
                    ),
                    "total": 40,
                }
            }
        )
    },
    (TITLES, LONG),
    KNOWN,
)
FIFTH["Obsidian Dataview csv"] = Shape(
    {
        "d.csv": table(
            {
                "File": [f"[[{t}]]" for t in TITLES],
                "tags": [" ".join(f"#{x}" for x in own or []) for own in SLUGS],
                "summary": LONG,
            }
        )
    },
    (LONG,),
    SLUGS,
)
FIFTH["intents"] = Shape(
    {"nlu.csv": table({"text": QUERIES, "intent": KINDS})}, (QUERIES,), [[k] for k in KINDS]
)
FIFTH["OpenRefine tsv"] = Shape(
    {
        "r.tsv": table(
            {"Column 1": TITLES, "Column 2": LONG, "Column 3": joined(" ; ", THEMES)}, "\t"
        )
    },
    (TITLES, LONG),
    KNOWN,
)
FIFTH["sales"] = Shape(
    {
        "s.csv": table(
            {
                "Order": NUMBERS,
                "Date": DAYS,
                "Customer": PEOPLE,
                "Amount": [f"{n * 3.5:.2f}" for n in ROWS],
                "Region": cycle("North", "South"),
            }
        )
    },
    refused="no field looks|not sure",
)
FIFTH["gradebook"] = Shape(
    {
        "g.csv": table(
            {
                "Student": PEOPLE,
                "Email": MAILS,
                "Q1": NUMBERS,
                "Q2": NUMBERS,
                "Feedback": LONG,
                "Grade": cycle("A", "B", "C"),
            }
        )
    },
    (LONG,),
)
FIFTH["recipes YAML"] = Shape(
    {
        f"r{n:02}.yml": f"name: {TITLES[n]}\nservings: {n % 6 + 1}\nsource: web\ntags:\n"
        + "".join(f"  - {x}\n" for x in THEMES[n] or ["plain"])
        + f"instructions: |\n  {LONG[n]}\n"
        for n in ROWS
    },
    (TITLES, LONG),
    [o or ["plain"] for o in THEMES],
)
FIFTH["photos Lightroom"] = Shape(
    {
        "p.csv": table(
            {
                "Filename": [f"IMG_{n}.jpg" for n in ROWS],
                "Rating": cycle("3", "", "5"),
                "Caption": LONG,
                "Keyword Tags": joined("; ", THEMES),
                "Camera": cycle("X100", "D70"),
            }
        )
    },
    (LONG,),
    KNOWN,
)
