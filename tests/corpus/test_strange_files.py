"""Small files with what programs and people write, read without options and written back."""

import json
import sqlite3

import pytest
from _support.tagged import write_all

from labelspan.corpus import CorpusReader, edit_corpus, read_corpus
from labelspan.corpus.notes import inline_tags
from labelspan.errors import LabelspanError

TEXTS = [
    "A quiet game of chess for two players",
    "The sound of a drum in a wide room",
    "A board on which stones are placed",
    "Four players and a drum on a table",
]
TAGS = [["game", "chess"], ["sound"], ["game", "board"], ["board", "game", "sound"]]


def each(template, mark=", ", around="*"):
    """Return the items, one after the other: N, TEXT and TAGS stand for what they have."""
    return [
        template.replace("TAGS", mark.join(around.replace("*", tag) for tag in own))
        .replace("TEXT", TEXTS[n])
        .replace("N", str(n))
        for n, own in enumerate(TAGS)
    ]


def lines(head, row, mark=", ", end="\n"):
    return "".join(f"{line}{end}" for line in [head, *each(row, mark)])


def whole(lead, template, end="", **options):
    return f"{lead}{''.join(each(template, **options))}{end}"


def notes(template, **options):
    return {f"n{n}.md": note for n, note in enumerate(each(template, **options))}


def objects(tags):
    return json.dumps(
        [{"title": f"T{n}", "text": TEXTS[n], "tags": tags(own)} for n, own in enumerate(TAGS)]
    )


def marc(*, utf8, title="T@aN", letters=b"\xe8a"):
    from pymarc import Field, Indicators, Record, Subfield

    made = []
    for n, own in enumerate(TAGS):
        record = Record()
        # In MARC-8 an accent is before its letter.
        own_title = f"{title.replace('@a', 'ä') if utf8 else title} /".replace("N", str(n))
        for tag, text in [
            ("245", own_title),
            ("520", TEXTS[n]),
            *(("650", f"{one}.") for one in own),
        ]:
            record.add_field(Field(tag, Indicators(" ", " "), [Subfield("a", text)]))
        content = record.as_marc()
        made.append(
            content if utf8 else (content[:9] + b" " + content[10:]).replace(b"@a", letters)
        )
    return b"".join(made)


HEAD = "title,description,tags"


def listed(items, around):
    return around % f"[{', '.join(items)}]"


