"""Approximate nearest-neighbour search with usearch, in a large index that was saved.

A save links the vectors of a large index; usearch then proposes rows, which are ranked by their
exact cosines. Rows added later are compared one by one, removed and filtered rows are skipped,
and a query for which too few rows remain is searched exactly.

usearch follows the links in its file without checking them. The hash of the file detects damage,
but a file made by somebody else could have the right hash, so all its links are checked here
first; at worst it then finds poor neighbours.
"""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import Any, Self

import numpy as np

from .._typing import Array
from ..errors import InvalidFile
from .array_file import ArrayFile
from .folder import Files
from .vectors import Ranked, UnitVectors, ranked

__all__ = ["AnnIndex", "nearest", "open_ann", "proposed", "write_ann"]

_log = logging.getLogger("labelspan.index")

_FILE = "usearch"
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
_ROWS_AT_ONCE, _NODES_AT_ONCE = 1 << 13, 1 << 16
# Format of usearch: number of rows and bytes per row; a head of 64 bytes with the count in
# bytes 18 to 25; then size, links, links on the lowest level, highest level and entry point.
_MATRIX, _HEAD, _ABOUT, _KEY = 8, 64, 40, 8
_COUNT = slice(17, 25)


def write_ann(files: Files) -> None:
    """Link the vectors that were written before, if they are many and usearch is installed."""
    base = files.open("vectors", later=True).array("vectors")
    rows, width = base.shape
    if rows < LARGE or find_spec("usearch") is None:
        return
    from ..operators.memory import available_memory  # noqa: PLC0415 - searches do without it

    needed, there = rows * (_LINK_BYTES + 2 * width), available_memory()
    if there is not None and needed > _SHARE_OF_MEMORY * there:
        _log.warning("Search stays exact: linking the vectors needs %.1f GB.", needed / 1e9)
        return
    built = AnnIndex.build(base)
    if len(built):
        files.write(_FILE, {"usearch": built.content()}, usearch=_version())


def open_ann(files: Files) -> ArrayFile | None:
    """Open the file of links that the manifest names, if usearch is as it was written with."""
    if f"{_FILE}.arrays" not in files.entries:
        return None
    file = files.open(_FILE)
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
) -> list[Array] | None:
    """Propose for each query rows near it, with the best of those added later.

    None where every row must be compared: if ``k`` is more than 256, or if fewer than a quarter
    of the rows may be found.
    """
    covered = len(vectors.base)
    share = np.count_nonzero(mask[:covered]) / max(1, covered)
    if ann is None or not len(ann) or k > _MOST_ANSWERS or share < _LEAST_SHARE:
        return None
    late = mask.copy()
    late[:covered] = False
    near = ann.propose(queries, max(_PROPOSED, _PROPOSED_PER_ANSWER * k))
    return [
        np.union1d(own[mask[own]], later[0])
        for own, later in zip(near, vectors.top(queries, k, late), strict=True)
    ]


def nearest(
    vectors: UnitVectors, ann: AnnIndex, queries: Array, k: int, mask: Array
) -> tuple[list[Ranked], bool]:
    """Find the best rows for each query; tell whether the usearch index was used.

    A query for which it proposes fewer than ``k`` rows is searched exactly.
    """
    near = proposed(vectors, ann, queries, k, mask)
    if near is None:
        return vectors.top(queries, k, mask), False
    found: list[Ranked | None] = []
    for query, rows in zip(queries, near, strict=True):
        scores = vectors.cosines(query, rows)
        full = np.count_nonzero(scores[rows < len(vectors.base)]) >= k
        found.append(ranked(rows, scores, k) if full else None)
    missing = [n for n, one in enumerate(found) if one is None]
    exact = iter(vectors.top(queries[missing], k, mask))
    answers = [next(exact) if one is None else one for one in found]
    return answers, len(missing) < len(queries)


# --- what usearch wrote ---------------------------------------------------------------------


def check_ann(content: Any, empty: bytes, rows: int) -> None:
    """Check that every link in a usearch index leads to a node in it, and that keys are rows.

    ``empty`` is an empty usearch index with the same settings.
    """
    try:
        _check(np.frombuffer(content, dtype=np.uint8), empty, rows)
    except (ValueError, IndexError) as error:
        raise InvalidFile(f"An index for approximate search is not valid: {error}.") from None


def _check(data: Array, empty: bytes, rows: int) -> None:
    size, width = (int(n) for n in data[:_MATRIX].view("<u4"))
    _require(size <= rows and width == int.from_bytes(empty[4:8], "little"), "another matrix")
    at = _MATRIX + size * width
    head = bytearray(empty[_MATRIX : _MATRIX + _HEAD])
    head[_COUNT] = size.to_bytes(8, "little")
    _require(data[at : at + _HEAD].tobytes() == bytes(head), "another head")
    at += _HEAD
    about = _numbers(data[at : at + _ABOUT][None], "<u8")[0]
    links, ground = (
        int.from_bytes(empty[n : n + 8], "little") for n in (len(empty) - 32, len(empty) - 24)
    )
    _require(tuple(about[:3].tolist()) == (size, links, ground), "another size")
    at += _ABOUT
    levels = _numbers(data[at : at + 2 * size].reshape(size, 2), "<i2")[:, 0].astype(np.int64)
    at += 2 * size
    highest, entry = int(about[3]), int(about[4])
    _require(size > 0 and entry < size and bool((levels >= 0).all()), "a level or its entry")
    _require(highest == levels.max() == levels[entry], "the highest level")
    # A node: its key, its level, and for each level a count and that number of links.
    lowest, upper = _KEY + 2 + 4 * (1 + ground), 4 * (1 + links)
    lengths = lowest + upper * levels
    _require(at + int(lengths.sum()) == data.size, "another length")
    starts = at + np.cumsum(lengths) - lengths
    for first in range(0, size, _NODES_AT_ONCE):
        own = slice(first, first + _NODES_AT_ONCE)
        nodes = data[starts[own, None] + np.arange(lowest)]
        _require(bool((_numbers(nodes[:, :_KEY], "<u8") < rows).all()), "a key")
        said = _numbers(nodes[:, _KEY : _KEY + 2], "<i2")[:, 0]
        _require(bool((said == levels[own]).all()), "a node's level")
        _check_links(nodes[:, _KEY + 2 :], levels, 0)
    for level in range(1, highest + 1):
        reaching = np.flatnonzero(levels >= level)
        for first in range(0, reaching.size, _NODES_AT_ONCE):
            where = starts[reaching[first : first + _NODES_AT_ONCE]] + lowest + upper * (level - 1)
            _check_links(data[where[:, None] + np.arange(upper)], levels, level)


def _check_links(lists: Array, levels: Array, level: int) -> None:
    """Check lists of links: each must lead to a node that reaches the level."""
    numbers = _numbers(lists, "<u4")
    counts, links = numbers[:, 0], numbers[:, 1:]
    _require(bool((counts <= links.shape[1]).all()), "a count of links")
    used = links[np.arange(links.shape[1]) < counts[:, None]]
    _require(bool((used < levels.size).all()) and bool((levels[used] >= level).all()), "a link")


def _numbers(rows: Array, kind: str) -> Array:
    return np.ascontiguousarray(rows).view(kind)


def _require(fine: bool, what: str) -> None:
    if not fine:
        raise ValueError(f"{what} is wrong")
