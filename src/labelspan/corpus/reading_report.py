"""What was read from a corpus, on one screen and for programs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .._texts import shortened
from .fields import asked
from .label_values import COLUMNS, ONE_LABEL
from .link_names import find_links
from .tagged_texts import TaggedTexts

__all__ = ["FieldReport", "ReadingReport", "RoleReport", "make_report", "shorten"]

_LABEL_WIDTH = 30
_WIDTH = 60


@dataclass(frozen=True)
class FieldReport:
    """A field of a corpus: its name, its role, and an example.

    Attributes
    ----------
    name : str
        The name in the file.
    role : {"text", "labels", "ids", "metadata", "left out"}
        What the field is used for.
    example : str
        The first value, shortened.
    filled : float
        Share of the items that have a value.
    guessed : {"name", "content"} or None
        How the role was recognised; None if it was given.

    See Also
    --------
    ReadingReport : Has one for each field.

    Examples
    --------
    >>> from labelspan.corpus import FieldReport
    >>> FieldReport("tags", "labels", "game; board", 1.0, "name").role
    'labels'
    """

    name: str
    role: str
    example: str
    filled: float
    guessed: str | None = None


@dataclass(frozen=True)
class RoleReport:
    """What a role was given to, and whether that is sure.

    Attributes
    ----------
    role : {"text", "title", "labels", "ids", "links", "date", "number"}
        What fields are for.
    fields : tuple of str
        The fields; empty if none is sure.
    candidates : tuple of str
        Fields that may have the role, if that is not sure: they are not used.

    See Also
    --------
    ReadingReport : Has one for each role.

    Examples
    --------
    >>> from labelspan.corpus import RoleReport
    >>> print(RoleReport("labels", (), ("product", "issue")).line())
    labels  not sure: product or issue? (--labels product)
    """

    role: str
    fields: tuple[str, ...]
    candidates: tuple[str, ...] = ()

    def line(self) -> str:
        """Return the role in a line.

        Returns
        -------
        str
            What is sure, what is not, and the option that says it.
        """
        if self.candidates:
            there = f"{' + '.join(self.fields)}, or also " if self.fields else ""
            ask = f"(--{self.role} {_quoted(self.candidates[0])})"
            said = f"not sure: {there}{asked(self.candidates)}? {ask}"
        elif self.fields:
            said = f"sure: {shorten((' + ' if self.role == 'text' else ', ').join(self.fields))}"
        else:
            said = "none"
        return f"{self.role:<8}{said}"


def _quoted(name: str) -> str:
    return shlex.quote(name)


@dataclass(frozen=True)
class ReadingReport:
    r"""How a corpus was read: formats, fields, labels, what was left out and what to change.

    Attributes
    ----------
    source : str
        Name of the file or folder.
    format : str
        Its format, as in the option ``format``.
    encoding : str or None
        Encoding of the text; None for a format that is not text.
    fields : tuple of FieldReport
        The fields, those of text, labels and ids first.
    label_style : str or None
        How labels are written, as "separated by ','".
    n_items, n_labelled, n_labels, n_once : int
        Number of items, of items with labels, of labels, and of labels that occur once.
    n_joined : int
        Number of rows that were joined with another one of the same text.
    complete : bool
        Whether all items were read, or only the beginning of a large file.
    labels : tuple of (str, int)
        The most frequent labels, with their numbers of items.
    samples : tuple of dict
        Two items: ``id``, ``text`` and ``labels``.
    other_labels : tuple of str
        Fields that could hold labels, too.
    notes : tuple of str
        What was skipped, joined or repaired.
    hints : tuple of str
        Options that change what looks wrong.
    why_not_writable : str or None
        Why corrected labels cannot be written back into a copy of the file, and what to do; None if
        they can.
    format_guessed : bool
        Whether the format was recognised by the content.
    roles : tuple of RoleReport
        Which fields are the text, title, labels, ids, dates and numbers, and what is not sure.

    See Also
    --------
    CorpusReader.report : Returns it.

    Examples
    --------
    >>> import io
    >>> from labelspan.corpus import CorpusReader
    >>> reader = CorpusReader(io.BytesIO(b"title,tags\nChess,game|board\nGo,game|board\n"))
    >>> print("\n".join(reader.report().lines()[:6]))
    standard input: csv (guessed), 2 items, 2 with labels, 2 labels
      text    sure: title
      title   sure: title
      labels  sure: tags
      ids     none
      text      title   Chess
    """

    source: str
    format: str
    encoding: str | None
    fields: tuple[FieldReport, ...]
    label_style: str | None
    n_items: int
    n_labelled: int
    n_labels: int
    n_once: int
    n_joined: int
    complete: bool
    labels: tuple[tuple[str, int], ...]
    samples: tuple[dict[str, Any], ...]
    other_labels: tuple[str, ...]
    notes: tuple[str, ...]
    hints: tuple[str, ...]
    why_not_writable: str | None
    format_guessed: bool = False
    roles: tuple[RoleReport, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON.

        Returns
        -------
        dict
            The attributes.
        """
        return asdict(self)

    def lines(self) -> list[str]:
        """Return the report as the lines of one screen.

        Returns
        -------
        list of str
            Format and counts, the fields with an example each, labels, and what to change.
        """
        return list(self._lines())

    def _lines(self) -> Iterator[str]:
        guessed = " (guessed)" if self.format_guessed else ""
        encoded = f" in {self.encoding}" if self.encoding not in (None, "utf-8") else ""
        beginning = "" if self.complete else " in its beginning"
        items = f"{self.n_items:,} item" + ("" if self.n_items == 1 else "s")
        yield (
            f"{self.source}: {self.format}{encoded}{guessed}, {items}{beginning}, "
            f"{self.n_labelled:,} with labels, {self.n_labels:,} labels"
        )
        yield from (f"  {one.line()}" for one in self.roles)
        columns = [one for one in self.fields if one.role == "labels"]
        shown = [one for one in self.fields if one.role != "left out"]
        if self.label_style == COLUMNS:
            names = ", ".join(one.name for one in columns)
            line = FieldReport(f"{len(columns):,} columns", "labels", shorten(names), 1.0)
            shown[shown.index(columns[0])] = line
            shown = [one for one in shown if one not in columns]
        shown = shown[:14]
        width = min(30, max((len(one.name) for one in shown), default=0))
        for one in shown:
            share = "" if one.filled > 0.995 else f"  ({one.filled:.0%} of the items)"
            yield f"  {one.role:<10}{one.name:<{width}.{width}}   {one.example}{share}".rstrip()
        drawn = columns if self.label_style == COLUMNS else []
        rest = [one.name for one in self.fields if one not in shown and one not in drawn]
        if rest:
            yield f"  {len(rest):,} more fields: {shorten(', '.join(rest))}"
        if self.label_style and self.n_labelled:
            one_each = self.label_style == ONE_LABEL
            yield f"  {'each item has one label' if one_each else f'labels are {self.label_style}'}"
        if self.labels:
            once = f"; {self.n_once:,} occur once" if self.n_once else ""
            top = ", ".join(f"{_short(name)} {count:,}" for name, count in self.labels)
            yield f"  most frequent: {top}{once}"
        for sample in self.samples:
            labels = sample["labels"]
            tags = "labels unknown" if labels is None else ", ".join(labels) or "no labels"
            yield f"  {sample['id']:.30}: {sample['text']!r} [{tags:.80}]"
        yield from (f"  {note}" for note in self.notes)
        yield from (f"  to change: {hint}" for hint in self.hints)
        if self.why_not_writable and self.n_labelled:
            yield f"  labels cannot be written back: {self.why_not_writable}"


