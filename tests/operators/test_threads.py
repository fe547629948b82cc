"""Threads over blocks of work: their order, and how many there may be."""

from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from labelspan.operators import array_backend as threads_module


def test_map_threads_keeps_the_order_and_raises(monkeypatch):
    monkeypatch.setattr(threads_module, "n_threads", lambda: 2)
    assert threads_module.map_threads(abs, range(-9, 0)) == list(range(9, 0, -1))
    assert threads_module.map_threads(abs, []) == []
    with pytest.raises(ZeroDivisionError):
        threads_module.map_threads(lambda item: 1 // item, [1, 0])


def test_n_threads_follows_the_environment_and_the_limits(monkeypatch):
    cpus = set(range(8))
    monkeypatch.setattr(threads_module.os, "sched_getaffinity", lambda _: cpus, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for limit in (1, 2) if threadpool_info() else ():
        with threadpool_limits(limit):
            allowed = [library["num_threads"] for library in threadpool_info()]
            assert threads_module.n_threads() == min(allowed) <= limit
    monkeypatch.setattr(threads_module, "_controller", lambda: SimpleNamespace(lib_controllers=()))
    for setting, count in (("3", 3), ("1", 1), ("64", 8), ("", 8), ("0", 8), ("many", 8)):
        monkeypatch.setenv("OMP_NUM_THREADS", setting)
        assert threads_module.n_threads() == count


@pytest.fixture
def small_parts(monkeypatch):
    """Split blocks of a few rows, as long ones are."""
    monkeypatch.setattr(threads_module, "_PART", 64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_long_blocks_are_those_of_numpy(dtype, small_parts):
    rng = np.random.default_rng(0)
    block = rng.standard_normal((301, 6)).astype(dtype)
    other = rng.standard_normal((301, 4)).astype(dtype)
    small = rng.standard_normal((6, 4))
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    exact = block.astype(float)
    close = {"rtol": tolerance, "atol": tolerance}
    np.testing.assert_allclose(threads_module.inner(block, other), exact.T @ other, **close)
    gram = threads_module.inner(block, block, dtype=np.float64)
    np.testing.assert_allclose(gram, exact.T @ exact, rtol=1e-12)
    np.testing.assert_allclose(
        threads_module.column_norms(block), np.linalg.norm(exact, axis=0), rtol=1e-12
    )
    assert threads_module.sum_of_squares(block) == pytest.approx((exact**2).sum(), rel=1e-12)
    product = threads_module.times(block, small)
    assert product.dtype == block.dtype
    np.testing.assert_allclose(product, exact @ small, **close)
    threads_module.add_product(other, block, small)
    np.testing.assert_allclose(other - product, other - exact @ small, **close)
    total = threads_module.add_all([product.copy(), product, product])
    np.testing.assert_allclose(total, 3 * product, **close)


def test_blocks_without_rows_or_columns_have_products(small_parts):
    empty = np.empty((0, 3))
    np.testing.assert_array_equal(threads_module.inner(empty, empty), np.zeros((3, 3)))
    np.testing.assert_array_equal(threads_module.column_norms(empty), np.zeros(3))
    assert threads_module.times(empty, np.ones((3, 2))).shape == (0, 2)
    assert threads_module.inner(np.ones((5, 0)), np.ones((5, 2))).shape == (0, 2)


def test_the_number_of_threads_changes_no_bit_of_a_product(small_parts):
    block = np.random.default_rng(1).standard_normal((500, 8)).astype("float32")
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            gram = threads_module.inner(block, block)
            found.append((gram, threads_module.times(block, gram)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
