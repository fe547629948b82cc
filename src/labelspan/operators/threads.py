"""Threads over blocks of work, as many as the numerical libraries may use.

The number follows ``OMP_NUM_THREADS`` and ``threadpoolctl.threadpool_limits``: a
program that limits the threads of its BLAS limits these threads too, and workers of
joblib do not oversubscribe the machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["map_threads", "n_threads", "single_thread"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds; asking them their limit, microseconds.
    return ThreadpoolController()


def n_threads() -> int:
    """Return the number of threads that a product may use now."""
    limits = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()]
    if os.environ.get("OMP_NUM_THREADS", "").isdigit():
        limits.append(int(os.environ["OMP_NUM_THREADS"]))
    limits += [library.num_threads for library in _controller().lib_controllers]
    return max(1, min(limit for limit in limits if limit))


def single_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread in a ``with`` block, for small matrices.

    An eigenproblem of a few hundred rows is a long sequence of tiny products: a second thread
    gains nothing on an idle machine, and on a busy one each product waits for it.
    """
    limiter: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limiter


@lru_cache(maxsize=1)
def _executor(process: int, workers: int) -> ThreadPoolExecutor:
    # Keyed by process: threads do not survive a fork, so a child process starts new ones.
    return ThreadPoolExecutor(workers, thread_name_prefix="labelspan")


def map_threads(task: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Run ``task`` on every item, on threads where there is more than one, in order."""
    items = list(items)
    workers = min(n_threads(), len(items))
    if workers <= 1:
        return [task(item) for item in items]
    return list(_executor(os.getpid(), n_threads()).map(task, items))
