"""How commands read files as they are: what they print, and the option that helps."""

import json

import pytest
from _support.commands import one_sentence, run
from _support.tagged import as_lines, as_table, rows


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
    items = rows()
    items[0]["tags"] = [*items[0]["tags"], "rare"]
    result = fit(as_table(items, "\t", "|"), "a.tsv", "--json", "--min-count", 2)
    reading = json.loads(result.stdout)["reading"]
    assert reading["format"] == "tsv"
    assert (reading["text"], reading["labels"]) == (["title", "body"], ["tags"])
    assert reading["metadata"] == ["title", "year"]
    assert reading["dropped_labels"] == 1
    assert json.loads(result.stdout)["labels"] == 4


def test_the_option_in_the_error_helps(fit):
    content = as_table(rows()).replace("Item", "Stück").encode("latin-1")
    result = fit(content, "a.csv")
    assert "--encoding cp1252" in one_sentence(result)
    assert fit(content, "a.csv", "--encoding", "cp1252").exit_code == 0


def test_tables_without_header(fit):
    result = fit("\n".join(as_table(rows(), ";", "|").splitlines()[1:]), "a.csv")
    assert result.exit_code == 0, result.output
    assert "text from 'column 3' (guessed by content)" in result.stderr
    assert "48 items with 4 labels" in result.stdout


def test_labels_get_names_from_a_vocabulary(fit, tmp_path):
    names = tmp_path / "names.tsv"
    names.write_text("game\tGames\nsound\tSounds\n")
    result = fit(as_table(rows()), "a.csv", "--vocabulary", names, "--language", "en")
    assert result.exit_code == 0, result.output
    assert "2 label(s) are not in the vocabulary: 'image'" in result.stderr
    assert "Games" in result.stderr


def test_the_language_chooses_the_names_of_a_thesaurus(fit, tmp_path):
    pytest.importorskip("rdflib", reason="thesauri need the extra labelspan[skos]")
    names = tmp_path / "names.ttl"
    names.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<http://x.org/game> skos:prefLabel "Games"@en, "Spiele"@de .\n'
    )
    items = [{**item, "tags": [f"http://x.org/{tag}" for tag in item["tags"]]} for item in rows()]
    content = as_table(items)
    assert "Games" in fit(content, "a.csv", "--vocabulary", names).stderr
    result = fit(content, "a.csv", "--vocabulary", names, "--language", "de")
    assert "Spiele" in result.stderr
    assert "has no names in 'fi'; it has: de, en" in one_sentence(
        fit(content, "a.csv", "--vocabulary", names, "--language", "fi")
    )


def test_add_reads_the_fields_of_the_fit(fit, tmp_path):
    index = tmp_path / "index"
    items = [{**item, "kind": "; ".join(item["tags"])} for item in rows()]
    for options in ((), ("--stream",)):
        result = fit(as_lines(items), "a.jsonl", "--labels", "kind", "--text", "body", *options)
        assert result.exit_code == 0, result.output
        more = [{**item, "id": f"new {item['id']}"} for item in items]
        (tmp_path / "more.jsonl").write_text(as_lines(more))
        result = run("add", tmp_path / "more.jsonl", "-i", index)
        assert result.exit_code == 0, result.output
        assert "labels from 'kind'" in result.stderr
        assert "text from 'body'" in result.stderr


def test_folders_without_labels_say_where_labels_belong(tmp_path):
    (tmp_path / "texts").mkdir()
    for number, item in enumerate(rows(6)):
        (tmp_path / "texts" / f"{number}.txt").write_text(item["body"])
    result = run("fit", tmp_path / "texts", "-o", tmp_path / "index")
    assert "put the files into folders named like their labels" in result.stderr
    assert result.exit_code == 1
