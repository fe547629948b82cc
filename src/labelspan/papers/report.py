"""The report of a run: claims, tables and figures, as Markdown and as one HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from ..evaluation.measurements import ReportTable
from .html_report import html_list, html_page, html_picture, html_table
from .paper import Paper, PaperPart
from .verdicts import Verdict

__all__ = ["Section", "markdown_pages", "page"]


@dataclass(frozen=True)
class Section:
    """The outcome of a part: its tables, the file of its figure, and the time of its jobs."""

    paper: Paper
    part: PaperPart
    tables: Sequence[ReportTable]
    figure: Path | None
    jobs: int
    seconds: float
    warnings: Sequence[str] = field(default_factory=tuple)


def markdown_pages(
    title: str,
    about: Sequence[str],
    sections: Sequence[Section],
    verdicts: Sequence[Verdict],
    introduction: str = "",
) -> dict[str, str]:
    """Write the report as a page with the summary, ``report.md``, and a page per paper."""
    lines = [f"# {title}", "", *([introduction.strip(), ""] if introduction else [])]
    table = _summary_table(sections, verdicts)
    rows = [(f"[{row[0]}]({row[0]}.md)", *row[1:]) for row in table.rows]
    lines += _markdown_table(ReportTable(table.title, table.head, rows, table.note))
    lines += [f"- {line}" for line in about]
    found = {"report.md": lines}
    for paper in _papers(sections):
        found[f"{paper.name}.md"] = _markdown_paper(paper, sections, verdicts, about)
    return {name: "\n".join(text).rstrip() + "\n" for name, text in found.items()}


def _markdown_paper(
    paper: Paper, sections: Sequence[Section], verdicts: Sequence[Verdict], about: Sequence[str]
) -> list[str]:
    lines = [f"# {paper.name}: {paper.title}", "", paper.citation, "", *about[:1], ""]
    lines += _markdown_table(_claims_table(paper, verdicts))
    for section in sections:
        if section.paper.name != paper.name:
            continue
        lines += [f"## {section.part.name}: {section.part.title}", "", _ran(section), ""]
        lines += [f"- {line}" for line in section.part.deviations]
        lines += [f"- Warning: {line}" for line in section.warnings]
        lines += [""] if section.part.deviations or section.warnings else []
        if section.figure is not None:
            lines += [f"![{section.part.title}]({section.figure.name})", ""]
        for table in section.tables:
            lines += _markdown_table(table)
    return lines


def page(
    title: str, about: Sequence[str], sections: Sequence[Section], verdicts: Sequence[Verdict]
) -> str:
    """Write the report as one self-contained HTML file."""
    body = [f"<h1>{escape(title)}</h1>", html_list(about)]
    body.append(html_table(_summary_table(sections, verdicts)))
    for paper in _papers(sections):
        body += [f"<h2>{escape(paper.name)}: {escape(paper.title)}</h2>"]
        body += [f"<p>{escape(paper.citation)}</p>", html_table(_claims_table(paper, verdicts))]
        for section in sections:
            if section.paper.name != paper.name:
                continue
            body.append(f"<h3>{escape(section.part.name)}: {escape(section.part.title)}</h3>")
            body.append(f"<p>{escape(_ran(section))}</p>")
            warnings = [f"Warning: {line}" for line in section.warnings]
            body.append(html_list([*section.part.deviations, *warnings]))
            if section.figure is not None:
                body.append(html_picture(section.figure.read_bytes(), section.part.title))
            body += [html_table(table) for table in section.tables]
    return html_page(title, body)


def _papers(sections: Iterable[Section]) -> list[Paper]:
    return list({section.paper.name: section.paper for section in sections}.values())


def _ran(section: Section) -> str:
    return f"{section.jobs} job(s), {section.seconds:,.0f} s on one core."


def _claims_table(paper: Paper, verdicts: Sequence[Verdict]) -> ReportTable:
    rows = [
        (
            verdict.claim.text,
            verdict.claim.where,
            verdict.claim.criterion,
            verdict.outcome,
            f"{verdict.agreeing} of {verdict.cells}{_ties(verdict)}",
            verdict.measured,
        )
        for verdict in verdicts
        if verdict.claim.paper == paper.name
    ]
    head = ("claim", "where", "criterion", "verdict", "cases", "measured")
    return ReportTable("Claims", head, rows)


def _ties(verdict: Verdict) -> str:
    return f", {verdict.ties} near tie{'s' * (verdict.ties > 1)}" if verdict.ties else ""


def _summary_table(sections: Sequence[Section], verdicts: Sequence[Verdict]) -> ReportTable:
    outcomes = ("holds", "holds in part", "does not hold")
    rows = []
    for paper in _papers(sections):
        own = [verdict for verdict in verdicts if verdict.claim.paper == paper.name]
        counts = [
            sum(one.outcome == outcome and not one.claim.about_data for one in own)
            for outcome in outcomes
        ]
        data = [one for one in own if one.claim.about_data and one.outcome != "not run"]
        agree = sum(one.outcome == "holds" for one in data)
        ties = sum(verdict.ties for verdict in own)
        cells = sum(verdict.cells for verdict in own if verdict.claim.right)
        sizes = f"{agree} of {len(data)}" if data else ""
        rows.append((paper.name, *map(str, counts), f"{ties} of {cells}", sizes))
    note = (
        "Number of claims about results; sizes of data sets are counted separately. A comparison "
        "is a near tie if the two means differ by less than a quarter of the standard deviation "
        "over the runs: its order is not meaningful."
    )
    head = ("paper", *outcomes, "comparisons that are near ties", "sizes of data that agree")
    return ReportTable("Summary", head, rows, note)


def _markdown_table(table: ReportTable) -> list[str]:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    lines = [f"**{table.title}**", "", row(table.head), row(["---"] * len(table.head))]
    lines += [row(cells) for cells in table.rows]
    return [*lines, "", *([table.note, ""] if table.note else [])]
