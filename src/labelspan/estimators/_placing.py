"""The places of rows whose labels are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidLabels, Mismatch
from ..labels import Labels, read_labels
from ..labels.reading import DENSE_ENTRIES
from ..operators.array_backend import as_block, host, like
from ..operators.label_columns import sparse_table

__all__ = ["labels_as_fitted", "placed_by_labels", "refuse_least_squares"]


def labels_as_fitted(
    y: Any, n_rows: int, names: Array, owner: str, *, new_classes: bool = False
) -> Labels:
    """Read labels of some rows, in the columns that the fit had.

    Parameters
    ----------
    y : labels, of the form that was given to ``fit``
    n_rows : int
    names : array of shape (k,)
        ``classes_``.
    owner : str
        Named in messages.
    new_classes : bool, default=False
        Whether rows may be of classes that the fit did not have: they have none of its labels.

    Returns
    -------
    Labels
        Sparse where there are very many.
    """
    large = sparse_table(y) and y.shape[0] * y.shape[1] > DENSE_ENTRIES and y.nnz > 0
    labels = read_labels(y, n_rows, owner, part=not large, keep_sparse=large, classes=names)
    if labels.kind != "classes":
        if labels.values.shape[1] != names.size:
            raise InvalidLabels(
                f"{owner}: y must have {names.size} columns as in fit, "
                f"but has {labels.values.shape[1]}."
            )
        return labels.in_columns(names, owner)
    known = labels.labelled
    values = np.zeros((n_rows, names.size))
    if known.any():
        found = np.isin(labels.names, names)
        if not found.all() and not new_classes:
            raise InvalidLabels(
                f"{owner}: y has classes that fit did not have: {labels.names[~found]}."
            )
        values[:, np.searchsorted(names, labels.names[found])] = labels.values[:, found]
    unknown = None if known.all() else np.repeat(~known[:, None], names.size, axis=1)
    return Labels(values, unknown, names, "classes")


def placed_by_labels(model: Any, places: Any, y: Any, directions: Array) -> Array:
    """Add to places what the known labels of the rows say.

    Parameters
    ----------
    model : estimator
        Fitted, with ``classes_`` and ``label_means_``.
    places : array of shape (n, m)
        ``transform`` of the features.
    y : labels of these rows
        Unknown entries add nothing.
    directions : array of shape (k, m)
        What each label adds.

    Returns
    -------
    array of shape (n, m)
    """
    block = as_block(places)
    labels = labels_as_fitted(y, block.shape[0], model.classes_, type(model).__name__)
    ways, means = host(directions), host(model.label_means_)
    if labels.many:
        added = labels.values @ ways - means @ ways
    else:
        values = labels.values - means
        if labels.unknown is not None:
            values = np.where(labels.unknown, 0.0, values)
        added = values @ ways
    moved: Array = block + like(added, block)
    return moved


def refuse_least_squares(model: Any) -> None:
    """Raise where the directions are not those of the eigenproblem."""
    if model.solver_ == "least-squares":
        raise Mismatch(
            f"{type(model).__name__}: transform with labels= needs the directions of the "
            "eigenproblem, and solver='least-squares' has others; use solver='auto' and "
            "penalty='l2', or leave labels out."
        )
