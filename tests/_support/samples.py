"""The same items as files of many programs, made with the libraries of their fields.

``SAMPLES`` has for each shape what writes it into a folder, and what must be read: the format, the
fields of the text, of the labels and of the ids.
"""

import csv
import email.message
import html
import io
import json
import mailbox
import sqlite3
from xml.sax.saxutils import escape, quoteattr

from _support.tagged import rows, write_all

COUNT = 24
ITEMS = rows(COUNT)
TAGS = [item["tags"] for item in ITEMS]
TITLES = [item["title"] for item in ITEMS]
BODIES = [item["body"] for item in ITEMS]
KINDS = sorted({tag for own in TAGS for tag in own})
PEOPLE = ["Ann Lee", "Bo Müller", "Cem Öz"]


def people(n):
    return [PEOPLE[n % 3], PEOPLE[(n + 1) % 3]][: 1 + n % 2]


def table(columns, delimiter=","):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def file(name, content):
    """What writes one file, and returns its path."""
    return lambda folder: (
        write_all(folder, {name: content() if callable(content) else content}) / name
    )


def tree(files):
    return lambda folder: write_all(folder / "tree", files() if callable(files) else files)


# --- bibliographies and libraries ---


def bibtex():
    from bibtexparser import write_string
    from bibtexparser.library import Library
    from bibtexparser.model import Entry, Field

    accents = {"ü": '{\\"u}', "Ö": '{\\"O}'}

    def latex(text):
        return "".join(accents.get(letter, letter) for letter in text)

    entries = [
        Entry(
            "inproceedings",
            f"nime2020_{n}",
            [
                Field("author", f"{{{latex(' and '.join(people(n)))}}}"),
                Field("title", f"{{{{I}}{TITLES[n][1:]}}}"),
                Field("abstract", f"{{{BODIES[n]} by 10% more}}"),
                Field("keywords", f"{{{', '.join(TAGS[n])}}}"),
                Field("year", f"{{{2000 + n % 3}}}"),
                Field("booktitle", "{Proceedings of something}"),
            ],
        )
        for n in range(COUNT)
    ]
    return write_string(Library(entries))


def ris():
    import rispy

    return rispy.dumps(
        [
            {
                "type_of_reference": "JOUR",
                "id": f"r{n}",
                "title": TITLES[n],
                "abstract": BODIES[n],
                "keywords": TAGS[n],
                "authors": people(n),
                "year": str(2000 + n % 3),
            }
            for n in range(COUNT)
        ]
    )


def csl():
    return json.dumps(
        [
            {
                "id": f"c{n}",
                "type": "article-journal",
                "title": TITLES[n],
                "abstract": BODIES[n],
                "keyword": ", ".join(TAGS[n]),
                "author": [
                    dict(zip(("given", "family"), p.split(), strict=True)) for p in people(n)
                ],
                "issued": {"date-parts": [[2000 + n % 3, 1, 2]]},
            }
            for n in range(COUNT)
        ]
    )


ZOTERO_HEAD = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:z="http://www.zotero.org/namespaces/export#" xmlns:bib="http://purl.org/net/biblio#" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:foaf="http://xmlns.com/foaf/0.1/">'
)


def zotero():
    made = [ZOTERO_HEAD]
    for n in range(COUNT):
        plain, *auto = TAGS[n]
        tags = f"<dc:subject>{plain}</dc:subject>" + "".join(
            f"<dc:subject><z:AutomaticTag><rdf:value>{tag}</rdf:value></z:AutomaticTag></dc:subject>"
            for tag in auto
        )
        made.append(
            f'<bib:Article rdf:about="urn:{n}"><z:itemType>journalArticle</z:itemType>'
            "<dcterms:isPartOf><bib:Journal><dc:title>The Journal</dc:title></bib:Journal>"
            "</dcterms:isPartOf><bib:authors><rdf:Seq><rdf:li><foaf:Person><foaf:surname>Lee"
            "</foaf:surname></foaf:Person></rdf:li></rdf:Seq></bib:authors>"
            f"{tags}<dc:title>{TITLES[n]}</dc:title><dcterms:abstract>{BODIES[n]}"
            f"</dcterms:abstract><dc:date>2001-02-0{1 + n % 9}</dc:date></bib:Article>"
            f'<z:Attachment rdf:about="#a{n}"><z:itemType>attachment</z:itemType>'
            "<dc:title>Full Text</dc:title></z:Attachment>"
        )
    return "".join([*made, "</rdf:RDF>"])


