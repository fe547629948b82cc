"""Labels of a corpus file are changed, and nothing else."""

import gzip
import json

import pytest

from labelspan.corpus import edit_corpus
from labelspan.errors import InvalidInput

LINES = (
    '{"id": "a", "text": "a chess game",  "year": 1.50, "tags": ["game", "image"]}\r\n'
    "\n"
    '{"tags": [ "image" ], "id":"b","text":"edit photos \\u00e9"}\n'
    '{"id": "c", "text": "nothing here", "tags": null}\n'
    '{"id": "d", "text": "no field here"}'
)
CHANGES = {"a": {"image": False, "fun": True}, "c": {"game": True}, "d": {"game": True}}


def test_json_lines_keep_every_other_byte(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_bytes(LINES.encode())
    edit = edit_corpus(path, {**CHANGES, "b": {"image": True, "game": False}, "x": {"y": True}})
    lines = edit.content.decode().splitlines(keepends=True)
    assert lines[0] == LINES.splitlines(keepends=True)[0].replace('"image"]', '"fun"]')
    assert lines[1:3] == LINES.splitlines(keepends=True)[1:3]
    assert lines[3] == '{"id": "c", "text": "nothing here", "tags": ["game"]}\n'
    assert lines[4] == '{"id": "d", "text": "no field here", "tags": ["game"]}'
    counts = (edit.n_items, edit.n_added, edit.n_removed, edit.n_unchanged, edit.missing)
    assert counts == (3, 3, 1, 2, ("x",))
    assert path.read_bytes() == LINES.encode()


def test_labels_in_objects_and_what_is_around_them(tmp_path):
    first = {"name": "a", "text": "a game", "labels": [{"name": "x", "n": 1}, {"name": "y"}]}
    second = {"issue": {"name": "b", "text": "edit photos", "labels": []}, "n": 1.50}
    path = tmp_path / "notes.jsonl"
    path.write_text(json.dumps(first))
    edit = edit_corpus(path, {"a": {"x": False, "z": True}}, ids="name")
    assert json.loads(edit.content) == {**first, "labels": [{"name": "y"}, {"name": "z"}]}
    path.write_text(json.dumps(second))
    edit = edit_corpus(path, {"b": {"z": True}}, ids="issue.name")
    assert edit.content.decode() == json.dumps(second).replace("[]", '["z"]')


JSON = '{"m": 1.50, "data": {"items": [ {"id":"a","title": "é", "tags": ["x", "y"]},\n %s]}}\r\n'
KEYED = '{\n "a": {"title": "é", "tags": ["x", "y"]},\n "b": {"title": "u",  "tags": ["y"]},\n'
BIB = (
    '\ufeff%% c\r\n@string{j = "J"}\r\n@misc{a,\r\n title = {One {T}hing},\r\n '
    'keywords = {%s},\r\n journal = j # " x"\r\n}\r\n@misc{b, title="two", keywords="y"}\r\n'
)
RIS = "TY  - JOUR\r\nTI  - %s\r\nID  - %s\r\n%sER  - \r\n"
OTHER_RIS = RIS % ("Two", "b", "KW  - y\r\n")


@pytest.mark.parametrize(
    ("name", "content", "old", "new"),
    [
        ("stray.tsv", 'id\ttext\ttags\r\na\té "l\tx|y\r\nb\ttwo\ty\r\n', "x|y", "y|z"),
        ("list.csv", "id,text,tags\na,é,\"['x', 'y']\"\nb,two,['y']\n", "'x', 'y'", "'y', 'z'"),
        ("angles.csv", "id,text,tags\na,é,<x> <y>\nb,two,<y>\n", "<x> <y>", "<y> <z>"),
        ("two.csv", "id,text,tag1,tag2\na,é one,x,\nb,two,w,y\n", "x,", ",z"),
        ("dots.json", '[{"id":"a","text": "é", "tags": ["x.", "w."]}]', '"x.", "w."', '"w.", "z."'),
        ("round.bib", '@misc(a, title={é thing}, keywords = "x, w")', "x, w", "w, z"),
        ("empty.ris", RIS % ("é", "a", "KW  - x\r\nKW  - \r\n"), "x\r\nKW  - ", "\r\nKW  - z"),
        ("comments.csv", "# one\n\nid,text,tags\na,é,x;y\n\nb,two,y\n", "x;y", "y;z"),
        ("excel.csv", "sep=;\r\nid;text;tags\r\na;é;x,y\r\nb;two;y\r\n", "x,y", "y,z"),
        ("mac.csv", "id,text,tags\ra,é,x;y\rb,two,y\r", "x;y", "y;z"),
        ("missing.csv", "id,text,tags\na,é,NA\nb,two,x;y\n", "NA", "z"),
        ("marks.csv", 'id,text,tags\na,é,"""x"", ""y"""\nb,u,"""y"""\n', '"x"", ""y""', '"y"", z'),
        ("same.csv", "id,text,tags,tags\na,é,x,y\nb,u,y,\nc,v,x,\n", "x,y", "z,y"),
        ("nested.json", JSON % '{"id":"b", "title": "u", "tags": []}', '"x", "y"', '"y", "z"'),
        ("keyed.json", KEYED + ' "c": {"title": "v"}}', '"x", "y"', '"y", "z"'),
        (
            "lines.jsonl",
            '{"id":"a","text":"é\u2028","tags":["x"]}\r\n{"id":"b","text":"u"}',
            '"x"]',
            '"z"]',
        ),
        ("a.bib", BIB % "x, y", "x, y", "y, z"),
        ("a.ris", RIS % ("é", "a", "KW  - x; y\r\n") + OTHER_RIS, "x; y\r\n", "y\r\nKW  - z\r\n"),
    ],
)
def test_all_other_bytes_stay(tmp_path, name, content, old, new):
    path = tmp_path / name
    path.write_bytes(content.encode())
    edit = edit_corpus(path, {"a": {"x": False, "z": True}})
    assert edit.content.decode() == content.replace(old, new, 1)


def test_encodings_and_packed_files(tmp_path):
    table = "id,text,tags\na,é one,x;ü\nb,two,x;y\n"
    for codec in ("utf-8-sig", "utf-16", "latin-1"):
        path = tmp_path / f"{codec}.csv"
        path.write_bytes(table.encode(codec))
        encoding = "latin-1" if codec == "latin-1" else None
        edit = edit_corpus(path, {"a": {"x": False, "y": True}}, encoding=encoding)
        assert edit.content.decode(codec) == table.replace("x;ü", "ü;y")
    with pytest.raises(InvalidInput, match="cannot hold"):
        edit_corpus(path, {"a": {"日": True}}, encoding="latin-1")
    packed = tmp_path / "notes.csv.gz"
    packed.write_bytes(gzip.compress(table.encode()))
    edit_corpus(packed, {"b": {"x": False}}).write(tmp_path / "copy.csv.gz")
    assert gzip.decompress((tmp_path / "copy.csv.gz").read_bytes()).endswith(b"b,two,y\n")


def test_what_cannot_be_written_is_refused(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("id,text,tags\na,one,x\nb,two,y\n")
    with pytest.raises(InvalidInput, match="has one label"):
        edit_corpus(path, {"a": {"y": True}})
    assert edit_corpus(path, {"a": {"x": False}}).content.endswith(b"a,one,\nb,two,y\n")
    several = tmp_path / "several.csv"
    several.write_text("id,text,tags\na,one,x;y\nb,two,y\n")
    with pytest.raises(InvalidInput, match="'p;q' has ';' in it, which separates"):
        edit_corpus(several, {"a": {"p;q": True}})
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    with pytest.raises(InvalidInput, match=r"format lines are not changed; .* \(--export dec"):
        edit_corpus(tmp_path / "lines.txt", {})
    edit = edit_corpus(several, {"a": {"x": False}})
    for existing in (several, path):
        before = existing.read_bytes()
        with pytest.raises(InvalidInput, match="is not replaced"):
            edit.write(existing)
        assert existing.read_bytes() == before
