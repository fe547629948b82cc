"""Filters, and the rows of each id, label and metadata value."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from .inputs import as_names, label_name
from .results import Item

__all__ = ["Catalogue", "Filter", "filter_mask"]


@dataclass(frozen=True)
class Filter:
    """Condition on the labels and metadata of items.

    Attributes
    ----------
    labels : tuple of str
        An item must have all of them.
    any_labels : tuple of str
        An item must have at least one of them.
    without : tuple of str
        An item must have none of them.
    metadata : mapping
        For each key a value, a list of accepted values, or a function of the value that
        returns True or False.

    See Also
    --------
    labelspan.SemanticIndex.search : Takes it.

    Examples
    --------
    >>> from labelspan.index import Filter
    >>> Filter(labels=("use::editing",), metadata={"section": ["sound", "video"]}).without
    ()
    """

    labels: tuple[str, ...] = ()
    any_labels: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Filter | Mapping[str, Any] | None) -> Filter:
        """Make a filter from a dict with its fields; return a given filter unchanged."""
        if given is None or isinstance(given, Filter):
            return given or cls()
        names = {"labels", "any_labels", "without", "metadata"}
        if not isinstance(given, Mapping) or not given.keys() <= names:
            raise InvalidInput(
                f"filter must be a Filter, or a dict with {', '.join(sorted(names))}, "
                f"but {given!r} was given."
            )
        tables = given.get("metadata", {})
        if not isinstance(tables, Mapping):
            raise InvalidInput(f"filter: metadata must be a dict, but {tables!r} was given.")
        parts = {name: as_names(given.get(name, ())) for name in names - {"metadata"}}
        return cls(**parts, metadata=tables)


class Catalogue:
    """Row numbers by id, by label and by metadata value."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self._labels: dict[str, set[int]] = {}
        self._metadata: dict[str, dict[Any, set[int]]] = {}

    def add(self, row: int, item: Item) -> None:
        """Add an item."""
        self.rows[item.id] = row
        for label in item.labels or ():
            self._labels.setdefault(label, set()).add(row)
        for key, value in item.metadata.items():
            self._metadata.setdefault(key, {}).setdefault(_typed(value), set()).add(row)

    def remove(self, row: int, item: Item) -> None:
        """Remove an item."""
        del self.rows[item.id]
        for label in item.labels or ():
            _discard(self._labels, label, row)
        for key, value in item.metadata.items():
            _discard(self._metadata[key], _typed(value), row)
            if not self._metadata[key]:
                del self._metadata[key]

    def relabel(self, row: int, old: Item, new: Item) -> None:
        """Change the labels of an item."""
        for label in old.labels or ():
            _discard(self._labels, label, row)
        for label in new.labels or ():
            self._labels.setdefault(label, set()).add(row)

    def label_rows(self) -> dict[str, list[int]]:
        """Return the rows of every label."""
        return {label: sorted(rows) for label, rows in self._labels.items()}

    def metadata_rows(self) -> dict[str, dict[tuple[bool, Any], list[int]]]:
        """Return the rows of every value of every key; a value comes with whether it is a bool."""
        return {
            key: {value: sorted(rows) for value, rows in values.items()}
            for key, values in self._metadata.items()
        }

    def row(self, name: Any) -> int:
        """Return the row of an id."""
        if name not in self.rows:
            raise InvalidInput(
                f"There is no item {name!r} in the index{_did_you_mean(name, self.rows)}"
            )
        return self.rows[name]

    def labelled(self, label: Any) -> Array:
        """Return the rows with a label, in order."""
        label = label_name(label)
        if label not in self._labels:
            raise self.unknown_label(label)
        return np.sort(np.fromiter(self._labels[label], dtype=np.intp))

    def unknown_label(self, label: Any) -> InvalidInput:
        """Return the error for a label that no item has."""
        return InvalidInput(f"No item has the label {label!r}{_did_you_mean(label, self._labels)}")

    def label_counts(self) -> dict[str, int]:
        """Count the items with each label."""
        return {label: len(self._labels[label]) for label in sorted(self._labels)}

    def mask(self, wanted: Filter, size: int) -> Array | None:
        """Mark the rows that pass a filter; None if all pass."""
        return filter_mask(wanted, size, self.labelled, self._chosen)

    def _chosen(self, key: str, choice: Any) -> Array:
        if key not in self._metadata:
            keys = ", ".join(sorted(self._metadata)) or "none"
            raise InvalidInput(f"No item has metadata {key!r}; the keys are: {keys}.")
        values = self._metadata[key]
        test: Callable[[Any], bool]
        if callable(choice):
            test = choice
        else:
            several = isinstance(choice, list | tuple | set | frozenset)
            accepted = {_typed(value) for value in (choice if several else [choice])}
            found = [values[value] for value in accepted if value in values]
            return _joined(found)
        return _joined([rows for (_, value), rows in values.items() if test(value)])


def filter_mask(
    wanted: Filter,
    size: int,
    labelled: Callable[[str], Array],
    chosen: Callable[[str, Any], Array],
) -> Array | None:
    """Mark the rows that pass a filter; None if all pass.

    ``labelled`` returns the rows with a label, ``chosen`` those with a value of metadata.
    """
    if wanted == Filter():
        return None
    allowed = np.ones(size, dtype=bool)
    for label in wanted.labels:
        allowed &= _marked(labelled(label), size)
    if wanted.any_labels:
        rows = np.concatenate([labelled(label) for label in wanted.any_labels])
        allowed &= _marked(rows, size)
    for label in wanted.without:
        allowed[labelled(label)] = False
    for key, choice in wanted.metadata.items():
        allowed &= _marked(chosen(key, choice), size)
    return allowed


def _typed(value: Any) -> tuple[bool, Any]:
    # True equals 1 in Python, but is another metadata value.
    return isinstance(value, bool), value


def _discard(table: dict[Any, set[int]], key: Any, row: int) -> None:
    table[key].discard(row)
    if not table[key]:
        del table[key]


def _joined(sets: list[set[int]]) -> Array:
    return np.array(sorted(set().union(*sets)), dtype=np.intp)


def _marked(rows: Array, size: int) -> Array:
    marks = np.zeros(size, dtype=bool)
    marks[rows] = True
    return marks


def _did_you_mean(name: Any, names: Iterable[str]) -> str:
    """End a sentence about an unknown name, with a question if similar names exist."""
    similar = difflib.get_close_matches(str(name), names, n=3)
    return f"; did you mean {', '.join(map(repr, similar))}?" if similar else "."
