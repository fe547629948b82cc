"""``labelspan export``: an index for other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from .shared import DEFAULT, IndexOption, open_index, plain_errors, progress_bar

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
        from ..export import export_file, export_postgresql  # noqa: PLC0415
        from ..export.postgresql import EXAMPLES  # noqa: PLC0415

        if target.startswith(("postgresql://", "postgres://")):
            with open_index(index) as opened:
                done = export_postgresql(opened, target, schema=schema, update=update)
            counts = ", ".join(f"{count:,} {name}" for name, count in done.items())
            typer.echo(f"Items in the schema {schema}: {counts}.", err=True)
            typer.echo(EXAMPLES.format(s=schema))
            return
        if update:
            raise InvalidParameter("--update is for PostgreSQL; a file is written as a whole.")
        with open_index(index) as opened, progress_bar("placing items") as report:
            count = export_file(opened, target, with_map=not no_map, progress=report)
        typer.echo(f"{count:,} items: {target}")
