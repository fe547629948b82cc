"""Draw the labels of an embedding as a map."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from .._params import Integer
from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch
from ..graph.label_graph import label_correlation
from ..labels import read_labels
from .label_placement import write_names
from .plane import Components, plane, read_points, scaling
from .style import (
    COLOURS,
    FONT,
    check_fitted,
    check_names,
    legend_point,
    make_axes,
    rows_of,
    short_ticks,
    shorten,
    side_legend,
)

__all__ = ["LabelMapDisplay"]

# In square points: the most frequent label, the least, and any without counts.
_LARGEST, _SMALLEST, _PLAIN = 250.0, 6.0, 18.0
# Above this many points the areas shrink.
_MANY = 50


class LabelMapDisplay:
    """Labels as points with names, similar labels near each other.

    Names are moved outwards until they overlap neither a point nor another name, those of
    frequent labels first. A name without room is left out, and the title says how many are shown.

    Parameters
    ----------
    points : array of shape (k, 2)
        Places of the labels.
    names : sequence of length k
        Names of the labels.
    counts : array of shape (k,) or None, default=None
        Number of rows of each label: the area of its point.
    axis_names : pair of str, default=("component 0", "component 1")
        Labels of the axes of the plot.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure, after :meth:`plot`
    texts_ : dict of int to matplotlib's annotations
        The names that were drawn, by the number of the label.

    See Also
    --------
    EmbeddingDisplay : Rows instead of labels.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelspan import MLSI
    >>> from labelspan.display import LabelMapDisplay
    >>> X, Y = make_multilabel_classification(n_classes=8, random_state=0)
    >>> shown = LabelMapDisplay.from_estimator(MLSI(4).fit(X, Y), Y)
    >>> len(shown.texts_)
    8
    """

    def __init__(
        self,
        points: Any,
        names: Any,
        *,
        counts: Any = None,
        axis_names: tuple[str, str] = ("component 0", "component 1"),
    ) -> None:
        self.points = points
        self.names = names
        self.counts = counts
        self.axis_names = axis_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        y: Any = None,
        *,
        components: Components = (0, 1),
        place: Literal["loadings", "means"] = "loadings",
        names: Any = None,
        **plot: Any,
    ) -> Self:
        """Place labels by the ``label_loadings_`` of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator that learned from labels
            The estimator to draw.
        y : labels as in ``fit`` or None, default=None
            To count the rows of each label; needed for ``place="means"``.
        components : pair of int, "pca" or None, default=(0, 1)
            Two components, counted from 0, or the principal axes of the labels' loadings;
            None takes those where there are more than two components.
        place : {"loadings", "means"}, default="loadings"
            Loadings grow with the number of rows, so that rare labels gather in the middle.
            "means" divides by that number: up to the scale of each axis, a label is then at
            the mean of its rows; in MLSI, where loadings are those of
            the fitted labels, of all rows weighted by these.
        names : sequence or None, default=None
            None takes the estimator's ``classes_``.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        LabelMapDisplay
            The display itself.
        """
        owner = cls.__name__
        check_fitted(owner, estimator)
        loadings = getattr(estimator, "label_loadings_", None)
        if loadings is None:
            raise Mismatch(
                f"{owner}: this {type(estimator).__name__} has no label_loadings_, because it did "
                "not learn from labels; use from_labels, or an estimator that did."
            )
        classes = estimator.classes_
        counts = None if y is None else _counts(owner, y, classes)
        table = _placed(owner, np.asarray(loadings).T, place, counts)
        points, axis_names = plane(owner, table, components)
        names = classes if names is None else names
        return cls(points, names, counts=counts, axis_names=axis_names).plot(**plot)

    @classmethod
    def from_labels(cls, Y: Any, *, names: Any = None, **plot: Any) -> Self:
        """Place labels by how often they occur together, without an estimator.

        Classical multidimensional scaling of the cosines between labels: the squared
        distance of two labels is two times one minus their correlation.

        Parameters
        ----------
        Y : array or sparse matrix of shape (n, k)
            A 0/1 indicator; -1 or NaN mean unknown, and count as 0.
        names : sequence or None, default=None
            None takes the columns of a data frame, or numbers.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        LabelMapDisplay
            The display itself.
        """
        owner = cls.__name__
        labels = read_labels(Y, rows_of(Y), owner)
        if labels.kind != "indicator" or labels.names.size < 3:
            raise InvalidLabels(
                f"{owner}: from_labels needs a 0/1 indicator with three columns or more, but Y "
                f"holds {labels.kind} with {labels.names.size} column(s)."
            )
        counts = labels.values.sum(axis=0)
        if not counts.all():
            raise InvalidLabels(
                f"{owner}: label {labels.names[counts.argmin()]} has no rows, and so "
                "no place; leave out its column."
            )
        points, axis_names = scaling(label_correlation(labels.values))
        names = labels.names if names is None else names
        return cls(points, names, counts=counts, axis_names=axis_names).plot(**plot)

    def plot(self, ax: Any = None, *, n_names: int = 60, fontsize: float = FONT) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Names are placed for its present size: draw what else changes it before.
        n_names : int, default=60
            Maximum number of labels that are named: the most frequent, or without counts those
            furthest from the middle.
        fontsize : float, default=9
            In points.

        Returns
        -------
        self
            The display itself.
        """
        owner = type(self).__name__
        points = read_points(owner, self.points)
        if not Integer(0).accepts(n_names):
            raise InvalidParameter(
                f"{owner}: n_names must be {Integer(0).describe()}, but {n_names!r} was given."
            )
        names = check_names(owner, "names", self.names, len(points))
        counts = None if self.counts is None else _read_counts(owner, self.counts, len(points))
        areas = _areas(len(points), counts)
        weight = np.linalg.norm(points - points.mean(axis=0), axis=1) if counts is None else counts
        order = np.argsort(-weight, kind="stable")
        ax = make_axes(ax, (8, 5.6))
        for line in (ax.axhline, ax.axvline):
            line(0.0, color="0.88", lw=0.8, zorder=0)
        ax.scatter(*points.T, s=areas, color=COLOURS[0], alpha=0.75, linewidths=0, zorder=2)
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        short_ticks(ax)
        ax.margins(0.12)
        if counts is not None:
            _size_legend(ax, counts)
        # The title is set before names are placed, because a new one would move the axes.
        ax.set_title(f"{len(points)} labels", fontsize=FONT)
        chosen = order[:n_names]
        self.texts_ = write_names(
            ax, points, np.sqrt(areas) / 2, {int(i): shorten(names[i]) for i in chosen}, fontsize
        )
        if len(self.texts_) < len(points):
            ax.set_title(f"{len(self.texts_)} of {len(points)} labels named", fontsize=FONT)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _placed(owner: str, table: Array, place: str, counts: Array | None) -> Array:
    if place not in ("loadings", "means"):
        raise InvalidParameter(
            f"{owner}: place must be 'loadings' or 'means', but {place!r} was given."
        )
    if place == "loadings":
        return table
    if counts is None or not counts.all():
        came = "none was given" if counts is None else "in this one some label has none"
        raise Mismatch(f"{owner}: place='means' needs a y with rows for every label, but {came}.")
    return np.asarray(table / counts[:, None])


