"""Labels of items as words: which items have a label, and which a label with a word in its name.

The labels of the last fit or save are in arrays, which may be memory-mapped; what was added or
relabelled later is kept in memory next to them. Keys are the words of the names, as terms, and
the names themselves with a zero byte in front, in the order of their UTF-8 bytes:

    label_characters     all keys, one after the other, in UTF-8
    label_ends           K + 1 offsets into them
    label_starts         K + 1 offsets into the rows
    label_rows           for each key the rows of the items with it, in order
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import numpy as np

from .._typing import Array
from ..errors import InvalidFile
from .analysis import Analyzer

__all__ = ["LABEL_ARRAYS", "LabelWords", "offsets_rise", "within"]

LABEL_ARRAYS = {
    "label_characters": "|u1",
    "label_ends": "<i8",
    "label_starts": "<i8",
    "label_rows": "<i4",
}
# No term contains it.
_NAME = "\0"

Labels = tuple[str, ...] | None


class LabelWords:
    """Rows of the items with each label, and with each word of the names of labels."""

    def __init__(self, analyzer: Analyzer, arrays: Mapping[str, Array], count: int) -> None:
        self._analyzer = analyzer
        self.arrays = {name: arrays[name] for name in LABEL_ARRAYS}
        self._characters, self._ends = arrays["label_characters"], arrays["label_ends"]
        self._starts, self._rows = arrays["label_starts"], arrays["label_rows"]
        self._count = count
        self._terms: dict[str, tuple[str, ...]] = {}
        # Rows whose labels are not those of the arrays, with their keys, and the rows of these.
        self._own: dict[int, frozenset[str]] = {}
        self._later: dict[str, set[int]] = {}
        self._moved: Array | None = None

    @classmethod
    def build(cls, analyzer: Analyzer, labels: Sequence[Labels]) -> Self:
        """Index the labels of items."""
        found: dict[bytes, list[int]] = {}
        fresh = cls(analyzer, _packed(found), len(labels))
        for row, own in enumerate(labels):
            for key in fresh._keys(own):
                found.setdefault(key.encode(), []).append(row)
        return cls(analyzer, _packed(found), len(labels))

    @classmethod
    def read(cls, analyzer: Analyzer, arrays: Mapping[str, Array], count: int) -> Self:
        """Make the index from arrays in files, if they fit together and have ``count`` items."""
        size = {name: len(arrays[name]) for name in LABEL_ARRAYS if arrays[name].ndim == 1}
        fitting = (
            len(size) == len(LABEL_ARRAYS)
            and all(arrays[name].dtype == np.dtype(kind) for name, kind in LABEL_ARRAYS.items())
            and size["label_ends"] == size["label_starts"] > 0
            and offsets_rise(arrays["label_ends"], size["label_characters"])
            and offsets_rise(arrays["label_starts"], size["label_rows"])
            and within(arrays["label_rows"], count)
        )
        if not fitting:
            raise InvalidFile("The files of the labels' words do not fit together; it is damaged.")
        return cls(analyzer, arrays, count)

    @property
    def unchanged(self) -> bool:
        """Whether the arrays hold the labels of all items."""
        return not self._own

    def put(self, row: int, labels: Labels) -> None:
        """Set the labels of an item that is new or has others now."""
        for key in self._own.get(row, ()):
            self._later[key].discard(row)
        self._own[row] = self._keys(labels)
        for key in self._own[row]:
            self._later.setdefault(key, set()).add(row)
        if row < self._count:
            moved = np.zeros(self._count, dtype=bool) if self._moved is None else self._moved
            moved[row] = True
            self._moved = moved

    def with_term(self, term: str) -> Array:
        """Return the rows of the items that have a label with a term in its name, in order."""
        number = self._first(term.encode())
        rows = np.zeros(0, dtype=np.intp)
        if number < len(self._ends) - 1 and self._key(number) == term.encode():
            own = slice(int(self._starts[number]), int(self._starts[number + 1]))
            rows = np.asarray(self._rows[own], dtype=np.intp)
            if self._moved is not None:
                rows = rows[~self._moved[rows]]
        late = self._later.get(term)
        if late:
            rows = np.union1d(rows, np.fromiter(late, dtype=np.intp))
        return rows

    def with_label(self, label: str) -> Array:
        """Return the rows of the items with a label, in order."""
        return self.with_term(_NAME + label)

    def terms_starting(self, beginning: str) -> set[str]:
        """Return the terms with a beginning in the names of labels."""
        key = beginning.encode()
        # In UTF-8 no byte is 255, so this is after all terms with the beginning.
        numbers = range(self._first(key), self._first(key + b"\xff"))
        found = {self._key(number).decode(errors="replace") for number in numbers}
        return found | {term for term in self._later if term.startswith(beginning)}

    def counts(self, alive: Array) -> dict[str, int]:
        """Count the items with each label among those that are there."""
        if self.unchanged and alive.all():
            begin, end = self._first(_NAME.encode()), self._first(_NAME.encode() + b"\xff")
            sizes = np.diff(self._starts[begin : end + 1]).tolist()
            keys = (self._key(number).decode(errors="replace") for number in range(begin, end))
            return {key[len(_NAME) :]: size for key, size in zip(keys, sizes, strict=True)}
        names = sorted(self.terms_starting(_NAME))
        found = {
            name[len(_NAME) :]: int(np.count_nonzero(alive[self.with_term(name)])) for name in names
        }
        return {name: count for name, count in found.items() if count}

    def _keys(self, labels: Labels) -> frozenset[str]:
        found: set[str] = set()
        for label in labels or ():
            if label not in self._terms:
                self._terms[label] = (*self._words(label), _NAME + label)
            found.update(self._terms[label])
        return frozenset(found)

    def _words(self, label: str) -> set[str]:
        """Return the terms of a name; codes and addresses have none."""
        if "://" in label:
            return set()
        return {term for term in self._analyzer.terms(label)[0] if any(map(str.isalpha, term))}

    def _key(self, number: int) -> bytes:
        return bytes(self._characters[int(self._ends[number]) : int(self._ends[number + 1])])

    def _first(self, key: bytes) -> int:
        """Return the number of the first key that is not before a given one."""
        return bisect_left(range(len(self._ends) - 1), key, key=self._key)


def offsets_rise(offsets: Array, end: int) -> bool:
    """Tell whether offsets begin at 0, never fall, and end at ``end``."""
    return bool(offsets[0] == 0 and offsets[-1] == end and (np.diff(offsets) >= 0).all())


def within(numbers: Array, end: int) -> bool:
    """Tell whether all numbers are from 0 to ``end - 1``."""
    return not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < end)


def _packed(found: Mapping[bytes, Sequence[int]]) -> dict[str, Array]:
    keys = sorted(found)
    rows: Iterable[int] = (row for key in keys for row in found[key])
    return {
        "label_characters": np.frombuffer(b"".join(keys), dtype=np.uint8),
        "label_ends": _ends([len(key) for key in keys]),
        "label_starts": _ends([len(found[key]) for key in keys]),
        "label_rows": np.fromiter(rows, dtype=np.int32),
    }


def _ends(sizes: Sequence[int]) -> Array:
    return np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))]).astype(np.int64)
