"""Running jobs: in this process or in several, each result kept as it comes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from ..errors import LostWorkers
from ..evaluation.measurements import Record, Results
from .paper import Key, Paper, PaperPart, Scale
from .records import Done, RecordFile, job_name

__all__ = ["Job", "Progress", "plan", "run_jobs", "select"]

# Called with the number of jobs done and the number of all.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Job:
    """One job of one part."""

    paper: str
    part: str
    key: Key

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return job_name(self.paper, self.part, self.key)


def plan(parts: Sequence[tuple[Paper, PaperPart]], scale: Scale) -> list[Job]:
    """The jobs of some parts."""
    return [Job(paper.name, part.name, key) for paper, part in parts for key in part.jobs(scale)]


def run_jobs(
    jobs: Sequence[Job],
    file: RecordFile,
    find: Callable[[str, str], PaperPart],
    *,
    data_home: Path | None = None,
    processes: int = 1,
    progress: Progress | None = None,
) -> None:
    """Run what the file does not hold yet.

    Parameters
    ----------
    jobs : sequence of Job
    file : RecordFile
        Where records are appended, and which jobs are done already.
    find : function of a paper's and a part's name
        Gives the part; a function of a module, for other processes must find it too.
    data_home : Path or None
        Where the data lies.
    processes : int
        More than 1 runs jobs beside each other, one thread each: the numbers stay the same.
    progress : function or None
        Told how many of all jobs are done.
    """
    known = file.read()
    waiting = [job for job in jobs if job.name not in known]
    ready = len(jobs) - len(waiting)
    if progress is not None:
        progress(ready, len(jobs))
    for count, (job, done) in enumerate(_results(waiting, find, data_home, processes), start=1):
        file.append(job.paper, job.part, job.key, done)
        if progress is not None:
            progress(ready + count, len(jobs))


def _results(
    jobs: Sequence[Job],
    find: Callable[[str, str], PaperPart],
    data_home: Path | None,
    processes: int,
) -> Iterator[tuple[Job, Done]]:
    if processes == 1 or len(jobs) < 2:
        for job in jobs:
            yield job, _work(find, job, data_home)
        return
    with _pool(min(processes, len(jobs))) as pool:
        futures: dict[Future[Done], Job] = {
            pool.submit(_work, find, job, data_home): job for job in jobs
        }
        for future in as_completed(futures):
            try:
                done = future.result()
            except BrokenProcessPool as error:
                raise LostWorkers(
                    "A process that ran jobs was ended from outside, for want of memory perhaps; "
                    "what is done is kept, and the next run goes on, better with fewer processes."
                ) from error
            yield futures[future], done


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_end_with_parent,
        initargs=(os.getpid(),),
    )
    try:
        yield pool
    finally:
        # Jobs that have not begun are not waited for: they run next time.
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent(parent: int) -> None:
    """A worker whose parent was killed would wait for work for ever; Ctrl-C ends it silently."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _work(find: Callable[[str, str], PaperPart], job: Job, data_home: Path | None) -> Done:
    start = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = find(job.paper, job.part).run(job.key, data_home)
        records = tuple({**job.key, **_plain(record)} for record in found)
    said = tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
    return Done(records, time.perf_counter() - start, said)


def _plain(record: Record) -> dict[str, Any]:
    """Numbers of numpy as Python's own."""
    return {
        name: value.item() if hasattr(value, "item") else value for name, value in record.items()
    }


def select(jobs: Sequence[Job], done: dict[str, Done], paper: str, part: str) -> Results:
    """The records of a part's jobs, in the order of the plan."""
    records: list[Record] = []
    for job in jobs:
        if (job.paper, job.part) == (paper, part) and job.name in done:
            records += done[job.name].records
    return Results(records)
