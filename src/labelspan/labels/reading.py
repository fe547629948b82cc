"""Reading labels: class vectors, indicators and real targets, with unknown entries.

``fit`` decides how y is read; every later method reads with that decision (:class:`Reading`), or
raises. Conventions of the decision:

- A vector, or a single column, is *classes* and becomes one-hot; -1, NaN and None mean
  unknown, as in scikit-learn's semi-supervised classifiers. If -1 and 1 are the only values,
  they are two classes, as in its other classifiers, and NaN or None mean unknown. Classes keep
  their type. A vector of floats with fractions is one real *target*.
- A list, a Series or a vector of lists of labels is an *indicator* with a column for each label; a
  missing entry is an unlabelled row.
- Two dimensions of 0 and 1 are a multi-label *indicator*. -1 or NaN marks an unknown
  entry.
- Two dimensions of any other numbers are real *targets*; only NaN is unknown.

A row whose entries are all unknown is an unlabelled row. A row of zeros is not: it is
known to have none of the labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

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

__all__ = ["Kind", "Labels", "Reading", "indicator_on_device", "read_labels"]

Kind = Literal["classes", "indicator", "targets"]

# Floats with more values than this, and fewer rows per value, are probably a regression target.
_FEW_CLASSES = 20
_ROWS_PER_CLASS = 50
# A sparse indicator with at most this many entries is made dense: 256 MiB.
DENSE_ENTRIES = 1 << 25
# Numpy types that torch also has.
_TORCH_TYPES = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"})


class Reading(NamedTuple):
    """How the y of a fit was read: what later methods need to read another one in the same way.

    Attributes
    ----------
    kind : {"classes", "indicator", "targets"}
        Kind of the labels.
    names : array of shape (k,)
        Classes in their own type, or the names of the columns.
    ndim : int
        Number of dimensions of y: 1 for a vector.
    before : str
        Where it was read, for error messages.
    """

    kind: Kind
    names: Array
    ndim: int
    before: str = "fit"


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
    ndim : int
        Number of dimensions of y: 1 for a vector, 2 for a column or columns.

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
    ndim: int = 2

    @cached_property
    def operator(self) -> Operator:
        """The values as an operator."""
        return as_operator(self.values)

    @property
    def sparse(self) -> bool:
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
    keep_sparse: bool = False,
    semi_supervised: bool = False,
    like: Reading | None = None,
    new_classes: bool = False,
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
    keep_sparse : bool, default=False
        Whether a sparse matrix without unknown entries and with more than 33 million entries,
        including zeros, stays sparse.
    semi_supervised : bool, default=False
        Whether rows without a class are expected: -1 then means unknown without a warning.
    like : Reading or None, default=None
        How the labels of a fit were read. These are read in the same way, in the same columns.
    new_classes : bool, default=False
        With ``like``: whether there may be labels that the fit did not have, which are left out.

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
    if isinstance(y, Operator):
        raise InvalidLabels(
            f"{owner}: y must be an array, a sparse matrix or a data frame, but {type(y).__name__} "
            "was given; labels stay in memory, also if X is in files."
        )
    lists = _label_lists(y)
    if lists is not None:
        _refuse_other_length(len(lists), n_rows, owner)
        labels = _from_lists(lists, owner, like, new_classes=new_classes)
    else:
        kept = _kept_sparse(y, n_rows, owner) if keep_sparse else None
        if kept is not None:
            return kept if like is None else _as_before(kept, like, owner)
        array = _checked_array(y, n_rows, owner)
        if like is not None:
            labels = _read_again(array, column_names(y), like, owner, new_classes=new_classes)
        elif array.ndim == 1 or array.shape[1] == 1:
            labels = _from_vector(array.reshape(-1), owner, warn=not semi_supervised)
            labels = replace(labels, ndim=array.ndim)
        else:
            labels = _from_matrix(array, column_names(y), owner, part)
    if not part and not labels.labelled.any():
        raise InvalidLabels(
            f"{owner}: every label in y is unknown; label some rows, or use LSI, which needs none."
        )
    return labels


def _checked_array(y: Any, n_rows: int, owner: str) -> Array:
    """Return y as an array of one or two dimensions, with a row for each row of X."""
    if sparse_table(y):
        _refuse_size(y.shape, owner)
    array = _as_array(y, owner)
    _refuse_other_length(array.shape[0] if array.ndim else None, n_rows, owner)
    _refuse_type(array, owner)
    if array.ndim == 2 and array.shape[1] == 0:
        raise InvalidLabels(f"{owner}: y has no columns; give at least one label.")
    # The largest float16 is 65504; sums over larger batches overflow.
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _refuse_other_length(rows: int | None, n_rows: int, owner: str) -> None:
    if rows != n_rows:
        found = "a scalar" if rows is None else f"{rows} rows"
        raise InvalidLabels(
            f"{owner}: y must have one row for each row of X; X has {n_rows} rows, y has {found}."
        )


# --- y of later methods -------------------------------------------------------------------


def _read_again(
    array: Array, names: Array | None, like: Reading, owner: str, *, new_classes: bool
) -> Labels:
    """Read y as that of the fit was read; nothing is decided by its own values."""
    columns = 1 if array.ndim == 1 else array.shape[1]
    if columns != (1 if like.kind == "classes" else like.names.size):
        if like.kind == "classes":
            raise InvalidLabels(
                f"{owner}: y must be a vector of classes as in {like.before}, but has {columns} "
                "columns."
            )
        raise InvalidLabels(
            f"{owner}: y must have {like.names.size} columns as in {like.before}, "
            f"but has {columns}."
        )
    if like.kind == "classes":
        labels = _classes_again(array.reshape(-1), like, owner, new_classes=new_classes)
    elif like.kind == "targets":
        numbers, missing = _numbers(array.reshape(len(array), columns), owner)
        values = np.where(missing, 0.0, numbers)
        labels = Labels(values, _mask(missing), like.names, "targets")
    else:
        labels = _indicator_again(array.reshape(len(array), columns), like, owner)
    if names is not None and like.kind != "classes":
        labels = replace(labels, names=names, named=True).in_columns(like.names, owner)
    return replace(labels, names=like.names, ndim=like.ndim)


def _classes_again(vector: Array, like: Reading, owner: str, *, new_classes: bool) -> Labels:
    known, items = _known_items(vector, owner)
    names = like.names
    if items.dtype.kind in "iuf" and not (names == -1).any():
        labelled = items != -1
        known[np.flatnonzero(known)[~labelled]], items = False, items[labelled]
    if items.dtype.kind in "mM" and names.dtype.kind == items.dtype.kind:
        items = items.astype(names.dtype)
    own, codes = _distinct(items, owner)
    if own.size and _is_text(own) != _is_text(names):
        raise InvalidLabels(
            f"{owner}: y holds {'text' if _is_text(own) else 'numbers'}, but the classes of "
            f"{like.before} are {'text' if _is_text(names) else 'numbers'}."
        )
    # Python compares numbers of any type, and whole ones of any size, exactly.
    column_of = {name: column for column, name in enumerate(names.tolist())}
    columns = np.array([column_of.get(name, -1) for name in own.tolist()], dtype=np.intp)
    new = columns < 0
    if new.any() and not new_classes:
        raise InvalidLabels(
            f"{owner}: y has classes that {like.before} did not have: {own[new]}; "
            "give all of them to fit, or as classes= in the first partial_fit."
        )
    values = np.zeros((vector.size, names.size))
    rows, places = np.flatnonzero(known), columns[codes]
    values[rows[places >= 0], places[places >= 0]] = 1.0
    return Labels(values, _rows_mask(~known, names.size), names, "classes")


def _indicator_again(array: Array, like: Reading, owner: str) -> Labels:
    numbers, missing = _numbers(array, owner)
    unknown = missing | (numbers == -1)
    values = np.where(unknown, 0.0, numbers)
    if not _zeros_and_ones(values):
        raise InvalidLabels(
            f"{owner}: y was read as a 0/1 indicator in {like.before}, but has other numbers now; "
            "write 1 for yes, 0 for no, and -1 or NaN for unknown."
        )
    return Labels(values, _mask(unknown), like.names, "indicator")


def _as_before(labels: Labels, like: Reading, owner: str) -> Labels:
    """Check that sparse labels have the columns and the kind of those of the fit."""
    if labels.names.size != like.names.size or like.kind == "classes":
        raise InvalidLabels(
            f"{owner}: y must have {like.names.size} columns as in {like.before}, "
            f"but has {labels.names.size}."
        )
    if like.kind == "indicator" and labels.kind != "indicator":
        raise InvalidLabels(
            f"{owner}: y was read as a 0/1 indicator in {like.before}, but has other numbers now."
        )
    return replace(labels, names=like.names, kind=like.kind)


def _is_text(names: Array) -> bool:
    return names.dtype.kind in "US" or (
        names.dtype.kind == "O" and all(isinstance(name, str | bytes) for name in names)
    )


# --- y of a fit ---------------------------------------------------------------------------


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
    return Labels(X.to_device(y), None, np.arange(y.shape[1]), "indicator")


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


def _label_lists(y: Any) -> list[Any] | None:
    """Return the rows of a list, a Series or a vector with a list of labels per row, else None."""
    kinds = (list, tuple, set, frozenset, np.ndarray)
    if isinstance(y, list | tuple):
        # A list of lists of numbers is a table.
        named = (
            isinstance(row, set | frozenset)
            or (isinstance(row, list | tuple) and any(isinstance(one, str) for one in row))
            for row in y
        )
        return list(y) if any(named) else None
    if getattr(y, "ndim", 0) != 1 or getattr(getattr(y, "dtype", None), "kind", "") != "O":
        return None
    rows = list(y)
    return rows if any(isinstance(row, kinds) for row in rows) else None


def _from_lists(rows: list[Any], owner: str, like: Reading | None, *, new_classes: bool) -> Labels:
    """Read a list of labels per row as an indicator; a missing entry is a row without any known."""
    kinds = (list, tuple, set, frozenset, np.ndarray)
    known = np.array([isinstance(row, kinds) for row in rows])
    lists = [sorted(set(row)) if there else [] for row, there in zip(rows, known, strict=True)]
    every = sorted({label for own in lists for label in own})
    if like is None:
        names = np.array(every)
    elif like.kind != "indicator":
        raise InvalidLabels(
            f"{owner}: y has lists of labels, but {like.before} had {like.kind}; "
            "give the same form."
        )
    else:
        names = like.names
    column_of = {name: column for column, name in enumerate(names.tolist())}
    new = [label for label in every if label not in column_of]
    if new and not new_classes:
        assert like is not None
        raise InvalidLabels(
            f"{owner}: y has labels that {like.before} did not have: {new}; "
            "give all of them to fit, or as classes= in the first partial_fit."
        )
    _refuse_size((len(rows), names.size), owner)
    values = np.zeros((len(rows), names.size))
    pairs = [(n, column_of[one]) for n, own in enumerate(lists) for one in own if one in column_of]
    if pairs:
        values[tuple(np.transpose(pairs))] = 1.0
    return Labels(values, _rows_mask(~known, names.size), names, "indicator")


def _refuse_size(shape: tuple[int, int], owner: str) -> None:
    """Raise an error if labels would not fit into memory as an array."""
    # The block, its unknown entries, and a centred copy.
    refuse_too_large(
        owner,
        24.0 * shape[0] * shape[1],
        f"y with {shape[0]} rows and {shape[1]} labels as a dense array",
        "give MLSI, OPLS or HSL with solver='auto' a sparse matrix, or keep fewer labels",
    )


def _known_items(vector: Array, owner: str) -> tuple[Array, Array]:
    """Return which entries of a vector are not missing, and these in a type of their own."""
    if vector.dtype.kind == "O":
        if any(isinstance(item, list | tuple | set | frozenset | np.ndarray) for item in vector):
            raise _lists(owner)
        known = np.array([item is not None and item == item for item in vector], dtype=bool)  # noqa: PLR0124
        items = vector[known]
        if all(isinstance(item, int | float | np.number) for item in items):
            items = np.array(items.tolist())
    else:
        missing = {"f": np.isnan, "m": np.isnat, "M": np.isnat}.get(vector.dtype.kind)
        known = np.ones(vector.shape, dtype=bool) if missing is None else ~missing(vector)
        items = vector[known]
    if items.dtype.kind == "f":
        _refuse_infinite(items, owner)
    return known, items


def _distinct(items: Array, owner: str) -> tuple[Array, Array]:
    """Return the distinct items, sorted, and the place of each item among them."""
    try:
        names, codes = np.unique(items, return_inverse=True)
    except TypeError:
        raise InvalidLabels(
            f"{owner}: y mixes classes that cannot be sorted together, such as numbers and "
            "strings; convert them to one type."
        ) from None
    return names, codes


def _from_vector(vector: Array, owner: str, *, warn: bool) -> Labels:
    known, items = _known_items(vector, owner)
    if items.dtype.kind == "f" and (items % 1 != 0).any():
        values = np.zeros((vector.size, 1))
        values[known, 0] = items
        return Labels(values, _mask(~known[:, None]), np.array(["target"]), "targets")
    names, codes = _distinct(items, owner)
    if names.dtype.kind in "if" and (names == -1).any() and names.tolist() != [-1, 1]:
        unknown = items == -1
        if warn:
            _warn_if_class(names, int(unknown.sum()), vector.size, owner)
        known[np.flatnonzero(known)[unknown]], items = False, items[~unknown]
        names, codes = _distinct(items, owner)
    _warn_if_targets(items, owner)
    values = np.zeros((vector.size, max(1, names.size)))
    values[np.flatnonzero(known), codes] = 1.0
    return Labels(values, _rows_mask(~known, values.shape[1]), names, "classes")


def _numbers(array: Array, owner: str) -> tuple[Array, Array]:
    """Return finite numbers in float64, and which of them are missing."""
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidLabels(
            f"{owner}: y with several columns must contain numbers, but has type {array.dtype}; "
            "scikit-learn's MultiLabelBinarizer makes an indicator from lists of names."
        ) from None
    _refuse_infinite(numbers, owner)
    return numbers, np.isnan(numbers)


def _from_matrix(array: Array, columns: Array | None, owner: str, part: bool) -> Labels:
    names = np.arange(array.shape[1]) if columns is None else columns
    named = columns is not None
    if array.dtype.kind in "bu" or (array.dtype.kind == "i" and array.min(initial=0) >= 0):
        # Whole numbers that are neither missing nor unknown.
        kind: Kind = "targets" if array.max(initial=0) > 1 else "indicator"
        return Labels(contiguous(array, np.float64), None, names, kind, named)
    if array.dtype.kind == "f":
        numbers = array.astype(np.float64)
        parts = row_parts(numbers.shape[0], numbers.shape[1])
        if all(map_threads(lambda rows: _zeros_and_ones(numbers[rows]), parts)):
            # The usual case, without more copies.
            return Labels(numbers, None, names, "indicator", named)
    numbers, missing = _numbers(array, owner)
    minus = numbers == -1
    if not _zeros_and_ones(numbers[~(missing | minus)]):
        return Labels(np.where(missing, 0.0, numbers), _mask(missing), names, "targets", named)
    if not part and minus.any() and (numbers == 1).any() and not (numbers == 0).any():
        raise InvalidLabels(
            f"{owner}: y contains only -1 and 1, but -1 means unknown here; write 0 for 'no'."
        )
    unknown = missing | minus
    return Labels(np.where(unknown, 0.0, numbers), _mask(unknown), names, "indicator", named)


def _warn_if_class(names: Array, count: int, rows: int, owner: str) -> None:
    """Warn that -1 was read as unknown, where it may be a class: -1, 0, 1, or other negatives."""
    if names.tolist() == [-1, 0, 1] or (names < -1).any():
        warn_caller(
            f"{owner}: y has the values {names[:5].tolist()}{'...' * (names.size > 5)}, and -1 was "
            f"read as unknown, in {count} of {rows} rows, as in scikit-learn's semi-supervised "
            "classifiers. If it is a class, give names or other numbers; if it is not, NaN or "
            "None says the same without this warning.",
            AmbiguousLabels,
        )


def _zeros_and_ones(numbers: Array) -> bool:
    return bool(((numbers == 0) | (numbers == 1)).all())


def _warn_if_targets(vector: Array, owner: str) -> None:
    """Warn about floats that are whole numbers, have many values and few rows per value.

    Class numbers are integers, or floats that count from 0 or 1: these do not warn.
    """
    if vector.dtype.kind != "f":
        return
    values = np.unique(vector)
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


def _rows_mask(unknown: Array, columns: int) -> Array | None:
    return np.repeat(unknown[:, None], columns, axis=1) if unknown.any() else None


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
