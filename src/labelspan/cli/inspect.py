"""``labelspan info``: what an index is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .shared import DEFAULT, AsJson, IndexArgument, open_index, plain_errors, print_json

__all__ = ["info", "print_facts"]

_MOST_LABELS = 10


def info(
    index: IndexArgument = DEFAULT,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Check that every file and item is what was written."),
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
        labels = sorted(opened.labels.items(), key=lambda entry: (-entry[1], entry[0]))
        size = sum(file.stat().st_size for file in index.rglob("*") if file.is_file())
        found: dict[str, Any] = {
            "index": str(index),
            "items": len(opened),
            "labelled": int((opened.store.labels.counts > 0).sum()),
            "labels": len(labels),
            "dimensions": opened.n_dimensions,
            "features": int(about["values"]["n_features_in_"]),
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
            "metadata": list(opened.fields()),
            "megabytes": round(size / 1e6, 2),
            "search": "exact" if opened.store.ann is None else "approximate",
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
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in found.items():
        shown = ", ".join(value) if isinstance(value, list | tuple) else value
        table.add_row(key, Text(f"{shown:,}" if isinstance(shown, int) else str(shown or "-")))
    Console().print(table)
