"""Products of sparse data: whose loops, in which order of columns, on how many threads."""

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from labelspan import CCA, LSI, MLSI
from labelspan.metrics import principal_angles
from labelspan.operators import as_operator
from labelspan.operators import sparse as sparse_module


def sparse_data(rows, columns, density=0.2, seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    # Columns of very different weight, the heavy ones in the middle.
    keep = rng.random((rows, columns)) < density * np.hanning(columns + 2)[1:-1]
    return sparse.csr_array((rng.standard_normal((rows, columns)) * keep).astype(dtype))


@pytest.fixture
def always_arranged(monkeypatch):
    monkeypatch.setattr(sparse_module, "_WORTH_ARRANGING", 0)


@pytest.fixture(params=["scipy", "numba"])
def loops(request, monkeypatch):
    if request.param == "numba":
        pytest.importorskip("numba", reason="the extra fast is not installed")
        monkeypatch.setattr(sparse_module, "_WORTH_COMPILING", 0)
    return request.param


@pytest.mark.parametrize(
    ("dtype", "shape", "width"),
    [
        ("float32", (40, 15), 1),
        ("float64", (1, 7), 4),
        ("float64", (9, 1), 7),
        ("float32", (30, 60), 7),
    ],
)
def test_products_are_those_of_the_dense_array(dtype, shape, width, loops, always_arranged):
    X = sparse_data(*shape, density=0.5, dtype=dtype)
    rng = np.random.default_rng(1)
    right, left = rng.standard_normal((shape[1], width)), rng.standard_normal((shape[0], width))
    operator, dense = as_operator(X), X.toarray().astype(float)
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    for found, wanted in [
        (operator.matmat(right), dense @ right),
        (operator.rmatmat(left), dense.T @ left),
        (
            operator.rows(np.array([0, 0])).rmatmat(left[:1].repeat(2, 0)),
            2 * dense[:1].T @ left[:1],
        ),
    ]:
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize(
    "model",
    [
        LSI(6, solver="krylov"),
        MLSI(6, solver="krylov"),
        MLSI(6, solver="krylov", tol=1e-10),
        CCA(3, alpha=1.0, solver="krylov"),
    ],
    ids=["lsi", "mlsi", "mlsi-to-the-end", "cca"],
)
def test_the_order_of_the_columns_does_not_change_the_result(model, monkeypatch):
    monkeypatch.setattr("labelspan.solvers.regression.SHORT", 5)
    X = sparse_data(200, 90, density=0.3)
    Y = (np.random.default_rng(4).random((200, 4)) < 0.3).astype(int)
    model.set_params(tol=1e-12)
    plain = model.fit(X, Y).components_
    monkeypatch.setattr(sparse_module, "_WORTH_ARRANGING", 0)
    arranged = model.fit(X, Y).components_
    assert not np.array_equal(plain, arranged)  # other roundings: it was another way
    assert principal_angles(plain.T, arranged.T).max() < 1e-5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_number_of_threads_changes_no_bit(dtype, loops, monkeypatch, always_arranged):
    monkeypatch.setattr(sparse_module, "_WORTH_A_THREAD", 1)
    X = sparse_data(500, 30, dtype=dtype)
    block = np.random.default_rng(6).standard_normal((500, 5)).astype(dtype)
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            operator = as_operator(X)
            found.append(operator.rmatmat(block))
    np.testing.assert_array_equal(*found)
    assert (operator._transposed is None) == (loops == "scipy")
    if operator._transposed is not None:
        assert operator._transposed.has_sorted_indices
        np.testing.assert_array_equal(operator._transposed.toarray(), X.T.toarray())


@pytest.mark.usefixtures("loops", "always_arranged")
def test_sums_and_cross_products_in_parts_are_those_in_float64(monkeypatch):
    monkeypatch.setattr(sparse_module, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(sparse_module, "_ENTRIES_OF_A_COLUMN", 1)
    X = sparse_data(300, 20, dtype="float32")
    dense = X.toarray().astype(float)
    block = np.random.default_rng(7).standard_normal((300, 3))
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            operator = as_operator(X)
            sums, before = operator.column_means(), operator.cross(block)
            arranged, order = operator.arranged()
            assert operator.arranged()[0] is arranged
            again = as_operator(X)
            again.arranged()
            found.append(
                (sums, before, again.cross(block), arranged.cross(block)[np.argsort(order)])
            )
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(found[0][0], dense.mean(axis=0), rtol=1e-13)
    for cross in found[0][1:]:
        np.testing.assert_allclose(cross, dense.T @ block, rtol=1e-12, atol=1e-12)


def test_entries_out_of_order_in_a_later_part_are_put_in_order(monkeypatch):
    monkeypatch.setattr(sparse_module, "_WORTH_A_THREAD", 1)
    X = sparse_data(300, 20)
    dense = X.toarray()
    X.indices[-2:], X.data[-2:] = X.indices[-2:][::-1].copy(), X.data[-2:][::-1].copy()
    doubled = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    operator = as_operator(doubled)
    assert operator.csr.has_sorted_indices
    np.testing.assert_array_equal(operator.toarray(), dense)
