"""``labelspan evaluate``: compare methods on a corpus."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import InvalidInput, InvalidLabels
from .shared import (
    AsJson,
    CorpusName,
    check_corpus,
    open_corpus,
    plain_errors,
    progress_bar,
    reads_corpus,
)

if TYPE_CHECKING:
    from ..evaluation.measurements import ReportTable

__all__ = ["evaluate"]


@reads_corpus("links", "no_links")
def evaluate(
    corpus: CorpusName,
    dimensions: Annotated[
        int, typer.Option(help="Number of dimensions of each method.", min=1)
    ] = 100,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Queries with known relevant items: JSON objects, one per line, with `query` and "
            "`relevant`, a list of ids or an object of grades.",
        ),
    ] = None,
    qrels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Relevance judgements of --queries in TREC format: query, 0, item, grade. "
            "--queries then has lines with an id, a tab and a text, or objects with `id` and "
            "`query`.",
        ),
    ] = None,
    as_json: AsJson = False,
    **reading: Any,
) -> None:
    """Compare methods on your corpus, and recommend one.

    All features, LSI, MLSI, OPLS, CCA, HSL and the scores of a ridge regression are fitted on
    one part of the corpus and evaluated on another: how well they find items with the same
    labels, and how well they predict labels, for labels used in training and for held-out
    labels. Then tags are predicted for a fifth of the items, by linear SVMs and by the tagger of
    an index, and search is evaluated: items found again by title and by words, and the queries
    of --queries, with TF-IDF, LSI, BM25, the embedding, and words and embedding. Of a large
    corpus, a random sample of 6,000 items is compared and tagged. With --queries, a corpus with
    too few labels to compare methods or to predict tags is only searched.

    For example:
      labelspan evaluate papers.jsonl
      labelspan evaluate debtags --json > results.json
      labelspan evaluate cacm.jsonl --queries cacm_queries.jsonl
      labelspan evaluate papers.jsonl --queries topics.tsv --qrels qrels.txt
    """
    with plain_errors():
        if qrels is not None and queries is None:
            raise InvalidInput("--qrels needs --queries, the file with the texts of the queries.")
        check_corpus(corpus, reading["vocabulary"], queries or qrels)
        from ..evaluation.search_quality import (  # noqa: PLC0415
            check_queries,
            evaluate_search,
            read_queries,
            search_tables,
        )

        judged = [] if queries is None else read_queries(queries, qrels)
        source, found = open_corpus(corpus, **reading)
        check_queries(judged, found.ids)
        from ..evaluation.comparison import evaluate as run  # noqa: PLC0415
        from ..evaluation.comparison import recommend, tables  # noqa: PLC0415
        from ..evaluation.tag_quality import evaluate_tagging, tagging_table  # noqa: PLC0415

        names = None if source is None else source.vocabulary
        result = tagged = None
        notes: list[str] = []
        try:
            with progress_bar("comparing") as report:
                result = run(found.texts, found.labels, dimensions=dimensions, progress=report)
            with progress_bar("tagging") as report:
                tagged = evaluate_tagging(
                    found.texts, found.labels, vocabulary=names, progress=report
                )
        except InvalidLabels as error:
            if not judged:
                raise
            what = "Tags" if result else "Labels"
            notes.append(f"{what} were not evaluated: {str(error).removeprefix('evaluate: ')}")
        with progress_bar("searching") as report:
            searched = evaluate_search(
                found.texts,
                found.labels,
                found.ids,
                queries=judged,
                dimensions=dimensions,
                progress=report,
            )
        facts: Mapping[str, Any] = {"items": len(found.texts)}
        recommended = None
        shown = []
        if result is not None:
            facts, notes = result.facts, [*result.notes, *notes]
            recommended = _recommended(corpus, reading, *recommend(result))
            shown += tables(result)
        if tagged is not None:
            shown.append(tagging_table(tagged))
    if as_json:
        content = {
            "facts": {**facts, "notes": notes},
            "recommended": recommended,
            "records": None if result is None else list(result.results.records),
            "search": list(searched.results.records),
            "tagging": None if tagged is None else list(tagged.results.records),
        }
        typer.echo(json.dumps(content, indent=1))
        return
    console = Console()
    if result is not None:
        console.print(
            f"{facts['items']:,} items, {facts['labelled']:,} of them with labels; "
            f"{facts['labels']:,} labels, {facts['held_out']:,} of them held out in each of "
            f"{facts['folds']} folds.",
            highlight=False,
        )
    for line in (*notes, *(tagged.notes if tagged else ()), *searched.notes):
        console.print(Text(line))
    for table in (*shown, *search_tables(searched)):
        console.print(_as_rich(table))
    if recommended is not None:
        console.print("[bold]Recommended[/bold]")
        # Not by the console, which would break a long line.
        typer.echo(f"  {recommended['command']}")
        for line in recommended["reasons"]:
            console.print(Text(f"- {line}"))


def _recommended(
    corpus: str, reading: dict[str, Any], options: dict[str, Any], reasons: list[str]
) -> dict[str, Any]:
    """Add the command that fits with the recommended options."""
    words = shlex.join([corpus, *_given(reading)])
    chosen = " ".join(f"--{name} {value}" for name, value in options.items())
    return {
        "command": f"labelspan fit {words} {chosen}",
        "options": options,
        "reasons": reasons,
    }


def _given(options: dict[str, Any]) -> list[str]:
    """List the options that were given, as fit takes them."""
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value not in (None, False, 1):
            for one in value if isinstance(value, list) else [value]:
                words += [option, str(one)]
    return words


def _as_rich(table: ReportTable) -> Table:
    made = Table(
        title=table.title, title_justify="left", caption=table.note, caption_justify="left"
    )
    made.add_column(table.head[0], no_wrap=True)
    for name in table.head[1:]:
        made.add_column(name, justify="right")
    for row in table.rows:
        made.add_row(*row)
    return made
