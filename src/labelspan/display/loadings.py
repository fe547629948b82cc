"""Draw the features and labels at both ends of an axis as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from .._axis_ends import Ends, Entry
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from .style import COLOURS, FONT, check_fitted, check_names, shorten

__all__ = ["LoadingsDisplay"]

_HIGH, _LOW = COLOURS[0], COLOURS[3]
_BAR_INCHES = 0.21


class LoadingsDisplay:
    """Plot of the features and labels at both ends of an axis, with their weights.

    Features and labels have a panel each. The high end is at the top, the low end at the
    bottom, with the largest weights outside.

    Parameters
    ----------
    features, labels : Ends or None
        Results of ``top_features`` and ``top_labels`` of an estimator; at least one of them.
    component : int, default=0
        The axis, for the title.

    Attributes
    ----------
    axes_ : list of matplotlib's axes, after :meth:`plot`
        One per panel.
    ax_, figure_ : the first of them, and the figure

    See Also
    --------
    EmbeddingDisplay : The rows in the plane of two axes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from labelspan import LDA
    >>> from labelspan.display import LoadingsDisplay
    >>> wine = load_wine(as_frame=True)
    >>> model = LDA().fit(wine.data, wine.target_names[wine.target])
    >>> shown = LoadingsDisplay.from_estimator(model, 0, n=3)
    >>> [text.get_text() for text in shown.axes_[1].get_yticklabels()]
    ['class_0', 'class_1', 'class_2']
    """

    def __init__(
        self, features: Ends | None = None, labels: Ends | None = None, *, component: int = 0
    ) -> None:
        self.features = features
        self.labels = labels
        self.component = component

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        component: int = 0,
        *,
        n: int = 10,
        show: Literal["features", "labels"] | None = None,
        feature_names: Sequence[Any] | Array | None = None,
        label_names: Sequence[Any] | Array | None = None,
        **plot: Any,
    ) -> Self:
        """Read an axis of a fitted estimator, and draw it.

        Parameters
        ----------
        estimator : fitted estimator
            The estimator to draw.
        component : int, default=0
            The axis, counted from 0.
        n : int, default=10
            Maximum number of entries at each end.
        show : {"features", "labels"} or None, default=None
            Draw only one of the panels. None draws all that the estimator has: LSI and LPP have no
            labels.
        feature_names, label_names : sequence or None, default=None
            None takes the names of ``fit``, or numbers.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        LoadingsDisplay
            The display itself.
        """
        owner = cls.__name__
        check_fitted(owner, estimator)
        name = type(estimator).__name__
        there = {
            "features": hasattr(estimator, "top_features") and hasattr(estimator, "components_"),
            "labels": hasattr(estimator, "top_labels"),
        }
        if show is not None and show not in there:
            raise InvalidParameter(
                f"{owner}: show must be 'features', 'labels' or None, but {show!r} was given."
            )
        if not any(there.values()) or (show is not None and not there[show]):
            raise Mismatch(
                f"{owner}: this {name} has no weights on {show or 'features or labels'}."
            )
        features = labels = None
        if there["features"] and show != "labels":
            features = estimator.top_features(component, n, names=feature_names)
        if there["labels"] and show != "features":
            labels = estimator.top_labels(component, n)
            if label_names is not None:
                classes = estimator.classes_
                given = check_names(owner, "label_names", label_names, len(classes))
                labels = _renamed(labels, dict(zip(classes.tolist(), given, strict=True)))
        return cls(features, labels, component=component).plot(**plot)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib axes, sequence of axes or None, default=None
            One for each panel.

        Returns
        -------
        self
            The display itself.
        """
        both = {"features": self.features, "labels": self.labels}
        panels = {title: ends for title, ends in both.items() if ends is not None}
        if not panels:
            raise InvalidInput(
                f"{type(self).__name__}: there is nothing to draw; give features, labels or both."
            )
        tallest = max(1, *(len(ends.high) + len(ends.low) for ends in panels.values()))
        axes = self._axes(ax, panels, tallest)
        for one, (title, ends) in zip(axes, panels.items(), strict=True):
            _bars(one, ends, tallest)
            one.set(title=title, xlabel=f"weight on component {self.component}")
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _axes(self, ax: Any, panels: Mapping[str, Ends], tallest: int) -> list[Any]:
        import matplotlib.pyplot as plt  # noqa: PLC0415

        if ax is None:
            size = (4.5 * len(panels), 1.0 + _BAR_INCHES * tallest)
            ax = plt.subplots(1, len(panels), figsize=size, layout="constrained")[1]
        axes = list(np.ravel(ax))
        if len(axes) != len(panels):
            raise InvalidParameter(
                f"{type(self).__name__}: ax must be one axes for each panel "
                f"({' and '.join(panels)}), but {len(axes)} came; give plt.subplots(1, "
                f"{len(panels)})[1], or choose a panel by show=."
            )
        return axes


def _renamed(ends: Ends, names: Mapping[Any, Any]) -> Ends:
    high, low = ([Entry(names[name], weight) for name, weight in side] for side in ends)
    return Ends(high, low)


def _bars(ax: Any, ends: Ends, tallest: int) -> None:
    entries = [*ends.high, *ends.low[::-1]]
    places = np.arange(len(entries))
    colours = [_HIGH] * len(ends.high) + [_LOW] * len(ends.low)
    ax.barh(places, [entry.weight for entry in entries], color=colours, height=0.75)
    # Bars have the same width in both panels.
    ax.set_ylim(tallest - 0.4, -0.6)
    inches = ax.get_window_extent().height / ax.figure.dpi
    font = float(np.clip(0.8 * 72 * inches / tallest, 4, FONT))
    ax.set_yticks(places, [shorten(entry.name) for entry in entries], fontsize=font)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(axis="x", color="0.88", lw=0.8)
    ax.set_axisbelow(True)
    if entries:
        ax.locator_params(axis="x", nbins=5)
        ax.vlines(0.0, -0.5, len(entries) - 0.5, color="0.3", lw=0.8)
    else:
        ax.set_xticks([])
        ax.text(0.5, 0.5, "all weights are zero", transform=ax.transAxes, ha="center")
