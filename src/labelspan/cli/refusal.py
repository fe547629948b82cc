"""How a command fails: one sentence on stderr, and an exit code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

__all__ = ["STOPPED", "one_sentence"]

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
        except KeyboardInterrupt:
            typer.echo("Stopped; nothing half-written is left.", err=True)
            raise typer.Exit(STOPPED) from None
