"""Products of sparse data: whose loops, in which order of columns, on how many threads."""

import numpy as np
import pytest
from _support.support import assert_equals_dense
from scipy import sparse
from threadpoolctl import threadpool_limits

from labelspan import CCA, MLSI
from labelspan.metrics import principal_angles
from labelspan.operators import as_operator
from labelspan.operators import sparse as sparse_module


def sparse_data(rows, columns, density=0.2, seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    # Columns of very different weight, the heavy ones in the middle.
    keep = rng.random((rows, columns)) < density * np.hanning(columns + 2)[1:-1]
    return sparse.csr_array((rng.standard_normal((rows, columns)) * keep).astype(dtype))


@pytest.mark.parametrize("loops", ["scipy", "numba"])
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("float32", (300, 20)), ("float64", (1, 7)), ("float64", (9, 1)), ("float32", (30, 60))],
)
def test_products_are_dense_ones_and_threads_change_no_bit(dtype, shape, loops, monkeypatch):
    if loops == "numba":
        pytest.importorskip("numba", reason="the extra fast is not installed")
        monkeypatch.setattr(sparse_module, "_WORTH_COMPILING", 0)
    monkeypatch.setattr(sparse_module, "_WORTH_ARRANGING", 0)
    for name in ("_WORTH_A_THREAD", "_ENTRIES_OF_A_COLUMN"):
        monkeypatch.setattr(sparse_module, name, 1)
    X = sparse_data(*shape, density=0.5, dtype=dtype)
    dense = X.toarray().astype(float)
    block = np.random.default_rng(6).standard_normal((shape[0], 5))
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            operator = as_operator(X)
            assert_equals_dense(operator, dense, 1e-5 if dtype == "float32" else 1e-13)
            arranged, order = operator.arranged()
            assert operator.arranged()[0] is arranged
            order = np.arange(shape[1]) if order is None else order
            again = as_operator(X)
            again.arranged()
            crosses = [operator.cross(block), again.cross(block)]
            crosses.append(arranged.cross(block)[np.argsort(order)])
            for cross in crosses:
                np.testing.assert_allclose(cross, dense.T @ block, rtol=1e-12, atol=1e-12)
            means = arranged.column_means()[np.argsort(order)]
            np.testing.assert_allclose(means, dense.mean(axis=0), rtol=1e-12, atol=1e-14)
            found.append([operator.rmatmat(block), operator.column_means(), *crosses])
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
    assert (operator._transposed is None) == (loops == "scipy")
    if operator._transposed is not None:
        assert operator._transposed.has_sorted_indices
        np.testing.assert_array_equal(operator._transposed.toarray(), X.T.toarray())


@pytest.mark.parametrize(
    "model", [MLSI(6, solver="krylov", tol=1e-12), CCA(3, alpha=1.0, solver="krylov", tol=1e-12)]
)
def test_the_order_of_the_columns_does_not_change_the_result(model, monkeypatch):
    X = sparse_data(200, 90, density=0.3)
    Y = (np.random.default_rng(4).random((200, 4)) < 0.3).astype(int)
    plain = model.fit(X, Y).components_
    monkeypatch.setattr(sparse_module, "_WORTH_ARRANGING", 0)
    arranged = model.fit(X, Y).components_
    assert not np.array_equal(plain, arranged)  # other roundings: it was another way
    assert principal_angles(plain.T, arranged.T).max() < 1e-5


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 1e-4), ("float64", 1e-11)])
@pytest.mark.parametrize("chunk", [64, 1 << 22])
def test_gram_matrices_of_frequent_and_rare_columns_are_dense_ones(dtype, atol, chunk, monkeypatch):
    for name in ("_CHUNK", "_GRAM_BLOCK"):
        monkeypatch.setattr(sparse_module, name, chunk)
    X = sparse_data(300, 40, density=0.3, dtype=dtype)
    counts = np.diff(X.tocsc().indptr)
    assert (counts < 15).any()
    assert (counts >= 15).any()
    operator, dense = as_operator(X), X.toarray().astype(float)
    for found, expected in ((operator, dense), (operator.centered()[0], dense - dense.mean(0))):
        np.testing.assert_allclose(found.gram(), expected.T @ expected, atol=atol)
        np.testing.assert_allclose(found.cogram(), expected @ expected.T, atol=atol)
