"""Contenders in processes of their own: times, peak memory, refusals and limits."""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import resource
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from .tasks import Contender, Fitted, Task, is_sparse

__all__ = ["Player", "Score", "in_child", "refusal"]

# A forked child shares the data that its parent has loaded, and starts with its own count of
# peak memory: what it shows above the start is that of the contender.
_FORK = multiprocessing.get_context("fork")
# Of the machine's memory, what one contender may ask for.
_SHARE = 0.7


@dataclass
class Score:
    """What became of one contender: runs in seconds, or why there are none."""

    name: str
    ours: bool = False
    same: bool = True
    remark: str = ""
    runs: list[float] = field(default_factory=list)
    peak: int | None = None
    refused: str | None = None
    over: float | None = None
    quality: dict[str, float] = field(default_factory=dict)

    def note(self, words: str) -> None:
        """Add to the remark."""
        self.remark = "; ".join(part for part in (self.remark, words) if part)


def refusal(error: BaseException) -> str:
    """The reason that a contender gives, in a few words."""
    words = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, TooLarge):
        return words
    lower = words.lower()
    # The second is what numpy says when it is asked to make an array of a sparse matrix.
    if "sparse" in lower or "setting an array element with a sequence" in lower:
        return "refuses sparse"
    if re.search(r"\bnans?\b", lower):
        return "refuses NaN"
    if "singular" in lower or "positive definite" in lower or "ill-conditioned" in lower:
        return "singular"
    return f"{type(error).__name__}: {words[:60]}".rstrip(": ")


class TooLarge(Exception):
    """A dense X would be above the limit."""


class Player:
    """A contender in a child process, which runs when it is told to."""

    def __init__(
        self, contender: Contender, task: Task, *, dense_limit: int, threads: int | None
    ) -> None:
        contender = contender.on(task)
        self.score = Score(contender.name, contender.ours, contender.same, contender.remark)
        self.fitted: Fitted | None = None
        self._process: Any = None
        size = contender.square_bytes(task)
        if not contender.installed:
            self.score.refused = "not installed"
        elif size > dense_limit:
            self.score.refused = f"not tried: square arrays of {size / 2**30:.1f} GiB"
        else:
            self._pipe, end = _FORK.Pipe()
            arguments = (end, contender, task, dense_limit, threads)
            self._process = _FORK.Process(target=_play, args=arguments, daemon=True)
            self._process.start()
            end.close()

    @property
    def alive(self) -> bool:
        """Whether it may be asked to run."""
        return self._process is not None

    def warm_up(self, limit: float) -> float:
        """The untimed run, which brings the result and the peak memory; its seconds."""
        opened = self._ask("open", limit)
        # Said before the run, which may not come to an end.
        for words in () if opened is None else opened["remarks"]:
            self.score.note(words)
        answer = self._ask("warm up", limit)
        if answer is None:
            return 0.0
        self.fitted, self.score.peak = answer["fitted"], answer["peak"]
        for words in answer["warned"]:
            self.score.note(words)
        return float(answer["seconds"])

    def run(self, limit: float) -> None:
        """One timed run."""
        answer = self._ask("run", limit)
        if answer is not None:
            self.score.runs.append(answer["seconds"])

    def end(self) -> None:
        """End the child, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def _ask(self, what: str, limit: float) -> dict[str, Any] | None:
        if not self.alive:
            return None
        answer: dict[str, Any] | None = None
        try:
            self._pipe.send(what)
            if not self._pipe.poll(limit):
                self.score.over = limit
            else:
                answer = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join(5)
            self.score.refused = f"ended by signal or crash ({self._process.exitcode})"
        if answer is not None and "refused" in answer:
            self.score.refused, answer = answer["refused"], None
        if answer is None:
            self.end()
        return answer


def _play(
    pipe: Connection, contender: Contender, task: Task, dense_limit: int, threads: int | None
) -> None:
    """The child's life: load, then run as often as asked, until refused or ended."""
    _limit_memory()
    with threadpool_limits(threads), suppress(EOFError):
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            contender.run(task.tiny())
        gc.collect()
        start, before = _reset_peak()
        make_dense = False
        while True:
            what = pipe.recv()
            try:
                if what == "open":
                    make_dense = _must_be_dense(contender, task, dense_limit)
                    words = ["refuses sparse", "made dense"] if make_dense else []
                    pipe.send({"remarks": words})
                    continue
                answer = _timed(contender, task, make_dense)
            except Exception as error:
                pipe.send({"refused": refusal(error)})
                return
            if what == "warm up":
                peak = _memory("VmHWM")
                # Where the system did not forget an earlier peak, only a higher one says something.
                answer["peak"] = peak - start if peak > before or before <= start else None
            else:
                del answer["fitted"]
            pipe.send(answer)
            del answer


def _must_be_dense(contender: Contender, task: Task, dense_limit: int) -> bool:
    """Try a corner of a sparse X as it is; where that is refused, the whole goes in dense."""
    if contender.ours or not is_sparse(task.X):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            contender.run(task.tiny())
    except Exception as error:
        if refusal(error) != "refuses sparse":
            raise
        if task.dense_bytes > dense_limit:
            size = f"{task.dense_bytes / 2**30:.1f} GiB"
            raise TooLarge(f"refuses sparse; {size} dense") from None
        return True
    return False


def _timed(contender: Contender, task: Task, make_dense: bool) -> dict[str, Any]:
    given = task.dense() if make_dense else task
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        fitted = contender.run(given)
        seconds = time.perf_counter() - start
    kinds = {warning.category.__name__ for warning in caught}
    early = kinds & {"ConvergenceWarning", "NotConverged"}
    return {
        "seconds": seconds,
        "fitted": fitted,
        "warned": ["did not converge"] if early else [],
    }


def in_child(work: Callable[[], Any]) -> Any:
    """What ``work()`` gives, computed in a child, so that this process stays as it was."""
    pipe, end = _FORK.Pipe()

    def target() -> None:
        try:
            end.send((True, work()))
        except Exception as error:
            end.send((False, f"{type(error).__name__}: {error}"))

    child = _FORK.Process(target=target, daemon=True)
    child.start()
    end.close()
    try:
        fine, value = pipe.recv()
    except EOFError:
        child.join()
        raise RuntimeError(f"a child ended without an answer ({child.exitcode})") from None
    child.join()
    if not fine:
        raise RuntimeError(value)
    return value


def _limit_memory() -> None:
    size = int(_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _reset_peak() -> tuple[int, int]:
    """Forget the highest memory so far where the system can; the present one and the highest."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS"), _memory("VmHWM")


def _memory(name: str) -> int:
    """The present or highest resident memory of this process, in bytes."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
