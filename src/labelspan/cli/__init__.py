"""The command ``labelspan``: functions that parse, delegate and print."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .. import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="labelspan",
    help="Small spaces that labels inform.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"labelspan {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Small spaces that labels inform."""


@app.command()
def demo(
    components: Annotated[int, typer.Option(help="Dimensions of each space.", min=1, max=9)] = 8,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare spaces on scikit-learn's digits, each with several labels.

    For every unseen picture its ten nearest neighbours are looked up in each space: how
    many show the same digit, and how much of their labels agrees.
    """
    # Imported here, so that --help does not wait for scikit-learn.
    from ..experiments.quickstart import quickstart  # noqa: PLC0415

    rows = list(quickstart(components))
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    table = Table(title="Ten nearest neighbours of 719 unseen digits")
    table.add_column("space")
    for column in ("dimensions", "same digit", "label Jaccard"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(row.space, str(row.dimensions), f"{row.same_digit:.1%}", f"{row.jaccard:.3f}")
    Console().print(table)
