"""Labels that are weighted by how rare they are, and by how much of them is known."""

import numpy as np
import pytest
from _support.fitting import MLSI_SOLVERS

from labelspan import MLSI

N, D, K = 90, 14, 4


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) * np.linspace(3.0, 0.5, D) + 1
    noise = 2 * rng.standard_normal((N, K))
    Y = ((X @ rng.standard_normal((D, K)) + noise) > np.array([1.0, 3.0, 5.0, 8.0])) * 1.0
    return X, Y


def ridge(X, Y, alpha, rows=slice(None)):
    """Predict all rows by the ridge regression of some."""
    means, centre = X[rows].mean(axis=0), Y[rows].mean(axis=0)
    A = X[rows] - means
    slopes = np.linalg.solve(A.T @ A + alpha * np.eye(D), A.T @ (Y[rows] - centre))
    return centre + (X - means) @ slopes


@pytest.mark.parametrize("options", MLSI_SOLVERS, ids=lambda o: o["solver"])
def test_scores_are_the_ridge_regression_seen_from_the_space(data, options):
    X, Y = data
    fitted = ridge(X, Y, 3.0)
    model = MLSI(5, alpha=3.0, **options).fit(X, Y)
    V = np.linalg.qr(model.transform(X))[0]
    expected = Y.mean(axis=0) + V @ (V.T @ fitted)
    np.testing.assert_allclose(model.label_scores(X), expected, atol=1e-6)
    whole = MLSI(D, alpha=3.0, **options).fit(X, Y)
    np.testing.assert_allclose(whole.label_scores(X), fitted, atol=1e-6)


def test_a_label_that_is_the_same_everywhere_changes_nothing(data):
    X, Y = data
    more = np.hstack([Y, np.full((N, 1), 0.1)])
    found = MLSI(5, alpha=3.0).fit(X, more)
    expected = MLSI(5, alpha=3.0).fit(X, Y)
    np.testing.assert_allclose(found.transform(X), expected.transform(X), atol=1e-10)
    np.testing.assert_allclose(found.label_scores(X)[:, -1], 0.1, atol=1e-10)


@pytest.mark.parametrize("part", [slice(40, None), slice(0, None, 2), slice(8, None)])
def test_few_known_labels_weigh_less(data, part):
    X = data[0]
    # Two of four labels have nothing to do with the features.
    Y = np.hstack([data[1][:, :2], np.random.default_rng(1).integers(0, 2, (N, 2)) * 1.0])
    partly = Y.copy()
    partly[part] = -1
    share = float((partly[:, 0] >= 0).mean())
    model = MLSI(9).fit(X, partly)
    curve = model.alpha_curve_
    explained = max(0.0, 1 - curve.error / curve.errors[-1])
    trust = explained + share**2 * (1 - explained)
    assert model.beta_ == pytest.approx(min(0.65, 4 * trust / (1 + 4 * trust)))
    # A given alpha does not change the weight, and a stream has nearly the same.
    assert MLSI(9, alpha=model.alpha_).fit(X, partly).beta_ == pytest.approx(model.beta_)
    stream = MLSI(9).partial_fit(X, partly)
    assert stream.beta_ == pytest.approx(model.beta_, abs=0.1)
    assert MLSI(9).fit(X, Y).beta_ == 0.65
    assert MLSI(9, beta=0.2).fit(X, partly).beta_ == 0.2