def make_report(
    items: TaggedTexts,
    examples: Mapping[str, tuple[float, str]],
    *,
    n_joined: int,
    complete: bool,
    why_not_writable: str | None,
) -> ReadingReport:
    """Describe how items were read; ``examples`` has the share of items and a value by field."""
    reading, counts = items.reading or {}, items.label_counts
    roles = {
        **dict.fromkeys(reading["metadata"], "metadata"),
        **dict.fromkeys(reading["labels"], "labels"),
        **({reading["ids"]: "ids"} if reading["ids"] else {}),
        **dict.fromkeys(reading["text"], "text"),
    }
    names = [*reading["text"], *reading["labels"], *([reading["ids"]] if reading["ids"] else [])]
    names = list(dict.fromkeys([*names, *reading["metadata"], *examples]))
    fields = []
    for name in names:
        filled, example = examples.get(name, (0.0, ""))
        role = roles.get(name, "left out")
        key = {"text": "text", "labels": "labels", "ids": "ids"}.get(role, "")
        fields.append(FieldReport(name, role, example, filled, reading["guessed"].get(key)))
    once = sum(count == 1 for count in counts.values())
    rows = sorted(range(len(items)), key=lambda row: not items.labels[row])[:2]
    return ReadingReport(
        items.name,
        reading["format"],
        reading["encoding"],
        tuple(fields),
        reading["label_style"],
        len(items),
        items.n_labelled,
        len(counts),
        once,
        n_joined,
        complete,
        tuple(counts.most_common(8)),
        tuple(
            {"id": items.ids[n], "text": shorten(items.texts[n]), "labels": items.labels[n]}
            for n in rows
        ),
        reading["other_labels"],
        (*reading["notes"], *_link_notes(reading, items)),
        tuple(_hints(reading, items, once, len(counts))),
        why_not_writable,
        "format" in reading["guessed"],
        tuple(_roles(reading)),
    )


