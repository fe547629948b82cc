"""The table of formats, written from the classes that read them.

``reference/files.md`` holds a comment that is replaced by :func:`table` when it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelspan.corpus import all_readers

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MARK = "<!-- the formats -->"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app: Sphinx, name: str, source: list[str]) -> None:
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, table())


def table() -> str:
    """Every format with its suffixes, what an item is, and whether labels are written back."""
    lines = ["| `--format` | suffixes | what it is | an item is a | labels written back |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for name, one in all_readers().items():
        suffixes = ", ".join(f"`{suffix}`" for suffix in one.suffixes)
        about = (one.__doc__ or "").partition("\n")[0].removesuffix(".").replace("|", "\\|")
        written = "yes" if one.writable else "no"
        lines.append(f"| `{name}` | {suffixes} | {about} | {one.unit} | {written} |")
    return "\n".join(lines)
