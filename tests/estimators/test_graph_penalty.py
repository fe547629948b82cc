"""The graph penalty: mu X'LX in the metric, over labelled and unlabelled rows."""

import numpy as np
import pytest
from _support.support import angle, features, indicator
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

from labelspan import CCA, HSL, OPLS
from labelspan.errors import InvalidInput, InvalidParameter, LabelspanWarning
from labelspan.labels import opls_factor, read_labels
from labelspan.operators import dottest
from labelspan.operators.row_graph import incidence
from labelspan.solvers import regression


def graph_of(X, k=5):
    links = kneighbors_graph(X, k, mode="distance")
    links.data = np.exp(-(links.data**2) / 20)
    return (links + links.T) / 2


@pytest.mark.parametrize("seed", range(3))
def test_edges_give_the_laplacian(seed):
    X = features("tall", seed)
    W = graph_of(X).toarray()
    E = incidence(sparse.csr_array(W), 60, 1.7)
    L = np.diag(W.sum(axis=1)) - W
    np.testing.assert_allclose(E.gram(), 1.7 * L, atol=1e-12)
    assert dottest(E) < 1e-12
    np.testing.assert_allclose(incidence(W + np.eye(60), 60, 1.7).gram(), 1.7 * L, atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("solver", ["exact", "krylov", "iterative"])
@pytest.mark.parametrize("mu", [0.1, 2.0])
def test_eigenvalues_with_unlabelled_rows(kind, solver, mu, monkeypatch):
    X, Y = features("tall", 4), indicator(60, 4)
    hidden = Y.copy()
    hidden[25:] = -1
    W = graph_of(X)
    model = OPLS(alpha=0.3, scale=None, solver="krylov" if solver == "iterative" else solver)
    if solver == "iterative":
        monkeypatch.setattr(regression, "DIRECT_LIMIT", 0)
        model.set_params(tol=1e-10)
    model.fit(X if kind == "dense" else sparse.csr_array(X), hidden, graph=W, mu=mu)
    H = opls_factor(read_labels(Y[:25], 25, "test"))
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
    same = clone(model).fit(X, Y, graph=graph_of(X), mu=0.0)
    np.testing.assert_array_equal(same.components_, plain.components_)
    small = clone(model).fit(X, Y, graph=graph_of(X), mu=1e-9)
    assert angle(small.transform(X), plain.transform(X)) < 1e-6


def test_a_strong_graph_smooths():
    X, Y = features("tall", 6), indicator(60, 6)
    W = graph_of(X).toarray()
    L = np.diag(W.sum(axis=1)) - W

    def roughness(mu):
        Z = OPLS(2, alpha=0.1).fit(X, Y, graph=W, mu=mu).transform(X)
        return np.trace(Z.T @ L @ Z) / np.trace(Z.T @ Z)

    assert roughness(0.0) > roughness(1.0) > roughness(100.0)


def test_bad_graphs():
    X, Y = features("tall", 0), indicator(60, 0)
    with pytest.raises(InvalidInput, match=r"square matrix over the 60 rows of X.*\(59, 59\)"):
        OPLS().fit(X, Y, graph=np.ones((59, 59)), mu=1.0)
    with pytest.raises(InvalidInput, match="finite weights of at least 0"):
        OPLS().fit(X, Y, graph=-np.ones((60, 60)), mu=1.0)
    with pytest.raises(InvalidParameter, match=r"mu=1\.0 needs a graph"):
        OPLS().fit(X, Y, mu=1.0)
    with pytest.raises(InvalidParameter, match="mu must be a number of at least 0, but -1"):
        OPLS().fit(X, Y, graph=np.ones((60, 60)), mu=-1)
    directed = np.triu(np.ones((60, 60)))
    with pytest.warns(LabelspanWarning, match="not symmetric; the mean"):
        OPLS().fit(X, Y, graph=directed, mu=1.0)
