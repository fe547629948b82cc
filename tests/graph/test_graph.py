"""Graphs over rows: what they hold, and their Laplacians."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances

from labelspan.errors import InvalidInput, InvalidParameter, LabelspanWarning
from labelspan.graph import Laplacian, gaussian_graph, neighbor_graph
from labelspan.operators import dottest
from labelspan.operators.row_graph import read_graph


def rows(seed, count=40, columns=5):
    return np.random.default_rng(seed).standard_normal((count, columns))


def dense_neighbors(X, k, near):
    """Make the same graph as a dense 0/1 matrix, symmetric by union."""
    order = np.argsort(near + np.diag(np.full(len(X), np.inf)), axis=1)[:, :k]
    W = np.zeros((len(X), len(X)))
    np.put_along_axis(W, order, 1.0, axis=1)
    return np.maximum(W, W.T)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_weights_of_neighbours(kind):
    X = rows(0)
    squares = euclidean_distances(X, squared=True)
    links = dense_neighbors(X, 4, squares)
    binary = neighbor_graph(kind(X), 4, weight="binary")
    np.testing.assert_array_equal(binary.toarray(), links)
    heat = neighbor_graph(kind(X), 4, gamma=0.3)
    np.testing.assert_allclose(heat.toarray(), links * np.exp(-0.3 * squares), atol=1e-12)
    cosines = cosine_similarity(X)
    cosine = neighbor_graph(kind(X), 4, weight="cosine")
    reference = dense_neighbors(X, 4, -cosines) * np.maximum(cosines, 0)
    np.testing.assert_allclose(cosine.toarray(), reference, atol=1e-12)


def test_median_width():
    X = rows(3)
    squares = euclidean_distances(X, squared=True)
    directed = np.zeros_like(squares)
    np.put_along_axis(directed, np.argsort(squares, axis=1)[:, 1:5], 1.0, axis=1)
    width = 0.5 / np.median(squares[directed > 0])
    found = neighbor_graph(X, 4).toarray()
    np.testing.assert_allclose(
        found, np.maximum(directed, directed.T) * np.exp(-width * squares), atol=1e-12
    )
    full = gaussian_graph(X).toarray()
    width = 0.5 / np.median(squares[np.triu_indices(40, 1)])
    np.testing.assert_allclose(full, np.exp(-width * squares) - np.eye(40), atol=1e-12)
    np.testing.assert_allclose(gaussian_graph(X, 2.0).toarray()[0, 1], np.exp(-2 * squares[0, 1]))


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("make", [neighbor_graph, gaussian_graph], ids=["neighbours", "full"])
def test_laplacians(make, normalized):
    graph = make(rows(2))
    L = Laplacian(graph, normalized=normalized)
    expected = csgraph.laplacian(graph.toarray(), normed=normalized)
    np.testing.assert_allclose(L.toarray(), expected, atol=1e-12)
    assert dottest(L) < 1e-12
    assert np.linalg.eigvalsh(L.toarray())[0] > -1e-12


def test_read_graph():
    rng = np.random.default_rng(0)
    W = rng.random((8, 8))
    W = W + W.T
    before = W.copy()
    for kind in (np.asarray, sparse.csr_array, sparse.coo_matrix):
        read = read_graph(kind(W), 8)
        np.testing.assert_allclose(read.toarray(), W - np.diag(np.diag(W)))
        assert read_graph(read, 8) is read
    np.testing.assert_array_equal(W, before)
    for kind in (np.asarray, sparse.csr_array):
        with pytest.warns(LabelspanWarning, match="not symmetric"):
            read = read_graph(kind(np.triu(W, 1)), 8)
        np.testing.assert_allclose(read.toarray(), (W - np.diag(np.diag(W))) / 2)
        with pytest.raises(InvalidInput, match=r"over the 9 rows of X, but has shape \(8, 8\)"):
            read_graph(kind(W), 9)
        with pytest.raises(InvalidInput, match="finite weights of at least 0"):
            read_graph(kind(-W), 8)
        with pytest.raises(InvalidInput, match="finite weights of at least 0"):
            read_graph(kind(np.where(W > 1.5, np.nan, W)), 8)


def test_a_row_without_neighbours_has_no_normalised_laplacian():
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = 1.0
    graph = read_graph(W, 4)
    assert Laplacian(graph).toarray()[2].tolist() == [0, 0, 0, 0]
    with pytest.raises(InvalidInput, match=r"2 row\(s\) without a neighbour, the first is row 2"):
        Laplacian(graph, normalized=True)


def test_bad_parameters():
    X = rows(0)
    with pytest.raises(InvalidParameter, match="n_neighbors must be a whole number"):
        neighbor_graph(X, 0)
    with pytest.raises(InvalidParameter, match="weight must be one of"):
        neighbor_graph(X, weight="mean")
    with pytest.raises(InvalidInput, match=r"gamma=1\.0 has no meaning for weight='binary'"):
        neighbor_graph(X, weight="binary", gamma=1.0)
    with pytest.raises(InvalidInput, match="5001 x 5001 array, above the limit of 5000"):
        gaussian_graph(np.zeros((5001, 1)))
