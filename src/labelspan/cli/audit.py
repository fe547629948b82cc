"""``labelspan audit``: labels that look wrong or missing, and labels to merge or drop."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .shared import DEFAULT, AsJson, IndexArgument, open_index, plain_errors, print_json

if TYPE_CHECKING:
    from ..curation import Finding

__all__ = ["audit"]

_COLUMNS = ("kind", "score", "items", "titles", "labels", "reason")


def audit(
    index: IndexArgument = DEFAULT,
    number: Annotated[
        int, typer.Option("--number", "-n", help="Maximum number of findings of a kind.", min=1)
    ] = 10,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table as csv.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find labels that look wrong or missing, and labels to merge or drop.

    For example:

      labelspan audit

      labelspan audit notes.labelspan -n 100 --csv > findings.csv
    """
    with plain_errors():
        from ..curation.audit_results import KINDS  # noqa: PLC0415
        from ..errors import Mismatch  # noqa: PLC0415

        if as_csv and as_json:
            raise Mismatch("Give either --csv or --json, not both.")
        with open_index(index) as opened:
            found = opened.audit(number)
    if as_json:
        print_json([asdict(one) for one in found.findings])
    elif as_csv:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([_COLUMNS, *map(_cells, found.findings)])
        typer.echo(out.getvalue(), nl=False)
    else:
        for kind, name in KINDS.items():
            own = found.of(kind)
            if own:
                table = Table(box=None, show_header=False, pad_edge=False, title_justify="left")
                table.add_column(overflow="fold", ratio=1)
                table.add_column(overflow="fold", ratio=1)
                table.add_column(overflow="fold", ratio=2)
                for one in own:
                    table.add_row(
                        Text("\n".join(_named_items(one))),
                        Text(", ".join(one.labels)),
                        Text(one.reason),
                    )
                Console().print(Text(name, style="bold"))
                Console().print(table)


def _cells(one: Finding) -> tuple[str, ...]:
    """Return a finding as a row of text; several ids, titles or labels are separated by bars."""
    several = ("|".join(names) for names in (one.items, one.titles, one.labels))
    return one.kind, f"{one.score:.4f}", *several, one.reason


def _named_items(one: Finding) -> list[str]:
    """Return the items of a finding by id and title."""
    titles = one.titles or one.items
    return [
        name if title == name else f"{name}: {title}"
        for name, title in zip(one.items, titles, strict=True)
    ]
