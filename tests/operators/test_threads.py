"""Threads over blocks of work: their order and number, and what must not depend on them.

Also the room for the buffers of BLAS: taken once, or refused where that can be told.
"""

import mmap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from labelspan import LSI, KernelFeatures
from labelspan.operators import array_backend, machine


def test_map_threads_keeps_the_order_and_raises(monkeypatch):
    monkeypatch.setattr(machine, "n_threads", lambda: 2)
    assert machine.map_threads(abs, range(-9, 0)) == list(range(9, 0, -1))
    assert machine.map_threads(abs, []) == []
    with pytest.raises(ZeroDivisionError):
        machine.map_threads(lambda item: 1 // item, [1, 0])
    caller, elsewhere = threading.get_ident(), Event()

    def fail_elsewhere(item):
        if threading.get_ident() != caller:
            elsewhere.set()
            raise ZeroDivisionError
        assert elsewhere.wait(60)

    with pytest.raises(ZeroDivisionError):
        machine.map_threads(fail_elsewhere, range(4))


def test_an_interrupted_call_waits_for_what_has_started(monkeypatch):
    """Nothing may still write into a block when the caller goes on."""
    monkeypatch.setattr(machine, "n_threads", lambda: 4)
    caller, others = threading.get_ident(), Event()
    started, ended = [], []

    def task(item):
        if threading.get_ident() == caller:
            assert others.wait(10)
            raise KeyboardInterrupt
        started.append(item)
        others.set()
        time.sleep(0.1)
        ended.append(item)

    with pytest.raises(KeyboardInterrupt):
        machine.map_threads(task, range(100))
    assert sorted(started) == sorted(ended)
    assert 1 <= len(started) < 99


def test_a_process_that_was_forked_has_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(machine, "n_threads", lambda: 2)
    # As it is in a child: the pool is that of another process, and its threads were left behind.
    process, left = machine.os.getpid(), machine._pool(machine.os.getpid())
    monkeypatch.setattr(left, "run", None)
    monkeypatch.setattr(machine.os, "getpid", lambda: process + 1)
    both = Barrier(2)
    assert machine.map_threads(lambda item: both.wait(10) >= 0 and item, [1, 2]) == [1, 2]


def test_n_threads_follows_the_environment_and_the_limits(monkeypatch):
    cpus = set(range(8))
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: cpus, raising=False)
    monkeypatch.setattr(machine, "_OMP_NUM_THREADS", "")
    for limit in (1, 2) if threadpool_info() else ():
        with threadpool_limits(limit):
            allowed = [library["num_threads"] for library in threadpool_info()]
            assert machine.n_threads() == min(allowed) <= limit
    monkeypatch.setattr(machine, "_controller", lambda: SimpleNamespace(lib_controllers=()))
    for setting, count in (("3", 3), ("1", 1), ("64", 8), ("", 8), ("0", 8), ("many", 8)):
        monkeypatch.setattr(machine, "_OMP_NUM_THREADS", setting)
        # What is set later is for processes that start later.
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        assert machine.n_threads() == count


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
    monkeypatch.setattr(machine, "_controller", lambda: controller)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(machine, "_OMP_NUM_THREADS", "")
    return blas


def test_threads_that_limit_blas_at_once_restore_what_it_was(eight_cores):
    both_in, first_out = Barrier(2, timeout=60), Barrier(2, timeout=60)

    def first():
        with machine.own_threads():
            both_in.wait()
        first_out.wait()
        return machine.n_threads()

    def second():
        with machine.own_threads():
            both_in.wait()
            first_out.wait()
            return eight_cores.num_threads, machine.n_threads()

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.submit(first), pool.submit(second)
    assert one.result() == 8
    assert two.result() == (1, 8)
    assert eight_cores.num_threads == 8


@pytest.mark.parametrize("unit", [1e-30, 1e-15, 1.0, 1e17])
def test_norms_of_what_is_left_in_any_unit(unit):
    """Squares of float32 numbers may be too small or too large for float32."""
    block = (unit * np.random.default_rng(5).standard_normal((200, 3))).astype("float32")
    basis = np.eye(200, 1, dtype="float32")
    expected = np.linalg.norm(block.astype(float), axis=0)
    before, after = array_backend.subtract_products(block, [basis], [block[:1].copy()])
    np.testing.assert_allclose(before, expected, rtol=1e-5)
    np.testing.assert_allclose(after, np.linalg.norm(block[1:].astype(float), axis=0), rtol=1e-5)


def test_random_numbers_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(array_backend, "_MANY_RANDOM", 100)
    monkeypatch.setattr(array_backend, "_RANDOM_PART", 64)
    found = []
    for count in (1, 2):
        monkeypatch.setattr(machine, "n_threads", lambda count=count: count)
        rng = np.random.default_rng(3)
        found.append([array_backend.random_block(5000, 3, rng, np.float32, None) for _ in range(2)])
    np.testing.assert_array_equal(*found)
    first, second = found[0]
    assert first.dtype == np.float32
    # Columns, blocks of rows and draws are independent: nothing repeats.
    assert np.unique(np.concatenate([first, second])).size > 29_900
    assert abs(first.mean()) < 0.05
    assert abs(first.std() - 1) < 0.05
    few = array_backend.random_block(3, 2, np.random.default_rng(4), np.float64, None)
    np.testing.assert_array_equal(few, np.random.default_rng(4).standard_normal((3, 2)))


@pytest.mark.parametrize("count", [1, 2])
def test_an_overflow_is_treated_as_the_caller_asks(count, monkeypatch):
    monkeypatch.setattr(machine, "_PART", 64)
    monkeypatch.setattr(machine, "n_threads", lambda: count)
    large = np.full((200, 4), 1e300)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        array_backend.contiguous(large, np.float32)
    with np.errstate(over="ignore"):
        assert np.isinf(array_backend.contiguous(large, np.float32)).all()


def test_a_lack_of_room_is_an_error(monkeypatch):
    def refuse(*_):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(machine, "_taken", False)
    with monkeypatch.context() as patch:
        patch.setattr(mmap, "mmap", refuse)
        with pytest.raises(MemoryError, match="260 MiB"):
            LSI(2).fit(np.random.default_rng(0).standard_normal((30, 5)))
        assert not machine._taken
    machine.take_buffers()
    assert machine._taken


def test_few_rows_take_one_thread_of_blas():
    X, seen = np.random.default_rng(0).standard_normal((80, 70)), set()
    # Other packages bring their own BLAS, which a test before this one may have loaded. Libraries
    # are looked for once: it takes milliseconds, and there are thousands of pairs of rows.
    own = [lib for lib in ThreadpoolController().lib_controllers if "numpy" in lib.filepath]

    def kernel(left, right):
        seen.add(max(lib.num_threads for lib in own))
        return left @ right

    with threadpool_limits(2):
        model = KernelFeatures(kernel=kernel).fit(X)
        assert seen == {1}
        model.transform(X)
        assert seen == {1}
        model.transform(X[:10])
        assert seen == {1, 2}  # so few that BLAS itself takes one
