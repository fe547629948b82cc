"""Draw rows in two dimensions of an embedding, coloured by their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._params import Integer
from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch
from ..labels import Labels, read_labels
from ..metrics.metric_inputs import read_numbers
from ..operators.convert import column_names
from .style import GREY, make_axes, shorten

__all__ = ["EmbeddingDisplay"]

# Okabe and Ito's colours, and two more that are distinguishable from them, and
# from the greys, for colour-blind readers. Yellow, weak on white, comes last.
COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#56B4E9",
    "#CC79A7",
    "#000000",
    "#5500BB",
    "#663311",
    "#F0E442",
)
PALE = "#DADADA"
# When all colours are used, they repeat with the next marker.
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
_FONT, _LEGEND_ROWS = 9, 18
# Above this many points they are drawn as pixels, to keep vector files small.
_RASTER = 1_000
# Codes of rows that have none of the labels, and of rows whose labels are not known.
_OTHER, _UNLABELLED = -1, -2


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
        Names of the labels; None uses the columns of a data frame, or the values of y.
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
        components: Sequence[int] = (0, 1),
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
        components : pair of int, default=(0, 1)
            Two components, counted from 0. For the principal axes, pass ``PCA(2)`` of the embedded
            rows to the class.
        names : as in the class, default=None
            None also uses the estimator's ``classes_`` for the columns of y.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        EmbeddingDisplay
            The display itself.
        """
        owner = cls.__name__
        check_is_fitted(estimator, msg=f"{owner}: this %(name)s is not fitted; call its fit first.")
        if not hasattr(estimator, "transform"):
            raise InvalidInput(
                f"{owner}: this {type(estimator).__name__} has no transform, so it has no "
                "embedding; pass an estimator that has one, or pass points to the class."
            )
        table = np.asarray(estimator.transform(X))
        first, second = _pair(owner, components, table.shape[1])
        points, axis_names = (
            table[:, [first, second]],
            (f"component {first}", f"component {second}"),
        )
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
            Axes to draw into; None creates new ones.
        labels : name, sequence of names or None, default=None
            The labels that get a colour. None uses all, or the ten most frequent if there are
            more; for an indicator, the rarest label comes first. A row with several labels has the
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
        points = _read_points(owner, self.points)
        count = points.shape[0]
        groups = None
        if self.y is None and labels is not None:
            raise Mismatch(f"{owner}: labels={labels!r} needs y, but none was given.")
        if self.y is not None:
            groups = _group_rows(owner, self.y, count, self.names, labels)
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
                _side_legend(ax, handles)
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        # Few and short tick labels, with a power of ten at the end of the axis.
        ax.locator_params(nbins=6)
        ax.ticklabel_format(scilimits=(-2, 4))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _draw_rest(ax: Any, points: Array, groups: _Groups, style: dict[str, Any]) -> list[Any]:
    """Draw rows without a colour, under the others."""
    handles = []
    for code, grey, text in ((_UNLABELLED, PALE, "unlabelled"), (_OTHER, GREY, groups.rest)):
        rows = groups.codes == code
        if rows.any():
            ax.scatter(*points[rows].T, color=grey, linewidths=0, zorder=1, **style)
            handles.append(_legend_point(text, grey))
    return handles[::-1]


