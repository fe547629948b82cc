"""Sparse loadings along the whole path of regularization strengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.linear_model import lars_path, lasso_path

from .._axis_ends import Ends, ends
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter
from ..solvers.least_squares import targets
from ._labelled import LabelledEmbedding, has_label_factor

__all__ = ["LoadingsPath", "TargetPath", "loadings_path"]

# LARS needs dense columns; more entries than this raise an error.
_DENSE_LIMIT = 2**27


@dataclass(frozen=True)
class TargetPath:
    """The loadings of one target: a column of ``weights`` for each of the descending ``alphas``."""

    alphas: Array
    weights: Array

    @property
    def nonzeros(self) -> Array:
        """Number of features with a weight, at each alpha."""
        return np.asarray((self.weights != 0).sum(axis=0))


@dataclass(frozen=True)
class LoadingsPath:
    """The paths of all targets, the leading target first.

    Attributes
    ----------
    targets : tuple of TargetPath
        Each with ``alphas``, in descending order, and ``weights``, one column per alpha.
    names : array of shape (d,)
        Names of the features.

    See Also
    --------
    loadings_path : Compute it.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from labelspan import OPLS, loadings_path
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> path = loadings_path(X, Y, OPLS(1))
    >>> int(path.targets[0].nonzeros[0])  # at the strongest penalty nothing is left
    0
    """

    targets: tuple[TargetPath, ...]
    names: Array

    def top_features(self, target: int, alpha: float, n: int = 10) -> Ends:
        """Return the features at both ends of an axis, at the alpha nearest to the one given.

        Parameters
        ----------
        target : int
            The target, counted from 0.
        alpha : float
            Regularization strength.
        n : int, default=10
            Maximum number of features at each end.

        Returns
        -------
        Ends
            With fields ``high`` and ``low``, lists of ``(name, weight)``.
        """
        if not 0 <= target < len(self.targets):
            raise InvalidParameter(
                f"loadings_path: target must be from 0 to {len(self.targets) - 1}, "
                f"but {target!r} was given."
            )
        path = self.targets[target]
        place = int(np.abs(path.alphas - alpha).argmin())
        return ends("loadings_path", path.weights[:, place][None], self.names, 0, n)


def loadings_path(
    X: Any,
    y: Any,
    method: LabelledEmbedding,
    *,
    algorithm: Literal["cd", "lars"] = "cd",
    n_alphas: int = 30,
    shortest: float = 1e-3,
    names: Sequence[Any] | Array | None = None,
) -> LoadingsPath:
    """Compute 1-norm loadings of OPLS, CCA, LDA or HSL for all regularization strengths at once.

    sun2009's lasso, ``|X w - t|^2 + alpha |w|_1`` for each target t of the method, from
    the alpha at which every weight is zero downwards.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        A sparse X is centred implicitly with ``algorithm="cd"``.
    y : labels, as in the method's ``fit``
        The labels.
    method : OPLS, CCA, LDA or HSL
        Not fitted; its penalty and solver are not used.
    algorithm : {"cd", "lars"}, default="cd"
        Coordinate descent on a grid of alphas, common to all targets, or least angle
        regression, which gives every alpha at which a feature enters or leaves; LARS makes X
        dense.
    n_alphas : int, default=30
        The length of the grid; maximum number of steps for LARS.
    shortest : float, default=1e-3
        The last alpha of the grid, as a fraction of the first.
    names : sequence or None, default=None
        Names of the features.

    Returns
    -------
    LoadingsPath
        Loadings for every strength of the penalty.

    See Also
    --------
    LoadingsPath.top_features : The features that enter first.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from labelspan import LDA, loadings_path
    >>> wine = load_wine()
    >>> path = loadings_path(wine.data, wine.target, LDA(), algorithm="lars",
    ...                      names=wine.feature_names)
    >>> path.targets[0].nonzeros[:3]
    array([0, 1, 2])
    """
    if not has_label_factor(method):
        raise InvalidParameter(
            f"loadings_path: method must be OPLS, CCA, LDA or HSL, but {method!r} was given."
        )
    if algorithm not in ("cd", "lars"):
        raise InvalidParameter(
            f"loadings_path: algorithm must be 'cd' or 'lars', but {algorithm!r} was given."
        )
    method._check_params()
    if not method._linear:
        raise InvalidParameter(
            f"loadings_path: kernel={method.kernel!r} has no weights on features; "
            "use kernel='linear'."
        )
    ready = method._prepare(X, y)
    count = method.n_components if isinstance(method.n_components, int) else None
    wanted = targets(ready.factor)[:, :count]
    rows, columns = ready.rows.shape
    if algorithm == "lars":
        if rows * columns > _DENSE_LIMIT:
            raise InvalidInput(
                f"loadings_path: algorithm='lars' would make {rows} x {columns} numbers dense; "
                "use algorithm='cd'."
            )
        paths = _lars(ready.rows.toarray(), wanted, n_alphas)
    else:
        largest = 2 * np.abs(ready.rows.rmatmat(wanted)).max()
        alphas = float(largest) * np.geomspace(1.0, shortest, n_alphas)
        paths = _coordinate_descent(*ready.rows.columns(), wanted, alphas)
    if names is None:
        names = getattr(method, "feature_names_in_", np.arange(columns))
    return LoadingsPath(tuple(paths), np.asarray(names))


def _lars(dense: Array, wanted: Array, steps: int) -> list[TargetPath]:
    out = []
    for target in wanted.T.astype(dense.dtype):
        alphas, _, weights = lars_path(dense, target, method="lasso", max_iter=steps)
        out.append(TargetPath(alphas * 2 * dense.shape[0], weights))
    return out


def _coordinate_descent(
    matrix: Any, offset: Array | None, wanted: Array, alphas: Array
) -> list[TargetPath]:
    rows, columns = matrix.shape
    implicit = {} if offset is None else {"X_offset": offset, "X_scale": np.ones(columns)}
    out = []
    for target in wanted.T:
        # scikit-learn's objective is |Xw - t|^2 / 2n + alpha |w|_1.
        _, weights, _ = lasso_path(
            matrix.astype(np.float64), target, alphas=alphas / (2 * rows), tol=1e-6, **implicit
        )
        out.append(TargetPath(alphas, weights))
    return out
