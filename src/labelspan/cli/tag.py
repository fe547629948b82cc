"""``labelspan tag``: labels for new texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from .shared import (
    DEFAULT,
    AsJson,
    IndexOption,
    PlainConsole,
    open_corpus,
    open_index,
    plain_errors,
    plain_table,
    print_json,
    reads_corpus,
    reason_lines,
    standard_lines,
    tell_problem,
)

if TYPE_CHECKING:
    from ..index import SemanticIndex, Tag
    from ..index.results import TagExplanation

__all__ = ["tag"]


@reads_corpus(
    "labels", "separator", "empty_is_none", "vocabulary", "min_count", "links", "no_links"
)
def tag(  # noqa: PLR0917 - typer reads options from parameters
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT", help="The text; - reads one text per line from standard input."
        ),
    ] = None,
    index: IndexOption = DEFAULT,
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus", metavar="CORPUS", help="Tag the items of this file, folder or - instead."
        ),
    ] = None,
    number: Annotated[
        int, typer.Option("--number", "-n", help="Maximum number of labels.", min=1)
    ] = 10,
    every: Annotated[
        bool,
        typer.Option("--all", help="Also show labels with a probability below their threshold."),
    ] = False,
    why: Annotated[
        bool,
        typer.Option("--explain", help="Show the words and labelled items behind each label."),
    ] = False,
    as_json: AsJson = False,
    **reading: Any,
) -> None:
    """Suggest labels, with probabilities, for one text or many.

    A single word that names a file or folder is read like --corpus. With several texts,
    --json prints one object per line.

    For example:
      labelspan tag "A drawing program for vector graphics"
      labelspan tag --corpus new.jsonl --json > tagged.jsonl
      labelspan tag mails.mbox
      cat lines.txt | labelspan tag -
      labelspan tag "A chess program" --explain
    """
    with plain_errors():
        from ..errors import Mismatch  # noqa: PLC0415

        if corpus is None and words and len(words) == 1 and _is_file(words[0]):
            corpus, words = words[0], None
        if corpus is None:
            names, texts = _lines(words)
            titles = [_title(one) for one in texts]
        elif words:
            raise Mismatch("Give either a text or --corpus, not both.")
        else:
            _, items = open_corpus(corpus, labels="", sample=False, **reading)
            names, texts = list(items.ids), list(items.texts)
            titles = [_title(one) for one in texts]
        with open_index(index) as opened:
            found = opened.tag(texts, number)
            tell_problem(opened)
            problem = opened.problem
            kept = [[one for one in tags if every or one.chosen] for tags in found]
            reasons: list[list[TagExplanation | None]] = [
                [opened.explain_tag(one.label, text) if why else None for one in tags]
                for text, tags in zip(texts, kept, strict=True)
            ]
            answers = [
                {
                    "id": name,
                    "labels": [_as_json(opened, *pair) for pair in zip(*both, strict=True)],
                    "note": problem,
                }
                for name, *both in zip(names, kept, reasons, strict=True)
            ]
    if as_json:
        for answer in answers:
            print_json(answer, line=len(answers) > 1)
        return
    best = [max(tags, key=lambda one: one.probability, default=None) for tags in found]
    _print(names, titles, kept, best)
    for name, own in zip(names, reasons, strict=True):
        for reason in own:
            if reason is not None:
                about = f"{name} {reason.label}" if len(names) > 1 else reason.label
                PlainConsole().print(Text(about), style="bold")
                PlainConsole().print(Text("\n".join(reason_lines(reason))))


def _lines(words: list[str] | None) -> tuple[list[str], list[str]]:
    """Return ids and texts: of standard input, or the one on the command line."""
    from ..errors import InvalidInput  # noqa: PLC0415

    lines = standard_lines() if words == ["-"] else [" ".join(words or ())]
    texts = [line for line in lines if line.strip()]
    if not texts:
        raise InvalidInput(
            "There is no text to tag; give one, - for standard input, or --corpus FILE."
        )
    names = [str(number) for number in range(1, len(texts) + 1)]
    return names if words == ["-"] else ["text"], texts


def _as_json(index: SemanticIndex, one: Tag, reason: TagExplanation | None) -> dict[str, Any]:
    from ..answers import tag_data, tag_reason  # noqa: PLC0415

    answer: dict[str, Any] = {**tag_data(index, one)}
    return answer if reason is None else {**answer, **tag_reason(index, reason)}


def _is_file(word: str) -> bool:
    """Return whether a word is the name of a file or folder, and not a text."""
    try:
        return ("." in word or "/" in word) and Path(word).exists()
    except OSError:
        return False


def _title(text: str) -> str:
    """Return the first line of a text."""
    return text.strip().partition("\n")[0]


def _print(
    names: Sequence[str],
    titles: Sequence[str],
    found: Sequence[Sequence[Tag]],
    best: Sequence[Tag | None],
) -> None:
    """Print the labels of one text, or a row for each of several."""
    if len(names) > 1:
        columns = ({"no_wrap": True, "overflow": "ellipsis", "ratio": ratio} for ratio in (1, 3))
        table = plain_table(*columns, {"overflow": "fold", "ratio": 3}, expand=True)
        without = 0
        for name, title, tags, first in zip(names, titles, found, best, strict=True):
            labels = Text(", ".join(f"{one.label} {one.probability:.0%}" for one in tags))
            if not tags:
                without += 1
                labels = Text(f"- {first.label} {first.probability:.0%}" if first else "-", "dim")
            table.add_row(Text(name, "bold"), Text(title if title != name else ""), labels)
        PlainConsole().print(table)
        if without:
            typer.echo(
                f"{without:,} of {len(names):,} have no label above its threshold; after a dash, "
                "the most probable one.",
                err=True,
            )
        return
    if not found[0]:
        typer.echo("No label is above its threshold; --all shows the most probable ones.")
        return
    table = plain_table({"justify": "right"}, {})
    for one in found[0]:
        style = "" if one.chosen else "dim"
        table.add_row(f"{one.probability:.0%}", Text(one.label), style=style)
    PlainConsole().print(table)
