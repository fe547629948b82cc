"""Shapes of a sixth set: one of 17, the codes of arXiv, was silently wrong at first."""

import json

from _support.shapes import (
    BODIES,
    COUNT,
    DAYS,
    PEOPLE,
    ROWS,
    TAGS,
    TITLES,
    Shape,
    cycle,
    hexes,
    joined,
    json_list,
    objects,
    table,
)

WORDS = [["two words", *own] for own in TAGS]


def tiddler(n):
    own = " ".join(f"[[{one}]]" if " " in one else one for one in WORDS[n])
    return {
        "created": f"2024010112{n:02}00000",
        "text": BODIES[n],
        "title": TITLES[n],
        "tags": own,
        "modified": f"2024020112{n:02}00000",
        "type": "text/vnd.tiddlywiki",
    }


def place(n):
    return {
        "guid": hexes(n, 12),
        "title": TITLES[n],
        "index": n,
        "dateAdded": 1700000000000000 + n,
        "lastModified": 1700000000000000 + 2 * n,
        "id": n + 10,
        "typeCode": 1,
        "tags": ",".join(TAGS[n]),
        "type": "text/x-moz-place",
        "uri": f"https://example.org/{hexes(n, 8)}",
    }


def openalex(n):
    words = BODIES[n].split()
    places = {}
    for at, word in enumerate(words):
        places.setdefault(word, []).append(at)
    return {
        "id": f"https://openalex.org/W{4000 + n}",
        "doi": f"https://doi.org/10.1000/{n}",
        "title": TITLES[n],
        "display_name": TITLES[n],
        "publication_year": 2001 + n % 20,
        "language": "en",
        "type": "article",
        "abstract_inverted_index": places,
        "keywords": [
            {"id": f"https://openalex.org/keywords/{one}", "display_name": one, "score": 0.5}
            for one in TAGS[n]
        ],
        "cited_by_count": n % 9,
    }


def issue(n):
    return {
        "url": f"https://api.github.com/repos/a/b/issues/{n}",
        "id": 900000 + n,
        "number": n,
        "title": TITLES[n],
        "user": {"login": PEOPLE[n].split()[0].lower(), "id": n % 6, "type": "User"},
        "labels": [
            {"id": 1, "name": one, "color": "ededed", "default": False, "description": None}
            for one in TAGS[n]
        ],
        "state": ("open", "closed")[n % 2],
        "locked": False,
        "comments": n % 4,
        "created_at": f"{DAYS[n]}T10:00:00Z",
        "body": BODIES[n],
    }


def toot(n):
    return {
        "id": f"https://social.example/users/a/statuses/{n}/activity",
        "type": "Create",
        "actor": "https://social.example/users/a",
        "published": f"{DAYS[n]}T10:00:00Z",
        "object": {
            "id": f"https://social.example/users/a/statuses/{n}",
            "type": "Note",
            "content": f"<p>{BODIES[n]}</p>",
            "tag": [
                {"type": "Hashtag", "href": f"https://social.example/tags/{one}", "name": f"#{one}"}
                for one in TAGS[n]
            ],
        },
    }


def topic(n):
    return {
        "id": 1000 + n,
        "title": TITLES[n],
        "slug": TITLES[n].lower().replace(" ", "-"),
        "posts_count": n % 7,
        "created_at": f"{DAYS[n]}T10:00:00.000Z",
        "excerpt": BODIES[n],
        "tags": TAGS[n],
        "category_id": 3 + n % 4,
        "pinned": False,
    }


def wallabag(n):
    return {
        "is_archived": n % 2,
        "is_starred": 0,
        "tags": TAGS[n],
        "id": n,
        "title": TITLES[n],
        "url": f"https://example.org/{hexes(n, 8)}",
        "content": f"<article><p>{BODIES[n]}</p></article>",
        "created_at": f"{DAYS[n]}T10:00:00+00:00",
        "mimetype": "text/html",
        "language": "en",
        "reading_time": n % 9,
        "domain_name": "example.org",
    }


def photo(n):
    return json.dumps(
        {
            "id": str(5000 + n),
            "name": TITLES[n],
            "description": BODIES[n],
            "count_views": str(n),
            "date_taken": f"{DAYS[n]} 10:00:00",
            "license": "All Rights Reserved",
            "tags": [{"tag": one, "user": "1@N00", "date_create": DAYS[n]} for one in TAGS[n]],
            "exif": [],
        }
    )


