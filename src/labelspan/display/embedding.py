"""Draw rows in two dimensions of an embedding, coloured by their labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._typing import Array
from ..errors import InvalidInput, Mismatch
from ..operators.convert import column_names
from .groups import OTHER, UNLABELLED, Groups, group_rows
from .plane import Components, plane, read_points
from .style import (
    COLOURS,
    GREY,
    MARKERS,
    PALE,
    check_fitted,
    legend_point,
    make_axes,
    short_ticks,
    shorten,
    side_legend,
)

__all__ = ["EmbeddingDisplay"]

# Above this many points they are drawn as pixels, to keep vector files small.
_RASTER = 1_000


class EmbeddingDisplay:
    """Plot of rows in two dimensions, coloured by class or by label.

    With more rows, points are drawn smaller and fainter; they are drawn in random order, so that no
    class hides another. Rows without labels are grey.

    Parameters
    ----------
    points : array of shape (n, 2)
        Coordinates of the rows.
    y : array or sparse matrix of shape (n,) or (n, k), or None, default=None
        Classes, or a 0/1 indicator; -1 or NaN mean unknown.
    names : sequence or None, default=None
        Names of the labels; None takes the columns of a data frame, or what y holds.
    axis_names : pair of str, default=("component 0", "component 1")
        Names of the two axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure, after :meth:`plot`

    See Also
    --------
    CorpusMapDisplay : A whole corpus, with named regions.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from labelspan import LDA
    >>> from labelspan.display import EmbeddingDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> shown = EmbeddingDisplay.from_estimator(LDA().fit(X, y), X, y)
    >>> [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    ['0', '1', '2']
    """

    def __init__(
        self,
        points: Any,
        y: Any = None,
        *,
        names: Any = None,
        axis_names: tuple[str, str] = ("component 0", "component 1"),
    ) -> None:
        self.points = points
        self.y = y
        self.names = names
        self.axis_names = axis_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        components: Components = None,
        names: Any = None,
        **plot: Any,
    ) -> Self:
        """Embed rows with a fitted estimator, and draw two dimensions.

        Parameters
        ----------
        estimator : fitted estimator
            One with ``transform``.
        X : array or sparse matrix of shape (n, d)
            The rows to draw.
        y : array or sparse matrix of shape (n,) or (n, k), or None, default=None
            Classes, or a 0/1 indicator; -1 or NaN mean unknown.
        components : pair of int, "pca" or None, default=None
            Two components, counted from 0, or the two principal axes of the space over these
            rows. None takes the principal axes of a space with more than two components,
            but the first two components of a white one, in which no direction scatters
            twice as wide as another (that of CCA or LDA), because there principal axes are
            arbitrary.
        names : as in the class, default=None
            None also takes the estimator's ``classes_`` for the columns of y.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        EmbeddingDisplay
            The display itself.
        """
        owner = cls.__name__
        check_fitted(owner, estimator)
        if not hasattr(estimator, "transform"):
            raise InvalidInput(
                f"{owner}: this {type(estimator).__name__} has no transform, so it has no "
                "embedding; give an estimator that does, or points to the class."
            )
        points, axis_names = plane(owner, np.asarray(estimator.transform(X)), components)
        if names is None and len(getattr(y, "shape", ())) == 2 and column_names(y) is None:
            known = getattr(estimator, "classes_", ())
            names = known if len(known) == y.shape[1] else None
        return cls(points, y, names=names, axis_names=axis_names).plot(**plot)

    def plot(
        self,
        ax: Any = None,
        *,
        labels: Any = None,
        size: float | None = None,
        alpha: float | None = None,
        legend: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Axes to draw into; None makes new ones.
        labels : name, sequence of names or None, default=None
            The labels that have a colour. None takes all, or the ten most frequent if there are
            more; of labels in an indicator the rarest is first. A row with several labels has the
            colour of the first of them.
        size, alpha : float or None, default=None
            Area in square points, and opacity; None depends on the number of points.
        legend : bool, default=True
            Whether to draw a legend, outside the axes.

        Returns
        -------
        self
            The display itself.
        """
        owner = type(self).__name__
        points = read_points(owner, self.points)
        count = points.shape[0]
        groups = None
        if self.y is None and labels is not None:
            raise Mismatch(f"{owner}: labels={labels!r} needs y, and none was given.")
        if self.y is not None:
            groups = group_rows(owner, self.y, count, self.names, labels)
        size = float(np.clip(400 / np.sqrt(count), 1.8, 36)) if size is None else size
        alpha = float(np.clip(1.3 - 0.2 * np.log10(count), 0.35, 0.9)) if alpha is None else alpha
        style = {"s": size, "alpha": alpha, "rasterized": count > _RASTER}
        ax = make_axes(ax, (7, 4.8))
        if groups is None:
            ax.scatter(*points.T, color=COLOURS[0], linewidths=0, **style)
        else:
            handles = _draw_rest(ax, points, groups, style)
            handles = _draw_groups(ax, points, groups, style) + handles
            if legend:
                side_legend(ax, handles)
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        short_ticks(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _draw_rest(ax: Any, points: Array, groups: Groups, style: dict[str, Any]) -> list[Any]:
    """Draw rows without a colour, under the others."""
    handles = []
    for code, grey, text in ((UNLABELLED, PALE, "unlabelled"), (OTHER, GREY, groups.rest)):
        rows = groups.codes == code
        if rows.any():
            ax.scatter(*points[rows].T, color=grey, linewidths=0, zorder=1, **style)
            handles.append(legend_point(text, grey))
    return handles[::-1]


def _draw_groups(ax: Any, points: Array, groups: Groups, style: dict[str, Any]) -> list[Any]:
    """Draw rows with a colour, in random order; one collection per marker."""
    order = np.random.default_rng(0).permutation(len(points))
    codes = groups.codes[order]
    for turn, marker in enumerate(MARKERS):
        mine = order[codes // len(COLOURS) == turn]
        if mine.size:
            colours = np.array(COLOURS)[groups.codes[mine] % len(COLOURS)]
            ax.scatter(
                *points[mine].T, color=colours, marker=marker, linewidths=0, zorder=2, **style
            )
    return [
        legend_point(shorten(name), COLOURS[code % len(COLOURS)], MARKERS[code // len(COLOURS)])
        for code, name in enumerate(groups.names)
    ]
