"""Labels of files written in many styles are changed, and no byte outside their cells."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelspan.corpus import edit_corpus, read_corpus
from labelspan.corpus.label_writing import check_labels
from labelspan.errors import InvalidInput

LABELS = [
    "game",
    "a b",
    "ü",
    "x&y",
    "c++",
    "C#",
    "1984",
    "it's",
    "日本",
    "50%",
    "a_b",
    "@m",
    "x: y",
]
LABELS += ["no", "[z]", "*s", "<i>", "!t"]


def latex(label):
    return re.sub(r"([&%$#_])", r"\\\1", label).replace("ü", '{\\"u}')


def quoted(cell, delimiter, always):
    if always or any(mark in cell for mark in (delimiter, '"', "\n")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def table(random, sets, end):
    """Yield what is around the cells of labels, and the cells."""
    delimiter, always = random.choice(",;|\t"), random.random() < 0.3
    mark = next(one for one in random.sample(";|,", 3) if one != delimiter)
    columns = random.sample(["id", "text", "tags", "note"], 4)
    joint = mark + random.choice(["", " "])
    yield random.choice(["", "\ufeff"]) + delimiter.join(columns) + end
    for n, own in enumerate(sets):
        row = {
            "id": f"k{n}",
            "text": f"text {n} of "
            + random.choice(["two\nlines", 'a "word"', "commas, and; more"]),
            "tags": joint.join(own),
            "note": random.choice(["", "n, m", '"x"', "1.50"]),
        }
        cells = [quoted(row[name], delimiter, always) for name in columns]
        place = columns.index("tags")
        lead = "".join(f"{cell}{delimiter}" for cell in cells[:place])
        rest = "".join(f"{delimiter}{cell}" for cell in cells[place + 1 :])
        yield lead, cells[place]
        yield rest + end * (n < len(sets) - 1 or random.random() < 0.7)


def as_json(random, sets, end, *, lines=False):
    def dumps(value):
        return json.dumps(value, ensure_ascii=ascii_only)

    ascii_only, objects = random.random() < 0.5, random.random() < 0.3
    colon, comma = random.choice([": ", ":", " : "]), random.choice([", ", ","])
    opening = "" if lines else random.choice(["[", "[\n  ", '{"items": [\n'])
    yield random.choice(["", "\ufeff"]) + opening
    for n, own in enumerate(sets):
        keys = random.sample(["id", "text", "tags", "year"], 4)
        place = keys.index("tags")
        row = {"id": dumps(f"k{n}"), "text": dumps(f"ü text {n} of words"), "year": "1.50"}
        lead = "".join(f'"{key}"{colon}{row[key]}{comma}' for key in keys[:place])
        names = [dumps({"name": one, "n": 1} if objects else one) for one in own]
        yield f'{{{lead}"tags"{colon}', f"[{comma.join(names)}]"
        between = end if lines else random.choice([",", ",\n"])
        rest = "".join(f'{comma}"{key}"{colon}{row[key]}' for key in keys[place + 1 :])
        yield rest + "}" + between * (n < len(sets) - 1)
    yield "" if lines else "]" + "}" * opening.startswith("{")


def bibtex(random, sets, end):
    joint = random.choice([", ", "; ", ","])
    yield random.choice(["", f"% comment{end}", f'@string{{j = "J"}}{end}'])
    for n, own in enumerate(sets):
        opening, closing = random.choice(["{}", '""'])
        yield f"@misc{{k{n},{end} title = {{text {n} {{T}}here}},{end} Keywords = {opening}"
        yield "", joint.join(map(latex, own))
        yield f"{closing},{end} year=2001{end}}}{end}{random.choice(['', f'% note{end}'])}"


def ris(random, sets, end):
    for n, own in enumerate(sets):
        yield f"TY  - JOUR{end}TI  - text {n} of words{end}ID  - k{n}{end}"
        yield "", "".join(f"KW  - {one}{end}" for one in own)
        yield f"ER  - {end}{random.choice(['', end])}"


STYLES = {
    "csv": table,
    "json": as_json,
    "jsonl": lambda *given: as_json(*given, lines=True),
    "bib": bibtex,
    "ris": ris,
}


@pytest.mark.parametrize("suffix", STYLES)
@settings(max_examples=30, deadline=None)
@given(random=st.randoms(use_true_random=True))
def test_no_byte_outside_the_changed_cells_differs(tmp_path_factory, suffix, random):
    some = random.sample(LABELS, 6)
    sets = [random.sample(some, random.randint(2 * (n < 2), 3)) for n in range(5)]
    pieces = list(STYLES[suffix](random, sets, random.choice(["\n", "\r\n"])))
    path = tmp_path_factory.mktemp("styles") / f"a.{suffix}"
    path.write_bytes("".join(map("".join, pieces)).encode())
    options = {"empty": "none", "ids": "key" if suffix == "bib" else "id"}
    before = read_corpus(path, **options)
    assert list(map(set, before.labels)) == list(map(set, sets))
    changes = {
        f"k{n}": {
            **{one: False for one in own if random.random() < 0.5},
            **{one: True for one in random.sample(LABELS, 2) if one not in own},
        }
        for n, own in enumerate(sets)
        if random.random() < 0.5
    }
    edit = edit_corpus(path, changes, ids=options["ids"])
    # The cells come in order; those of changed items may hold anything.
    pattern, number = "", 0
    for piece in pieces:
        if isinstance(piece, str):
            pattern += re.escape(piece)
            continue
        cell = "(.*)" if f"k{number}" in changes else re.escape(piece[1])
        pattern, number = pattern + re.escape(piece[0]) + cell, number + 1
    assert re.fullmatch(pattern, edit.content.decode(), re.DOTALL)
    copy = path.with_name(f"b.{suffix}")
    edit.write(copy)
    after = read_corpus(copy, **options)
    assert (after.texts, after.ids) == (before.texts, before.ids)
    for name, own, old in zip(after.ids, after.labels, sets, strict=True):
        wanted = changes.get(name, {})
        assert set(own) == {one for one in {*old, *wanted} if wanted.get(one, one in old)}
    # Applied again, nothing is left to change.
    assert edit_corpus(copy, changes, ids=options["ids"]).n_items == 0


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("id,text,tags\na,one,x;y\nb,two,y\n")
    monkeypatch.setattr(
        "labelspan.corpus.readers.edit_table",
        lambda plan, text: path.write_text("id,text,tags\n") and text,
    )
    with pytest.raises(InvalidInput, match=r"read differently|while it was read"):
        edit_corpus(path, {"a": {"x": False}})


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "a.csv",
            "id,text,tags\na,words here,z; old; b\n",
            "id,text,tags\na,words here,z; b; new\n",
        ),
        (
            "a.jsonl",
            '{"id": "a", "text": "words", "tags": ["z", "old", "b"]}\n',
            '{"id": "a", "text": "words", "tags": ["z", "b", "new"]}\n',
        ),
        (
            "a.csv",
            "id,text,tags\na,words here,\"['z', 'old', 'b']\"\n",
            "id,text,tags\na,words here,\"['z', 'b', 'new']\"\n",
        ),
        (
            "a.bib",
            "@book{a,\n title = {Words},\n keywords = {z, old, b}}\n",
            "@book{a,\n title = {Words},\n keywords = {z, b, new}}\n",
        ),
    ],
)
def test_the_order_of_a_cell_is_kept(tmp_path, name, content, expected):
    (tmp_path / name).write_text(content)
    edit = edit_corpus(tmp_path / name, {"a": {"old": False, "new": True}})
    assert edit.content.decode() == expected
    more = edit_corpus(tmp_path / name, {"a": {"y": True, "x": True}}).content.decode()
    assert [*map(str.strip, re.split(r"\W+", more[more.index("z") :]))][:5] == [
        "z",
        "old",
        "b",
        "y",
        "x",
    ]


def test_values_of_the_metadata_are_written(tmp_path):
    rows = ["id,text,press,tags", "a,words here,Penguin Ltd.,x", "b,more words,Penguin,y"]
    (tmp_path / "a.csv").write_text("\n".join(rows))
    merged = {"a": {"press": "Penguin"}, "b": {"press": "Penguin"}, "c": {"press": "Penguin"}}
    edit = edit_corpus(tmp_path / "a.csv", {"b": {"z": True}}, metadata=merged, separator=";")
    rows[1:] = ["a,words here,Penguin,x", "b,more words,Penguin,y;z"]
    assert edit.content.decode() == "\n".join(rows)
    assert (edit.n_replaced, edit.n_items, edit.n_unchanged) == (1, 2, 1)
    assert edit.missing == ("c",)
    (tmp_path / "a.jsonl").write_text('{"id": "a", "text": "words", "press": "P", "n": 3}\n')
    edit = edit_corpus(tmp_path / "a.jsonl", {}, metadata={"a": {"press": "Q"}}, labels="")
    assert edit.content == b'{"id": "a", "text": "words", "press": "Q", "n": 3}\n'
    # A number, or a field that the item does not have in the file, is counted and left alone.
    content = '{"id": "a", "text": "words", "n": 3, "by": [{"name": "Ann", "role": "editor"}]}\n'
    (tmp_path / "a.jsonl").write_text(content)
    for field in ("n", "m", "by.name"):
        edit = edit_corpus(tmp_path / "a.jsonl", {}, metadata={"a": {field: "Q"}}, labels="")
        assert (edit.n_unwritten, edit.n_replaced) == (1, 0)
        assert edit.content == (tmp_path / "a.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("name", "before", "value", "after"),
    [
        ("a.jsonl", '"by": ["Ann Smith", "Bo"]', "Bo; Cy", '"by": ["Bo", "Cy"]'),
        ("a.jsonl", '"by":["Ann Smith"]', "", '"by":[]'),
        ("a.json", '"by": []', "Cy; Di", '"by": ["Cy", "Di"]'),
        (
            "a.jsonl",
            '"to": {"by": "Ann", "n": [{"by": 3}]}',
            "Cy",
            '"to": {"by": "Cy", "n": [{"by": 3}]}',
        ),
        ("a.jsonl", '"by": null', "Cy", '"by": "Cy"'),
    ],
)
def test_lists_of_the_metadata_are_written(tmp_path, name, before, value, after):
    """A list in a field was an error, by which the whole corrected file was lost."""
    line = f'{{"id": "a", "text": "words", {before}, "n": 3}}'
    text = f"[{line}]" if name.endswith("json") else f"{line}\n"
    (tmp_path / name).write_text(text)
    field = "by" if before.startswith('"by') else "to.by"
    edit = edit_corpus(tmp_path / name, {}, metadata={"a": {field: value}}, labels="")
    assert edit.content.decode() == text.replace(before, after)
    assert (edit.n_replaced, edit.n_unwritten) == (1, 0)


def test_a_label_with_the_separator_is_refused_when_it_is_typed(tmp_path):
    check_labels(["a, b"], {"separator": ";"})
    check_labels(["a; b"], {"separator": ";", "why_not_writable": "it is a stream"})
    check_labels(["a; b"], {"separator": ""})
    with pytest.raises(InvalidInput, match=r"'a; b' has ';' in it, which separates the labels"):
        check_labels(["a", "a; b"], {"separator": ";"})
