"""``partial_fit``, ``merge`` and ``solve``: learning in batches, from sufficient statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from threading import Lock, RLock
from types import MethodType
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, Mismatch, NotConverged, NotStreaming, warn_caller
from ..labels import Labels, read_labels
from ..labels.reading import DENSE_ENTRIES, Kind, Reading
from ..operators import Operator, as_operator
from ..operators.convert import sparse_table
from ..solvers.limits import DIRECT_LIMIT
from ..solvers.statistics import Statistics
from .row_sample import RowSample
from .solving import seed_of

__all__ = [
    "Stream",
    "add_batch",
    "join_streams",
    "labels_as_fitted",
    "rows_of",
    "solve_stream",
    "when_streaming",
    "why_no_stream",
]

F = TypeVar("F", bound=Callable[..., Any])

# How many times shorter than the penalty a direction lost in sums of products must be.
_MARGIN = 1e4

_guard = Lock()
_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def one_at_a_time(method: F) -> F:
    """Run a method under the lock of its estimator: batches are added one after another."""

    @wraps(method)
    def locked(self: Any, *args: Any, **options: Any) -> Any:
        with _guard:
            lock = _locks.setdefault(self, RLock())
        with lock:
            return method(self, *args, **options)

    return cast(F, locked)


@dataclass(frozen=True, eq=False)
class Stream:
    """State of a stream: statistics of the batches so far, and how labels and features were read.

    A stream is immutable; adding a batch returns a new one.
    """

    names: Array
    kind: Kind | None
    ndim: int
    dtype: Any
    # Whether an R factor is stored instead of products.
    exact: bool
    labelled: Statistics | None = None
    unlabelled: Statistics | None = None
    batches: int = 0
    # Random rows, on which parameters are chosen.
    sample: RowSample | None = None
    # Labels that are summed are known.
    unknown: None = None
    # Why there is no solution yet; None if there is one.
    unsolved: str | None = "it was not solved; call solve()"

    @property
    def reading(self) -> Reading | None:
        """How the labels of the first batch were read; None without labels."""
        if self.kind is None:
            return None
        return Reading(self.kind, self.names, self.ndim, before="the first batch")

    @property
    def n(self) -> int:
        """The number of rows."""
        return sum(part.n for part in (self.labelled, self.unlabelled) if part is not None)

    def extended(self, more: Stream) -> Stream:
        """Return the stream extended by the rows of another one."""
        return replace(
            self,
            labelled=_joined(self.labelled, more.labelled),
            unlabelled=_joined(self.unlabelled, more.unlabelled),
            batches=self.batches + more.batches,
            sample=_joined(self.sample, more.sample),
            unsolved="it was not solved; call solve()",
        )

    def seen(self, owner: str) -> Statistics:
        """Return the statistics of labelled rows; raise an error if there are none."""
        if self.labelled is None:
            raise InvalidLabels(
                f"{owner}: partial_fit has not received any labelled rows; pass some."
            )
        return self.labelled

    def refuse_unless_solved(self, owner: str) -> None:
        """Raise an error if the stream has no solution."""
        if self.unsolved is not None:
            raise InvalidInput(
                f"{owner}: there is no embedding yet after {self.batches} batch(es), because "
                f"{self.unsolved}."
            )


class when_streaming:  # noqa: N801 - it is used as a decorator
    """A method that exists only if the parameters allow streaming, one call at a time.

    scikit-learn asks ``hasattr(model, "partial_fit")``; the error gives the reason.
    """

    def __init__(self, function: Any) -> None:
        self._function = one_at_a_time(function)
        self.__doc__ = function.__doc__

    def __get__(self, model: Any, kind: Any = None) -> Any:
        if model is None:
            return self._function
        reason = model._why_no_stream()
        if reason is not None:
            raise NotStreaming(reason)
        return MethodType(self._function, model)


def why_no_stream(model: Any) -> str | None:
    """Return why the solver needs all rows at once; None if it does not."""
    owner = type(model).__name__
    if model.solver not in ("auto", "exact"):
        return (
            f"{owner}: partial_fit solves from sufficient statistics and does not support "
            f"solver={model.solver!r}; use solver='auto' or 'exact'."
        )
    return None


# --- batches ------------------------------------------------------------------------------


def add_batch(model: Any, X: Any, y: Any, classes: Any) -> None:
    """Add a batch to the stream of an estimator."""
    stream: Stream | None = vars(model).get("_stream")
    try:
        model._check_params()
        operator = as_operator(model._validate(X, reset=stream is None))
        columns = operator.shape[1]
        if columns > DIRECT_LIMIT:
            raise InvalidInput(
                f"{type(model).__name__}: partial_fit keeps a {columns} x {columns} array, above "
                f"the limit of {DIRECT_LIMIT} columns; use fit, which takes sparse data of any "
                "width, or reduce the columns first."
            )
        before = _opened(model, operator, y, classes) if stream is None else stream
        after = before.extended(_batch(model, operator, y, before))
    except ValueError as error:
        if stream is None:
            raise
        message = str(error).partition("\n")[0]
        kind = type(error) if isinstance(error, InvalidInput) else InvalidInput
        raise kind(
            f"{type(model).__name__}: batch {stream.batches + 1} is not taken, and earlier "
            f"batches are unchanged: {message}"
        ) from error
    model._forget()
    model._stream = after


def _opened(model: Any, operator: Operator, y: Any, classes: Any) -> Stream:
    """Start an empty stream; ``y`` are the labels of the first batch."""
    exact = getattr(model, "alpha", None) == 0 or model._exact_stream
    if not model.__sklearn_tags__().target_tags.required:
        return Stream(np.zeros(0), None, 1, operator.dtype, exact)
    names = None if classes is None else np.asarray(classes)
    labels: Labels = model._read_labels(y, operator.shape[0], part=True)
    if names is None:
        names = labels.names
    elif labels.kind == "classes":
        names = np.unique(names)
    elif names.size != labels.names.size:
        raise InvalidLabels(
            f"{type(model).__name__}: classes names {names.size} labels, "
            f"but y has {labels.names.size} columns."
        )
    return Stream(names, labels.kind, labels.ndim, operator.dtype, exact)


def _batch(model: Any, X: Operator, y: Any, stream: Stream) -> Stream:
    """Return a stream of one batch."""

    def summed(rows: Operator, block: Array) -> Statistics | None:
        return Statistics.of(rows, block, exact=stream.exact) if rows.shape[0] else None

    one = replace(stream, labelled=None, unlabelled=None, batches=1, sample=None)
    if stream.kind is None:
        return replace(one, labelled=summed(X, np.zeros((X.shape[0], 0))))
    labels = model._read_labels(y, X.shape[0], part=True, like=stream.reading)
    owner = type(model).__name__
    if labels.unknown is not None and labels.unknown[labels.labelled].any():
        raise InvalidLabels(
            f"{owner}: partial_fit takes rows whose labels are all known or all unknown, but y "
            "has rows with single unknown entries; use fit, or mark whole rows as unknown."
        )
    one = replace(one, sample=RowSample.of(X, labels, start=stream.n, seed=seed_of(model)))
    if labels.labelled.all():
        return replace(one, labelled=summed(X, model._stream_block(labels)))
    index, rest = np.flatnonzero(labels.labelled), X.rows(np.flatnonzero(~labels.labelled))
    return replace(
        one,
        labelled=summed(X.rows(index), model._stream_block(labels.rows(index))),
        unlabelled=summed(rest, np.zeros((rest.shape[0], 0))),
    )


def labels_as_fitted(model: Any, y: Any, n_rows: int, *, new_classes: bool = False) -> Labels:
    """Read labels of some rows as those of the fit were read; sparse if there are very many.

    With ``new_classes``, rows may have labels that the fit did not have, which are left out.
    """
    large = sparse_table(y) and y.shape[0] * y.shape[1] > DENSE_ENTRIES and y.nnz > 0
    return read_labels(
        y,
        n_rows,
        type(model).__name__,
        part=not large,
        keep_sparse=large,
        like=Reading(model.label_kind_, model.classes_, model.label_ndim_),
        new_classes=new_classes,
    )


# --- solutions ----------------------------------------------------------------------------


def solve_stream(model: Any, *, needed: bool = True) -> None:
    """Solve the stream of an estimator with its current parameters.

    If there are too few rows, the stream stores the reason; with ``needed`` this raises an error.
    """
    stream: Stream | None = vars(model).get("_stream")
    owner = type(model).__name__
    if stream is None:
        raise InvalidInput(f"{owner}: there is no batch to solve; call partial_fit first.")
    model._check_params()
    try:
        if stream.n < 2:
            raise InvalidInput(
                f"{owner}: partial_fit has received fewer than two rows to learn from."
            )
        model._fit_stream(stream)
        model._stream = replace(stream, unsolved=None)
    except InvalidInput as error:
        if needed:
            raise
        reason = str(error).rstrip(".")
        model._forget()
        model._stream = replace(stream, unsolved=f"partial_fit says: {reason}")


def rows_of(model: Any, statistics: Statistics, dtype: Any) -> tuple[Operator, Array]:
    """Return a few rows of X and of the label block with the same products as all rows.

    Warn if a direction was lost, or may be rounding, and the given alpha is too small to
    compensate for it.
    """
    rows = statistics.rows(center=model.center, dtype=dtype, one_unit=model._one_unit)
    alpha = getattr(model, "alpha", "auto")
    problem = None
    if alpha == 0 and rows.unsure:
        problem = (
            f"columns of X depend on each other, up to the rounding of {np.dtype(dtype)}, so that "
            "the number of independent directions is not certain; the answer may differ from "
            "that of fit. Remove a column, or raise alpha."
        )
    elif alpha != "auto" and rows.lost > 0:
        square = float(np.square(rows.X).sum(axis=0).max(initial=0.0))
        if float(alpha) < _MARGIN * rows.lost * square:
            problem = (
                "columns of X depend on each other, up to the rounding of sums of products, and "
                f"alpha={alpha} is too small to make up for it; the answer may be wrong. Start "
                "again with alpha=0, which keeps more digits, raise alpha, or use fit."
            )
    if problem is not None:
        warn_caller(f"{type(model).__name__}: {problem}", NotConverged)
    return as_operator(rows.X), rows.block


def join_streams(model: Any, other: Any) -> None:
    """Add the batches of another model to the stream of an estimator."""
    owner = type(model).__name__
    for one in (model, other):
        if type(one) is not type(model) or "_stream" not in vars(one):
            raise InvalidInput(
                f"{owner}: merge joins two models that partial_fit was called on, "
                f"but {one!r} is not one."
            )
    if repr(model.get_params(deep=False)) != repr(other.get_params(deep=False)):
        raise Mismatch(f"{owner}: merge needs two models with the same parameters.")
    mine: Stream = vars(model)["_stream"]
    theirs: Stream = vars(other)["_stream"]
    if not np.array_equal(mine.names, theirs.names) or mine.kind != theirs.kind:
        raise InvalidLabels(
            f"{owner}: merge needs the same labels in the same order; give both models "
            "the same classes= in their first partial_fit, and labels of the same kind."
        )
    if mine.exact != theirs.exact:
        raise Mismatch(
            f"{owner}: merge needs two models that began with alpha=0, or two that did not."
        )
    columns, others = (vars(one)["n_features_in_"] for one in (model, other))
    named, foreign = (vars(one).get("feature_names_in_") for one in (model, other))
    both = named is not None and foreign is not None
    if columns != others or (both and not np.array_equal(named, foreign)):
        raise InvalidInput(
            f"{owner}: merge needs the same features in the same order, but one model has "
            f"{columns} columns, the other {others}, or columns with other names."
        )
    model._forget()
    model._stream = mine.extended(theirs)


def _joined(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return one.join(other)
