"""What reading a corpus gives: records, all of them in memory, and how they were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .label_values import ONE_LABEL
from .names import listed

__all__ = ["CorpusReading", "Record", "TaggedTexts"]


class Record(NamedTuple):
    """Item of a corpus.

    Attributes
    ----------
    id : str
        Its id; a number in the order of the file if there is no field of ids.
    title : str or None
        The title, if there is a field for it. It is also the beginning of the text.
    text : str
        The fields of the text, joined.
    labels : list of str or None
        None if they are unknown.
    metadata : dict
        Strings, numbers, truth values or None by field.

    See Also
    --------
    CorpusReader : Yields records.

    Examples
    --------
    >>> from labelspan.corpus import Record
    >>> Record("1", None, "a game", ["play"], {}).labels
    ['play']
    """

    id: str
    title: str | None
    text: str
    labels: list[str] | None
    metadata: dict[str, Any]


@dataclass(frozen=True)
class CorpusReading:
    r"""Describe how a corpus was read: what was given, what was guessed, and why.

    Attributes
    ----------
    format : str
        The format that was read.
    encoding : str or None
        The encoding of its text; None if there is none, or several.
    text, labels : tuple of str
        The fields that were joined to the text, and those of the labels.
    ids, title : str or None
        The fields of the ids and of the titles.
    metadata : tuple of str
        The fields that were kept as metadata.
    label_style : str or None
        How labels are written, for example ``"separated by ','"``.
    guessed : dict
        Which of ``format``, ``text``, ``labels`` and ``ids`` were guessed, by ``"name"`` or by
        ``"content"``.
    other_labels : tuple of str
        Further fields that could hold labels.
    notes : tuple of str
        What was skipped or repaired.

    See Also
    --------
    read_corpus : Read a corpus; the result holds this description.

    Examples
    --------
    >>> import io
    >>> from labelspan.corpus import read_corpus
    >>> stream = io.BytesIO(b"title,tags\nChess,game|board\nGo,game|board\n")
    >>> found = read_corpus(stream).reading
    >>> found.format, found.text, found.labels, found.label_style
    ('csv', ('title',), ('tags',), "separated by '|' (guessed)")
    """

    format: str
    encoding: str | None = None
    text: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    ids: str | None = None
    title: str | None = None
    metadata: tuple[str, ...] = ()
    label_style: str | None = None
    guessed: Mapping[str, str] = field(default_factory=dict)
    other_labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def _sentences(self, items: TaggedTexts, labelled: bool) -> tuple[str, ...]:
        """Return how a corpus was read, in words."""
        encoded = f" in {self.encoding}" if self.encoding not in (None, "utf-8") else ""
        said = [f"{items.name} read as {self.format}{encoded}{self._mark('format')}"]
        if self.format == "folder":
            said = [f"{items.name} read as a folder of {len(items):,} text file(s)"]
        elif self.format == "lines":
            said.append("one text per line; items are numbered")
        elif self.format == "uris":
            said.append("one text per line, with its labels behind tabs; items are numbered")
        else:
            said += self._field_sentences(labelled)
        said += self.notes
        if self.label_style is not None:
            one = self.label_style == ONE_LABEL
            style = "each item has one label" if one else f"labels are {self.label_style}"
            said.append(f"{style}; {items.n_labelled:,} of {len(items):,} items have labels")
            said += _label_sentences(items.label_counts)
        return tuple(said)

    def _mark(self, name: str) -> str:
        if name not in self.guessed:
            return ""
        by = " by content" if self.guessed[name] == "content" and name != "format" else ""
        return f" (guessed{by})"

    def _field_sentences(self, labelled: bool) -> list[str]:
        said = [f"text from {listed(self.text, ' and ')}{self._mark('text')}"]
        if self.labels:
            others = self.other_labels[:5]
            other = f"; others may be {listed(others)}" if others else ""
            said.append(f"labels from {listed(self.labels, ' and ')}{self._mark('labels')}{other}")
        elif labelled:
            said.append("no field looks like labels; name it with --labels")
        if self.ids:
            said.append(f"ids from {self.ids!r}{self._mark('ids')}")
        else:
            said.append("items are numbered because no field looks like ids")
        if self.metadata:
            said.append(f"metadata: {', '.join(self.metadata)}")
        return said


@dataclass(frozen=True, eq=False)
class TaggedTexts:
    """Hold the items of a corpus, each with a text, labels, an id and metadata.

    Attributes
    ----------
    name : str
        Where it came from.
    texts, ids : list of str
        The texts and the names of the items.
    labels : list of lists of str, or None in places
        The labels of each item; None if they are unknown.
    metadata : list of dict
        Strings, numbers, booleans or None by key.
    notes : tuple of str
        How the corpus was read, in sentences.
    numbered : bool
        Whether the ids are numbers that were assigned when reading.
    reading : CorpusReading or None
        How the corpus was read, for programs.

    See Also
    --------
    read_corpus : Read a corpus from a file, a folder or a stream.

    Examples
    --------
    >>> from labelspan.corpus import TaggedTexts
    >>> texts = TaggedTexts("mine", ["a game", "a tool"], [["play"], None], ["1", "2"], [{}, {}])
    >>> len(texts), texts.n_labelled, texts.label_names
    (2, 1, ['play'])
    """

    name: str
    texts: Sequence[str]
    labels: Sequence[list[str] | None]
    ids: Sequence[str]
    metadata: Sequence[Mapping[str, Any]]
    notes: tuple[str, ...] = ()
    numbered: bool = False
    reading: CorpusReading | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_labelled(self) -> int:
        """Number of items that have labels."""
        return sum(bool(labels) for labels in self.labels)

    @property
    def label_counts(self) -> Counter[str]:
        """Number of items by label."""
        return Counter(label for labels in self.labels for label in labels or ())

    @property
    def label_names(self) -> list[str]:
        """All labels, sorted."""
        return sorted(self.label_counts)

    def sample(self) -> list[str]:
        """Return lines that show two items and the most frequent labels.

        Returns
        -------
        list of str
            A line per item, those with labels first, and one with the labels and their counts.
        """
        chosen = sorted(range(len(self)), key=lambda row: not self.labels[row])[:2]
        lines = []
        for row in chosen:
            own = self.labels[row]
            tags = "labels unknown" if own is None else ", ".join(own[:5]) or "no labels"
            tags += ", ..." if own and len(own) > 5 else ""
            line = " ".join(self.texts[row][:280].split())
            line = line if len(line) <= 70 else f"{line[:70]}..."
            lines.append(f"{self.ids[row]:.40}: {line!r} [{tags}]")
        counts = self.label_counts
        if counts:
            top = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(8))
            lines.append(f"most frequent of {len(counts):,} labels: {top}")
        return lines


def _label_sentences(counts: Counter[str]) -> list[str]:
    """Return what could be done about many rare labels, and labels without names."""
    once = sum(count == 1 for count in counts.values())
    said = []
    if len(counts) > 100 and once > len(counts) / 5:
        said.append(f"{once:,} of {len(counts):,} labels occur once; --min-count 2 leaves them out")
    uris = sum("://" in label for label in counts)
    if counts and uris > len(counts) / 2:
        said.append("labels are URIs; --vocabulary FILE (URI, tab, name per line) names them")
    return said
