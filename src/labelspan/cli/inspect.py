"""``labelspan info``, ``labels`` and ``audit``: what an index is, and how good its labels are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from .._texts import as_dict, csv_text
from .shared import (
    DEFAULT,
    AsJson,
    IndexOption,
    PlainConsole,
    echo,
    open_index,
    plain_errors,
    plain_table,
    print_json,
)

if TYPE_CHECKING:
    from ..curation import Finding

__all__ = ["audit", "info", "labels", "print_facts"]

_MOST_LABELS = 10


def info(
    index: IndexOption = DEFAULT,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Check all files and items for damage."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Describe an index: its items, labels, dimensions, method and size.

    For example:
      labelspan info
      labelspan info notes.labelspan --json
      labelspan info --verify
    """
    with plain_errors(), open_index(index, verify=verify) as opened:
        from ..index.folder import read_manifest  # noqa: PLC0415

        about = read_manifest(index)["estimator"]
        block = opened.model.block
        labels = sorted(opened.labels.items(), key=lambda entry: (-entry[1], entry[0]))
        size = sum(file.stat().st_size for file in index.rglob("*") if file.is_file())
        found: dict[str, Any] = {
            "index": str(index),
            "items": len(opened),
            "labelled": int((opened.store.labels.counts > 0).sum()),
            "labels": len(labels),
            "dimensions": opened.n_dimensions,
            "features": int(about["values"]["n_features_in_"]),
            "model": "" if block is None else block.named,
            "method": str(about["class"]),
            "parameters": {
                name: value
                for name, value in about["params"].items()
                if name in ("alpha", "beta", "form", "laplacian")
            },
            # What "auto" chose; None for a method without the parameter.
            "alpha": about["values"].get("alpha_"),
            "beta": about["values"].get("beta_"),
            "solver": str(about["values"]["solver_"]),
            "metadata": opened.store.metadata_keys(),
            "megabytes": round(size / 1e6, 2),
            "verified": verify,
        }
    if as_json:
        print_json({**found, "label_counts": dict(labels)})
        return
    found["parameters"] = ", ".join(
        f"{name} {value}" for name, value in found["parameters"].items()
    )
    for name in ("alpha", "beta"):
        value, shown = found.pop(name), found["parameters"]
        if value is not None:
            found["parameters"] = shown.replace(f"{name} auto", f"{name} {value:.3g} (auto)")
    found["verified"] = "every file and item" if found["verified"] else "small files (--verify)"
    top = ", ".join(f"{name} ({count:,})" for name, count in labels[:_MOST_LABELS])
    found["frequent labels"] = top + (", ..." if len(labels) > _MOST_LABELS else "")
    print_facts(found)


def print_facts(found: Mapping[str, Any]) -> None:
    """Print names and values as a table."""
    table = plain_table({"style": "bold", "no_wrap": True}, {"overflow": "fold"})
    for key, value in found.items():
        shown = ", ".join(value) if isinstance(value, list | tuple) else value
        table.add_row(key, Text(f"{shown:,}" if isinstance(shown, int) else str(shown or "-")))
    PlainConsole().print(table)


def labels(
    index: IndexOption = DEFAULT,
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
            from ..answers.labels import branches  # noqa: PLC0415

            nodes = branches(opened)[:number]
            if as_json:
                print_json(nodes)
                return
            for node in nodes:
                total, count = node["total"], node["count"]
                itself = "" if count == total else f" ({count:,} by itself)"
                echo(f"{'  ' * node['depth']}{node['label']}  {total:,}{itself}")
            return
        reports = sorted(opened.label_report(), key=lambda row: (-row.support, row.label))[:number]
        vocabulary = opened.vocabulary
    if as_json:
        answers = [as_dict(row) for row in reports]
        if vocabulary is not None:
            answers = [{**answer, "uri": vocabulary.code(answer["label"])} for answer in answers]
        print_json(answers)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("label", overflow="fold")
    for name in ("items", "chosen", "precision", "recall", "threshold"):
        table.add_column(name, justify="right")
    for row in reports:
        table.add_row(
            Text(row.label),
            f"{row.support:,}",
            f"{row.chosen:,}",
            f"{row.precision:.2f}" if row.chosen else "-",
            f"{row.recall:.2f}",
            "never" if row.never else f"{row.threshold:.2f}",
        )
    PlainConsole().print(table)


_COLUMNS = ("kind", "score", "items", "titles", "labels", "reason")


def audit(
    index: IndexOption = DEFAULT,
    number: Annotated[
        int, typer.Option("--number", "-n", help="Maximum number of findings of a kind.", min=1)
    ] = 10,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table as csv.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find labels that look wrong or missing, and labels to merge or drop.

    For example:
      labelspan audit
      labelspan audit notes.labelspan -n 100 --csv > findings.csv
    """
    with plain_errors():
        from ..curation import audit_labels  # noqa: PLC0415
        from ..curation.audit_results import KINDS  # noqa: PLC0415
        from ..errors import Mismatch  # noqa: PLC0415

        if as_csv and as_json:
            raise Mismatch("Give either --csv or --json, not both.")
        with open_index(index) as opened:
            found = audit_labels(opened, number)
    if as_json:
        print_json(found.findings)
    elif as_csv:
        typer.echo(csv_text([_COLUMNS, *map(_cells, found.findings)]), nl=False)
    else:
        for kind, name in KINDS.items():
            own = found.of(kind)
            if own:
                table = plain_table(*({"overflow": "fold", "ratio": ratio} for ratio in (1, 1, 2)))
                for one in own:
                    pairs = zip(one.items, one.titles or one.items, strict=True)
                    names = [item if item == title else f"{item}: {title}" for item, title in pairs]
                    table.add_row(
                        Text("\n".join(names)),
                        Text(", ".join(one.labels)),
                        Text(one.reason if one.sure else f"Unsure. {one.reason}"),
                    )
                PlainConsole().print(Text(name, style="bold"))
                PlainConsole().print(table)


def _cells(one: Finding) -> tuple[str, ...]:
    """Return a finding as a row of text; several ids, titles or labels are separated by bars."""
    several = ("|".join(names) for names in (one.items, one.titles, one.labels))
    return one.kind, f"{one.score:.4f}", *several, one.reason
