"""``labelspan map`` and ``export``: an index as a picture, and for other programs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from .._install import install_command
from .shared import (
    DEFAULT,
    AsJson,
    IndexOption,
    check_index,
    counted,
    open_index,
    plain_errors,
    print_json,
    progress_bar,
)

__all__ = ["corpus_map", "export"]

_ENDINGS = (".png", ".html")


def corpus_map(
    index: IndexOption = DEFAULT,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            help="A .png image or a .html page; repeat for both (default: map.png and map.html).",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title of the map (default: the name of the index).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a map of all items: similar items are close, labels give colours and region names.

    The layout is kept in the index; items added later are placed into it.

    The page works offline: zoom, hover over items, colour by any label or metadata, filter, search.

    For example:
      labelspan map
      labelspan map notes.labelspan --out notes.html --title "My notes"
    """
    files = out or [Path("map.png"), Path("map.html")]
    with plain_errors():
        _check(files)
        check_index(index)
        from .._files import write_whole  # noqa: PLC0415
        from ..display.corpus_map import CorpusMap  # noqa: PLC0415

        name = index.stem if title is None else title
        with progress_bar("placing items") as report, open_index(index) as opened:
            found = CorpusMap.from_index(opened, progress=report)
            for path in files:
                write_whole(path, _writer(found, path, name))
    if as_json:
        print_json(
            {"items": len(found.ids), "regions": found.regions, "files": list(map(str, files))}
        )
        return
    items, regions = counted(len(found.ids), "item"), counted(len(found.regions), "region")
    for path in files:
        typer.echo(f"{items} and {regions}: {path}")


def _check(files: list[Path]) -> None:
    """Check that every file can be written, before any work is done."""
    from ..errors import InvalidParameter, MissingData  # noqa: PLC0415

    for path in files:
        ending = path.suffix.lower()
        if ending not in _ENDINGS:
            raise InvalidParameter(f"--out must end in .png or .html, but {str(path)!r} was given.")
        if ending == ".png" and find_spec("matplotlib") is None:
            raise MissingData(
                f"{path} needs matplotlib, which is not installed; {install_command('plot')}."
            )


def _writer(found: Any, path: Path, title: str) -> Callable[[BinaryIO], object]:
    if path.suffix.lower() == ".html":
        from ..display.corpus_html import corpus_html  # noqa: PLC0415

        page = corpus_html(found, title).encode()
        return lambda file: file.write(page)
    import matplotlib  # noqa: PLC0415 - an optional dependency

    from ..display.corpus_map import CorpusMapDisplay  # noqa: PLC0415

    matplotlib.use("Agg")
    figure = CorpusMapDisplay(found).plot(title=title).figure_
    return lambda file: figure.savefig(file, format="png", dpi=150)


def export(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A .parquet, .jsonl or .csv file, postgresql://USER@HOST/DATABASE, or for the "
            "labels in SKOS a .ttl, .nt, .jsonld or .rdf file.",
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
        from ..export.item_file import check_table  # noqa: PLC0415
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
        check_table(target)
        with open_index(index) as opened, progress_bar("placing items") as report:
            count = export_file(opened, target, with_map=not no_map, progress=report)
        typer.echo(f"{counted(count, 'item')}: {target}")
