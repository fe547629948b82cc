"""PaperMLSI against plain transcriptions of the equations of yu2005."""

import itertools

import numpy as np
import pytest
from _support.certificates import block, roots_of_deviations, solves
from _support.support import SHAPES, features, indicator
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelspan import MLSI
from labelspan.errors import InvalidInput, InvalidParameter
from labelspan.labels import read_labels
from labelspan.papers.yu2005 import PaperMLSI

# Pairs of a form and a way of balancing, each with a beta and an alpha.
FORMS = [
    ("inverse", "labels", 0.1, 0.0),
    ("inverse", True, 0.5, 0.1),
    ("inverse", False, 0.9, 3.0),
    ("direct", "labels", 0.4, 0.0),
    ("direct", False, 0.7, 0.5),
    ("ridge", "labels", 0.3, 0.0),
    ("ridge", "fitted", 0.5, 2.0),
    ("ridge", "equalized", 0.8, 1.0),
    ("ridge", "equalized", 1.0, 1.0),
    ("ridge", False, 0.0, 1.0),
]


@parametrize_with_checks([PaperMLSI()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def problem(model, X, y):
    """Return the stacked matrix Z of a form, and the labels that its scores go by."""
    labels = read_labels(y, X.shape[0], "test")
    Xc = X - X.mean(axis=0) * model.center
    Y = block(labels.values, labels.unknown, model.center)
    x, y_ = (np.linalg.norm(Xc), np.linalg.norm(Y)) if model.scaling else (1.0, 1.0)
    a, b = 1 - model.beta, model.beta
    if model.form == "ridge":
        gram = Xc.T @ Xc + model.alpha * np.eye(X.shape[1])
        B = np.linalg.pinv(gram, rcond=1e-11, hermitian=True) @ Xc.T @ Y
        fitted = Xc @ (B * roots_of_deviations(labels, model))
        size = y_ if model.scaling in {"labels", True, False} else np.linalg.norm(fitted)
        Z = np.hstack([np.sqrt(a) / x * Xc, np.sqrt(b) / size * fitted])
        return Xc, Z, Xc @ B if model.scaling == "equalized" and b > 0 else Y
    t = 1 / a + model.alpha
    B = np.linalg.pinv(Xc / x) @ (Y / y_)
    square = B.T @ B
    Q = np.linalg.inv(a**2 * (np.eye(len(square)) / b + square / a) - square / t) / t**2
    values, axes = np.linalg.eigh((Q + Q.T) / 2)
    return Xc, np.hstack([Xc / x / np.sqrt(t), Xc / x @ B @ (axes * np.sqrt(values)) @ axes.T]), Y


@pytest.mark.parametrize(("center", "units"), [(False, "even"), (True, "bad")])
@pytest.mark.parametrize(
    ("case", "shape", "scale"),
    [
        (case, shape, scale)
        for case, shape, scale in zip(
            FORMS, itertools.cycle(SHAPES), itertools.cycle(["eigenvalue", None]), strict=False
        )
    ],
)
def test_every_form_solves_its_equations(case, shape, scale, center, units):
    form, scaling, beta, alpha = case
    X = features(shape, 3)
    if units == "bad":
        X = X * np.logspace(-3, 3, X.shape[1])
    y = indicator(X.shape[0], 3)
    model = PaperMLSI(
        4, form=form, scaling=scaling, beta=beta, alpha=alpha, scale=scale, center=center
    ).fit(X, y)
    lengths = np.sqrt(model.eigenvalues_) if scale else np.ones(model.n_components_)
    if form == "direct":
        Xc = X - X.mean(axis=0) * center
        Y = block(y, None, center)
        x, y_ = (np.linalg.norm(Xc), np.linalg.norm(Y)) if scaling else (1.0, 1.0)
        S = (1 - beta) / x**2 * Xc @ Xc.T + beta / y_**2 * Y @ Y.T
        left, metric = Xc.T @ S @ Xc, Xc.T @ Xc + alpha * np.eye(X.shape[1])
        values, axes = np.linalg.eigh(metric)
        white = axes[:, values > 1e-9 * values[-1]] / np.sqrt(values[values > 1e-9 * values[-1]])
        if units == "even":
            spectrum = np.linalg.eigvalsh(white.T @ left @ white)[::-1]
            np.testing.assert_allclose(model.eigenvalues_, spectrum[:4], rtol=1e-6)
            solves(model.components_.T / lengths, left, metric, model.eigenvalues_, 1e-6)
        return
    _, Z, Y = problem(model, X, y)
    expected = np.linalg.svd(Z, compute_uv=False)[:4] ** 2
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-6)
    V = model.transform(X) / lengths
    solves(V, Z @ Z.T, np.eye(len(X)), model.eigenvalues_, 1e-6)
    loadings = model.label_loadings_ * lengths[:, None]
    np.testing.assert_allclose(loadings, V.T @ Y, atol=1e-6 * np.linalg.norm(Y))


def test_inverse_form_with_large_means():
    """Rounding must not add an n-th direction to n centred rows."""
    X, Y = features("wide", 4), indicator(18, 4)
    near = PaperMLSI(4, alpha=0.5, center=True).fit(X, Y)
    far = PaperMLSI(4, alpha=0.5, center=True).fit(X + 1e7, Y)
    np.testing.assert_allclose(far.eigenvalues_, near.eigenvalues_, rtol=1e-6)


def test_ridge_form_is_mlsi():
    X, Y = features("tall", 5), indicator(60, 5)
    ours = MLSI(4, beta=0.5, alpha=2.0).fit(X, Y)
    paper = PaperMLSI(4, form="ridge", alpha=2.0, scaling="equalized", center=True).fit(X, Y)
    np.testing.assert_allclose(paper.eigenvalues_, ours.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(paper.transform(X), ours.transform(X), atol=1e-8)
    np.testing.assert_allclose(paper.label_scores(X), ours.label_scores(X), atol=1e-8)


def test_refusals():
    X, Y = features("tall", 0), indicator(60, 0)
    with pytest.raises(InvalidParameter, match="form='inverse' needs beta below 1"):
        PaperMLSI(beta=1.0).fit(X, Y)
    with pytest.raises(InvalidParameter, match="may contain gamma, degree and coef0"):
        PaperMLSI(label_kernel="rbf", label_kernel_params={"width": 1}).fit(X, Y)
    with pytest.raises(InvalidParameter, match="n_components=200 is too large"):
        PaperMLSI(200).fit(X, Y)
    with pytest.raises(InvalidInput, match="X does not vary"):
        PaperMLSI(center=True).fit(np.ones((60, 3)), Y)


@pytest.mark.parametrize("beta", [5e-324, 1e-17, 1 - 2**-53])
def test_the_inverse_form_takes_any_weight_of_the_labels(beta):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 5))
    Y = (X[:, :2] > 0) * 1
    found = PaperMLSI(2, center=True, beta=beta, alpha=0.3).fit(X, Y).eigenvalues_
    limit = PaperMLSI(2, center=True, beta=0 if beta < 0.5 else 1 - 1e-9, alpha=0.3).fit(X, Y)
    np.testing.assert_allclose(found, limit.eigenvalues_, rtol=1e-6)
