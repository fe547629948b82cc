"""Draw eigenvalues and their cumulative share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._params import Real
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from .style import COLOURS, check_fitted, make_axes

__all__ = ["SpectrumDisplay"]

# The share that the title mentions if the total is not known.
_MOST = 0.9
# Above this many components the line has no markers.
_POINTS = 40


class SpectrumDisplay:
    """Eigenvalues as bars, and their cumulative share as a line, with its axis on the right.

    The share is that of ``total``, or of the eigenvalues' own sum where no total is given.
    Increasing eigenvalues, as those of LPP, measure roughness and have no share.

    Parameters
    ----------
    eigenvalues : array of shape (m,)
        Eigenvalues of the components.
    total : float or None, default=None
        The sum over all possible components: for LSI the sum of X's squares, for
        a balanced MLSI 1, for CCA and LDA the number of directions that the labels span.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure, after :meth:`plot`
    share_ax_ : the axes of the share, or None

    See Also
    --------
    LoadingsDisplay : What the axes say.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from labelspan import LSI
    >>> from labelspan.display import SpectrumDisplay
    >>> X, _ = load_wine(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> shown = SpectrumDisplay.from_estimator(LSI(5).fit(X), total=(X**2).sum())
    >>> shown.ax_.get_title()
    '5 components keep 80% of the total'
    """

    def __init__(self, eigenvalues: Any, *, total: float | None = None) -> None:
        self.eigenvalues = eigenvalues
        self.total = total

    @classmethod
    def from_estimator(cls, estimator: Any, *, total: float | None = None, **plot: Any) -> Self:
        """Draw the ``eigenvalues_`` of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            The estimator to draw.
        total : float or None, default=None
            The sum over all possible components, as in the class.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        SpectrumDisplay
            The display itself.
        """
        check_fitted(cls.__name__, estimator)
        values = getattr(estimator, "eigenvalues_", None)
        if values is None:
            raise InvalidInput(
                f"{cls.__name__}: {type(estimator).__name__} has no eigenvalues_; "
                "give an estimator of labelspan, or the eigenvalues themselves to the class."
            )
        return cls(values, total=total).plot(**plot)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars and the line.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Axes to draw into; None makes new ones.

        Returns
        -------
        self
            The display itself.
        """
        from matplotlib.ticker import MaxNLocator, PercentFormatter  # noqa: PLC0415

        owner = type(self).__name__
        values = _read(owner, self.eigenvalues)
        share = _share(owner, values, self.total)
        ax = make_axes(ax, (7, 4.2))
        places = np.arange(values.size)
        ax.bar(places, values, color=COLOURS[4], width=0.8)
        ax.set(xlabel="component", ylabel="eigenvalue")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        self.share_ax_ = None
        if share is not None:
            whole = "the sum" if self.total is None else "the total"
            right = ax.twinx()
            marker = "o" if values.size <= _POINTS else None
            right.plot(places, share, color=COLOURS[3], marker=marker, ms=4, lw=1.5)
            right.set(ylim=(0.0, 1.05), ylabel=f"cumulative share of {whole}")
            right.yaxis.label.set_color(COLOURS[3])
            right.yaxis.set_major_formatter(PercentFormatter(1.0))
            ax.set_title(_sentence(share, self.total))
            self.share_ax_ = right
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _read(owner: str, eigenvalues: Any) -> Array:
    values = np.asarray(eigenvalues, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise InvalidInput(
            f"{owner}: eigenvalues must be a vector of finite numbers, at least one, "
            f"but has shape {values.shape}."
        )
    return values


def _share(owner: str, values: Array, total: float | None) -> Array | None:
    slack = 1e-6 * float(np.abs(values).max())
    sums = np.cumsum(np.maximum(values, 0.0))
    rising = bool((np.diff(values) > slack).any())
    if total is not None and rising:
        raise Mismatch(
            f"{owner}: total={total!r} has no meaning for increasing eigenvalues, which have no "
            "share; leave it out."
        )
    if total is not None and not (Real(0.0).accepts(total) and total >= sums[-1] * (1 - 1e-6) > 0):
        raise InvalidParameter(
            f"{owner}: total must be at least the sum of the eigenvalues, {sums[-1]:g}, "
            f"but {total!r} was given."
        )
    if rising or not sums[-1] > 0:
        return None
    return np.asarray(sums / (sums[-1] if total is None else total))


def _sentence(share: Array, total: float | None) -> str:
    plural = "component keeps" if share.size == 1 else "components keep"
    if total is not None:
        return f"{share.size} {plural} {share[-1]:.0%} of the total"
    most = int(np.searchsorted(share, _MOST)) + 1
    return f"{most} of {share.size} components reach {_MOST:.0%} of the sum"
