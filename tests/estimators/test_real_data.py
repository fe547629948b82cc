"""Promises held on public data sets; skipped where LABELSPAN_DATA does not name them."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.cross_decomposition import CCA as SklearnCCA
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from labelspan import CCA, HSL, LSI, MLSI, datasets

FOLDER = Path(os.environ.get("LABELSPAN_DATA", ""))
pytestmark = pytest.mark.skipif(
    not (FOLDER / "rcv1.npz").is_file(),
    reason="set LABELSPAN_DATA to the folder that holds rcv1.npz, yeast.npz and the others",
)


def load(name):
    data = datasets.load(name, FOLDER, download=False)
    return data.X, data.Y


def energy(X, components):
    Q = np.linalg.qr(components.T.astype(np.float64))[0]
    return float(((X @ Q.astype(X.dtype)) ** 2).sum())


@pytest.mark.parametrize("name", ["yeast", "emotions"])
def test_cca_has_scikit_learns_correlations(name):
    X, Y = (part.astype(float) for part in load(name))
    ours = CCA(3, alpha=0.0).fit(X, Y)
    reference = SklearnCCA(3, max_iter=20_000, tol=1e-9).fit(X, Y)
    a, b = reference.transform(X, Y)
    expected = [np.corrcoef(a[:, j], b[:, j])[0, 1] for j in range(3)]
    np.testing.assert_allclose(ours.correlations_, expected, atol=1e-3)
    # Where the two differ, ours is larger: the correlations are maxima.
    assert ours.correlations_.sum() >= sum(expected) - 1e-6


def test_lsi_keeps_the_energy_it_promises():
    X = load("rcv1")[0][:8000]
    exact = TruncatedSVD(100, algorithm="arpack", random_state=0).fit(X)
    ours = LSI(100).fit(X)
    assert ours.solver_ == "krylov"
    assert energy(X, ours.components_) >= 0.998 * energy(X, exact.components_)


def test_mlsi_is_within_half_a_percent_of_its_optimum():
    X, Y = load("rcv1")
    X, Y = X[:2500], Y[:2500]
    Y = Y[:, np.asarray(Y.sum(axis=0)).ravel() > 0].astype(float)
    fast = MLSI(50, alpha=1.0).fit(X, Y)
    end = MLSI(50, solver="exact", alpha=1.0).fit(X, Y)
    assert fast.solver_ == "krylov"
    # Ridge regression from the products of the rows: Y less alpha (X X' + alpha I)^-1 Y.
    products = (X @ X.T).toarray().astype(np.float64)
    products[np.diag_indices_from(products)] += 1.0
    Y = Y.toarray()
    fitted = Y - linalg.solve(products, Y, assume_a="pos", overwrite_a=True)

    def objective(model):
        V = np.linalg.qr(model.transform(X).astype(np.float64))[0]
        kept = ((X.T @ V) ** 2).sum() / X.multiply(X).sum()
        return 0.5 * kept + 0.5 * ((fitted.T @ V) ** 2).sum() / Y.sum()

    assert objective(fast) >= 0.995 * objective(end)


@pytest.mark.parametrize("method", [CCA(alpha=1.0), HSL(laplacian="star", alpha=1.0)])
def test_two_stage_on_wide_sparse_data_stays_thin(method):
    X, Y = load("yahoo_arts")
    X = sparse.csr_array(TfidfTransformer().fit_transform(X.astype(np.float64)))
    tracemalloc.start()
    try:
        method.fit(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    data = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    # A few random columns next to the labels estimate leverages.
    blocks = 8 * sum(X.shape) * (Y.shape[1] + 4 + method.n_components_)
    assert method.solver_ == "krylov"
    assert "conjugate gradients" in method.status_
    assert peak < 3 * (data + blocks)
    # An n x n or d x d array would be far beyond that.
    assert 8 * min(X.shape) ** 2 > 4 * peak