def marc_record(n):
    from pymarc import Field, Indicators, Record, Subfield

    record = Record(force_utf8=True)
    record.add_field(Field(tag="001", data=f"m{n}"))
    record.add_field(Field(tag="008", data="850423s2001    ja       b    000 0 eng  "))

    def add(tag, *parts):
        subfields = [Subfield(code, value) for code, value in parts]
        record.add_field(Field(tag=tag, indicators=Indicators(" ", "0"), subfields=subfields))

    add("100", ("a", f"{people(n)[0]},"))
    add("245", ("a", f"{TITLES[n]} /"), ("c", "by somebody."))
    add("520", ("a", BODIES[n]))
    for tag in TAGS[n]:
        add("650", ("a", f"{tag}."))
    return record


def marc():
    return b"".join(marc_record(n).as_marc() for n in range(COUNT))


def marcxml():
    from pymarc import record_to_xml

    made = b"".join(record_to_xml(marc_record(n), namespace=True) for n in range(COUNT))
    return b'<collection xmlns="http://www.loc.gov/MARC21/slim">' + made + b"</collection>"


def mods():
    made = ['<modsCollection xmlns="http://www.loc.gov/mods/v3">']
    for n in range(COUNT):
        subjects = "".join(f"<subject><topic>{tag}</topic></subject>" for tag in TAGS[n])
        made.append(
            f"<mods><titleInfo><title>{TITLES[n]}</title></titleInfo><name><namePart>{people(n)[0]}"
            f"</namePart></name><abstract>{BODIES[n]}</abstract>{subjects}<originInfo><dateIssued>"
            f"2001</dateIssued></originInfo><recordInfo><recordIdentifier>d{n}</recordIdentifier>"
            "</recordInfo></mods>"
        )
    return "".join([*made, "</modsCollection>"])


def oai():
    made = [
        '<?xml version="1.0"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>'
    ]
    for n in range(COUNT):
        subjects = "".join(f"<dc:subject>{tag}</dc:subject>" for tag in TAGS[n])
        made.append(
            f"<record><header><identifier>oai:{n}</identifier></header><metadata>"
            '<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<dc:title>{TITLES[n]}</dc:title><dc:creator>{people(n)[0]}</dc:creator>{subjects}"
            f"<dc:description>{BODIES[n]}</dc:description><dc:date>2001-01-02</dc:date>"
            "</oai_dc:dc></metadata></record>"
        )
    made.append('<record><header status="deleted"><identifier>oai:x</identifier></header></record>')
    return "".join([*made, "</ListRecords></OAI-PMH>"])


def pubmed():
    made = [
        '<?xml version="1.0"?><!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" '
        '"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd"><PubmedArticleSet>'
    ]
    for n in range(COUNT):
        mesh = "".join(
            f'<MeshHeading><DescriptorName UI="D1">{tag}</DescriptorName>'
            "<QualifierName>methods</QualifierName></MeshHeading>"
            for tag in TAGS[n]
        )
        made.append(
            f"<PubmedArticle><MedlineCitation><PMID>{100 + n}</PMID><Article><Journal>"
            "<JournalIssue><PubDate><Year>2001</Year><Month>Mar</Month></PubDate></JournalIssue><Title>J</Title>"
            f"</Journal><ArticleTitle>{TITLES[n]}</ArticleTitle><Abstract><AbstractText>{BODIES[n]}"
            "</AbstractText></Abstract><AuthorList><Author><LastName>Lee</LastName></Author>"
            f"</AuthorList></Article><MeshHeadingList>{mesh}</MeshHeadingList></MedlineCitation>"
            "</PubmedArticle>"
        )
    return "".join([*made, "</PubmedArticleSet>"])


# --- bookmarks, books, mail ---

NETSCAPE = (
    "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<META HTTP-EQUIV='Content-Type' CONTENT='text/html; "
    "charset=UTF-8'>\n<TITLE>Bookmarks</TITLE>\n<H1>Bookmarks Menu</H1>\n<DL><p>\n"
)


def firefox():
    made = [NETSCAPE, '<DT><H3 PERSONAL_TOOLBAR_FOLDER="true">Bookmarks Toolbar</H3>\n<DL><p>\n']
    for n in range(COUNT):
        made.append(
            f'<DT><A HREF="https://x.org/{n}" ADD_DATE="{1600000000 + 86400 * n}" '
            f'TAGS="{",".join(TAGS[n])}">{html.escape(TITLES[n])}</A>\n<DD>{BODIES[n]}\n'
        )
    return "".join([*made, '<DT><A HREF="place:sort=8">Recent</A>\n', "</DL><p>\n</DL>\n"])


def chrome():
    made = [NETSCAPE, '<DT><H3 PERSONAL_TOOLBAR_FOLDER="true">Bookmarks bar</H3>\n<DL><p>\n']
    for n in range(COUNT):
        made += [f"<DT><H3>{tag}</H3>\n<DL><p>\n" for tag in TAGS[n]]
        made.append(f'<DT><A HREF="https://x.org/{n}">{TITLES[n]} {BODIES[n]}</A>\n')
        made += ["</DL><p>\n"] * len(TAGS[n])
    return "".join([*made, "</DL><p>\n</DL>\n"])


