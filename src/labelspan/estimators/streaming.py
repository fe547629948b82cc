"""Training on parts: ``partial_fit`` and ``merge`` by sufficient statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MethodType
from typing import Any, Self

import numpy as np

from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, Mismatch, NotStreaming
from ..labels import Kind
from ..operators import Operator, as_operator
from ..solvers import Statistics
from ..solvers.problem import DIRECT_LIMIT
from .base import SpaceEstimator
from .overflow import refuse_overflow
from .whole import whole

__all__ = ["Stream", "Streaming", "when_streaming"]


# What a stream is solved for when it is first asked for.
_RESULTS = {
    "classes_",
    "components_",
    "correlations_",
    "eigenvalues_",
    "label_loadings_",
    "label_means_",
    "label_weights_",
    "mean_",
    "n_components_",
    "n_iter_",
    "solver_",
    "status_",
}


@dataclass(frozen=True)
class Stream:
    """What was seen so far: statistics, the labels' names, and how wide the data is."""

    names: Array
    kind: Kind | None
    dtype: Any
    statistics: Statistics | None = None
    batches: int = 0

    def seen(self, more: Statistics | None, batches: int) -> Stream:
        """The stream with one more part; None where none of its rows counts."""
        joined = self.statistics
        if more is not None:
            joined = more if joined is None else joined.join(more)
        return replace(self, statistics=joined, batches=self.batches + batches)


class when_streaming:  # noqa: N801 - it is used as a decorator
    """A method that is there only while the parameters allow it.

    scikit-learn asks ``hasattr(model, "partial_fit")``; a person gets the reason.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, model: Any, kind: Any = None) -> Any:
        if model is None:
            return self._function
        if model._why_no_stream() is not None:
            raise AttributeError  # Streaming.__getattr__ gives the reason.
        return MethodType(self._function, model)


class Streaming(SpaceEstimator):
    """An estimator that can learn from a stream of batches.

    Any split and any order of the rows gives what ``fit`` gives on all of them. The
    statistics take d x d numbers; the space is solved for when it is first asked for, not
    after every batch.
    """

    _stream: Stream

    # --- what a method adds -----------------------------------------------------------

    def _solve_stream(self, stream: Stream, statistics: Statistics) -> None:
        """Set what ``fit`` would set."""
        raise NotImplementedError(type(self).__name__)

    def _why_no_stream(self) -> str | None:
        """One sentence where the parameters have no sufficient statistics, else None."""
        owner = type(self).__name__
        if not self._linear:
            return (
                f"{owner}: partial_fit needs kernel='linear', for kernel={self.kernel!r} needs "
                "all rows at once; use fit with landmarks."
            )
        if self.solver not in ("auto", "gram"):
            return (
                f"{owner}: partial_fit solves from sums of products, not by "
                f"solver={self.solver!r}; use solver='auto' or 'gram'."
            )
        return None

    # --- the stream -------------------------------------------------------------------

    @whole
    @refuse_overflow
    def _add(self, X: Any, y: Any, classes: Any) -> Self:
        """Take a batch in; one that is refused leaves the stream where it was."""
        stream = self.__dict__.get("_stream")
        if stream is None:
            return self._take(X, y, classes)
        try:
            return self._take(X, y, classes)
        except ValueError as error:
            said = str(error).partition("\n")[0]
            kind = type(error) if isinstance(error, InvalidInput) else InvalidInput
            raise kind(
                f"{type(self).__name__}: batch {stream.batches + 1} is not taken, and the batches "
                f"before it count as they did: {said}"
            ) from error

    def _take(self, X: Any, y: Any, classes: Any) -> Self:
        first = "_stream" not in self.__dict__
        self._check_params()
        operator = as_operator(self._validate(X, reset=first, least=1))
        columns = operator.shape[1]
        if columns > DIRECT_LIMIT:
            raise InvalidInput(
                f"{type(self).__name__}: partial_fit keeps a {columns} x {columns} array, above "
                f"the limit of {DIRECT_LIMIT} columns; use fit, which takes sparse data of any "
                "width, or reduce the columns first."
            )
        stream = self._stream if not first else self._open_stream(operator, y, classes)
        operator, block = self._batch(operator, y, stream)
        some = operator.shape[0] > 0
        self._stream = stream.seen(Statistics.of(operator, block) if some else None, 1)
        self._forget()
        return self

    def _open_stream(self, operator: Operator, y: Any, classes: Any) -> Stream:
        return Stream(np.zeros(0), None, operator.dtype)

    def _batch(self, operator: Operator, y: Any, stream: Stream) -> tuple[Operator, Array]:
        return operator, np.zeros((operator.shape[0], 0))

    @when_streaming
    @whole
    def merge(self, other: Self) -> Self:
        """Join what another model has seen to this one; the other stays as it is.

        Parameters
        ----------
        other : estimator
            Of the same class and parameters, partly fitted.

        Returns
        -------
        self
        """
        owner = type(self).__name__
        for model in (self, other):
            if type(model) is not type(self) or "_stream" not in model.__dict__:
                raise InvalidInput(
                    f"{owner}: merge joins two models that partial_fit was called on, "
                    f"but {model!r} is not one."
                )
        if str(self.get_params()) != str(other.get_params()):
            raise Mismatch(f"{owner}: merge needs two models with the same parameters.")
        mine, theirs = self._stream, other._stream
        if not np.array_equal(mine.names, theirs.names):
            raise InvalidLabels(
                f"{owner}: merge needs the same labels in the same order; give both models "
                "the same classes= in their first partial_fit."
            )
        if self.n_features_in_ != other.n_features_in_:
            raise InvalidInput(
                f"{owner}: merge needs the same features; one model has seen "
                f"{self.n_features_in_} columns, the other {other.n_features_in_}."
            )
        self._stream = mine.seen(theirs.statistics, theirs.batches)
        self._forget()
        return self

    def _forget(self) -> None:
        """Drop results that more rows have made old."""
        for name in _RESULTS & vars(self).keys():
            del self.__dict__[name]

    def _end_stream(self) -> None:
        """A plain ``fit`` starts anew."""
        self.__dict__.pop("_stream", None)

    def __getattr__(self, name: str) -> Any:
        # Reached only for what is not there: methods that the parameters rule out, and results
        # that were not asked for yet.
        if name in {"partial_fit", "merge"}:
            raise NotStreaming(self._why_no_stream())
        stream = self.__dict__.get("_stream")
        if stream is not None and name in _RESULTS:
            self._finish(stream)
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _ready(self) -> None:
        super()._ready()
        stream = self.__dict__.get("_stream")
        if stream is not None:
            self._finish(stream)

    @whole
    @refuse_overflow
    def _finish(self, stream: Stream) -> None:
        if "eigenvalues_" in self.__dict__:
            return
        statistics = stream.statistics
        if statistics is None or statistics.n < 2:
            raise InvalidInput(
                f"{type(self).__name__}: partial_fit has seen fewer than two rows to learn from; "
                "give it more."
            )
        self._solve_stream(stream, statistics)
