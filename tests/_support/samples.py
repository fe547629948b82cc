"""The same items as files of many programs, made with the libraries of their fields.

``SAMPLES`` has for each shape what writes it into a folder, and what must be read: the format, the
fields of the text, of the labels and of the ids.
"""

import csv
import datetime
import email.message
import io
import json
import mailbox
import sqlite3

from _support.tagged import as_lines, rows, write_all

COUNT = 24
ITEMS = rows(COUNT)
TAGS = [item["tags"] for item in ITEMS]
TITLES = [item["title"] for item in ITEMS]
BODIES = [item["body"] for item in ITEMS]
WHOLE = [f"{title} {body}" for title, body in zip(TITLES, BODIES, strict=True)]
KINDS = sorted({tag for own in TAGS for tag in own})
PEOPLE = ["Ann Lee", "Bo Müller", "Cem Öz"]


def people(n):
    return [PEOPLE[n % 3], PEOPLE[(n + 1) % 3]][: 1 + n % 2]


def lines(rows, delimiter=",", **how):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, **how).writerows(rows)
    return out.getvalue()


def table(columns, delimiter=","):
    return lines([columns, *zip(*columns.values(), strict=True)], delimiter)


def joined(joint=", "):
    return [joint.join(own) for own in TAGS]


def each(template, joint=", ", around="*"):
    """Return the items: in a template {n}, {title}, {body}, {tags} and {who} are those of one."""
    made = []
    for n, own in enumerate(TAGS):
        tags = joint.join(around.replace("*", tag) for tag in own)
        values = {"n": str(n), "nn": f"{n:02}", "title": TITLES[n], "body": BODIES[n]}
        text = template
        for key, value in {**values, "tags": tags, "who": people(n)[0]}.items():
            text = text.replace(f"{{{key}}}", value)
        made.append(text)
    return made


def whole(lead, template, end="", **tags):
    return "".join([lead, *each(template, **tags), end])


def files_of(name, template, **tags):
    return dict(zip(each(name, joint="/"), each(template, **tags), strict=True))


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


CSL = each(
    '{"id": "c{n}", "type": "article-journal", "title": "{title}", "abstract": "{body}", '
    '"keyword": "{tags}", "author": [{"given": "Ann", "family": "Lee"}], '
    '"issued": {"date-parts": [[2001, 1, 2]]}}'
)


ZOTERO_HEAD = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:z="http://www.zotero.org/namespaces/export#" xmlns:bib="http://purl.org/net/biblio#" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:foaf="http://xmlns.com/foaf/0.1/">'
)


ZOTERO = whole(
    ZOTERO_HEAD,
    '<bib:Article rdf:about="urn:{n}"><z:itemType>journalArticle</z:itemType><dcterms:isPartOf>'
    "<bib:Journal><dc:title>The Journal</dc:title></bib:Journal></dcterms:isPartOf><bib:authors>"
    "<rdf:Seq><rdf:li><foaf:Person><foaf:surname>Lee</foaf:surname></foaf:Person></rdf:li>"
    "</rdf:Seq></bib:authors><dc:subject>{tags}</z:AutomaticTag></dc:subject><dc:title>{title}"
    "</dc:title><dcterms:abstract>{body}</dcterms:abstract><dc:date>2001-02-03</dc:date>"
    '</bib:Article><z:Attachment rdf:about="#a{n}"><z:itemType>attachment</z:itemType>'
    "<dc:title>Full Text</dc:title></z:Attachment>",
    "</rdf:RDF>",
    joint="</z:AutomaticTag></dc:subject><dc:subject>",
    around="<z:AutomaticTag><rdf:value>*</rdf:value>",
)


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


