"""Draw the scores of hyperparameter tuning."""

from __future__ import annotations

from typing import Any, Self

from ..estimators.tuning import Candidate, Tuning
from .style import make_axes

__all__ = ["TuningDisplay"]


class TuningDisplay:
    """Mean score against ``alpha``, one line per ``beta``, with standard deviations.

    Only candidates with the chosen number of components are shown.

    Parameters
    ----------
    tuning : Tuning
        Result of :func:`labelspan.tune`.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure, after :meth:`plot`

    See Also
    --------
    labelspan.tune : Compute the scores.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelspan import MLSI, tune
    >>> from labelspan.display import TuningDisplay
    >>> X, Y = make_multilabel_classification(100, n_features=20, random_state=0)
    >>> found = tune(MLSI(3), X, Y, alpha=[1.0, 10.0], beta=[0.3, 0.8])
    >>> TuningDisplay.from_tuning(found)  # doctest: +SKIP
    """

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning

    @classmethod
    def from_tuning(cls, tuning: Tuning, **plot: Any) -> Self:
        """Draw the scores of a tuning.

        Parameters
        ----------
        tuning : Tuning
            Result of :func:`labelspan.tune`.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        TuningDisplay
            The display itself.
        """
        return cls(tuning).plot(**plot)

    def plot(self, ax: Any = None) -> Self:
        """Draw the scores.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            None makes a new figure.

        Returns
        -------
        self
            The display itself.
        """
        ax = make_axes(ax, (7, 4.2))
        best = self.tuning.best_params
        lines: dict[Any, list[Candidate]] = {}
        for candidate in self.tuning.candidates:
            if candidate.params["n_components"] == best["n_components"]:
                lines.setdefault(candidate.params.get("beta"), []).append(candidate)
        for beta, line in lines.items():
            name = None if beta is None else f"beta = {_shown(beta)}"
            for candidate in line:
                if candidate.params["alpha"] == "auto":
                    ax.axhline(candidate.mean, ls=":", color="grey", label=_automatic(name))
            line = [found for found in line if found.params["alpha"] != "auto"]  # noqa: PLW2901
            line.sort(key=lambda candidate: candidate.params["alpha"])
            ax.errorbar(
                [candidate.params["alpha"] for candidate in line],
                [candidate.mean for candidate in line],
                yerr=[candidate.std for candidate in line],
                marker="o",
                capsize=3,
                label=name,
            )
        if best["alpha"] != "auto":
            score = self.tuning.best_score
            ax.plot(best["alpha"], score, "*", ms=14, color="black", label="chosen")
        positive = all(c.params["alpha"] != 0 for c in self.tuning.candidates)
        ax.set(
            xscale="log" if positive else "symlog",
            xlabel="regularization strength alpha",
            ylabel="cross-validated score",
            title=f"n_components = {best['n_components']}",
        )
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _automatic(name: str | None) -> str:
    return "alpha = auto" if name is None else f"alpha = auto, {name}"
