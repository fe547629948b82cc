"""``partial_fit`` and ``merge``: learning in batches, from sufficient statistics.

After ``partial_fit`` an estimator holds a :class:`Stream` and no results. They are solved
for when something asks for them, with the parameters that the estimator has at that moment.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from threading import RLock
from types import MethodType
from typing import Any, TypeVar

import numpy as np

from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, Mismatch, NotStreaming
from ..labels import Labels
from ..labels.reading import Kind
from ..operators import as_operator
from ..solvers import Statistics
from ..solvers.problem import DIRECT_LIMIT
from ._base import all_or_nothing, refuse_overflow

__all__ = ["Stream", "add_batch", "align_labels", "merge", "when_streaming", "why_no_stream"]

M = TypeVar("M")


@dataclass(eq=False)
class Stream:
    """What an estimator has seen so far: statistics, and how labels and features were read.

    A stream does not change; a batch makes a new one. It keeps the solution for the
    parameters that it was last solved with.
    """

    names: Array
    kind: Kind | None
    dtype: Any
    # The parameters that the sums depend on, as they were in the first batch.
    summed_with: dict[str, Any]
    statistics: Statistics | None = None
    # Of the labelled rows only, where there are others.
    labelled: Statistics | None = None
    batches: int = 0
    unlabelled: bool = False
    _solution: tuple[dict[str, Any], Any] | None = field(default=None, init=False, repr=False)
    _lock: Any = field(default_factory=RLock, init=False, repr=False)

    @classmethod
    def opened(
        cls, model: Any, names: Array, kind: Kind | None, dtype: Any, summed_with: tuple[str, ...]
    ) -> Stream:
        """Start a stream that has seen nothing."""
        params = comparable_params(model)
        return cls(names, kind, dtype, {name: params[name] for name in summed_with})

    def extended(
        self,
        more: Statistics | None,
        batches: int,
        unlabelled: bool,
        labelled: Statistics | None = None,
    ) -> Stream:
        """Return the stream with one more part; None where no row of it counts.

        ``labelled`` holds the statistics of its labelled rows, where ``unlabelled`` says that
        there are others.
        """
        either = self.unlabelled or unlabelled
        mine = self.labelled if self.unlabelled else self.statistics
        theirs = labelled if unlabelled else more
        return replace(
            self,
            statistics=_joined(self.statistics, more),
            labelled=_joined(mine, theirs) if either else None,
            batches=self.batches + batches,
            unlabelled=either,
        )

    def solved(self, model: M) -> M:
        """Return an estimator with the fitted attributes, for the parameters of ``model`` now.

        Threads that ask at the same time wait for one solution.
        """
        with self._lock:
            params = comparable_params(model)
            if self._solution is None or self._solution[0] != params:
                self._solution = params, self._solve(model)
            found: M = self._solution[1]
            return found

    def _solve(self, model: Any) -> Any:
        _refuse_unless_streaming(model)
        model._check_params()
        check_sums(model, self)
        if self.statistics is None or self.statistics.n < 2:
            raise InvalidInput(
                f"{type(model).__name__}: partial_fit has seen fewer than two rows to learn from; "
                "give it more."
            )
        fitted = copy(model)
        fitted._forget()
        fitted._fit_statistics(self, self.statistics)
        return fitted

    def __getstate__(self) -> dict[str, Any]:
        # A lock cannot be pickled, and the solution can be found again.
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _solution=None, _lock=RLock())


class when_streaming:  # noqa: N801 - it is used as a decorator
    """A method that exists only where the parameters allow streaming.

    scikit-learn asks ``hasattr(model, "partial_fit")``; the error gives the reason.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, model: Any, kind: Any = None) -> Any:
        if model is None:
            return self._function
        _refuse_unless_streaming(model)
        return MethodType(self._function, model)


def _refuse_unless_streaming(model: Any) -> None:
    reason = model._why_no_stream()
    if reason is not None:
        raise NotStreaming(reason)


def why_no_stream(model: Any) -> str | None:
    """Say why the kernel or the solver needs all rows at once; None where they do not."""
    owner = type(model).__name__
    if not model._linear:
        return (
            f"{owner}: partial_fit needs kernel='linear', because kernel={model.kernel!r} needs "
            "all rows at once; use fit with landmarks."
        )
    if model.solver not in ("auto", "exact"):
        return (
            f"{owner}: partial_fit solves from sums of products, not by "
            f"solver={model.solver!r}; use solver='auto' or 'exact'."
        )
    return None


def comparable_params(model: Any) -> dict[str, Any]:
    """Return the parameters of an estimator as values that do not change and can be compared."""
    return {
        name: np.asarray(value).tolist() if hasattr(value, "__array__") else _copied(value)
        for name, value in model.get_params(deep=False).items()
    }


def _copied(value: Any) -> Any:
    return type(value)(value) if type(value) in (list, dict) else value


def check_sums(model: Any, stream: Stream) -> None:
    """Refuse parameters for which the sums of earlier batches are wrong."""
    now = comparable_params(model)
    for name, before in stream.summed_with.items():
        if now[name] != before:
            raise Mismatch(
                f"{type(model).__name__}: {name} has changed since the first partial_fit, and "
                "earlier batches were summed with the old value; set it back, or start again "
                "with a new estimator."
            )


