"""``labelspan evaluate``: compare methods on a corpus."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .._install import install_command
from .corpus_argument import (
    AsJson,
    CorpusName,
    EmptyIsNone,
    Encoding,
    Format,
    IdField,
    LabelField,
    MinCount,
    Separator,
    TextFields,
    Vocabulary,
    check_corpus,
    read,
)
from .failures import plain_errors
from .progress import progress_bar

if TYPE_CHECKING:
    from ..evaluation.html_report import ReportTable

__all__ = ["evaluate"]


def evaluate(  # noqa: PLR0917 - typer reads options from parameters
    corpus: CorpusName,
    folds: Annotated[int, typer.Option(help="Number of folds for cross-validation.", min=2)] = 3,
    dimensions: Annotated[
        int, typer.Option(help="Number of dimensions of each method.", min=1)
    ] = 100,
    held_out: Annotated[
        float, typer.Option(help="Share of the labels not used for training.", min=0.05, max=0.95)
    ] = 0.3,
    most: Annotated[
        int,
        typer.Option(help="Maximum number of items; a larger corpus is sampled at random.", min=20),
    ] = 6000,
    tune: Annotated[
        bool, typer.Option("--tune/--no-tune", help="Also tune the hyperparameters of MLSI.")
    ] = True,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Queries with known relevant items: JSON objects, one per line, with `query` and "
            "`relevant`, a list of ids.",
        ),
    ] = None,
    known_items: Annotated[
        int,
        typer.Option(
            help="Number of items to search for by title and by five of their words; 0 for none.",
            min=0,
        ),
    ] = 200,
    tagging: Annotated[
        bool,
        typer.Option("--tagging/--no-tagging", help="Also predict the tags of held-out items."),
    ] = True,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0)] = 0,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report.")] = Path(
        "evaluation"
    ),
    text: TextFields = None,
    labels: LabelField = None,
    ids: IdField = None,
    separator: Separator = None,
    format: Format = None,
    empty_is_none: EmptyIsNone = False,
    encoding: Encoding = None,
    vocabulary: Vocabulary = None,
    min_count: MinCount = 1,
    as_json: AsJson = False,
) -> None:
    """Compare methods on your corpus, and recommend one: tables, a figure and a report.

    Raw features, LSI, MLSI, OPLS, CCA, HSL and the scores of a ridge regression are fitted on
    one part of the corpus and evaluated on another: how well they find items with the same
    labels, and how well they predict labels, for labels used in training and for held-out
    labels. Then tags are predicted for a fifth of the items, by linear SVMs and by the tagger of
    an index, and search is evaluated: items found again by title and by words, and the queries
    of --queries, with TF-IDF, LSI, BM25, the space, and words and space together. Time and memory
    are estimated first.

    For example:

      labelspan evaluate papers.jsonl

      labelspan evaluate debtags --no-tune --folds 2 --out quick

      labelspan evaluate cacm.jsonl --queries cacm_queries.jsonl
    """
    with plain_errors():
        judged = []
        check_corpus(corpus, vocabulary, queries)
        if queries is not None:
            from ..evaluation.search_quality import read_queries  # noqa: PLC0415

            judged = read_queries(queries)
        found = read(
            corpus,
            text=text,
            labels=labels,
            ids=ids,
            separator=separator,
            format=format,
            empty_is_none=empty_is_none,
            encoding=encoding,
            vocabulary=vocabulary,
            min_count=min_count,
            sample=True,
        )
        from ..evaluation.comparison import evaluate as run  # noqa: PLC0415
        from ..evaluation.comparison_report import (  # noqa: PLC0415
            recommend,
            tables,
            write_evaluation,
        )
        from ..evaluation.estimate import estimated_cost  # noqa: PLC0415
        from ..evaluation.search_quality import search_tables  # noqa: PLC0415
        from ..evaluation.tag_quality import evaluate_tagging, tagging_table  # noqa: PLC0415

        cost = estimated_cost(
            found.texts,
            found.labels,
            folds=folds,
            dimensions=dimensions,
            most=most,
            tune=tune,
            known_items=known_items + len(judged),
            tagging=tagging,
        )
        typer.echo(f"  {cost}", err=True)
        with progress_bar("comparing") as report:
            result = run(
                found.texts,
                found.labels,
                folds=folds,
                dimensions=dimensions,
                held_out=held_out,
                most_items=most,
                tune=tune,
                random_state=seed,
                progress=report,
            )
        tagged = None
        if tagging:
            with progress_bar("tagging") as report:
                tagged = evaluate_tagging(
                    found.texts,
                    found.labels,
                    most_items=most,
                    random_state=seed,
                    progress=report,
                )
        searched = None
        if judged or known_items:
            from ..evaluation.search_quality import evaluate_search  # noqa: PLC0415

            with progress_bar("searching") as report:
                searched = evaluate_search(
                    found.texts,
                    found.labels,
                    found.ids,
                    queries=judged,
                    known_items=known_items,
                    dimensions=dimensions,
                    random_state=seed,
                    progress=report,
                )
        facts = result.facts
        about = [
            f"{facts.items:,} items, {facts.labelled:,} of them with labels; {facts.labels:,} "
            f"labels, {facts.held_out:,} of them held out in each of {facts.folds} folds."
        ]
        title = f"Methods compared on {Path(found.name).name}"
        options = {
            "text": text,
            "labels": labels,
            "ids": ids,
            "separator": separator,
            "format": format,
            "empty-is-none": empty_is_none,
            "encoding": encoding,
            "vocabulary": None if vocabulary is None else str(vocabulary),
            "min-count": None if min_count == 1 else str(min_count),
        }
        command = f"labelspan fit {shlex.join([corpus, *_given(options)])}"
        file, has_figure = write_evaluation(
            out, result, title, about, command, search=searched, tagging=tagged
        )
        advice = recommend(result)
    if as_json:
        typer.echo((out / "results.json").read_text(encoding="utf-8"))
        return
    shown = [*tables(result)[:2]]
    notes = [*about, *facts.notes]
    if tagged is not None:
        shown.append(tagging_table(tagged))
        notes += tagged.notes
    if searched is not None:
        shown += search_tables(searched)
        notes += searched.notes
    _show(notes, shown, f"{command} {advice.arguments}", advice.reasons)
    typer.echo(f"Report: {file}")
    if not has_figure:
        typer.echo(
            f"It has no figure because matplotlib is not installed; {install_command('plot')}.",
            err=True,
        )


def _show(
    notes: Sequence[str], tables: Sequence[ReportTable], command: str, reasons: Sequence[str]
) -> None:
    console = Console()
    for line in notes:
        console.print(Text(line))
    for table in tables:
        console.print(_as_rich(table))
    console.print("[bold]Recommended[/bold]")
    # Not by the console, which would break a long line.
    typer.echo(f"  {command}")
    for line in reasons:
        console.print(Text(f"- {line}"))


def _given(options: dict[str, str | list[str] | bool | None]) -> list[str]:
    """List the options that were given, as fit takes them."""
    words = []
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value not in (None, False):
            for one in value if isinstance(value, list) else [value]:
                words += [f"--{name}", str(one)]
    return words


def _as_rich(table: ReportTable) -> Table:
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
