"""Reading labels: class vectors, indicators and real targets, with unknown entries.

Conventions:

- A vector, or a single column, is *classes* and becomes one-hot; -1, NaN and None mean
  unknown, as in scikit-learn's semi-supervised classifiers. If -1 and 1 are the only values,
  they are two classes, as in its other classifiers, and NaN or None mean unknown. A vector of
  floats with fractions is one real *target*.
- A Series or a vector of lists of labels is an indicator with a column for each label; a missing
  entry is an unlabelled row.
- Two dimensions of 0 and 1 are a multi-label *indicator*. -1 or NaN marks an unknown
  entry.
- Two dimensions of any other numbers are real *targets*; only NaN is unknown.

A row whose entries are all unknown is an unlabelled row. A row of zeros is not: it is
known to have none of the labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np

from .._typing import Array
from ..errors import AmbiguousLabels, InvalidInput, InvalidLabels, warn_caller
from ..operators import Operator, as_operator
from ..operators.array_backend import (
    contiguous,
    is_tensor,
    placed,
)
from ..operators.convert import column_names, dense_block, sparse_table
from ..operators.digits import centered_columns
from ..operators.machine import map_threads, refuse_too_large, row_parts
from ..operators.sparse import Sparse

__all__ = ["Kind", "Labels", "indicator_on_device", "read_labels"]

Kind = Literal["classes", "indicator", "targets"]

# Floats with more values than this, and fewer rows per value, are probably a regression target.
_FEW_CLASSES = 20
_ROWS_PER_CLASS = 50
# A sparse indicator with at most this many entries is made dense: 256 MiB.
DENSE_ENTRIES = 1 << 25
# Numpy types that torch also has.
_TORCH_TYPES = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"})


@dataclass(frozen=True)
class Labels:
    """Labels as an n x k block, in float64, or on the device of X in its type.

    Attributes
    ----------
    values : array or sparse array in CSR format, of shape (n, k)
        One column per label; 0 where ``unknown`` is True. Sparse only if the caller of
        :func:`read_labels` supports it and there are many labels.
    unknown : array of bool of shape (n, k) or None
        Which entries are unknown; None if all are known.
    names : array of shape (k,)
        Name of each column.
    kind : {"classes", "indicator", "targets"}
        How the labels were read.
    named : bool
        Whether the names are the column names of a data frame.

    See Also
    --------
    read_labels : Creates it from labels of any type.

    Examples
    --------
    >>> from labelspan.labels import read_labels
    >>> labels = read_labels([[1, 0], [-1, -1], [1, 1]], 3, "mine")
    >>> labels.labelled, labels.means()
    (array([ True, False,  True]), array([1. , 0.5]))
    """

    values: Array
    unknown: Array | None
    names: Array
    kind: Kind
    named: bool = False

    @cached_property
    def operator(self) -> Operator:
        """The values as an operator."""
        return as_operator(self.values)

    @property
    def many(self) -> bool:
        """Whether there are too many labels for a dense array."""
        return not self.operator.dense

    @property
    def labelled(self) -> Array:
        """Mask of the rows with at least one known entry."""
        if self.unknown is None:
            return np.ones(self.values.shape[0], dtype=bool)
        return np.asarray(~self.unknown.all(axis=1))

    def rows(self, index: Array) -> Labels:
        """Select the labels of some rows, by number."""
        unknown = None if self.unknown is None else self.unknown[index]
        if unknown is not None and not unknown.any():
            unknown = None
        return replace(self, values=self.values[index], unknown=unknown)

    def in_columns(self, names: Array, owner: str) -> Labels:
        """Put the columns of a data frame in the order of given names; others stay as they are.

        Unnamed columns keep their positions. Other names raise an error.
        """
        if not self.named or np.array_equal(self.names, names):
            return self
        place = {name: column for column, name in enumerate(self.names.tolist())}
        wanted = np.asarray(names).tolist()
        if len(place) != self.names.size or set(place) != set(wanted):
            if wanted == list(range(len(wanted))):
                return self
            raise InvalidLabels(
                f"{owner}: y must have the label columns {wanted}, in any order, but has "
                f"{self.names.tolist()}; give the same columns in every batch."
            )
        order = [place[name] for name in wanted]
        unknown = None if self.unknown is None else self.unknown[:, order]
        return replace(self, values=self.values[:, order], unknown=unknown, names=np.asarray(names))

    def means(self) -> Array:
        """Return the mean of each column over its known entries; 0 if none is known."""
        if self.unknown is None:
            return self.operator.column_means()
        known = (~self.unknown).sum(axis=0)
        return np.asarray(self.values.sum(axis=0) / np.maximum(known, 1))

    @cached_property
    def centred(self) -> Array:
        """The values minus their means, 0 where unknown; do not modify it.

        A constant label is exactly 0, so that rounding does not become a direction.
        """
        return centered_columns(self.values, self.means(), self.unknown)


def read_labels(
    y: Any,
    n_rows: int,
    owner: str,
    *,
    part: bool = False,
    targets: bool = False,
    keep_sparse: bool = False,
    classes: Array | None = None,
) -> Labels:
    """Read labels of any supported type.

    Parameters
    ----------
    y : vector, array, sparse matrix or data frame
        Classes, a 0/1 indicator with one column per label, or real targets.
    n_rows : int
        Number of rows of X.
    owner : str
        Name of the caller, for error messages.
    part : bool, default=False
        Whether these rows are only a part of the data: they may then all be unlabelled, or all in
        one class.
    targets : bool, default=False
        Whether the numbers are known to be real targets.
    keep_sparse : bool, default=False
        Whether a sparse matrix without unknown entries and with more than 33 million entries,
        including zeros, stays sparse.
    classes : array or None, default=None
        Classes of an earlier fit: if -1 is one of them, it does not mean unknown.

    Returns
    -------
    labels : Labels
        The labels as a block, with names and unknown entries.

    See Also
    --------
    opls_factor, cca_factor, lda_factor, hsl_factor : Make a label factor from them.

    Examples
    --------
    >>> from labelspan.labels import read_labels
    >>> labels = read_labels(["a", "b", "a"], 3, "mine")
    >>> labels.kind, labels.values.tolist()
    ('classes', [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    if y is None:
        raise InvalidLabels(
            f"{owner} requires y to be passed, but the target y is None; "
            "without labels use LSI instead."
        )
    names = column_names(y)
    if not part and (listed := _from_lists(y, owner)) is not None:
        y, names = listed
    kept = keep_sparse and not part and not targets
    if isinstance(y, Operator):
        raise InvalidLabels(
            f"{owner}: y must be an array, a sparse matrix or a data frame, but {type(y).__name__} "
            "was given; labels stay in memory, also if X is in files."
        )
    labels = _kept_sparse(y, n_rows, owner) if kept else None
    if labels is not None:
        return labels
    if sparse_table(y):
        _refuse_size(y.shape, owner)
    array = _as_array(y, owner)
    if array.ndim == 0 or array.shape[0] != n_rows:
        found = "a scalar" if array.ndim == 0 else f"{array.shape[0]} rows"
        raise InvalidLabels(
            f"{owner}: y must have one row for each row of X; X has {n_rows} rows, y has {found}."
        )
    _refuse_type(array, owner)
    if array.dtype == np.float16:
        # The largest float16 is 65504; sums over larger batches overflow.
        array = array.astype(np.float32)
    if array.ndim == 2 and array.shape[1] == 0:
        raise InvalidLabels(f"{owner}: y has no columns; give at least one label.")
    if array.ndim == 1 or array.shape[1] == 1:
        vector = array.reshape(-1)
        labels = _from_vector(vector, owner, targets, _minus_one_is_class(vector, part, classes))
    else:
        labels = _from_matrix(array, owner, part, targets)
        if names is not None:
            labels = replace(labels, names=names, named=True)
    if not part and not labels.labelled.any():
        raise InvalidLabels(
            f"{owner}: every label in y is unknown; label some rows, or use LSI, which needs none."
        )
    return labels


def indicator_on_device(y: Any, X: Operator, owner: str) -> Labels | None:
    """Use 0 and 1, all known, as labels on the device of X; else return None.

    A tensor, or an array if X is on a device, is moved there
    without a change of type.
    """
    if X.device is not None and type(y) is np.ndarray and str(y.dtype) in _TORCH_TYPES:
        y = placed(y, X.device)
    if not is_tensor(y) or y.ndim != 2 or y.shape[1] < 2 or not bool(((y == 0) | (y == 1)).all()):
        return None
    if y.shape[0] != X.shape[0]:
        raise InvalidLabels(
            f"{owner}: y must have one row for each row of X; X has {X.shape[0]} rows, "
            f"y has {y.shape[0]} rows."
        )
    return Labels(X.place(y), None, np.arange(y.shape[1]), "indicator")


def _kept_sparse(y: Any, n_rows: int, owner: str) -> Labels | None:
    """Read a large sparse matrix as it is; return None if it must or can be dense."""
    if not sparse_table(y) or y.shape[1] < 2:
        return None
    if y.shape[0] * y.shape[1] <= DENSE_ENTRIES or y.shape[0] != n_rows:
        return None
    values: Any = cast(Sparse, as_operator(y)).in_type(np.float64).csr
    entries = values.data
    _refuse_infinite(entries, owner)
    indicator = bool(np.isin(entries, (-1.0, 0.0, 1.0)).all())
    if np.isnan(entries).any() or (indicator and (entries == -1).any()):
        return None
    if not values.nnz:
        raise InvalidLabels(f"{owner}: no row of y has a label; label some rows.")
    return Labels(values, None, np.arange(values.shape[1]), "indicator" if indicator else "targets")


def _as_array(y: Any, owner: str) -> Array:
    try:
        return dense_block(y, "y")
    except InvalidInput:
        raise
    except ValueError:
        raise _lists(owner) from None


def _from_lists(y: Any, owner: str) -> tuple[Any, Array] | None:
    """Read a Series, or a vector of objects, with a list of labels per row; None for others.

    The label names are the columns; a missing entry is a row without known labels.
    """
    if getattr(y, "ndim", 0) != 1 or getattr(getattr(y, "dtype", None), "kind", "") != "O":
        return None
    kinds = (list, tuple, set, frozenset, np.ndarray)
    rows = list(y)
    if not any(isinstance(one, kinds) for one in rows):
        return None
    known = [isinstance(one, kinds) for one in rows]
    lists = [sorted(set(one)) if there else [] for one, there in zip(rows, known, strict=True)]
    names = np.array(sorted({label for own in lists for label in own}))
    _refuse_size((len(rows), len(names)), owner)
    block = np.zeros((len(rows), len(names)))
    numbers = np.repeat(np.arange(len(rows)), [len(own) for own in lists])
    block[numbers, np.searchsorted(names, [label for own in lists for label in own])] = 1.0
    block[~np.array(known)] = np.nan
    return block, names


def _refuse_size(shape: tuple[int, int], owner: str) -> None:
    """Raise an error if labels would not fit into memory as an array."""
    # The block, its unknown entries, and a centred copy.
    refuse_too_large(
        owner,
        24.0 * shape[0] * shape[1],
        f"y with {shape[0]} rows and {shape[1]} labels as a dense array",
        "give MLSI, OPLS or HSL with solver='auto' a sparse matrix, or keep fewer labels",
    )


def _minus_one_is_class(vector: Array, part: bool, classes: Array | None) -> bool:
    """Return whether -1 is a class: it was one in the fit, or the only other value is 1."""
    if classes is not None:
        return classes.dtype.kind in "iu" and bool((classes == -1).any())
    if part or not (
        vector.dtype.kind in "if" or (vector.dtype.kind == "O" and _all_numbers(vector))
    ):
        return False
    numbers = vector.astype(np.float64)
    return bool(np.unique(numbers[~np.isnan(numbers)]).tolist() == [-1.0, 1.0])


def _from_vector(vector: Array, owner: str, targets: bool, minus_one: bool) -> Labels:
    if targets or vector.dtype.kind == "f" or (vector.dtype.kind == "O" and _all_numbers(vector)):
        numbers = vector.astype(np.float64)
        _refuse_infinite(numbers, owner)
        known = np.isfinite(numbers)
        if targets or (numbers[known] % 1 != 0).any():
            values = np.where(known, numbers, 0.0)[:, None]
            return Labels(values, _mask(~known[:, None]), np.array(["target"]), "targets")
        known &= (numbers != -1) | minus_one
    elif vector.dtype.kind in "mM":
        known = ~np.isnat(vector)
    elif vector.dtype.kind == "O":
        if any(isinstance(item, (list, tuple, set, frozenset, np.ndarray)) for item in vector):
            raise _lists(owner)
        known = np.array([item is not None and item == item for item in vector])  # noqa: PLR0124
    elif vector.dtype.kind in "iu":
        known = (vector != -1) | minus_one
    else:
        known = np.ones(vector.shape, dtype=bool)
    _warn_if_targets(vector[known], owner)
    try:
        names, codes = np.unique(vector[known], return_inverse=True)
    except TypeError:
        raise InvalidLabels(
            f"{owner}: y mixes classes that cannot be sorted together, such as numbers and "
            "strings; convert them to one type."
        ) from None
    if names.dtype.kind == "f" and np.abs(names).max(initial=0.0) < 2.0**63:
        names = names.astype(np.int64)
    values = np.zeros((vector.size, max(1, names.size)))
    values[np.flatnonzero(known), codes] = 1.0
    unknown = None if known.all() else np.repeat(~known[:, None], values.shape[1], axis=1)
    return Labels(values, unknown, names, "classes")


def _from_matrix(array: Array, owner: str, part: bool, targets: bool) -> Labels:
    names = np.arange(array.shape[1])
    if array.dtype.kind in "bu" or (array.dtype.kind == "i" and array.min(initial=0) >= 0):
        # Whole numbers that are neither missing nor unknown.
        numbers = contiguous(array, np.float64)
        if targets or array.max(initial=0) > 1:
            return Labels(numbers, None, names, "targets")
        return Labels(numbers, None, names, "indicator")
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidLabels(
            f"{owner}: y with several columns must contain numbers, but has type {array.dtype}; "
            "scikit-learn's MultiLabelBinarizer makes an indicator from lists of names."
        ) from None
    parts = row_parts(numbers.shape[0], numbers.shape[1])
    if all(map_threads(lambda rows: _zeros_and_ones(numbers[rows]), parts)):
        # The usual case, without copies.
        return Labels(numbers, None, names, "targets" if targets else "indicator")
    _refuse_infinite(numbers, owner)
    missing, minus = np.isnan(numbers), numbers == -1
    if targets or not _zeros_and_ones(numbers[~(missing | minus)]):
        return Labels(np.where(missing, 0.0, numbers), _mask(missing), names, "targets")
    if not part and minus.any() and (numbers == 1).any() and not (numbers == 0).any():
        raise InvalidLabels(
            f"{owner}: y contains only -1 and 1, but -1 means unknown here; write 0 for 'no'."
        )
    unknown = missing | minus
    return Labels(np.where(unknown, 0.0, numbers), _mask(unknown), names, "indicator")


def _zeros_and_ones(numbers: Array) -> bool:
    return bool(((numbers == 0) | (numbers == 1)).all())


def _warn_if_targets(vector: Array, owner: str) -> None:
    """Warn about floats that are whole numbers, have many values and few rows per value.

    Class numbers are integers, or floats that count from 0 or 1: these do not warn.
    """
    if vector.dtype.kind != "f" and not any(isinstance(item, float) for item in vector[:1]):
        return
    values = np.unique(vector.astype(np.float64))
    if values.size <= _FEW_CLASSES or vector.size >= _ROWS_PER_CLASS * values.size:
        return
    if values[0] in (0.0, 1.0) and values[-1] - values[0] == values.size - 1:
        return
    warn_caller(
        f"{owner}: y has floats that are whole numbers, with {values.size} different values in "
        f"{vector.size} rows, and was read as {values.size} classes. If they are a quantity to "
        "predict, pass (y - y.mean()) / y.std(); if they are classes, pass y.astype(int).",
        AmbiguousLabels,
    )


def _lists(owner: str) -> InvalidLabels:
    return InvalidLabels(
        f"{owner}: y contains lists of labels; "
        "scikit-learn's MultiLabelBinarizer converts them to an indicator."
    )


def _mask(unknown: Array) -> Array | None:
    return unknown if unknown.any() else None


def _all_numbers(vector: Array) -> bool:
    return all(item is None or isinstance(item, (int, float, np.number)) for item in vector)


def _refuse_type(array: Array, owner: str) -> None:
    if array.dtype.kind == "c":
        raise InvalidLabels(f"{owner}: complex data not supported in y.")
    if array.dtype.kind == "V":
        raise InvalidLabels(
            f"{owner}: y is a structured array with the fields {array.dtype.names}; pass an array "
            "or a data frame with one column per label."
        )


def _refuse_infinite(numbers: Array, owner: str) -> None:
    if np.isinf(numbers).any():
        raise InvalidLabels(f"{owner}: y contains infinity; labels and targets must be finite.")
