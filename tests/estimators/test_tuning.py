"""Tuning: shared work must give the scores that separate fits would give."""

import numpy as np
import pytest
from _support.support import classes, features, indicator
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS, tune
from labelspan.errors import InvalidParameter, Mismatch
from labelspan.estimators import tuning
from labelspan.metrics import average_precision, retrieval_at_k

GRIDS = [
    (MLSI(), {"n_components": [2, 5], "alpha": [0.1, 3.0], "beta": [0.0, 0.4, 1.0]}),
    (MLSI(4, label_weight=None), {"alpha": [0.1, 3.0], "beta": [0.2, 0.7]}),
    (MLSI(3, center=False), {"alpha": [0.1, 3.0]}),
    (OPLS(), {"n_components": [1, 3], "alpha": [0.1, 10.0]}),
    (CCA(2), {"alpha": [0.1, 10.0]}),
    (HSL(2, laplacian="star"), {"alpha": [0.1, 10.0]}),
    (LDA(2), {"alpha": [0.1, 10.0]}),
]


def labels_for(model, rows):
    return classes(rows, 0) if isinstance(model, LDA) else indicator(rows, 0)


def check_scores(model, result, X, y, scoring="label scores"):
    """The scores of all candidates are those of separate fits, on what is known."""
    Y = np.eye(4)[y] if y.ndim == 1 else y
    labelled = np.flatnonzero(~np.isnan(Y).all(axis=1))
    for candidate in result.candidates:
        parts = KFold(3, shuffle=True, random_state=0).split(labelled)
        for fold, (_, place) in enumerate(parts):
            test = labelled[place]
            train = np.setdiff1d(np.arange(len(X)), test)
            params = dict(candidate.params)
            if params.get("beta") == 1.0:
                params["n_components"] = min(params["n_components"], 4)
            single = clone(model).set_params(**params).fit(X[train], y[train])
            if scoring == "neighbours":
                train = np.intersect1d(train, labelled)
                places = single.transform(X[test]), single.transform(X[train])
                expected = retrieval_at_k(
                    places[0], Y[test] == 1, places[1], Y[train] == 1, 10
                ).ndcg
            else:
                scores = single.label_scores(X[test])
                each = [
                    average_precision(Y[test][own, [j]][:, None], scores[own, [j]][:, None]).value
                    for j, own in enumerate(~np.isnan(Y[test].T))
                    if (Y[test][own, j] == 1).any()
                ]
                expected = np.mean(each)
            assert candidate.scores[fold] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("model", "grid", "shape", "kind"),
    [
        (*pair, ["tall", "low-rank"][n % 2], ["dense", "sparse"][n // 2 % 2])
        for n, pair in enumerate(GRIDS)
    ],
    ids=lambda value: str(value)[:40],
)
def test_scores_are_those_of_separate_fits(model, grid, shape, kind):
    X = features(shape, 3)
    y = labels_for(model, X.shape[0])
    result = tune(model, sparse.csr_array(X) if kind == "sparse" else X, y, cv=3, **grid)
    assert len(result.candidates) == np.prod([len(values) for values in grid.values()])
    check_scores(model, result, X, y)
    best = max(result.candidates, key=lambda candidate: candidate.mean)
    assert result.best_params == best.params
    assert result.best_score == best.mean
    assert result.best_estimator.get_params()["alpha"] == best.params["alpha"]


def test_neighbours_are_found_by_labels_and_not_by_targets():
    X = features("tall", 4)
    with pytest.raises(Mismatch, match="scoring='neighbours' compares label sets"):
        tune(OPLS(), X, X[:, :2] + 0.5, alpha=[1.0], scoring="neighbours")
    plain, named = (
        tune(OPLS(2), X, indicator(60, 4), alpha=[1.0], scoring=name, refit=False).best_score
        for name in (None, "label scores")
    )
    assert plain == named


@pytest.mark.parametrize(
    ("model", "hidden", "scoring", "kind"),
    [
        (MLSI(3), "rows", "label scores", "exact"),
        (MLSI(3), "entries", "label scores", "Krylov"),
        (MLSI(3, center=False), "rows", "neighbours", "Krylov"),
        (OPLS(2), "entries", "neighbours", "exact"),
    ],
    ids=str,
)
def test_unknown_labels_are_learned_from_and_scored_as_separate_fits_would(
    model, hidden, scoring, kind, monkeypatch
):
    if kind == "Krylov":
        monkeypatch.setattr(tuning, "_EXACT_SIDE", 10)
        monkeypatch.setattr(tuning, "_SPACE_TOL", 1e-12)
    X, Y = features("tall", 5), indicator(60, 5).astype(float)
    rng = np.random.default_rng(5)
    if hidden == "rows":
        Y[rng.permutation(60)[:20]] = np.nan
    else:
        # Not a row whose labels are all known.
        Y[np.arange(60), rng.integers(Y.shape[1], size=60)] = np.nan
    grid = {"alpha": [0.1, 30.0, "auto"]} | (
        {"beta": [0.0, 0.6]} if isinstance(model, MLSI) else {}
    )
    result = tune(model, X, Y, cv=3, scoring=scoring, refit=False, **grid)
    assert len({candidate.mean for candidate in result.candidates}) > 1
    check_scores(model, result, X, Y, scoring)


def test_refusals():
    X, Y = features("tall", 0), indicator(60, 0)
    with pytest.raises(InvalidParameter, match="estimator must be MLSI, OPLS"):
        tune(LSI(), X, Y, n_components=[2])
    with pytest.raises(Mismatch, match="beta is a parameter of MLSI, and OPLS does not have it"):
        tune(OPLS(), X, Y, beta=[0.5])
    with pytest.raises(InvalidParameter, match="alpha must have at least one value"):
        tune(OPLS(), X, Y, alpha=[])
    with pytest.raises(InvalidParameter, match=r"MLSI: beta must be a number.*, but 3"):
        tune(MLSI(), X, Y, beta=[0.5, 3])
    with pytest.raises(Mismatch, match=r"have no common basis.*GridSearchCV"):
        tune(OPLS(penalty="l1", alpha=1.0), X, Y, alpha=[1.0])
    with pytest.raises(InvalidParameter, match=r"cv must be from 2 to the 60 rows .* but 1 was"):
        tune(OPLS(), X, Y, alpha=[1.0], cv=1)
    with pytest.raises(
        InvalidParameter, match="scoring must be 'label scores', 'neighbours', 'r2'"
    ):
        tune(OPLS(), X, Y, alpha=[1.0], scoring="f1")