MODS = whole(
    '<modsCollection xmlns="http://www.loc.gov/mods/v3">',
    "<mods><titleInfo><title>{title}</title></titleInfo><name><namePart>{who}</namePart></name>"
    "<abstract>{body}</abstract>{tags}<originInfo><dateIssued>2001</dateIssued></originInfo>"
    "<recordInfo><recordIdentifier>d{n}</recordIdentifier></recordInfo></mods>",
    "</modsCollection>",
    joint="",
    around="<subject><topic>*</topic></subject>",
)
OAI = whole(
    '<?xml version="1.0"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>',
    "<record><header><identifier>oai:{n}</identifier></header><metadata>"
    '<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
    "<dc:creator>{who}</dc:creator>{tags}<dc:description>{body}</dc:description>"
    "<dc:date>2001-01-02</dc:date></oai_dc:dc></metadata></record>",
    '<record><header status="deleted"><identifier>oai:x</identifier></header></record>'
    "</ListRecords></OAI-PMH>",
    joint="",
    around="<dc:subject>*</dc:subject>",
)
PUBMED = whole(
    '<?xml version="1.0"?><!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" '
    '"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd"><PubmedArticleSet>',
    "<PubmedArticle><MedlineCitation><PMID>1{nn}</PMID><Article><Journal><JournalIssue><PubDate>"
    "<Year>2001</Year><Month>Mar</Month></PubDate></JournalIssue><Title>J</Title></Journal>"
    "<ArticleTitle>{title}</ArticleTitle><Abstract><AbstractText>{body}</AbstractText></Abstract>"
    "<AuthorList><Author><LastName>Lee</LastName></Author></AuthorList></Article>"
    "<MeshHeadingList>{tags}</MeshHeadingList></MedlineCitation></PubmedArticle>",
    "</PubmedArticleSet>",
    joint="",
    around='<MeshHeading><DescriptorName UI="D1">*</DescriptorName>'
    "<QualifierName>methods</QualifierName></MeshHeading>",
)


# --- bookmarks, books, mail ---

NETSCAPE = (
    "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<META HTTP-EQUIV='Content-Type' CONTENT='text/html; "
    "charset=UTF-8'>\n<TITLE>Bookmarks</TITLE>\n<H1>Bookmarks Menu</H1>\n<DL><p>\n"
)


FIREFOX = whole(
    NETSCAPE + '<DT><H3 PERSONAL_TOOLBAR_FOLDER="true">Bookmarks Toolbar</H3>\n<DL><p>\n',
    '<DT><A HREF="https://x.org/{n}" ADD_DATE="16{nn}000000" TAGS="{tags}">{title}</A>\n'
    "<DD>{body}\n",
    '<DT><A HREF="place:sort=8">Recent</A>\n</DL><p>\n</DL>\n',
    joint=",",
)


def chrome():
    made = [NETSCAPE, '<DT><H3 PERSONAL_TOOLBAR_FOLDER="true">Bookmarks bar</H3>\n<DL><p>\n']
    for n in range(COUNT):
        made += [f"<DT><H3>{tag}</H3>\n<DL><p>\n" for tag in TAGS[n]]
        made.append(f'<DT><A HREF="https://x.org/{n}">{TITLES[n]} {BODIES[n]}</A>\n')
        made += ["</DL><p>\n"] * len(TAGS[n])
    return "".join([*made, "</DL><p>\n</DL>\n"])


POCKET = whole(
    "<!DOCTYPE html><html><head><title>Pocket Export</title></head><body><ul>",
    '<li><a href="https://x.org/{n}" time_added="16000000{nn}" tags="{tags}">'
    "{title} {body}</a></li>",
    "</ul></body></html>",
    joint=",",
)
PINBOARD = each(
    '{"href": "https://x.org/{n}", "description": "{title}", "extended": "{body}", '
    '"meta": "a{nn}", '
    '"time": "2020-01-02T10:00:{nn}Z", "shared": "yes", "toread": "no", "tags": "{tags}"}',
    joint=" ",
)


