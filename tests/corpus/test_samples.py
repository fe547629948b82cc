"""Files of many programs, each read without options, and what they are refused for."""

import difflib
import zipfile

import pytest
from _support.samples import BODIES, COUNT, SAMPLES, TAGS, TITLES
from _support.tagged import write_all

from labelspan.corpus import CorpusReader, edit_corpus, read_corpus
from labelspan.corpus.readers import reader_of
from labelspan.errors import InvalidInput


@pytest.mark.parametrize("shape", SAMPLES)
def test_a_sample_is_read_without_options(tmp_path, shape):
    write, format, text, labels, ids = SAMPLES[shape]
    reader = CorpusReader(write(tmp_path))
    found = reader.collect()
    reading = found.reading
    assert reading["format"] == format
    fields = " + ".join(reading["text"]), " + ".join(reading["labels"]), reading["ids"]
    assert fields == (text, labels, ids)
    assert len(found) == COUNT
    assert len(set(found.ids)) == COUNT
    for own, body in zip(found.texts, found.labels, strict=True):
        place = next(n for n, one in enumerate(BODIES) if one in own and TITLES[n] in f"{own} ")
        assert sorted(body) == TAGS[place], own
        assert "<p>" not in own
    report = reader.report(found)
    assert (report.n_items, report.n_labels, report.n_labelled) == (COUNT, 4, COUNT)
    assert len(report.lines()) < 40
    assert all(len(line) < 240 for line in report.lines())


# --- labels written back ----------------------------------------------------------------------

OTHERS = {"long rows", "columns of 0 and 1", "Obsidian", "Chrome JSON"}
WRITABLE = [one for one in SAMPLES if reader_of(SAMPLES[one][1]).writable and one not in OTHERS]
# New labels have no colours and numbers.
MORE = ("labels.", "topics.", "subjects.")


@pytest.mark.parametrize("shape", WRITABLE)
def test_only_the_changed_cells_of_a_copy_differ(tmp_path, shape):
    path = SAMPLES[shape][0](tmp_path)
    before = read_corpus(path)
    # One label fewer, one more, and the other way round.
    new = next(tag for tag in ("game", "image", "sound", "text") if tag not in before.labels[5])
    old = before.labels[5][0]
    changes = {before.ids[5]: {old: False, new: True}}
    edit = edit_corpus(path, changes)
    assert (edit.n_items, edit.n_added, edit.n_removed) == (1, 1, 1)
    copy = tmp_path / f"copy{path.suffix}"
    edit.write(copy)
    after = read_corpus(copy)
    wanted = [set(own) for own in before.labels]
    wanted[5] = wanted[5] - {old} | {new}
    assert [set(own) for own in after.labels] == wanted
    assert (after.texts, after.ids) == (before.texts, before.ids)
    for one, other in zip(before.metadata, after.metadata, strict=True):
        assert {k: v for k, v in one.items() if not k.startswith(MORE)} == {
            k: v for k, v in other.items() if not k.startswith(MORE)
        }
    again = edit_corpus(copy, {before.ids[5]: {old: True, new: False}})
    again.write(tmp_path / f"again{path.suffix}")
    assert [set(own) for own in read_corpus(tmp_path / f"again{path.suffix}").labels] == [
        set(own) for own in before.labels
    ]
    for one, other in zip(contents(path), contents(copy), strict=True):
        if one != other:
            assert shape == "xlsx" or len(differing(one, other)) <= 4
    assert sum(one != other for one, other in zip(contents(path), contents(copy), strict=True)) == 1


def contents(path):
    if path.is_dir():
        return [one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()]
    if path.suffix != ".xlsx":
        return [path.read_bytes()]
    with zipfile.ZipFile(path) as archive:
        return [archive.read(name) for name in archive.namelist()]


def differing(one, other):
    """Lines that were removed or added."""
    lines = difflib.ndiff(one.decode().splitlines(), other.decode().splitlines())
    return [line for line in lines if line[0] in "+-"]


