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
    monkeypatch.setattr(threads_module, "_OMP_NUM_THREADS", "")
    for limit in (1, 2) if threadpool_info() else ():
        with threadpool_limits(limit):
            allowed = [library["num_threads"] for library in threadpool_info()]
            assert threads_module.n_threads() == min(allowed) <= limit
    monkeypatch.setattr(threads_module, "_controller", lambda: SimpleNamespace(lib_controllers=()))
    for setting, count in (("3", 3), ("1", 1), ("64", 8), ("", 8), ("0", 8), ("many", 8)):
        monkeypatch.setattr(threads_module, "_OMP_NUM_THREADS", setting)
        # What is set later is for processes that start later.
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
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
    monkeypatch.setattr(threads_module, "_OMP_NUM_THREADS", "")
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


def test_blocks_are_scaled_added_and_joined_as_numpy_does(small_parts, monkeypatch):
    monkeypatch.setattr(threads_module, "n_threads", lambda: 2)
    rng = np.random.default_rng(2)
    block, other = rng.standard_normal((2, 301, 6)).astype("float32")
    column, row = rng.standard_normal((301, 1)).astype("float32"), block[0]
    same = np.testing.assert_array_equal
    same(threads_module.scaled(block, 3.0), 3.0 * block)
    same(threads_module.plus(block, other, -0.5), block - 0.5 * other)
    wide = threads_module.plus(block, other.astype(float))
    assert wide.dtype == float
    same(wide, block + other.astype(float))
    same(threads_module.scaled(np.arange(4)[:, None], 0.5), 0.5 * np.arange(4)[:, None])
    same(threads_module.subtract_outer(block, column, row), block - column * row)
    same(threads_module.scale_rows(column, block), column * block)
    same(threads_module.concatenate([block, column], axis=1), np.hstack([block, column]))
    order = rng.permutation(301)
    same(threads_module.put_rows(order, block)[order], block)
    lengths = np.array([1.0, 2.0, 0.0, 3.0, 4.0, 5.0])
    kept = [0, 1, 3, 4, 5]
    same(threads_module.divide_columns(block, lengths), block[:, kept] / lengths[kept].astype("f4"))
    same(threads_module.divide_columns(block, lengths + 1), block / (lengths + 1).astype("f4"))
    block[[7, 90, 200]] = np.array([[9.0], [-9.0], [9.0]])
    same(threads_module.largest_entries(block), np.full(6, 9.0))


def test_contiguous_copies_only_what_is_not(small_parts):
    block = np.arange(600.0).reshape(100, 6)
    assert threads_module.contiguous(block, np.float64) is block
    turned = threads_module.contiguous(block.T, np.float32)
    assert turned.flags.c_contiguous
    assert turned.dtype == np.float32
    np.testing.assert_array_equal(turned, block.T)
    assert threads_module.contiguous(block[0], np.float32).shape == (6,)


def test_random_numbers_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(threads_module, "_MANY_RANDOM", 100)
    monkeypatch.setattr(threads_module, "_RANDOM_PART", 64)
    found = []
    for count in (1, 2):
        monkeypatch.setattr(threads_module, "n_threads", lambda count=count: count)
        rng = np.random.default_rng(3)
        found.append([threads_module.normal_block(5000, 3, rng, np.float32) for _ in range(2)])
    np.testing.assert_array_equal(*found)
    first, second = found[0]
    assert first.dtype == np.float32
    # Columns, blocks of rows and draws are independent: nothing repeats.
    assert np.unique(np.concatenate([first, second])).size > 29_900
    assert abs(first.mean()) < 0.05
    assert abs(first.std() - 1) < 0.05
    few = threads_module.normal_block(3, 2, np.random.default_rng(4), np.float32)
    np.testing.assert_array_equal(few, np.random.default_rng(4).standard_normal((3, 2)))


@pytest.mark.parametrize("count", [1, 2])
def test_an_overflow_is_treated_as_the_caller_asks(count, small_parts, monkeypatch):
    monkeypatch.setattr(threads_module, "n_threads", lambda: count)
    large = np.full((200, 4), 1e300)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        threads_module.contiguous(large, np.float32)
    with np.errstate(over="ignore"):
        assert np.isinf(threads_module.contiguous(large, np.float32)).all()
