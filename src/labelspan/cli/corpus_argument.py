"""What the commands that read a corpus share: its argument, its options, and reading it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failures import standard_input

if TYPE_CHECKING:
    from ..corpus import CorpusReader, TaggedTexts

__all__ = [
    "AsJson",
    "CorpusName",
    "EmptyIsNone",
    "Encoding",
    "Format",
    "IdField",
    "LabelField",
    "MinCount",
    "Separator",
    "TextFields",
    "Vocabulary",
    "bundled",
    "check_corpus",
    "corpus_reader",
    "is_bundled",
    "label_language",
    "read",
    "tell",
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
        help="Field of the labels, a list or a string; '' reads none.",
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
Vocabulary = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Names for labels that are URIs or codes: per line a URI, a tab and a name, or a SKOS "
        "thesaurus (.ttl, .rdf), of which --language chooses the names.",
        rich_help_panel=_PANEL,
    ),
]
MinCount = Annotated[
    int,
    typer.Option(
        help="Leave out labels with fewer items than this.", min=1, rich_help_panel=_PANEL
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


def label_language(language: str) -> str | None:
    """Return the language of the names in a thesaurus, by the option --language."""
    return None if language in ("auto", "none") else language


def is_bundled(corpus: str) -> bool:
    """Return whether a name stands for the corpus that comes with labelspan."""
    return corpus == BUNDLED and not Path(corpus).exists()


def bundled(*, labelled: bool = True) -> TaggedTexts:
    """Return the corpus that comes with labelspan."""
    from ..corpus import TaggedTexts  # noqa: PLC0415
    from ..datasets.registry import load_debtags  # noqa: PLC0415

    data = load_debtags()
    note = "debtags, the Debian programs that come with labelspan"
    labels: list[list[str] | None] = list(data.labels or ()) if labelled else [None] * len(data)
    return TaggedTexts(
        BUNDLED, list(data.texts or ()), labels, list(data.ids or ()), data.metadata or (), (note,)
    )


def corpus_reader(
    corpus: str,
    *,
    empty_is_none: bool = False,
    vocabulary: Path | str | None = None,
    language: str = "auto",
    **options: Any,
) -> CorpusReader:
    """Open a corpus; ``options`` are those of :class:`labelspan.corpus.CorpusReader`."""
    from ..corpus import CorpusReader  # noqa: PLC0415

    return CorpusReader(
        standard_input() if corpus == "-" else corpus,
        empty="none" if empty_is_none else "unknown",
        vocabulary=vocabulary,
        label_language=None if vocabulary is None else label_language(language),
        **options,
    )


def read(
    corpus: str,
    *,
    sample: bool = False,
    min_count: int = 1,
    vocabulary: Path | None = None,
    labels: str | None = None,
    **options: Any,
) -> TaggedTexts:
    """Read a corpus, and print on stderr how it was read, with a sample if asked."""
    # Before the import: an error does not wait for the numerical libraries.
    check_corpus(corpus, vocabulary)
    if is_bundled(corpus):
        found = bundled(labelled=labels != "")
    else:
        reader = corpus_reader(corpus, vocabulary=vocabulary, labels=labels, **options)
        found = reader.collect(min_count=min_count)
    tell(found, sample=sample)
    return found


def tell(texts: TaggedTexts, *, sample: bool) -> None:
    """Print on stderr how a corpus was read."""
    for line in (*texts.notes, *(texts.sample() if sample else ())):
        typer.echo(f"  {line}", err=True)
