"""The table of formats, written from the classes that read them.

``reference/files.md`` holds a comment that ``generated`` replaces by :func:`table`.
"""

from __future__ import annotations

from labelspan.corpus import all_readers

MARK = "<!-- the formats -->"


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
