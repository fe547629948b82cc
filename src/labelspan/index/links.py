"""Links between items: a graph over the rows of an index, made of fields of the metadata.

A link is a name in a field of an item: the id of another item, its title, its address, or the name
of its file. A name of no item is kept: the link points to nothing until there is such an item.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..corpus.link_names import find_links, item_names, name_key
from ..errors import InvalidFile

if TYPE_CHECKING:
    from .results import Item

__all__ = ["LINK_FIELDS", "ItemLinks", "LinkFields", "LinkGraph", "read_graph"]

# Name in the table about of the database.
LINK_FIELDS = "links"
# An item with more links says nothing about those that it is linked with. It also bounds what
# follows from a change: the items at most two steps away.
MOST_LINKS = 200


@dataclass(frozen=True)
class ItemLinks:
    """Links of an item.

    Attributes
    ----------
    to : tuple of str
        Ids of the items that it links to.
    by : tuple of str
        Ids of the items that link to it.
    nothing : tuple of str
        Names in its links that no item has.

    See Also
    --------
    labelspan.SemanticIndex.links : Returns it.

    Examples
    --------
    >>> from labelspan.index import ItemLinks
    >>> ItemLinks(("b",), (), ("lost",)).to
    ('b',)
    """

    to: tuple[str, ...]
    by: tuple[str, ...]
    nothing: tuple[str, ...]


@dataclass(frozen=True)
class LinkFields:
    """Fields of the metadata that hold links, with what separates the names in them.

    ``addresses`` are fields that have another name of an item.
    """

    marks: Mapping[str, str]
    addresses: tuple[str, ...] = ()

    @classmethod
    def of(cls, told: Mapping[str, Any] | None) -> LinkFields | None:
        """Take what a reader says about the links of a corpus."""
        if not told or not told.get("marks"):
            return None
        return cls(dict(told["marks"]), tuple(told.get("addresses", ())))

    def names(self, item: Item) -> set[str]:
        """Return the names by which others link to an item."""
        own = map(item.metadata.get, self.addresses)
        addresses = {name_key(one) for one in own if isinstance(one, str)}
        return item_names(item.id, item.text) | addresses

    def among(self, fields: Iterable[str]) -> bool:
        """Return whether links follow from one of some fields."""
        return any(one in self.marks or one in self.addresses for one in fields)

    def with_field(self, field: str, mark: str) -> LinkFields:
        """Return it with one more field."""
        return LinkFields({**self.marks, field: mark}, self.addresses)

    def to_json(self) -> str:
        """Return it as text."""
        return json.dumps({"marks": dict(self.marks), "addresses": list(self.addresses)})

    @classmethod
    def from_json(cls, text: Any) -> LinkFields | None:
        """Read the text; raise InvalidFile if it is damaged."""
        if text is None:
            return None
        try:
            found = json.loads(text)
            marks, addresses = found["marks"], tuple(found["addresses"])
            names = [*marks, *marks.values(), *addresses]
            if not all(isinstance(one, str) for one in names):
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InvalidFile("items.sqlite is damaged: fields of links are not listed.") from None
        return cls(marks, addresses)


class LinkGraph:
    """Links between ``size`` rows: from, to and weight of each, and names that no item has.

    Links of an item to itself are left out; of several from one item to another, the heaviest
    counts.
    """

    def __init__(
        self,
        size: int,
        links: Sequence[Any],
        nothing: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        self.size, self.nothing = size, dict(nothing or {})
        start, end = (np.asarray(one, dtype=np.int64) for one in links[:2])
        weights = np.asarray(links[2], dtype=np.float64)
        self.links = start, end, weights
        order = np.lexsort((-weights, end, start))
        start, end, weights = start[order], end[order], weights[order]
        first = np.ones(start.size, dtype=bool)
        first[1:] = (np.diff(start) != 0) | (np.diff(end) != 0)
        loops = start == end
        self.n_loops = int(loops.sum())
        self.n_repeated = int((~first & ~loops).sum())
        kept = first & ~loops & (weights > 0)
        parts = weights[kept], (start[kept], end[kept])
        self.directed = sparse.csr_matrix(parts, shape=(size, size))

    @property
    def n_links(self) -> int:
        """Number of links between items."""
        return int(self.directed.nnz)

    @property
    def n_nothing(self) -> int:
        """Number of links that point to nothing."""
        return sum(map(len, self.nothing.values()))

    @cached_property
    def both(self) -> sparse.csr_matrix:
        """Links in both directions."""
        found = sparse.csr_matrix(self.directed.maximum(self.directed.T))
        found.sort_indices()
        return found

    @cached_property
    def n_items(self) -> int:
        """Number of items with a link to or from another one."""
        return int(np.count_nonzero(np.diff(self.both.indptr)))

    def to(self, row: int) -> Array:
        """Return the rows that a row links to."""
        return _entries(self.directed, row)

    def by(self, row: int) -> Array:
        """Return the rows that link to a row."""
        return _entries(self._turned, row)

    def near(self, row: int) -> Array:
        """Return the rows linked with a row in either direction."""
        return _entries(self.both, row)

    @cached_property
    def _turned(self) -> sparse.csr_matrix:
        return sparse.csr_matrix(self.directed.T)

    @cached_property
    def linked(self) -> Array:
        """Which rows have links that count in their means."""
        return np.asarray(np.diff(self.mean.indptr) > 1)

    @cached_property
    def mean(self) -> sparse.csr_matrix:
        """Weights S of the mean over an item and those it is linked with; rows sum to 1.

        An item with too many links stands only for itself.
        """
        both = self.both.tocoo()
        few = np.diff(self.both.indptr) <= MOST_LINKS
        kept = few[both.row] & few[both.col]
        own = np.arange(self.size)
        weights = np.concatenate([both.data[kept], np.ones(self.size)])
        rows = np.concatenate([both.row[kept], own])
        total = np.bincount(rows, weights, minlength=self.size)
        columns = np.concatenate([both.col[kept], own])
        found = sparse.csr_matrix((weights / total[rows], (rows, columns)), shape=both.shape)
        found.sort_indices()
        return found

    def averages(self, own: Any, rows: Array) -> tuple[Array, Array]:
        """Return S U and S S U in some rows, of rows U that ``own`` returns by their numbers."""
        first = self.mean[rows]
        near = np.union1d(first.indices, rows)
        second = self.mean[near]
        far = np.unique(second.indices)
        values = np.asarray(own(far), dtype=np.float64)
        once = _among(second, far) @ values
        return once[np.searchsorted(near, rows)], _among(first, near) @ once

    def changed(self, other: LinkGraph | None) -> Array:
        """Return the rows that are linked with others than in an earlier graph."""
        size = self.size
        before = sparse.identity(size, format="csr") if other is None else other.mean.copy()
        if other is not None:
            more = sparse.identity(size - other.size, format="csr")
            before = (
                sparse.block_diag([before, more], format="csr") if size > other.size else before
            )
        gap = (self.mean - before).tocoo()
        return np.unique(gap.row[gap.data != 0])

    def around(self, rows: Array) -> Array:
        """Return some rows and those linked with them, whose averages change with their links."""
        return np.union1d(rows, self.mean[rows].indices) if rows.size else rows

    def summary(self) -> dict[str, int]:
        """Return how many links there are."""
        return {
            "links": self.n_links,
            "items": self.n_items,
            "nothing": self.n_nothing,
            "loops": self.n_loops,
            "repeated": self.n_repeated,
        }


def _entries(matrix: sparse.csr_matrix, row: int) -> Array:
    return np.asarray(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]])


def _among(weights: sparse.csr_matrix, columns: Array) -> sparse.csr_matrix:
    """Return a matrix with only some increasing columns, which hold all its entries."""
    parts = weights.data, np.searchsorted(columns, weights.indices), weights.indptr
    return sparse.csr_matrix(parts, shape=(weights.shape[0], columns.size))


def read_graph(
    database: Any,
    size: int,
    fields: LinkFields,
    old: LinkGraph | None = None,
    changed: Mapping[int, Mapping[str, Any]] | None = None,
) -> LinkGraph:
    """Make the graph of the first ``size`` rows of an :class:`.ItemDatabase`.

    With the graph of the same items before a change, only the metadata that ``changed`` is read.
    """
    ids = {
        name: row for row, name in database.select("SELECT row, id FROM items") if 0 <= row < size
    }

    def texts() -> Iterator[tuple[int, str, str]]:
        every = database.select("SELECT row, id, substr(text, 1, 400) FROM items")
        return ((row, name, text) for row, name, text in every if ids.get(name) == row)

    every: Any = (changed or {}).items()
    if old is None or fields.addresses:
        # An address may be that of any link.
        old = LinkGraph(size, ((), (), ()))
        every = ((row, table) for row, table in database.metadata() if row < size)
    found = find_links(every, ids, texts(), fields.marks, fields.addresses)
    rows = [*(changed or {})]
    same = ~np.isin(old.links[0], rows)
    new = found.starts, found.ends, found.weights
    links = [np.concatenate([own[same], more]) for own, more in zip(old.links, new, strict=True)]
    nothing = {row: own for row, own in old.nothing.items() if row not in rows} | found.nothing
    return LinkGraph(size, links, nothing)
