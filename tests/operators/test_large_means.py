"""Columns with large means: centred sparse data has the digits of centred dense data."""

import numpy as np
import pytest
from _support.support import angle
from scipy import sparse

from labelspan import CCA, LDA, LSI, MLSI, OPLS, as_operator
from labelspan.operators import Operator, VStack

SHAPES = {"tall": (300, 12), "wide": (20, 50)}
# Means, and which columns have them.
MEANS = {
    "all": (1e8, slice(None)),
    "one": (1e8, slice(3, 4)),
    "small": (1e3, slice(None)),
    "times": (1.7e9, slice(0, 1)),
}


def far_rows(shape, means, seed=0, dtype=np.float64):
    """Make normal rows with large means, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    rows, columns = SHAPES[shape]
    X = rng.standard_normal((rows, columns))
    scores = X[:, :3] + 0.5 * rng.standard_normal((rows, 3))
    Y = (scores > 0).astype(float)
    Y[:3] = np.eye(3)
    level, where = MEANS[means]
    if dtype == np.float32:
        level = min(level, 3e4)
    X[:, where] += level
    return X.astype(dtype), Y


def with_gaps(X, seed=1):
    """Set one entry of each of three columns to zero, so that a sparse matrix does not store it."""
    X = X.copy()
    rng = np.random.default_rng(seed)
    X[rng.integers(X.shape[0], size=3), [0, 3, 4]] = 0.0
    return X


def duplicated(X):
    """Store each entry of an array as two halves."""
    rows, columns = X.shape
    indices = np.repeat(np.tile(np.arange(columns), rows), 2)
    parts = np.repeat(X.ravel() / 2, 2), indices, np.arange(rows + 1) * 2 * columns
    return sparse.csr_matrix(parts, shape=X.shape)


MAKE = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "duplicates": duplicated,
}


@pytest.mark.parametrize(
    ("shape", "means", "gaps", "dtype"),
    [
        ("tall", "all", True, np.float64),
        ("wide", "all", False, np.float32),
        ("wide", "one", True, np.float64),
        ("tall", "small", True, np.float32),
        ("wide", "times", False, np.float64),
    ],
)
def test_centred_products_equal_those_of_the_deviations(shape, means, gaps, dtype):
    X, _ = far_rows(shape, means, dtype=dtype)
    X = with_gaps(X) if gaps else X
    near = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    # One zero in a column of 1e8 makes the column large itself: each column has its own size.
    size = np.abs(near).max(axis=0)
    eps = np.finfo(dtype).eps
    for name, make in MAKE.items():
        operator, found = as_operator(make(X)).centered()
        assert operator.dtype == dtype
        np.testing.assert_allclose(found, X.mean(axis=0, dtype=np.float64), rtol=1e-12)
        values = operator.toarray() / size
        # The mean itself is rounded to the digits of float64.
        rounded = np.abs(found) / size * np.finfo(np.float64).eps
        slack = 100 * eps + 8 * rounded.max()
        np.testing.assert_allclose(values, near / size, atol=slack, err_msg=name)
        gram = operator.gram() / np.outer(size, size)
        expected = (near / size).T @ (near / size)
        np.testing.assert_allclose(gram, expected, atol=len(X) * slack, err_msg=name)
        block = np.random.default_rng(2).standard_normal((len(X), 2)).astype(dtype)
        for product in (operator.rmatmat(block), operator.cross(block)):
            expected = near.T @ block / size[:, None]
            np.testing.assert_allclose(
                product / size[:, None], expected, atol=len(X) * slack, err_msg=name
            )
        scaled = (np.eye(X.shape[1]) / size).astype(dtype)
        np.testing.assert_allclose(operator.matmat(scaled), near / size, atol=slack, err_msg=name)
        norm = np.square(near).sum()
        assert operator.sum_of_squares() == pytest.approx(norm, rel=100 * slack), name


def test_the_mean_of_a_constant_column_is_exact():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 3))
    X[:, 1] = 1e8 / 3
    for make in MAKE.values():
        operator, means = as_operator(make(X)).centered()
        assert means[1] == X[0, 1]
        assert not operator.toarray()[:, 1].any()


def test_compositions_keep_the_digits():
    X, _ = far_rows("tall", "all")
    near = X - X.mean(axis=0)
    one = as_operator(sparse.csr_array(X))
    index = np.arange(0, 300, 2)
    pairs = [
        (VStack([one, as_operator(X)]), np.r_[X, X]),
        (Operator.rows(one, index), X[index]),
    ]
    for operator, whole in pairs:
        centered, means = operator.centered()
        np.testing.assert_allclose(means, whole.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(centered.toarray(), whole - whole.mean(axis=0), atol=1e-6)
    again = one.centered()[0].shifted(np.ones(12))
    np.testing.assert_allclose(again.toarray(), near - 1, atol=1e-6)


MODELS = {
    "CCA": CCA(),
    "CCA-penalty": CCA(alpha=1.0),
    "OPLS": OPLS(2, alpha=1e-3),
    "LSI": LSI(3, center=True),
    "MLSI": MLSI(3, center=True),
    "LDA": LDA(),
    "MLSI-randomized": MLSI(2, center=True, solver="krylov", tol=1e-10, max_iter=200),
}


@pytest.mark.parametrize(
    ("model", "shape", "means"),
    [
        (model, list(SHAPES)[number % 2], ["all", "one", "small"][(number + step) % 3])
        for number, model in enumerate(MODELS)
        for step in [number % 2]
    ],
)
def test_sparse_fits_equal_dense_ones(model, shape, means):
    X, Y = far_rows(shape, means)
    Y = Y.argmax(axis=1) if model == "LDA" else Y
    for make in (sparse.csr_array, duplicated):
        dense = MODELS[model].__class__(**MODELS[model].get_params()).fit(X, Y)
        found = MODELS[model].__class__(**MODELS[model].get_params()).fit(make(X), Y)
        np.testing.assert_allclose(found.eigenvalues_, dense.eigenvalues_, rtol=1e-6)
        # Equal eigenvalues have no axes of their own: the spaces are compared.
        assert angle(found.transform(make(X)), dense.transform(X)) < 1e-4


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize(
    ("shape", "gaps", "dtype"),
    [("tall", False, np.float64), ("wide", True, np.float64), ("wide", False, np.float32)],
)
def test_sparse_tensors(shape, gaps, dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, Y = far_rows(shape, "all", dtype=dtype)
    X = with_gaps(X) if gaps else X
    near = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    size = np.abs(near).max(axis=0)
    csr = torch.as_tensor(X).to_sparse_csr()
    twice = torch.sparse_csr_tensor(
        torch.arange(len(X) + 1) * 2 * X.shape[1],
        torch.arange(X.shape[1]).repeat(len(X)).repeat_interleave(2),
        torch.as_tensor(X).flatten().repeat_interleave(2) / 2,
        size=X.shape,
    )
    for tensor in (csr, *(() if gaps else (twice,))):
        operator, means = as_operator(tensor).centered()
        np.testing.assert_allclose(means, X.mean(axis=0, dtype=np.float64), rtol=1e-12)
        slack = 100 * np.finfo(dtype).eps + 1e-14 * np.abs(means / size).max()
        np.testing.assert_allclose(operator.toarray() / size, near / size, atol=slack)
        gram = operator.gram() / np.outer(size, size)
        np.testing.assert_allclose(gram, (near / size).T @ (near / size), atol=len(X) * slack)
    if dtype == np.float64 and not gaps:
        found = OPLS(2, alpha=0.1).fit(twice, torch.as_tensor(Y))
        dense = OPLS(2, alpha=0.1).fit(X, Y)
        np.testing.assert_allclose(found.eigenvalues_, dense.eigenvalues_, rtol=1e-6)
