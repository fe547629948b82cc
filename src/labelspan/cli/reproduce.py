"""``labelspan reproduce``: measure the tables and figures of the papers again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from .data import Home
from .shared import continued, plain_errors, print_json, progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..papers.reproduction import NeededData, Report

__all__ = ["reproduce"]

_COLOUR = {"holds": "green", "holds in part": "yellow", "does not hold": "red", "not run": "dim"}


def reproduce(  # noqa: PLR0917 - typer reads options from parameters
    paper: Annotated[
        str | None, typer.Argument(help="yu2005, sun2009 or wang2010; by default all three.")
    ] = None,
    figure: Annotated[int | None, typer.Option(help="Run only this figure.", min=1)] = None,
    table: Annotated[int | None, typer.Option(help="Run only this table.", min=1)] = None,
    repeats: Annotated[
        int | None,
        typer.Option(help="Number of repeats of each case, instead of the default.", min=1),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: a few minutes.")] = False,
    jobs: Annotated[int, typer.Option(help="Number of parallel processes.", min=1)] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("reproduction"),
    data_home: Home = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if a claim that must hold does not.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Measure what the papers claim, and report the result of each claim.

    First the data sets are listed, with the source of each. What needs a data set that is not
    available is skipped; one part of each paper needs no download. Results are saved as they
    come: the same command continues an interrupted run.

    Examples: `labelspan reproduce --quick --out try`, `labelspan reproduce wang2010 --table 3`.
    """
    from ..papers.paper import Scale  # noqa: PLC0415
    from ..papers.reproduction import PAPERS, needed_data  # noqa: PLC0415
    from ..papers.reproduction import reproduce as run  # noqa: PLC0415

    parts = [f"figure {figure}"] * (figure is not None) + [f"table {table}"] * (table is not None)
    kept = continued(lambda: f"finished results are in {out}")
    with plain_errors():
        chosen = [paper] if paper else PAPERS
        scale = Scale(quick, repeats)
        needed = needed_data(chosen, parts=parts or None, scale=scale, data_home=data_home)
        _print_data(needed)
    with kept, plain_errors(), progress_bar("jobs") as progress:
        report = run(
            chosen,
            out,
            parts=parts or None,
            scale=scale,
            data_home=data_home,
            processes=jobs,
            progress=progress,
        )
    _print(report, as_json=as_json, quick=quick)
    if not all(one.available for one in needed):
        typer.echo(
            "Data sets were missing: claims are judged by those that were available.", err=True
        )
    if check and report.failed:
        typer.echo(f"{len(report.failed)} claim(s) that must hold do not.", err=True)
        raise typer.Exit(1)


def _print_data(needed: Sequence[NeededData]) -> None:
    table = Table(title="Data sets")
    table.add_column("data set", no_wrap=True)
    table.add_column("from")
    table.add_column("used by")
    for one in needed:
        source = one.source if one.available else f"missing, is skipped; see `{one.source}`"
        table.add_row(one.name, source, ", ".join(one.used_by))
    Console(stderr=True).print(table)


def _print(report: Report, *, as_json: bool, quick: bool) -> None:
    if as_json:
        found = [
            {
                "paper": verdict.claim.paper,
                "id": verdict.claim.id,
                "claim": verdict.claim.text,
                "where": verdict.claim.where,
                "verdict": verdict.outcome,
                "agreeing": verdict.agreeing,
                "cases": verdict.cells,
                "measured": verdict.measured,
                "sure": verdict.claim.sure,
            }
            for verdict in report.verdicts
        ]
        print_json(found)
        return
    shown = Table(title="Claims")
    shown.add_column("where", no_wrap=True)
    shown.add_column("claim", ratio=1)
    shown.add_column("verdict", no_wrap=True)
    shown.add_column("cases", justify="right", no_wrap=True)
    run = [verdict for verdict in report.verdicts if verdict.outcome != "not run"]
    for verdict in run:
        colour = _COLOUR[verdict.outcome]
        outcome = f"[{colour}]{verdict.outcome}[/{colour}]"
        cases = f"{verdict.agreeing}/{verdict.cells}"
        claim = verdict.claim
        shown.add_row(f"{claim.paper}, {claim.part}", claim.text, outcome, cases)
    console = Console()
    console.print(shown)
    results = [verdict for verdict in run if not verdict.claim.about_data]
    counts = ", ".join(
        f"{sum(verdict.outcome == outcome for verdict in results)} {outcome}"
        for outcome in ("holds", "holds in part", "does not hold")
    )
    console.print(f"{len(results)} claims about results: {counts}.", highlight=False)
    if len(results) < len(run):
        agree = sum(verdict.outcome == "holds" for verdict in run if verdict.claim.about_data)
        console.print(
            f"{len(run) - len(results)} sizes of data sets: {agree} agree.", highlight=False
        )
    if quick:
        console.print(
            "This was a quick run, with small sizes and few repeats: its verdicts prove nothing. "
            "Omit --quick to run the experiments of the papers."
        )
    if len(run) < len(report.verdicts):
        console.print(f"{len(report.verdicts) - len(run)} claim(s) were not part of this run.")
    console.print(f"The report: {report.folder / 'report.html'}", soft_wrap=True)
