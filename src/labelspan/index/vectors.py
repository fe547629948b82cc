"""Unit vectors of the items: exact and approximate search among them, and places by known labels.

Scores of queries with all rows are computed as float32 products, block by block. Their rounding
depends on the block, so they only select candidates; the candidates are ranked by cosines in
float64. The answer is therefore the same for one query and for many.

A save links the vectors of a large index; usearch then proposes rows, which are ranked in the same
way. usearch follows the links in its file without checking them, and a file made by somebody else
could have the right hash, so they are all checked here first; at worst it finds poor neighbours.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidFile
from .folder import ArrayFile, Files

__all__ = [
    "AnnIndex",
    "LabelDirections",
    "UnitVectors",
    "kth_largest",
    "label_places",
    "nearest",
    "open_ann",
    "proposed",
    "unit_rows",
    "write_ann",
]

_log = logging.getLogger("labelspan.index")

# Row numbers, best first, and their cosines.
Ranked = tuple[Array, Array]

# A block of scores, queries by items, of 16 MiB.
_SCORES_AT_ONCE = 1 << 22
_QUERIES_AT_ONCE = 256
_ROWS_AT_ONCE = 1 << 12
_GROUP = 32
# Rows from which the spread of the items is estimated.
_SAMPLE = 1 << 14

_LINKS_FILE = "usearch"
# In a smaller index comparing with every item takes a few milliseconds.
LARGE = 300_000
# Bytes of the links of a row, about, and the share of the memory that linking may take.
_LINK_BYTES, _SHARE_OF_MEMORY = 150, 0.5
# Chosen on 10^5 vectors of 100 dimensions (benchmarks/search_size.py): links per node, rows
# visited when a row is added, and rows that a search proposes.
_LINKS, _EXPANSION, _PROPOSED = 16, 64, 256
# At least 4 k rows are proposed; for k above 256, search is exact.
_PROPOSED_PER_ANSWER, _MOST_ANSWERS = 4, 256
# With a filter that fewer than one row in four passes, search is exact.
_LEAST_SHARE = 0.25
_NODES_AT_ONCE = 1 << 16
# Format of usearch: number of rows and bytes per row; a head of 64 bytes with the count in
# bytes 18 to 25; then size, links, links on the lowest level, highest level and entry point.
_MATRIX, _HEAD, _ABOUT = 8, 64, 40
_COUNT = slice(17, 25)


def unit_rows(rows: Array) -> Array:
    """Scale rows to length 1, in float32; rows of zeros stay zero."""
    wide = np.asarray(rows, dtype=np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.asarray(wide / np.where(norms > 0, norms, 1.0), dtype=np.float32)


def kth_largest(values: Array, k: int) -> float:
    """Return a number that at least ``k`` values reach: the k-th largest, or slightly less.

    It is the k-th largest maximum of groups, which is found faster if there are many values.
    """
    groups = len(values) // _GROUP
    if groups >= 8 * k:
        whole = groups * _GROUP
        maxima = values[:whole].reshape(groups, _GROUP).max(axis=1)
        values = np.append(maxima, values[whole:])
    return float(np.partition(values, len(values) - k)[len(values) - k])


class UnitVectors:
    """Rows of a fixed array, which may be memory-mapped, followed by rows added later.

    A row keeps its number; a removed row is skipped.
    """

    def __init__(self, base: Array) -> None:
        # Fixed array with the first rows, and the number of dimensions.
        self.base, self.width = base, int(base.shape[1])
        self._tail = np.zeros((0, base.shape[1]), dtype=np.float32)
        self.alive = np.ones(base.shape[0], dtype=bool)
        # Twice the largest rounding error of a product of unit vectors in float32.
        self.slack = (self.width + 2) * float(np.finfo(np.float32).eps)

    @property
    def queries_at_once(self) -> int:
        """Number of queries whose products with all rows fit into one block of scores."""
        return max(1, min(_QUERIES_AT_ONCE, _SCORES_AT_ONCE // max(1, self.alive.size)))

    def append(self, rows: Array) -> None:
        """Add rows at the end."""
        self._tail = np.concatenate([self._tail, np.asarray(rows, dtype=np.float32)])
        self.alive = np.concatenate([self.alive, np.ones(len(rows), dtype=bool)])

    def drop(self, rows: Array) -> None:
        """Skip some rows from now on."""
        self.alive = self.alive.copy()
        self.alive[rows] = False

    def rows(self, numbers: Array) -> Array:
        """Return the vectors in some rows."""
        numbers = np.asarray(numbers, dtype=np.intp)
        late = numbers >= len(self.base)
        if not late.any():
            return np.asarray(self.base[numbers])
        out = np.empty((numbers.size, self.width), dtype=np.float32)
        out[~late] = self.base[numbers[~late]]
        out[late] = self._tail[numbers[late] - len(self.base)]
        return out

    def blocks(self, step: int = _ROWS_AT_ONCE) -> Iterator[tuple[int, Array]]:
        """Yield blocks of rows, each with the number of its first row."""
        for first, array in ((0, self.base), (len(self.base), self._tail)):
            for start in range(0, len(array), step):
                yield first + start, array[start : start + step]

    def products(self, queries: Array) -> Array:
        """Compute the products of queries with all rows, including removed ones, in float32."""
        out: Array = np.empty((len(queries), self.alive.size), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for first, block in self.blocks(_SCORES_AT_ONCE):
                np.matmul(queries, block.T, out=out[:, first : first + len(block)])
        return out

    def top(self, queries: Array, k: int, mask: Array | None = None) -> list[Ranked]:
        """Find for each unit query the rows with the best positive cosines, best first.

        ``mask`` marks the rows that may be found; None allows all that were not removed.
        """
        mask = self.alive if mask is None else mask
        if not mask.any():
            return [(np.zeros(0, dtype=np.intp), np.zeros(0))] * len(queries)
        found: list[Ranked] = []
        for start in range(0, len(queries), self.queries_at_once):
            part = queries[start : start + self.queries_at_once]
            for query, products in zip(part, self.products(part), strict=True):
                allowed = np.where(mask, products, 0.0)
                # A product is off by at most half of the slack.
                least = self.slack / 2
                if allowed.size > k:
                    least = max(least, kth_largest(allowed, k) - self.slack)
                found.append(self.rank(query, np.flatnonzero(allowed >= least), k))
        return found

    def rank(self, query: Array, rows: Array, k: int) -> Ranked:
        """Rank some rows by positive cosines, and equal ones by number; keep the best ``k``."""
        scores = self.cosines(query, rows)
        order = np.lexsort((rows, -scores))
        order = order[scores[order] > 0][:k]
        return rows[order], np.minimum(scores[order], 1.0)

    def cosines(self, query: Array, rows: Array) -> Array:
        """Compute cosines in float64; those that float32 cannot distinguish from 0 are 0."""
        wide = query.astype(np.float64)
        # Summed row by row: a matrix product would round differently for other sets of rows.
        scores = np.concatenate(
            [np.zeros(0)]
            + [
                np.einsum("ij,j->i", self.rows(rows[start : start + _ROWS_AT_ONCE]), wide)
                for start in range(0, len(rows), _ROWS_AT_ONCE)
            ]
        )
        return np.where(scores > self.slack, scores, 0.0)

    def moments(self) -> tuple[Array, Array]:
        """Compute the mean of the rows and of their outer products, on a sample if there are many.

        The sample is the same for rows in one array and for rows that were added one by one.
        """
        kept = np.flatnonzero(self.alive)
        rows = self.rows(kept[:: max(1, -(-len(kept) // _SAMPLE))]).astype(np.float64)
        count = max(1, len(rows))
        # A damaged file that is read without checks may hold any number.
        with np.errstate(over="ignore", invalid="ignore"):
            return rows.sum(axis=0) / count, rows.T @ rows / count


# --- places by known labels -----------------------------------------------------------------


class LabelDirections(NamedTuple):
    """What known labels add to the place of an item: directions (k, m) and means (k,)."""

    directions: Array
    means: Array


def label_places(
    vectors: UnitVectors, labels: sparse.csr_matrix, found: LabelDirections
) -> UnitVectors:
    """Place items by their known labels as well as by their texts, for "more like this".

    An item whose labels are known lies closer to items that share them if the labels are added to
    its vector: in the space of an estimator with ``label_directions_`` its place is

        (u + p / r) / |u + p / r|,    p = (y - label_means_) @ label_directions_,

    with its unit vector u and r the root mean square of the lengths of all p. Queries of texts are
    compared with u: their labels are unknown. Labels without a direction are ignored.
    """
    directions = np.asarray(found.directions, dtype=np.float64)
    shift = np.asarray(found.means, dtype=np.float64) @ directions
    labels = labels[:, : len(directions)]
    unplaced = np.diff(labels.indptr) == 0
    places = np.zeros((vectors.alive.size, vectors.width), dtype=np.float32)
    for first, block in vectors.blocks():
        own = slice(first, first + len(block))
        places[own] = labels[own] @ directions - shift
        places[own][unplaced[own]] = 0.0
    square = float(np.einsum("ij,ij->", places, places, dtype=np.float64))
    scale = 1 / np.sqrt(square / np.count_nonzero(~unplaced)) if square > 0 else 0.0
    for first, block in vectors.blocks():
        own = slice(first, first + len(block))
        places[own] = unit_rows(block + scale * places[own])
    return UnitVectors(places)


# --- approximate search with usearch --------------------------------------------------------


def write_ann(files: Files) -> None:
    """Link the vectors that were written before, if they are many and usearch is installed."""
    base = files.open("vectors").array("vectors")
    rows, width = base.shape
    if rows < LARGE or find_spec("usearch") is None:
        return
    from ..operators.machine import available_memory  # noqa: PLC0415 - searches do without it

    needed, there = rows * (_LINK_BYTES + 2 * width), available_memory()
    if there is not None and needed > _SHARE_OF_MEMORY * there:
        _log.warning("Search stays exact: linking the vectors needs %.1f GB.", needed / 1e9)
        return
    built = AnnIndex.build(base)
    if len(built):
        files.write(_LINKS_FILE, {"usearch": built.content()}, usearch=_version())


def open_ann(files: Files) -> ArrayFile | None:
    """Open the file of links in the manifest, if it was written by the same version of usearch."""
    if _LINKS_FILE not in files:
        return None
    file = files.open(_LINKS_FILE)
    usable = find_spec("usearch") is not None and file.about.get("usearch") == _version()
    return file if usable else None


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - only where usearch is used

    return version("usearch")


class AnnIndex:
    """usearch index of the rows of an array; rows of zeros are not in it."""

    def __init__(self, index: Any, content: Array | None = None) -> None:
        self._index = index
        # usearch reads from it as long as it is used.
        self._content = content

    @classmethod
    def build(
        cls, base: Array, *, jobs: int = 1, links: int = _LINKS, expansion: int = _EXPANSION
    ) -> Self:
        """Build the index; with one job the same rows give the same index."""
        index = _empty(base.shape[1], links, expansion)
        for start in range(0, len(base), _ROWS_AT_ONCE):
            block = np.asarray(base[start : start + _ROWS_AT_ONCE])
            rows = np.flatnonzero(block.any(axis=1))
            if rows.size:
                index.add((start + rows).astype(np.uint64), block[rows], threads=jobs)
        return cls(index)

    @classmethod
    def read(cls, file: ArrayFile, rows: int, width: int) -> Self:
        """Read the index of an array of some shape, after a check of all its links."""
        content, index = file.array("usearch"), _empty(width)
        check_ann(content, bytes(index.save()), rows)
        index.view(content.data)
        return cls(index, content)

    def content(self) -> Array:
        """Return the index as bytes."""
        return np.frombuffer(self._index.save(), dtype=np.uint8)

    def __len__(self) -> int:
        return len(self._index)

    def propose(self, queries: Array, count: int) -> list[Array]:
        """Propose about ``count`` near rows for each query, in row order."""
        count = min(count, len(self))
        found = self._index.search(queries, count, threads=1 if len(queries) == 1 else 0)
        # The answer to one query has no first axis.
        keys = np.asarray(found.keys).reshape(len(queries), count)
        counts = np.atleast_1d(found.counts) if len(queries) > 1 else [len(found)]
        return [
            np.unique(own[: int(n)].astype(np.intp)) for own, n in zip(keys, counts, strict=True)
        ]


def _empty(width: int, links: int = _LINKS, expansion: int = _EXPANSION) -> Any:
    from usearch.index import Index  # noqa: PLC0415 - it is optional

    # The inner product of unit vectors is their cosine, and is defined for zeros as well.
    return Index(
        ndim=width,
        metric="ip",
        dtype="f16",
        connectivity=links,
        expansion_add=expansion,
        enable_key_lookups=False,
    )


def proposed(
    vectors: UnitVectors, ann: AnnIndex | None, queries: Array, k: int, mask: Array
) -> list[Array | None]:
    """Propose for each query rows near it, with the best of those added later.

    None if every row must be compared: if ``k`` is more than 256, if fewer than a quarter of the
    rows may be found, or if fewer than ``k`` of the proposed ones.
    """
    covered = len(vectors.base)
    share = np.count_nonzero(mask[:covered]) / max(1, covered)
    if ann is None or not len(ann) or k > _MOST_ANSWERS or share < _LEAST_SHARE:
        return [None] * len(queries)
    late = mask.copy()
    late[:covered] = False
    near = ann.propose(queries, max(_PROPOSED, _PROPOSED_PER_ANSWER * k))
    return [
        np.union1d(own[mask[own]], later) if np.count_nonzero(mask[own]) >= k else None
        for own, (later, _) in zip(near, vectors.top(queries, k, late), strict=True)
    ]


def nearest(
    vectors: UnitVectors, ann: AnnIndex | None, queries: Array, k: int, mask: Array
) -> tuple[list[Ranked], bool]:
    """Find the best rows for each query; return also whether the usearch index was used."""
    near = proposed(vectors, ann, queries, k, mask)
    missing = [n for n, rows in enumerate(near) if rows is None]
    exact = iter(vectors.top(queries[missing], k, mask))
    found = [
        next(exact) if rows is None else vectors.rank(query, rows, k)
        for query, rows in zip(queries, near, strict=True)
    ]
    return found, len(missing) < len(queries)


# --- what usearch wrote ---------------------------------------------------------------------


def check_ann(content: Any, empty: bytes, rows: int) -> None:
    """Check that every link in a usearch index leads to a node in it, and that keys are rows.

    ``empty`` is an empty usearch index with the same settings.
    """
    try:
        sound = _is_sound(np.frombuffer(content, dtype=np.uint8), empty, rows)
    except (ValueError, IndexError):
        sound = False
    if not sound:
        raise InvalidFile("The links for approximate search are not valid: the index is damaged.")


def _is_sound(data: Array, empty: bytes, rows: int) -> bool:
    size, width = data[:_MATRIX].view("<u4").tolist()
    head = bytearray(empty[_MATRIX : _MATRIX + _HEAD])
    head[_COUNT] = size.to_bytes(8, "little")
    parts = np.cumsum([_MATRIX + size * width, _HEAD, _ABOUT, 2 * size])
    links, ground = np.frombuffer(empty[-32:-16], dtype="<u8").tolist()
    about = np.frombuffer(data[parts[1] : parts[2]].tobytes(), dtype="<u8").tolist()
    levels = np.frombuffer(data[parts[2] : parts[3]].tobytes(), dtype="<i2").astype(np.int64)
    highest, entry = about[3:]
    # A node: its key, its level, and for each level a count and that number of links.
    node = np.dtype([("key", "<u8"), ("level", "<i2"), ("count", "<u4"), ("to", "<u4", ground)])
    upper = np.dtype([("count", "<u4"), ("to", "<u4", links)])
    lengths = node.itemsize + upper.itemsize * levels
    starts = parts[3] + np.cumsum(lengths) - lengths
    if (
        not 0 < size <= rows
        or width != int.from_bytes(empty[4:8], "little")
        or data[parts[0] : parts[1]].tobytes() != bytes(head)
        or about[:3] != [size, links, ground]
        or levels.min() < 0
        or not highest == levels.max() == levels[entry]
        or starts[-1] + lengths[-1] != data.size
    ):
        return False
    for level in range(highest + 1):
        kind, begin = (upper, node.itemsize) if level else (node, 0)
        reaching = np.flatnonzero(levels >= level)
        for first in range(0, reaching.size, _NODES_AT_ONCE):
            own = reaching[first : first + _NODES_AT_ONCE]
            where = starts[own] + begin + upper.itemsize * max(0, level - 1)
            nodes = data[where[:, None] + np.arange(kind.itemsize)].view(kind)[:, 0]
            counts, to = nodes["count"], nodes["to"]
            to = to[np.arange(to.shape[1]) < counts[:, None]]
            if level == 0 and ((nodes["key"] >= rows) | (nodes["level"] != levels[own])).any():
                return False
            if (counts > nodes["to"].shape[1]).any() or (levels[to] < level).any():
                return False
    return True
