"""DLE and LPP against plain transcriptions of the papers' equations."""

import numpy as np
import pytest
from _support.support import angle, classes
from scipy import sparse
from sklearn.manifold import spectral_embedding

from labelspan import DLE, LDA, LPP
from labelspan.errors import InvalidInput, InvalidLabels, InvalidParameter, LabelspanWarning
from labelspan.estimators import _graph_methods
from labelspan.graph import Laplacian, neighbor_graph
from labelspan.labels.factor import class_scatter
from labelspan.operators import as_operator

# --- the paper, line by line ----------------------------------------------------------


def scatters(X, Y):
    """Equations 12 to 15, one class and one row at a time."""
    m = sum(Y[i, k] * X[i] for i in range(len(X)) for k in range(Y.shape[1])) / Y.sum()
    S_b, S_w, S_t = (np.zeros((X.shape[1], X.shape[1])) for _ in range(3))
    for k in range(Y.shape[1]):
        n_k = Y[:, k].sum()
        m_k = Y[:, k] @ X / n_k
        S_b += n_k * np.outer(m_k - m, m_k - m)
        for i in range(len(X)):
            S_w += Y[i, k] * np.outer(X[i] - m_k, X[i] - m_k)
            S_t += Y[i, k] * np.outer(X[i] - m, X[i] - m)
    return S_b, S_w, S_t


def inverse_root(A):
    """Equations 10 and 11."""
    values, V = np.linalg.eigh(A)
    keep = values > 1e-10 * values[-1]
    return V[:, keep] @ np.diag(values[keep] ** -0.5) @ V[:, keep].T


def transcribed(X, Y, labelled, W, count):
    """Equation 2: eigenvalues, U, S_w^-1/2 A^-1/2 U, and A^-1/2 U."""
    S_b, S_w, _ = scatters(X[labelled], Y[labelled])
    A = X.T @ (np.diag(W.sum(axis=1)) - W) @ X
    A_root, S_root = inverse_root(A), inverse_root(S_w)
    values, U = np.linalg.eigh(A_root @ S_root @ S_b @ S_root @ A_root)
    U = U[:, ::-1][:, :count]
    return values[::-1][:count], U, S_root @ A_root @ U, A_root @ U


def gaussian(X, gamma):
    W = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return W - np.diag(np.diag(W))


SHAPES = {"d < n": (45, 8), "d > n": (24, 60)}


@pytest.mark.parametrize(
    ("shape", "seed", "kind", "projection"),
    [
        ("d < n", 0, np.asarray, "printed"),
        ("d > n", 1, sparse.csr_array, "printed"),
        ("d < n", 1, sparse.csr_array, "whitened"),
        ("d > n", 0, np.asarray, "whitened"),
        ("d > n", 0, np.asarray, "smooth"),
    ],
)
def test_single_label_is_the_paper(shape, seed, kind, projection):
    n, d = SHAPES[shape]
    X = np.random.default_rng(seed).standard_normal((n, d)) + 3
    y = classes(n, seed)
    labelled = np.arange(n) % 2 == 0
    labelled[:8] = True
    W = gaussian(X, 0.01)
    values, U, whitened, smooth = transcribed(X, np.eye(4)[y], labelled, W, 3)
    model = DLE(alpha=0, affinity="rbf", gamma=0.01, projection=projection)
    model.fit(kind(X), np.where(labelled, y, -1))
    assert model.n_components_ == 3
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    expected = {"printed": U, "whitened": whitened, "smooth": smooth}[projection]
    assert angle(model.components_.T, expected) < 1e-8
    # Column by column too, because the distances of the paper are those of this basis.
    for one, two in zip(model.components_, expected.T, strict=True):
        np.testing.assert_allclose(np.abs(one @ two), two @ two, rtol=1e-8)
    np.testing.assert_allclose(model.transform(X), (X - X.mean(axis=0)) @ model.components_.T)


# --- limits ---------------------------------------------------------------------------


def test_with_a_neutral_graph_it_is_lda():
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.standard_normal((50, 6)) - 0.3)[0]
    X = np.linalg.qr(X - X.mean(axis=0))[0]
    y = classes(50, 0)
    complete = np.ones((50, 50)) - np.eye(50)
    model = DLE(alpha=0, projection="whitened").fit(X, y, graph=complete)
    lda = LDA(alpha=0.0).fit(X, y)
    assert angle(model.transform(X), lda.transform(X)) < 1e-8