# One binding for each label of an item.
NAMES = ("item", "itemLabel", "itemDescription", "genreLabel")
BINDINGS = [
    json.dumps(
        {key: {"type": "literal", "value": value} for key, value in zip(NAMES, values, strict=True)}
    )
    for n, own in enumerate(TAGS)
    for values in ((f"Q{n}", f"T{n}", TEXTS[n], tag) for tag in own)
]
# A file or the files of a folder; the format, and the field of the labels.
READ = {
    "full stops": ("a.csv", lines(HEAD, 'TN,TEXT,"TAGS."'), "csv: tags"),
    "BibTeX with full stops": (
        "a.bib",
        whole(
            "", "@misc{kN,\r\n title = {TN},\r\n abstract = {TEXT},\r\n keywords = {TAGS.}\r\n}\r\n"
        ),
        "bibtex: keywords",
    ),
    "RIS in lines": (
        "a.ris",
        whole("\ufeff", "TY  - JOUR\nTI  - TN\nAB  - TEXT\nKW  - TAGS\nER  - \n\n", mark="\n"),
        "ris: keywords",
    ),
    "RIS between other lines": (
        "a.ris",
        whole(
            "Record #1 of 4\n",
            "TY  - JOUR\nTI  - TN\nAB  - TEXT\nKW  - TAGS\nER  - \n\nRecord\n",
            mark=";",
        ),
        "ris: keywords",
    ),
    "RIS as text": (
        "a.txt",
        whole("", "TY  - JOUR\nTI  - TN\nAB  - TEXT\nKW  - TAGS\nER  - \n\n", mark="\nKW  - "),
        "ris: keywords",
    ),
    "subjects in one element": (
        "a.xml",
        whole(
            "<OAI-PMH><ListRecords>",
            "<record><header><identifier>kN</identifier></header><metadata><dc><title>TN</title>"
            "<description>TEXT</description><subject>TAGS.</subject></dc></metadata></record>",
            "</ListRecords></OAI-PMH>",
            mark="; ",
        ),
        "dc: subjects",
    ),
    "Pinboard XML": (
        "a.xml",
        whole(
            '<posts user="a">',
            '<post href="N" description="TN" extended="TEXT" tag="TAGS"/>',
            "</posts>",
            mark=" ",
        ),
        "posts: tags",
    ),
    "Evernote": (
        "a.enex",
        whole(
            '<!DOCTYPE en-export SYSTEM "x.dtd"><en-export>',
            "<note><title>TN</title><content><![CDATA[<en-note><div>TEXT</div></en-note>]]></content>"
            "TAGS</note>",
            "</en-export>",
            mark="",
            around="<tag>*</tag>",
        ),
        "evernote: tags",
    ),
    "WordPress": (
        "a.xml",
        whole(
            '<?xml version="1.0"?><!-- c --><rss xmlns:content="c">',
            "<item><title>TN</title><description></description><content:encoded>"
            "<![CDATA[<p>TEXT</p>]]></content:encoded>TAGS</item>",
            "</rss>",
            mark="",
            around="<category>*</category>",
        ),
        "feed: categories",
    ),
    "Atom": (
        "a.xml",
        whole(
            '<feed xmlns="http://www.w3.org/2005/Atom">',
            "<entry><title>TN</title>TAGS<summary>TEXT</summary></entry>",
            "</feed>",
            mark="",
            around='<category term="*"/>',
        ),
        "feed: categories",
    ),
    "MARC in UTF-8": ("a.mrc", marc(utf8=True), "marc: subjects"),
    "MARC-8": ("a.mrc", marc(utf8=False), "marc: subjects"),
    "separators around": ("a.csv", lines(HEAD, "TN,TEXT,|TAGS|", "|"), "csv: tags"),
    "slashes": ("a.csv", lines(HEAD, "TN,TEXT,TAGS", " / "), "csv: tags"),
    "Excel in German": (
        "a.csv",
        lines("\ufeffTitel;Beschreibung;Preis;Kategorien", "TN;TEXT;1,5N;TAGS", ", ", "\r\n"),
        "csv: Kategorien",
    ),
    "UTF-16": (
        "a.txt",
        lines("\ufefftitle\tnotes\ttags", "TN\tTEXT\tTAGS", "; ", "\r\n").encode("utf-16-le"),
        "tsv: tags",
    ),
    "TiddlyWiki": (
        "a.json",
        objects(lambda own: " ".join(own).replace("game", "[[game]]")),
        "json: tags",
    ),
    "strings and lists": (
        "a.json",
        objects(lambda own: own if "board" in own else ", ".join(own)),
        "json: tags",
    ),
    "DataCite": (
        "a.json",
        listed(
            each(
                '{"id": "kN", "attributes": {"titles": [{"title": "TN"}], "descriptions": '
                '[{"description": "<jats:p>TEXT</jats:p>"}], "subjects": [TAGS]}}',
                around='{"subject": "*"}',
            ),
            '{"data": %s}',
        ),
        "json: attributes.subjects.subject",
    ),
    "SPARQL": ("a.json", listed(BINDINGS, '{"results": {"bindings": %s}}'), "json: genreLabel"),
    "scores": ("a.json", objects(lambda own: dict.fromkeys(own, 3)), "json: tags"),
    "Zola": (
        "",
        notes("+++\ntitle = 'TN'\n[taxonomies]\ntags = [TAGS]\n[extra]\n+++\nTEXT\n", around='"*"'),
        "markdown: taxonomies.tags",
    ),
    "Grav": (
        "",
        notes("---\ntitle: TN\ntaxonomy:\n    tag: [TAGS]\n---\nTEXT\n"),
        "markdown: taxonomy.tag",
    ),
    "objects in notes": (
        "",
        notes("---\ntitle: TN\ntags:\nTAGS---\nTEXT\n", mark="", around="  - name: *\n"),
        "markdown: tags.name",
    ),
    "names of notes": (
        "",
        {f"Topic {name}": note for name, note in notes("---\ntags: [TAGS]\n---\nTEXT\n").items()},
        "markdown: tags",
    ),
    "Logseq": ("", notes("title:: TN\ntags:: TAGS\n\nTEXT\n", around="[[*]]"), "markdown: tags"),
    "tags in texts": (
        "a.csv",
        "text\n" + "".join(each("TEXT N TAGS\n", " ", "#*")).replace("N ", " "),
        "csv: inline tags",
    ),
    "nested YAML": (
        "a.yml",
        whole(
            "items:\n",
            "  - title: TN\n    info:\n      summary: TEXT\n      tags:\nTAGS",
            mark="",
            around="        - name: *\n",
        ),
        "yaml: info.tags.name",
    ),
}