@all_or_nothing
@refuse_overflow
def add_batch(model: Any, X: Any, y: Any = None, classes: Any = None) -> Any:
    """Add a batch to the stream of an estimator; a batch that fails leaves it unchanged."""
    stream = vars(model).get("_stream")
    try:
        model._stream = _with_batch(model, stream, X, y, classes)
    except ValueError as error:
        if stream is None:
            raise
        message = str(error).partition("\n")[0]
        kind = type(error) if isinstance(error, InvalidInput) else InvalidInput
        raise kind(
            f"{type(model).__name__}: batch {stream.batches + 1} is not taken, and earlier "
            f"batches are unchanged: {message}"
        ) from error
    return model


def _with_batch(model: Any, stream: Stream | None, X: Any, y: Any, classes: Any) -> Stream:
    model._check_params()
    operator = as_operator(model._validate(X, reset=stream is None))
    columns = operator.shape[1]
    if columns > DIRECT_LIMIT:
        raise InvalidInput(
            f"{type(model).__name__}: partial_fit keeps a {columns} x {columns} array, above "
            f"the limit of {DIRECT_LIMIT} columns; use fit, which takes sparse data of any "
            "width, or reduce the columns first."
        )
    if stream is None:
        model._forget()
        stream = model._open_stream(operator, y, classes)
    else:
        check_sums(model, stream)
    rows, block, labelled = model._batch(operator, y, stream)
    statistics = Statistics.of(rows, block) if rows.shape[0] > 0 else None
    if labelled is None:
        return stream.extended(statistics, 1, unlabelled=False)
    part = Statistics.of(rows.rows(labelled), block[labelled]) if labelled.size else None
    return stream.extended(statistics, 1, unlabelled=True, labelled=part)


def _joined(one: Statistics | None, other: Statistics | None) -> Statistics | None:
    if one is None or other is None:
        return other if one is None else one
    return one.join(other)


@all_or_nothing
def merge(self: M, other: M) -> M:
    """Add what another model has seen to this one; the other stays unchanged.

    Parameters
    ----------
    other : estimator
        Of the same class and parameters, after ``partial_fit``.

    Returns
    -------
    self
        The fitted estimator.
    """
    owner = type(self).__name__
    for model in (self, other):
        if type(model) is not type(self) or "_stream" not in vars(model):
            raise InvalidInput(
                f"{owner}: merge joins two models that partial_fit was called on, "
                f"but {model!r} is not one."
            )
    if comparable_params(self) != comparable_params(other):
        raise Mismatch(f"{owner}: merge needs two models with the same parameters.")
    mine: Stream = vars(self)["_stream"]
    theirs: Stream = vars(other)["_stream"]
    if not np.array_equal(mine.names, theirs.names):
        raise InvalidLabels(
            f"{owner}: merge needs the same labels in the same order; give both models "
            "the same classes= in their first partial_fit."
        )
    if mine.kind != theirs.kind:
        raise InvalidLabels(
            f"{owner}: merge needs labels of the same kind; one model has read {mine.kind}, the "
            f"other {theirs.kind}."
        )
    columns = [vars(model)["n_features_in_"] for model in (self, other)]
    if columns[0] != columns[1]:
        raise InvalidInput(
            f"{owner}: merge needs the same features; one model has seen "
            f"{columns[0]} columns, the other {columns[1]}."
        )
    own, foreign = (vars(model).get("feature_names_in_") for model in (self, other))
    if own is not None and foreign is not None and not np.array_equal(own, foreign):
        different = int(np.flatnonzero(own != foreign)[0])
        raise InvalidInput(
            f"{owner}: merge needs the same features in the same order; column {different} is "
            f"{own[different]!r} in one model and {foreign[different]!r} in the other."
        )
    check_sums(self, mine)
    check_sums(other, theirs)
    joined = mine.extended(theirs.statistics, theirs.batches, theirs.unlabelled, theirs.labelled)
    vars(self)["_stream"] = joined
    return self


def align_labels(labels: Labels, stream: Stream, owner: str) -> Labels:
    """Return the labels of a batch in the columns of the stream."""
    if labels.kind != stream.kind:
        raise InvalidLabels(
            f"{owner}: y of the first batch was read as {stream.kind}, of this one as "
            f"{labels.kind}; give all batches in one form."
        )
    width = stream.names.size
    if labels.kind == "classes":
        new = ~np.isin(labels.names, stream.names)
        if new.any():
            raise InvalidLabels(
                f"{owner}: y has classes that earlier batches did not have: {labels.names[new]}; "
                "give all of them as classes= in the first partial_fit."
            )
        values = np.zeros((labels.values.shape[0], width))
        if labels.names.size:
            values[:, np.searchsorted(stream.names, labels.names)] = labels.values
        unknown = np.repeat(~labels.labelled[:, None], width, axis=1)
        labels = Labels(values, unknown if unknown.any() else None, stream.names, "classes")
    elif labels.values.shape[1] != width:
        raise InvalidLabels(
            f"{owner}: y must have {width} columns as in the first batch, "
            f"but has {labels.values.shape[1]}."
        )
    else:
        labels = labels.in_columns(stream.names, owner)
    if labels.unknown is not None and labels.unknown[labels.labelled].any():
        raise InvalidLabels(
            f"{owner}: partial_fit takes rows that are labelled or wholly unknown, and y has rows "
            "with single unknown entries; use fit, or mark the whole rows."
        )
    return labels
