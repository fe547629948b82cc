"""A map of a corpus: every item a point, coloured by label, with names of regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from ..graph.neighbors import Progress
from ..index import SemanticIndex
from ..text import Analyzer
from .layout import stored_layout
from .map_regions import MapRegions, Region, name_regions, word_lists
from .mesh_tsne import Watch
from .style import GREY, make_axes, palettes, shorten

__all__ = ["CorpusMap", "CorpusMapDisplay"]

_NAME = 8.5
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
    CorpusMapDisplay : Draws it.
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

    def point_colours(self) -> list[str]:
        """Return the colour of each item's main label, or grey."""
        colours = palettes()["light"]
        return [colours[n] if 0 <= n < len(colours) else GREY for n in self.groups]


class CorpusMapDisplay:
    """Plot of a :class:`CorpusMap`; needs matplotlib.

    Parameters
    ----------
    corpus_map : CorpusMap
        The items with their coordinates.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure, after :meth:`plot`
    names_ : list of str
        The regions whose names are shown.

    See Also
    --------
    CorpusMap : The coordinates, names and colours that are drawn.

    Examples
    --------
    >>> from labelspan import MLSI, SemanticIndex
    >>> from labelspan.display import CorpusMapDisplay
    >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"] * 5
    >>> labels = [["game"], ["game"], ["image"], ["image"]] * 5
    >>> shown = CorpusMapDisplay.from_index(SemanticIndex(estimator=MLSI(2)).fit(texts, labels))
    >>> sorted(shown.names_)
    ['game', 'image']
    """

    def __init__(self, corpus_map: CorpusMap) -> None:
        self.corpus_map = corpus_map

    @classmethod
    def from_index(cls, index: SemanticIndex, **plot: Any) -> Self:
        """Lay out the items of an index, and draw them.

        Parameters
        ----------
        index : SemanticIndex
            Fitted.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        CorpusMapDisplay
            The display itself.
        """
        return cls(CorpusMap.from_index(index)).plot(**plot)

    def plot(self, ax: Any = None, *, title: str | None = None) -> Self:
        """Draw points, and the names of regions that do not overlap.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            None creates a new figure.
        title : str or None, default=None
            Title of the axes.

        Returns
        -------
        self
            With ``ax_``, ``figure_`` and ``names_``.
        """
        from matplotlib.patheffects import withStroke  # noqa: PLC0415 - an optional dependency

        found = self.corpus_map
        if not len(found.points):
            raise InvalidInput("CorpusMapDisplay: there are no items to draw.")
        ax = make_axes(ax, (10, 10))
        count = len(found.points)
        colours = np.array(found.point_colours())
        # In random order, so that no label hides another; grey ones below.
        order = np.random.default_rng(0).permutation(count)
        order = order[np.argsort(colours[order] != GREY, kind="stable")]
        size = float(np.clip(700 / np.sqrt(count), 2.0, 36))
        alpha = float(np.clip(1.3 - 0.2 * np.log10(count), 0.35, 0.9))
        ax.scatter(*found.points[order].T, c=colours[order], s=size, alpha=alpha, linewidths=0)
        ax.set(xlim=(-1.04, 1.04), ylim=(-1.04, 1.04), aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        if title:
            ax.set_title(title)
        shown = [region for region in found.regions if region.level == 0]
        colour_of = dict(zip(found.named.labels, palettes()["light"], strict=False))
        halo = [withStroke(linewidth=2.5, foreground="white")]
        texts = [
            ax.text(
                region.x,
                region.y,
                shorten(region.name),
                ha="center",
                va="center",
                fontsize=_NAME,
                color=colour_of.get(region.name, "#333333"),
                fontweight="bold",
                path_effects=halo,
                clip_on=True,
            )
            for region in shown
        ]
        kept = _free(ax, texts)
        self.names_ = [region.name for region, free in zip(shown, kept, strict=True) if free]
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _free(ax: Any, texts: Sequence[Any]) -> list[bool]:
    """Remove names that overlap an earlier one; return the remaining ones."""
    ax.figure.canvas.figure.draw_without_rendering()
    taken: list[Any] = []
    kept = []
    for text in texts:
        box = text.get_window_extent()
        free = not any(box.overlaps(other) for other in taken)
        kept.append(free)
        if free:
            taken.append(box)
        else:
            text.remove()
    return kept
