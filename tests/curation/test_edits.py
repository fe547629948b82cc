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
    assert review.history() == []
    assert edit.new_labels == ("fresh",)
    made = review.apply(edit, who="anna", create=True)
    after = labels(review)
    assert edit.n_items == sum(after[name] != before[name] for name in before)
    for name in before:
        wanted = {*before[name], "sound", "fresh"} - {"game"} if name in ids else {*before[name]}
        assert set(after[name]) == wanted
    assert (made.who, made.action, made.changed.n_items) == ("anna", "edit", edit.n_items)
    # Done once, nothing is left to do, and no decision is kept for it.
    again = review.plan_edit(ids, add=["sound", "fresh"])
    assert (again.n_items, again.said) == (0, "Nothing to change.")
    assert review.apply(again) is None
    assert len(review.history()) == 1


def test_a_bulk_edit_is_undone_as_one_also_by_another_process(review):
    before = labels(review)
    review.apply(review.plan_replace("sound", None), who="ben")
    assert "sound" not in review.index.labels
    # A log that is read again knows as much as the one that wrote it.
    made = Review(review.index).undo()
    assert {one.label for one in made.parts} == {"sound"}
    assert labels(review) == before
    assert Review(review.index).history(5)[0].undone


def test_rename_keeps_what_was_learned(review):
    """The probabilities of a renamed label are those of the old one."""
    texts = [item.text for item in review.index.items()[:20]]

    def chances(label):
        found = review.index.tag(texts, k=100)
        return [next(tag.probability for tag in row if tag.label == label) for row in found]

    before = chances("sound")
    edit = review.plan_replace("sound", "audio")
    assert (edit.action, edit.new_labels) == ("rename", ("audio",))
    assert edit.n_items == review.index.labels["sound"]
    review.apply(edit, create=True)
    np.testing.assert_allclose(chances("audio"), before, atol=1e-6)
    assert "sound" not in review.index.labels
    # Nobody is asked about a label that is gone.
    assert not review.waiting(label="sound")


def test_merge_joins_items_and_undo_parts_them_again(review):
    before = labels(review)
    edit = review.plan_replace(["game", "sound"], "game")
    assert edit.said == f"Merge sound into game in {edit.n_items} items."
    both = {name for name, own in before.items() if {"game", "sound"} & set(own)}
    review.apply(edit)
    assert {name for name, own in labels(review).items() if "game" in own} == both
    review.undo()
    assert labels(review) == before


def test_a_decision_among_others_is_undone_unless_a_later_one_needs_it(review):
    first = review.apply(review.plan_edit("item0", add="x"), create=True)
    second = review.apply(review.plan_edit("item1", add="x"))
    third = review.apply(review.plan_edit("item1", remove="x"))
    with pytest.raises(InvalidInput, match=f"decision {third.number} is also about 'x' of 'item1'"):
        review.undo(second.number)
    review.undo(first.number)
    assert "x" not in review.index.labels
    with pytest.raises(InvalidInput, match="it was undone before"):
        review.undo(first.number)
    with pytest.raises(InvalidInput, match="there is none"):
        review.undo(99)
    assert [made.undone for made in review.history()] == [False, False, True]
    review.undo(third.number)
    review.undo(second.number)
    assert review.undo() is None
    assert "x" not in review.index.labels


def test_history_has_pages_and_filters(review):
    for n in range(5):
        review.apply(review.plan_edit(f"item{n}", add="x"), create=True)
    finding = review.waiting(kind="wrong")[0]
    review.decide([finding], "reject", who="cleo")
    numbers = [made.number for made in review.history(4)]
    rest = [made.number for made in review.history(4, before=numbers[-1])]
    assert numbers + rest == [6, 5, 4, 3, 2, 1]
    assert [made.number for made in review.history(item="item2", label="x")] == [3]
    last = review.history(1)[0]
    assert (last.who, last.action) == ("cleo", "review")
    assert last.said == f"Keep {finding.labels[0]} of {finding.items[0]}."


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (lambda review: review.plan_edit(["item0", "nobody"], add="sound"), "no item 'nobody'"),
        (lambda review: review.plan_edit("item0", add="a", remove="a"), "both added and removed"),
        (lambda review: review.plan_edit("item0", remove="sond"), "did you mean 'sound'"),
        (lambda review: review.plan_edit("item0", add=""), "non-empty strings"),
        (lambda review: review.plan_edit("item0", add="\ud800"), "non-empty strings"),
        (lambda review: review.plan_replace("sond", "x"), "did you mean 'sound'"),
        (lambda review: review.plan_replace((), "x"), "no label was given"),
    ],
)
def test_bad_edits_are_refused(review, plan, message):
    with pytest.raises(InvalidInput, match=message):
        plan(review)


def test_a_label_is_created_only_when_that_is_said(review):
    before = labels(review)
    for edit in (
        review.plan_edit("item0", add="sond"),
        review.plan_replace("game", "sond"),
    ):
        with pytest.raises(InvalidInput, match=r"did you mean 'sound'.*to be created"):
            review.apply(edit)
    with pytest.raises(InvalidInput, match="200 characters"):
        review.apply(review.plan_edit("item0", add="y"), who="w" * 201, create=True)
    assert labels(review) == before
    assert review.history() == []
