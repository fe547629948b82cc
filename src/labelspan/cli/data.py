"""``labelspan data``: list, describe and download data sets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .inspect import print_facts
from .shared import AsJson, CommandGroup, plain_errors, print_json

if TYPE_CHECKING:
    from ..datasets import Card

__all__ = ["data"]

data = typer.Typer(
    name="data",
    cls=CommandGroup,
    help="List, describe and download data sets.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="A name from `labelspan data list`.")]
Home = Annotated[
    Path | None,
    typer.Option(
        "--data-home",
        help="Folder of the data sets (default: $LABELSPAN_DATA, or the user's cache).",
    ),
]

# The functions below import late, so that --help does not wait for scikit-learn.


@data.command("list")
def list_sets(data_home: Home = None, as_json: AsJson = False) -> None:
    """List all data sets, with their sizes and sources."""
    from ..datasets import card, names  # noqa: PLC0415

    cards = [card(name) for name in names()]
    if as_json:
        print_json([_described(one, data_home) for one in cards])
        return
    table = Table(title="Data sets")
    table.add_column("name", no_wrap=True)
    for column in ("rows", "features", "labels"):
        table.add_column(column, justify="right")
    table.add_column("what")
    table.add_column("from")
    for one in cards:
        size = ["-" if number is None else f"{number:,}" for number in (one.n, one.d, one.k)]
        table.add_row(one.name, *size, one.title, _state(one, data_home))
    Console().print(table)


@data.command()
def info(name: Name, data_home: Home = None, as_json: AsJson = False) -> None:
    """Show the size, origin, terms and citation of a data set."""
    from ..datasets import card  # noqa: PLC0415

    with plain_errors():
        described = _described(card(name), data_home)
    if as_json:
        print_json(described)
        return
    print_facts(described)


@data.command()
def get(name: Name, data_home: Home = None, as_json: AsJson = False) -> None:
    """Download a data set if it is not in the folder yet, and verify it."""
    from ..datasets import card, load  # noqa: PLC0415
    from ..datasets.registry import find  # noqa: PLC0415

    with plain_errors():
        one = card(name)
        with Console(stderr=True).status(f"loading {name} ..."):
            loaded = load(name, data_home)
    if as_json:
        print_json(_described(one, data_home))
        return
    found = find(one, data_home)
    verified = found is not None and found[1] is not None
    typer.echo(f"{loaded!r} from {loaded.source}" + (", sha256 verified" if verified else ""))


def _described(one: Card, data_home: Path | None) -> dict[str, Any]:
    return asdict(one) | {"state": _state(one, data_home)}


def _state(one: Card, data_home: Path | None) -> str:
    """Say whether a data set is in the folder, or where it comes from."""
    from ..datasets.registry import find  # noqa: PLC0415

    found = find(one, data_home)
    if found is not None:
        return "here" if found[1] else "here, unpinned"
    return "by hand" if one.public is None else one.public
