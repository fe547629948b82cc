"""Blocks of rows held by the workers of a cluster, and recovery when a worker is lost.

A block stays where it is: every task that needs it is bound to the worker that holds it,
because the scheduler would otherwise copy blocks to idle workers. A bound task waits forever
once its worker is gone, so the client checks the workers while it waits. If one is missing,
its blocks are placed again (those that were loaded are loaded again by the scheduler, those
that came from the client are sent again) and the pass is repeated. A worker that is suspended is
removed by the scheduler after its ``worker-ttl``.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import InvalidInput, LostWorkers
from ..convert import as_operator
from ..dense import Dense
from ..row_blocks import BlockStore, Pass
from ..sparse import Sparse

__all__ = ["WorkerBlocks", "prepare_block"]

# Seconds between checks that the workers are alive.
_LOOK = 0.5
# Seconds that a cluster may be without any worker: a nanny needs seconds to start one.
_PATIENCE = 60.0
# Number of attempts of a pass before the fit fails.
_LOSSES = 5
# Number of retries of a task that fails, for example while reading a file.
_RETRIES = 2
# Number of partial sums added by one task.
_FAN = 4


class _Missing(Exception):
    """A worker that holds a block was lost."""


class WorkerBlocks(BlockStore):
    """Blocks of rows on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        Not asynchronous.
    parts : sequence
        Arrays and sparse matrices, futures, delayed values, or functions.
    on_pass : callable or None
        Called with a name after every pass over the blocks.

    Attributes
    ----------
    shapes, dtype, sums
        As those of every :class:`~labelspan.operators.row_blocks.BlockStore`.
    """

    dual = False

    def __init__(
        self, client: Any, parts: Sequence[Any], on_pass: Callable[[str], Any] | None = None
    ) -> None:
        if getattr(client, "asynchronous", True):
            raise InvalidInput(
                "client must be a distributed.Client that is not asynchronous, "
                f"but {type(client).__name__} was given."
            )
        if not parts:
            raise InvalidInput("parts is empty; pass at least one block of rows.")
        self.client = client
        self._on_pass = on_pass
        # Blocks that the client sent, to send them again if they are lost.
        self._kept: list[Any] = [None] * len(parts)
        workers = self._workers()
        self._futures = [
            self._placed(number, part, workers[number * len(workers) // len(parts)])
            for number, part in enumerate(parts)
        ]
        self._homes: list[str] = []
        self._settle()
        shapes, dtypes = zip(*self.run(Pass("load", _describe)), strict=True)
        self.shapes, self.dtype = shapes, np.result_type(*dtypes)

    # --- blocks -----------------------------------------------------------------------

    def _placed(self, number: int, part: Any, home: str) -> Any:
        """Return the future of a block, computed on or sent to a worker."""
        again = {"pure": False, "retries": _RETRIES}
        near = {"workers": [home], "allow_other_workers": True}
        if _is_future(part):
            return self.client.submit(prepare_block, part, **again)
        if hasattr(part, "__dask_graph__"):
            made = self.client.compute(part, retries=_RETRIES, **near)
            return self.client.submit(prepare_block, made, **again)
        if callable(part):
            return self.client.submit(_loaded, part, **again, **near)
        self._kept[number] = prepare_block(part)
        return self._scattered(number, home)

    def _scattered(self, number: int, home: str) -> Any:
        """Send a block that the client keeps; if its worker is lost, send it to another one."""
        values = [self._kept[number]]
        for _ in range(_LOSSES):
            with suppress(_Missing):
                return self._watched([home], partial(self._scatter, values, [home]))[0]
            time.sleep(_LOOK)
            home = self._workers()[0]
        raise LostWorkers(
            f"Block {number} did not reach a worker in {_LOSSES} tries; check the connections to "
            "the workers and their memory, and fit again."
        )

    async def _scatter(self, values: list[Any], workers: list[str]) -> Any:
        options = {"broadcast": len(workers) > 1, "hash": False, "asynchronous": True}
        try:
            return await self.client.scatter(values, workers=workers, **options)
        except (OSError, TimeoutError, KeyError) as error:
            raise _Missing from error

    def _settle(self) -> None:
        """Wait until each block is held by a worker; send lost blocks of the client again."""
        from distributed import wait  # noqa: PLC0415 - optional

        while True:
            waiting = [future for future in self._futures if future.status != "finished"]
            with suppress(TimeoutError, CancelledError):
                if waiting:
                    # Without this, Dask uses the client that was created last.
                    with self.client.as_current():
                        wait(waiting, timeout=_LOOK)
            workers = self._workers()
            for number, future in enumerate(self._futures):
                _raise_failure(future)
                if future.status == "cancelled":
                    self._send_again(number, workers[number % len(workers)])
            with suppress(CancelledError):
                found = self._ask(self.client.who_has, self._futures)
                places = [sorted(found.get(future.key, ())) for future in self._futures]
                if all(places):
                    self._homes = [place[0] for place in places]
                    return

    def _send_again(self, number: int, home: str) -> None:
        if self._kept[number] is None:
            raise LostWorkers(
                f"Block {number} was in the memory of a worker that was lost, and "
                "cannot be recreated; pass functions or delayed loaders as parts."
            )
        self._futures[number] = self._scattered(number, home)

    def _workers(self) -> list[str]:
        """Return the addresses of the workers; waits while there are none."""
        end = time.monotonic() + _PATIENCE
        while True:
            found = self._ask(self.client.nthreads)
            if found:
                return sorted(found)
            if time.monotonic() > end:
                raise LostWorkers(
                    f"The cluster has had no worker for {_PATIENCE:.0f} s; start some, for example "
                    f"with 'dask worker {self.client.scheduler.address}', and fit again."
                )
            time.sleep(_LOOK)

    def _ask(self, question: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return question(*arguments)
        except (OSError, RuntimeError) as error:
            raise _no_scheduler(error) from error

    # --- passes over the blocks -------------------------------------------------------

    def run(self, work: Pass) -> Any:
        # ``shared`` is sent to every worker once, and a piece of ``own`` only to the worker of its
        # block. ``name`` is for the dashboard and the callback.
        numbers = range(len(self._futures)) if work.numbers is None else work.numbers
        for _ in range(_LOSSES):
            try:
                futures = self._started(work, numbers)
                if work.total:
                    futures = [self._summed(work.name, futures)]
                answer = self._gathered(numbers, futures)
            except (_Missing, CancelledError):
                time.sleep(_LOOK)
                self._settle()
                continue
            if self._on_pass is not None:
                self._on_pass(work.name)
            return answer[0] if work.total else answer
        raise LostWorkers(
            f"Workers were lost in each of {_LOSSES} tries of one pass over the blocks, probably "
            "because memory ran out; use smaller blocks, or workers with more memory."
        )

    def _started(self, work: Pass, numbers: Sequence[int]) -> list[Any]:
        homes = [self._homes[number] for number in numbers]
        everyone, pieces = self._watched(homes, lambda: self._send(homes, work.shared, work.own))
        futures: list[Any] = [None] * len(homes)
        # One message per worker: messages cost the scheduler more than tasks do.
        for home in sorted(set(homes)):
            there = [n for n, place in enumerate(homes) if place == home]
            blocks = [self._futures[numbers[n]] for n in there]
            sent = [everyone] * len(there), [pieces[n] for n in there]
            options = {"key": _keys(work.name, there), "workers": [home], "retries": _RETRIES}
            for n, future in zip(
                there, self.client.map(work.task, blocks, *sent, **options), strict=True
            ):
                futures[n] = future
        return futures

    def _gathered(self, numbers: Sequence[int], futures: list[Any]) -> Any:
        homes = [self._homes[number] for number in numbers]
        # With errors="raise", gather leaves exceptions unfetched, which Python then reports.
        answer = self._watched(
            homes, lambda: self.client.gather(futures, errors="skip", asynchronous=True)
        )
        if len(answer) < len(futures):
            for future in futures:
                _raise_failure(future)
            raise _Missing
        return answer

    async def _send(self, homes: Sequence[str], shared: Any, own: Any) -> tuple[Any, list[Any]]:
        """Send data to the workers; return the future shared by all, and those of each block."""
        pieces: list[Any] = [None] * len(homes)

        async def all_get() -> Any:
            if shared is None:
                return None
            return (await self._scatter([shared], sorted(set(homes))))[0]

        async def gets(home: str) -> None:
            there = [n for n, place in enumerate(homes) if place == home]
            sent = await self._scatter([own[n] for n in there], [home])
            for n, piece in zip(there, sent, strict=True):
                pieces[n] = piece

        jobs = [] if own is None else [gets(home) for home in sorted(set(homes))]
        everyone, *_ = await asyncio.gather(all_get(), *jobs)
        return everyone, pieces

    def _summed(self, name: str, futures: list[Any]) -> Any:
        """Add results by a tree whose shape depends only on the number of blocks."""
        while len(futures) > 1:
            groups = [futures[start : start + _FAN] for start in range(0, len(futures), _FAN)]
            keys = _keys(f"{name}-sum", groups)
            futures = self.client.map(_add, groups, key=keys, retries=_RETRIES)
        return futures[0]

    def _watched(self, homes: Sequence[str], start: Callable[[], Awaitable[Any]]) -> Any:
        """Wait for a result of these workers; stop if one of them is missing."""

        async def watch() -> Any:
            job = asyncio.ensure_future(start())
            # A cancelled job may still fail, and Python reports exceptions that are never
            # retrieved.
            job.add_done_callback(lambda job: job.cancelled() or job.exception())
            try:
                while not (await asyncio.wait({job}, timeout=_LOOK))[0]:
                    living = await self.client.nthreads(asynchronous=True)
                    if not living.keys() >= set(homes):
                        raise _Missing
            except (OSError, RuntimeError) as error:
                raise _no_scheduler(error) from error
            finally:
                job.cancel()
            return job.result()

        return self.client.sync(watch)


def prepare_block(values: Any) -> Any:
    """Convert a block to a float array, or to a CSR matrix in canonical format."""
    operator = as_operator(values)
    if isinstance(operator, Sparse):
        # Dask knows the size of a csr_matrix, but treats a csr_array as a small object.
        return sparse.csr_matrix(operator.csr)
    if isinstance(operator, Dense):
        return operator.array
    raise InvalidInput(
        "A block of rows must be an array or a sparse matrix of the host, "
        f"but {type(values).__name__} was given."
    )


def _loaded(load: Callable[[], Any]) -> Any:
    return prepare_block(load())


def _no_scheduler(error: Exception) -> LostWorkers:
    return LostWorkers(
        f"The scheduler does not answer ({error}); start it again and create the blocks again."
    )


def _raise_failure(future: Any) -> None:
    """Raise the exception of a task, if it failed."""
    from distributed import KilledWorker  # noqa: PLC0415 - optional

    if future.status != "error":
        return
    error = future.exception()
    if isinstance(error, KilledWorker):
        raise LostWorkers(
            "Every worker that took one of the blocks died, probably because memory ran out; "
            "use smaller blocks, or workers with more memory."
        ) from error
    raise error.with_traceback(future.traceback())


def _is_future(part: Any) -> bool:
    from distributed import Future  # noqa: PLC0415 - optional

    return isinstance(part, Future)


def _describe(block: Any, shared: Any, own: Any) -> tuple[tuple[int, int], str]:
    return block.shape, str(block.dtype)


def _keys(name: str, tasks: Sequence[Any]) -> list[str]:
    return [f"labelspan-{name}-{uuid.uuid4().hex}" for _ in tasks]


def _add(parts: list[Any]) -> Any:
    return sum(parts[1:], parts[0])
