"""How a command fails: one sentence on stderr, and exit code 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ..errors import LabelspanError

__all__ = ["one_sentence"]


@contextmanager
def one_sentence() -> Iterator[None]:
    """Say an error of labelspan in its own words, without a traceback."""
    try:
        yield
    except LabelspanError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
