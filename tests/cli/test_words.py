"""What the words of a command mean: an index first, options without a value, files and lists."""

import csv
import io
import json

import pytest
from _support.commands import one_sentence, run
from _support.tagged import as_lines, rows

from labelspan.cli.commands import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a corpus and its index."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "corpus.jsonl").write_text(as_lines(rows()))
    result = run(
        "fit", folder / "corpus.jsonl", "-o", folder / "notes.labelspan", "--dimensions", 6
    )
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_an_index_is_the_first_word_of_every_command(inside):
    found = [
        json.loads(run("search", *words, "music", "-n", 3, "--json").stdout)["hits"]
        for words in (["notes.labelspan"], ["-i", "notes.labelspan"])
    ]
    assert found[0] == found[1]
    tagged = [
        json.loads(run("tag", *words, "chess dice", "--json").stdout)
        for words in (["notes.labelspan"], ["-i", "notes.labelspan"])
    ]
    assert tagged[0] == tagged[1]
    assert run("export", "notes.labelspan", "items.jsonl", "--no-map").exit_code == 0
    assert run("relabel", "notes.labelspan", "item3", *rows()[3]["tags"]).exit_code == 0
    assert run("info", "notes.labelspan", "--json").exit_code == 0
    twice = run("search", "notes.labelspan", "music", "-i", "other.labelspan")
    assert twice.exit_code == 2
    assert "Give one index" in twice.output
    assert "There is no index in 'other.labelspan'" in run("search", "other.labelspan", "a").output


def test_an_option_is_not_the_value_of_another(inside):
    before = sorted(inside.iterdir())
    result = run("fit", "corpus.jsonl", "-o", "new.labelspan", "--separator", "--dry-run")
    assert result.exit_code == 2
    assert "--separator needs a value, but --dry-run follows" in " ".join(result.output.split())
    assert sorted(inside.iterdir()) == before
    # Words of a query may look like options behind two dashes.
    assert run("search", "notes.labelspan", "--", "--separator", "--dry-run").exit_code == 0


def test_the_input_is_looked_at_first_and_indexes_are_named(inside):
    said = one_sentence(run("fit", "nope.csv", "-o", "notes.labelspan"))
    assert "There is no file 'nope.csv'" in said
    said = one_sentence(run("search", "music"))
    assert "no index in 'index.labelspan', but there are notes.labelspan" in said


def test_items_with_a_label_are_listed_without_words(inside):
    answer = json.loads(
        run("search", "notes.labelspan", "--having", "game", "-n", 5, "--json").stdout
    )
    having = sorted(row["id"] for row in rows() if "game" in row["tags"])
    assert {hit["id"] for hit in answer["hits"]} < set(having)
    assert answer["note"] == f"{len(having)} items, of which 5 are shown (-n)"
    shown = run("search", "notes.labelspan", "--having", "game", "-n", 100).stdout
    assert all(name in shown for name in having)
    assert run("search", "notes.labelspan").exit_code == 2


def test_items_are_exported_as_csv(inside):
    assert run("export", "notes.labelspan", "items.csv", "--no-map").exit_code == 0
    table = list(csv.DictReader(io.StringIO((inside / "items.csv").read_text(encoding="utf-8"))))
    assert [row["id"] for row in table] == [row["id"] for row in rows()]
    assert [row["labels"].split("|") for row in table] == [row["tags"] for row in rows()]
    assert "vector" not in table[0]
    said = one_sentence(run("export", "items.docx", "-i", "none.labelspan"))
    assert "must end in .parquet, .jsonl or .csv" in said


def test_many_texts_are_tagged_as_a_table(inside):
    shown = run("tag", "notes.labelspan", "corpus.jsonl").stdout.splitlines()
    assert len(shown) >= len(rows())
    assert all("%" in line for line in shown if line.startswith("item"))
    strange = run("tag", "notes.labelspan", "-", input="chess dice\n???\n")
    assert "1 of 2 have no label above its threshold" in strange.stderr


def test_no_command_shows_the_type_of_a_flag():
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    for name in names:
        shown = run(name, "--help").stdout
        assert "--help" in shown
        assert "<bool>" not in shown
