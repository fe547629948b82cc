"""All classifiers: the checks of scikit-learn, docstrings, and shared behaviour."""

import numpy as np
import pytest
from _support.graphs import known, weights
from _support.support import classes, features
from scipy import linalg, sparse
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelspan.errors import (
    LabelspanWarning,
    NotConverged,
)
from labelspan.graph import neighbor_graph
from labelspan.papers.wang2010.comparators import (
    MCGF,
    MLGF,
    MLLS,
    SMSE,
    HarmonicFunction,
    KMeansLaplacian,
    LocalGlobalConsistency,
    SpectralGraphTransducer,
)
from labelspan.papers.wang2010.face_methods import FacePCA

SOLVING = [LocalGlobalConsistency, HarmonicFunction, KMeansLaplacian, MLGF, SMSE, MCGF]
GRAPHS = [*SOLVING, SpectralGraphTransducer]


@pytest.mark.filterwarnings("ignore::labelspan.errors.LabelspanWarning")
@parametrize_with_checks([*(kind() for kind in GRAPHS), MLLS()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


X0 = np.zeros((30, 1))


# --- manners that all share -----------------------------------------------------------


@pytest.mark.parametrize("kind", GRAPHS, ids=lambda kind: kind.__name__)
def test_clusters_are_found_from_one_label_each(kind):
    X, truth = make_blobs([15, 25], centers=[[0.0] * 3, [4.0] * 3], random_state=1)
    y = np.full(40, None, dtype=object)
    first, second = np.flatnonzero(truth == 0)[0], np.flatnonzero(truth == 1)[0]
    y[first], y[second] = "left", "right"
    # From a label each the transducer expects halves, and insists on them as c grows.
    options = {"c": 10.0} if kind is SpectralGraphTransducer else {}
    model = kind(n_neighbors=15, **options).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, np.array(["left", "right"])[truth])
    np.testing.assert_array_equal(model.classes_, ["left", "right"])
    np.testing.assert_array_equal(model.predict(X + 0.01), model.transduction_)


@pytest.mark.parametrize("kind", GRAPHS, ids=lambda kind: kind.__name__)
def test_sparse_features_and_graphs_give_what_dense_ones_give(kind):
    X = features("tall", 0)
    y, _ = known(classes(60, 0), 0.4, 0)
    dense = kind().fit(X, y)
    found = kind().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(found.scores_, dense.scores_, atol=1e-6)
    np.testing.assert_allclose(
        found.label_scores(sparse.csr_array(X[:9])), dense.label_scores(X[:9]), atol=1e-6
    )
    given = kind().fit(X, y, graph=sparse.csr_array(neighbor_graph(X, 10).toarray()))
    np.testing.assert_allclose(given.scores_, dense.scores_, atol=1e-6)


@pytest.mark.parametrize("kind", [LocalGlobalConsistency, HarmonicFunction, MLGF, SMSE])
def test_rows_that_no_label_reaches_get_the_most_frequent_class(kind):
    W = linalg.block_diag(weights(20, 0), weights(9, 1), np.zeros((1, 1)))
    y = np.full(30, -1)
    y[:5] = [2, 0, 0, 1, 0]
    with pytest.warns(LabelspanWarning, match=r"no label reaches 10 of the 30 rows.*neighbours"):
        model = kind().fit(X0, y, graph=W)
    np.testing.assert_array_equal(model.transduction_[20:], 0)
    single = kind().fit(X0[:20], y[:20], graph=W[:20, :20])
    np.testing.assert_allclose(model.scores_[:20], single.scores_, atol=1e-6)


@pytest.mark.parametrize(
    ("affinity", "gamma"), [("rbf", None), ("nearest_neighbors", None), ("rbf", 0.07)]
)
def test_new_rows_get_the_weighted_mean_of_their_neighbours(affinity, gamma):
    X = features("tall", 0)
    y, _ = known(classes(60, 0), 0.4, 0)
    model = HarmonicFunction(affinity=affinity, gamma=gamma, n_neighbors=6).fit(X, y)
    new = X[:7] + 0.3
    squares = ((new[:, None] - X[None]) ** 2).sum(axis=2)
    own = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    if gamma is None and affinity == "rbf":
        gamma = 0.5 / np.median(own[np.triu_indices(60, 1)])
    elif gamma is None:
        gamma = 0.5 / np.median(np.sort(own, axis=1)[:, 1:7])
    near = np.exp(-gamma * squares)
    if affinity == "nearest_neighbors":
        near[squares > np.sort(squares, axis=1)[:, 5:6]] = 0.0
    expected = near @ model.scores_ / near.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_scores(new), expected, atol=1e-10)
    np.testing.assert_array_equal(model.predict(new), expected.argmax(axis=1))


@pytest.mark.parametrize("kind", SOLVING, ids=lambda kind: kind.__name__)
def test_an_iteration_that_stops_early_says_so_once(kind):
    X = np.random.default_rng(0).standard_normal((30, 4))
    W = np.diag(np.ones(29), 1) + np.diag(np.ones(29), -1)
    y = np.r_[0, np.full(28, -1), 1]
    Y = np.where(y[:, None] == -1, -1, np.array([[1, 1, 0], [0, 1, 1]])[y])
    with pytest.warns(NotConverged, match=f"{kind.__name__}: .*raise max_iter or tol") as caught:
        kind(max_iter=2, tol=1e-12).fit(X, Y, graph=W)
    assert len(caught) == 1


# --- faces ------------------------------------------------------------------------------


def faces(seed=0):
    """Three people with five images each: two directions tell them apart, the rest is noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 5)
    X = 0.01 * rng.standard_normal((15, 8))
    X[:, :2] += np.array([[0, 0], [5, 0], [0, 4]])[y]
    X[:, 2:] += 2.0 * rng.standard_normal((15, 1)) * (np.arange(6) == 0)
    return X, y


def test_a_search_keeps_what_classifies_and_no_more():
    X, y = faces()
    kept = FacePCA("search").fit(X, y).n_components_
    right = []
    for count in range(1, 9):
        found = 0
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            pca = PCA(count).fit(X[train])
            near = KNeighborsClassifier(1).fit(pca.transform(X[train]), y[train])
            found += (near.predict(pca.transform(X[test])) == y[test]).sum()
        right.append(found)
    assert kept == int(np.argmax(right)) + 1
    assert 1 < kept < 8
