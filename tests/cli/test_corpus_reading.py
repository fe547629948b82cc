"""How commands read files as they are: what they print, and the option that helps."""

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


def test_the_option_in_the_error_helps(fit):
    content = as_table(rows()).replace("Item", "Stück").encode("latin-1")
    result = fit(content, "a.csv")
    assert "--encoding cp1252" in one_sentence(result)
    assert fit(content, "a.csv", "--encoding", "cp1252").exit_code == 0


def test_labels_get_names_from_a_vocabulary(fit, tmp_path):
    names = tmp_path / "names.tsv"
    names.write_text("game\tGames\nsound\tSounds\n")
    result = fit(as_table(rows()), "a.csv", "--vocabulary", names, "--language", "en")
    assert result.exit_code == 0, result.output
    assert "2 label(s) are not in the vocabulary: 'image'" in result.stderr
    assert "Games" in result.stderr


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
