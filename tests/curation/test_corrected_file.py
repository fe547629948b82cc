"""The corrected file of every format: nothing differs in it that does not differ in the index."""

import gzip
import json
import lzma

import pytest
from _support.commands import run
from _support.explorer import client_of, enter, serve
from _support.tagged import as_lines, as_table, library, rows

from labelspan import SemanticIndex
from labelspan.corpus import read_corpus
from labelspan.curation import LabelEdits, MetadataEdits, Teacher
from labelspan.curation.corrected_file import correct_file

TOKEN = "t" * 40
ITEMS = rows(24)


def bibtex():
    entry = "@misc{%s,\r\n  title = {%s},\n abstract = {%s},\n  keywords = {%s} }\n\n"
    return "".join(
        entry % (one["id"], one["title"], one["body"], ", ".join(one["tags"])) for one in ITEMS
    )


def ris():
    entry = "TY  - JOUR\r\nTI  - %s\r\nAB  - %s\r\nID  - %s\r\n%sER  - \r\n\r\n"
    return "".join(
        entry
        % (one["title"], one["body"], one["id"], "".join(f"KW  - {k}\r\n" for k in one["tags"]))
        for one in ITEMS
    )


def workbook(path):
    book = pytest.importorskip("openpyxl", reason="install labelspan[formats]").Workbook()
    book.active.append(list(ITEMS[0]))
    for one in ITEMS:
        book.active.append([*{**one, "tags": "; ".join(one["tags"])}.values()])
    book.save(path)


def notes(path):
    for number, one in enumerate(ITEMS):
        file = path / str(number % 2) / f"{one['id']}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        tags = ", ".join(one["tags"])
        file.write_text(
            f"---\ntags: [{tags}]\nyear: 2001\n---\n# {one['title']}\n\n{one['body']}\n"
        )


FORMATS = {
    "a.csv": lambda: as_table(ITEMS, separator="; "),
    "a.tsv": lambda: "\ufeff" + as_table(ITEMS, "\t", ","),
    "a.json": lambda: json.dumps(ITEMS, indent=1),
    "a.jsonl": lambda: as_lines(ITEMS),
    "a.jsonl.gz": lambda: gzip.compress(as_lines(ITEMS).encode()),
    "a.csv.xz": lambda: lzma.compress(as_table(ITEMS).encode()),
    "a.bib": bibtex,
    "a.ris": ris,
    "a.xlsx": workbook,
    "metadata.db": lambda path: library(path, ITEMS),
    "notes": notes,
}
# The others are slow tests.
FEW = {"a.csv", "notes"}


def made(folder, name):
    path, make = folder / name, FORMATS[name]
    if make.__code__.co_argcount:
        make(path)
        return path
    content = make()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def unpacked(path):
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "rb") as file:
        return file.read()


def is_as_read(index, path):
    """Whether the corrected file has every byte of the file."""
    files = correct_file(index, path).edit.files
    return not files if path.is_dir() else files == {"": unpacked(path)}


def put_again(index, name):
    item = index.item(name)
    index.remove(name)
    index.add([item.text], [item.labels], [name], metadata=[item.metadata])


def change(folder, path):
    """Change labels through every door, and of them one back."""
    with SemanticIndex.load(folder, write=True) as index:
        names, label = index.ids, next(iter(index.labels))
        own = index.item(names[1]).labels
        index.relabel(names[0], ["new", *index.item(names[0]).labels], who="anna")
        index.relabel(names[1], ["other"]).relabel(names[1], own)
        edits = LabelEdits(index)
        edits.apply(edits.plan_replace(label, "changed"), create=True)
        edits.apply(edits.plan_edit(names[2:5], ["more"], ()), create=True)
        edits.feedback(names[5], ["more"], [])
        teacher = Teacher(index, "more", items=names[6:8])
        teacher.apply(teacher.plan())
        put_again(index, names[8])
        for field, kind in index.fields().items():
            if kind == "category" and path.suffix in {".csv", ".jsonl"}:
                value = str(index.item(names[9]).metadata[field])
                if not value.isdecimal():
                    MetadataEdits(index).replace(field, {value: "a value"})
    assert run("relabel", names[10], "more", "-i", folder).exit_code == 0
    served = serve(folder, edit=True)
    with client_of(served, token=TOKEN) as client:
        headers = enter(client, served)
        body = {"items": [names[11]], "add": ["more"]}
        assert client.post("/edit/labels.json", json=body, headers=headers).status_code == 200
        body = {"item": names[12], "accepted": ["more"]}
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert client.post("/api/1/feedback", json=body, headers=headers).status_code == 200
    return names[8]


@pytest.mark.parametrize("name", sorted(FEW))
def test_nothing_else_differs_and_after_an_undo_of_all_nothing(tmp_path, name):
    check(tmp_path, name)


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - FEW))
def test_nothing_else_differs_in_other_formats(tmp_path, name):
    check(tmp_path, name)


def check(tmp_path, name):
    """Change a file, undo everything, and put an item again."""
    path, folder = made(tmp_path, name), tmp_path / "a.labelspan"
    fitted = run("fit", path, "-o", folder)
    assert fitted.exit_code == 0, fitted.output
    with SemanticIndex.load(folder) as index:
        assert is_as_read(index, path)
        assert correct_file(index, path).notes == []
    again = change(folder, path)
    with SemanticIndex.load(folder, write=True) as index:
        found = correct_file(index, path)
        said = f"1 item was removed and put into the index again, for example {again}."
        assert found.notes == [said]
        assert not is_as_read(index, path)
        found.edit.write(copy := tmp_path / f"copy-{name}")
        read = read_corpus(copy, empty="none")
        expected = {item.id: set(item.labels or ()) for item in index.items()}
        assert dict(zip(read.ids, (set(own or ()) for own in read.labels), strict=True)) == expected
        # An item that differs in nothing is said as well.
        for number in range(index.store.number, 0, -1):
            index.undo(number)
        assert is_as_read(index, path)
        assert correct_file(index, path).notes == []
        put_again(index, again)
        assert is_as_read(index, path)
        assert correct_file(index, path).notes == [said]
        index.undo()
        index.undo()
        assert correct_file(index, path).notes == []
