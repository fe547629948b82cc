"""Blocks of features next to the words, each with a source: a language model, and links.

With x the features of an item, its row is ``[x, a v, b unit(S u), b unit(S S u)]``. v is the
vector of a model (see :mod:`.model_block`), u what the leading directions of ``[x, a v]`` are, and
S the mean over an item and those it is linked with (see :mod:`.links`). An item without links
stands for those around it; of a query, both means are what linked items make one expect:
shift + slope unit(u).

Words have length 1; the lengths a and b are chosen by what they predict of left-out items, for the
embedding and for the tagger. A block of length 0 is not there.

What is stored of an item does not depend on others: v and u, in half precision. The columns
follow from it, from the links, and from the lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import ArrayFile
from .._typing import Array
from ..errors import InvalidFile
from ..operators.joined import JoinedRows
from .folder import Files
from .links import LinkGraph
from .model_block import BLOCK_FILE, ModelBlock
from .vectors import unit_rows

__all__ = [
    "LINKS_FILE",
    "LINK_DIRECTIONS",
    "SPACE_LENGTH",
    "TAG_LENGTH",
    "Blocks",
    "LinkBlock",
    "read_blocks",
]

LINKS_FILE = "link_block"
# Numbers of the lengths of a block.
SPACE_LENGTH, TAG_LENGTH = 0, 1
# Directions of the features that are averaged over links. Accuracy on cora with 5, 20 and 60% of
# the classes: 64 directions .806, .850, .877; 128 .795, .853, .888; 300 .798, .853, .889; all 1,433
# words .789, .857, .887.
LINK_DIRECTIONS = 128
# Linked items from which the means around an item without links are learned. Search by the space
# only has nDCG@10 .271 on the development half of CACM with them (.287 without links), and .170 if
# an item without links stands for those around it; the usual search .549, .503 and .555.
_EXPECTED = 20_000


class LinkBlock:
    """Directions of the features that are averaged over links, and the lengths of the block."""

    def __init__(  # noqa: PLR0917 - what is stored of it
        self,
        columns: Array,
        axes: Array,
        width: int,
        lengths: Sequence[float] = (0.0, 0.0),
        shifts: Array | None = None,
        slopes: Array | None = None,
    ) -> None:
        # Of the features, some have components.
        self.features, self.axes, self.lengths = columns, axes, tuple(lengths)
        # Means that are expected of an item without links, one and two steps away.
        self.shifts = np.zeros((2, axes.shape[1])) if shifts is None else shifts
        self.slopes = np.ones(2) if slopes is None else slopes
        # Wide, so that the rounding of a product is far below that of what is stored of it.
        self._axes = np.zeros((width, axes.shape[1]))
        self._axes[columns] = axes

    @property
    def width(self) -> int:
        """Number of directions."""
        return int(self._axes.shape[1])

    def own(self, features: Any) -> Array:
        """Return what is stored of items with some features."""
        words, block = features, None
        if isinstance(features, JoinedRows):
            words, block = features.words, features.block
        cut = words.shape[1]
        found = sparse.csr_matrix(words).astype(np.float64) @ self._axes[:cut]
        if block is not None:
            found += block.astype(np.float64) @ self._axes[cut:]
        return _half(found)

    def columns(self, own: Any, graph: LinkGraph | None, rows: Array) -> Array:
        """Return the columns of some rows, of length 1; without a graph, of items without links."""
        once, twice = (own(rows),) * 2 if graph is None else graph.averages(own, rows)
        return np.hstack([_half(unit_rows(once)), _half(unit_rows(twice))])

    def expected(self, own: Array) -> Array:
        """Return the columns of texts about whose links nothing is known."""
        units = unit_rows(own)
        found = self.shifts[:, None] + self.slopes[:, None, None] * units
        # A text without any feature has none here.
        found[:, ~units.any(axis=1)] = 0.0
        return _half(np.hstack(list(found)))

    def expect(self, own: Any, graph: LinkGraph) -> None:
        """Learn from linked items which means are to be expected without links."""
        rows = np.flatnonzero(graph.linked)[:_EXPECTED]
        units = unit_rows(np.asarray(own(rows), dtype=np.float64))
        centre = units.mean(axis=0)
        spread = np.square(units - centre).sum()
        for step, found in enumerate(map(unit_rows, graph.averages(own, rows))):
            middle = found.mean(axis=0)
            both = ((units - centre) * (found - middle)).sum()
            self.slopes[step] = both / spread if spread else 1.0
            self.shifts[step] = middle - self.slopes[step] * centre

    def write(self, files: Files) -> None:
        """Write it."""
        width = np.array([len(self._axes)], dtype=np.int64)
        arrays = {"columns": self.features, "axes": self.axes, "width": width}
        arrays |= {"shifts": self.shifts, "slopes": self.slopes}
        files.write(LINKS_FILE, arrays | {"lengths": np.array(self.lengths, dtype=np.float64)})

    @classmethod
    def read(cls, file: ArrayFile) -> LinkBlock:
        """Read it; raise InvalidFile if it is damaged."""
        columns, axes, width, lengths = map(file.array, ("columns", "axes", "width", "lengths"))
        shifts, slopes = file.array("shifts"), file.array("slopes")
        fits = (
            [one.dtype.str for one in (columns, axes, width)] == ["<i4", "<f2", "<i8"]
            and columns.ndim == 1
            and axes.ndim == 2
            and len(columns) == len(axes)
            and width.shape == (1,)
            and bool((np.diff(columns) > 0).all())
            and columns.min(initial=0) >= 0
            and columns.max(initial=-1) < width[0] < 1 << 31
            and lengths.shape == (2,)
            and (shifts.shape, slopes.shape) == ((2, axes.shape[1]), (2,))
            and all(np.isfinite(one).all() for one in (axes, lengths, shifts, slopes))
            and bool((lengths >= 0).all())
        )
        if not fits:
            raise InvalidFile(f"{file.path} is damaged; fit the index again.")
        return cls(columns, axes, int(width[0]), lengths.tolist(), shifts, slopes)


def _half(values: Array) -> Array:
    """Round to half precision, which is what is stored: a text has the same row in every state."""
    return np.asarray(values, dtype=np.float16).astype(np.float32)


class Blocks:
    """The blocks of an index: none, that of a model, that of links, or both."""

    def __init__(self, model: ModelBlock | None = None, links: LinkBlock | None = None) -> None:
        self.model, self.links = model, links

    def used(self) -> Blocks:
        """Return the blocks that the embedding or the tagger use."""
        links = self.links if self.links is not None and any(self.links.lengths) else None
        return Blocks(self.model, links)

    def __bool__(self) -> bool:
        return self.model is not None or self.links is not None

    @property
    def stored(self) -> int:
        """Number of values that are stored of an item."""
        own = 0 if self.links is None else self.links.width
        return own + (0 if self.model is None else self.model.width)

    @property
    def width(self) -> int:
        """Number of columns in the embedding."""
        own = 0 if self.links is None or not self.links.lengths[SPACE_LENGTH] else self.links.width
        return 2 * own + (0 if self.model is None else self.model.width)

    def store(self, words: Any, units: Array | None) -> Array | None:
        """Return what is stored of items with some features and rows of the model."""
        parts = [] if units is None else [units]
        if self.links is not None:
            base = words
            if self.model is not None and units is not None:
                length = np.float32(self.model.lengths[SPACE_LENGTH])
                base = JoinedRows(words, length * units)
            parts.append(self.links.own(base))
        return np.hstack(parts) if parts else None

    def columns(
        self,
        stored: Callable[[Array], Array],
        rows: Array,
        graph: LinkGraph | None,
        use: int,
        lengths: tuple[float, float] | None = None,
        *,
        query: bool = False,
    ) -> Array:
        """Return the columns of some rows for the embedding or the tagger.

        ``stored`` returns what is stored of rows; ``graph`` has their links, if there are any; of
        a ``query`` they are not known. ``lengths`` replace the chosen ones.
        """
        parts, cut = [np.zeros((len(rows), 0), dtype=np.float32)], 0
        own, linked = lengths or self.lengths(use)
        if self.model is not None:
            cut = self.model.width
            parts.append(np.float32(own) * stored(rows)[:, :cut])
        if self.links is not None and linked:
            if query:
                found = self.links.expected(stored(rows)[:, cut:])
            else:
                found = self.links.columns(lambda some: stored(some)[:, cut:], graph, rows)
            parts.append(np.float32(linked) * found)
        return np.hstack(parts)

    def lengths(self, use: int) -> tuple[float, float]:
        """Return the lengths of both blocks, 0 for one that is not there."""
        model = 0.0 if self.model is None else self.model.lengths[use]
        return model, 0.0 if self.links is None else self.links.lengths[use]

    def column_lengths(self, use: int) -> Array:
        """Return the length of the block of each column."""
        own, linked = self.lengths(use)
        widths = 0 if self.model is None else self.model.width
        others = 0 if self.links is None or not linked else 2 * self.links.width
        return np.repeat(np.array([own, linked], dtype=np.float32), [widths, others])

    def joined(self, words: Any, columns: Array) -> Any:
        """Put the columns next to features of words; these, if there are none."""
        return JoinedRows(words, columns) if columns.shape[1] else words

    def of_new(self, words: Any, stored: Array | None, use: int, *, query: bool = False) -> Any:
        """Return the features of texts without links, or of queries."""
        if stored is None:
            return words
        rows = np.arange(len(stored))
        columns = self.columns(stored.__getitem__, rows, None, use, query=query)
        return self.joined(words, columns)

    def write(self, files: Files) -> None:
        """Write the blocks that are there."""
        for one in (self.model, self.links):
            if one is not None:
                one.write(files)


def read_blocks(files: Files) -> Blocks:
    """Read the blocks of an index."""
    model = ModelBlock.read(files.open(BLOCK_FILE)) if BLOCK_FILE in files else None
    return Blocks(model, LinkBlock.read(files.open(LINKS_FILE)) if LINKS_FILE in files else None)
