"""What the commands that use a saved index share: its argument, opening it, its labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = [
    "DEFAULT",
    "IndexArgument",
    "IndexOption",
    "SameIndex",
    "check_index",
    "chosen_index",
    "complete_label",
    "open_index",
]

DEFAULT = Path("index.labelspan")
_MOST_COMPLETED = 100

IndexOption = Annotated[
    Path, typer.Option("--index", "-i", help="Folder of the index made by `labelspan fit`.")
]
IndexArgument = Annotated[
    Path, typer.Argument(metavar="[INDEX]", help="Folder of the index made by `labelspan fit`.")
]

# Commands that take the index as an argument take it as the others do as well.
SameIndex = Annotated[Path | None, typer.Option("--index", "-i", help="The same as INDEX.")]


def chosen_index(index: Path, same: Path | None) -> Path:
    """Return the index that was given as an argument or as an option."""
    if same is not None and index not in (DEFAULT, same):
        raise typer.BadParameter(
            f"INDEX is {str(index)!r} and --index {str(same)!r}; give one of them."
        )
    return index if same is None else same


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


def complete_label(ctx: typer.Context, incomplete: str) -> list[str]:
    """List the labels of the index with names that start with some characters, for the shell."""
    from ..errors import LabelspanError  # noqa: PLC0415

    path = Path(ctx.params.get("index") or DEFAULT)
    try:
        check_index(path)
        from ..index import SemanticIndex  # noqa: PLC0415

        with SemanticIndex.load(path) as index:
            return [one.label for one in index.find_labels(incomplete, _MOST_COMPLETED)]
    except (LabelspanError, OSError):
        return []
