"""Planted errors in labels are found."""

import numpy as np
import pytest
from _support.topics import corpus

from labelspan import MLSI, SemanticIndex
from labelspan.curation import audit_labels


@pytest.fixture(scope="module")
def planted():
    """An index with labels that were added, removed and invented, and what was done."""
    texts, labels, ids, _ = corpus(150, seed=3)
    labels = [list(own) for own in labels]
    rng = np.random.default_rng(0)
    single = [n for n in rng.permutation(150) if len(labels[n]) == 1]
    wrong, missing = single[:4], single[4:8]
    added = {}
    for n in wrong:
        added[ids[n]] = next(name for name in ("game", "image", "sound") if name not in labels[n])
        labels[n].append(added[ids[n]])
    removed = {}
    for n in missing:
        removed[ids[n]] = labels[n][0]
        labels[n] = ["TODO"]
    for n in range(150):
        if "image" in labels[n]:
            labels[n].append("visual")
    for n in range(0, 150, 3):
        if "game" in labels[n]:
            labels[n].append("fun")
    texts += ["chess dice card puzzle board"] * 2 + ["song tune", "paint"]
    labels += [["game"], ["sound"], None, []]
    ids += ["twin1", "twin2", "bare1", "bare2"]
    index = SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)
    return index, added, removed


def test_added_and_removed_labels_come_first(planted):
    index, added, removed = planted
    found = audit_labels(index, 20)
    wrong = {(one.items[0], one.labels[0]) for one in found.of("wrong")}
    assert len(set(added.items()) & wrong) >= 3
    missing = {(one.items[0], one.labels[0]) for one in found.of("missing")}
    assert len(set(removed.items()) & missing) >= 3
    for kind in ("wrong", "missing"):
        scores = [one.score for one in found.of(kind)]
        assert scores == sorted(scores, reverse=True)
        assert all("probability" in one.evidence for one in found.of(kind))


def test_other_labels_are_evidence():
    # The texts say nothing about film and series, but no item has both, except by mistake.
    texts, labels, ids, _ = corpus(200, seed=4)
    labels = [[*own, ("film", "series")[n % 2]] for n, own in enumerate(labels)]
    texts = [
        f"{text} {'screen' if n % 3 else ''} {own[-1] * (n % 4 > 1)}"
        for n, (text, own) in enumerate(zip(texts, labels, strict=True))
    ]
    labels[10].append("series")
    index = SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)
    first = audit_labels(index, 1, kinds=["wrong"]).of("wrong")[0]
    assert (first.items, first.labels) == ((ids[10],), ("series",))
    assert first.evidence["with_other_labels"] < 0.5 * first.evidence["probability"]
    # One that is itself improbable does not speak against the label that is missing.
    of_games = [n for n, own in enumerate(labels) if own[0] == "game" and len(own) == 2]
    labels[of_games[0]] = ["sound", labels[of_games[0]][1]]
    index = SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)
    missing = {(one.items[0], one.labels[0]) for one in audit_labels(index, 5).of("missing")}
    assert (ids[of_games[0]], "game") in missing


