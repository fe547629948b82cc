"""The commands of ``labelspan``, in the order in which a newcomer needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from .. import __version__
from .adapt import adapt
from .audit import audit
from .data import data
from .demo import demo
from .evaluate import evaluate
from .export import export
from .fit import add, fit
from .inspect import info
from .labels import labels, relabel, remove
from .map import corpus_map
from .mcp import mcp
from .reproduce import reproduce
from .review import review
from .search import search
from .serve import serve
from .shared import CommandGroup
from .tag import tag

__all__ = ["app"]

app = typer.Typer(
    name="labelspan",
    cls=CommandGroup,
    help="Label-informed dimensionality reduction and search for tagged data.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
_COMMANDS: tuple[Callable[..., None], ...] = (
    *(demo, fit, search, tag, add, relabel, remove, labels, audit, review, evaluate, adapt),
    *(corpus_map, serve, mcp, export, info),
)
for _command in _COMMANDS:
    app.command("map" if _command is corpus_map else None)(_command)
app.add_typer(data, name="data")
app.command()(reproduce)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"labelspan {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Label-informed dimensionality reduction and search for tagged data."""
