"""``labelspan audit``: labels that look wrong or missing, and labels to merge or drop."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .corpus_argument import AsJson
from .failures import plain_errors
from .index_argument import DEFAULT, IndexArgument, SameIndex, chosen_index, open_index

__all__ = ["audit"]


def audit(  # noqa: PLR0917 - typer reads options from parameters
    index: IndexArgument = DEFAULT,
    number: Annotated[
        int, typer.Option("--number", "-n", help="Maximum number of findings of a kind.", min=1)
    ] = 10,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table as csv.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report as one HTML file.")
    ] = None,
    as_json: AsJson = False,
    same: SameIndex = None,
) -> None:
    """Find labels that look wrong or missing, and labels to merge, split or drop.

    For example:

      labelspan audit

      labelspan audit notes.labelspan -n 100 --csv > findings.csv

      labelspan audit --html report.html
    """
    index = chosen_index(index, same)
    with plain_errors():
        from .._files import write_whole  # noqa: PLC0415
        from ..curation.audit_results import KINDS  # noqa: PLC0415
        from ..errors import Mismatch  # noqa: PLC0415
        from ..evaluation.audit_report import (  # noqa: PLC0415
            AUDIT_COLUMNS,
            audit_page,
            audit_rows,
            named_items,
        )

        if as_csv and as_json:
            raise Mismatch("Give either --csv or --json, not both.")
        with open_index(index) as opened:
            found = opened.audit(number)
        if html is not None:
            page = audit_page(found, f"Labels of {index.name}").encode()
            write_whole(html, partial(_write, page))
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found.findings], indent=2))
    elif as_csv:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([AUDIT_COLUMNS, *audit_rows(found)])
        typer.echo(out.getvalue(), nl=False)
    elif html is not None:
        typer.echo(f"{len(found.findings):,} findings in {html}.")
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
                        Text("\n".join(named_items(one))),
                        Text(", ".join(one.labels)),
                        Text(one.reason),
                    )
                Console().print(Text(name, style="bold"))
                Console().print(table)


def _write(page: bytes, file: BinaryIO) -> None:
    file.write(page)
