"""Comparing spaces on a corpus: the protocol, its measures, and what is recommended."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from labelspan.errors import InvalidLabels, InvalidParameter
from labelspan.evaluation import comparison as protocol
from labelspan.evaluation.comparison import SETTINGS, Evaluation, evaluate, recommend, tables
from labelspan.evaluation.measurements import Results
from labelspan.evaluation.spaces import (
    ESTIMATORS,
    METHODS,
    RAW,
    RIDGE,
    embed,
    tagging_scores,
)
from labelspan.operators import as_operator
from labelspan.solvers.alpha import choose_alpha


def corpus(count=180, labels=6, seed=0):
    """Texts whose labels hide behind many words that say nothing of them."""
    rng = np.random.default_rng(seed)
    texts, lists = [], []
    for number in range(count):
        own = {number % labels, int(rng.integers(labels))}
        told = [f"word{label}x{rng.integers(6)}" for label in own for _ in range(2)]
        noise = [f"noise{rng.integers(3)}x{rng.integers(8)}" for _ in range(10)]
        texts.append(" ".join([*told, *noise]))
        lists.append([f"label{label}" for label in sorted(own)])
    return texts, lists


@pytest.fixture(scope="module")
def found():
    texts, lists = corpus()
    return evaluate(texts, lists, folds=2, dimensions=6)


# --- measures -----------------------------------------------------------------------------


def best_ridge(X, Y):
    """Return scikit-learn's ridge regression with the penalty of the smallest error."""
    alpha = choose_alpha(as_operator(X), as_operator(Y), intercept=True).alpha
    return Ridge(alpha=alpha).fit(X, Y)


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
def test_tagging_scores_are_ridge_regression():
    rng = np.random.default_rng(0)
    X, unseen = rng.normal(size=(60, 5)), rng.normal(size=(9, 5))
    Y = (rng.random((60, 4)) < 0.4).astype(float)
    reference = best_ridge(X, Y).predict(unseen)
    np.testing.assert_allclose(tagging_scores(X, Y, unseen), reference, atol=1e-8)
    # One label, and labels that all rows have or none.
    one = best_ridge(X, Y[:, :1]).predict(unseen)
    np.testing.assert_allclose(tagging_scores(X, Y[:, :1], unseen), one.reshape(-1, 1), atol=1e-8)
    Y[:, 1], Y[:, 2] = 0, 1
    reference = best_ridge(X, Y[:, [0, 3]]).predict(unseen)
    scores = tagging_scores(X, Y, unseen)
    np.testing.assert_allclose(scores[:, [0, 3]], reference, atol=1e-8)
    assert (scores[:, 1] == 0).all()
    assert (scores[:, 2] == 1).all()
    assert (tagging_scores(X, Y[:, 1:3], unseen) == [0, 1]).all()


# --- protocol -----------------------------------------------------------------------------


def test_every_method_is_evaluated_in_both_settings_and_all_folds(found):
    assert found.results.distinct("method") == [*METHODS]
    assert len(found.results) == len(METHODS) * 2 * len(SETTINGS)
    for record in found.results.records:
        for name in ("macro F1", "micro F1", "nDCG", "Jaccard"):
            assert 0 <= record[name] <= 1
    assert [*found.facts.values()] == [180, 180, 0, 6, 2, 2, 6]
    assert found.notes == ()
    assert set(found.results.only(method=RIDGE).values("dimensions")) == {4}
    assert (found.results.only(method=RAW).values("seconds") == 0).all()


def test_the_same_seed_gives_the_same_numbers(found):
    same, other = (evaluate(*corpus(), folds=2, dimensions=6, random_state=n) for n in (0, 1))
    numbers, again, others = (
        [one.results.values(name).tolist() for name in ("macro F1", "nDCG")]
        for one in (found, same, other)
    )
    assert numbers == again != others


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
def test_no_space_sees_what_it_is_evaluated_on(monkeypatch):
    texts, lists = corpus(120)
    lists = [own if n % 4 else None for n, own in enumerate(lists)]
    seen = []

    def spy(method, train, Y, test, dimensions):
        seen.append((method, train.shape[0], Y.copy(), test.shape[0]))
        vectors = embed(method, train, Y, test, dimensions)
        for part in (vectors.train, vectors.test) if method in ESTIMATORS else ():
            np.testing.assert_allclose(np.linalg.norm(part, axis=1), 1.0, atol=1e-5)
        return vectors

    monkeypatch.setattr(protocol, "embed", spy)
    result = evaluate(texts, lists, folds=3, dimensions=4)
    assert (result.facts["labelled"], result.facts["unlabelled"]) == (90, 30)
    assert [method for method, *_ in seen] == [*METHODS] * 3
    for _, rows, Y, left_out in seen:
        # All items but those left out; of six labels, two are held out.
        assert (rows, left_out) == (90, 30)
        assert Y.shape == (90, 4)
        assert np.isnan(Y).all(axis=1).sum() == 30
    first = {method: Y for method, _, Y, _ in seen[: len(METHODS)]}
    assert all(np.array_equal(Y, first[RAW], equal_nan=True) for Y in first.values())


@pytest.mark.parametrize(
    ("lists", "options", "error", "message"),
    [
        ([["a"], ["b"]] * 10, {}, InvalidLabels, "three labels with 6 items each .* there are 2"),
        ([None] * 20, {}, InvalidLabels, "there are 0"),
        ([["a"], ["b"], ["c"], []] * 5, {"folds": 1}, InvalidParameter, "folds must be"),
        ([["a", "b", "c"]] * 6 + [None] * 14, {}, InvalidLabels, "3 folds need 12 items"),
    ],
)
def test_refusals(lists, options, error, message):
    with pytest.raises(error, match=f"evaluate: .*{message}"):
        evaluate(["some words"] * 20, lists, **options)


# --- what it says -------------------------------------------------------------------------


def test_the_best_space_is_recommended():
    """Every measure of a method in a fold is one number."""
    scores = {RAW: (0.1, 0.2, 0.3), "LSI": (0.1, 0.1, 0.1), RIDGE: (0.5, 0.5, 0.5)}
    scores |= {"MLSI": (0.3, 0.3, 0.3), "CCA": (0.4, 0.2, 0.9)}
    records = [
        {"method": method, "setting": setting, "dimensions": 7, "macro F1": value, "nDCG": value}
        for method, values in scores.items()
        for value in values
        for setting in SETTINGS
    ]
    options, reasons = recommend(Evaluation(Results(records), {}))
    assert options == {"method": "cca", "dimensions": 7}
    assert "CCA scores 0.500, compared with raw features 0.200, LSI 0.100" in reasons[0]
    assert "+0.000 for labels seen and +0.000 for labels held out" in reasons[-1]


def test_tables_hold_what_was_measured(found):
    seen, held = tables(found)
    assert [row[0] for row in seen.rows] == [*METHODS]
    cell = found.results.only(method="MLSI", setting="seen")
    mlsi = next(row for row in seen.rows if row[0] == "MLSI")
    assert mlsi[4] == f"{cell.mean('nDCG'):.3f}"
    assert seen.rows != held.rows
