"""Progress on stderr: a bar with the time left, or a line every half minute."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["StepReport", "progress_bar"]

# Where stderr is not a terminal, a line as often as this.
_SECONDS = 30.0


class StepReport(Protocol):
    """Takes the number of steps done, the number of all steps, and the current activity."""

    def __call__(self, done: int, total: int, now: str = "") -> None: ...


@contextmanager
def progress_bar(what: str) -> Iterator[StepReport]:
    """Show progress; give a function that is called after each step."""
    console = Console(stderr=True)
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}"),
    )
    bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    with bar:
        task = bar.add_task(what, total=None, now="")
        last = time.monotonic()

        def report(done: int, total: int, now: str = "") -> None:
            nonlocal last
            bar.update(task, completed=done, total=total, now=now)
            if not console.is_terminal and time.monotonic() - last > _SECONDS:
                last = time.monotonic()
                typer.echo(f"{what}: {done} of {total}" + (f", {now}" if now else ""), err=True)

        yield report
