"""What the commands that use a saved index share: its argument, and opening it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["DEFAULT", "IndexArgument", "IndexOption", "check_index", "open_index"]

DEFAULT = Path("index.labelspan")

IndexOption = Annotated[
    Path, typer.Option("--index", "-i", help="Folder of the index made by `labelspan fit`.")
]
IndexArgument = Annotated[
    Path, typer.Argument(metavar="[INDEX]", help="Folder of the index made by `labelspan fit`.")
]


def check_index(path: Path) -> None:
    """Raise an error that says how to make an index where there is none."""
    from ..errors import MissingData  # noqa: PLC0415

    try:
        there = (path / "manifest.json").exists()
    except OSError:
        # Something is there that cannot be read; opening it says what.
        there = True
    if not there:
        raise MissingData(
            f"There is no index in {str(path)!r}; make one with `labelspan fit CORPUS --out "
            f"{path}`, or give the folder of an existing one."
        )


def open_index(path: Path, *, write: bool = False, verify: bool = False) -> SemanticIndex:
    """Open an index, which must exist; ``verify`` checks every file and item."""
    # Before the import: an error does not wait for scikit-learn.
    check_index(path)
    from ..index import SemanticIndex  # noqa: PLC0415

    return SemanticIndex.load(path, write=write, verify=verify)
