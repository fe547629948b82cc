"""The commands that look after labels: labels, relabel, audit, and tag --explain."""

import csv
import io
import json

import pytest
from _support.commands import one_sentence, run
from _support.topics import fresh, planted_index

from labelspan import SemanticIndex


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "index.labelspan"
    fresh().save(path)
    return path


def test_labels_reports_every_label(saved):
    rows = json.loads(run("labels", saved, "--json").stdout)
    assert [row["label"] for row in rows] == [
        row["label"] for row in sorted(rows, key=lambda row: -row["support"])
    ]
    assert {row["label"] for row in rows} == {"game", "image", "sound"}
    shown = run("labels", saved, "-n", 1).stdout
    assert "precision" in shown
    assert len(shown.splitlines()) == 2


def test_relabel_changes_an_item(saved):
    told = one_sentence(run("relabel", "item0", "game", "gane", "-i", saved))
    assert "No item has the label 'gane'; did you mean 'game'? Correct it" in told
    near = one_sentence(run("relabel", "item0", "Games", "--new-label", "-i", saved))
    assert "The new label 'Games' is spelt nearly like 'game'" in near
    assert "--similar-label" in near
    new = run("relabel", "item0", "game", "fun", "--new-label", "-i", saved)
    assert "fun, game" in new.stdout
    answer = json.loads(run("relabel", "item0", "--unknown", "-i", saved, "--json").stdout)
    assert answer == {"id": "item0", "before": ["fun", "game"], "labels": None}
    assert "or --none to remove all" in one_sentence(run("relabel", "item0", "-i", saved))
    assert "none" in run("relabel", "item0", "--none", "-i", saved).stdout
    wrong = one_sentence(run("relabel", "item0", "game", "--unknown", "-i", saved))
    assert "either labels, --unknown or --none" in wrong
    assert "There is no item 'nothing'" in one_sentence(
        run("relabel", "nothing", "--none", "-i", saved)
    )


def test_a_relabel_is_a_decision_that_can_be_undone(saved):
    with SemanticIndex.load(saved) as index:
        before = index.items(["item0", "item1"])
    run("relabel", "item0", "game", "fun", "--new-label", "-i", saved)
    run("relabel", "item1", "--unknown", "-i", saved)
    with SemanticIndex.load(saved, write=True) as index:
        last, first = index.history()
        assert "Add fun to 1 item" in first.said
        assert last.action == "relabel"
        assert index.item("item1").labels is None
        index.undo()
        index.undo()
        assert index.items(["item0", "item1"]) == before


def test_many_items_are_relabelled_at_once(saved, tmp_path):
    table = tmp_path / "changes.csv"
    table.write_text('id,labels\nitem0,game|sound\nitem1,\n"item2","image"\n')
    assert (
        "3 items; the labels of 3 have changed"
        in run("relabel", "--from", table, "-i", saved).stdout
    )
    with SemanticIndex.load(saved) as index:
        assert index.item("item0").labels == ("game", "sound")
        assert index.item("item1").labels == ()
    for text, message in (
        ("item0,gane\n", "did you mean 'game'?"),
        ("item0,game\nnothing,game\n", "There is no item 'nothing'"),
        ("item0\n", "line 1: give an id and its labels"),
        ("item0,a\nitem0,b\n", "occurs twice"),
        ("", "has no changes"),
    ):
        table.write_text(text)
        assert message in one_sentence(run("relabel", "--from", table, "-i", saved))
    with SemanticIndex.load(saved) as index:
        assert index.item("item0").labels == ("game", "sound")
    assert "either the id" in one_sentence(run("relabel", "-i", saved))


def test_items_are_removed(saved):
    assert "2 items removed" in run("remove", "item0", "item3", "-i", saved).stdout
    told = one_sentence(run("remove", "item1", "item0", "-i", saved))
    assert "There is no item 'item0'" in told
    with SemanticIndex.load(saved) as index:
        assert "item0" not in index
        assert "item1" in index


def test_unknown_words_are_offered_near_spellings(saved):
    told = run("search", "ches", "-i", saved).stdout
    assert "Nothing has 'ches'; did you mean 'chess'?" in told
    for words, message in (
        ((), "Nothing to search for; give words"),
        ((" ",), "The query is empty"),
    ):
        assert message in one_sentence(run("search", *words, "-i", saved), code=2)
    assert json.loads(run("search", "the", "--json", "-i", saved).stdout)["note"]


def test_tags_are_explained(saved):
    answer = json.loads(run("tag", "chess dice", "-i", saved, "--explain", "--json").stdout)
    best = answer["labels"][0]
    assert best["label"] == "game"
    assert {one["word"] for one in best["words"]} == {"chess", "dice"}
    assert best["neighbours"][0]["has_label"]
    assert "nearest items: " in run("tag", "chess dice", "-i", saved, "--explain").stdout


def test_an_audit_is_printed_and_written(tmp_path):
    saved = tmp_path / "index.labelspan"
    planted_index().save(saved)
    run("relabel", "item0", "TODO", "--new-label", "-i", saved)
    found = json.loads(run("audit", saved, "--json", "-n", 3).stdout)
    assert {one["kind"] for one in found} >= {"wrong", "missing", "junk"}
    rows = list(csv.DictReader(io.StringIO(run("audit", saved, "--csv", "-n", 3).stdout)))
    assert [row["kind"] for row in rows] == [one["kind"] for one in found]
    assert [row["titles"] for row in rows] == ["|".join(one["titles"]) for one in found]
    assert "Labels that look wrong" in run("audit", saved).stdout
    assert "either --csv or --json" in one_sentence(run("audit", saved, "--csv", "--json"))
