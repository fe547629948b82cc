"""The commands of ``labelspan``, in the order in which a newcomer needs them."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .adapt import adapt
from .audit import audit
from .data import data
from .demo import demo
from .evaluate import evaluate
from .export import export
from .failures import CommandGroup
from .fit import add, fit
from .inspect import info
from .labels import labels, relabel, remove
from .map import corpus_map
from .mcp import mcp
from .reproduce import reproduce
from .review import review
from .search import search
from .serve import serve
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
app.command()(demo)
app.command()(fit)
app.command()(search)
app.command()(tag)
app.command()(add)
app.command()(relabel)
app.command()(remove)
app.command()(labels)
app.command()(audit)
app.command()(review)
app.command()(evaluate)
app.command()(adapt)
app.command("map")(corpus_map)
app.command()(serve)
app.command()(mcp)
app.command()(export)
app.command()(info)
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
