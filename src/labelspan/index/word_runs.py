"""The word index of many texts, from sorted runs that are merged in bounded memory.

A run has the postings of a block of texts, by term. All terms are numbered in their order, which
is also their order in every run; ranges of terms whose postings fit into memory are then read from
all runs, joined, and written one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy import sparse

from .._typing import Array
from .analysis import Analyzer
from .array_blocks import ArrayBlocks
from .label_words import LabelWords
from .word_blocks import WordBlock, pack_words, unpack_words

__all__ = ["LabelKeys", "add_run", "merge_runs"]

# Numbers of postings and positions that are joined at a time.
_NUMBERS = 1 << 25

# Takes a name, the length of an array and its type; returns a function that writes its parts.
OpenArray = Callable[[str, int, str], Callable[[Array], None]]


class LabelKeys:
    """Keys under which items are found by their labels: names, and words of names."""

    def __init__(self, analyzer: Analyzer, names: Sequence[str]) -> None:
        # Each label as if it were an item with that label.
        self.arrays = LabelWords.build(analyzer, [(name,) for name in names]).arrays
        starts, columns = self.arrays["label_starts"], self.arrays["label_rows"]
        ones = np.ones(columns.size, dtype=np.int8)
        shape = (starts.size - 1, len(names))
        self._keys = sparse.csr_matrix((ones, columns, starts), shape=shape)

    def __len__(self) -> int:
        return int(self._keys.shape[0])

    def rows(self, targets: sparse.csr_matrix) -> tuple[Array, Array, Array]:
        """Return the keys that the items of a block have, where their rows start, and the rows."""
        found = sparse.csc_matrix(targets.astype(np.int32) @ self._keys.T.astype(np.int32))
        found.sort_indices()
        counts = np.diff(found.indptr)
        keys = np.flatnonzero(counts)
        return keys, np.concatenate([[0], np.cumsum(counts[keys])]), found.indices


def add_run(  # noqa: PLR0917
    runs: ArrayBlocks,
    block: WordBlock,
    analyzer: Analyzer,
    first: int,
    keys: LabelKeys,
    targets: sparse.csr_matrix,
) -> None:
    """Write the postings of a block whose first text has a row number; ``targets`` are labels."""
    found = block.term_arrays(analyzer)
    terms, number, rows = found.terms, found.number, found.rows
    order = _by_term(number, rows, block)
    number, rows, positions = number[order], rows[order], found.positions[order]
    new = np.ones(order.size, dtype=bool)
    new[1:] = (number[1:] != number[:-1]) | (rows[1:] != rows[:-1])
    begins = np.flatnonzero(new)
    bounds = np.arange(len(terms) + 1)
    ends = np.append(begins, order.size)
    titles = np.concatenate([[0], np.cumsum(found.in_title[order])])[ends]
    by_key = np.lexsort((block.name_rows, block.name_keys))
    label_keys, label_starts, label_rows = keys.rows(targets)
    runs.append(
        {
            "terms": pack_words(terms),
            "starts": np.searchsorted(number[begins], bounds).astype(np.int64),
            "occurrences": np.searchsorted(number, bounds).astype(np.int64),
            "rows": (rows[begins] + first).astype(np.int32),
            "counts": np.diff(ends).astype(np.int32),
            "titles": np.diff(titles).astype(np.int32),
            "positions": positions,
            "lengths": found.lengths,
            "title_lengths": block.title_lengths,
            "label_keys": label_keys.astype(np.int64),
            "label_starts": label_starts.astype(np.int64),
            "label_rows": (label_rows + first).astype(np.int32),
            "name_keys": block.name_keys[by_key],
            "name_rows": (block.name_rows[by_key] + first).astype(np.int32),
        },
        rows=block.n_texts,
    )


def _by_term(number: Array, rows: Array, block: WordBlock) -> Array:
    """Return the order by terms, in which rows and positions of a term stay in order."""
    keys, most = number.astype(np.int64), int(number.max(initial=0)) + 1
    if block.other.size:
        # Texts of both kinds are one after the other.
        keys, most = keys * block.n_texts + rows, most * block.n_texts
    bits = int(number.size).bit_length()
    if most.bit_length() + bits > 63:
        return np.lexsort((rows, number))
    # A key with its place is sorted several times faster than places by their keys.
    found: Array = np.sort((keys << bits) | np.arange(number.size)) & ((1 << bits) - 1)
    return found


def merge_runs(
    runs: ArrayBlocks, open_array: OpenArray, keys: LabelKeys, *, most: int = _NUMBERS
) -> None:
    """Write the arrays of the word index, each in parts."""
    _merge_labels(runs, open_array, keys, most)
    terms = sorted({term for n in range(len(runs)) for term in _terms(runs, n)})
    place = {term: number for number, term in enumerate(terms)}
    numbers = [
        np.array([place[term] for term in _terms(runs, n)], dtype=np.int64)
        for n in range(len(runs))
    ]
    encoded = [term.encode() for term in terms]
    del place, terms
    ends = np.concatenate([[0], np.cumsum([len(one) for one in encoded])]).astype(np.int64)
    _whole(open_array, "word_characters", np.frombuffer(b"".join(encoded), dtype=np.uint8), "|u1")
    _whole(open_array, "word_ends", ends, "<i8")
    del encoded
    sizes = {}
    for name, offsets in (("starts", "word_starts"), ("occurrences", "word_occurrences")):
        total = np.zeros(ends.size - 1, dtype=np.int64)
        for n, own in enumerate(numbers):
            total[own] += np.diff(runs.array(n, name))
        sizes[name] = np.concatenate([[0], np.cumsum(total)])
        _whole(open_array, offsets, sizes[name], "<i8")
    parts = list(_ranges(sizes["starts"] + sizes["occurrences"], most))
    for name, by, out in (
        ("rows", "starts", "word_rows"),
        ("counts", "starts", "word_counts"),
        ("titles", "starts", "word_titles"),
        ("positions", "occurrences", "word_positions"),
    ):
        write = open_array(out, int(sizes[by][-1]), "<i4")
        for part in parts:
            write(_joined(runs, numbers, sizes[by], name, by, part))
    for name, out in (("lengths", "word_lengths"), ("title_lengths", "title_lengths")):
        write = open_array(out, sum(runs.about(n)["rows"] for n in range(len(runs))), "<i4")
        for n in range(len(runs)):
            write(runs.array(n, name))
    names, rows = (
        np.concatenate([runs.array(n, name) for n in range(len(runs))])
        for name in ("name_keys", "name_rows")
    )
    order = np.argsort(names, kind="stable")
    _whole(open_array, "name_keys", names[order], "<i8")
    _whole(open_array, "name_rows", rows[order], "<i4")


def _merge_labels(runs: ArrayBlocks, open_array: OpenArray, keys: LabelKeys, most: int) -> None:
    for name, kind in (("label_characters", "|u1"), ("label_ends", "<i8")):
        _whole(open_array, name, keys.arrays[name], kind)
    numbers = [runs.array(n, "label_keys") for n in range(len(runs))]
    total = np.zeros(len(keys), dtype=np.int64)
    for n, own in enumerate(numbers):
        total[own] += np.diff(runs.array(n, "label_starts"))
    offsets = np.concatenate([[0], np.cumsum(total)])
    _whole(open_array, "label_starts", offsets, "<i8")
    write = open_array("label_rows", int(offsets[-1]), "<i4")
    for part in _ranges(offsets, most):
        write(_joined(runs, numbers, offsets, "label_rows", "label_starts", part))


def _joined(  # noqa: PLR0917
    runs: ArrayBlocks,
    numbers: list[Array],
    offsets: Array,
    name: str,
    by: str,
    part: tuple[int, int],
) -> Array:
    """Join what all runs have of a range of terms, term by term."""
    first, last = part
    base = int(offsets[first])
    out = np.empty(int(offsets[last]) - base, dtype=np.int32)
    filled = (offsets[first:last] - base).astype(np.int64)
    for n, own in enumerate(numbers):
        begin, end = np.searchsorted(own, [first, last])
        if begin == end:
            continue
        starts = runs.array(n, by, mapped=True)[begin : end + 1]
        values = runs.array(n, name, mapped=True)[int(starts[0]) : int(starts[-1])]
        counts = np.diff(starts)
        at = own[begin:end] - first
        places = np.repeat(filled[at] - (starts[:-1] - starts[0]), counts)
        out[places + np.arange(values.size)] = values
        filled[at] += counts
    return out


def _ranges(offsets: Array, most: int) -> Iterator[tuple[int, int]]:
    """Split terms into ranges with a limited number of postings; one term may have more."""
    first, count = 0, offsets.size - 1
    while first < count:
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = min(max(last, first + 1), count)
        yield first, last
        first = last


def _terms(runs: ArrayBlocks, number: int) -> list[str]:
    return unpack_words(runs.array(number, "terms"))


def _whole(open_array: OpenArray, name: str, values: Array, kind: str) -> None:
    open_array(name, values.size, kind)(values)
