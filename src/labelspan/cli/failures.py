"""How a command fails: one sentence on stderr, and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

__all__ = ["STOPPED", "Verbs", "one_sentence"]

# What a shell gives for a command that Ctrl-C ended.
STOPPED = 130


@contextmanager
def one_sentence() -> Iterator[None]:
    """Say an error or a warning of labelspan in its own words, without a traceback."""
    # Imported here, so that --help does not wait for scikit-learn.
    from ..errors import LabelspanError, LabelspanWarning  # noqa: PLC0415

    def told(  # noqa: PLR0917 - as Python calls it
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, LabelspanWarning):
            typer.echo(f"Note: {message}", err=True)
        else:
            usual(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        usual = warnings.showwarning
        warnings.showwarning = told
        try:
            yield
        except LabelspanError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(1) from error


class Verbs(TyperGroup):
    """The verbs; what may end any of them at any moment is a sentence, too."""

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("Stopped; nothing half-written is left.", err=True)
            raise typer.Exit(STOPPED) from None

    def main(self, *args: Any, **options: Any) -> Any:
        """Read the command line, and run what it says."""
        try:
            return super().main(*args, **options)
        except OSError as error:
            _give_up_output()
            where = error.filename or "The output"
            said = f"{where} cannot be written: {error.strerror or error}."
        except MemoryError:
            said = (
                "The memory is not enough for this; give fewer items, or fewer --dimensions. "
                "Nothing half-written is left."
            )
        # Said here, where all that was held is free again.
        typer.echo(said, err=True)
        sys.exit(1)


def _give_up_output() -> None:
    """Where stdout takes nothing any more, keep Python from trying again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
