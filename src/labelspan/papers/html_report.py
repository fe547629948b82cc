"""Reports as one self-contained HTML file with tables, lists and images."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from ..evaluation.measurements import ReportTable

__all__ = ["html_list", "html_page", "html_picture", "html_table"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { border-bottom: 1px solid #8886; padding: 0.25rem 0.6rem; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; background: white; }
.scroll { overflow-x: auto; }
.holds { color: #1a7f37; } .part { color: #9a6700; } .fails { color: #cf222e; }
"""
_CLASS = {"holds": "holds", "holds in part": "part", "does not hold": "fails", "not run": ""}


def html_page(title: str, body: Sequence[str]) -> str:
    """Create a self-contained page from the parts of its body."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def html_picture(content: bytes, title: str) -> str:
    """Embed a PNG image in the page."""
    picture = base64.b64encode(content).decode()
    return f'<img alt="{escape(title, quote=True)}" src="data:image/png;base64,{picture}">'


def html_table(table: ReportTable) -> str:
    """Write a table with its title and note."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    rows = "".join(f"<tr>{''.join(map(_cell, cells))}</tr>" for cells in table.rows)
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return (
        f'<p><strong>{escape(table.title)}</strong></p><div class="scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}"
    )


def _cell(text: str) -> str:
    if text in _CLASS:
        return f'<td class="{_CLASS[text]}">{escape(text)}</td>'
    number = text.strip("+-.%± ")[:1].isdigit() and len(text) < 20
    return f'<td class="number">{escape(text)}</td>' if number else f"<td>{escape(text)}</td>"


def html_list(lines: Sequence[str]) -> str:
    """Write sentences as a list; nothing for an empty one."""
    if not lines:
        return ""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
