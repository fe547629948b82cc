"""Draw the curve from which a regularization strength was chosen."""

from __future__ import annotations

from typing import Any, Self

from ..errors import InvalidInput
from ..solvers import AlphaCurve
from .style import make_axes

__all__ = ["AlphaDisplay"]


class AlphaDisplay:
    """Prediction error of the label regression against ``alpha``, with the chosen value.

    Parameters
    ----------
    curve : AlphaCurve
        Attribute ``alpha_curve_`` of an estimator that was fitted with ``alpha="auto"``.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure, after :meth:`plot`

    See Also
    --------
    TuningDisplay : Scores of a cross-validation over several hyperparameters.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelspan import OPLS
    >>> from labelspan.display import AlphaDisplay
    >>> X, Y = make_multilabel_classification(100, n_features=20, random_state=0)
    >>> AlphaDisplay.from_estimator(OPLS().fit(X, Y))  # doctest: +SKIP
    """

    def __init__(self, curve: AlphaCurve) -> None:
        self.curve = curve

    @classmethod
    def from_estimator(cls, estimator: Any, **plot: Any) -> Self:
        """Draw the curve of a fitted estimator.

        Parameters
        ----------
        estimator : MLSI, OPLS, CCA, LDA or HSL
            Fitted with ``alpha="auto"``.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        AlphaDisplay
            The display itself.
        """
        curve = getattr(estimator, "alpha_curve_", None)
        if curve is None:
            raise InvalidInput(
                "AlphaDisplay: the estimator has no curve, because it is not fitted or alpha was "
                "given as a number; fit it with alpha='auto'."
            )
        return cls(curve).plot(**plot)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            None makes a new figure.

        Returns
        -------
        self
            The display itself.
        """
        ax = make_axes(ax, (6, 4))
        curve = self.curve
        ax.plot(curve.alphas, curve.errors, marker="o", ms=3)
        ax.plot(
            curve.alpha, curve.error, "*", ms=14, color="black", label=f"chosen: {curve.alpha:.3g}"
        )
        ax.set(
            xscale="log",
            xlabel="regularization strength alpha",
            ylabel="squared prediction error",
        )
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
