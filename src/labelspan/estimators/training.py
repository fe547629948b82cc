"""Rows and labels of a fit, and how its attributes are published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, LabelspanWarning, warn_caller
from ..labels import Labels
from ..labels.reading import indicator_on_device
from ..operators import Operator, as_operator
from ..operators.array_backend import (
    column_norms,
    contiguous,
    largest_entries,
    on_host,
    placed,
)
from ..operators.compositions import without_rounding
from ..solvers.decomposition import Decomposition
from ._streams import (
    Stream,
    rows_of,
)
from .solving import threads_for

__all__ = [
    "FITTED_WITH",
    "TrainingRows",
    "all_or_nothing",
    "centre",
    "centred_labels",
    "feature_rows",
    "few_threads",
    "fitting",
    "fixed_signs",
    "refuse_large_squares",
    "refuse_overflow",
    "squared_norm",
    "stream_rows",
    "training_rows",
    "warn_of_large_means",
]

# An error of this fraction of the length of an axis is warned about; and the number of rows that
# are looked at first.
_VISIBLE, _FEW_ROWS = 1e-5, 16

# Attribute of the parameters of the last fit.
FITTED_WITH = "_fitted_with"

F = TypeVar("F", bound=Callable[..., Any])


def all_or_nothing(method: F) -> F:
    """Run a method on a copy of its estimator, and publish the attributes in one assignment.

    A reader in another thread sees the old fit or the new one, never a mixture; a fit
    that fails or is interrupted leaves the estimator unchanged.
    """

    @wraps(method)
    def publishing(self: Any, *args: Any, **options: Any) -> Any:
        working = object.__new__(type(self))
        working.__dict__ = dict(vars(self))
        result = method(working, *args, **options)
        params: list[str] = getattr(type(self), "_get_param_names", list)()
        working.__dict__[FITTED_WITH] = {name: getattr(working, name) for name in params}
        self.__dict__ = working.__dict__
        return self if result is working else result

    return cast(F, publishing)


def refuse_overflow(method: F) -> F:
    """Make a method raise :class:`InvalidInput` if numpy would continue with infinity."""

    @wraps(method)
    def refusing(self: Any, *args: Any, **options: Any) -> Any:
        try:
            with np.errstate(over="raise"):
                return method(self, *args, **options)
        # Sparse products overflow silently; the eigensolver then receives infinity.
        except (FloatingPointError, OverflowError, np.linalg.LinAlgError):
            raise InvalidInput(
                f"{type(self).__name__}: X or y contains numbers that are too large or too small "
                "to compute with; rescale them, for example with "
                "scikit-learn's StandardScaler, and pass float64 instead of float32."
            ) from None

    return cast(F, refusing)


def fitting(method: F) -> F:
    """Make a method fit all or nothing, and refuse overflow."""
    return all_or_nothing(refuse_overflow(method))


def few_threads(method: F) -> F:
    """Run a method of X with the threads that pay off for its size."""

    @wraps(method)
    def limited(self: Any, *args: Any, **options: Any) -> Any:
        with threads_for(args[0] if args else options.get("X")):
            return method(self, *args, **options)

    return cast(F, limited)


@dataclass(frozen=True)
class TrainingRows:
    """Features and labels of n rows, centred if the estimator centres.

    ``raw`` is X as given, or None: in a stream, X and Y are a few rows with the products of all.
    The ``decomposition`` of X is computed by the first who needs it.
    """

    raw: Any
    dtype: Any
    n: int
    X: Operator
    means: Array
    labels: Any = None
    Y: Any = None  # an operator, centred if X is
    label_means: Any = None
    decomposition: Any = None

    def __post_init__(self) -> None:
        if self.decomposition is None:
            object.__setattr__(self, "decomposition", Decomposition(self.X))

    def to_device(self, values: Array, dtype: Any = None) -> Array:
        """Move fitted arrays to the device of X, or to the host, in ``dtype`` or that of X."""
        wanted = self.dtype if dtype is None else dtype
        if self.raw is None or self.raw.device is None:
            return contiguous(values, wanted)
        return placed(values, self.raw.device, wanted)


def training_rows(
    model: Any,
    X: Any,
    y: Any,
    *,
    keep_sparse: bool = True,
    on_device: bool = False,
    unlabelled: bool = False,
) -> TrainingRows:
    """Read X and y of ``fit``, and centre them; ``unlabelled`` keeps rows without labels too."""
    owner = type(model).__name__
    raw = rows = model._read_features(X)
    # Threads that BLAS started here would be busy for a while after the fit goes on without them.
    with threads_for(raw):
        labels = indicator_on_device(y, rows, owner) if on_device else None
        if labels is None:
            labels = model._read_labels(y, rows.shape[0], keep_sparse=keep_sparse)
        if not unlabelled:
            rows, labels = _labelled_rows(owner, rows, labels)
        rows, means = centre(model, rows)
        Y, label_means = centred_labels(model, labels, rows.dtype)
    return TrainingRows(raw, raw.dtype, rows.shape[0], rows, means, labels, Y, label_means)


def feature_rows(model: Any, X: Any) -> TrainingRows:
    """Read X of ``fit`` of a method without labels, and centre it."""
    raw = model._read_features(X)
    with threads_for(raw):
        rows, means = centre(model, raw)
    return TrainingRows(raw, raw.dtype, rows.shape[0], rows, means)


def stream_rows(model: Any, stream: Stream) -> TrainingRows:
    """Return a few rows with the same products as the labelled rows of a stream."""
    seen = stream.seen(type(model).__name__)
    X, Y = rows_of(model, seen, stream.dtype)
    means, label_means = seen.x_mean * model.center, seen.b_mean * model.center
    return TrainingRows(None, stream.dtype, seen.n, X, means, stream, as_operator(Y), label_means)


def centred_labels(model: Any, labels: Labels, dtype: Any = np.float64) -> tuple[Operator, Array]:
    """Return Y, centred if X is, and its means; many labels are in ``dtype``."""
    if labels.sparse:
        many = cast(Operator, labels.operator.in_type(dtype))
        return many.centered() if model.center else (many, np.zeros(labels.names.size))
    if model.center:
        return as_operator(labels.centred), labels.means()
    return labels.operator, np.zeros(labels.names.size)


def _labelled_rows(owner: str, X: Operator, labels: Labels) -> tuple[Operator, Labels]:
    """Select the rows with a known label; raise for fewer than two of them, and for one class."""
    labelled = labels.labelled
    if not labelled.all():
        index = np.flatnonzero(labelled)
        if index.size < 2:
            raise InvalidLabels(
                "y has labels for only one row, and at least two are needed; "
                "MLSI can learn from rows without labels."
            )
        X, labels = X.rows(index), labels.rows(index)
    if labels.kind == "classes" and labels.names.size < 2:
        raise InvalidLabels(
            f"{owner}: y has one class, {labels.names[0]}; at least two are needed."
        )
    return X, labels


def centre(model: Any, X: Operator) -> tuple[Operator, Array]:
    """Return X, centred if the estimator centres, and the means that were subtracted.

    Columns that are nothing but rounding are zero.
    """
    if not model.center:
        return without_rounding(X, None, one_unit=model._one_unit), np.zeros(X.shape[1])
    centred, means = X.centered()
    return without_rounding(centred, means, one_unit=model._one_unit), means


def warn_of_large_means(model: Any, rows: TrainingRows, weights: Array) -> None:
    """Warn if the rounding of the means is visible in the embedding."""
    X, means = rows.X, np.abs(on_host(rows.means))
    if X.one_pass or X.device is not None or not means.any():
        return
    noise = float(np.finfo(np.float64).eps) / _VISIBLE
    # A few rows, and a bound that needs no copy of the weights, show that most data is far from it.
    some = X.rows(np.arange(min(_FEW_ROWS, X.shape[0]))).matmat(weights)
    most = noise * np.linalg.norm(means) * column_norms(weights)
    if (most <= np.abs(some).max(axis=0)).all():
        return
    lost = noise * (means @ np.abs(weights))
    if (lost > column_norms(X.matmat(weights)) / np.sqrt(rows.n)).any():
        warn_caller(
            f"{type(model).__name__}: columns of X vary so little compared with their means that "
            "float64 has few digits left for the embedding; subtract a constant from them, for "
            "example the first row of X, before the fit.",
            LabelspanWarning,
        )


def fixed_signs(weights: Array) -> Array:
    """Return the signs that make the largest entry of each column positive."""
    return np.where(largest_entries(weights) < 0, -1.0, 1.0)


def squared_norm(model: Any, X: Operator) -> float:
    """Return the squared Frobenius norm of X, which must not be zero."""
    square = X.sum_of_squares()
    if not square > 0:
        what = "all rows of X are equal" if model.center else "X holds only zeros"
        raise InvalidInput(f"{type(model).__name__}: {what}, so there is no direction to find.")
    return square


def refuse_large_squares(X: Operator) -> None:
    """Raise an error if squared distances between rows overflow; used under ``refuse_overflow``.

    With infinite distances a neighbour search finds nothing, or fails with another error.
    """
    if not np.isfinite(4.0 * X.sum_of_squares()):
        raise FloatingPointError
