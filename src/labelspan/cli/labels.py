"""``labelspan labels`` and ``labelspan relabel``: how well labels are predicted; change them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .corpus_argument import AsJson
from .failures import plain_errors
from .index_argument import DEFAULT, IndexArgument, IndexOption, SameIndex, chosen_index, open_index

__all__ = ["labels", "relabel"]


def labels(
    index: IndexArgument = DEFAULT,
    number: Annotated[
        int | None, typer.Option("--number", "-n", help="Maximum number of labels.", min=1)
    ] = None,
    as_json: AsJson = False,
    same: SameIndex = None,
) -> None:
    """Show for each label how well it is predicted for items that are left out.

    For example:

      labelspan labels

      labelspan labels notes.labelspan --json
    """
    index = chosen_index(index, same)
    with plain_errors(), open_index(index, lazy=True) as opened:
        found = sorted(opened.label_report(), key=lambda row: (-row.support, row.label))[:number]
    if as_json:
        typer.echo(json.dumps([{**asdict(row), "never": row.never} for row in found], indent=2))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("label", overflow="fold")
    for name in ("items", "chosen", "precision", "recall", "threshold"):
        table.add_column(name, justify="right")
    for row in found:
        table.add_row(
            Text(row.label),
            f"{row.support:,}",
            f"{row.chosen:,}",
            f"{row.precision:.2f}" if row.chosen else "-",
            f"{row.recall:.2f}",
            "never" if row.never else f"{row.threshold:.2f}",
        )
    Console().print(table)


def relabel(
    item: Annotated[str, typer.Argument(metavar="ID", help="Id of the item.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="LABEL", help="Its new labels; give none to remove all."),
    ] = None,
    index: IndexOption = DEFAULT,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="The labels of the item are not known.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Change the labels of an item; tags are learned from them at once.

    For example:

      labelspan relabel gimp works-with::image use::editing

      labelspan relabel gimp --unknown -i notes.labelspan
    """
    with plain_errors():
        from ..errors import Mismatch  # noqa: PLC0415

        if unknown and names:
            raise Mismatch("Give either labels or --unknown, not both.")
        with open_index(index, write=True) as opened:
            before = opened.item(item).labels
            opened.relabel([item], [None if unknown else names or []])
            after = opened.item(item).labels
    if as_json:
        typer.echo(json.dumps({"id": item, "before": before, "labels": after}, indent=2))
        return
    shown = "unknown" if after is None else ", ".join(after) or "none"
    typer.echo(f"Labels of {item}: {shown}.")
