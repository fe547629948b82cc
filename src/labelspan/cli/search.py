"""``labelspan search``: items by words, by similar items and by labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .._texts import as_dict
from .shared import (
    DEFAULT,
    AsJson,
    IndexOption,
    PlainConsole,
    counted,
    open_index,
    plain_errors,
    plain_table,
    print_json,
    standard_lines,
    tell_problem,
)

if TYPE_CHECKING:
    from ..index import Filter, Hit, SemanticIndex
    from ..index.results import Explanation

__all__ = ["hit_table", "search"]

_FILTERS = "Filters"
_SHORT = 20


def search(  # noqa: PLR0917 - typer reads options from parameters
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS",
            help="What to search for: words, an id or a title; '\"two words\"' for a phrase, "
            "'chess -online' to exclude a word, 'comput*' for the beginning of a word. - reads one "
            "query per line from standard input.",
        ),
    ] = None,
    index: IndexOption = DEFAULT,
    number: Annotated[
        int, typer.Option("--number", "-n", help="Maximum number of results.", min=1)
    ] = 10,
    like: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Find items similar to this one; repeat for several."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="LABEL",
            help="Find items close to this label, whether they have it or not.",
        ),
    ] = None,
    having: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="Only items with this label.", rich_help_panel=_FILTERS),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL", help="Only items without this label.", rich_help_panel=_FILTERS
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Only items with this metadata.", rich_help_panel=_FILTERS
        ),
    ] = None,
    balance: Annotated[
        float | None,
        typer.Option(
            help="Weight of the embedding: 0 compares only words, 1 only meaning (default: 0.4, "
            "or 0.5 with a language model).",
            min=0,
            max=1,
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show why each item was found.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find items by words and meaning, by similar items, by labels, or any combination.

    An item whose id or title is the query comes first. Quote a query that contains special
    characters of the shell.

    With several queries on standard input, --json prints one object per line.

    For example:
      labelspan search edit photos
      labelspan search '"web browser" -java comput*'
      labelspan search --like gimp --without interface::commandline
      labelspan search --having use::playing
      labelspan search notes.labelspan music
      labelspan search music --having use::playing --where section=sound --explain
      cat queries.txt | labelspan search - --json
    """
    with plain_errors():
        metadata = _metadata(where)
        with open_index(index) as opened:
            from ..index import Filter  # noqa: PLC0415
            from ..index.searching import weak  # noqa: PLC0415

            wanted = Filter(
                labels=tuple(having or ()), without=tuple(without or ()), metadata=metadata
            )
            queries = _queries(query)
            filtered = bool(having or without or where)
            asked: dict[str, Any] = {"items": tuple(like or ()), "labels": tuple(label or ())}
            if queries == [None] and not like and not label:
                if not filtered:
                    raise _empty("Nothing to search for; give words, --like, --label or --having.")
                _list(opened, wanted, number, as_json=as_json)
                return
            # Together they cost little more than one.
            several = len(queries) > 1
            together = queries if several else queries[0]
            answers = opened.search(together, number, wanted, **asked, balance=balance)
            tell_problem(opened)
            for text, found in zip(queries, answers if several else [answers], strict=True):
                reasons = [
                    opened.explain(text, hit.id, 5, **asked, balance=balance) if explain else None
                    for hit in found
                ]
                unknown = opened.unknown_words(text) if text else {}
                said = [weak(found), opened.problem if as_json and text is queries[0] else ""]
                note = " ".join([*_spelling(unknown), *filter(None, said)])
                if as_json:
                    answer = {
                        "query": text,
                        "hits": [*map(_as_json, found, reasons)],
                        "note": note,
                        "unknown": unknown,
                    }
                    print_json(answer, line=several)
                else:
                    _print(text if several else None, found, opened.labels, reasons, note)


def _list(opened: SemanticIndex, wanted: Filter, number: int, *, as_json: bool) -> None:
    """Print the items that pass a filter, in the order of their titles."""
    matching = opened.browse(filter=wanted)
    hits = matching.page(1, number)
    more = matching.total - len(hits)
    note = (
        f"{counted(matching.total, 'item')}, of which {len(hits):,} are shown (-n)" if more else ""
    )
    if as_json:
        answers = [_as_json(hit, None, scored=False) for hit in hits]
        print_json({"query": None, "hits": answers, "note": note, "unknown": {}})
    else:
        _print(None, hits, opened.labels, (), note, scores=False)