def pocket():
    made = ["<!DOCTYPE html><html><head><title>Pocket Export</title></head><body><ul>"]
    for n in range(COUNT):
        made.append(
            f'<li><a href="https://x.org/{n}" time_added="{1600000000 + n}" '
            f'tags="{",".join(TAGS[n])}">{TITLES[n]} {BODIES[n]}</a></li>'
        )
    return "".join([*made, "</ul></body></html>"])


def pinboard():
    return json.dumps(
        [
            {
                "href": f"https://x.org/{n}",
                "description": TITLES[n],
                "extended": BODIES[n],
                "meta": f"{n:032x}",
                "time": f"2020-01-{1 + n:02}T10:00:00Z",
                "shared": "yes",
                "toread": "no",
                "tags": " ".join(TAGS[n]),
            }
            for n in range(COUNT)
        ]
    )


def raindrop():
    return table(
        {
            "id": range(COUNT),
            "title": TITLES,
            "note": [""] * COUNT,
            "excerpt": BODIES,
            "url": [f"https://x.org/{n}" for n in range(COUNT)],
            "folder": ["Unsorted", "Games"] * (COUNT // 2),
            "tags": [", ".join(own) for own in TAGS],
            "created": [f"2020-01-{1 + n:02}T10:00:00Z" for n in range(COUNT)],
            "favorite": ["true", "false"] * (COUNT // 2),
        }
    )


def goodreads():
    return table(
        {
            "Book Id": range(COUNT),
            "Title": TITLES,
            "Author": [people(n)[0] for n in range(COUNT)],
            "Author l-f": [people(n)[0] for n in range(COUNT)],
            "Additional Authors": [", ".join(people(n)[1:]) for n in range(COUNT)],
            "My Rating": [n % 5 for n in range(COUNT)],
            "Bookshelves": [", ".join(own) for own in TAGS],
            "Exclusive Shelf": ["read", "to-read"] * (COUNT // 2),
            "My Review": [f"{body}<br/>more" for body in BODIES],
        }
    )


def calibre_csv():
    return table(
        {
            "title": TITLES,
            "authors": [" & ".join(people(n)) for n in range(COUNT)],
            "comments": BODIES,
            "tags": [", ".join(own) for own in TAGS],
            "uuid": [f"{n:08x}-0000" for n in range(COUNT)],
        }
    )


def mbox(folder):
    path = folder / "mail.mbox"
    box = mailbox.mbox(path)
    for n in range(COUNT):
        message = email.message.EmailMessage()
        message["Message-ID"] = f"<{n}@x.org>"
        message["From"] = "Ann <ann@x.org>"
        message["Date"] = f"Mon, {1 + n:02} Jan 2024 10:00:00 +0000"
        message["Subject"] = f"{TITLES[n]} ü"
        message["X-Keywords"] = ", ".join(TAGS[n])
        message.set_content(f"{BODIES[n]}\n\nFrom here on\n")
        if n % 2:
            message.add_alternative(f"<p>{BODIES[n]}</p>", subtype="html")
        box.add(message)
    box.close()
    return path


def eml(folder):
    box = mailbox.mbox(mbox(folder))
    files = {f"{n:02}.eml": bytes(message) for n, message in enumerate(box)}
    box.close()
    return write_all(folder / "letters", files)


# --- notes ---


def vault():
    files = {".obsidian/app.json": "{}", "attachments/a.png": "PNG"}
    for n in range(COUNT):
        first, *more = TAGS[n]
        nested = "".join(f"#{tag} " for tag in more)
        head = f"---\ntags: {first}\naliases: []\ncreated: 2020-01-02\n---\n"
        files[f"{n % 2}/{TITLES[n]}.md"] = (
            f"{head}# {TITLES[n]}\n\n{BODIES[n]}. {nested}\n`#code`\n"
        )
    return files


def hugo():
    return {
        f"posts/{n:02}.md": f'+++\ntitle = "{TITLES[n]}"\ndate = 2020-01-02T10:00:00Z\ntags = '
        f"{json.dumps(TAGS[n])}\n+++\n\n{BODIES[n]}\n"
        for n in range(COUNT)
    }


def jekyll():
    made = {}
    for n in range(COUNT):
        extra = "categories: [news]\n" if n == 3 else ""
        made[f"_posts/2020-01-02-{n:02}.md"] = (
            f'---\nlayout: post\ntitle:  "{TITLES[n]}\n  "\nauthor: {people(n)[0]}\n{extra}'
            f"tag: [{', '.join(TAGS[n])}]\nlinks:\n  - name: a\n    url: b\n---\n{BODIES[n]}\n"
        )
    return {name.replace("_posts", "posts"): text for name, text in made.items()}


def yml():
    return {
        f"{n:02}.yml": f"id: y{n}\ntitle: '{TITLES[n]}'\ndescription: |\n  {BODIES[n]}\ntags:\n"
        + "".join(f"- {tag}\n" for tag in TAGS[n])
        for n in range(COUNT)
    }


def readmes():
    return {
        "README.md": "About all of them.",
        **{
            f"{'/'.join(TAGS[n])}/{n:02}/README.md": f"{TITLES[n]} {BODIES[n]}"
            for n in range(COUNT)
        },
    }


# --- tables ---


def workbook(folder):
    import datetime

    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["id", "title", "description", "tags", "seen"])
    for n in range(COUNT):
        day = datetime.datetime(2020, 1, 1 + n)
        sheet.append([f"x{n}", TITLES[n], BODIES[n], "; ".join(TAGS[n]), day])
    book.create_sheet("other").append(["nothing", "here"])
    path = folder / "book.xlsx"
    book.save(path)
    return path


def ods(folder):
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    document = OpenDocumentSpreadsheet()
    sheet = Table(name="Sheet1")
    columns = [["id", "title", "description", "tags", "year"]]
    for cells in [
        *columns,
        *([f"x{n}", TITLES[n], BODIES[n], "; ".join(TAGS[n]), 2000 + n % 3] for n in range(COUNT)),
    ]:
        row = TableRow()
        for value in cells:
            kind = {"valuetype": "float", "value": value} if isinstance(value, int) else {}
            cell = TableCell(**kind)
            cell.addElement(P(text=str(value)))
            row.addElement(cell)
        row.addElement(TableCell(numbercolumnsrepeated=16000))
        sheet.addElement(row)
    sheet.addElement(TableRow(numberrowsrepeated=1000000))
    document.spreadsheet.addElement(sheet)
    path = folder / "book.ods"
    document.save(path)
    return path


def database(folder):
    path = folder / "notes.sqlite"
    base = sqlite3.connect(path)
    base.execute("create table settings (key text, value text)")
    base.execute("create table notes (id integer primary key, title text, body text, tags text)")
    for n in range(COUNT):
        base.execute(
            "insert into notes values (?, ?, ?, ?)", (n, TITLES[n], BODIES[n], ",".join(TAGS[n]))
        )
    base.commit()
    base.close()
    return path


def stackexchange_csv():
    columns = {
        "Id": [*range(COUNT), 900],
        "PostTypeId": [*[1] * COUNT, 2],
        "Title": [*TITLES, ""],
        "Body": [*(f"<p>{body}</p>" for body in BODIES), "<p>an answer</p>"],
        "Tags": [*("".join(f"<{tag}>" for tag in own) for own in TAGS), ""],
    }
    return table(columns)


def posts():
    made = ['<?xml version="1.0" encoding="utf-8"?>', "<posts>"]
    for n in range(COUNT):
        tags = "".join(f"<{tag}>" for tag in TAGS[n])
        body = quoteattr(f"<p>{BODIES[n]}</p>")
        made.append(
            f'<row Id="{n}" PostTypeId="1" Body={body} Title={quoteattr(TITLES[n])} '
            f"Tags={quoteattr(tags)} />"
        )
    made.append(f'<row Id="900" PostTypeId="2" Body="{escape("an answer")}" />')
    return "\n".join([*made, "</posts>"])


def lines_of(make):
    return lambda: "".join(json.dumps(make(n)) + "\n" for n in range(COUNT))


def github(n):
    return {
        "number": n,
        "title": TITLES[n],
        "body": BODIES[n],
        "user": {"login": "ann", "id": 3},
        "labels": [{"id": len(tag), "name": tag, "color": "f00"} for tag in TAGS[n]],
        "assignees": [{"login": "bo"}],
        "state": "open",
    }


def arxiv(n):
    return {
        "id": f"2001.{n:05}",
        "submitter": people(n)[0],
        "authors": " and ".join(people(n)),
        "title": TITLES[n],
        "comments": "15 pages, 5 figures",
        "categories": " ".join(TAGS[n]),
        "abstract": BODIES[n],
        "versions": [{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}],
        "authors_parsed": [["Lee", "Ann", ""]],
    }


def openalex(n):
    words = BODIES[n].split()
    places = {}
    for place, word in enumerate(words):
        places.setdefault(word, []).append(place)
    return {
        "id": f"https://openalex.org/W{n}",
        "title": TITLES[n],
        "abstract_inverted_index": places,
        "topics": [{"id": f"T{tag}", "display_name": tag, "score": 0.9} for tag in TAGS[n]],
        "authorships": [{"author": {"display_name": people(n)[0]}, "author_position": "first"}],
        "publication_year": 2001,
    }


def tate(n):
    leaves = [{"id": len(tag), "name": tag, "children": []} for tag in TAGS[n]]
    return {
        "id": n,
        "title": TITLES[n],
        "notes": BODIES[n],
        "contributors": [{"fc": people(n)[0], "role": "artist"}],
        "subjects": {"id": 1, "name": "subject", "children": leaves},
    }


def columns_of_truth(names):
    return table(
        {
            "id": range(COUNT),
            "comment_text": [f"{t} {b}" for t, b in zip(TITLES, BODIES, strict=True)],
            **{
                shown: [int(tag in own) for own in TAGS]
                for tag, shown in zip(sorted({t for own in TAGS for t in own}), names, strict=True)
            },
        }
    )


def long_rows():
    pairs = [(n, tag) for n in range(COUNT) for tag in TAGS[n]]
    return table(
        {
            "doc": [f"d{n}" for n, _ in pairs],
            "Book": [TITLES[n] for n, _ in pairs],
            "description": [BODIES[n] for n, _ in pairs],
            "genre": [tag for _, tag in pairs],
        }
    )


def arff():
    made = ["@relation notes", "@attribute id numeric", "@attribute text string"]
    made += ["@attribute class hierarchical root/game,root/image,root/sound,root/text", "@data"]
    made += [f"{n},'{TITLES[n]} {BODIES[n]}',{'@'.join(TAGS[n])}" for n in range(COUNT)]
    return "\n".join(made)


def by_key():
    return json.dumps(
        {f"k{n}": {k: ITEMS[n][k] for k in ("title", "body", "tags")} for n in range(COUNT)}
    )


def graph():
    nodes = [
        {"node": {**ITEMS[n], "tags": {"nodes": [{"name": t} for t in TAGS[n]]}}}
        for n in range(COUNT)
    ]
    return json.dumps({"meta": {"n": COUNT}, "data": {"search": {"edges": nodes}}})


def answers(yes, no):
    """A column for each label, after one of texts."""
    columns = {
        "номер": range(COUNT),
        "описание": [f"{t} {b}" for t, b in zip(TITLES, BODIES, strict=True)],
    }
    return table({**columns, **{tag: [yes if tag in own else no for own in TAGS] for tag in KINDS}})


def in_columns(names):
    """Labels in several columns, and cells that R leaves without a value."""
    cells = [[*own, "NA"][:2] for own in TAGS]
    rows = [[TITLES[n], *cells[n], BODIES[n], "NA"] for n in range(COUNT)]
    out = io.StringIO()
    csv.writer(out).writerows([["Summary", *names, "Description", "Rating"], *rows])
    return out.getvalue()


def options(n):
    """An item of a program for annotation, with all choices in each."""
    return {
        "text": f"{TITLES[n]} {BODIES[n]}",
        "options": [{"id": k} for k in KINDS],
        "accept": TAGS[n],
    }


def titled_book(folder):
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["All things"], [], ["id", "title", "text", "tags"]):
        book.active.append(row)
    for n in range(COUNT):
        book.active.append([f"x{n}", TITLES[n], BODIES[n], ", ".join(TAGS[n])])
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def opf():
    head = '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:d="http://purl.org/dc/elements/1.1/">'
    return {
        f"{n}/metadata.opf": f"{head}<d:title>{TITLES[n]}</d:title>"
        f"<d:identifier>u{n}</d:identifier>"
        f"<d:description>&lt;p&gt;{BODIES[n]}&lt;/p&gt;</d:description>"
        + "".join(f"<d:subject>{tag}</d:subject>" for tag in TAGS[n])
        + "</metadata></package>"
        for n in range(COUNT)
    }


def fasttext():
    return "".join(
        f"{' '.join(f'__label__{tag}' for tag in TAGS[n])} {TITLES[n]} {BODIES[n]}\n"
        for n in range(COUNT)
    )


def notion():
    return {
        f"Notes {'a' * 8}/{TITLES[n]} {n:032x}.md": f"# {TITLES[n]}\n\nTags: {', '.join(TAGS[n])}\n"
        f"Created: January {1 + n}, 2023 10:00 AM\nStatus: Done\n\n{BODIES[n]}\n"
        for n in range(COUNT)
    }


def anki(mark, *head):
    """Notes with tags in the third column, or where ``head`` says."""
    out = io.StringIO()
    rows = [[f"<b>{TITLES[n]}</b> ?", BODIES[n], " ".join(TAGS[n])] for n in range(COUNT)]
    csv.writer(out, delimiter=mark, lineterminator="\n").writerows(rows)
    return "".join(f"#{line}\n" for line in (*head, "tags column:3")) + out.getvalue()


def survey():
    """A form's answers: questions are names of columns."""
    questions = ["Timestamp", "What did you like?", "Which (all that apply)?", "Rate it, 1-5."]
    rows = [
        [f"2024/01/{1 + n:02} 3:14:15 PM", f"{TITLES[n]} {BODIES[n]}", ", ".join(TAGS[n]), n % 5]
        for n in range(COUNT)
    ]
    return questions, rows


def form():
    out = io.StringIO()
    questions, rows = survey()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([questions, *rows])
    return out.getvalue()


def three_headers():
    out = io.StringIO()
    questions, rows = survey()
    names = [f"Q{n}" for n in range(4)]
    csv.writer(out).writerows([names, questions, [f'{{"id":"{n}"}}' for n in names], *rows])
    return out.getvalue()


def two_levels():
    """What pandas writes for columns of two levels."""
    rows = [[n, 2000 + n, TITLES[n], BODIES[n], "|".join(TAGS[n])] for n in range(COUNT)]
    out = io.StringIO()
    head = [["", "meta", "text", "text", "label"], ["", "year", "title", "body", "tags"]]
    csv.writer(out).writerows([*head, *rows])
    return out.getvalue()


def padded():
    rows = [[n, TITLES[n], BODIES[n], ", ".join(TAGS[n])] for n in range(COUNT)]
    out = io.StringIO()
    head = [["Report of 2024", "", "", ""], [""] * 4, ["id", "title", "body", "tags"]]
    csv.writer(out, delimiter=";").writerows([*head, *rows])
    return out.getvalue()


def marks(mark, none=""):
    """A column for each label, with a mark in it."""
    columns = {
        "Object": [f"{t} of it" for t in TITLES],
        "Description": [f"{t}  {b}" for t, b in zip(TITLES, BODIES, strict=True)],
    }
    return table(
        {**columns, **{tag: [mark if tag in own else none for own in TAGS] for tag in KINDS}}
    )


def cover(folder):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["This workbook was exported on 2024-01-01"])
    sheet = book.create_sheet("Data")
    sheet.append(["id", "title", "body", *KINDS])
    for n in range(COUNT):
        sheet.append([f"x{n}", TITLES[n], BODIES[n], *(int(tag in TAGS[n]) for tag in KINDS)])
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def trello():
    labels = [{"id": tag * 2, "name": tag, "color": "green"} for tag in KINDS]
    cards = [
        {
            "id": f"c{n}",
            "name": TITLES[n],
            "desc": BODIES[n],
            "labels": [one for one in labels if one["name"] in TAGS[n]],
            "due": None,
        }
        for n in range(COUNT)
    ]
    events = [
        {"id": f"a{n}", "data": {"text": "Done.", "card": {"name": TITLES[n % COUNT]}}}
        for n in range(90)
    ]
    return json.dumps(
        {"id": "b", "name": "Board", "actions": events, "cards": cards, "labels": labels}
    )


