"""Approximate search: a graph of neighbours by usearch, as a cache of the vectors.

The graph covers the fixed array of an index. It proposes rows; these are ranked by their
exact cosines. Rows that came later are compared one by one, rows that are gone or filtered
out are passed over, and a query for which too few rows are left is searched exactly.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np

from .._typing import Array
from ..errors import InvalidFile, Mismatch
from .ann_file import check_graph, read_graph, write_graph
from .progress_steps import Progress
from .vectors import Ranked, Vectors

__all__ = ["GRAPH", "Cache", "CacheState", "Graph", "installed", "near_top"]

_log = logging.getLogger("labelspan.index")

GRAPH = "vectors.usearch"
# Chosen on 10^5 vectors of 100 dimensions (benchmarks/search_size.py): links of a node, rows
# that are looked at when one joins, and rows that a search proposes.
_LINKS, _JOINING, _PROPOSED = 16, 64, 256
# For k answers, so many times k are proposed; for more answers than this, search is exact.
_SPARE, _MOST_ANSWERS = 4, 256
# With a filter that lets fewer than one row in four through, search is exact.
_LEAST_SHARE = 0.25
_ROWS_AT_ONCE = 1 << 13


def installed() -> bool:
    """Whether usearch is there."""
    return find_spec("usearch") is not None


class Graph:
    """Rows of an array, linked to those near them; rows of zeros are not in it."""

    def __init__(self, graph: Any, held: Any = None) -> None:
        self._graph = graph
        # usearch reads from it as long as it is used.
        self._held = held

    @classmethod
    def build(
        cls,
        base: Array,
        *,
        jobs: int = 1,
        links: int = _LINKS,
        joining: int = _JOINING,
        progress: Progress | None = None,
    ) -> Self:
        """Link the rows; with one job the same rows give the same graph."""
        graph = _empty(base.shape[1], links, joining)
        for start in range(0, len(base), _ROWS_AT_ONCE):
            block = np.asarray(base[start : start + _ROWS_AT_ONCE])
            rows = np.flatnonzero(block.any(axis=1))
            if rows.size:
                graph.add((start + rows).astype(np.uint64), block[rows], threads=jobs)
            if progress is not None:
                progress(min(start + _ROWS_AT_ONCE, len(base)), len(base))
        return cls(graph)

    @classmethod
    def read(cls, path: Path, made_of: dict[str, Any], *, mapped: bool) -> Self:
        """The graph in a file, if it is sound and was made of just this."""
        graph = _empty(made_of["width"])
        held = read_graph(path, made_of, bytes(graph.save()), mapped=mapped)
        graph.view(held)
        return cls(graph, held)

    def write(self, path: Path, made_of: dict[str, Any]) -> None:
        """Put the graph in a file."""
        content = self._graph.save()
        # A usearch that writes in another way has its graphs held, and never written.
        check_graph(content, bytes(_empty(made_of["width"]).save()), made_of["rows"])
        write_graph(path, content, made_of)

    def __len__(self) -> int:
        return len(self._graph)

    @property
    def nbytes(self) -> int:
        """The memory it takes, or the part of a file that it uses."""
        return int(self._graph.serialized_length)

    def propose(self, queries: Array, count: int) -> list[Array]:
        """For each query about so many rows that are near it, in order."""
        count = min(count, len(self))
        found = self._graph.search(queries, count, threads=1 if len(queries) == 1 else 0)
        # One query's answer comes without its first axis.
        keys = np.asarray(found.keys).reshape(len(queries), count)
        counts = np.atleast_1d(found.counts) if len(queries) > 1 else [len(found)]
        return [
            np.unique(own[: int(n)].astype(np.intp)) for own, n in zip(keys, counts, strict=True)
        ]


def _empty(width: int, links: int = _LINKS, joining: int = _JOINING) -> Any:
    from usearch.index import Index  # noqa: PLC0415 - it is optional

    # Of unit vectors the product is the cosine, and of zeros it is a number.
    return Index(
        ndim=width,
        metric="ip",
        dtype="f16",
        connectivity=links,
        expansion_add=joining,
        enable_key_lookups=False,
    )


@dataclass(frozen=True)
class CacheState:
    """What there is for approximate search.

    Attributes
    ----------
    vectors : int
        How many vectors the graph covers; 0 where there is none to be used.
    bytes : int
        Its size.
    reason : str
        Why there is none.

    Examples
    --------
    >>> from labelspan.index import CacheState
    >>> CacheState(0, 0, "none was built").vectors
    0
    """

    vectors: int
    bytes: int
    reason: str


class Cache:
    """The graph of an array, held in memory or in a file beside it, or yet to be built.

    The file is no part of the index. It is used when it was made of these very vectors, by
    the usearch that is installed, and is whole and sound; otherwise it is as good as none.
    """

    def __init__(
        self, base: Array, path: Path | None = None, sha256: str = "", *, mapped: bool = True
    ) -> None:
        self._base = base
        self._path = path
        self._sha256 = sha256
        self._mapped = mapped
        self._graph: Graph | None = None
        self._refused: tuple[Any, str] | None = None
        self._opening, self._building = threading.Lock(), threading.Lock()

    def ready(self) -> Graph | None:
        """The graph that is held, or that a good file holds."""
        with self._opening:
            if self._graph is None and self._path is not None and installed():
                self._graph = self._opened(self._path)
            return self._graph

    def prepare(self, jobs: int = 1, progress: Progress | None = None) -> Graph:
        """The graph, built and put in its file where there was none."""
        if not installed():
            raise Mismatch(
                "approximate search needs usearch, which is not installed; "
                "pip install 'labelspan[ann]', or leave approximate= out."
            )
        # Searches go on meanwhile, exactly.
        with self._building:
            found = self.ready()
            if found is not None:
                return found
            built = Graph.build(self._base, jobs=jobs, progress=progress)
            if self._path is not None and self._path.parent.is_dir() and len(built):
                try:
                    built.write(self._path, self._made_of())
                except (InvalidFile, OSError) as error:
                    _log.warning("The graph of neighbours is held in memory alone: %s", error)
            with self._opening:
                self._graph = built
            return built

    def state(self) -> CacheState:
        """What there is."""
        found = self.ready()
        if found is not None:
            return CacheState(len(self._base), found.nbytes, "")
        if not installed():
            return CacheState(0, 0, "usearch is not installed")
        return CacheState(0, 0, "none was built" if self._refused is None else self._refused[1])

    def _opened(self, path: Path) -> Graph | None:
        try:
            about = path.lstat()
        except OSError:
            self._refused = None
            return None
        mark = about.st_ino, about.st_size, about.st_mtime_ns
        if self._refused is not None and self._refused[0] == mark:
            return None
        try:
            return Graph.read(path, self._made_of(), mapped=self._mapped)
        except Exception as error:
            # Whatever is wrong with it, the vectors themselves are there to be searched.
            _log.warning("A graph of neighbours is not used: %s", error)
            self._refused = mark, str(error)
            return None

    def _made_of(self) -> dict[str, Any]:
        rows, width = self._base.shape
        return {
            "vectors": self._sha256,
            "rows": rows,
            "width": width,
            "usearch": metadata.version("usearch"),
            "settings": [_LINKS, _JOINING],
        }


def near_top(
    vectors: Vectors, graph: Graph | None, queries: Array, k: int, mask: Array
) -> tuple[list[Ranked], bool]:
    """The best rows for each query, and whether the graph had a part in it.

    The graph is asked where ``k`` is at most 256 and a quarter of its rows may be found. A
    query for which it proposes fewer than ``k`` of these is searched exactly.
    """
    covered = len(vectors.base)
    share = np.count_nonzero(mask[:covered]) / max(1, covered)
    if graph is None or not len(graph) or k > _MOST_ANSWERS or share < _LEAST_SHARE:
        return vectors.top(queries, k, mask), False
    late = mask.copy()
    late[:covered] = False
    came_later = vectors.top(queries, k, late)
    found: list[Ranked | None] = []
    for query, own, later in zip(
        queries, graph.propose(queries, max(_PROPOSED, _SPARE * k)), came_later, strict=True
    ):
        ranked = vectors.rank(query, own[mask[own]], k)
        full = len(ranked[0]) == k
        if full and later[0].size:
            ranked = vectors.rank(query, np.concatenate([ranked[0], later[0]]), k)
        found.append(ranked if full else None)
    missing = [n for n, ranked in enumerate(found) if ranked is None]
    exact = iter(vectors.top(queries[missing], k, mask))
    answers = [next(exact) if ranked is None else ranked for ranked in found]
    return answers, len(missing) < len(queries)
