"""Rows that are compared: duplicate entries, large means, and kernels given by the user."""

import numpy as np
import pytest
from _support.support import angle, indicator
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from labelspan import CCA, DLE, LPP, MLSI, OPLS, KernelFeatures
from labelspan.errors import InvalidInput, LabelspanWarning

SHAPES = {"tall": (60, 8), "wide": (24, 40)}


def rows_of(shape, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    # Multiples of 1/1024: a mean of 2^20 is added without rounding in float64.
    X = np.round(rng.standard_normal(SHAPES[shape]) * 1024) / 1024
    return X.astype(dtype), indicator(SHAPES[shape][0], seed)


def duplicated(X, make=sparse.csr_matrix):
    """Store each entry of an array as two halves, in CSR or CSC."""
    turned = X.T if make is sparse.csc_matrix else X
    outer, inner = turned.shape
    indices = np.repeat(np.tile(np.arange(inner), outer), 2)
    data = np.repeat(turned.ravel() / 2, 2)
    return make((data, indices, np.arange(outer + 1) * 2 * inner), shape=X.shape)


MODELS = {
    "rbf": make_pipeline(KernelFeatures("rbf", gamma=0.1), MLSI(2)),
    "cosine": make_pipeline(KernelFeatures("cosine"), MLSI(2)),
    "landmarks": make_pipeline(KernelFeatures(gamma=0.1, landmarks=20), OPLS(alpha=0.1)),
    "DLE": DLE(alpha=0.1),
    "LPP": LPP(2, alpha=0.1),
    "LPP-rbf": LPP(2, affinity="rbf", alpha=0.1),
    "linear": CCA(alpha=0.1),
}


def spectrum(model):
    """The eigenvalues of an estimator, or of the last of a pipeline."""
    return (model[-1] if hasattr(model, "steps") else model).eigenvalues_


@pytest.mark.parametrize(
    ("model", "shape", "dtype"),
    [
        (model, ["tall", "wide"][n % 2], [np.float64, np.float32][n // 2 % 2])
        for n, model in enumerate(MODELS)
    ],
)
def test_duplicate_entries_are_summed(model, shape, dtype):
    X, Y = rows_of(shape, dtype=dtype)
    dense = clone(MODELS[model]).fit(X, Y)
    close = 1e-9 if dtype == np.float64 else 1e-3
    for make in (sparse.csr_matrix, sparse.csc_matrix):
        matrix = duplicated(X, make)
        before = matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()
        found = clone(MODELS[model]).fit(matrix, Y)
        np.testing.assert_allclose(spectrum(found), spectrum(dense), rtol=close)
        expected = dense.transform(X)
        size = np.abs(expected).max()
        np.testing.assert_allclose(found.transform(matrix), expected, atol=1e3 * close * size)
        for one, two in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("model", "shape", "columns", "make"),
    [
        ("rbf", "tall", slice(None), sparse.csr_array),
        ("landmarks", "wide", slice(2, 3), np.asarray),
        ("DLE", "wide", slice(None), np.asarray),
        ("LPP", "tall", slice(2, 3), sparse.csr_array),
        ("LPP-rbf", "wide", slice(None), sparse.csr_array),
    ],
)
def test_distances_do_not_depend_on_the_mean(model, shape, columns, make):
    X, Y = rows_of(shape)
    far = X.copy()
    far[:, columns] += 2.0**30
    near = clone(MODELS[model]).fit(X, Y)
    found = clone(MODELS[model]).fit(make(far), Y)
    np.testing.assert_allclose(spectrum(found), spectrum(near), rtol=1e-5)
    assert angle(found.transform(make(far)), near.transform(X)) < 1e-3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_that_are_not_kernels(dtype):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 6))
    K = (A @ A.T).astype(dtype)
    model = KernelFeatures("precomputed").fit(K)
    skewed = K.copy()
    skewed[3, 5] += 0.1
    with pytest.raises(InvalidInput, match=r"must be symmetric, but .* \(K \+ K\.T\) / 2"):
        model.fit(skewed)
    with pytest.warns(LabelspanWarning, match=r"not positive semi-definite.* to the diagonal"):
        model.fit((K - 3 * np.eye(40)).astype(dtype))
    # Rounding is neither.
    rounded = K * (1 + 2 * np.finfo(dtype).eps * rng.standard_normal(K.shape))
    model.fit(rounded.astype(dtype))


@pytest.mark.parametrize("rank", [3, 7])
def test_the_rank_of_a_float32_kernel_is_that_of_its_digits(rank):
    A = np.random.default_rng(0).standard_normal((60, rank))
    for dtype in (np.float32, np.float64):
        K = (A.astype(dtype) @ A.astype(dtype).T).astype(dtype)
        assert KernelFeatures("precomputed").fit_transform(K).shape[1] == rank
    full = rbf_kernel(A, gamma=2.0).astype(np.float32)
    assert KernelFeatures("precomputed").fit_transform(full).shape[1] == 60
