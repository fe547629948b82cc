"""Tags of an index: predicted, left out, brought up to date, explained, and kept in a folder."""

import shutil
import warnings
from contextlib import suppress
from dataclasses import replace
from functools import partialmethod

import numpy as np
import pytest
from _support.topics import WORDS, corpus

from labelspan import MLSI, SemanticIndex
from labelspan.curation import audit_labels
from labelspan.index.tagging import ItemTagger


def fitted():
    texts, labels, ids, _ = corpus(90, seed=1)
    return SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)


@pytest.fixture(scope="module")
def index():
    return fitted()


def as_pairs(tags):
    return [(tag.label, pytest.approx(tag.probability, abs=1e-5)) for tag in tags]


def test_tags_are_ranked_know_their_threshold_and_hold_on_unseen_texts(index):
    tags = index.tag("chess and music", 3)
    assert [tag.probability for tag in tags] == sorted((t.probability for t in tags), reverse=True)
    assert {tag.label for tag in tags} == set(WORDS)
    assert all(tag.chosen == (tag.probability >= tag.threshold) for tag in tags)
    both = index.tag(["chess and music", ""], 2)
    assert [tag.label for tag in both[0]] == [tag.label for tag in tags[:2]]
    texts, labels, _, _ = corpus(90, seed=5)
    found = [{tag.label for tag in tags if tag.chosen} for tags in index.tag(texts, 3)]
    agreeing = [set(own) == got for own, got in zip(labels, found, strict=True)]
    assert np.mean(agreeing) > 0.8


def test_probabilities_come_from_scores_of_unseen_items():
    rng = np.random.default_rng(0)
    words = [f"word{n}" for n in range(900)]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(80)]
    labels = [["heads"] if toss else ["tails"] for toss in rng.random(80) < 0.5]
    index = SemanticIndex(estimator=MLSI(20, alpha=0.01)).fit(texts, labels)
    own = [
        next(tag.probability for tag in tags if [tag.label] == label)
        for tags, label in zip(index.tag(texts), labels, strict=True)
    ]
    # The embedding has memorised the random labels of its items and knows nothing about others.
    assert np.mean(own) < 0.75


def test_items_without_labels_are_predicted():
    texts, labels, ids, _ = corpus(90, seed=1)
    labels[3] = None
    index = SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)
    assert as_pairs(index.tag(items=ids[3])) == as_pairs(index.tag(texts[3]))
    assert as_pairs(index.tag(items=ids[2:4])[1]) == as_pairs(index.tag(texts[3]))


def test_added_items_vote_and_teach_new_labels():
    index = fitted()
    text = "crop dice radio volume"
    index.add([text] * 6, [["farm"]] * 6)
    assert index.tag(text, 1)[0].label == "farm"
    assert {row.label: row.support for row in index.label_report()}["farm"] == 6
    assert index.explain_tag("farm", text).votes[0].has_label


def test_probabilities_are_frequencies_after_most_items_were_added():
    texts, labels, _, _ = corpus(600, seed=2)
    index = SemanticIndex(estimator=MLSI(5)).fit(texts[:30], labels[:30])
    index.add(texts[30:], labels[30:])
    new, wanted, _, _ = corpus(300, seed=3)
    expected = sum(tag.probability for tags in index.tag(new, 9) for tag in tags)
    assert expected == pytest.approx(sum(map(len, wanted)), rel=0.08)


def test_an_explanation_names_words_and_items(index):
    text = "Chess and more chess with a melody"
    why = index.explain_tag("game", text, 3)
    tag = next(tag for tag in index.tag(text) if tag.label == "game")
    assert (why.probability, why.threshold) == (pytest.approx(tag.probability), tag.threshold)
    assert why.words[0].word == "chess"
    assert all(word.word in text.casefold() for word in why.words)
    assert len(why.votes) == 3
    own = index.explain_tag("game", items="item6")
    assert "item6" not in {vote.id for vote in own.votes}