def _queries(words: list[str] | None) -> list[str | None]:
    """Return the lines of standard input, the words, or [None] if there are none."""
    found: list[str | None] = [None]
    if words:
        lines = standard_lines() if words == ["-"] else [" ".join(words)]
        found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise _empty("The query is empty; give words to search for, one query per line.")
    return found


def _empty(message: str) -> typer.Exit:
    """Say what is missing; the exit code is that of a wrong call."""
    typer.echo(message, err=True)
    return typer.Exit(2)


def _spelling(unknown: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each word that nothing has."""
    return [
        f"Nothing has {word!r}"
        + (f"; did you mean {' or '.join(map(repr, near))}?" if near else ".")
        for word, near in unknown.items()
    ]


def _metadata(where: list[str] | None) -> dict[str, Any]:
    """Read KEY=VALUE options as the metadata of a filter."""
    from ..errors import InvalidInput  # noqa: PLC0415

    metadata: dict[str, Any] = {}
    for pair in where or ():
        key, equals, value = pair.partition("=")
        if not equals:
            raise InvalidInput(f"--where must be KEY=VALUE, but {pair!r} was given.")
        # On the command line all values are text; those of items may be numbers.
        metadata[key] = lambda own, value=value: str(own) == value
    return metadata


def _as_json(hit: Hit, reason: Explanation | None, *, scored: bool = True) -> dict[str, Any]:
    from ..answers import hit_data, rounded  # noqa: PLC0415

    answer = {**hit_data(hit, scored=scored), "text": hit.text}
    if reason is None:
        return answer
    axes = {str(one.axis.number): rounded(one.share) for one in reason.axes}
    return {**answer, "why": as_dict(reason) | {"axes": axes}}


def _print(
    text: str | None,
    found: Sequence[Hit],
    counts: Mapping[str, int],
    reasons: Sequence[Explanation | None],
    note: str,
    *,
    scores: bool = True,
) -> None:
    console = PlainConsole()
    if text is not None:
        console.print(Text(text, style="bold"))
    if note:
        console.print(Text(note, style="italic"))
    if not found:
        console.print(
            "Nothing found: no word of the query is known, or the filters are too strict."
        )
        return
    console.print(hit_table(found, counts, reasons, scores=scores))


def hit_table(
    found: Sequence[Hit],
    counts: Mapping[str, int],
    reasons: Sequence[Explanation | None] = (),
    *,
    scores: bool = True,
) -> Table:
    """Make a table of hits: score, id, the start of the text and the labels below it.

    ``counts`` is the number of items with each label; rarer labels, which say more, come first.
    Without ``scores`` their column is empty, for a list in which nothing was compared.
    """
    width = min(max(len(hit.id) for hit in found), 24)
    table = plain_table(
        {"justify": "right", "no_wrap": True, "min_width": 4 if scores else 0},
        {"no_wrap": True, "width": width, "overflow": "ellipsis", "style": "bold"},
        {"ratio": 1},
        expand=True,
    )
    for hit, reason in zip_longest(found, reasons):
        about = [Text(_beginning(hit), no_wrap=True, overflow="ellipsis")]
        if hit.labels:
            rare = sorted(hit.labels, key=lambda label: (counts.get(label, 0), label))
            about.append(Text(", ".join(rare), style="dim", no_wrap=True, overflow="ellipsis"))
        if reason is not None:
            about.append(Text(_why(reason), style="italic"))
        table.add_row(f"{hit.score:.2f}" if scores else "", Text(hit.id), Group(*about))
    return table


def _beginning(hit: Hit) -> str:
    """Return the first line of a text, or more of it if that is short."""
    first = hit.text.strip().partition("\n")[0].strip()
    return first if len(first) >= _SHORT else hit.snippet


def _why(reason: Explanation) -> str:
    parts = []
    if reason.exact:
        parts.append(f"its {reason.exact} is the query")
    if reason.matches:
        words = ", ".join(f"{one.word} {one.share:.2f}" for one in reason.matches)
        parts.append(f"words {reason.from_words:.2f}: {words}")
    near = [f"{word.word}{'' if word.shared else '*'} {word.share:.2f}" for word in reason.words]
    if reason.from_space > 0:
        parts.append(
            f"space {reason.from_space:.2f} (cosine {reason.cosine:.2f}"
            + (f": {', '.join(near)})" if near else ")")
        )
    labels = [f"{share.label} {share.probability:.0%}" for share in reason.labels[:3]]
    parts += [f"labels expected: {', '.join(labels)}"] if labels else []
    star = " (* not in its text)" if any(not word.shared for word in reason.words) else ""
    return "; ".join(parts) + star
