"""Approximate nearest-neighbour search with usearch, as a cache in memory or in a file.

The usearch index covers the fixed array of vectors. It proposes rows, which are ranked by their
exact cosines. Rows added later are compared one by one, removed and filtered rows are skipped,
and a query for which too few rows remain is searched exactly.

usearch follows the links in its file without checking them, so a file that is not what was
written must never reach it. The hash of the file detects damage. A file made by somebody else
could have the right hash, so all its links are checked here first; at worst it then finds poor
neighbours.
"""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np

from .._install import install_command
from .._typing import Array
from ..errors import InvalidFile, Mismatch
from .array_file import ArrayFile, write_arrays
from .vectors import Ranked, UnitVectors, ranked

__all__ = ["ANN_FILE", "AnnCache", "AnnIndex", "AnnState", "nearest", "proposed", "useful"]

_log = logging.getLogger("labelspan.index")

ANN_FILE = "usearch.arrays"
# In a smaller index comparing with every item takes a few milliseconds.
LARGE = 300_000
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


def _installed() -> bool:
    return find_spec("usearch") is not None


def useful(count: int) -> bool:
    """Return whether approximate search of this number of items is worth its file, and possible."""
    return count >= LARGE and _installed()


class AnnIndex:
    """usearch index of the rows of an array; rows of zeros are not in it."""

    def __init__(self, index: Any, content: Any = None) -> None:
        self._index = index
        # usearch reads from it as long as it is used.
        self._content = content

    @classmethod
    def build(
        cls,
        base: Array,
        *,
        jobs: int = 1,
        links: int = _LINKS,
        expansion: int = _EXPANSION,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Build the index; with one job the same rows give the same index."""
        index = _empty(base.shape[1], links, expansion)
        for start in range(0, len(base), _ROWS_AT_ONCE):
            block = np.asarray(base[start : start + _ROWS_AT_ONCE])
            rows = np.flatnonzero(block.any(axis=1))
            if rows.size:
                index.add((start + rows).astype(np.uint64), block[rows], threads=jobs)
            if progress is not None:
                progress(min(start + _ROWS_AT_ONCE, len(base)), len(base))
        return cls(index)

    @classmethod
    def read(cls, path: Path, made_of: dict[str, Any], *, mapped: bool) -> Self:
        """Read the index in a file, if it is valid and was made from the same vectors."""
        file = ArrayFile(path, mapped=mapped)
        for name, value in made_of.items():
            if file.about.get(name) != value:
                raise InvalidFile(f"{path} is out of date or damaged: its {name} differs.")
        file.verify()
        content = file.array("usearch")
        index = _empty(made_of["width"])
        check_ann(content, bytes(index.save()), made_of["rows"])
        index.view(content.data)
        return cls(index, content)

    def write(self, path: Path, made_of: dict[str, Any]) -> None:
        """Write the index to a file."""
        content = np.frombuffer(self._index.save(), dtype=np.uint8)
        # If a later usearch writes another format, its index is kept in memory only.
        check_ann(content, bytes(_empty(made_of["width"]).save()), made_of["rows"])
        write_arrays(path, {"usearch": content}, **made_of)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def nbytes(self) -> int:
        """Size in memory, or in the file."""
        return int(self._index.serialized_length)

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


@dataclass(frozen=True)
class AnnState:
    """State of approximate search.

    Attributes
    ----------
    vectors : int
        Number of vectors that the usearch index covers; 0 if there is none that can be used.
    bytes : int
        Size of the usearch index.
    reason : str
        Why there is none; empty if there is one.
    """

    vectors: int
    bytes: int
    reason: str


class AnnCache:
    """usearch index of an array: in memory, in a file next to the array, or not built yet.

    The file is not part of the saved index. It is used if it is valid and was made from the same
    vectors by the installed version of usearch; otherwise it counts as missing.
    """

    def __init__(
        self, base: Array, path: Path | None = None, sha256: str = "", *, mapped: bool = True
    ) -> None:
        self._base, self._path, self._sha256, self._mapped = base, path, sha256, mapped
        self._ann: AnnIndex | None = None
        self._refused: tuple[Any, str] | None = None
        self._opening, self._building = threading.Lock(), threading.Lock()

    def ready(self) -> AnnIndex | None:
        """Return the index that is in memory or in a valid file, or None."""
        with self._opening:
            if self._ann is None and self._path is not None:
                self._ann = self._opened(self._path)
            return self._ann

    def prepare(
        self, jobs: int = 1, progress: Callable[[int, int], None] | None = None
    ) -> AnnIndex:
        """Return the index; build it, and write its file, if there is none."""
        if not _installed():
            raise Mismatch(
                "approximate search needs usearch, which is not installed; "
                f"{install_command('ann')}, or leave approximate= out."
            )
        # Meanwhile searches are exact.
        with self._building:
            found = self.ready()
            if found is not None:
                return found
            built = AnnIndex.build(self._base, jobs=jobs, progress=progress)
            if self._path is not None and self._path.parent.is_dir() and len(built):
                try:
                    built.write(self._path, self._made_of())
                except (InvalidFile, OSError) as error:
                    _log.warning(
                        "The index for approximate search is kept in memory only: %s", error
                    )
            with self._opening:
                self._ann = built
            return built

    def state(self) -> AnnState:
        """Describe the current state."""
        found = self.ready()
        if found is not None:
            return AnnState(len(self._base), found.nbytes, "")
        if not _installed():
            return AnnState(0, 0, "usearch is not installed")
        return AnnState(0, 0, "none was built" if self._refused is None else self._refused[1])

    def _opened(self, path: Path) -> AnnIndex | None:
        try:
            about = path.lstat()
        except OSError:
            self._refused = None
            return None
        mark = about.st_ino, about.st_size, about.st_mtime_ns
        if not _installed() or (self._refused is not None and self._refused[0] == mark):
            return None
        try:
            return AnnIndex.read(path, self._made_of(), mapped=self._mapped)
        except Exception as error:
            # Whatever is wrong with the file, the vectors can still be searched exactly.
            _log.warning("A file for approximate search is not used: %s", error)
            if getattr(error, "errno", None) not in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
                self._refused = mark, str(error)
            return None

    def _made_of(self) -> dict[str, Any]:
        from importlib.metadata import version  # noqa: PLC0415 - only where usearch is used

        rows, width = self._base.shape
        return {
            "vectors": self._sha256,
            "rows": rows,
            "width": width,
            "usearch": version("usearch"),
            "settings": [_LINKS, _EXPANSION],
        }


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
