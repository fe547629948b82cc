"""``labelspan demo``: from nothing to a fitted index, in under a minute."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .corpus_argument import AsJson
from .failures import one_sentence
from .progress import shown
from .search import hit_table

if TYPE_CHECKING:
    from ..evaluation.demo_corpus import Demo

__all__ = ["demo"]

_NEXT = (
    ("search -i {out} --like gimp --explain", "programs like one, and why"),
    ("tag -i {out} 'A drawing program for vector graphics'", "tags for a text"),
    ("axes {out}", "what the dimensions mean"),
    ("map {out}", "a picture of it all (first: pip install 'labelspan[plot,app]')"),
    ("serve {out} --open", "explore it in a browser (the same extras)"),
    ("evaluate debtags", "compare more spaces, in two minutes"),
    ("fit YOURS.jsonl", "the same for a corpus of your own"),
)


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the index.")] = Path(
        "demo.labelspan"
    ),
    force: Annotated[
        bool, typer.Option("--force", help="Write over an index that is there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """See it work: learn an index from 4,899 tagged programs of Debian, judge it, search it.

    Three spaces are compared on programs that they have not seen: all words, LSI, which knows
    the texts alone, and MLSI, which has learned from texts and tags. Needs no network.

    For example:

      labelspan demo
    """
    with one_sentence():
        from ..evaluation.demo_corpus import SEARCHES, STEPS, run_demo  # noqa: PLC0415

        with shown("demo") as told:
            found = run_demo(lambda step: told(STEPS.index(step), len(STEPS)))
        there = (out / "manifest.json").is_file() and not force
        if not there:
            found.index.save(out)
    if as_json:
        answer = {
            "rows": [asdict(row) for row in found.rows],
            "searches": {
                query: [{"id": hit.id, "score": hit.score} for hit in hits]
                for query, hits in zip(SEARCHES, found.hits, strict=True)
            },
            "index": str(out),
            "seconds": round(found.seconds, 2),
        }
        typer.echo(json.dumps(answer, indent=2))
        return
    console = Console()
    console.print(
        f"{found.train:,} programs of Debian with {found.labels} tags were learned from, "
        f"{found.test:,} others are to be found and tagged.\n",
        highlight=False,
    )
    console.print(_table(found))
    for query, hits in zip(SEARCHES, found.hits, strict=True):
        console.print(Text(f"\nlabelspan search -i {out} {query}", style="bold"))
        console.print(hit_table(hits, found.index.labels))
    kept = "was there and is as it was; --force writes it anew" if there else "is the index"
    console.print(Text(f"\n{out} {kept}. {found.seconds:.0f} s in all. Next:\n"))
    for command, what in _NEXT:
        typer.echo(f"  # {what}\n  labelspan {command.format(out=out)}")


def _table(found: Demo) -> Table:
    table = Table(
        title="Programs not seen in learning",
        caption="F1: tags predicted. nDCG and Jaccard: tags of the ten nearest programs.",
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
