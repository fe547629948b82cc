"""A map of a corpus: every item a point, coloured by label, with names of regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .._typing import Array
from ..graph.neighbors import Progress
from ..index import SemanticIndex
from ..text import Analyzer
from .layout import stored_layout
from .map_regions import MapRegions, Region, name_regions, word_lists
from .mesh_tsne import Watch

__all__ = ["CorpusMap"]

_ITEMS_AT_ONCE = 500
# Number of zoom levels with region names, and of characters of a text that are used for names.
_LEVELS = 3
_BEGINNING = 600


@dataclass(frozen=True, eq=False)
class CorpusMap:
    """Coordinates, ids, titles, labels and metadata of all items, and the regions of the map.

    Attributes
    ----------
    points : array of shape (n, 2)
        Coordinates of the items, from -1 to 1.
    ids, titles : sequences of str
        One entry per item.
    labels : sequence of sequences of str
        Labels of each item; empty if they are not known.
    named : MapRegions
        Names of regions of the map, and the main label of each item.
    metadata : sequence of mappings
        Metadata of each item; empty if there is none.

    See Also
    --------
    corpus_html : Writes it as a web page.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.display import CorpusMap
    >>> points = np.array([[0.0, 0.0], [0.1, 0.0]])
    >>> CorpusMap(points, ["a", "b"], ["A game", "A tool"], [["play"], ["play", "work"]]).counts
    {'play': 2, 'work': 1}
    """

    points: Array
    ids: Sequence[str]
    titles: Sequence[str]
    labels: Sequence[Sequence[str]]
    named: MapRegions = field(default_factory=MapRegions)
    metadata: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def from_index(
        cls,
        index: SemanticIndex,
        *,
        progress: Progress | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Lay out all items of an index; this is slow for many items.

        The layout of an index in a folder is stored there, and items added later are placed into
        it.

        Parameters
        ----------
        index : SemanticIndex
            Fitted.
        progress : function or None, default=None
            Called with the number of steps done, and of all.
        watch : function or None, default=None
            Called with the positions from time to time while they are computed.

        Returns
        -------
        CorpusMap
            The map.
        """
        ids = index.ids
        points = stored_layout(index, ids, progress=progress, watch=watch)
        titles = dict(zip(ids, ids, strict=True))
        labels: dict[str, Sequence[str]] = dict.fromkeys(ids, ())
        texts = dict.fromkeys(ids, "")
        metadata: dict[str, Mapping[str, Any]] = {key: {} for key in ids}
        # In parts, so that a server can read items for requests in between. An item that a writer
        # removes meanwhile keeps its id as title.
        for start in range(0, len(ids), _ITEMS_AT_ONCE):
            for item in index.items(ids[start : start + _ITEMS_AT_ONCE]):
                titles[item.id], labels[item.id] = item.title, item.labels or ()
                texts[item.id], metadata[item.id] = item.text[:_BEGINNING], item.metadata
        lists = list(labels.values())
        common = Analyzer(index.language_ or "none").common
        words = word_lists(texts.values(), common)
        named = name_regions(points, lists, words=words, levels=_LEVELS)
        return cls(points, ids, list(titles.values()), lists, named, list(metadata.values()))

    @property
    def regions(self) -> list[Region]:
        """Return the named regions of the map."""
        return self.named.regions

    @property
    def groups(self) -> Array:
        """Return the index of each item's main label in ``named.labels``, or -1."""
        own = self.named.own
        return own if len(own) else np.full(len(self.points), -1)

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of items of each label, the most frequent first."""
        found: dict[str, int] = {}
        for own in self.labels:
            for label in own:
                found[label] = found.get(label, 0) + 1
        return dict(sorted(found.items(), key=lambda entry: (-entry[1], entry[0])))
