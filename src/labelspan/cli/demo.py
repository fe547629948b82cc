"""``labelspan demo``: from nothing to a fitted index, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from .._install import install_command
from .search import hit_table
from .shared import Force, PlainConsole, plain_errors, progress_bar

if TYPE_CHECKING:
    from ..evaluation.demo_corpus import Demo

__all__ = ["demo"]

_NEXT = (
    ("search -i {out} --like gimp --explain", "programs similar to one, and why"),
    ("tag -i {out} 'A drawing program for vector graphics'", "tags for a text"),
    ("map {out}", "a map of all items (first: {install})"),
    ("serve {out} --open", "explore it in a browser (the same extras)"),
    ("evaluate debtags", "compare more methods, in two minutes"),
    ("fit YOURS.jsonl", "the same for your own corpus"),
)


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the index.")] = Path(
        "demo.labelspan"
    ),
    force: Force = False,
) -> None:
    """Try it out: fit an index on 4,899 tagged Debian programs, evaluate it and search it.

    Three representations are compared on programs not used for training: all words, LSI, which
    learns from the texts only, and MLSI, which learns from texts and tags. Works offline.

    For example:

      labelspan demo
    """
    with plain_errors():
        from ..evaluation.demo_corpus import SEARCHES, STEPS, run_demo  # noqa: PLC0415

        with progress_bar("demo") as report:
            found = run_demo(lambda step: report(STEPS.index(step), len(STEPS)))
        there = (out / "manifest.json").is_file() and not force
        if not there:
            found.index.save(out)
    console = PlainConsole()
    console.print(
        f"Trained on {found.train:,} Debian programs with {found.labels} tags, evaluated on "
        f"{found.test:,} others.\n",
        highlight=False,
    )
    console.print(_table(found))
    for query, hits in zip(SEARCHES, found.hits, strict=True):
        console.print(Text(f"\nlabelspan search -i {out} {query}", style="bold"))
        console.print(hit_table(hits, found.index.labels))
    kept = "exists and was not changed; --force overwrites it" if there else "is the index"
    console.print(Text(f"\n{out} {kept}. {found.seconds:.0f} s in all. Next:\n"))
    for command, what in _NEXT:
        about = what.format(install=install_command("plot,app"))
        typer.echo(f"  # {about}\n  labelspan {command.format(out=out)}")


def _table(found: Demo) -> Table:
    table = Table(
        title="Programs not used for training",
        caption="F1: of predicted tags. nDCG and Jaccard: of the tags of the ten nearest programs.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("space")
    for name in ("dimensions", "macro F1", "micro F1", "nDCG@10", "Jaccard@10"):
        table.add_column(name, justify="right")
    best = {
        name: max(getattr(row, name) for row in found.rows)
        for name in ("macro_f1", "micro_f1", "ndcg", "jaccard")
    }
    for row in found.rows:
        cells = []
        for name, most in best.items():
            value = getattr(row, name)
            cells.append(f"[bold]{value:.3f}[/bold]" if value == most else f"{value:.3f}")
        table.add_row(row.space, f"{row.dimensions:,}", *cells)
    return table
