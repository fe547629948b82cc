"""Thin factors whose iteration stops by the eigenvalues still to come."""

import numpy as np
import pytest
from scipy import sparse

from labelspan import CCA, HSL, OPLS
from labelspan.solvers import regression

N, D, K = 400, 500, 12


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = sparse.random_array((N, D), density=0.1, rng=rng, data_sampler=rng.standard_normal)
    X = sparse.csr_array(X * (1 / np.sqrt(1 + np.arange(D)))[None, :])
    Y = (X @ rng.standard_normal((D, K)) + 0.2 * rng.standard_normal((N, K)) > 0) * 1.0
    return X, Y


@pytest.fixture
def large(monkeypatch):
    """As if both sides were above the limit of Gram matrices."""
    monkeypatch.setattr(regression, "DIRECT_LIMIT", 100)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", [OPLS, CCA, HSL])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
def test_what_is_missing_is_within_the_promise(data, large, method, alpha, dtype):
    X, Y = data[0].astype(dtype), data[1]
    model = method(alpha=alpha, solver="krylov").fit(X, Y)
    exact = method(alpha=alpha, solver="exact").fit(X.astype(np.float64), Y)
    assert "still to come are estimated" in model.status_
    missing = 1 - model.eigenvalues_.sum() / exact.eigenvalues_.sum()
    assert -1e-4 < missing < 5e-3
    # The directions are those of the problem restricted to what was found.
    W = model.components_.T.astype(np.float64)
    if model.scale:
        W /= np.sqrt(model.eigenvalues_)
    Xc = X.toarray().astype(np.float64)
    Xc -= Xc.mean(axis=0)
    np.testing.assert_allclose(W.T @ (Xc.T @ Xc) @ W + alpha * W.T @ W, np.eye(K), atol=2e-2)


def test_directions_lost_to_rounding_are_found_by_the_slower_solver(data, large, monkeypatch):
    monkeypatch.setattr(regression, "_TURNED", -1.0)
    X, Y = data
    model = OPLS(alpha=0.1, solver="krylov").fit(X, Y)
    assert "still to come" not in model.status_
    exact = OPLS(alpha=0.1, solver="exact").fit(X, Y)
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-6)
