"""What the verbs that use a saved index share: naming it, opening it, completing its labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["DEFAULT", "IndexArgument", "IndexOption", "complete_label", "found", "open_index"]

DEFAULT = Path("index.labelspan")

IndexOption = Annotated[
    Path, typer.Option("--index", "-i", help="Folder of the index that `labelspan fit` made.")
]
IndexArgument = Annotated[
    Path, typer.Argument(metavar="[INDEX]", help="Folder of the index that `labelspan fit` made.")
]


def open_index(path: Path, *, write: bool = False) -> SemanticIndex:
    """Open an index; where there is none, say how to make one."""
    from ..index import SemanticIndex  # noqa: PLC0415

    with found(path):
        return SemanticIndex.load(path, write=write)


@contextmanager
def found(path: Path) -> Iterator[None]:
    """Where there is no index, say how to make one."""
    from ..errors import MissingData  # noqa: PLC0415

    try:
        yield
    except MissingData:
        raise MissingData(
            f"There is no index in {str(path)!r}; make one with `labelspan fit CORPUS --out "
            f"{path}`, or name the folder of yours."
        ) from None


def complete_label(ctx: typer.Context, incomplete: str) -> list[str]:
    """For the shell: the labels of the index that begin, or go on, like this."""
    from ..errors import LabelspanError  # noqa: PLC0415
    from ..index import SemanticIndex  # noqa: PLC0415

    try:
        with SemanticIndex.load(ctx.params.get("index") or DEFAULT, verify=False) as index:
            names = list(index.labels)
    except (LabelspanError, OSError):
        return []
    return [name for name in names if name.startswith(incomplete)]
