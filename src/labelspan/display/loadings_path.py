"""Draw the regularization path of sparse loadings."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._typing import Array
from ..estimators._labelled import LabelledEmbedding
from ..estimators.path import LoadingsPath, TargetPath, loadings_path
from .style import make_axes

__all__ = ["LoadingsPathDisplay"]


class LoadingsPathDisplay:
    """Weights of the features that enter first, against the regularization strength.

    Parameters
    ----------
    path : TargetPath
        One target of a :class:`LoadingsPath`.
    names : array of shape (d,)
        Names of the features.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure, after :meth:`plot`

    See Also
    --------
    labelspan.loadings_path : Compute the path.
    LoadingsDisplay : Loadings of one fit.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from labelspan import LDA
    >>> from labelspan.display import LoadingsPathDisplay
    >>> wine = load_wine(as_frame=True)
    >>> LoadingsPathDisplay.from_estimator(LDA(), wine.data, wine.target)  # doctest: +SKIP
    """

    def __init__(self, path: TargetPath, names: Array) -> None:
        self.path = path
        self.names = names

    @classmethod
    def from_path(cls, path: LoadingsPath, target: int = 0, **plot: Any) -> Self:
        """Draw one target of a path.

        Parameters
        ----------
        path : LoadingsPath
            Result of :func:`labelspan.loadings_path`.
        target : int, default=0
            Number of the target.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        LoadingsPathDisplay
            The display itself.
        """
        return cls(path.targets[target], path.names).plot(**plot)

    @classmethod
    def from_estimator(
        cls, estimator: LabelledEmbedding, X: Any, y: Any, *, target: int = 0, **plot: Any
    ) -> Self:
        """Compute the path of an estimator, and draw one target of it.

        Parameters
        ----------
        estimator : estimator that supports sparse loadings
            It is not fitted or changed.
        X : array or sparse matrix of shape (n, d)
            Features.
        y : array of shape (n,) or (n, k)
            Labels.
        target : int, default=0
            Number of the target.
        **plot
            Passed to :meth:`plot`.

        Returns
        -------
        LoadingsPathDisplay
            The display itself.
        """
        return cls.from_path(loadings_path(X, y, estimator), target, **plot)

    def plot(self, ax: Any = None, *, n_features: int = 8) -> Self:
        """Draw the path; features that enter first have a colour and a name.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            None makes a new figure.
        n_features : int, default=8
            Number of features with a colour.

        Returns
        -------
        self
            The display itself.
        """
        ax = make_axes(ax, (7, 4.2))
        weights, alphas = self.path.weights, self.path.alphas
        shown = alphas > 0
        entered = np.where((weights != 0).any(axis=1), (weights != 0).argmax(axis=1), len(alphas))
        order = np.argsort(entered, kind="stable")
        alive = order[entered[order] < len(alphas)]
        for feature in alive[n_features:]:
            ax.plot(alphas[shown], weights[feature, shown], color="0.85", lw=0.8, zorder=1)
        for feature in alive[:n_features]:
            ax.plot(alphas[shown], weights[feature, shown], lw=1.8, label=str(self.names[feature]))
        ax.axhline(0.0, color="0.6", lw=0.8)
        ax.set(xscale="log", xlabel="regularization strength alpha", ylabel="weight")
        ax.invert_xaxis()
        if alive.size:
            ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
