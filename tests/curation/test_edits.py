"""Edits of labels: previews, bulk changes, undo of one among many, history, what taggers learn."""

import numpy as np
import pytest
from _support.topics import planted_index

from labelspan import SemanticIndex
from labelspan.curation import Review
from labelspan.errors import InvalidInput


@pytest.fixture
def review(tmp_path):
    planted_index().save(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index", write=True) as index:
        yield Review(index)


def labels(review):
    return {item.id: item.labels for item in review.index.items()}


def test_a_preview_changes_nothing_and_counts_what_the_edit_changes(review):
    before, ids = labels(review), review.index.ids[:10]
    edit = review.plan_edit(ids, add=["sound", "fresh"], remove="game")
    assert labels(review) == before
    assert review.index.history() == []
    assert edit.new_labels == ("fresh",)
    made = review.apply(edit, who="anna", create=True)
    after = labels(review)
    assert edit.n_items == sum(after[name] != before[name] for name in before)
    for name in before:
        wanted = {*before[name], "sound", "fresh"} - {"game"} if name in ids else {*before[name]}
        assert set(after[name]) == wanted
    assert (made.who, made.action, made.n_items) == ("anna", "edit", edit.n_items)
    # Done once, nothing is left to do, and nothing is logged for it.
    again = review.plan_edit(ids, add=["sound", "fresh"])
    assert (again.n_items, again.said) == (0, "Nothing to change.")
    assert review.apply(again) is None
    assert len(review.index.history()) == 1


def test_labels_are_renamed_merged_dropped_and_undone(review):
    before, texts = labels(review), [item.text for item in review.index.items()[:20]]

    def chances(label):
        found = review.index.tag(texts, k=100)
        return [next(tag.probability for tag in row if tag.label == label) for row in found]

    learned = chances("sound")
    edit = review.plan_replace("sound", "audio")
    assert (edit.action, edit.new_labels) == ("rename", ("audio",))
    assert edit.n_items == review.index.labels["sound"]
    review.apply(edit, create=True)
    # The probabilities of a renamed label are those of the old one, of which nobody is asked.
    np.testing.assert_allclose(chances("audio"), learned, atol=1e-6)
    assert "sound" not in review.index.labels
    assert not review.waiting(label="sound")
    review.index.undo()
    edit = review.plan_replace(["game", "sound"], "game")
    assert edit.said == f"Merge sound into game in {edit.n_items} items."
    both = {name for name, own in before.items() if {"game", "sound"} & set(own)}
    review.apply(edit)
    assert {name for name, own in labels(review).items() if "game" in own} == both
    review.index.undo()
    assert labels(review) == before
    review.apply(review.plan_replace("sound", None), who="ben")
    assert "sound" not in review.index.labels
    made = review.index.undo()
    assert made.entry.removed == ("sound",)
    assert labels(review) == before
    assert review.index.history(5)[1].undone


def test_a_change_among_others_is_undone_unless_a_later_one_changed_the_same(review):
    first = review.apply(review.plan_edit("item0", add="x"), create=True)
    second = review.apply(review.plan_edit("item1", add="x"))
    third = review.apply(review.plan_edit("item1", remove="x"))
    index = review.index
    with pytest.raises(InvalidInput, match=f"was changed since, by {third.number}"):
        index.undo(second.number)
    undo = index.undo(first.number)
    assert "x" not in index.labels
    for number, message in ((first.number, "it was undone before"), (99, "not in the history")):
        with pytest.raises(InvalidInput, match=message):
            index.undo(number)
    finding = review.waiting(kind="wrong")[0]
    last = review.decide([finding], "reject", who="cleo")
    assert (last.who, last.action) == ("cleo", "review")
    assert last.said == f"Keep {finding.labels[0]} of {finding.items[0]}."
    # The history has pages and filters.
    newest = index.history(2)
    rest = index.history(3, before=newest[-1].number)
    assert [(one.number, one.undone) for one in newest + rest] == [
        (last.number, False),
        (undo.number, False),
        (third.number, False),
        (second.number, False),
        (first.number, True),
    ]
    found = index.history(item="item0", label="x")
    assert [one.number for one in found] == [undo.number, first.number]
    for _ in range(3):
        index.undo()
    with pytest.raises(InvalidInput, match="nothing to undo"):
        index.undo()
    assert "x" not in index.labels


def test_bad_edits_are_refused(review):
    before = labels(review)
    for plan, message in (
        (lambda: review.plan_edit(["item0", "nobody"], add="sound"), "no item 'nobody'"),
        (lambda: review.plan_edit("item0", add="a", remove="a"), "both added and removed"),
        (lambda: review.plan_edit("item0", remove="sond"), "did you mean 'sound'"),
        (lambda: review.plan_edit("item0", add=""), "non-empty strings"),
        (lambda: review.plan_edit("item0", add="\ud800"), "non-empty strings"),
        (lambda: review.plan_replace("sond", "x"), "did you mean 'sound'"),
        (lambda: review.plan_replace((), "x"), "no label was given"),
    ):
        with pytest.raises(InvalidInput, match=message):
            plan()
    for edit in (review.plan_edit("item0", add="sond"), review.plan_replace("game", "sond")):
        with pytest.raises(InvalidInput, match=r"did you mean 'sound'.*or allow it"):
            review.apply(edit)
    with pytest.raises(InvalidInput, match="200 characters"):
        review.apply(review.plan_edit("item0", add="y"), who="w" * 201, create=True)
    assert labels(review) == before
    assert review.index.history() == []