def nbib(n):
    heads = "\n".join(f"MH  - {one}" for one in TAGS[n])
    return (
        f"PMID- {30000 + n}\nOWN - NLM\nSTAT- MEDLINE\nDP  - 2020 Jan\nTI  - {TITLES[n]}\n"
        f"AB  - {BODIES[n]}\nAU  - Lee A\nLA  - eng\n{heads}\nSO  - A. 2020.\n"
    )


def endnote(n):
    styled = '<style face="normal" font="default" size="100%">{}</style>'.format
    words = "".join(f"<keyword>{styled(one)}</keyword>" for one in TAGS[n])
    return (
        f'<record><database name="a.enl">a</database><rec-number>{n}</rec-number>'
        f'<ref-type name="Journal Article">17</ref-type><contributors><authors><author>'
        f"{styled(PEOPLE[n])}</author></authors></contributors><titles><title>{styled(TITLES[n])}"
        f"</title></titles><keywords>{words}</keywords><abstract>{styled(BODIES[n])}</abstract>"
        f"</record>"
    )


ANKI = "#separator:tab\n#html:true\n#tags column:3\n" + "".join(
    f"{title}\t{body}\t{' '.join(own)}\n"
    for title, body, own in zip(TITLES, BODIES, TAGS, strict=True)
)
SIXTH = {
    "TiddlyWiki": Shape({"tiddlers.json": json_list(tiddler)}, (TITLES, BODIES), WORDS),
    "Firefox backup": Shape(
        {
            "bookmarks.json": json.dumps(
                {
                    "guid": "root________",
                    "title": "",
                    "root": "placesRoot",
                    "type": "text/x-moz-place-container",
                    "children": [
                        {
                            "guid": "menu________",
                            "title": "menu",
                            "type": "text/x-moz-place-container",
                            "children": objects(place),
                        }
                    ],
                }
            )
        },
        (TITLES,),
        TAGS,
    ),
    "Raindrop": Shape(
        {
            "r.csv": table(
                {
                    "id": [str(700 + n) for n in ROWS],
                    "title": TITLES,
                    "note": "",
                    "excerpt": BODIES,
                    "url": [f"https://example.org/{hexes(n, 8)}" for n in ROWS],
                    "folder": cycle("Unsorted", "Reading"),
                    "tags": joined(", "),
                    "created": [f"{one}T10:00:00.000Z" for one in DAYS],
                    "cover": [f"https://example.org/{hexes(n, 8)}.png" for n in ROWS],
                    "highlights": "",
                    "favorite": cycle("false", "true"),
                }
            )
        },
        (TITLES, BODIES),
        TAGS,
    ),
    "arXiv": Shape(
        {
            "arxiv.jsonl": "\n".join(
                json.dumps(
                    {
                        "id": f"0704.{n:04}",
                        "submitter": PEOPLE[n],
                        "authors": f"{PEOPLE[n]}, C. Balazs",
                        "title": TITLES[n],
                        "comments": "37 pages, 15 figures",
                        "journal-ref": None,
                        "doi": None,
                        "categories": " ".join(("cs.LG", "hep-ph", "math.CO")[: 1 + n % 3]),
                        "license": None,
                        "abstract": f"  {BODIES[n]}\n",
                        "update_date": DAYS[n],
                    }
                )
                for n in ROWS
            )
        },
        (TITLES, BODIES),
        [["cs.LG", "hep-ph", "math.CO"][: 1 + n % 3] for n in ROWS],
    ),
    "OpenAlex": Shape(
        {"works.jsonl": "\n".join(map(json.dumps, objects(openalex)))}, (TITLES,), TAGS
    ),
    "GitHub issues": Shape({"issues.json": json_list(issue)}, (TITLES, BODIES), TAGS),
    "Mastodon": Shape(
        {
            "outbox.json": json.dumps(
                {
                    "@context": "x",
                    "id": "outbox.json",
                    "type": "OrderedCollection",
                    "totalItems": COUNT,
                    "orderedItems": objects(toot),
                }
            )
        },
        (BODIES,),
        TAGS,
    ),
    "Discourse": Shape(
        {
            "latest.json": json.dumps(
                {
                    "users": [{"id": 1, "username": "a", "name": "A"}],
                    "topic_list": {
                        "can_create_topic": True,
                        "per_page": 30,
                        "topics": objects(topic),
                    },
                }
            )
        },
        (TITLES, BODIES),
        TAGS,
    ),
    "wallabag": Shape({"w.json": json_list(wallabag)}, (TITLES, BODIES), TAGS),
    "Flickr": Shape({f"photo_{n:02}.json": photo(n) for n in ROWS}, (TITLES, BODIES), TAGS),
    "PubMed nbib": Shape({"pubmed.txt": "\n".join(map(nbib, ROWS))}, refused="RIS|BibTeX|XML"),
    "EndNote XML": Shape(
        {"e.xml": f"<xml><records>{''.join(map(endnote, ROWS))}</records></xml>"},
        refused="RIS|BibTeX|bib",
    ),
    "Anki": Shape({"deck.txt": ANKI}, (TITLES, BODIES), TAGS),
    "Zotero csv": Shape(
        {
            "z.csv": table(
                {
                    "Key": [hexes(n, 8).upper() for n in ROWS],
                    "Item Type": cycle("journalArticle", "book"),
                    "Publication Year": [str(2001 + n % 20) for n in ROWS],
                    "Author": PEOPLE,
                    "Title": TITLES,
                    "Publication Title": cycle("Journal of Rivers", "Annals"),
                    "DOI": [f"10.1000/{n}" for n in ROWS],
                    "Url": "",
                    "Abstract Note": BODIES,
                    "Date Added": [f"{one} 10:00:00" for one in DAYS],
                    "Library Catalog": "DOI.org (Crossref)",
                    "Notes": "",
                    "File Attachments": [
                        f"/media/a/Zotero/storage/{hexes(n, 8)}/a.pdf" for n in ROWS
                    ],
                    "Manual Tags": joined("; "),
                    "Automatic Tags": "",
                }
            )
        },
        (TITLES, BODIES),
        TAGS,
    ),
    "films with Python lists": Shape(
        {
            "movies.csv": table(
                {
                    "adult": "False",
                    "budget": [str(1000 * n) for n in ROWS],
                    "genres": [
                        repr([{"id": 10 + len(one), "name": one} for one in own]) for own in TAGS
                    ],
                    "homepage": "",
                    "id": [str(n) for n in ROWS],
                    "original_language": cycle("en", "fr"),
                    "overview": BODIES,
                    "popularity": [f"{n / 7:.3f}" for n in ROWS],
                    "production_companies": repr([{"name": "Pixar", "id": 3}]),
                    "title": TITLES,
                    "vote_average": [f"{n % 10}.1" for n in ROWS],
                }
            )
        },
        (TITLES, BODIES),
        TAGS,
    ),
    "Yelp": Shape(
        {
            "b.jsonl": "\n".join(
                json.dumps(
                    {
                        "business_id": hexes(n, 22),
                        "name": TITLES[n],
                        "address": f"{n} Main St",
                        "city": ("Tampa", "Reno")[n % 2],
                        "stars": n % 5,
                        "attributes": {"WiFi": "u'no'", "GoodForKids": "True"},
                        "categories": ", ".join(own.title() for own in TAGS[n]),
                        "hours": {"Monday": "8:0-22:0"},
                    }
                )
                for n in ROWS
            )
        },
        (TITLES,),
        [[one.title() for one in own] for own in TAGS],
    ),
    "questions of a parliament": Shape(
        {
            "q.json": json.dumps(
                {
                    "totalResults": COUNT,
                    "results": [
                        {
                            "value": {
                                "id": 1600 + n,
                                "askingMemberId": n % 9,
                                "dateTabled": f"{DAYS[n]}T00:00:00",
                                "uin": str(7000 + n),
                                "answeringBodyName": ("Treasury", "Home Office")[n % 2],
                                "heading": TAGS[n][0].title(),
                                "questionText": BODIES[n],
                            },
                            "links": [{"rel": "self", "href": f"/q/{n}", "method": "GET"}],
                        }
                        for n in ROWS
                    ],
                }
            )
        },
        (BODIES,),
        None,
    ),
}
