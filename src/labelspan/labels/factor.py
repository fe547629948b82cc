"""The label factor that defines a method, and the factors of OPLS, CCA, LDA and HSL.

A method made of labels maximises ``S = H H'``. Each factor function takes :class:`Labels` and
returns H, an n x s block. Columns are centred if the method centres; an unknown entry gets
the mean of its column, so that it counts neither as yes nor as no. A label without rows gives
a column of zeros, and a row without labels is zero before centring.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from .._typing import Array
from ..errors import InvalidLabels
from ..operators import Operator, Product, Scaled, as_operator
from ..operators.array_backend import host
from ..operators.digits import centered_columns, orthonormal_columns, rank_tolerance, whitening
from .reading import Labels

__all__ = [
    "HypergraphLaplacian",
    "cca_factor",
    "class_scatter",
    "equalizing_weights",
    "hsl_factor",
    "inverse_power",
    "label_basis",
    "lda_factor",
    "opls_factor",
    "refuse_several",
]

HypergraphLaplacian = Literal["clique", "star", "zhou"]


def opls_factor(labels: Labels, *, center: bool = True) -> Operator:
    """Return the factor of OPLS, ``H = Y`` (sun2009, Eq. 4).

    Parameters
    ----------
    labels : Labels
        Labels of n rows, as :func:`read_labels` returns them.
    center : bool, default=True
        Whether to centre the columns.

    Returns
    -------
    H : Operator of shape (n, s)
        The labels of a :class:`labelspan.solvers.Problem`.

    See Also
    --------
    cca_factor : Every label counts equally.

    References
    ----------
    .. [1] Sun, L., Ji, S., & Ye, J. (2009). A least squares formulation for a class of
           generalized eigenvalue problems in machine learning. ICML.
           https://doi.org/10.1145/1553374.1553499

    Examples
    --------
    >>> from labelspan.labels import opls_factor, read_labels
    >>> labels = read_labels([[1, 0], [1, 1], [0, 1]], 3, "mine")
    >>> opls_factor(labels, center=False).toarray().tolist()
    [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    return _finish(labels.operator, labels, center)


def cca_factor(labels: Labels, *, center: bool = True) -> Operator:
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
    H : Operator of shape (n, s)
        The labels of a :class:`labelspan.solvers.Problem`.

    See Also
    --------
    opls_factor : Labels count by their variance.
    lda_factor : The case of classes.

    Examples
    --------
    >>> from labelspan.labels import cca_factor, read_labels
    >>> labels = read_labels([[1, 0], [1, 1], [0, 1]], 3, "mine")
    >>> cca_factor(labels).gram().round(6) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    H = _finish(labels.operator, labels, center)
    if not H.dense:
        tolerance = rank_tolerance(np.float64, H.shape)
        return Product(H, as_operator(whitening(H.gram(), tolerance)))
    return as_operator(label_basis(H.to_block()))


def label_basis(block: Array) -> Array:
    """Return an orthonormal basis of labels; one column of zeros if they are constant."""
    basis = orthonormal_columns(block)
    return basis if basis.shape[1] else np.zeros((block.shape[0], 1))


def lda_factor(labels: Labels, *, center: bool = True) -> Operator:
    """Return the factor of LDA: one-hot labels divided by the square root of each class size.

    Parameters
    ----------
    labels : Labels
        Labels of n rows, as :func:`read_labels` returns them.
    center : bool, default=True
        Whether to centre the columns.

    Returns
    -------
    H : Operator of shape (n, s)
        The labels of a :class:`labelspan.solvers.Problem`.

    See Also
    --------
    cca_factor : The same for multi-label data.
    class_scatter : The scatters themselves.

    Examples
    --------
    >>> from labelspan.labels import lda_factor, read_labels
    >>> labels = read_labels([0, 0, 0, 0, 1], 5, "mine")
    >>> lda_factor(labels, center=False).toarray()[[0, 4]]
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    columns = inverse_power(_sums(labels.operator), 0.5)
    return _finish(Scaled(labels.operator, columns=columns), labels, center)


def hsl_factor(
    labels: Labels,
    *,
    laplacian: HypergraphLaplacian = "clique",
    center: bool = True,
) -> Operator:
    """Return the factor of HSL, whose hyperedges are the labels (sun2009, Eq. 5).

    ``S = I - L`` with the normalised hypergraph Laplacian L of Zhou, or of the star or clique
    expansion.

    Parameters
    ----------
    labels : Labels
        Labels of n rows, as :func:`read_labels` returns them.
    laplacian : {"clique", "star", "zhou"}, default="clique"
        Laplacian of the hypergraph.
    center : bool, default=True
        Whether to centre the columns.

    Returns
    -------
    H : Operator of shape (n, s)
        The labels of a :class:`labelspan.solvers.Problem`.

    See Also
    --------
    lda_factor : The case of classes, for star and Zhou's Laplacian.

    Examples
    --------
    >>> from labelspan.labels import hsl_factor, read_labels
    >>> labels = read_labels([[1, 0], [1, 1], [0, 1]], 3, "mine")
    >>> hsl_factor(labels, laplacian="zhou", center=False).toarray().round(2)
    array([[0.71, 0.  ],
           [0.5 , 0.5 ],
           [0.  , 0.71]])
    """
    incidence = labels.operator
    size = _sums(incidence)
    # Contribution of each label to the degree of its rows, and the scale of its column.
    degree = edges = inverse_power(size, 1.0)
    if laplacian == "clique":
        degree, edges = size, np.ones_like(size)
    elif laplacian == "zhou":
        degree, edges = np.ones_like(size), np.sqrt(edges)
    if labels.values.min() < 0:
        raise InvalidLabels("HSL: y must not be negative, because its entries are memberships.")
    rows = inverse_power(host(incidence.matmat(degree[:, None]))[:, 0], 0.5)
    return _finish(Scaled(incidence, rows, edges), labels, center)


def refuse_several(labels: Labels) -> None:
    """Raise an error if rows of LDA have more than one class."""
    most = int(labels.operator.matmat(np.ones((labels.names.size, 1))).max())
    if most > 1:
        raise InvalidLabels(
            f"LDA takes one label per row, but y has rows with {most}; "
            "use CCA, OPLS or HSL for multi-label data."
        )


def _sums(labels: Operator) -> Array:
    return labels.cross(np.ones((labels.shape[0], 1)))[:, 0]


def _finish(H: Operator, labels: Labels, center: bool) -> Operator:
    """Centre the columns; unknown entries are zeros, which add nothing."""
    if not center or not H.dense:
        return H.centered()[0] if center else H
    if H is labels.operator:
        return as_operator(labels.centred)
    known = H.shape[0] if labels.unknown is None else (~labels.unknown).sum(axis=0)
    means = _sums(H) / np.maximum(known, 1)
    return as_operator(centered_columns(H.to_block(), means, labels.unknown))


def inverse_power(values: Array, power: float) -> Array:
    """Return ``values ** -power``, and 0 where a value is 0."""
    out = np.zeros_like(values, dtype=np.float64)
    np.power(values, -power, out=out, where=values > 0)
    return out


def equalizing_weights(squares: Array) -> Array:
    """Return the weight of each label, 1 / sqrt(s), which makes rare labels count more.

    s is the standard deviation of a label, the root of ``squares``; a constant label gets 1.
    Unscaled labels count by their variance, so frequent ones dominate the embedding; divided by
    s, all have the same weight, and rare labels add noise. On five data sets dividing by
    sqrt(s) gave better neighbours and label scores than either.
    """
    varied = squares > 0
    return np.where(varied, np.where(varied, squares, 1.0) ** -0.25, 1.0)


class Scatter(NamedTuple):
    """B with ``S_b = B B'``, S_w, and their sum S_t, about the multi-label mean."""

    between: Array
    within: Array
    total: Array


def class_scatter(X: Operator, Y: Array) -> Scatter:
    """Compute the class-wise scatters of the rows of X, counted once for each of their labels.

    With ``n_k`` rows in class k and ``m`` the mean over all pairs of a row and its label,
    ``S_b = sum n_k (m_k - m)(m_k - m)'``, ``S_t = sum y_ik (x_i - m)(x_i - m)'`` and
    ``S_w = S_t - S_b = sum y_ik (x_i - m_k)(x_i - m_k)'``. With one label per row they
    are those of linear discriminant analysis.

    Parameters
    ----------
    X : Operator
        The rows.
    Y : array of shape (n, k)
        A 0/1 indicator.

    Returns
    -------
    tuple of arrays
        ``between`` of shape (d, k), B with ``S_b = B B'``; ``within`` and ``total``, of shape
        (d, d).

    See Also
    --------
    lda_factor : The label factor of linear discriminant analysis.

    References
    ----------
    .. [1] Wang, H., Huang, H., & Ding, C. (2010). Discriminant Laplacian embedding. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import class_scatter
    >>> from labelspan.operators import as_operator
    >>> X, Y = np.array([[0.0], [2.0], [6.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> scatter = class_scatter(as_operator(X), Y)
    >>> float(np.round(scatter.within[0, 0], 10))
    2.0
    """
    sizes, counts = Y.sum(axis=0), Y.sum(axis=1)
    mean = X.cross(counts[:, None])[:, 0] / counts.sum()
    about = X.shifted(mean)
    alive = sizes > 0
    between = about.cross(Y[:, alive] / np.sqrt(sizes[alive]))
    total = Scaled(about, rows=np.sqrt(counts)).gram()
    return Scatter(between, total - between @ between.T, total)