def _roles(reading: Mapping[str, Any]) -> Iterator[RoleReport]:
    """Yield the roles; dates and numbers only if there are any."""
    unsure = reading["unsure"]
    yield RoleReport("text", reading["text"], unsure.get("text", ()))
    yield RoleReport("title", (reading["title"],) if reading["title"] else ())
    labels = reading["labels"]
    if reading["label_style"] == COLUMNS:
        labels = (f"{len(labels)} columns, {labels[0]} to {labels[-1]}",)
    yield RoleReport("labels", labels, unsure.get("labels", ()))
    yield RoleReport("ids", (reading["ids"],) if reading["ids"] else ())
    if reading.get("links"):
        yield RoleReport("links", tuple(reading["links"]["marks"]))
    for role in ("date", "number"):
        if reading[f"{role}s"]:
            yield RoleReport(role, reading[f"{role}s"])


def _link_notes(reading: Mapping[str, Any], items: TaggedTexts) -> Iterator[str]:
    """Say how many links there are, and how many point to nothing."""
    told = reading.get("links") or {}
    if not told or told.get("added"):
        return
    ids = {name: row for row, name in enumerate(items.ids)}
    texts = ((row, item.id, item.text) for row, item in enumerate(items.items))
    found = find_links(enumerate(items.metadata), ids, texts, told["marks"], told["addresses"])
    pairs = set(zip(found.starts, found.ends, strict=True))
    loops = sum(start == end for start, end in pairs)
    linked = {one for pair in pairs if pair[0] != pair[1] for one in pair}
    lost, again = sum(map(len, found.nothing.values())), len(found.starts) - len(pairs)
    parts = [
        f"{len(pairs) - loops:,} link{'' if len(pairs) - loops == 1 else 's'} between "
        f"{len(linked):,} items ({', '.join(told['marks'])})",
        *([f"{lost:,} to nothing"] if lost else []),
        *([f"{loops:,} of an item to itself, left out"] if loops else []),
        *([f"{again:,} twice, counted once"] if again else []),
    ]
    yield f"{'; '.join(parts)} (--no-links: none)"


def shorten(value: Any) -> str:
    """Return a value on one line, at most 60 characters of it."""
    if isinstance(value, list | tuple):
        value = "; ".join(map(str, value[:10]))
    line = " ".join(str(value)[:300].split())
    return shortened(line, _WIDTH)


def _short(label: str) -> str:
    """Return the beginning of a label; the end of a web address, where addresses differ."""
    if "://" in label and len(label) > _LABEL_WIDTH:
        return f"...{label[3 - _LABEL_WIDTH :]}"
    return label[:_LABEL_WIDTH]


def _hints(reading: dict[str, Any], items: TaggedTexts, once: int, n_labels: int) -> Iterator[str]:
    """Yield the options that change what looks wrong."""
    fixed = reading["format"] in ("folder", "lines", "uris", "fasttext")
    if reading["labels"] and not n_labels:
        yield f"{', '.join(reading['labels'])} is empty; --labels takes another field"
    if not reading["labels"] and not fixed and not reading["unsure"].get("labels"):
        yield "no field looks like labels; name it with --labels"
    elif reading["other_labels"]:
        others = ", ".join(reading["other_labels"][:5])
        yield f"--labels takes another field, for example {others}"
    if "text" in reading["guessed"] and reading["guessed"]["text"] == "content":
        yield "--text names the field of the text"
    if reading["label_style"] and "guessed" in reading["label_style"]:
        yield "--separator says how labels are separated, '' that each item has one"
    elif reading["label_style"] == ONE_LABEL:
        whole = next((label for label in items.label_counts if ", " in label), None)
        if whole is not None:
            yield f"--separator ',' splits labels such as {whole!r}"
    if n_labels > 20 and once > 0.9 * n_labels:
        yield "--labels takes another field; almost all labels occur once"
    elif n_labels > 100 and once > n_labels / 5:
        yield f"--min-count 2 leaves out the {once:,} labels that occur once"
    if n_labels and sum("://" in label for label in items.label_counts) > n_labels / 2:
        yield "--vocabulary FILE (URI, tab, name per line) names the labels, which are URIs"
