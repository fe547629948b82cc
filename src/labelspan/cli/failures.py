"""How a command fails: one message on stderr, and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TextIO

import typer
from typer.core import TyperGroup

__all__ = ["STOPPED", "CommandGroup", "plain_errors", "standard_input", "standard_lines"]

# What a shell gives for a command that Ctrl-C ended.
STOPPED = 130


@contextmanager
def plain_errors() -> Iterator[None]:
    """Print errors and warnings of labelspan as plain messages, without a traceback."""
    # Imported here, so that --help does not wait for it.
    from ..errors import LabelspanError, LabelspanWarning  # noqa: PLC0415

    def show(  # noqa: PLR0917 - as Python calls it
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
        warnings.showwarning = show
        try:
            yield
        except LabelspanError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(1) from error


def standard_input() -> BinaryIO:
    """Return standard input as bytes; raise an error where it is closed."""
    from ..errors import InvalidInput  # noqa: PLC0415

    if sys.stdin is None or sys.stdin.closed:
        raise InvalidInput("Standard input is closed; give a file, or pipe data to the command.")
    return typer.get_binary_stream("stdin")


def standard_lines() -> list[str]:
    """Return the lines of standard input."""
    standard_input()
    return typer.get_text_stream("stdin").read().splitlines()


class CommandGroup(TyperGroup):
    """All commands; Ctrl-C, a full disk and too little memory end each with one message."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, RuntimeError) as error:
            # Python 3.11 wraps what is raised while a class is made, as during an import.
            if isinstance(error, RuntimeError) and not isinstance(
                error.__cause__, KeyboardInterrupt
            ):
                raise
        typer.echo("Stopped; nothing half-written is left.", err=True)
        raise typer.Exit(STOPPED)

    def main(self, *args: Any, **options: Any) -> Any:
        """Parse the command line and run the command."""
        _forget_unknown_width()
        try:
            return super().main(*args, **options)
        except OSError as error:
            _give_up_output()
            where = error.filename or "The output"
            message = f"{where} cannot be written: {error.strerror or error}."
        except MemoryError:
            message = (
                "There is not enough memory for this; give fewer items, or fewer --dimensions. "
                "Nothing half-written is left."
            )
        # Printed here, where all memory that was held is free again.
        typer.echo(message, err=True)
        sys.exit(1)


def _forget_unknown_width() -> None:
    """Drop COLUMNS=0 and LINES=0, which mean an unknown size; rich would print nothing."""
    for name in ("COLUMNS", "LINES"):
        size = os.environ.get(name, "")
        if size.isdecimal() and int(size) == 0:
            del os.environ[name]


def _give_up_output() -> None:
    """Where stdout takes nothing any more, keep Python from trying again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
