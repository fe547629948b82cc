"""Quality of tags on held-out items: the measures, the split, and what is said about it."""

import numpy as np
import pytest
from _support.topics import corpus
from sklearn.metrics import f1_score, ndcg_score

from labelspan.errors import InvalidLabels
from labelspan.evaluation import tag_quality
from labelspan.evaluation.tag_quality import (
    MEASURES,
    SYSTEMS,
    best_cut,
    evaluate_tagging,
    tagging_quality,
    tagging_table,
)


@pytest.mark.parametrize("seed", range(2))
def test_measures_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random((40, 9)) < 0.3
    truth[np.arange(40), rng.integers(9, size=40)] = True
    scores = rng.normal(size=truth.shape)
    chosen = scores > 0.4
    found = tagging_quality(truth, scores, chosen)
    assert found["nDCG@5"] == pytest.approx(ndcg_score(truth, scores, k=5))
    assert found["micro F1"] == pytest.approx(f1_score(truth, chosen, average="micro"))
    assert found["macro F1"] == pytest.approx(f1_score(truth, chosen, average="macro"))
    order = np.argsort(-scores, axis=1)
    for k in (1, 3, 5):
        precision = np.take_along_axis(truth, order[:, :k], axis=1).mean()
        assert found[f"P@{k}"] == pytest.approx(precision)
    assert found["chosen / true"] == pytest.approx(chosen.sum() / truth.sum())


def test_the_threshold_has_the_best_micro_f1():
    rng = np.random.default_rng(0)
    truth = rng.random((30, 4)) < 0.4
    scores = rng.normal(size=truth.shape) + truth
    total = int(truth.sum())
    cut = best_cut(scores, truth, total)

    def micro(limit):
        chosen = scores >= limit
        return 2 * (truth & chosen).sum() / (chosen.sum() + total)

    assert micro(cut) == max(micro(limit) for limit in scores.ravel())


def test_all_systems_are_measured_on_items_that_they_have_not_seen(monkeypatch):
    texts, labels, _, _ = corpus(120)
    labels = [own if n % 4 else None for n, own in enumerate(labels)]
    seen = []
    real = tag_quality.learn_tagger

    def spy(names, targets, features, rows):
        seen.append(targets.shape[0])
        return real(names, targets, features, rows)

    monkeypatch.setattr(tag_quality, "learn_tagger", spy)
    steps = []
    found = evaluate_tagging(texts, labels, progress=lambda *step: steps.append(step))
    assert steps == [(1, 3), (2, 3), (3, 3)]
    usable = sum(bool(own) for own in labels)
    assert (found.items, found.held_out) == (usable - usable // 5, usable // 5)
    assert seen == [found.items]
    results = found.results
    assert results.distinct("system") == list(SYSTEMS)
    for name in MEASURES:
        values = results.values(name)
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    for system in ("linear SVM", "labelspan"):
        better = results.only(system=system).mean("nDCG@5")
        assert better > results.only(system="most frequent").mean("nDCG@5") + 0.1
    table = tagging_table(found)
    assert [row[0] for row in table.rows] == list(SYSTEMS)
    assert f"{found.held_out} held-out items, trained on {found.items}" in table.title
    again = evaluate_tagging(texts, labels)
    for one, other in zip(results.records, again.results.records, strict=True):
        assert {k: v for k, v in one.items() if k != "seconds"} == {
            k: v for k, v in other.items() if k != "seconds"
        }
    monkeypatch.setattr(tag_quality, "_MOST_ITEMS", 40)
    fewer = evaluate_tagging(texts, labels)
    assert (fewer.items, fewer.held_out) == (32, 8)


def test_refusals():
    with pytest.raises(InvalidLabels, match="5 items with labels are needed, but there are 4"):
        evaluate_tagging(["a b"] * 20, [["x"]] * 4 + [None] * 8 + [[]] * 8)
