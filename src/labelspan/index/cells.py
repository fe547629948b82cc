"""Cells of the log that are to be written, sorted by what they change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..corpus import LabelVocabulary
from .history import Cell, value_of
from .label_table import Labels
from .results import Item

__all__ = ["Wanted"]


@dataclass
class Wanted:
    """What items and labels are to be: for each id only what changes.

    ``put`` are texts with the rows of their vectors, ``items`` those that come back, ``gone`` those
    that go; ``labels`` says which numbers an item gets or loses, ``known`` whether its labels are
    known.
    """

    names: list[str]
    vocabulary: LabelVocabulary | None
    metadata: dict[str, dict[str, str | None]] = field(default_factory=lambda: defaultdict(dict))
    labels: dict[str, dict[int, bool]] = field(default_factory=lambda: defaultdict(dict))
    known: dict[str, bool] = field(default_factory=dict)
    put: dict[str, tuple[str, int]] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        cells: Mapping[Cell, str | None],
        names: Sequence[str],
        vocabulary: LabelVocabulary | None,
    ) -> Wanted:
        """Sort cells; ``names`` and the vocabulary are those that the labels have."""
        made = cls(list(names), vocabulary)
        for (item, what), value in cells.items():
            kind, _, key = what.partition(" ")
            if kind == "name":
                made.names[int(key)] = value_of(value)
            elif kind == "vocabulary":
                made.vocabulary = None if value is None else LabelVocabulary.from_json(value)
            elif kind == "metadata":
                made.metadata[item][key] = value
            elif kind == "label":
                made.labels[item][int(key)] = value == "1"
            elif kind == "labels":
                made.known[item] = value == "1"
            elif kind == "text":
                made.put[item] = tuple(value_of(value))
            elif kind == "item":
                made._put_item(item, value)
        return made

    def _put_item(self, name: str, value: str | None) -> None:
        if value is None:
            self.gone.append(name)
            return
        text, numbers, metadata, row = value_of(value)
        labels = None if numbers is None else tuple(self.names[n] for n in numbers)
        self.put[name], self.items[name] = (text, row), Item(name, text, labels, metadata)

    def with_metadata(self, item: Item) -> Item:
        """Return an item with the values that it is to have."""
        if item.id not in self.metadata:
            return item
        new = self.metadata[item.id]
        kept = {key: one for key, one in item.metadata.items() if key not in new}
        values = {key: value_of(one) for key, one in new.items() if one is not None}
        return replace(item, metadata=kept | values)

    def labels_of(self, name: str, numbers: Sequence[int] | None) -> Labels:
        """Return the labels that an item with some labels is to have.

        They are known as long as there are any.
        """
        new = self.labels.get(name, {})
        own = sorted(n for n in {*(numbers or ()), *new} if new.get(n, True))
        known = bool(own) or self.known.get(name, numbers is not None)
        return tuple(self.names[n] for n in own) if known else None
