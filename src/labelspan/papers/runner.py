"""Run jobs, in this process or in several, and save each result as soon as it is available."""

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

__all__ = ["Job", "JobProgress", "plan", "run_jobs", "select"]

# Called with the number of completed jobs and the total number of jobs.
JobProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Job:
    """One job of one part."""

    paper: str
    part: str
    key: Key

    @property
    def name(self) -> str:
        """Name that identifies the job."""
        return job_name(self.paper, self.part, self.key)


def plan(parts: Sequence[tuple[Paper, PaperPart]], scale: Scale) -> list[Job]:
    """List the jobs of some parts."""
    return [Job(paper.name, part.name, key) for paper, part in parts for key in part.jobs(scale)]


def run_jobs(
    jobs: Sequence[Job],
    file: RecordFile,
    find: Callable[[str, str], PaperPart],
    *,
    data_home: Path | None = None,
    processes: int = 1,
    progress: JobProgress | None = None,
) -> None:
    """Run the jobs that are not in the file yet.

    Parameters
    ----------
    jobs : sequence of Job
    file : RecordFile
        File to which records are appended, and which says which jobs are done already.
    find : function of a paper's and a part's name
        Returns the part; a function of a module, because other processes import it.
    data_home : Path or None
        Folder of the data sets.
    processes : int
        Number of parallel processes, one thread each; the results do not depend on it.
    progress : function or None
        Called with the number of completed jobs and the total number of jobs.
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
                    "A process that ran jobs was killed, perhaps because memory ran out; finished "
                    "jobs are saved; run the same command again to continue, preferably with "
                    "fewer --jobs."
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
        # Do not wait for jobs that have not started: they run next time.
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent(parent: int) -> None:
    """End a worker when its parent was killed, or silently on Ctrl-C."""
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
    messages = tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
    return Done(records, time.perf_counter() - start, messages)


def _plain(record: Record) -> dict[str, Any]:
    """Convert numpy numbers to Python numbers."""
    return {
        name: value.item() if hasattr(value, "item") else value for name, value in record.items()
    }


def select(jobs: Sequence[Job], done: dict[str, Done], paper: str, part: str) -> Results:
    """Select the records of the jobs of a part, in the order of the plan."""
    records: list[Record] = []
    for job in jobs:
        if (job.paper, job.part) == (paper, part) and job.name in done:
            records += done[job.name].records
    return Results(records)
