"""The commands that look after labels: labels, relabel, audit, and tag --explain."""

import csv
import io
import json

import pytest
from _support.commands import one_sentence, run
from _support.topics import fresh


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
    assert "fun, game" in run("relabel", "item0", "game", "fun", "-i", saved).stdout
    answer = json.loads(run("relabel", "item0", "--unknown", "-i", saved, "--json").stdout)
    assert answer == {"id": "item0", "before": ["fun", "game"], "labels": None}
    assert "none" in run("relabel", "item0", "-i", saved).stdout
    wrong = one_sentence(run("relabel", "item0", "game", "--unknown", "-i", saved))
    assert "either labels or --unknown" in wrong
    assert "There is no item 'nothing'" in one_sentence(run("relabel", "nothing", "-i", saved))


def test_tags_are_explained(saved):
    answer = json.loads(run("tag", "chess dice", "-i", saved, "--explain", "--json").stdout)
    best = answer["labels"][0]
    assert best["label"] == "game"
    assert {word for word, _ in best["words"]} == {"chess", "dice"}
    assert best["votes"][0]["has_label"]
    assert "nearest items: " in run("tag", "chess dice", "-i", saved, "--explain").stdout


def test_an_audit_is_printed_and_written(saved, tmp_path):
    run("relabel", "item0", "TODO", "-i", saved)
    found = json.loads(run("audit", saved, "--json", "-n", 3).stdout)
    assert {one["kind"] for one in found} >= {"wrong", "missing", "junk"}
    rows = list(csv.DictReader(io.StringIO(run("audit", saved, "--csv", "-n", 3).stdout)))
    assert [row["kind"] for row in rows] == [one["kind"] for one in found]
    assert "Labels that look wrong" in run("audit", saved).stdout
    page = tmp_path / "report.html"
    assert "findings" in run("audit", saved, "--html", page).stdout
    assert page.read_text().startswith("<!doctype html>")
    assert "either --csv or --json" in one_sentence(run("audit", saved, "--csv", "--json"))
