"""``labelspan export``: an index for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .failures import plain_errors
from .index_argument import DEFAULT, IndexOption, open_index
from .progress import progress_bar

__all__ = ["export"]


def export(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A .parquet or .jsonl file, or postgresql://USER@HOST/DATABASE.",
            show_default=False,
        ),
    ],
    index: IndexOption = DEFAULT,
    schema: Annotated[str, typer.Option(help="Schema in PostgreSQL.")] = "labelspan",
    update: Annotated[
        bool, typer.Option("--update", help="Write only the items that changed.")
    ] = False,
    no_map: Annotated[
        bool, typer.Option("--no-map", help="Leave out the coordinates on the map.")
    ] = False,
) -> None:
    """Write items, labels, predicted labels, map coordinates and vectors for other programs.

    PostgreSQL needs the extension pgvector. The exported items can be searched in SQL by
    words and meaning, as with `labelspan search`; the statements are printed.

    For example:

      labelspan export items.parquet

      labelspan export postgresql://localhost/notes -i notes.labelspan
    """
    with plain_errors():
        from ..errors import InvalidParameter  # noqa: PLC0415
        from ..export import (  # noqa: PLC0415
            export_postgresql,
            item_records,
            write_jsonl,
            write_parquet,
        )

        if target.startswith(("postgresql://", "postgres://")):
            with open_index(index) as opened:
                done = export_postgresql(opened, target, schema=schema, update=update)
            typer.echo(
                f"{done.written:,} items written, {done.removed:,} removed, {done.unchanged:,} "
                f"unchanged in the schema {done.schema}.",
                err=True,
            )
            typer.echo(done.examples())
            return
        writers = {".parquet": write_parquet, ".jsonl": write_jsonl}
        writer = writers.get(Path(target).suffix.lower())
        if writer is None:
            raise InvalidParameter(
                "TARGET must end in .parquet or .jsonl, or begin with postgresql://, but "
                f"{target!r} was given."
            )
        if update:
            raise InvalidParameter("--update is for PostgreSQL; a file is written as a whole.")
        with open_index(index) as opened:
            points = None
            if not no_map:
                from ..display.stored_layout import stored_layout  # noqa: PLC0415

                with progress_bar("placing items") as report:
                    points = stored_layout(opened, opened.ids, progress=report)
            count = writer(item_records(opened, points=points), target)
        typer.echo(f"{count:,} items: {target}")
