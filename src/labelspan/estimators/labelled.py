"""What estimators that read labels share: scores for labels from the small space."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from ..errors import InvalidLabels
from ..factors import Kind, Labels, read_labels
from ..operators import Operator
from ..operators.base import Array
from .reading import Ends, ends
from .streaming import Stream, Streaming, when_streaming

__all__ = ["LabelledEstimator"]


class LabelledEstimator(Streaming):
    """An estimator that learns from labels and can score them."""

    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator", "targets")

    classes_: Array
    label_loadings_: Array
    label_means_: Array

    def _read_labels(
        self, y: Any, n_rows: int, *, part: bool = False, targets: bool = False
    ) -> Labels:
        owner = type(self).__name__
        labels = read_labels(y, n_rows, owner, part=part, targets=targets)
        if labels.kind not in self._takes:
            raise InvalidLabels(
                f"{owner} takes classes or a 0/1 indicator, but y holds real targets; "
                "use OPLS, CCA or MLSI for those."
            )
        return labels

    def _label_values(self, labels: Labels) -> tuple[Array, Array]:
        """Y, centred where X is, with unknown entries at zero; and the means."""
        means = labels.means() if self.center else np.zeros(labels.values.shape[1])
        values = labels.values - means if self.center else labels.values
        if labels.unknown is not None:
            values = np.where(labels.unknown, 0.0, values)
        return values, means

    def label_scores(self, X: Any) -> Array:
        """Score every label for every row, from the small space alone.

        The least squares estimate of the labels that the components allow: a number
        around 1 says yes, around 0 no. With all components of OPLS it is ridge
        regression.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        scores : array of shape (n, k)
            One column for each entry of ``classes_``.
        """
        self._ready()
        # transform may hand back a data frame where set_output asked for one.
        latent = np.asarray(self.transform(X))
        return latent @ self.label_loadings_ + self.label_means_

    def top_labels(self, component: int, n: int = 10) -> Ends:
        """The labels at both ends of an axis.

        Parameters
        ----------
        component : int
            The axis, counted from 0.
        n : int, default=10
            How many at each end, at most.

        Returns
        -------
        Ends
            With fields ``high`` and ``low``, lists of ``(name, weight)``.
        """
        self._ready()
        owner = type(self).__name__
        return ends(owner, self.label_loadings_, self.classes_, component, n)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


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
