"""``labelspan evaluate``: which space is best on one's own corpus."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .corpus_argument import (
    AsJson,
    CorpusName,
    EmptyIsNone,
    Format,
    IdField,
    LabelField,
    Separator,
    TextFields,
    read,
)
from .failures import one_sentence
from .progress import shown

if TYPE_CHECKING:
    from ..papers.paper import Table as Measured

__all__ = ["evaluate"]


def evaluate(  # noqa: PLR0917 - typer reads options from parameters
    corpus: CorpusName,
    folds: Annotated[int, typer.Option(help="Parts for cross-validation.", min=2)] = 3,
    dimensions: Annotated[int, typer.Option(help="Dimensions of each space.", min=1)] = 100,
    held_out: Annotated[
        float, typer.Option(help="Share of labels that spaces do not see.", min=0.05, max=0.95)
    ] = 0.3,
    most: Annotated[
        int, typer.Option(help="Of more items, draw so many at random.", min=20)
    ] = 6000,
    tune: Annotated[
        bool, typer.Option("--tune/--no-tune", help="Also try other settings of MLSI.")
    ] = True,
    seed: Annotated[int, typer.Option(help="For all that is drawn at random.", min=0)] = 0,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report.")] = Path(
        "evaluation"
    ),
    text: TextFields = None,
    labels: LabelField = None,
    ids: IdField = None,
    separator: Separator = None,
    format: Format = None,
    empty_is_none: EmptyIsNone = False,
    as_json: AsJson = False,
) -> None:
    """Compare spaces on your corpus, and recommend one: a table, a picture and a report.

    Raw features, LSI, MLSI, OPLS, CCA, HSL and the scores of a ridge regression are learned on
    one part of the corpus and judged on another: how well they find items with the same
    labels, and how well labels are predicted, for labels seen in learning and for others.
    About two minutes for 5,000 texts.

    For example:

      labelspan evaluate papers.jsonl

      labelspan evaluate debtags --no-tune --folds 2 --out quick
    """
    with one_sentence():
        found = read(
            corpus,
            text=text,
            labels=labels,
            ids=ids,
            separator=separator,
            format=format,
            no_labels=False,
            empty_is_none=empty_is_none,
        )
        from ..evaluation.comparison import evaluate as run  # noqa: PLC0415
        from ..evaluation.comparison_report import (  # noqa: PLC0415
            recommend,
            tables,
            write_evaluation,
        )

        with shown("comparing") as told:
            result = run(
                found.texts,
                found.labels,
                folds=folds,
                dimensions=dimensions,
                held_out=held_out,
                most_items=most,
                tune=tune,
                random_state=seed,
                progress=told,
            )
        facts = result.facts
        about = [
            f"{facts.items:,} items, {facts.labelled:,} of them with labels; {facts.labels:,} "
            f"labels, {facts.held_out:,} of them held out in each of {facts.folds} folds."
        ]
        title = f"Spaces compared on {Path(found.name).name}"
        report, pictured = write_evaluation(out, result, title, about)
        advice = recommend(result)
    if as_json:
        typer.echo((out / "results.json").read_text(encoding="utf-8"))
        return
    console = Console()
    for line in (*about, *facts.notes):
        console.print(Text(line))
    for table in tables(result)[:2]:
        console.print(_shown(table))
    console.print("[bold]Recommended[/bold]")
    typer.echo(f"  labelspan fit {shlex.quote(corpus)} {advice.arguments}")
    for line in advice.reasons:
        console.print(Text(f"- {line}"))
    typer.echo(f"The report: {report}")
    if not pictured:
        typer.echo(
            "It has no picture, for matplotlib is not installed; pip install 'labelspan[plot]'.",
            err=True,
        )


def _shown(table: Measured) -> Table:
    made = Table(
        title=table.title, title_justify="left", caption=table.note, caption_justify="left"
    )
    made.add_column(table.head[0], no_wrap=True)
    for name in table.head[1:]:
        made.add_column(name, justify="right")
    for row in table.rows:
        # Deviations are in the report: a terminal has no room for them.
        made.add_row(*(cell.split(" ± ")[0] for cell in row))
    return made
