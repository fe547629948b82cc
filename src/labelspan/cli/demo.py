"""``labelspan demo``: from nothing to a fitted index, in under a minute."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from .._install import install_command
from .search import hit_table
from .shared import Force, PlainConsole, note, plain_errors

__all__ = ["demo"]

_SEARCHES = ("listen to songs", "draw molecules", "shoot aliens in space")
_NEXT = (
    ("search -i {out} --like gimp --explain", "programs similar to one, and why"),
    ("tag -i {out} 'A drawing program for vector graphics'", "tags for a text"),
    ("map {out}", "a map of all items (first: {install})"),
    ("serve {out} --open", "explore it in a browser (the same extras)"),
    ("evaluate debtags", "compare methods, in two minutes"),
    ("fit YOURS.jsonl", "the same for your own corpus"),
)


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the index.")] = Path(
        "demo.labelspan"
    ),
    force: Force = False,
) -> None:
    """Try labelspan: fit an index on 4,899 tagged Debian programs, and search it.

    Works offline. `labelspan fit debtags` makes the same index; `labelspan evaluate debtags`
    compares methods on programs not used for training.

    For example:

      labelspan demo
    """
    with plain_errors():
        from ..datasets.registry import load_debtags  # noqa: PLC0415
        from ..index import SemanticIndex  # noqa: PLC0415

        start = time.perf_counter()
        there = (out / "manifest.json").is_file() and not force
        if not there:
            data = load_debtags()
            note(f"fitting an index on {len(data):,} programs")
            index = SemanticIndex().fit(data.texts, data.labels, data.ids, metadata=data.metadata)
            index.save(out)
        with SemanticIndex.load(out) as opened:
            labels, count = opened.labels, len(opened)
            hits = [opened.search(query, 5) for query in _SEARCHES]
    kept = "exists and was not changed; --force overwrites it" if there else "is the index"
    seconds = time.perf_counter() - start
    typer.echo(
        f"{out} {kept}: {count:,} Debian programs with {len(labels):,} tags, after {seconds:.0f} s."
    )
    console = PlainConsole()
    for query, found in zip(_SEARCHES, hits, strict=True):
        console.print(Text(f"\nlabelspan search -i {out} {query}", style="bold"))
        console.print(hit_table(found, labels))
    typer.echo("\nNext:\n")
    for command, what in _NEXT:
        about = what.format(install=install_command("plot,app"))
        typer.echo(f"  # {about}\n  labelspan {command.format(out=out)}")