def firefox_json():
    links = [
        {"id": n, "title": f"{TITLES[n]} {BODIES[n]}", "tags": ",".join(TAGS[n]), "uri": f"x:{n}"}
        for n in range(COUNT)
    ]
    inner = {"title": "Folder", "children": links[:7]}
    bars = [
        {"title": "menu", "children": [inner, *links[7:9]]},
        {"title": "toolbar", "children": links[9:]},
    ]
    return json.dumps({"title": "", "root": "placesRoot", "children": bars}, indent=1)


def chrome_json():
    def folder(names, link):
        return {"name": names[0], "children": [folder(names[1:], link)]} if names else link

    links = [
        folder(TAGS[n], {"id": str(n), "name": f"{TITLES[n]} {BODIES[n]}", "url": f"x:{n}"})
        for n in range(COUNT)
    ]
    return json.dumps(
        {"roots": {"bar": {"name": "Bookmarks bar", "children": links}}, "version": 1},
        indent=1,
    )


def linked_tables(folder):
    path = folder / "notes.db"
    base = sqlite3.connect(path)
    base.executescript(
        "create table notes (id integer primary key, title text, body text);"
        "create table tags (id integer primary key, name text);"
        "create table notes_tags (note_id integer, tag_id integer);"
    )
    base.executemany("insert into tags values (?, ?)", list(enumerate(KINDS)))
    for n in range(COUNT):
        base.execute("insert into notes values (?, ?, ?)", (n, TITLES[n], BODIES[n]))
        pairs = [(n, KINDS.index(tag)) for tag in TAGS[n]]
        base.executemany("insert into notes_tags values (?, ?)", pairs)
    base.commit()
    base.close()
    return path


