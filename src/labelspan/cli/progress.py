"""Progress on stderr: a bar with the time left, or a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["shown"]

# Where stderr is no terminal, a line as often as this.
_SECONDS = 30.0


@contextmanager
def shown(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to be told how many of all steps are done; ``what`` says what they are."""
    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    with bar:
        task = bar.add_task(what, total=None)
        last = time.monotonic()

        def told(done: int, total: int) -> None:
            nonlocal last
            bar.update(task, completed=done, total=total)
            if not console.is_terminal and time.monotonic() - last > _SECONDS:
                last = time.monotonic()
                typer.echo(f"{what}: {done} of {total}", err=True)

        yield told
