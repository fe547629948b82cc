"""How much of a run uses the threads of the package, and what the rest is spent on.

On one thread, the tasks that the package gives to its threads are run one after the other, split
as they would be for the wanted number of threads, and timed one by one in CPU time, which other
programs disturb little. What that many threads would take is the length of the longest queue of
tasks; everything else is serial. Memory that all cores share is not part of this, so that it is a
lower limit of the time. On several threads the tasks run as they always do, and what is timed is
the wall time inside and outside of them. A sampler says where the time outside is spent.
"""

from __future__ import annotations

import heapq
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from labelspan.operators import machine

__all__ = ["SerialTime", "watch"]

# Seconds between two looks of the sampler, and callers that it names.
_EVERY, _CALLERS = 0.002, 3


class SerialTime:
    """Seconds of a run.

    ``total`` is the whole time, ``serial`` that outside of tasks, and ``spread`` what ``threads``
    threads take. ``places`` has the seconds outside of tasks by lines of the package.
    """

    def __init__(self, threads: int, simulated: bool) -> None:
        self.threads = threads
        self.total = self.inside = self.longest = 0.0
        self.places: Counter[str] = Counter()
        self.clock = time.thread_time if simulated else time.perf_counter
        self._simulated = simulated
        self._plain = machine.map_threads
        self._main = threading.get_ident()
        self._busy = False
        self._running = True

    @property
    def serial(self) -> float:
        """Seconds outside of tasks."""
        return self.total - self.inside

    @property
    def spread(self) -> float:
        """Seconds with all threads; where simulated, as if they did not disturb each other."""
        return self.serial + self.longest

    def map_threads(
        self, task: Callable[[Any], Any], items: Iterable[Any], *, blas: bool = False
    ) -> list[Any]:
        """Stand for the function of that name, and time what it does."""
        items = list(items)
        if self._busy or len(items) <= 1 or threading.get_ident() != self._main:
            return self._plain(task, items, blas=blas)
        self._busy = True
        try:
            return self._queued(task, items) if self._simulated else self._timed(task, items, blas)
        finally:
            self._busy = False

    def _queued(self, task: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        queues = [0.0] * self.threads
        found = []
        for item in items:
            start = self.clock()
            found.append(task(item))
            taken = self.clock() - start
            self.inside += taken
            heapq.heapreplace(queues, queues[0] + taken)
        self.longest += max(queues)
        return found

    def _timed(self, task: Callable[[Any], Any], items: list[Any], blas: bool) -> list[Any]:
        start = self.clock()
        found = self._plain(task, items, blas=blas)
        taken = self.clock() - start
        self.inside += taken
        self.longest += taken
        return found

    def sample(self) -> None:
        """Look where the main thread is, until the run has ended."""
        before = time.perf_counter()
        while self._running:
            time.sleep(_EVERY)
            now = time.perf_counter()
            if not self._busy:
                place = _place(sys._current_frames().get(self._main))
                self.places[place] += now - before  # type: ignore[assignment]
            before = now

    def stop(self) -> None:
        """End the sampling."""
        self._running = False

    def lines(self, most: int = 12) -> list[str]:
        """Say what was measured, and the places that took the longest outside of tasks."""
        gain = self.total / max(self.spread, 1e-9) if self._simulated else 1.0
        head = (
            f"{self.total:.2f} s, {self.serial:.2f} of it serial ({self.serial / self.total:.1%})"
        )
        if self._simulated:
            head += f"; on {self.threads} threads at least {self.spread:.2f} ({gain:.1f} times)"
        found = [f"    {spent:.3f} {place}" for place, spent in self.places.most_common(most)]
        return [head, *found]


def _place(frame: Any) -> str:
    """Name the lines of the package that are running, the innermost first."""
    names: list[str] = []
    while frame is not None and len(names) < _CALLERS:
        path = frame.f_code.co_filename
        if f"{os.sep}labelspan{os.sep}" in path:
            names.append(f"{os.path.basename(path)}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(names) or "elsewhere"


@contextmanager
def watch(threads: int, *, simulated: bool = True) -> Iterator[SerialTime]:
    """Measure what runs inside, for that many threads."""
    found = SerialTime(threads, simulated)
    stands: dict[str, Any] = {"map_threads": found.map_threads}
    if simulated:
        stands["n_threads"] = lambda: threads
    changed = []
    for module in [value for name, value in sys.modules.items() if name.startswith("labelspan")]:
        for name in stands:
            if vars(module).get(name) is getattr(machine, name):
                changed.append((module, name))
    originals = {name: getattr(machine, name) for name in stands}
    for module, name in changed:
        setattr(module, name, stands[name])
    sampler = threading.Thread(target=found.sample, daemon=True)
    sampler.start()
    start = found.clock()
    try:
        yield found
    finally:
        found.total = found.clock() - start
        found.stop()
        sampler.join()
        for module, name in changed:
            setattr(module, name, originals[name])