def _counts(owner: str, y: Any, classes: Array) -> Array:
    """Return the number of rows of each label that an estimator knows."""
    labels = read_labels(y, rows_of(y), owner, part=True)
    counts = labels.values.sum(axis=0)
    if labels.kind == "classes":
        found = dict(zip(labels.names.tolist(), counts, strict=False))
        return np.array([found.get(name, 0.0) for name in classes.tolist()])
    if labels.kind == "targets" or counts.size != classes.size:
        raise InvalidLabels(
            f"{owner}: y must be classes or a 0/1 indicator with {classes.size} columns, "
            f"but holds {labels.kind} with {counts.size}."
        )
    return np.asarray(counts)


def _read_counts(owner: str, counts: Any, size: int) -> Array:
    array = np.asarray(counts, dtype=np.float64)
    if array.shape != (size,) or not (np.isfinite(array) & (array >= 0)).all():
        raise InvalidInput(
            f"{owner}: counts must be {size} finite numbers of at least 0, "
            f"but {counts!r} was given."
        )
    return array


def _areas(size: int, counts: Array | None) -> Array:
    """Return areas of points, in square points, in proportion to counts if there are any."""
    if counts is None:
        return np.full(size, _PLAIN)
    return np.maximum(_SMALLEST, _unit(counts) * counts)


def _size_legend(ax: Any, counts: Array) -> None:
    """Add a legend of a few areas, for round numbers."""
    most = float(counts.max())
    rounds = {_round_down(most / part) for part in (1, 4, 16) if most >= part}
    handles = [
        legend_point(
            f"{number:,}", COLOURS[0], size=float(np.sqrt(max(_SMALLEST, _unit(counts) * number)))
        )
        for number in sorted(rounds, reverse=True)
    ]
    if handles:
        side_legend(ax, handles, title="rows", title_fontsize=FONT)


def _unit(counts: Array) -> float:
    """Return the area of one row."""
    return _LARGEST * min(1.0, float(np.sqrt(_MANY / counts.size))) / float(counts.max() or 1.0)


def _round_down(number: float) -> int:
    """Return the largest of 1, 2, 5, 10, 20, 50 and so on that is not above a number."""
    ten = 10 ** int(np.log10(number))
    return max(int(step * ten) for step in (1, 2, 5) if step * ten <= number)
