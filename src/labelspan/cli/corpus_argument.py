"""What the commands that read a corpus share: its argument, its options, and reading it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failures import standard_input

if TYPE_CHECKING:
    from ..corpus import TaggedTexts

__all__ = [
    "BUNDLED",
    "AsJson",
    "CorpusName",
    "Delimiter",
    "EmptyIsNone",
    "Encoding",
    "Format",
    "IdField",
    "LabelField",
    "LimitLabels",
    "MinCount",
    "NoHeader",
    "NoLabels",
    "Separator",
    "TextFields",
    "Vocabulary",
    "check_corpus",
    "read",
]

BUNDLED = "debtags"
_PANEL = "How the corpus is read (guessed, and printed, if not given)"

CorpusName = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="A file (.jsonl .json .csv .tsv .parquet .txt, Posts.xml, metadata.db, also .gz), a "
        "folder or .tar.gz of texts, Markdown notes or tables, - for standard input, or "
        f"{BUNDLED}, which comes with labelspan.",
        show_default=False,
    ),
]
TextFields = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="FIELD",
        help="Field of the text; repeat for several fields.",
        rich_help_panel=_PANEL,
    ),
]
LabelField = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="FIELD",
        help="Field of the labels, a list or a string.",
        rich_help_panel=_PANEL,
    ),
]
IdField = Annotated[
    str | None,
    typer.Option(
        "--ids",
        metavar="FIELD",
        help="Field of the item ids; '' numbers the items.",
        rich_help_panel=_PANEL,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="Separator between labels in a string, for example ';'. '' for one label per item.",
        rich_help_panel=_PANEL,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="jsonl, json, csv, tsv, uris, parquet, lines, posts, calibre, folder or markdown.",
        rich_help_panel=_PANEL,
    ),
]
NoLabels = Annotated[
    bool, typer.Option("--no-labels", help="Do not read labels.", rich_help_panel=_PANEL)
]
EmptyIsNone = Annotated[
    bool,
    typer.Option(
        "--empty-is-none",
        help="Items without labels are known to have none; by default their labels are unknown.",
        rich_help_panel=_PANEL,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of the text, for example latin-1 or utf-16.", rich_help_panel=_PANEL
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first line of csv or tsv is an item; fields are 'column 1', 'column 2', ...",
        rich_help_panel=_PANEL,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Character between the columns of csv, for example ';' or tab.",
        rich_help_panel=_PANEL,
    ),
]
Vocabulary = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Names for labels that are URIs or codes: per line a URI, a tab and a name.",
        rich_help_panel=_PANEL,
    ),
]
MinCount = Annotated[
    int,
    typer.Option(
        help="Leave out labels with fewer items than this.", min=1, rich_help_panel=_PANEL
    ),
]
LimitLabels = Annotated[
    int | None,
    typer.Option(
        help="Maximum number of labels; the most frequent are kept.",
        min=1,
        rich_help_panel=_PANEL,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def check_corpus(corpus: str, *others: Path | None) -> None:
    """Raise an error for a corpus, or another file, that does not exist."""
    from .._files import check_there  # noqa: PLC0415

    if corpus not in ("-", BUNDLED):
        check_there(Path(corpus))
    for other in others:
        if other is not None:
            check_there(other)


def read(
    corpus: str,
    *,
    text: list[str] | None,
    labels: str | None,
    ids: str | None,
    separator: str | None,
    format: str | None,
    no_labels: bool,
    empty_is_none: bool = False,
    encoding: str | None = None,
    no_header: bool = False,
    delimiter: str | None = None,
    vocabulary: Path | None = None,
    min_count: int = 1,
    limit_labels: int | None = None,
    sample: bool = False,
    like: Mapping[str, Any] | None = None,
) -> TaggedTexts:
    """Read a corpus, and print on stderr how it was read, with a sample if asked.

    ``like`` has the fields of an earlier reading, which are taken where they are.
    """
    # Before the import: an error does not wait for the numerical libraries.
    check_corpus(corpus, vocabulary)
    from ..corpus import TaggedTexts, read_corpus  # noqa: PLC0415

    if corpus == BUNDLED and not Path(corpus).exists():
        from ..datasets.debtags import load_debtags  # noqa: PLC0415

        data = load_debtags()
        note = "debtags, the Debian programs that come with labelspan"
        unlabelled: list[list[str] | None] = [None] * len(data)
        found = TaggedTexts(
            corpus,
            list(data.texts or ()),
            unlabelled if no_labels else list(data.labels),
            list(data.ids or ()),
            data.metadata,
            (note,),
        )
    else:
        found = read_corpus(
            standard_input() if corpus == "-" else corpus,
            format=format,
            text=text,
            labels=labels,
            ids=ids,
            separator=separator,
            labelled=not no_labels,
            empty="none" if empty_is_none else "unknown",
            encoding=encoding,
            header=False if no_header else None,
            delimiter=delimiter,
            vocabulary=vocabulary,
            min_count=min_count,
            limit_labels=limit_labels,
            like=like,
        )
    for line in (*found.notes, *(found.sample() if sample else ())):
        typer.echo(f"  {line}", err=True)
    return found
