"""The factors of OPLS, CCA, LDA and hypergraph spectral learning.

Each function takes :class:`Labels` and returns H, an n x s block with ``S = H H'``. Columns
are centred where the method centres; an unknown entry gets the mean of its column, so that
it counts neither as yes nor as no. Labels without any row give a column of zeros, and rows
without any label a row of zeros before centring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .._typing import Array
from ..errors import InvalidLabels, InvalidParameter
from ..operators import Operator, Product, RowFiles, as_operator
from ..operators.array_backend import centered_columns, column_sums, host
from ..operators.convert import scaled_block
from .factor import RANK_TOLERANCE, orthonormal_columns
from .reading import Labels

__all__ = [
    "HypergraphLaplacian",
    "cca_factor",
    "edge_weights",
    "hsl_factor",
    "inverse_power",
    "lda_factor",
    "opls_factor",
    "whitening",
]

HypergraphLaplacian = Literal["clique", "star", "zhou"]


def opls_factor(labels: Labels, *, center: bool = True) -> Any:
    """Return the factor of OPLS, ``H = Y`` (sun2009, Eq. 4).

    Parameters
    ----------
    labels : Labels
        Labels of n rows, as :func:`read_labels` returns them.
    center : bool, default=True
        Whether to centre the columns.

    Returns
    -------
    H : array of shape (n, s)
        The label block of a :class:`Factor`; an operator for sparse labels.

    See Also
    --------
    cca_factor : Every label counts alike.

    References
    ----------
    .. [1] Sun, L., Ji, S., & Ye, J. (2009). A least squares formulation for a class of
           generalized eigenvalue problems in machine learning. ICML.
           https://doi.org/10.1145/1553374.1553499

    Examples
    --------
    >>> from labelspan.labels import opls_factor, read_labels
    >>> labels = read_labels([[1, 0], [1, 1], [0, 1]], 3, "mine")
    >>> opls_factor(labels, center=False).tolist()
    [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    return _finish(labels.values, labels, center)


def cca_factor(labels: Labels, *, center: bool = True) -> Any:
    """Return the factor of CCA: an orthonormal basis of the labels (sun2009, Eq. 3).

    ``H H' = Y (Y'Y)^+ Y'``. Null directions, such as the sum of one-hot columns or a
    duplicate label, are dropped; a plain inverse square root would amplify them.

    Parameters
    ----------
    labels : Labels
        Labels of n rows, as :func:`read_labels` returns them.
    center : bool, default=True
        Whether to centre the columns.

    Returns
    -------
    H : array of shape (n, s)
        The label block of a :class:`Factor`; an operator for sparse labels.

    See Also
    --------
    opls_factor : Labels count by their size.
    lda_factor : The case of classes.

    References
    ----------
    .. [1] Sun, L., Ji, S., & Ye, J. (2009). A least squares formulation for a class of
           generalized eigenvalue problems in machine learning. ICML.
           https://doi.org/10.1145/1553374.1553499

    Examples
    --------
    >>> from labelspan.labels import cca_factor, read_labels
    >>> labels = read_labels([[1, 0], [1, 1], [0, 1]], 3, "mine")
    >>> H = cca_factor(labels)
    >>> (H.T @ H).round(6) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    block = _finish(labels.values, labels, center)
    if isinstance(block, Operator):
        return Product(block, as_operator(whitening(block.gram())))
    basis = orthonormal_columns(block)
    return basis if basis.shape[1] else np.zeros((block.shape[0], 1))


def whitening(square: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """Compute T with ``T' square T = I`` on the range of a label block's ``B'B``.

    Columns are scaled to unit norm first, so that a rare label, or a target in small
    units, is not taken for rounding.

    Parameters
    ----------
    square : array of shape (s, s)
    tolerance : float, default=1e-10
        Eigenvalues below this fraction of the largest are null.

    Returns
    -------
    array of shape (s, rank)

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels.label_factor import whitening
    >>> whitening(np.diag([4.0, 0.0])).ravel()
    array([0.5, 0. ])
    """
    norms, side = np.sqrt(square.diagonal()), square.shape[0]
    alive = norms > 0
    if not alive.all():
        square, norms = square[np.ix_(alive, alive)], norms[alive]
    if not norms.size:
        return np.zeros((side, 1))
    scaled = square / norms / norms[:, None]
    spectrum, axes = np.linalg.eigh((scaled + scaled.T) / 2)
    keep = spectrum > tolerance * spectrum[-1]
    root = (axes[:, keep] / np.sqrt(spectrum[keep])) / norms[:, None]
    if norms.size == side:
        return np.asarray(root)
    out = np.zeros((side, root.shape[1]))
    out[alive] = root
    return out


def lda_factor(labels: Labels, *, center: bool = True) -> Any:
    """Return the factor of LDA: one-hot labels over the square root of each class size.

    Parameters
    ----------
    labels : Labels
        Labels of n rows, as :func:`read_labels` returns them.
    center : bool, default=True
        Whether to centre the columns.

    Returns
    -------
    H : array of shape (n, s)
        The label block of a :class:`Factor`; an operator for sparse labels.

    See Also
    --------
    cca_factor : The same for multi-label data.
    class_scatter : The scatters themselves.

    References
    ----------
    .. [1] Sun, L., Ji, S., & Ye, J. (2009). A least squares formulation for a class of
           generalized eigenvalue problems in machine learning. ICML.
           https://doi.org/10.1145/1553374.1553499

    Examples
    --------
    >>> from labelspan.labels import lda_factor, read_labels
    >>> labels = read_labels([0, 0, 0, 0, 1], 5, "mine")
    >>> lda_factor(labels, center=False)[[0, 4]]
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    if isinstance(labels.values, RowFiles):
        columns = inverse_power(_sums(labels.values, 0), 0.5)

        def classes(block: Any) -> Any:
            refuse_several(block)
            return scaled_block(block, columns=columns)

        return _finish(labels.values.changed(classes), labels, center)
    sizes = _sums(labels.values, 0)
    return _finish(scaled_block(labels.values, columns=inverse_power(sizes, 0.5)), labels, center)


def hsl_factor(
    labels: Labels,
    *,
    laplacian: HypergraphLaplacian = "clique",
    edge_weight: Sequence[float] | Array | None = None,
    center: bool = True,
) -> Any:
    """Return the factor of HSL, whose hyperedges are the labels (sun2009, Eq. 5).

    ``S = I - L`` with the normalised hypergraph Laplacian L of Zhou, or of the star or clique
    expansion.

    Parameters
    ----------
    labels : Labels
        Labels of n rows, as :func:`read_labels` returns them.
    laplacian : {"clique", "star", "zhou"}, default="clique"
        Laplacian of the hypergraph.
    edge_weight : sequence of float or None, default=None
        One positive weight per label; None means 1 for each.
    center : bool, default=True
        Whether to centre the columns.

    Returns
    -------
    H : array of shape (n, s)
        The label block of a :class:`Factor`; an operator for sparse labels.

    See Also
    --------
    lda_factor : The case of classes, for star and Zhou's Laplacian.

    References
    ----------
    .. [1] Sun, L., Ji, S., & Ye, J. (2009). A least squares formulation for a class of
           generalized eigenvalue problems in machine learning. ICML.
           https://doi.org/10.1145/1553374.1553499

    Examples
    --------
    >>> from labelspan.labels import hsl_factor, read_labels
    >>> labels = read_labels([[1, 0], [1, 1], [0, 1]], 3, "mine")
    >>> hsl_factor(labels, laplacian="zhou", center=False).round(2)
    array([[0.71, 0.  ],
           [0.5 , 0.5 ],
           [0.  , 0.71]])
    """
    incidence: Any = labels.values
    weight = edge_weights(edge_weight, incidence.shape[1])
    size = _sums(incidence, 0)
    # What a label adds to the degree of its rows, and what its column is multiplied by.
    if laplacian == "clique":
        degree, edges = weight * size, np.sqrt(weight)
    elif laplacian == "star":
        degree = weight * inverse_power(size, 1.0)
        edges = degree * inverse_power(degree * size, 0.5)
    else:
        degree, edges = weight, np.sqrt(weight * inverse_power(size, 1.0))

    def scaled(block: Any) -> Any:
        entries = block if isinstance(block, np.ndarray) else block.data
        if entries.min(initial=0) < 0:
            raise InvalidLabels("HSL: y must not be negative, because its entries are memberships.")
        return scaled_block(block, inverse_power(block @ degree, 0.5), edges)

    in_files = isinstance(incidence, RowFiles)
    return _finish(incidence.changed(scaled) if in_files else scaled(incidence), labels, center)


def refuse_several(block: Any) -> None:
    """Raise an error for rows of LDA with more than one class."""
    most = int(block.sum(axis=1).max(initial=0))
    if most > 1:
        raise InvalidLabels(
            f"LDA takes one label per row, but y has rows with {most}; "
            "use CCA, OPLS or HSL for multi-label data."
        )


def _sums(block: Any, axis: int) -> Array:
    if isinstance(block, Operator):
        return np.asarray(block.shape[0] * block.column_means())
    if axis == 0 and isinstance(block, np.ndarray):
        return host(column_sums(block))
    return np.asarray(block.sum(axis=axis), dtype=np.float64).ravel()


def _finish(block: Any, labels: Labels, center: bool) -> Any:
    """Centre the columns; unknown entries become zeros, which add nothing."""
    if labels.many:
        operator = as_operator(block)
        return operator.centered()[0] if center else operator
    unknown = labels.unknown
    if not center:
        return block if unknown is None else np.where(unknown, 0.0, block)
    if block is labels.values:
        return labels.centred
    if unknown is None:
        means = column_sums(block) / max(1, block.shape[0])
    else:
        known = np.maximum((~unknown).sum(axis=0), 1)
        means = np.where(unknown, 0.0, block).sum(axis=0) / known
    return centered_columns(block, means, unknown)


def inverse_power(values: Array, power: float) -> Array:
    """Return ``values ** -power``, and 0 where a value is 0.

    Parameters
    ----------
    values : array
        Values of at least 0.
    power : float
        The exponent.

    Returns
    -------
    array
        Of the same shape.

    See Also
    --------
    cca_factor : Uses it for dependent labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import inverse_power
    >>> inverse_power(np.array([4.0, 0.0]), 0.5)
    array([0.5, 0. ])
    """
    out = np.zeros_like(values, dtype=np.float64)
    np.power(values, -power, out=out, where=values > 0)
    return out


def edge_weights(edge_weight: Sequence[float] | Array | None, count: int) -> Array:
    """Check hyperedge weights; None means ones.

    Parameters
    ----------
    edge_weight : sequence of float or None
    count : int
        The number of hyperedges.

    Returns
    -------
    array of shape (count,)

    Examples
    --------
    >>> from labelspan.labels.label_factor import edge_weights
    >>> edge_weights(None, 2)
    array([1., 1.])
    """
    if edge_weight is None:
        return np.ones(count)
    try:
        weight = np.asarray(edge_weight, dtype=np.float64)
    except (TypeError, ValueError):
        weight = np.empty(0)
    if weight.shape != (count,) or not (weight > 0).all() or not np.isfinite(weight).all():
        raise InvalidParameter(
            f"HSL: edge_weight must hold one positive number for each of the {count} labels, "
            f"but {edge_weight!r} was given."
        )
    return weight
