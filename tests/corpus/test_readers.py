"""Formats as classes: their samples, and one that another package adds."""

import importlib
import sys
from pathlib import Path

import pytest
from _support.tagged import write_all

from labelspan.corpus import CorpusReader, all_readers, edit_corpus, read_corpus
from labelspan.corpus.readers import _installed
from labelspan.errors import InvalidFile, InvalidInput

MODULE = '''
from labelspan.corpus import Reader

class Diary(Reader):
    """A day per line."""

    name, suffixes, unit, writable = "diary", (".diary",), "day", True
    beginning = r"diary of "
    samples = ("diary of ann\\n2024-01-02 walk, rain: Along the river, and back.\\n",)

    def records(self, file):
        for line in file.text().splitlines()[1:]:
            head, _, text = line.partition(": ")
            day, _, tags = head.partition(" ")
            yield {"id": day, "text": text, "tags": tags.split(", ")}

    def write(self, plan):
        def changed(text):
            lines = text.splitlines(keepends=True)
            for (_, day), (row, changes) in plan.edits.items():
                (change,) = changes.values()
                tags = [one for one in row["tags"] if one not in change.removed]
                lines[day] = f"{row['id']} {', '.join([*tags, *change.added])}: {row['text']}\\n"
            return "".join(lines)

        return plan.text_with(changed)
'''
DAYS = [
    f"2024-01-{n:02} {tags}: A walk number {n} along the river"
    for n, tags in ((2, "walk, rain"), (3, "walk"), (4, "rain"), (5, "walk, rain"), (6, "walk"))
]


@pytest.fixture
def diaries(tmp_path, monkeypatch):
    """A small package with a reader, as pip would install it."""
    about = "Metadata-Version: 2.1\nName: my-diary\nVersion: 1.0\n"
    points = "[labelspan.readers]\ndiary = my_diary:Diary\n"
    own = {"METADATA": about, "entry_points.txt": points}
    made = {f"my_diary-1.0.dist-info/{name}": content for name, content in own.items()}
    write_all(tmp_path / "site", {"my_diary.py": MODULE, **made})
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    importlib.invalidate_caches()
    _installed.cache_clear()
    yield tmp_path
    _installed.cache_clear()
    sys.modules.pop("my_diary", None)


def test_a_package_adds_a_format(diaries):
    content = "\n".join(["diary of ann", *DAYS, ""])
    write_all(diaries, {"ann.diary": content, "ann": content})
    assert "diary" in all_readers()
    for name in ("ann.diary", "ann"):
        found = read_corpus(diaries / name)
        assert found.reading["format"] == "diary"
        assert found.ids[:2] == ["2024-01-02", "2024-01-03"]
        assert found.labels[:3] == [["walk", "rain"], ["walk"], ["rain"]]
        assert found.texts[0] == "A walk number 2 along the river"
    edit = edit_corpus(diaries / "ann.diary", {"2024-01-03": {"walk": False, "rest": True}})
    assert edit.content.decode() == content.replace("03 walk:", "03 rest:")
    write_all(diaries, {"days/1.diary": content, "days/2.diary": content.replace("2024", "2025")})
    assert len(read_corpus(diaries / "days")) == 10


def test_a_reader_that_is_none_and_a_name_that_is_taken_are_refused(diaries):
    points = diaries / "site" / "my_diary-1.0.dist-info" / "entry_points.txt"
    for value, message in (("builtins:dict", "is not a class"), ("my_diary:Twice", "Two readers")):
        points.write_text(f"[labelspan.readers]\ndiary = {value}\n")
        (diaries / "site" / "my_diary.py").write_text(
            f'{MODULE}\nclass Twice(Diary):\n    name = "csv"\n'
        )
        sys.modules.pop("my_diary", None)
        _installed.cache_clear()
        with pytest.raises(InvalidFile, match=message):
            all_readers()


@pytest.mark.parametrize("name", [name for name, one in all_readers().items() if one.samples])
def test_the_samples_of_a_format_are_read_as_it_is(tmp_path, name):
    reader = all_readers()[name]
    for sample in reader.samples:
        suffix = reader.suffixes[0] if reader.suffixes else ".txt"
        (tmp_path / f"a{suffix}").write_text(sample)
        try:
            found = CorpusReader(tmp_path / f"a{suffix}", format=name).collect()
        except InvalidInput as error:
            pytest.skip(str(error))
        assert found.reading["format"] == name
        assert len(found) == 1
        assert found.texts[0].startswith(("Chess", "A game"))


def test_every_format_says_what_it_is_and_which_are_written():
    every = all_readers()
    assert {name for name, one in every.items() if one.writable} == {
        *("csv", "tsv", "jsonl", "json", "xlsx", "bibtex", "ris", "markdown", "calibre")
    }
    assert all(one.__doc__ and one.unit for one in every.values())
    suffixes = [suffix for one in every.values() for suffix in one.suffixes]
    assert len(set(suffixes)) == len(suffixes)


def test_the_table_of_formats_is_made_from_the_classes(monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(str(docs / "_ext"))
    formats = importlib.import_module("formats")
    assert (docs / "reference" / "files.md").read_text(encoding="utf-8").count(formats.MARK) == 1
    lines = formats.table().splitlines()
    assert len(lines) == 2 + len(all_readers())
    assert "| `ris` | `.ris` | References of RIS | reference | yes |" in lines