def test_items_that_changed_are_audited_too(planted, tmp_path, monkeypatch):
    planted[0].save(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index", write=True) as index:
        of_images = [name for name in index.ids if index.item(name).labels == ("image", "visual")]
        for changed in of_images[:3]:
            index.relabel(changed, ["sound"])
            wrong = [(one.items[0], one.labels[0]) for one in audit_labels(index, 15).of("wrong")]
            assert (changed, "sound") in wrong
        # A label that no item has any more is not reported.
        having = [item.id for item in index.items() if "TODO" in (item.labels or ())]
        index.relabel(having, [[] for _ in having])
        assert not audit_labels(index, kinds=["junk"]).of("junk")
    # Nothing is predicted again.
    monkeypatch.setattr("labelspan.tagger.Tagger.without", None)
    assert audit_labels(planted[0], 5).of("wrong")


def test_the_vocabulary_is_audited(planted):
    found = audit_labels(planted[0])
    assert ("image", "visual") in {one.labels for one in found.of("merge")}
    assert ("fun", "game") in {one.labels for one in found.of("implied")}
    assert [one.labels for one in found.of("junk")] == [("TODO",)]
    pairs = [set(one.items) for one in found.of("duplicates")]
    assert {"twin1", "twin2"} in pairs
    suggested = {one.items[0]: one.labels[0] for one in found.of("unlabelled")}
    assert suggested["bare1"] == "sound"
    assert suggested["bare2"] in ("image", "visual")


def test_labels_are_merged_by_spelling_not_by_chance():
    texts, labels, ids, _ = corpus(80, seed=6)
    labels = [[*own] for own in labels]
    changed = [n for n, own in enumerate(labels) if own == ["game"]]
    # Signs may be the name.
    for n, name in zip(changed, ("Games", "C++", "C#"), strict=False):
        labels[n] = [name]
    (found,) = audit_labels(SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)).of("merge")
    assert set(found.labels) == {"game", "Games"}
    assert "only in case" in found.reason
    assert found.sure
    # One letter may be a slip, or make another word.
    labels[changed[0]] = ["gamer"]
    (found,) = audit_labels(SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)).of("merge")
    assert set(found.labels) == {"game", "gamer"}
    assert "in one letter" in found.reason
    assert not found.sure
    # What is a word of the texts is no slip.
    texts[changed[0]] += " gamer"
    assert audit_labels(SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)).of("merge") == []
    # The items of labels at random use the same common words, which says nothing about them.
    labels = [[f"label {n}"] for n in np.random.default_rng(1).integers(0, 3, 80)]
    texts = [f"the usual words of every text {text.split()[0]}" for text in texts]
    assert audit_labels(SemanticIndex(estimator=MLSI(3)).fit(texts, labels, ids)).of("merge") == []


def test_another_spelling_is_to_be_merged_and_neither_wrong_nor_missing():
    texts, labels, ids, _ = corpus(120, seed=6)
    labels = [[*own] for own in labels]
    of_sound = [n for n, own in enumerate(labels) if "sound" in own]
    for n in of_sound[::2]:
        labels[n] = [*(one for one in labels[n] if one != "sound"), "Sounds"]
    index = SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)
    found = audit_labels(index, 1000)
    assert found.findings[0].kind in ("missing", "merge"), "these lead"
    assert [set(one.labels) for one in found.of("merge")] == [{"sound", "Sounds"}]
    for one in (*found.of("missing"), *found.of("wrong")):
        own = index.item(one.items[0]).labels
        other = {"sound": "Sounds", "Sounds": "sound"}.get(one.labels[0])
        assert other not in own
        assert one.kind == "missing" or other is None


def test_texts_that_share_few_words_are_not_nearly_equal():
    texts, labels, ids, _ = corpus(60, seed=2)
    # Words of another language, each in one text, and two that are known by chance.
    rare = [" ".join(f"{word}{n}x{m}" for m, word in enumerate("abcdefgh" * 4)) for n in range(2)]
    texts += [f"{text} chess dice" for text in rare]
    labels += [["game"], ["sound"]]
    texts += ["chess dice card puzzle board"] * 2
    labels += [["game"], ["sound"]]
    ids += ["far1", "far2", "twin1", "twin2"]
    index = SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)
    pairs = {frozenset(one.items) for one in audit_labels(index, 1000).of("duplicates")}
    assert frozenset(("twin1", "twin2")) in pairs
    assert frozenset(("far1", "far2")) not in pairs


def test_what_is_unsure_is_marked_and_comes_last(planted):
    found = audit_labels(planted[0], 1000)
    for kind in ("wrong", "missing"):
        sure = [one.sure for one in found.of(kind)]
        assert sure == sorted(sure, reverse=True)
        assert all(0 < one.evidence["base_rate"] < 1 for one in found.of(kind))
    assert {one.sure for one in found.of("missing")} == {True, False}
    # Nothing is clearly wrong among 150 items.
    assert {one.sure for one in found.of("wrong")} == {False}
    assert all(one.sure for one in found.of("merge"))


def test_some_kinds_and_fewer_findings_are_those_of_a_whole_audit(planted):
    index = planted[0]
    some = audit_labels(index, 2, kinds=["wrong", "missing"])
    found = audit_labels(index, 30)
    assert some.findings == (*found.of("missing")[:2], *found.of("wrong")[:2])
    assert some.counts == {kind: found.counts[kind] for kind in ("missing", "wrong")}