def test_notes_keep_their_quotes_lists_and_text(tmp_path):
    notes = {
        "flow.md": "---\r\ntags: ['a', \"b\", c] # mine\r\ntitle: 'x'\r\n---\r\ntext\r\n",
        "block.md": "---\ntags:\n  - 'a'\n  # why\n  - b: c\n  - c\nmore: 1\n---\ntext\n",
        "flush.md": "---\ntags:\n- a\n- c\n---\ntext\n",
        "last.md": "---\ntags:\n- a\n---\ntext\n",
        "text.md": "---\ntags: a, c\n---\ntext\n",
        "toml.md": "+++\ntags = ['a', \"c\"]\n+++\ntext\n",
        "inline.md": "---\ntags: [c]\n---\nOf #a and `#a`, #a/b.\n",
        "none.md": "text\n",
        "folded.md": "---\ntags: >\n  a, c\n---\ntext\n",
        "logseq.md": "tags:: #a, [[c c]], d\n\ntext\n",
    }
    wanted = {
        "flow.md": "---\r\ntags: [\"b\", c, 'z'] # mine\r\ntitle: 'x'\r\n---\r\ntext\r\n",
        "flush.md": "---\ntags:\n- c\n- z\n---\ntext\n",
        "last.md": "---\ntags:\n- z\n---\ntext\n",
        "text.md": "---\ntags: c, z\n---\ntext\n",
        "toml.md": '+++\ntags = ["c", "z"]\n+++\ntext\n',
        "inline.md": "---\ntags: [c, z]\n---\nOf a and `#a`, #a/b.\n",
        "none.md": "---\ntags: [z]\n---\ntext\n",
        "folded.md": '---\ntags: "c, z"\n---\ntext\n',
        "logseq.md": "tags:: [[c c]], d, z\n\ntext\n",
    }
    folder = write_all(tmp_path / "notes", {name: notes[name] for name in wanted})
    changes = {name: {"a": False, "z": True} for name in wanted}
    edit = edit_corpus(folder, changes)
    edit.write(tmp_path / "copy")
    for name, content in wanted.items():
        assert (tmp_path / "copy" / name).read_bytes().decode() == content
    # Lists of objects are kept, and an item that cannot be changed is an error.
    write_all(folder, {"block.md": notes["block.md"]})
    with pytest.raises(InvalidInput, match=r"read differently|must be a list"):
        edit_corpus(folder, {"block.md": {"a": False}})


def test_bibtex_and_ris_keep_what_is_around_the_keywords(tmp_path):
    entry = '@book{a,\n  title = "One thing",\n  Keywords = "G{\\"o}del; x\\&y",\n}\n% note\n'
    other = "@misc{b, title={Another thing}}\n@misc{c, title={Third thing}, keywords={x; z}}\n"
    path = write_all(tmp_path, {"a.bib": entry + other}) / "a.bib"
    assert read_corpus(path).labels[0] == ["Gödel", "x&y"]
    edit = edit_corpus(path, {"a": {"Gödel": False, "p%q": True}, "b": {"z": True}})
    made = entry.replace('"G{\\"o}del; x\\&y"', '"x\\&y; p\\%q"')
    assert edit.content.decode() == made + other.replace("thing}}", "thing}, keywords = {z}}", 1)
    ris = "TY  - JOUR\r\nTI  - One thing\r\nID  - a\r\nKW  - x\r\nKW  - y\r\nER  - \r\n\r\n"
    ris += "TY  - JOUR\r\nTI  - Two things\r\nID  - b\r\nER  - \r\n"
    path = write_all(tmp_path, {"a.ris": ris}) / "a.ris"
    edit = edit_corpus(path, {"a": {"x": False, "z": True}, "b": {"y": True}})
    made = ris.replace("KW  - x\r\nKW  - y\r\n", "KW  - y\r\nKW  - z\r\n")
    assert edit.content.decode() == made.replace("b\r\nER", "b\r\nKW  - y\r\nER")


@pytest.mark.parametrize(("yes", "no"), [(1, 0), (True, False), ("X", None)])
def test_cells_of_a_workbook_keep_their_types(tmp_path, yes, no):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["id", "body", "x", "y", "z"])
    for n in range(6):
        book.active.append(
            [f"k{n}", f"text {n} of words", *(yes if n & bit else no for bit in (1, 2, 4))]
        )
    book.save(tmp_path / "a.xlsx")
    edit = edit_corpus(tmp_path / "a.xlsx", {"k1": {"x": False, "z": True}})
    edit.write(tmp_path / "b.xlsx")
    cells = openpyxl.load_workbook(tmp_path / "b.xlsx").active[3]
    assert [one.value for one in cells] == ["k1", "text 1 of words", no, no, yes]
    assert [type(one.value) for one in cells[2:]] == [type(no), type(no), type(yes)]


def test_columns_of_truth_are_written_back_and_joined_rows_are_not(tmp_path):
    path = SAMPLES["columns of 0 and 1"][0](tmp_path)
    before = read_corpus(path)
    edit = edit_corpus(path, {"0": {"sound": True, before.labels[0][0]: False}})
    assert len(differing(path.read_bytes(), edit.content)) == 2
    with pytest.raises(InvalidInput, match="none for 'new'"):
        edit_corpus(path, {"0": {"new": True}})
    path = SAMPLES["long rows"][0](tmp_path)
    assert "rows of the same text are joined" in " ".join(read_corpus(path).notes)
    with pytest.raises(InvalidInput, match=r"several rows per item.*--export decisions\.csv"):
        edit_corpus(path, {})
    (tmp_path / "f.csv").write_text("id,text,tags\na,one,x;y\nb,two,y\n")
    with pytest.raises(InvalidInput, match="would be a formula"):
        edit_corpus(tmp_path / "f.csv", {"b": {"y": False, "=1+1": True}})
