"""Decisions: damage, kills, undo, a replaced index; and what a review does with them."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from _support.topics import corpus, planted, planted_index

from labelspan import LSI, SemanticIndex
from labelspan.curation import Finding, Review, audit_labels
from labelspan.errors import InvalidFile, InvalidInput, InvalidParameter, Mismatch, Replaced


def finding(kind, item, label):
    return Finding(kind, 1.0, (item,), (label,), "")


ONE = finding("wrong", "item0", "sound")
TWO = finding("missing", "item2", "sound \u00fc")


def summary(index):
    return [(one.item, one.label, one.answer) for one in Review(index).decisions()]


@pytest.fixture(scope="module")
def original_planted(tmp_path_factory):
    """A saved index, not to be changed."""
    path = tmp_path_factory.mktemp("planted") / "index.labelspan"
    planted_index().save(path)
    return path


@pytest.fixture
def saved(original_planted, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(original_planted, tmp_path / "index.labelspan"))


@pytest.fixture
def decided(saved):
    with SemanticIndex.load(saved, write=True) as index:
        Review(index).decide([ONE], "accept")
        Review(index).decide([TWO], "reject")
    return saved


def test_decisions_are_read_again_and_undone_one_by_one(decided):
    with SemanticIndex.load(decided) as index:
        review = Review(index)
        assert summary(index) == [
            ("item0", "sound", "no"),
            ("item2", "sound \u00fc", "no"),
        ]
        assert review.changes() == {"item0": {"sound": False}}
        assert "sound" not in index.item("item0").labels
        assert all(one.time.endswith("Z") for one in review.decisions())
        with pytest.raises(Mismatch, match="write=True"):
            review.decide([ONE], "skip")
        with pytest.raises(Mismatch, match="write=True"):
            index.undo()
    with SemanticIndex.load(decided, write=True) as index:
        review = Review(index)
        review.decide([finding("wrong", f"item{n}", "game") for n in (3, 4)], "skip")
        assert [index.undo().restored for _ in range(3)] == [2, 1, 1]
        with pytest.raises(InvalidInput, match="nothing to undo"):
            index.undo()
        assert summary(index) == review.decisions() == []
        assert "sound" in index.item("item0").labels
        review.decide([ONE], "reject")
        assert summary(index) == [("item0", "sound", "yes")]


def test_a_full_disk_loses_nothing(decided):
    with SemanticIndex.load(decided, write=True) as index:
        review, before = Review(index), index.items()
        connection = index.store._database._connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(InvalidFile, match="full; the index is as it was"):
            review.decide([finding("missing", "item3", "x" * 200_000)], "accept")
        connection.execute("PRAGMA max_page_count = 1000000")
        assert index.items() == before
        assert len(review.decisions()) == len(summary(index)) == 2
        review.decide([ONE], "skip")
        assert summary(index)[-1] == ("item0", "sound", "unsure")


def test_a_decision_under_a_replaced_index_is_refused(decided, original_planted):
    """The folder is removed and another index copied there while this one is open."""
    with SemanticIndex.load(decided, write=True) as index:
        review = Review(index)
        shutil.rmtree(decided)
        for there in (False, True):
            if there:
                shutil.copytree(original_planted, decided)
            with pytest.raises(Replaced, match=r"was replaced|Load it again"):
                review.decide(review.waiting()[:1], "accept")
            with pytest.raises(Replaced, match=r"was replaced|Load it again"):
                index.relabel("item3", ["other"])
    with SemanticIndex.load(decided, verify=True) as index:
        assert summary(index) == []


def test_audit_and_review_count_the_same(saved):
    with SemanticIndex.load(saved, write=True) as index:
        found, review = audit_labels(index, 1), Review(index)
        for kind in ("wrong", "missing"):
            waiting = review.waiting(kind=kind)
            assert found.counts[kind] == len(waiting) > 0
            assert [one.items for one in found.of(kind)] == [waiting[0].items]
            scores = [one.score for one in waiting]
            assert scores == sorted(scores, reverse=True)


def test_labels_that_are_predicted_badly_have_no_findings():
    texts, labels, ids = planted()
    rng = np.random.default_rng(0)
    noisy = [[*own, *(["noise"] if rng.random() < 0.4 else [])] for own in labels]
    index = SemanticIndex().fit(texts, noisy, ids)
    report = {row.label: row for row in index.label_report()}
    assert report["noise"].precision < 0.5
    found = Review(index).waiting(kind="wrong")
    assert found
    assert "noise" not in {one.labels[0] for one in found}


def test_a_review_from_the_first_finding_to_a_new_fit(saved):
    with SemanticIndex.load(saved, write=True) as index:
        review = Review(index)
        wrong = next(one for one in review.waiting(kind="wrong") if one.items == ("item0",))
        assert wrong.labels == ("sound",)
        assert review.explain(wrong).label == "sound"
        assert review.find([wrong.key, "other"]) == [wrong]
        before, total = index.item("item0").labels, review.progress()["total"]
        review.decide([wrong], "accept")
        assert "sound" not in index.item("item0").labels
        assert wrong not in review.waiting()
        progress = review.progress()
        assert (progress["accepted"], progress["total"]) == (1, total)
        assert review.changes() == {"item0": {"sound": False}}
        assert index.undo().entry.examples == ("item0",)
        assert index.item("item0").labels == before
        assert wrong in review.waiting()
        missing = review.waiting(kind="missing")[0]
        review.decide([missing, wrong], "accept")
        assert missing.labels[0] in index.item(missing.items[0]).labels
        assert index.undo().restored == 2
        review.decide([missing], "skip")
        assert review.waiting(skipped=True) == [missing]
        # Decisions remain after a save and a new order; what is undone is in the next one again.
        review.decide([wrong], "accept")
        index.save()
        assert Review(index).order().progress()["accepted"] == 1
        asked = [one.items for one in review.order().waiting() if one.labels == wrong.labels]
        assert ("item0",) not in asked
        index.undo()
        assert ("item0",) in [one.items for one in review.order().waiting()]
        assert "sound" in index.item("item0").labels
        # What is removed is not.
        index.remove("item0")
        assert ("item0",) not in [one.items for one in review.waiting()]
    texts, labels, ids, _ = corpus()
    SemanticIndex().fit(texts, labels, ids).save(saved)
    with SemanticIndex.load(saved) as index:
        assert [one.answer for one in Review(index).decisions()] == ["unsure"]


def test_what_cannot_be_reviewed_is_refused():
    texts, *_ = corpus(12)
    with pytest.raises(Mismatch, match="without labels"):
        Review(SemanticIndex(estimator=LSI(3)).fit(texts)).waiting()
    review = Review(planted_index())
    with pytest.raises(InvalidParameter, match="kind must be"):
        review.waiting(kind="junk")
    with pytest.raises(InvalidInput, match="A decision is one of"):
        review.decide(review.waiting()[:1], "perhaps")
    with pytest.raises(InvalidParameter, match="kinds must be"):
        audit_labels(review.index, kinds=["odd"])
