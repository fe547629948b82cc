"""How commands read files as they are: what they print, and the option that helps."""

import json

import pytest
from _support.commands import one_sentence, run
from _support.tagged import as_table, rows


@pytest.fixture
def fit(tmp_path):
    def call(content, name, *options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return run("fit", path, "-o", tmp_path / "index", "--force", "--dimensions", 4, *options)

    return call


def test_fit_prints_what_was_guessed_and_a_sample(fit):
    result = fit(as_table(rows()), "a.csv")
    assert result.exit_code == 0, result.output
    printed = result.stderr
    assert "text from 'title' and 'body' (guessed)" in printed
    assert "labels from 'tags' (guessed)" in printed
    assert "metadata: title, year" in printed
    assert "item0: 'Item 0 " in printed
    assert "item1: 'Item 1 " in printed
    assert "item2: " not in printed
    assert "most frequent of 4 labels: " in printed


def test_the_json_answer_describes_the_reading(fit):
    result = fit(as_table(rows(), "\t", "|"), "a.tsv", "--json", "--limit-labels", 3)
    reading = json.loads(result.stdout)["reading"]
    assert reading["format"] == "tsv"
    assert (reading["text"], reading["labels"]) == (["title", "body"], ["tags"])
    assert reading["metadata"] == ["title", "year"]
    assert reading["dropped_labels"] == 1
    assert json.loads(result.stdout)["labels"] == 3


def test_the_option_in_the_error_helps(fit):
    content = as_table(rows()).replace("Item", "Stück").encode("latin-1")
    result = fit(content, "a.csv")
    assert "--encoding cp1252" in one_sentence(result)
    assert fit(content, "a.csv", "--encoding", "cp1252").exit_code == 0


def test_tables_without_header_and_other_delimiters(fit):
    lines = as_table(rows(), ";", "|").splitlines()[1:]
    content = "\n".join(lines).replace(";", "#")
    result = fit(content, "a.csv", "--no-header", "--delimiter", "#")
    assert result.exit_code == 0, result.output
    assert "text from 'column 3' (guessed by content)" in result.stderr
    assert "48 items with 4 labels" in result.stdout


def test_labels_get_names_from_a_vocabulary(fit, tmp_path):
    names = tmp_path / "names.tsv"
    names.write_text("game\tGames\nsound\tSounds\n")
    result = fit(as_table(rows()), "a.csv", "--vocabulary", names)
    assert result.exit_code == 0, result.output
    assert "2 label(s) are not in the vocabulary: 'image'" in result.stderr
    assert "Games" in result.stderr


def test_folders_without_labels_say_where_labels_belong(tmp_path):
    (tmp_path / "texts").mkdir()
    for number, item in enumerate(rows(6)):
        (tmp_path / "texts" / f"{number}.txt").write_text(item["body"])
    result = run("fit", tmp_path / "texts", "-o", tmp_path / "index")
    assert "put the files into folders named like their labels" in result.stderr
    assert result.exit_code == 1