def test_after_any_sequence_items_are_predicted_by_the_others_as_they_are(tmp_path):
    index = fitted()
    index.add(["chess and radio", "a dice game"], [["sound"], ["game"]], ["late1", "late2"])
    index.relabel(["item5", "late1"], [["sound", "rare"], ["game", "rare"]])
    index.remove("item7")
    index.save(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index", write=True) as index:
        index.relabel("item5", ["image"]).add(["a rare tune"], [["rare"]], ["late3"])
        tagger, store = index.tagger, index.store
        for name in ("item5", "item30", "late1", "late3"):
            # A tagger that is made from the other items, with the same settings.
            rows = store.rows([other for other in index.ids if other != name])
            separate = replace(
                tagger,
                rows=rows,
                features=ItemTagger(index.model, store, tagger).of_rows(rows),
                targets=store.labels.matrix(rows),
            )
            own = ItemTagger(index.model, store, tagger).of_rows(store.rows([name]))
            columns, chances = separate.best(own, 9)
            found = index.tag(items=name)
            assert [tag.label for tag in found] == [tagger.labels[j] for j in columns[0]]
            np.testing.assert_allclose([tag.probability for tag in found], chances[0], atol=1e-4)


def test_what_is_predicted_depends_on_the_changes_and_not_on_who_reads_when(tmp_path):
    """Live, read at any point or never, and loaded again: the same tags and findings."""
    texts, labels, ids, _ = corpus(120, seed=1)
    SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids).save(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    rng = np.random.default_rng(0)
    reader = SemanticIndex.load(tmp_path / "two")
    with (
        SemanticIndex.load(tmp_path / "one", write=True) as quiet,
        SemanticIndex.load(tmp_path / "two", write=True) as busy,
    ):
        for step in range(12):
            some = rng.choice(120, rng.integers(1, 8), replace=False)
            own = [list(rng.choice([*WORDS, "rare"], rng.integers(3), False)) for _ in some]
            for index in (quiet, busy):
                index.relabel([ids[n] for n in some], own)
                if step % 5 == 4:
                    index.remove(ids[step]).add([texts[step]], [labels[step]], [ids[step]])
            busy.tag("chess", 3)
            if step % 3 == 0:
                busy.label_report()
                reader.refresh()
                reader.tag(items=ids[0])
            if step % 4 == 0:
                audit_labels(busy, 10)
        reader.refresh()
        with SemanticIndex.load(tmp_path / "one") as loaded:
            expected = _told(loaded, ids)
        for index in (quiet, busy, reader):
            tags, findings = _told(index, ids)
            assert findings == expected[1]
            for own, other in zip(tags, expected[0], strict=True):
                assert own == {
                    label: (pytest.approx(chance, abs=1e-6), chosen)
                    for label, (chance, chosen) in other.items()
                }
    reader.close()


def _told(index, ids):
    """All tags and findings of an index."""
    tags = [
        {tag.label: (tag.probability, tag.chosen) for tag in own} for own in index.tag(items=ids)
    ]
    return tags, [(one.kind, one.items, one.labels) for one in audit_labels(index, 1000).findings]


def test_settings_are_learned_by_the_change_after_which_many_items_differ(tmp_path):
    fitted().save(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index", write=True) as index:
        fit = index.tagger
        index.relabel(["item1", "item2"], [["sound"], ["image"]])
        assert (index.tagger.learned, index.tagger.alpha) == (0, fit.alpha)
        index.after_change = lambda: None
        index.relabel(["item4", "item5"], [["sound"], ["image"]])
        assert index.tagger.learned == 0
        assert index.learn()
        assert not index.learn()
        assert index.tagger.learned == 4
        with SemanticIndex.load(tmp_path / "index", verify=True) as read:
            assert read.tagger.learned == 4
            assert not read.learn()
            index.relabel(["item6", "item7", "item8", "item9"], [["sound"]] * 4)
            assert index.learn()
            assert read.stale()
            assert read.refresh()
            np.testing.assert_array_equal(read.tagger.directions.axes, index.tagger.directions.axes)
        assert len(list(tmp_path.glob("index/generation-*/tagger*"))) == 1


def test_an_index_of_vectors_to_which_many_were_added_predicts_as_many_labels_as_items_have():
    rng = np.random.default_rng(0)
    labels, centres = [f"label{n}" for n in range(12)], rng.standard_normal((12, 40))

    def made(count):
        has = rng.random((count, 12)) < 0.1
        vectors = has @ centres + 2.0 * rng.standard_normal((count, 40))
        return vectors, [[labels[j] for j in np.flatnonzero(row)] for row in has], has

    (first, own, _), (late, others, _), (new, _, truth) = made(60), made(600), made(400)
    index = SemanticIndex().fit([""] * 60, own, vectors=first)
    index.add([""] * 600, others, vectors=late)
    found = sum(tag.probability for tags in index.tag(new, 12) for tag in tags)
    assert found == pytest.approx(truth.sum(), rel=0.1)


def failing_after(tagger, number, learned, error):
    """End a process that learns from what it has changed, or let that fail."""
    if tagger._store.number > number:
        raise error
    return learned(tagger)


FAILURES = {"killed before": KeyboardInterrupt(), "no room": OSError(28, "full")}


@pytest.mark.parametrize("how", ["saved", "late", "read", "killed", *FAILURES])
def test_settings_follow_from_the_changes(tmp_path, how, monkeypatch):
    """Not from saves, from reads, from when a server finds the time to learn, or from kills."""
    texts, labels, ids, metadata = corpus(120)
    first = tmp_path / "first"
    SemanticIndex(estimator=MLSI(4)).fit(texts, labels, ids, metadata=metadata).save(first)
    rng = np.random.default_rng(3)
    names = ["game", "image", "sound", "other"]
    steps = [(ids[rng.integers(120)], [names[rng.integers(4)]]) for _ in range(17)]

    def change(index, step):
        if step % 5 == 4:
            index.undo()
        elif step % 7 == 5:
            index.add(["a chess photo"], [["image"]], [f"new{step}"])
        else:
            index.relabel(*steps[step])

    told = []

    def changed(folder, how=""):
        index = SemanticIndex.load(shutil.copytree(first, tmp_path / folder), write=True)
        if how == "late":
            index.after_change = lambda: None
        for step in range(17):
            with monkeypatch.context() as patch:
                error = {"killed before": KeyboardInterrupt(), "no room": OSError(28, "full")}.get(
                    how
                )
                given = index.store.number, ItemTagger.learned, error
                if error is not None:
                    patch.setattr(ItemTagger, "learned", partialmethod(failing_after, *given))
                with suppress(KeyboardInterrupt), warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    change(index, step)
                told.extend("before the next change" in str(one.message) for one in caught)
            if how == "saved" and step % 3 == 1:
                index.save()
            elif how == "read":
                index.tag("chess"), index.label_report()
            elif how.startswith("killed"):
                index.close()
                index = SemanticIndex.load(tmp_path / folder, write=True)
        if how in ("late", "killed before", "no room"):
            index.learn()
        return index

    with changed("one") as index, changed("other", how) as other:
        assert told == [True] * len(told)
        assert bool(told) == (how == "no room")
        assert index.tagger.learned > 0
        assert index.tagger.learned == other.tagger.learned
        with SemanticIndex.load(index.path) as read:
            for one in (other, read):
                assert _told(one, one.ids)[1] == _told(index, index.ids)[1]
                pairs = [i.tag(items=index.ids, k=9) for i in (one, index)]
                for own, same in zip(*pairs, strict=True):
                    assert {tag.label: tag.probability for tag in own} == pytest.approx(
                        {tag.label: tag.probability for tag in same}, abs=1e-6
                    )
                    assert [t.label for t in own if t.chosen] == [t.label for t in same if t.chosen]
