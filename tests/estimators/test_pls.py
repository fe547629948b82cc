"""PLSSVD and PLSDA: equal to scikit-learn, and their own identities."""

import numpy as np
import pytest
from _support.support import angle, classes, features, indicator
from scipy import sparse
from sklearn.cross_decomposition import PLSSVD as SklearnPLSSVD
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_linnerud, load_wine
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelspan import OPLS, PLSDA, PLSSVD
from labelspan.errors import InvalidLabels, LabelspanWarning

FORMS = [
    ("tall", np.asarray, True),
    ("wide", sparse.csr_array, True),
    ("tall", sparse.csr_array, False),
]


@parametrize_with_checks([PLSSVD(), PLSDA()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def same_up_to_sign(found, expected, atol=1e-8):
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=atol * np.abs(expected).max())


def problem(seed, shape="tall"):
    X, Y = features(shape, seed), indicator(len(features(shape, seed)), seed)
    return X, Y


# --- equal to scikit-learn ------------------------------------------------------------


@pytest.mark.parametrize(("shape", "make", "scale"), FORMS)
def test_plssvd_equals_that_of_scikit_learn(shape, make, scale):
    for seed in range(3):
        X, Y = problem(seed, shape)
        reference = SklearnPLSSVD(3, scale=scale).fit(X, Y)
        model = PLSSVD(3, standardize=scale).fit(make(X), Y)
        same_up_to_sign(model.transform(make(X)), reference.transform(X))
        sides = reference.transform(X, Y)[1]
        same_up_to_sign((Y - model.label_means_) @ model.label_weights_, sides)


@pytest.mark.parametrize(("shape", "make", "scale"), FORMS)
def test_plsda_equals_pls_regression(shape, make, scale):
    for seed in range(3):
        X, Y = problem(seed, shape)
        reference = PLSRegression(4, scale=scale, tol=1e-30, max_iter=100_000).fit(X, Y)
        model = PLSDA(4, standardize=scale).fit(make(X), Y)
        same_up_to_sign(model.transform(make(X)), reference.transform(X), atol=1e-7)
        np.testing.assert_allclose(model.label_scores(make(X)), reference.predict(X), atol=1e-7)
        same_up_to_sign(model.weights_, reference.x_weights_, atol=1e-7)


@pytest.mark.parametrize("scale", [False, True])
def test_real_targets_and_classes(scale):
    X, Y = load_linnerud(return_X_y=True)
    reference = PLSRegression(2, scale=scale, tol=1e-30, max_iter=100_000).fit(X, Y)
    model = PLSDA(2, standardize=scale).fit(X, Y)
    np.testing.assert_allclose(model.label_scores(X), reference.predict(X), rtol=1e-7)
    X, y = load_wine(return_X_y=True)
    reference = PLSRegression(5, scale=scale, tol=1e-30, max_iter=100_000).fit(X, np.eye(3)[y])
    model = PLSDA(5, standardize=scale).fit(X, y)
    np.testing.assert_allclose(model.label_scores(X), reference.predict(X), atol=1e-6)


# --- identities -----------------------------------------------------------------------


def test_scores_of_plsda_are_orthogonal_and_explain_what_they_say():
    X, Y = problem(1)
    model = PLSDA(5).fit(X, Y)
    scores = model.transform(X)
    square = scores.T @ scores
    assert np.abs(square - np.diag(np.diag(square))).max() < 1e-9 * square.max()
    explained = np.square(model.label_scores(X) - Y.mean(axis=0)).sum()
    np.testing.assert_allclose(model.eigenvalues_.sum(), explained)


def test_plsda_with_all_components_is_least_squares():
    X, Y = problem(2)
    model = PLSDA(X.shape[1]).fit(X, Y)
    reference = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(model.label_scores(X), reference.predict(X), atol=1e-6)


def test_label_scores_of_plssvd_are_least_squares_on_the_space():
    X, Y = problem(4)
    model = PLSSVD(2).fit(X, Y)
    Z = model.transform(X)
    reference = LinearRegression().fit(Z, Y)
    np.testing.assert_allclose(model.label_scores(X), reference.predict(Z), atol=1e-9)


def test_whitened_features_make_plssvd_opls():
    X, Y = problem(5)
    centred = X - X.mean(axis=0)
    white = np.linalg.svd(centred, full_matrices=False)[0]
    space = PLSSVD(3).fit(white, Y).transform(white)
    assert angle(space, OPLS(3, alpha=0.0).fit(X, Y).transform(X)) < 1e-6


def test_vip_by_its_formula():
    X, y = load_wine(return_X_y=True)
    model = PLSDA(3, standardize=True).fit(X, y)
    reference = PLSRegression(3, tol=1e-30, max_iter=100_000).fit(X, np.eye(3)[y])
    explained = np.square(reference.x_scores_).sum(axis=0) * np.square(reference.y_loadings_).sum(
        axis=0
    )
    weights = np.square(reference.x_weights_ / np.linalg.norm(reference.x_weights_, axis=0))
    expected = np.sqrt(X.shape[1] * weights @ explained / explained.sum())
    np.testing.assert_allclose(model.vip_, expected, rtol=1e-6)
    np.testing.assert_allclose(np.square(model.vip_).mean(), 1.0)


# --- other ways to the same answer ----------------------------------------------------


def test_refusals():
    X, Y = problem(11)
    with pytest.warns(LabelspanWarning, match="n_components=5 exceeds the 4"):
        PLSSVD(5).fit(X, Y)
    with pytest.raises(InvalidLabels, match="PLSDA: y has one class"):
        PLSDA().fit(X, np.zeros(len(X), dtype=int))
    with pytest.warns(LabelspanWarning, match="only 1 directions"):
        PLSDA(3).fit(X[:, :1] * [1.0, 2.0, 3.0, 4.0], classes(len(X), 0))


@pytest.mark.parametrize(("size", "streamed"), [(1.0, True), (3e7, True), (1e12, False)])
def test_components_next_to_a_feature_in_large_units(size, streamed):
    """After the first component, what was left of X'Y was the rounding of the large feature."""
    rng = np.random.default_rng(4)
    n = 40
    X = np.c_[(rng.random((n, 8)) < 0.3) * 1.0, size * rng.random(n)]
    Y = ((X[:, :3] + 0.3 * rng.standard_normal((n, 3))) > 0.5) * 1
    model = PLSDA()
    if streamed:
        model.partial_fit(X[:15], Y[:15]).partial_fit(X[15:], Y[15:])
    else:
        model.fit(X, Y)
    # In extended precision, with the features deflated as NIPALS does.
    left, labels = (A.astype(np.longdouble) - A.mean(axis=0, dtype=np.longdouble) for A in (X, Y))
    expected = []
    for _ in range(3):
        w = np.linalg.svd((left.T @ labels).astype(float))[0][:, 0].astype(np.longdouble)
        w = left.T @ (labels @ (labels.T @ (left @ w)))
        t = left @ (w / np.linalg.norm(w.astype(float)))
        expected.append(float(np.square(labels.T @ t).sum() / (t @ t)))
        left = left - np.outer(t, left.T @ t) / (t @ t)
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-4)
