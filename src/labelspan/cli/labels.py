"""``labelspan labels``, ``relabel`` and ``remove``: labels that are predicted; change items."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .shared import (
    DEFAULT,
    AsJson,
    IndexArgument,
    IndexOption,
    open_index,
    plain_errors,
    print_json,
    standard_lines,
)

if TYPE_CHECKING:
    from ..index.label_tree import LabelNode
    from ..index.store import LabelTable

__all__ = ["labels", "relabel", "remove"]


def labels(
    index: IndexArgument = DEFAULT,
    number: Annotated[
        int | None, typer.Option("--number", "-n", help="Maximum number of labels.", min=1)
    ] = None,
    tree: Annotated[
        bool, typer.Option("--tree", help="Show the tree of the vocabulary instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how well each label is predicted on held-out items.

    With --tree, labels are shown as the tree of the index's vocabulary, with the
    number of items that have a label or a narrower one.

    For example:

      labelspan labels

      labelspan labels --tree

      labelspan labels notes.labelspan --json
    """
    with plain_errors(), open_index(index) as opened:
        if tree:
            nodes = [row for node in opened.label_tree() for row in node.walk()]
            _show_tree(nodes[:number], as_json=as_json)
            return
        found = sorted(opened.label_report(), key=lambda row: (-row.support, row.label))[:number]
    if as_json:
        print_json([{**asdict(row), "never": row.never} for row in found])
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("label", overflow="fold")
    for name in ("items", "chosen", "precision", "recall", "threshold"):
        table.add_column(name, justify="right")
    for row in found:
        table.add_row(
            Text(row.label),
            f"{row.support:,}",
            f"{row.chosen:,}",
            f"{row.precision:.2f}" if row.chosen else "-",
            f"{row.recall:.2f}",
            "never" if row.never else f"{row.threshold:.2f}",
        )
    Console().print(table)


def _show_tree(rows: Sequence[tuple[int, LabelNode]], *, as_json: bool) -> None:
    if as_json:
        found = [
            {"depth": depth, "label": one.label, "count": one.count, "total": one.total}
            for depth, one in rows
        ]
        print_json(found)
        return
    for depth, one in rows:
        own = "" if one.count == one.total else f" ({one.count:,} by itself)"
        typer.echo(f"{'  ' * depth}{one.label}  {one.total:,}{own}")


def relabel(  # noqa: PLR0917 - typer reads options from parameters
    item: Annotated[str | None, typer.Argument(metavar="ID", help="Id of the item.")] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="LABEL", help="Its new labels; give none to remove all."),
    ] = None,
    index: IndexOption = DEFAULT,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="The labels of the item are not known.")
    ] = False,
    changes: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Change the labels of all items of a CSV file: an id and its labels, separated by "
            "|, in each line; - reads standard input.",
        ),
    ] = None,
    new_label: Annotated[
        bool, typer.Option("--new-label", help="Allow labels that no item has yet.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Change the labels of items; the tagger learns from the change.

    A label that no item has yet is only created with --new-label: it may be a typo.

    For example:

      labelspan relabel gimp works-with::image use::editing

      labelspan relabel gimp --unknown -i notes.labelspan

      labelspan relabel --from changes.csv
    """
    with plain_errors():
        from ..curation import Review  # noqa: PLC0415
        from ..errors import Mismatch  # noqa: PLC0415
        from ..index.inputs import read_label_lists  # noqa: PLC0415

        if unknown and names:
            raise Mismatch("Give either labels or --unknown, not both.")
        if (item is None) == (changes is None):
            raise Mismatch("Give either the id of an item and its labels, or --from FILE.")
        if changes is not None:
            wanted = _read_changes(changes)
        else:
            assert item is not None
            wanted = {item: None if unknown else list(names or [])}
        with open_index(index, write=True) as opened:
            if not new_label:
                _check_known(opened.store.labels, wanted)
            before = {one.id: one.labels for one in opened.items(list(wanted))}
            lists = read_label_lists(list(wanted.values()), len(wanted), "relabel")
            Review(opened).relabel(dict(zip(wanted, lists, strict=True)))
            after = {one.id: one.labels for one in opened.items(list(wanted))}
    if as_json:
        answers = [{"id": one, "before": before[one], "labels": after[one]} for one in after]
        print_json(answers if changes is not None else answers[0])
    elif changes is not None:
        different = sum(before[one] != own for one, own in after.items())
        typer.echo(f"{len(after):,} items, of which {different:,} have other labels now.")
    else:
        assert item is not None
        own = after[item]
        typer.echo(f"Labels of {item}: {'unknown' if own is None else ', '.join(own) or 'none'}.")


def _read_changes(source: str) -> dict[str, list[str] | None]:
    """Read ids and labels from a CSV file, whose first line may be a header."""
    from ..errors import InvalidFile, MissingData  # noqa: PLC0415

    try:
        if source == "-":
            lines = list(standard_lines())
        else:
            lines = Path(source).read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise MissingData(f"There is no file {source!r}; correct --from.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{source} cannot be read: {error}.") from error
    found: dict[str, list[str] | None] = {}
    for number, row in enumerate(csv.reader(lines), start=1):
        if not any(cell.strip() for cell in row):
            continue
        if number == 1 and [cell.strip().lower() for cell in row] == ["id", "labels"]:
            continue
        name, *rest = (cell.strip() for cell in row)
        if not rest or not name:
            raise InvalidFile(
                f"{source}, line {number}: give an id and its labels, for example gimp,a|b."
            )
        if name in found:
            raise InvalidFile(f"{source}, line {number}: the id {name!r} occurs twice.")
        found[name] = [one.strip() for cell in rest for one in cell.split("|") if one.strip()]
    if not found:
        raise InvalidFile(f"{source} has no changes; give an id and its labels in each line.")
    return found


def _check_known(table: LabelTable, wanted: Mapping[str, Sequence[str] | None]) -> None:
    from ..errors import InvalidInput  # noqa: PLC0415
    from ..index.inputs import label_name  # noqa: PLC0415

    for own in wanted.values():
        for name in own or ():
            if label_name(name) not in table.totals:
                message = str(table.unknown(label_name(name)))
                raise InvalidInput(f"{message} Give --new-label to create it.")


def remove(
    items: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of the items.")],
    index: IndexOption = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Remove items from an index: all of them or, if an id does not exist, none.

    For example:

      labelspan remove gimp inkscape
    """
    with plain_errors(), open_index(index, write=True) as opened:
        before = len(opened)
        opened.remove(items)
        after = len(opened)
    removed = before - after
    if as_json:
        answer = {"index": str(index), "removed": removed, "items": after}
        print_json(answer)
    else:
        what = "item" if removed == 1 else "items"
        typer.echo(f"{removed:,} {what} removed; {index} now has {after:,}.")