def _draw_groups(ax: Any, points: Array, groups: _Groups, style: dict[str, Any]) -> list[Any]:
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
        _legend_point(shorten(name), COLOURS[code % len(COLOURS)], MARKERS[code // len(COLOURS)])
        for code, name in enumerate(groups.names)
    ]


def _legend_point(text: str, colour: str, marker: str = "o", size: float = 6.0) -> Any:
    """Return a legend entry: a point, with its diameter in points, and a text."""
    from matplotlib.lines import Line2D  # noqa: PLC0415

    return Line2D(
        [],
        [],
        linestyle="",
        marker=marker,
        markersize=size,
        markeredgewidth=0,
        color=colour,
        label=text,
    )


def _side_legend(ax: Any, handles: list[Any]) -> None:
    """Draw a legend to the right of the axes, where it hides nothing."""
    ax.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=_FONT,
        ncols=-(-len(handles) // _LEGEND_ROWS),
    )


# --- two dimensions --------------------------------------------------------------------------


def _read_points(owner: str, points: Any) -> Array:
    """Check points to draw, and return them as an array with two columns."""
    array = read_numbers(points, "points", owner)
    if array.shape[1] != 2:
        raise InvalidInput(f"{owner}: points must have two columns, but has shape {array.shape}.")
    return array


def _pair(owner: str, components: Any, count: int) -> tuple[int, int]:
    if count < 2:
        raise InvalidInput(
            f"{owner}: the embedding has one component, but a plot needs two; fit "
            "one with more components."
        )
    pair = tuple(components) if np.ndim(components) == 1 else ()
    inside = [Integer(0).accepts(number) and number < count for number in pair]
    if len(pair) != 2 or not all(inside) or pair[0] == pair[1]:
        raise InvalidParameter(
            f"{owner}: components must be two different numbers from 0 to {count - 1}, but "
            f"{components!r} was given."
        )
    return int(pair[0]), int(pair[1])


# --- rows by their labels ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Groups:
    """Rows grouped by the first of their labels that has a colour.

    ``codes`` are positions in ``names``, or ``_OTHER`` or ``_UNLABELLED``; ``rest`` describes the
    other rows for the legend.
    """

    codes: Array
    names: Array
    rest: str


def _group_rows(owner: str, y: Any, n_rows: int, names: Any, labels: Any) -> _Groups:
    """Read ``y``, and group the rows by the requested labels."""
    found = read_labels(y, n_rows, owner, part=True)
    if found.kind == "targets":
        raise InvalidLabels(
            f"{owner} takes classes or a 0/1 indicator, but y has continuous targets; "
            "omit y, or bin them into classes."
        )
    known = found.names if names is None else np.asarray(names)
    if known.shape != found.names.shape:
        raise InvalidParameter(
            f"{owner}: names must have {found.names.size} entries, but has shape {known.shape}."
        )
    shown = _frequent(found) if labels is None else _asked(owner, known, labels)
    carried = found.values[:, shown] > 0
    codes = np.full(n_rows, _OTHER)
    for place in reversed(range(shown.size)):
        codes[carried[:, place]] = place
    if found.unknown is not None:
        codes[found.unknown[:, shown].all(axis=1)] = _UNLABELLED
    rest = "no label" if shown.size == known.size else "none of these"
    rest = "other classes" if found.kind == "classes" else rest
    return _Groups(codes, known[shown], rest)


def _frequent(found: Labels) -> Array:
    """Return the columns of the most frequent labels, as many as there are colours."""
    counts = found.values.sum(axis=0)[: found.names.size]
    most = np.sort(np.argsort(-counts, kind="stable")[: len(COLOURS)])
    # The rarest first, because labels that it occurs with would hide it.
    return most if found.kind == "classes" else most[np.argsort(counts[most], kind="stable")]


def _asked(owner: str, known: Array, labels: Any) -> Array:
    wanted = [labels] if np.ndim(labels) == 0 else list(dict.fromkeys(labels))
    place = {str(name): column for column, name in enumerate(known)}
    for label in wanted:
        if str(label) not in place:
            raise InvalidParameter(
                f"{owner}: labels has {label!r}, which is not one of the {known.size} labels in y."
            )
    if not 1 <= len(wanted) <= len(COLOURS) * len(MARKERS):
        raise InvalidParameter(
            f"{owner}: labels must have from 1 to {len(COLOURS) * len(MARKERS)} entries, "
            f"but has {len(wanted)}."
        )
    return np.array([place[str(label)] for label in wanted])
