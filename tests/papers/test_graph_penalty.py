"""The graph penalty: mu X'LX in the metric, over labelled and unlabelled rows."""

import numpy as np
import pytest
from _support.support import angle, features, indicator
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

from labelspan import CCA, HSL, OPLS
from labelspan.errors import InvalidParameter
from labelspan.labels import opls_factor, read_labels
from labelspan.papers.sun2009 import fit_with_graph
from labelspan.solvers import ridge


def graph_of(X, k=5):
    links = kneighbors_graph(X, k, mode="distance")
    links.data = np.exp(-(links.data**2) / 20)
    return (links + links.T) / 2


@pytest.mark.parametrize(
    ("kind", "solver", "mu"),
    [("dense", "exact", 0.1), ("sparse", "krylov", 2.0), ("sparse", "iterative", 0.1)],
)
def test_eigenvalues_with_unlabelled_rows(kind, solver, mu, monkeypatch):
    X, Y = features("tall", 4), indicator(60, 4)
    hidden = Y.copy()
    hidden[25:] = -1
    W = graph_of(X)
    model = OPLS(alpha=0.3, scale=None, solver="krylov" if solver == "iterative" else solver)
    if solver == "iterative":
        monkeypatch.setattr(ridge, "DIRECT_LIMIT", 0)
        model.set_params(tol=1e-10)
    fit_with_graph(model, X if kind == "dense" else sparse.csr_array(X), hidden, W, mu)
    H = opls_factor(read_labels(Y[:25], 25, "test")).toarray()
    few = X[:25] - X[:25].mean(axis=0)
    W = W.toarray()
    L = np.diag(W.sum(axis=1)) - W
    metric = few.T @ few + 0.3 * np.eye(12) + mu * X.T @ L @ X
    values = np.linalg.eigvals(np.linalg.solve(metric, few.T @ H @ H.T @ few)).real
    np.testing.assert_allclose(model.eigenvalues_, np.sort(values)[::-1][:4], rtol=1e-8)
    C = model.components_
    np.testing.assert_allclose(C @ metric @ C.T, np.eye(4), atol=1e-8)


@pytest.mark.parametrize("model", [CCA(), OPLS(alpha=0.5), HSL(laplacian="star")], ids=str)
def test_mu_zero_is_the_plain_method(model):
    X, Y = features("tall", 5), indicator(60, 5)
    plain = clone(model).fit(X, Y)
    same = fit_with_graph(clone(model), X, Y, graph_of(X), 0.0)
    np.testing.assert_array_equal(same.components_, plain.components_)
    small = fit_with_graph(clone(model), X, Y, graph_of(X), 1e-9)
    assert angle(small.transform(X), plain.transform(X)) < 1e-6


def test_a_negative_mu_raises_an_error_and_changes_nothing():
    model = OPLS(alpha=0.5).fit(features("tall", 5), indicator(60, 5))
    before = dict(vars(model))
    with pytest.raises(InvalidParameter, match="OPLS: mu must be a number of at least 0"):
        fit_with_graph(model, features("tall", 5), indicator(60, 5), np.eye(60), -1.0)
    assert vars(model) == before
