"""The report of a run: claims, tables and figures, as Markdown and as one HTML file."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from .paper import Paper, Part, Table
from .verdicts import Verdict

__all__ = ["Section", "html_list", "html_page", "html_picture", "html_table", "markdown", "page"]

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


@dataclass(frozen=True)
class Section:
    """A part as it came out: its tables, its picture's file, and how long its jobs took."""

    paper: Paper
    part: Part
    tables: Sequence[Table]
    figure: Path | None
    jobs: int
    seconds: float
    warnings: Sequence[str] = field(default_factory=tuple)


def markdown(
    title: str, about: Sequence[str], sections: Sequence[Section], verdicts: Sequence[Verdict]
) -> str:
    """The report as Markdown; pictures are files beside it."""
    lines = [f"# {title}", "", *(f"- {line}" for line in about), ""]
    for paper in _papers(sections):
        lines += [f"## {paper.name}: {paper.title}", "", paper.citation, ""]
        lines += _markdown_table(_claims_table(paper, verdicts))
        for section in sections:
            if section.paper.name != paper.name:
                continue
            lines += [f"### {section.part.name}: {section.part.title}", "", _ran(section), ""]
            lines += [f"- {line}" for line in section.part.deviations]
            lines += [f"- Warned: {line}" for line in section.warnings]
            lines += [""] if section.part.deviations or section.warnings else []
            if section.figure is not None:
                lines += [f"![{section.part.title}]({section.figure.name})", ""]
            for table in section.tables:
                lines += _markdown_table(table)
    return "\n".join(lines).rstrip() + "\n"


def page(
    title: str, about: Sequence[str], sections: Sequence[Section], verdicts: Sequence[Verdict]
) -> str:
    """The report as one HTML file that needs no other."""
    body = [f"<h1>{escape(title)}</h1>", html_list(about)]
    for paper in _papers(sections):
        body += [f"<h2>{escape(paper.name)}: {escape(paper.title)}</h2>"]
        body += [f"<p>{escape(paper.citation)}</p>", html_table(_claims_table(paper, verdicts))]
        for section in sections:
            if section.paper.name != paper.name:
                continue
            body.append(f"<h3>{escape(section.part.name)}: {escape(section.part.title)}</h3>")
            body.append(f"<p>{escape(_ran(section))}</p>")
            warned = [f"Warned: {line}" for line in section.warnings]
            body.append(html_list([*section.part.deviations, *warned]))
            if section.figure is not None:
                body.append(html_picture(section.figure.read_bytes(), section.part.title))
            body += [html_table(table) for table in section.tables]
    return html_page(title, body)


def html_page(title: str, body: Sequence[str]) -> str:
    """A page that needs no other file, from the parts of its body."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _papers(sections: Iterable[Section]) -> list[Paper]:
    return list({section.paper.name: section.paper for section in sections}.values())


def _ran(section: Section) -> str:
    return f"{section.jobs} job(s), {section.seconds:,.0f} s of one core."


def _claims_table(paper: Paper, verdicts: Sequence[Verdict]) -> Table:
    rows = [
        (
            verdict.claim.text,
            verdict.claim.where,
            verdict.outcome,
            f"{verdict.agreeing} of {verdict.cells}",
            verdict.measured,
        )
        for verdict in verdicts
        if verdict.claim.paper == paper.name
    ]
    head = ("claim", "where", "verdict", "cases", "measured")
    return Table("Claims", head, rows)


def _markdown_table(table: Table) -> list[str]:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    lines = [f"**{table.title}**", "", row(table.head), row(["---"] * len(table.head))]
    lines += [row(cells) for cells in table.rows]
    return [*lines, "", *([table.note, ""] if table.note else [])]


def html_picture(content: bytes, title: str) -> str:
    """A PNG picture inside the page."""
    picture = base64.b64encode(content).decode()
    return f'<img alt="{escape(title, quote=True)}" src="data:image/png;base64,{picture}">'


def html_table(table: Table) -> str:
    """A table with its title and its note."""
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
    """Sentences as a list; nothing where there is none."""
    if not lines:
        return ""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
