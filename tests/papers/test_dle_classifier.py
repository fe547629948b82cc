"""The classifier of wang2010, and its graph with the similarity of labels, by the equations."""

import numpy as np
import pytest
from _support.support import angle, classes, indicator
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelspan import DLE
from labelspan.errors import InvalidInput, InvalidLabels, InvalidParameter
from labelspan.graph import neighbor_graph
from labelspan.papers.wang2010 import DLEClassifier, label_graph, with_label_graph


@parametrize_with_checks([DLEClassifier()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- the graph --------------------------------------------------------------------------


def label_similarity(Y):
    """Equations 18 and 19."""
    k = Y.shape[1]
    C = np.array([[Y[:, a] @ Y[:, b] for a in range(k)] for b in range(k)])
    C = C / np.sqrt(np.outer(np.diag(C), np.diag(C)))
    length = np.linalg.norm(Y, axis=1)
    return (Y @ C @ Y.T) / np.outer(length, length)


def off_diagonal_sum(W):
    return W.sum() - np.trace(W)


SHAPES = {"d < n": (45, 8), "d > n": (24, 60)}


def gaussian(X, gamma):
    W = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return W - np.diag(np.diag(W))


@pytest.mark.parametrize(
    ("shape", "seed", "weight"),
    [("d < n", 0, "auto"), ("d > n", 1, "auto"), ("d > n", 0, 0.7)],
)
def test_multi_label_is_the_paper(shape, seed, weight):
    n, d = SHAPES[shape]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = indicator(n, seed)
    Y[Y.sum(axis=1) == 0, 0] = 1
    labelled = rng.random(n) < 0.7
    labelled[:4] = True
    nearest = KNeighborsClassifier(1).fit(X[labelled], Y[labelled])
    filled = np.where(labelled[:, None], Y, nearest.predict(X))
    W_X, W_L = gaussian(X, 0.02), label_similarity(filled)
    beta = off_diagonal_sum(W_X) / off_diagonal_sum(W_L)
    W = W_X + (beta if weight == "auto" else 0.7) * W_L
    hidden = np.where(labelled[:, None], Y, -1)
    model = DLEClassifier(alpha=0, affinity="rbf", gamma=0.02, label_graph_weight=weight)
    space = model.fit(X, hidden).embedding_
    plain = DLE(alpha=0).fit(X, hidden, graph=W)
    np.testing.assert_allclose(space.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
    assert angle(space.components_.T, plain.components_.T) < 1e-8
    if weight == "auto":
        assert space.graph_.weights == pytest.approx((1, beta))


def test_graphs_that_cannot_be_added():
    X, Y = np.random.default_rng(0).standard_normal((30, 3)), indicator(30, 1)
    graph = neighbor_graph(X, 3)
    assert with_label_graph(graph, X, np.arange(30) % 3) is graph
    with pytest.raises(InvalidInput, match="no two rows have similar labels"):
        with_label_graph(graph, X, np.eye(30))
    with pytest.raises(InvalidParameter, match="weight must be"):
        with_label_graph(graph, X, Y, -1.0)
    with pytest.raises(InvalidLabels, match="0/1 indicator"):
        label_graph(np.array([[0, -1], [1, 0]]))


# --- the classifier -------------------------------------------------------------------


@pytest.mark.parametrize("projection", ["printed", "whitened", "smooth"])
def test_classifier_is_one_nearest_neighbour_in_the_space(projection):
    rng = np.random.default_rng(5)
    y = classes(80, 5)
    X = rng.standard_normal((80, 6)) + 2 * np.eye(4, 6)[y]
    known = np.arange(80) % 3 > 0
    model = DLEClassifier(projection=projection)
    found = model.fit_predict(X, np.where(known, y, -1))
    np.testing.assert_array_equal(found[known], y[known])
    space = DLE(projection=projection).fit(X, np.where(known, y, -1))
    nearest = KNeighborsClassifier(1).fit(space.transform(X[known]), y[known])
    np.testing.assert_array_equal(found[~known], nearest.predict(space.transform(X[~known])))
    np.testing.assert_array_equal(model.predict(X[~known]), found[~known])
    assert (found == y)[~known].mean() > 0.6


def test_classifier_takes_one_class_at_a_time():
    rng = np.random.default_rng(6)
    X, Y = rng.standard_normal((60, 5)), indicator(60, 6)
    hidden = Y.copy()
    hidden[40:] = -1
    hidden[3, 2] = -1
    model = DLEClassifier()
    found = model.fit_predict(X, hidden)
    assert found.shape == Y.shape
    np.testing.assert_array_equal(found[hidden >= 0], Y[hidden >= 0])
    Z = model.embedding_.transform(X)
    for label in range(4):
        rows = hidden[:, label] >= 0
        nearest = KNeighborsClassifier(1).fit(Z[rows], Y[rows, label])
        np.testing.assert_array_equal(found[~rows, label], nearest.predict(Z[~rows]))
    whole = DLEClassifier().fit(X, Y)
    np.testing.assert_array_equal(whole.predict(X), Y)
    np.testing.assert_array_equal(clone(whole).fit_predict(X, Y), Y)
    hidden[:, 1] = -1
    with pytest.raises(InvalidInput, match="label 1 is unknown in all rows of y"):
        DLEClassifier().fit_predict(X, hidden)
