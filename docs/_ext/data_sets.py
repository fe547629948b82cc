"""The table of data sets, written from their cards.

``reference/datasets.md`` holds a comment that is replaced by :func:`table` when it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelspan import datasets

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MARK = "<!-- the data sets -->"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app: Sphinx, name: str, source: list[str]) -> None:
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, table())


def table() -> str:
    """Every data set with its size, content, the papers that use it, and where it comes from."""
    lines = ["| name | size | content | papers | source |", "| --- | --- | --- | --- | --- |"]
    for name in datasets.names():
        card = datasets.card(name)
        source = card.where.removeprefix("it comes with ")
        if source == card.where:
            fetched = source.startswith(f"labelspan data get {name}")
            source = f"`data get {name}`" if fetched else "by hand"
        papers = ", ".join(card.papers)
        lines.append(f"| `{name}` | {card.size} | {card.title} | {papers} | {source} |")
    return "\n".join(lines)
