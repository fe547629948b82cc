"""The table of data sets, written from their cards.

``reference/datasets.md`` holds a comment that ``generated`` replaces by :func:`table`.
"""

from __future__ import annotations

from labelspan import datasets

MARK = "<!-- the data sets -->"


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
