"""Threads over blocks of work: their order, and how many there may be."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
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
def eight_cores(monkeypatch):
    """Eight cores, and BLAS whose limit is a number that can be looked at."""
    blas = SimpleNamespace(num_threads=8)

    class Limit:
        def __init__(self, **settings):
            self.before, blas.num_threads = blas.num_threads, settings["limits"]

        def restore_original_limits(self):
            blas.num_threads = self.before

    controller = SimpleNamespace(lib_controllers=(blas,), limit=Limit)
    monkeypatch.setattr(threads_module, "_controller", lambda: controller)
    monkeypatch.setattr(
        threads_module.os, "sched_getaffinity", lambda _: set(range(8)), raising=False
    )
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return blas


def test_own_threads_limit_blas_and_leave_all_threads_to_products(eight_cores):
    with threads_module.own_threads():
        assert (eight_cores.num_threads, threads_module.n_threads()) == (1, 8)
        with threads_module.single_thread():
            assert (eight_cores.num_threads, threads_module.n_threads()) == (1, 1)
        assert (eight_cores.num_threads, threads_module.n_threads()) == (1, 8)
        # A task of a product does not start threads itself.
        assert threads_module.map_threads(lambda _: threads_module.n_threads(), range(3)) == [1] * 3
    assert (eight_cores.num_threads, threads_module.n_threads()) == (8, 8)


def test_own_threads_inside_a_single_thread_are_one(eight_cores):
    with threads_module.single_thread(), threads_module.own_threads():
        assert threads_module.n_threads() == 1


def test_threads_that_limit_blas_at_once_restore_what_it_was(eight_cores):
    both_in, first_out = Barrier(2, timeout=60), Barrier(2, timeout=60)

    def first():
        with threads_module.own_threads():
            both_in.wait()
        first_out.wait()
        return threads_module.n_threads()

    def second():
        with threads_module.own_threads():
            both_in.wait()
            first_out.wait()
            return eight_cores.num_threads, threads_module.n_threads()

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.submit(first), pool.submit(second)
    assert one.result() == 8
    assert two.result() == (1, 8)
    assert eight_cores.num_threads == 8


def test_a_limit_ends_with_an_error(eight_cores):
    with pytest.raises(ZeroDivisionError), threads_module.own_threads():
        _ = 1 // 0
    assert (eight_cores.num_threads, threads_module.n_threads()) == (8, 8)


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
