"""The items of a corpus: one by one, or all in memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = ["Item", "TaggedTexts"]

_LONGEST_TITLE = 90
# A first sentence of a line that is too long for a title.
_SENTENCE = re.compile(r".{15,89}?(?:[.!?](?=\s)|[\u3002\uff01\uff1f])")


@dataclass(frozen=True)
class Item:
    """Item of a corpus or an index.

    Attributes
    ----------
    id, text : str
    labels : tuple of str or None
        None if they are unknown.
    metadata : dict
        Strings, numbers, booleans or None by field.

    See Also
    --------
    labelspan.SemanticIndex.item : Returns it.
    labelspan.corpus.CorpusReader : Yields the items of a file.

    Examples
    --------
    >>> from labelspan.index import Item
    >>> Item("gimp", "An image editor", ("graphics",), {}).title
    'An image editor'
    """

    id: str
    text: str
    labels: tuple[str, ...] | None
    metadata: dict[str, Any]

    @property
    def title(self) -> str:
        """First line of the text, or its first sentence if it is long, cut between words.

        The id if the text is empty.
        """
        line = next((part for part in self.text.splitlines() if part.strip()), self.id)
        line = " ".join(line.split())
        if len(line) <= _LONGEST_TITLE:
            return line
        if sentence := _SENTENCE.match(line):
            return sentence.group()
        start = line[:_LONGEST_TITLE]
        return f"{start.rpartition(' ')[0] or start[:-1]}…"


@dataclass(frozen=True, eq=False)
class TaggedTexts:
    """Hold the items of a corpus.

    Attributes
    ----------
    name : str
        Where it came from.
    items : sequence of Item
        The items.
    notes : tuple of str
        What was skipped, joined or repaired; :meth:`CorpusReader.report` says how it was read.
    numbered : bool
        Whether the ids are numbers that were assigned when reading.
    reading : dict or None
        How the corpus was read, for programs: ``format`` and ``encoding``; the fields ``text``,
        ``labels``, ``ids``, ``title`` and ``metadata``; ``label_style``, as "separated by ','";
        which of them were ``guessed``, by "name" or by "content"; ``other_labels``, fields that
        could hold labels, too; ``html``, fields from which HTML was removed; ``joined``, whether
        rows of the same text are one item; and the ``notes``.

    See Also
    --------
    read_corpus : Read a corpus from a file, a folder or a stream.

    Examples
    --------
    >>> from labelspan.corpus import TaggedTexts
    >>> from labelspan.index import Item
    >>> items = [Item("1", "a game", ("play",), {}), Item("2", "a tool", None, {})]
    >>> texts = TaggedTexts("mine", items)
    >>> texts.labels, texts.n_labelled, texts.label_names
    ([['play'], None], 1, ['play'])
    """

    name: str
    items: Sequence[Item] = field(repr=False)
    notes: tuple[str, ...] = ()
    numbered: bool = False
    reading: dict[str, Any] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def ids(self) -> list[str]:
        """Id of each item."""
        return [one.id for one in self.items]

    @cached_property
    def texts(self) -> list[str]:
        """Text of each item."""
        return [one.text for one in self.items]

    @cached_property
    def labels(self) -> list[list[str] | None]:
        """Labels of each item; None if they are unknown."""
        return [None if one.labels is None else list(one.labels) for one in self.items]

    @cached_property
    def metadata(self) -> list[dict[str, Any]]:
        """Metadata of each item."""
        return [one.metadata for one in self.items]

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