def objects_in_cells(write):
    lists = [[{"id": len(tag), "name": tag} for tag in own] for own in TAGS]
    return table(
        {
            "id": range(COUNT),
            "original_title": TITLES,
            "overview": BODIES,
            "genres": map(write, lists),
        }
    )


def web_of_science():
    return table(
        {
            "PT": ["J"] * COUNT,
            "AU": [people(n)[0] for n in range(COUNT)],
            "TI": TITLES,
            "DE": ["; ".join(own) for own in TAGS],
            "AB": BODIES,
            "UT": [f"WOS:{n:06}" for n in range(COUNT)],
        },
        "\t",
    )


def hashes(joint):
    return table(
        {
            "id": range(COUNT),
            "Titel": TITLES,
            "Beschreibung": BODIES,
            "Hashtags": [joint.join(f"#{tag}" for tag in own) for own in TAGS],
        }
    )


def titled(title="title", text="body", labels="tags", ids="id"):
    return (f"{title} + {text}", labels, ids)


# By shape: what writes it; and the format, the fields of text, labels and ids.
SAMPLES = {
    "BibTeX": (file("a.bib", bibtex), "bibtex", *titled("title", "abstract", "keywords", "key")),
    "RIS": (file("a.ris", ris), "ris", *titled("title", "abstract", "keywords")),
    "CSL JSON": (file("a.json", csl), "json", *titled("title", "abstract", "keyword")),
    "Zotero RDF": (file("a.rdf", zotero), "zotero", *titled("title", "abstract")),
    "MARC 21": (file("a.mrc", marc), "marc", *titled("title", "abstract", "subjects")),
    "MARCXML": (file("a.xml", marcxml), "marcxml", *titled("title", "abstract", "subjects")),
    "MODS": (file("a.xml", mods), "mods", *titled("title", "abstract", "subjects")),
    "OAI-PMH": (file("a.xml", oai), "dc", *titled("title", "description", "subjects")),
    "PubMed": (file("a.xml", pubmed), "pubmed", *titled("title", "abstract", "mesh terms", "pmid")),
    "Firefox": (file("a.html", firefox), "bookmarks", *titled("title", "description", ids="url")),
    "Chrome": (file("a.html", chrome), "bookmarks", "title", "folders", "url"),
    "Pocket": (file("a.html", pocket), "bookmarks", "title", "tags", "url"),
    "Pinboard": (file("a.json", pinboard), "json", *titled("description", "extended", ids="href")),
    "Raindrop": (file("a.csv", raindrop), "csv", "title + excerpt + note", "tags", "id"),
    "Goodreads": (
        file("a.csv", goodreads),
        "csv",
        *titled("Title", "My Review", "Bookshelves", "Book Id"),
    ),
    "Calibre csv": (file("a.csv", calibre_csv), "csv", *titled("title", "comments", ids="uuid")),
    "mbox": (mbox, "mail", *titled("subject", "text", "labels", "message id")),
    "eml": (eml, "mail", *titled("subject", "text", "labels", "message id")),
    "Obsidian": (tree(vault), "markdown", "text", "tags + inline tags", "path"),
    "Hugo": (tree(hugo), "markdown", *titled(text="text", ids="path")),
    "Jekyll": (tree(jekyll), "markdown", *titled(text="text", labels="tag", ids="path")),
    "YAML files": (tree(yml), "yaml", *titled(text="description")),
    "READMEs": (tree(readmes), "folder", "text", "labels", "path"),
    "xlsx": (workbook, "xlsx", *titled(text="description")),
    "ods": (ods, "ods", *titled(text="description")),
    "SQLite": (database, "sqlite", *titled()),
    "StackExchange csv": (
        file("a.csv", stackexchange_csv),
        "csv",
        *titled("Title", "Body", "Tags", "Id"),
    ),
    "StackExchange xml": (
        file("Posts.xml", posts),
        "posts",
        *titled("Title", "Body", "Tags", "Id"),
    ),
    "GitHub": (
        file("a.jsonl", lines_of(github)),
        "jsonl",
        *titled(labels="labels.name", ids="number"),
    ),
    "arXiv": (
        file("a.jsonl", lines_of(arxiv)),
        "jsonl",
        *titled("title", "abstract", "categories"),
    ),
    "OpenAlex": (
        file("a.jsonl", lines_of(openalex)),
        "jsonl",
        *titled("title", "abstract", "topics.display_name"),
    ),
    "Tate": (
        file("a.jsonl", lines_of(tate)),
        "jsonl",
        *titled("title", "notes", "subjects.children.name"),
    ),
    "columns of 0 and 1": (
        file("a.csv", lambda: columns_of_truth(["game", "image", "sound", "text"])),
        "csv",
        "comment_text",
        "game + image + sound + text",
        "id",
    ),
    "long rows": (file("a.csv", long_rows), "csv", "Book + description", "genre", "doc"),
    "ARFF": (file("a.arff", arff), "arff", "text", "class", "id"),
    "JSON list": (
        file("a.json", lambda: json.dumps(ITEMS, indent=1)),
        "json",
        *titled(),
    ),
    "JSON lines": (file("a.jsonl", lines_of(lambda n: ITEMS[n])), "jsonl", *titled()),
    "blank-separated": (
        file(
            "a.csv",
            lambda: table({"title": TITLES, "body": BODIES, "tags": [" ".join(t) for t in TAGS]}),
        ),
        "csv",
        "title + body",
        "tags",
        None,
    ),
    "tab-separated": (
        file(
            "a.tsv",
            lambda: table(
                {
                    "id": range(COUNT),
                    "title": TITLES,
                    "body": BODIES,
                    "tags": ["|".join(t) for t in TAGS],
                },
                "\t",
            ),
        ),
        "tsv",
        *titled(),
    ),
    "objects by key": (file("a.json", by_key), "json", *titled(ids="key")),
    "lists inside objects": (
        file("a.json", graph),
        "json",
        *titled("node.title", "node.body", "node.tags.nodes.name", "node.id"),
    ),
    "columns of yes and no": (
        file("a.csv", lambda: answers("Yes", "No")),
        "csv",
        "описание",
        " + ".join(KINDS),
        "номер",
    ),
    "tag1 and tag2": (
        file("a.csv", lambda: in_columns(["tag1", "tag2"])),
        "csv",
        *titled("Summary", "Description", "tag1 + tag2", None),
    ),
    "columns of one name": (
        file("a.csv", lambda: in_columns(["Labels", "Labels"])),
        "csv",
        *titled("Summary", "Description", "Labels + Labels 3", None),
    ),
    "choices in each item": (file("a.jsonl", lines_of(options)), "jsonl", "text", "accept", None),
    "workbook with a title": (titled_book, "xlsx", *titled(text="text")),
    "comments above a table": (
        file("a.csv", lambda: f"# exported\n\n{in_columns(['tag1', 'tag2'])}"),
        "csv",
        *titled("Summary", "Description", "tag1 + tag2", None),
    ),
    "Excel's separator": (
        file(
            "a.csv",
            lambda: (
                "sep=;\r\n"
                + table(
                    {
                        "text": [f"{t} {b}" for t, b in zip(TITLES, BODIES, strict=True)],
                        "tags": [", ".join(t) for t in TAGS],
                    },
                    ";",
                )
            ),
        ),
        "csv",
        "text",
        "tags",
        None,
    ),
    "fastText": (file("a.txt", fasttext), "fasttext", "text", "labels", None),
    "Notion": (tree(notion), "markdown", "text", "Tags", "path"),
    "Anki": (
        file("a.txt", lambda: anki("\t", "separator:tab", "html:true")),
        "tsv",
        "front + back",
        "tags",
        None,
    ),
    "Anki with names": (
        file("a.txt", lambda: anki(";", "separator:Semicolon", "columns:Front;Back;Tags")),
        "csv",
        "Front + Back",
        "tags",
        None,
    ),
    "form": (file("a.csv", form), "csv", "What did you like?", "Which (all that apply)?", None),
    "three headers": (file("a.csv", three_headers), "csv", "Q1", "Q2", None),
    "columns of two levels": (file("a.csv", two_levels), "csv", *titled(ids="column 1")),
    "padded title": (file("a.csv", padded), "csv", *titled()),
    "x or nothing": (
        file("a.csv", lambda: marks("x")),
        "csv",
        "Object + Description",
        " + ".join(KINDS),
        None,
    ),
    "Y and N": (
        file("a.csv", lambda: marks("Y", "N")),
        "csv",
        "Object + Description",
        " + ".join(KINDS),
        None,
    ),
    "sheet behind a cover": (cover, "xlsx", *titled(labels=" + ".join(KINDS))),
    "Trello": (file("a.json", trello), "json", *titled("name", "desc", "labels.name")),
    "Firefox JSON": (file("a.json", firefox_json), "json", "title", "tags", "id"),
    "Chrome JSON": (file("Bookmarks", chrome_json), "json", "name", "bookmark folders", "id"),
    "linked tables": (linked_tables, "sqlite", *titled()),
    "objects in cells": (
        file("a.csv", lambda: objects_in_cells(json.dumps)),
        "csv",
        *titled("original_title", "overview", "genres"),
    ),
    "objects by Python": (
        file("a.csv", lambda: objects_in_cells(repr)),
        "csv",
        *titled("original_title", "overview", "genres"),
    ),
    "Web of Science": (file("a.txt", web_of_science), "tsv", *titled("TI", "AB", "DE", "UT")),
    "hash tags": (
        file("a.csv", lambda: hashes(" ")),
        "csv",
        *titled("Titel", "Beschreibung", "Hashtags"),
    ),
    "hash tags and commas": (
        file("a.csv", lambda: hashes(", ")),
        "csv",
        *titled("Titel", "Beschreibung", "Hashtags"),
    ),
    "metadata.opf": (tree(opf), "dc", *titled("title", "description", "subjects")),
}