RAINDROP = table(
    {
        "id": range(COUNT),
        "title": TITLES,
        "note": [""] * COUNT,
        "excerpt": BODIES,
        "url": each("https://x.org/{n}"),
        "folder": ["Unsorted", "Games"] * (COUNT // 2),
        "tags": joined(),
        "created": [f"2020-01-{1 + n:02}T10:00:00Z" for n in range(COUNT)],
        "favorite": ["true", "false"] * (COUNT // 2),
    }
)
GOODREADS = table(
    {
        "Book Id": range(COUNT),
        "Title": TITLES,
        "Author": each("{who}"),
        "Author l-f": each("{who}"),
        "Additional Authors": [", ".join(people(n)[1:]) for n in range(COUNT)],
        "My Rating": [n % 5 for n in range(COUNT)],
        "Bookshelves": joined(),
        "Exclusive Shelf": ["read", "to-read"] * (COUNT // 2),
        "My Review": each("{body}<br/>more"),
    }
)
CALIBRE = table(
    {
        "title": TITLES,
        "authors": [" & ".join(people(n)) for n in range(COUNT)],
        "comments": BODIES,
        "tags": joined(),
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


HUGO = files_of(
    "posts/{nn}.md",
    '+++\ntitle = "{title}"\ndate = 2020-01-02T10:00:00Z\ntags = [{tags}]\n+++\n\n{body}\n',
    around='"*"',
)
JEKYLL = files_of(
    "posts/2020-01-02-{nn}.md",
    '---\nlayout: post\ntitle:  "{title}\n  "\nauthor: {who}\ntag: [{tags}]\nlinks:\n  - name: a\n'
    "    url: b\n---\n{body}\n",
)
# A field that few notes have.
JEKYLL["posts/2020-01-02-03.md"] = JEKYLL["posts/2020-01-02-03.md"].replace(
    "tag:", "categories: [news]\ntag:"
)
YML = files_of(
    "{nn}.yml",
    "id: y{n}\ntitle: '{title}'\ndescription: |\n  {body}\ntags:\n{tags}",
    joint="",
    around="- *\n",
)
READMES = {
    "README.md": "About all of them.",
    **files_of("{tags}/{nn}/README.md", "{title} {body}"),
}


# --- tables ---


def workbook(*sheets):
    """What writes a workbook with these rows in its sheets."""

    def write(folder):
        import openpyxl

        book = openpyxl.Workbook()
        for number, content in enumerate(sheets):
            sheet = book.create_sheet("other") if number else book.active
            for row in content:
                sheet.append(row)
        book.save(folder / "a.xlsx")
        return folder / "a.xlsx"

    return write


BOOK = [["id", "title", "description", "tags", "seen"]]
for n, own in enumerate(joined("; ")):
    BOOK.append([f"x{n}", TITLES[n], BODIES[n], own, datetime.datetime(2020, 1, 1 + n)])


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


STACK = table(
    {
        "Id": [*range(COUNT), 900],
        "PostTypeId": [*[1] * COUNT, 2],
        "Title": [*TITLES, ""],
        "Body": [*each("<p>{body}</p>"), "<p>an answer</p>"],
        "Tags": [*each("{tags}", "", "<*>"), ""],
    }
)
POSTS = whole(
    '<?xml version="1.0" encoding="utf-8"?>\n<posts>\n',
    '<row Id="{n}" PostTypeId="1" Body="&lt;p&gt;{body}&lt;/p&gt;" Title="{title}" '
    'Tags="{tags}" />\n',
    '<row Id="900" PostTypeId="2" Body="an answer" /></posts>',
    joint="",
    around="&lt;*&gt;",
)


def listed(items):
    return f"[{', '.join(items)}]"


GITHUB = each(
    '{"number": {n}, "title": "{title}", "body": "{body}", "user": {"login": "ann", "id": 3}, '
    '"labels": [{tags}], "assignees": [{"login": "bo"}], "state": "open"}',
    around='{"id": 8, "name": "*", "color": "f00"}',
)
ARXIV = each(
    '{"id": "2001.000{nn}", "submitter": "{who}", "authors": "{who} and others", '
    '"title": "{title}", '
    '"comments": "15 pages, 5 figures", "categories": "{tags}", "abstract": "{body}", "versions": '
    '[{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}], '
    '"authors_parsed": [["Lee", "Ann", ""]]}',
    joint=" ",
)


def openalex(n):
    words = BODIES[n].split()
    places = {}
    for place, word in enumerate(words):
        places.setdefault(word, []).append(place)
    item = {
        "id": f"https://openalex.org/W{n}",
        "title": TITLES[n],
        "abstract_inverted_index": places,
        "topics": [{"id": f"T{tag}", "display_name": tag, "score": 0.9} for tag in TAGS[n]],
        "authorships": [{"author": {"display_name": people(n)[0]}, "author_position": "first"}],
        "publication_year": 2001,
    }
    return json.dumps(item)


TATE = each(
    '{"id": {n}, "title": "{title}", "notes": "{body}", "contributors": [{"fc": "{who}", "role": '
    '"artist"}], "subjects": {"id": 1, "name": "subject", "children": [{tags}]}}',
    around='{"id": 8, "name": "*", "children": []}',
)


def truth(yes, no):
    """A column for each label."""
    return {tag: [yes if tag in own else no for own in TAGS] for tag in KINDS}


PAIRS = [(n, tag) for n in range(COUNT) for tag in TAGS[n]]
LONG = table(
    {
        "doc": [f"d{n}" for n, _ in PAIRS],
        "Book": [TITLES[n] for n, _ in PAIRS],
        "description": [BODIES[n] for n, _ in PAIRS],
        "genre": [tag for _, tag in PAIRS],
    }
)
ARFF = whole(
    "@relation notes\n@attribute id numeric\n@attribute text string\n"
    "@attribute class hierarchical root/game,root/image,root/sound,root/text\n@data\n",
    "{n},'{title} {body}',{tags}\n",
    joint="@",
)


BY_KEY = {f"k{n}": {k: ITEMS[n][k] for k in ("title", "body", "tags")} for n in range(COUNT)}


def graph():
    nodes = [
        {"node": {**ITEMS[n], "tags": {"nodes": [{"name": t} for t in TAGS[n]]}}}
        for n in range(COUNT)
    ]
    return json.dumps({"meta": {"n": COUNT}, "data": {"search": {"edges": nodes}}})


ANSWERS = table({"номер": range(COUNT), "описание": WHOLE, **truth("Yes", "No")})


def in_columns(names):
    """Labels in several columns, and cells that R leaves without a value."""
    cells = [[*own, "NA"][:2] for own in TAGS]
    rows = [[TITLES[n], *cells[n], BODIES[n], "NA"] for n in range(COUNT)]
    return lines([["Summary", *names, "Description", "Rating"], *rows])


# Of a program for annotation, with all choices in each.
OPTIONS = each(
    '{"text": "{title} {body}", "options": [{"id": "game"}, {"id": "image"}], "accept": [{tags}]}',
    around='"*"',
)


TITLED = [["All things"], [], ["id", "title", "text", "tags"]]
TITLED += [list(row) for row in zip(each("x{n}"), TITLES, BODIES, joined(), strict=True)]
OPF = files_of(
    "{n}/metadata.opf",
    '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:d="http://purl.org/dc/elements/1.1/">'
    "<d:title>{title}</d:title><d:identifier>u{n}</d:identifier><d:description>&lt;p&gt;{body}"
    "&lt;/p&gt;</d:description>{tags}</metadata></package>",
    joint="",
    around="<d:subject>*</d:subject>",
)
FASTTEXT = whole("", "{tags} {title} {body}\n", joint=" ", around="__label__*")
NOTION = files_of(
    "Notes aaaaaaaa/{title} 000000000000000000000000000000{nn}.md",
    "# {title}\n\nTags: {tags}\nCreated: January 2, 2023 10:00 AM\nStatus: Done\n\n{body}\n",
)


def anki(mark, *head):
    """Notes with tags in the third column, or where ``head`` says."""
    rows = zip(each("<b>{title}</b> ?"), BODIES, joined(" "), strict=True)
    lead = "".join(f"#{line}\n" for line in (*head, "tags column:3"))
    return lead + lines(rows, mark, lineterminator="\n")


# A form's answers: questions are names of columns.
QUESTIONS = ["Timestamp", "What did you like?", "Which (all that apply)?", "Rate it, 1-5."]
REPLIES = [
    [f"2024/01/{1 + n:02} 3:14:15 PM", WHOLE[n], own, n % 5] for n, own in enumerate(joined())
]
FORM = lines([QUESTIONS, *REPLIES], quoting=csv.QUOTE_ALL)
QUALTRICS = [f"Q{n}" for n in range(4)]
QUALTRICS = lines([QUALTRICS, QUESTIONS, [f'{{"id":"{n}"}}' for n in QUALTRICS], *REPLIES])
# What pandas writes for columns of two levels.
TWO_LEVELS = [["", "meta", "text", "text", "label"], ["", "year", "title", "body", "tags"]]
TWO_LEVELS += zip(range(COUNT), range(2000, 2000 + COUNT), TITLES, BODIES, joined("|"), strict=True)
PADDED = [["Report of 2024", "", "", ""], [""] * 4, ["id", "title", "body", "tags"]]
PADDED += zip(range(COUNT), TITLES, BODIES, joined(), strict=True)


OBJECTS = {"Object": each("{title} of it"), "Description": each("{title}  {body}")}
COVERED = [["id", "title", "body", *KINDS]]
COVERED += zip(each("x{n}"), TITLES, BODIES, *truth(1, 0).values(), strict=True)


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
    columns = {"id": range(COUNT), "original_title": TITLES, "overview": BODIES}
    return table({**columns, "genres": map(write, lists)})


WEB_OF_SCIENCE = {"PT": ["J"] * COUNT, "AU": each("{who}"), "TI": TITLES, "DE": joined("; ")}
WEB_OF_SCIENCE |= {"AB": BODIES, "UT": [f"WOS:{n:06}" for n in range(COUNT)]}
HASHES = {"id": range(COUNT), "Titel": TITLES, "Beschreibung": BODIES}


def reading(said):
    """The format, and the fields of text, labels and ids."""
    kind, _, fields = said.partition(": ")
    text, labels, ids = fields.split("; ")
    return kind, text, labels, None if ids == "-" else ids


def writing(name, content):
    """What writes a sample into a folder, and returns its path."""

    def write(folder):
        made = content() if callable(content) else content
        if name:
            return write_all(folder, {name: made}) / name
        return write_all(folder / "tree", made)

    return content if name is None else write


# By shape: the name of its file ("" for a folder, None for what a function writes), the content,
# and what must be read: the format, the fields of text, labels and ids.
SHAPES = {
    "BibTeX": ("a.bib", bibtex, "bibtex: title + abstract; keywords; key"),
    "RIS": ("a.ris", ris, "ris: title + abstract; keywords; id"),
    "CSL JSON": ("a.json", listed(CSL), "json: title + abstract; keyword; id"),
    "Zotero RDF": ("a.rdf", ZOTERO, "zotero: title + abstract; tags; id"),
    "MARC 21": ("a.mrc", marc, "marc: title + abstract; subjects; id"),
    "MARCXML": ("a.xml", marcxml, "marcxml: title + abstract; subjects; id"),
    "MODS": ("a.xml", MODS, "mods: title + abstract; subjects; id"),
    "OAI-PMH": ("a.xml", OAI, "dc: title + description; subjects; id"),
    "PubMed": ("a.xml", PUBMED, "pubmed: title + abstract; mesh terms; pmid"),
    "Firefox": ("a.html", FIREFOX, "bookmarks: title + description; tags; url"),
    "Chrome": ("a.html", chrome, "bookmarks: title; folders; url"),
    "Pocket": ("a.html", POCKET, "bookmarks: title; tags; url"),
    "Pinboard": ("a.json", listed(PINBOARD), "json: description + extended; tags; href"),
    "Raindrop": ("a.csv", RAINDROP, "csv: title + excerpt + note; tags; id"),
    "Goodreads": ("a.csv", GOODREADS, "csv: Title + My Review; Bookshelves; Book Id"),
    "Calibre csv": ("a.csv", CALIBRE, "csv: title + comments; tags; uuid"),
    "mbox": (None, mbox, "mail: subject + text; labels; message id"),
    "eml": (None, eml, "mail: subject + text; labels; message id"),
    "Obsidian": ("", vault, "markdown: text; tags + inline tags; path"),
    "Hugo": ("", HUGO, "markdown: title + text; tags; path"),
    "Jekyll": ("", JEKYLL, "markdown: title + text; tag; path"),
    "YAML files": ("", YML, "yaml: title + description; tags; id"),
    "READMEs": ("", READMES, "folder: text; labels; path"),
    "xlsx": (None, workbook(BOOK, [["nothing", "here"]]), "xlsx: title + description; tags; id"),
    "ods": (None, ods, "ods: title + description; tags; id"),
    "SQLite": (None, database, "sqlite: title + body; tags; id"),
    "StackExchange csv": ("a.csv", STACK, "csv: Title + Body; Tags; Id"),
    "StackExchange xml": ("Posts.xml", POSTS, "posts: Title + Body; Tags; Id"),
    "GitHub": ("a.jsonl", "\n".join(GITHUB), "jsonl: title + body; labels.name; number"),
    "arXiv": ("a.jsonl", "\n".join(ARXIV), "jsonl: title + abstract; categories; id"),
    "OpenAlex": (
        "a.jsonl",
        "\n".join(map(openalex, range(COUNT))),
        "jsonl: title + abstract; topics.display_name; id",
    ),
    "Tate": ("a.jsonl", "\n".join(TATE), "jsonl: title + notes; subjects.children.name; id"),
    "columns of 0 and 1": (
        "a.csv",
        table({"id": range(COUNT), "comment_text": WHOLE, **truth(1, 0)}),
        "csv: comment_text; game + image + sound + text; id",
    ),
    "long rows": ("a.csv", LONG, "csv: Book + description; genre; doc"),
    "ARFF": ("a.arff", ARFF, "arff: text; class; id"),
    "JSON list": ("a.json", json.dumps(ITEMS, indent=1), "json: title + body; tags; id"),
    "JSON lines": ("a.jsonl", as_lines(ITEMS), "jsonl: title + body; tags; id"),
    "blank-separated": (
        "a.csv",
        table({"title": TITLES, "body": BODIES, "tags": joined(" ")}),
        "csv: title + body; tags; -",
    ),
    "tab-separated": (
        "a.tsv",
        table({"id": range(COUNT), "title": TITLES, "body": BODIES, "tags": joined("|")}, "\t"),
        "tsv: title + body; tags; id",
    ),
    "objects by key": ("a.json", json.dumps(BY_KEY), "json: title + body; tags; key"),
    "lists inside objects": (
        "a.json",
        graph,
        "json: node.title + node.body; node.tags.nodes.name; node.id",
    ),
    "columns of yes and no": (
        "a.csv",
        ANSWERS,
        "csv: описание; game + image + sound + text; номер",
    ),
    "tag1 and tag2": (
        "a.csv",
        in_columns(["tag1", "tag2"]),
        "csv: Summary + Description; tag1 + tag2; -",
    ),
    "columns of one name": (
        "a.csv",
        in_columns(["Labels", "Labels"]),
        "csv: Summary + Description; Labels + Labels 3; -",
    ),
    "choices in each item": ("a.jsonl", "\n".join(OPTIONS), "jsonl: text; accept; -"),
    "workbook with a title": (None, workbook(TITLED), "xlsx: title + text; tags; id"),
    "comments above a table": (
        "a.csv",
        f"# exported\n\n{in_columns(['tag1', 'tag2'])}",
        "csv: Summary + Description; tag1 + tag2; -",
    ),
    "Excel's separator": (
        "a.csv",
        "sep=;\r\n" + table({"text": WHOLE, "tags": joined()}, ";"),
        "csv: text; tags; -",
    ),
    "fastText": ("a.txt", FASTTEXT, "fasttext: text; labels; -"),
    "Notion": ("", NOTION, "markdown: text; Tags; path"),
    "Anki": ("a.txt", anki("\t", "separator:tab", "html:true"), "tsv: front + back; tags; -"),
    "Anki with names": (
        "a.txt",
        anki(";", "separator:Semicolon", "columns:Front;Back;Tags"),
        "csv: Front + Back; tags; -",
    ),
    "form": ("a.csv", FORM, "csv: What did you like?; Which (all that apply)?; -"),
    "three headers": ("a.csv", QUALTRICS, "csv: Q1; Q2; -"),
    "columns of two levels": ("a.csv", lines(TWO_LEVELS), "csv: title + body; tags; column 1"),
    "padded title": ("a.csv", lines(PADDED, ";"), "csv: title + body; tags; id"),
    "x or nothing": (
        "a.csv",
        table(OBJECTS | truth("x", "")),
        "csv: Object + Description; game + image + sound + text; -",
    ),
    "Y and N": (
        "a.csv",
        table(OBJECTS | truth("Y", "N")),
        "csv: Object + Description; game + image + sound + text; -",
    ),
    "sheet behind a cover": (
        None,
        workbook([["This workbook was exported on 2024-01-01"]], COVERED),
        "xlsx: title + body; game + image + sound + text; id",
    ),
    "Trello": ("a.json", trello, "json: name + desc; labels.name; id"),
    "Firefox JSON": ("a.json", firefox_json, "json: title; tags; id"),
    "Chrome JSON": ("Bookmarks", chrome_json, "json: name; bookmark folders; id"),
    "linked tables": (None, linked_tables, "sqlite: title + body; tags; id"),
    "objects in cells": (
        "a.csv",
        objects_in_cells(json.dumps),
        "csv: original_title + overview; genres; id",
    ),
    "objects by Python": (
        "a.csv",
        objects_in_cells(repr),
        "csv: original_title + overview; genres; id",
    ),
    "Web of Science": ("a.txt", table(WEB_OF_SCIENCE, "\t"), "tsv: TI + AB; DE; UT"),
    "hash tags": (
        "a.csv",
        table(HASHES | {"Hashtags": each("{tags}", " ", "#*")}),
        "csv: Titel + Beschreibung; Hashtags; id",
    ),
    "hash tags and commas": (
        "a.csv",
        table(HASHES | {"Hashtags": each("{tags}", ", ", "#*")}),
        "csv: Titel + Beschreibung; Hashtags; id",
    ),
    "metadata.opf": ("", OPF, "dc: title + description; subjects; id"),
}
SAMPLES = {
    shape: (writing(name, content), *reading(said))
    for shape, (name, content, said) in SHAPES.items()
}
