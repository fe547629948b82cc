"""What the verbs that read a corpus share: its argument, its options, and reading it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..datasets.corpora import TaggedTexts

__all__ = [
    "BUNDLED",
    "AsJson",
    "CorpusName",
    "EmptyIsNone",
    "Format",
    "IdField",
    "LabelField",
    "NoLabels",
    "Separator",
    "TextFields",
    "read",
]

BUNDLED = "debtags"
_PANEL = "How the corpus is read (guessed, and printed, where not said)"

CorpusName = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="A file (.jsonl .json .csv .tsv .parquet .txt, also .gz), a folder of text files, "
        f"- for standard input, or {BUNDLED}, which comes with labelspan.",
        show_default=False,
    ),
]
TextFields = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="FIELD",
        help="Field of the text; again for a further one.",
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
        "--ids", metavar="FIELD", help="Field of the items' names.", rich_help_panel=_PANEL
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="What stands between labels in a string, say ';'. '' for one label an item.",
        rich_help_panel=_PANEL,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(help="jsonl, json, csv, tsv, parquet, lines or folder.", rich_help_panel=_PANEL),
]
NoLabels = Annotated[
    bool, typer.Option("--no-labels", help="Read no labels.", rich_help_panel=_PANEL)
]
EmptyIsNone = Annotated[
    bool,
    typer.Option(
        "--empty-is-none",
        help="Items without labels are known to have none; otherwise theirs are unknown.",
        rich_help_panel=_PANEL,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


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
) -> TaggedTexts:
    """Read a corpus, and say on stderr how it was read."""
    from ..datasets.corpora import TaggedTexts, read_corpus  # noqa: PLC0415

    if corpus == BUNDLED and not Path(corpus).exists():
        from ..datasets.debtags import load_debtags  # noqa: PLC0415

        data = load_debtags()
        note = "debtags, the programs of Debian that come with labelspan"
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
            typer.get_binary_stream("stdin") if corpus == "-" else corpus,
            format=format,
            text=text,
            labels=labels,
            ids=ids,
            separator=separator,
            labelled=not no_labels,
            empty="none" if empty_is_none else "unknown",
        )
    for line in found.notes:
        typer.echo(f"  {line}", err=True)
    return found
