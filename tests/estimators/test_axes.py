"""Reading a space: ends of axes, paths of sparse loadings, and their pictures."""

import numpy as np
import pytest
from _support.support import classes, features, indicator
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.linear_model import Lasso

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS, loadings_path
from labelspan.errors import InvalidInput, InvalidParameter
from labelspan.estimators import path as path_module
from labelspan.labels import opls_factor, read_labels
from labelspan.solvers.least_squares import targets


@pytest.mark.parametrize("model", [LSI(2), MLSI(2), OPLS(2), CCA(2), HSL(2)], ids=str)
def test_ends_are_the_extreme_weights(model):
    X, Y = features("tall", 0), indicator(60, 0)
    model.fit(X, Y)
    names = [f"f{i}" for i in range(12)]
    found = model.top_features(1, 3, names=names)
    row = model.components_[1]
    assert [entry.name for entry in found.high] == [names[i] for i in np.argsort(-row)[:3]]
    assert [entry.weight for entry in found.low] == [row[i] for i in np.argsort(row)[:3]]
    assert model.top_features(0, 2).high[0].name == int(model.components_[0].argmax())
    if not isinstance(model, LSI):
        both = model.top_labels(0, 4)
        assert len(both.high) + len(both.low) == 4
        assert both.high[0].name == model.classes_[model.label_loadings_[0].argmax()]


def test_names_come_from_a_data_frame_and_zeros_are_left_out():
    wine = load_wine(as_frame=True)
    model = LDA(penalty="l1", alpha=3.0).fit(wine.data / wine.data.std(), wine.target)
    found = model.top_features(0, 13)
    kept = int((model.components_[0] != 0).sum())
    assert 0 < kept < 13
    assert len(found.high) + len(found.low) == kept
    assert {entry.name for entry in found.high} <= set(wine.data.columns)


def test_a_penalty_may_leave_nothing_of_an_axis():
    X, Y = features("tall", 0), indicator(60, 0)
    strong = (
        2 * np.abs((X - X.mean(axis=0)).T @ targets(opls_factor(read_labels(Y, 60, "t")))).max()
    )
    model = OPLS(penalty="l1", alpha=0.999 * strong).fit(X, Y)
    assert (model.components_ != 0).sum() == 1
    assert np.isfinite(model.transform(X)).all()
    assert (model.eigenvalues_ >= 0).all()
    empty = int(np.flatnonzero((model.components_ == 0).all(axis=1))[0])
    assert model.top_features(empty) == ([], [])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("method", [OPLS(), CCA(2), HSL(laplacian="star")], ids=str)
def test_coordinate_descent_path_is_the_lasso(kind, method):
    X, Y = features("tall", 1), indicator(60, 1)
    path = loadings_path(X if kind == "dense" else sparse.csr_array(X), Y, method, n_alphas=8)
    T = targets(method._make_factor(read_labels(Y, 60, "t")))[:, : method.n_components]
    assert len(path.targets) == T.shape[1]
    centred = X - X.mean(axis=0)
    for one, target in zip(path.targets, T.T, strict=True):
        assert (one.weights[:, 0] == 0).all()
        for place in (3, 7):
            lasso = Lasso(alpha=one.alphas[place] / 120, tol=1e-8, max_iter=50_000)
            expected = lasso.fit(centred, target).coef_
            np.testing.assert_allclose(one.weights[:, place], expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_lars_path_meets_the_lasso_at_its_knots(kind):
    X, y = features("tall", 2), classes(60, 2)
    path = loadings_path(
        X if kind == "dense" else sparse.csr_array(X), y, LDA(), algorithm="lars", n_alphas=6
    )
    fitted = LDA(
        1, penalty="l1", alpha=float(path.targets[0].alphas[4]), tol=1e-10, max_iter=100_000
    ).fit(X, y)
    found = path.targets[0].weights[:, 4]
    np.testing.assert_allclose(np.abs(found), np.abs(fitted.components_[0]), atol=1e-5)
    assert list(path.targets[0].nonzeros[:3]) == [0, 1, 2]


def test_refusals(monkeypatch):
    X, Y = features("tall", 0), indicator(60, 0)
    model = OPLS(2).fit(X, Y)
    with pytest.raises(InvalidParameter, match="component must be from 0 to 1, but 2 was given"):
        model.top_features(2)
    with pytest.raises(InvalidParameter, match="component must be from 0 to 1, but -1"):
        model.top_labels(-1)
    with pytest.raises(InvalidParameter, match="n must be at least 1, but 0"):
        model.top_labels(0, 0)
    with pytest.raises(InvalidParameter, match="names must have 12 entries, but has 3"):
        model.top_features(0, names=["a", "b", "c"])
    with pytest.raises(InvalidInput, match="top_features needs weights on features"):
        OPLS(kernel="rbf", alpha=1.0).fit(X, Y).top_features(0)
    with pytest.raises(InvalidParameter, match="method must be OPLS, CCA, LDA or HSL"):
        loadings_path(X, Y, MLSI())
    with pytest.raises(InvalidParameter, match="algorithm must be 'cd' or 'lars', but 'omp'"):
        loadings_path(X, Y, OPLS(), algorithm="omp")
    with pytest.raises(InvalidParameter, match="kernel='rbf' has no weights on features"):
        loadings_path(X, Y, OPLS(kernel="rbf"))
    path = loadings_path(X, Y, OPLS(2), n_alphas=4)
    with pytest.raises(InvalidParameter, match="target must be from 0 to 1, but 5"):
        path.top_features(5, 0.1)
    assert len(path.top_features(0, 0.0, 3).high) <= 3
    monkeypatch.setattr(path_module, "_DENSE_LIMIT", 100)
    with pytest.raises(InvalidInput, match=r"60 x 12 numbers dense; use algorithm='cd'"):
        loadings_path(X, Y, OPLS(), algorithm="lars")
