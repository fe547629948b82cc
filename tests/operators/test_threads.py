"""Threads over blocks of work: their order, and how many there may be."""

from types import SimpleNamespace

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
