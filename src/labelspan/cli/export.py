"""``labelspan map`` and ``export``: an index as a picture, and for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .shared import (
    DEFAULT,
    IndexArgument,
    IndexOption,
    check_index,
    counted,
    open_index,
    plain_errors,
    progress_bar,
    takes_index,
)

__all__ = ["corpus_map", "export"]


@takes_index
def corpus_map(
    index: IndexArgument = DEFAULT,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A page in HTML, which saves pictures.")
    ] = Path("map.html"),
    title: Annotated[
        str | None, typer.Option(help="Title of the map (default: the name of the index).")
    ] = None,
) -> None:
    """Draw a map of all items: similar items are close, labels give colours and region names.

    The layout is kept in the index; items added later are placed into it.

    The page works offline: zoom, hover over items, colour by any label or metadata, filter, search,
    and save what is shown as PNG or SVG.

    For example:
      labelspan map
      labelspan map notes.labelspan --out notes.html --title "My notes"
    """
    with plain_errors():
        from ..errors import InvalidParameter  # noqa: PLC0415

        if out.suffix.lower() != ".html":
            raise InvalidParameter(f"--out must end in .html, but {str(out)!r} was given.")
        check_index(index)
        from .._files import write_whole  # noqa: PLC0415
        from ..display import CorpusMap, corpus_html  # noqa: PLC0415

        with progress_bar("placing items") as report, open_index(index) as opened:
            found = CorpusMap.from_index(opened, progress=report)
        page = corpus_html(found, index.stem if title is None else title).encode()
        write_whole(out, lambda file: file.write(page))
    typer.echo(
        f"{counted(len(found.ids), 'item')} and {counted(len(found.regions), 'region')}: {out}"
    )


def export(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A .parquet or .jsonl file, postgresql://USER@HOST/DATABASE, or for the labels in "
            "SKOS a .ttl, .nt, .jsonld or .rdf file.",
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
      labelspan export subjects.ttl
      labelspan export postgresql://localhost/notes -i notes.labelspan
    """
    with plain_errors():
        from ..errors import InvalidParameter  # noqa: PLC0415
        from ..export import export_file, export_postgresql, export_skos  # noqa: PLC0415
        from ..export.postgresql import EXAMPLES  # noqa: PLC0415
        from ..export.skos_file import SKOS_SUFFIXES  # noqa: PLC0415

        if target.startswith(("postgresql://", "postgres://")):
            with open_index(index) as opened:
                done = export_postgresql(opened, target, schema=schema, update=update)
            counts = ", ".join(f"{count:,} {name}" for name, count in done.items())
            typer.echo(f"Items in the schema {schema}: {counts}.", err=True)
            typer.echo(EXAMPLES.format(s=schema))
            return
        if target.lower().removesuffix(".gz").endswith(SKOS_SUFFIXES):
            with open_index(index) as opened:
                count = export_skos(opened, target)
            typer.echo(f"{counted(count, 'label')}: {target}")
            return
        if update:
            raise InvalidParameter("--update is for PostgreSQL; a file is written as a whole.")
        with open_index(index) as opened, progress_bar("placing items") as report:
            count = export_file(opened, target, with_map=not no_map, progress=report)
        typer.echo(f"{counted(count, 'item')}: {target}")
