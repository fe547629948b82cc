"""``labelspan history`` and ``undo``: list what was changed in an index, and take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import (
    DEFAULT,
    AsJson,
    IndexOption,
    check_index,
    echo,
    open_index,
    plain_errors,
    print_json,
)

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["history", "undo"]

_MOST_SHOWN = 20
WhoOption = Annotated[
    str, typer.Option("--as", metavar="NAME", help="Your name, recorded with the change.")
]


def history(  # noqa: PLR0917 - typer reads options from parameters
    index: IndexOption = DEFAULT,
    n: Annotated[int, typer.Option("-n", min=1, help="Maximum number of changes.")] = 20,
    item: Annotated[str, typer.Option(metavar="ID", help="Only changes of this item.")] = "",
    label: Annotated[str, typer.Option(metavar="LABEL", help="Only changes of this label.")] = "",
    number: Annotated[
        int, typer.Option("--number", metavar="N", help="Show the values of this change.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """List what was changed, the newest first: items, labels, metadata, answers and undos.

    For example:
      labelspan history
      labelspan history notes.labelspan --item gimp
      labelspan history --number 12 --json
    """
    with plain_errors():
        check_index(index)
        with open_index(index) as opened:
            found = opened.history(n, item=item, label=label)
            if number:
                entry = opened.store.history.entry(number)
                found = [] if entry is None else [entry]
            if as_json:
                from ..answers.change_list import cells, change_data  # noqa: PLC0415

                values: dict[str, Any] = {**cells(opened, {"number": number})} if number else {}
                print_json([{**change_data(one), **values} for one in found])
                return
            for one in found:
                mark = " (undone)" if one.undone else ""
                who = one.who or "-"
                echo(f"{one.number:>6}  {one.time[:16].replace('T', ' ')}  {who}  {one.said}{mark}")
                if number:
                    _show_values(opened, number)
            if not found:
                typer.echo("Nothing was changed yet." if not number else "There is no such change.")


def _show_values(index: SemanticIndex, number: int) -> None:
    cells = index.changes(number)
    for cell in cells[:_MOST_SHOWN]:
        where = f"{cell.item}, {cell.field}" if cell.item else cell.field
        echo(f"          {where}: {cell.before!s:.60} -> {cell.after!s:.60}")
    if len(cells) > _MOST_SHOWN:
        echo(f"          and {len(cells) - _MOST_SHOWN:,} more; --json lists all.")


def undo(
    number: Annotated[
        int | None, typer.Argument(metavar="[N]", help="Number of the change; by default the last.")
    ] = None,
    index: IndexOption = DEFAULT,
    who: WhoOption = "",
    as_json: AsJson = False,
) -> None:
    """Undo a change of an index: restore what it replaced, unless it was changed again since.

    An undo is a change, too, and can be undone.

    For example:
      labelspan undo
      labelspan undo 12 -i notes.labelspan
    """
    with plain_errors(), open_index(index, write=True) as opened:
        made = opened.undo(number, who=who)
        if as_json:
            from ..answers.change_list import change_data  # noqa: PLC0415

            entry = change_data(made.entry)
            print_json({**vars(made), "entry": entry, "said": made.said})
        else:
            echo(f"{made.said} `labelspan undo {made.number}` does it again.")