@pytest.mark.parametrize("decades", [0, 2, 3])
def test_with_a_graph_within_classes_it_is_lda_in_any_units(decades):
    """Directions of columns in small units were left out as rounding, with a warning."""
    X = np.random.default_rng(0).standard_normal((40, 6)) * np.logspace(-decades, decades, 6)
    y = np.arange(40) % 4
    model = DLE(alpha=0).fit(X, y, graph=1.0 * np.equal.outer(y, y))
    lda = LDA(alpha=0.0).fit(X, y)
    assert angle(model.transform(X), lda.transform(X)) < 1e-8
    assert model.score(X, y) == lda.score(X, y)


@pytest.mark.parametrize("projection", ["printed", "smooth", "whitened"])
def test_alpha_auto_adds_the_mean_eigenvalue_to_both_sides(projection):
    X, y = np.random.default_rng(6).standard_normal((40, 5)) * [1, 2, 3, 4, 5], classes(40, 2)
    found = DLE(projection=projection).fit(X, np.where(np.arange(40) < 30, y, -1))
    W = found.graph_.toarray()
    A = X.T @ (np.diag(W.sum(axis=1)) - W) @ X
    scatter = class_scatter(as_operator(X[:30] - X.mean(axis=0)), np.eye(4)[y[:30]])
    smooth = inverse_root(A + np.trace(A) / 5 * np.eye(5))
    tight = inverse_root(scatter.within + np.trace(scatter.within) / 5 * np.eye(5))
    U = np.linalg.svd(smooth @ tight @ scatter.between)[0][:, :3]
    maps = {"printed": U, "smooth": smooth @ U, "whitened": tight @ smooth @ U}
    assert angle(found.components_.T, maps[projection]) < 1e-6
    assert found.alpha_ == pytest.approx(np.trace(scatter.within) / 5)
    # In other units it is the same space.
    again = DLE(projection=projection).fit(X * 1e3, np.where(np.arange(40) < 30, y, -1))
    assert angle(again.components_.T, found.components_.T) < 1e-6


# --- refusals -------------------------------------------------------------------------


def test_refusals(monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((20, 3)), classes(20, 0)
    with pytest.raises(InvalidInput, match="DLE: affinity='precomputed' needs a graph"):
        DLE(affinity="precomputed").fit(X, y)
    with pytest.raises(InvalidParameter, match="projection must be"):
        DLE(projection="u").fit(X, y)
    with pytest.warns(LabelspanWarning, match="n_components=4 exceeds the 3"):
        DLE(4).fit(X, y)
    with pytest.raises(InvalidLabels, match="y has one class, 5"):
        DLE().fit(X, np.where(y == 0, 5, -1))
    with pytest.raises(InvalidLabels, match="y has one label"):
        DLE().fit(X, np.c_[np.arange(20) % 2, np.zeros(20)])
    single = np.full(20, -1)
    single[:4] = np.arange(4)
    with pytest.raises(InvalidInput, match="no class has two different labelled rows"):
        DLE().fit(X, single)
    with pytest.raises(InvalidLabels, match="y has continuous targets"):
        DLE().fit(X, np.linspace(0, 1, 20))
    monkeypatch.setattr(_graph_methods, "DIRECT_LIMIT", 2)
    with pytest.raises(InvalidInput, match=r"first, for example make_pipeline\(LSI\(500\), DLE"):
        DLE().fit(X, y)
    monkeypatch.setattr(_graph_methods, "DIRECT_LIMIT", 4096)
    with pytest.raises(InvalidInput, match="all rows of X are equal"):
        LPP().fit(np.ones((3, 9)), graph=np.ones((3, 3)))


# --- LPP ------------------------------------------------------------------------------


def test_lpp_with_enough_features_is_the_laplacian_eigenmap():
    X = np.random.default_rng(1).standard_normal((30, 50))
    graph = neighbor_graph(X[:, :3], 6)
    model = LPP(5, center=False).fit(X, graph=graph)
    Z = model.transform(X)[:, 1:]
    maps = spectral_embedding(sparse.csr_array(graph.toarray()), n_components=4, random_state=0)
    assert model.eigenvalues_[0] == pytest.approx(0, abs=1e-10)
    assert angle(Z, maps) < 1e-6
    values = np.linalg.eigvalsh(Laplacian(graph, normalized=True).toarray())
    np.testing.assert_allclose(model.eigenvalues_, values[:5], atol=1e-8)


def test_lpp_by_labels_is_lda_for_classes_of_one_size():
    X, y = np.random.default_rng(2).standard_normal((40, 6)), np.arange(40) % 4
    assert (
        angle(
            LPP(3).fit(X, graph=np.equal.outer(y, y)).transform(X),
            LDA(alpha=0.0).fit_transform(X, y),
        )
        < 1e-8
    )
