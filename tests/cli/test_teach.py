"""``labelspan teach``: keys from a pipe, a lesson that goes on, exports, and answers applied."""

import csv
import json

import pytest
from _support.commands import one_sentence, run
from _support.topics import planted_index

from labelspan import SemanticIndex
from labelspan.curation import Teacher


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "index.labelspan"
    planted_index().save(path)
    return path


def teach(saved, keys, *args):
    return run("teach", "new", "-i", saved, *args, input="\n".join(keys) + "\n")


def test_keys_answer_and_undo_and_the_lesson_goes_on(saved, tmp_path):
    result = teach(saved, "yn?suq", "--item", "item0", "--as", "anna")
    assert result.exit_code == 0, result.output
    said = result.stdout
    assert "new? " in said
    assert "words: " in said
    assert "Keys: y yes" in said
    assert "Undone: skip for item" in said
    assert said.splitlines()[-1].startswith("2 yes, 1 no. How many are left can be said")
    with SemanticIndex.load(saved) as index:
        assert [one.n_answers for one in Teacher.lessons(index)] == [3]
        assert "new" not in index.labels
    again = teach(saved, "y" * 8, "--as", "anna").stdout
    assert "10 yes, 1 no" in again
    found = json.loads(teach(saved, "", "--json").stdout)
    assert (found["yes"], found["no"], found["enough"]) == (10, 1, False)
    assert found["left"]["low"] <= found["left"]["expected"] <= found["left"]["high"]
    # Export, and apply as one change.
    table = tmp_path / "answers.csv"
    assert "12 answers" in teach(saved, "", "--export", table).stdout
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["who"] for row in rows] == ["anna"] * 12
    assert [row["undone"] for row in rows].count("yes") == 1
    assert teach(saved, "", "--export", "-").stdout == table.read_text()
    assert "Done: Add new to 10 items." in teach(saved, "", "--apply", "add").stdout
    assert teach(saved, "", "--apply", "add").stdout == "Nothing to change.\n"
    with SemanticIndex.load(saved) as index:
        assert index.labels["new"] == 10


def test_a_text_does_not_control_the_terminal(tmp_path):
    path = tmp_path / "index.labelspan"
    texts = ["chess \x1b[31mred\x07", "chess \x1b]0;title\x07 club", "a photo", "photo frame"]
    SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]]).save(path)
    said = run("teach", "new", "-i", path, "--item", "0", input="y\n").stdout
    assert "chess" in said
    assert "\x1b]" not in said
    assert "\x07" not in said


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "Give items or a search to start from"),
        (("--item", "nothing"), "no item 'nothing'"),
        (("--apply", "merge"), "add, clean or split"),
        (("--rest", "x"), "only used with --apply"),
        (("--export", "a.json"), "--export writes .csv"),
        (("--item", "item0", "--apply", "split"), "within="),
    ],
)
def test_bad_input_is_one_sentence(saved, args, words):
    result = teach(saved, "", *args)
    assert result.exit_code != 0
    assert words in one_sentence(result)
