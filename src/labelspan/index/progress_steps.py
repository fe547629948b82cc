"""Telling how far work has come."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress", "Steps"]

# Called with the number of steps done and the number of all.
Progress = Callable[[int, int], None]


class Steps:
    """Counts steps as they end, and tells who wants to know."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)