@pytest.mark.parametrize("shape", READ)
def test_a_strange_file_is_read_right(tmp_path, shape):
    name, content, said = READ[shape]
    format, labels = said.split(": ")
    path = write_all(tmp_path, content if isinstance(content, dict) else {name: content}) / name
    found = read_corpus(path)
    assert found.reading["format"] == format
    assert found.reading["labels"] == (labels,)
    assert [own and set(own) for own in found.labels] == [set(own) for own in TAGS]
    for text, own in zip(found.texts, TEXTS, strict=True):
        assert own in text
        assert text.startswith("T") or labels in ("inline tags", "info.tags.name")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", '[["title", "tags"], ["one", ["a"]]]', r"write each item as \{\"text\""),
        ("a.xls", "<html><table><tr><td>x</td></tr></table></html>", "web page.*as csv"),
        ("a.js", "window.YTD.tweets.part0 = []", r"name it \.json"),
        ("a.mrc", marc(utf8=False, title="@a" * 9, letters=b"\xef\xee"), "for example cp1251"),
        ("a.enw", "%0 Book\n%T One\n", "RIS or BibTeX"),
        ("a.opml", "<opml><body/></opml>", "an outline"),
    ],
)
def test_a_refusal_says_what_helps(tmp_path, name, content, message):
    path = write_all(tmp_path, {name: content}) / name
    with pytest.raises(LabelspanError, match=message):
        read_corpus(path)


# The labels of the first item change: game goes, new comes.
WRITTEN = {
    "full stops": ("game, chess.", "chess, new."),
    "BibTeX with full stops": ("game, chess.", "chess, new."),
    "RIS in lines": ("KW  - game\nchess\n", "KW  - chess\nKW  - new\n"),
    "separators around": ("|game|chess|", "|chess|new|"),
    "slashes": ("game / chess", "chess / new"),
    "Excel in German": ("game, chess", "chess, new"),
    "UTF-16": ("game; chess", "chess; new"),
    "TiddlyWiki": ("[[game]] chess", "chess new"),
    "strings and lists": ("game, chess", "chess, new"),
    "Zola": ('"game", "chess"', '"chess", "new"'),
    "Grav": ("game, chess", "chess, new"),
    "Logseq": ("[[game]], [[chess]]", "[[chess]], new"),
}


@pytest.mark.parametrize("shape", WRITTEN)
def test_only_the_labels_of_a_strange_file_change(tmp_path, shape):
    name, content, *_ = READ[shape]
    files = content if isinstance(content, dict) else {name: content}
    path = write_all(tmp_path / "a", files) / name
    first = read_corpus(path).ids[0]
    edit = edit_corpus(path, {first: {"game": False, "new": True}})
    old = (path / "n0.md" if path.is_dir() else path).read_bytes()
    coding = "utf-16-le" if shape == "UTF-16" else "utf-8"
    before, after = (one.encode(coding) for one in WRITTEN[shape])
    assert next(iter(edit.files.values())) == old.replace(before, after, 1)


