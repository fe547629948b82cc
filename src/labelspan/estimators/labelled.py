"""What estimators that read labels share: scores for labels, and learning in parts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._typing import Array
from ..errors import InvalidLabels
from ..labels import Labels
from ..operators import Operator
from .scoring import LabelScores
from .streaming import Stream, Streaming, when_streaming

__all__ = ["LabelledEstimator"]


class LabelledEstimator(LabelScores, Streaming):
    """An estimator that learns from labels, all at once or in parts."""

    @when_streaming
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from one more batch of rows.

        Any split and any order of the rows gives what :meth:`fit` gives on all of them. The
        space is solved for when it is first asked for.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            At most 4,096 columns.
        y : as in :meth:`fit`
            Whole rows may be unknown; single entries may not.
        classes : sequence or None, default=None
            In the first call, the names of all labels that may come. Without it they are
            those of the first batch, and new ones later are refused.

        Returns
        -------
        self
        """
        return self._add(X, y, classes)

    def _open_stream(self, operator: Operator, y: Any, classes: Any) -> Stream:
        labels = self._read_labels(y, operator.shape[0], part=True)
        names = labels.names
        if classes is not None:
            names = np.asarray(classes)
            if labels.kind != "classes" and names.size != labels.names.size:
                raise InvalidLabels(
                    f"{type(self).__name__}: classes names {names.size} labels, "
                    f"but y has {labels.names.size} columns."
                )
            if labels.kind == "classes":
                names = np.unique(names)
        return Stream(names, labels.kind, operator.dtype)

    def _batch(self, operator: Operator, y: Any, stream: Stream) -> tuple[Operator, Array]:
        targets = stream.kind == "targets"
        labels = self._read_labels(y, operator.shape[0], part=True, targets=targets)
        return self._stream_rows(operator, in_order(labels, stream, type(self).__name__))

    def _stream_rows(self, operator: Operator, labels: Labels) -> tuple[Operator, Array]:
        """The rows that count, and the label block whose products with X are summed."""
        raise NotImplementedError(type(self).__name__)


def in_order(labels: Labels, stream: Stream, owner: str) -> Labels:
    """A batch's labels in the columns of the stream."""
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
                f"{owner}: y has classes that earlier batches had not: {labels.names[new]}; "
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
    if labels.unknown is not None and labels.unknown[labels.labelled].any():
        raise InvalidLabels(
            f"{owner}: partial_fit takes rows that are labelled or wholly unknown, and y has rows "
            "with single unknown entries; use fit, or mark the whole rows."
        )
    return labels
