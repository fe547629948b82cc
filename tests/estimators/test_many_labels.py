"""Labels that stay sparse: the same answers as dense ones, without dense arrays of labels."""

import numpy as np
import pytest
from _support.support import angle
from scipy import sparse
from sklearn.base import clone

from labelspan import CCA, DLE, HSL, LDA, MLSI, OPLS, PLSDA, PLSSVD
from labelspan.errors import NotEnoughMemory
from labelspan.labels import (
    Factor,
    reading,
)
from labelspan.operators import as_operator, memory
from labelspan.solvers import L2, Krylov, Problem


def problem(seed=0, rows=300, columns=60, labels=40):
    """Sparse features and labels with common causes."""
    rng = np.random.default_rng(seed)
    topics = rng.random((rows, 6)) ** 4
    X = topics @ rng.random((6, columns)) ** 3
    X = np.where(rng.random(X.shape) < 0.3, X + 0.2 * rng.random(X.shape), 0.0)
    scores = topics @ rng.random((6, labels)) ** 3
    Y = (scores > np.quantile(scores, 0.93, axis=0)).astype(float)
    Y[rng.random(Y.shape) < 0.01] = 1.0
    return sparse.csr_array(X), Y


def one_label(Y):
    """Keep one label per row."""
    out = np.zeros_like(Y)
    out[np.arange(len(Y)), Y.argmax(axis=1)] = 1.0
    return out


@pytest.fixture
def sparse_labels(monkeypatch):
    monkeypatch.setattr(reading, "DENSE_ENTRIES", 0)


MODELS = [
    MLSI(8, alpha=0.5, tol=1e-7, max_iter=40),
    MLSI(8, alpha=0.5, tol=1e-7, max_iter=40, beta=0.8),
    MLSI(8, alpha=0.5, tol=1e-7, max_iter=40, label_weight=None, center=False),
    OPLS(6, alpha=0.5, tol=1e-7, max_iter=40),
    OPLS(6, alpha=0.5, tol=1e-7, max_iter=40, center=False),
    HSL(6, alpha=0.5, tol=1e-7, max_iter=40),
    HSL(6, alpha=0.5, tol=1e-7, max_iter=40, laplacian="star"),
    HSL(6, alpha=0.5, tol=1e-7, max_iter=40, laplacian="zhou"),
    CCA(6, alpha=0.5, tol=1e-7, max_iter=40),
    LDA(6, alpha=0.5, tol=1e-7, max_iter=40),
    PLSSVD(6),
    PLSSVD(6, standardize=True),
    PLSDA(6),
    PLSDA(6, standardize=True),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_sparse_labels_give_the_answer_of_dense_ones(model, sparse_labels):
    X, Y = problem()
    if isinstance(model, LDA):
        Y = one_label(Y)
    dense = clone(model).fit(X, Y)
    found = clone(model).fit(X, sparse.csr_array(Y))
    np.testing.assert_allclose(found.eigenvalues_, dense.eigenvalues_, rtol=1e-5)
    assert angle(found.transform(X), dense.transform(X)) < 1e-2
    np.testing.assert_allclose(found.label_scores(X), dense.label_scores(X), atol=1e-2)
    np.testing.assert_allclose(found.label_means_, dense.label_means_, atol=1e-12)
    assert found.label_loadings_.shape == dense.label_loadings_.shape
    if isinstance(model, CCA):
        sides = (one.transform_labels(Y) for one in (found, dense))
        assert angle(*sides) < 1e-2


@pytest.mark.parametrize("model", [MLSI(8), OPLS(6), HSL(6), PLSSVD(4)], ids=str)
def test_labels_are_never_dense(model, sparse_labels, monkeypatch):
    """Neither rows x labels nor labels x labels, nor features x labels."""
    X, Y = problem(columns=50)
    monkeypatch.setattr("labelspan.solvers.pls_components._FORMED", 0)
    labels = sparse.csr_array(Y)

    def refuse(self, *args, **kwargs):
        raise AssertionError("labels were made dense")

    monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
    monkeypatch.setattr(sparse.csr_array, "todense", refuse)
    model = clone(model)
    if "alpha" in model.get_params():
        model.set_params(alpha=0.5)
    fitted = model.fit(X, labels)
    assert fitted.n_components_ == model.n_components


def test_the_krylov_space_is_as_good_as_it_says():
    for seed in range(3):
        X, Y = problem(seed, rows=600, columns=200, labels=120)
        operators = as_operator(X).centered()[0], as_operator(Y).centered()[0]
        thin = Problem(operators[0], Factor(labels=operators[1]), 20, L2(0.1))
        exact = OPLS(20, alpha=0.1).fit(X, Y).eigenvalues_.sum()
        for tol in (1e-1, 1e-2, 1e-4):
            found = Krylov(tol=tol, max_iter=40).solve(thin)
            assert found.converged
            assert -1e-9 < 1 - found.eigenvalues.sum() / exact < tol
            W = found.weights
            image = operators[0].matmat(W)
            np.testing.assert_allclose(image.T @ image + 0.1 * W.T @ W, np.eye(20), atol=1e-6)


# --- memory ---------------------------------------------------------------------------


def test_a_fit_that_does_not_fit_says_so_first(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2**30)
    X = sparse.csr_array(sparse.eye_array(200_000, 50_000))
    Y = sparse.csr_array(sparse.eye_array(200_000, 30_000))
    message = "takes about .* GiB of memory, and 1.0 GiB are available; "
    with pytest.raises(NotEnoughMemory, match=f"DLE: y with.*{message}use MLSI, OPLS, HSL or PLS"):
        DLE().fit(X, Y)
    with pytest.raises(NotEnoughMemory, match=f"CCA: whitening 30000 labels {message}use OPLS"):
        CCA(10, alpha=1.0).fit(X, Y)
    with pytest.raises(NotEnoughMemory, match=f"OPLS: a space of 400 components.*{message}give X"):
        OPLS(400, alpha=1.0).fit(X, Y)
    with pytest.raises(NotEnoughMemory, match=f"MLSI: a space of 400.*{message}lower n_components"):
        MLSI(400, alpha=1.0).fit(X.astype(np.float32), Y)
    with pytest.raises(NotEnoughMemory, match=f"PLSDA: X'Y with.*{message}use PLSSVD"):
        PLSDA(2).fit(X, Y)
    with pytest.raises(MemoryError):
        OPLS(2, alpha=1.0, solver="krylov").fit(X, Y)