@pytest.mark.parametrize(
    ("shape", "label", "message"),
    [
        ("tags in texts", "new", "in its texts, which are not changed"),
        ("scores", "new", "keys of 'tags' are not changed"),
        ("full stops", "one, two", "has ',' in it"),
    ],
)
def test_labels_that_cannot_be_written_are_refused(tmp_path, shape, label, message):
    name, content, *_ = READ[shape]
    path = write_all(tmp_path, {name: content}) / name
    with pytest.raises(LabelspanError, match=message):
        edit_corpus(path, {"0": {label: True}, "T0": {label: True}})


def test_labels_of_gmail_may_have_commas_and_blanks(tmp_path):
    head = "From 1@xxx Mon Jan 06 10:00:00 +0000 2020\n"
    labels = {
        '=?UTF-8?Q?Ge=C3=B6ffnet,"Culture,_arts",Kategorie:_"Neu"?=': [
            "Geöffnet",
            "Culture, arts",
            'Kategorie: "Neu"',
        ],
        "Two words": ["Two words"],
        "Inbox,\n Work/Clients\nX-Keywords: urgent later": [
            "Inbox",
            "Work/Clients",
            "urgent",
            "later",
        ],
    }
    mails = (f"{head}X-Gmail-Labels: {one}\nSubject: A mail\n\nHello\n\n" for one in labels)
    path = write_all(tmp_path, {"a.mbox": "".join(mails)}) / "a.mbox"
    assert read_corpus(path).labels == list(labels.values())


def test_tables_for_word_search_are_not_texts(tmp_path):
    base = sqlite3.connect(tmp_path / "a.db")
    base.executescript(
        "create table note (id integer primary key, title text, body text);"
        "create table tag (id integer primary key, name text);"
        "create table note_tag (note_id integer, tag_id integer);"
        "create virtual table note_fts using fts5(title, body, content=note, content_rowid=id);"
    )
    names = sorted({tag for own in TAGS for tag in own})
    base.executemany("insert into tag values (?, ?)", enumerate(names))
    for n, own in enumerate(TAGS):
        base.execute("insert into note values (?, ?, ?)", (n, f"T{n}", TEXTS[n]))
        base.executemany("insert into note_tag values (?, ?)", [(n, names.index(t)) for t in own])
    base.execute("insert into note_fts(note_fts) values ('rebuild')")
    base.commit()
    base.close()
    reader = CorpusReader(tmp_path / "a.db")
    assert [set(own) for own in reader.collect().labels] == [set(own) for own in TAGS]


def test_tags_in_a_few_texts_are_read_if_they_were_before(tmp_path):
    rows = [f"Text {n} of words,{'xy'[n % 2]}" for n in range(9)]
    content = "\n".join(["text,genre", "A #game of chess,x", *rows])
    path = write_all(tmp_path, {"a.csv": content}) / "a.csv"
    assert read_corpus(path).reading["labels"] == ("genre",)
    for options in ({"labels": "inline tags"}, {"like": {"labels": ["inline tags"]}}):
        assert read_corpus(path, **options).label_names == ["game"]


def test_tags_stand_between_spaces_or_pictures():
    text = "🤣#one #two🔥#three ⏱️#four a#no http://x/#no [x](#no) #cut… `#no`"
    assert inline_tags(text) == ["one", "two", "three", "four"]


def test_an_original_title_is_not_repeated(tmp_path):
    rows = "id,primary title,original title,genre\n" + "".join(each("kN,TEXT,TEXT,TAGS\n", "|"))
    path = write_all(tmp_path, {"a.csv": rows.replace(f",{TEXTS[0]},game", ",Another title,game")})
    found = read_corpus(path / "a.csv", text=["primary title", "original title"])
    assert found.texts == [f"{TEXTS[0]}\n\nAnother title", *TEXTS[1:]]
