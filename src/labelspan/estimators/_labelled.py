"""What estimators that learn from labels share: label scores, predictions and batches."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if

from .._axis_ends import Ends, ends
from .._typing import Array
from ..errors import InvalidLabels, UncertainPenalty, warn_caller
from ..labels import Labels, read_labels
from ..labels.reading import Kind, indicator_on_device
from ..operators import Operator
from ..operators.array_backend import as_block, host, like, on_host
from ..solvers import AlphaCurve
from ..solvers.alpha import generalized_cross_validation
from ._base import BaseEmbedding, Features, refuse_overflow
from ._partial_fit import (
    Batch,
    Stream,
    add_batch,
    align_labels,
    join_streams,
    one_at_a_time,
    solve_stream,
    when_streaming,
    why_no_stream,
)
from ._placing import labels_as_fitted

__all__ = ["LabelledEmbedding", "centred_labels", "labelled_rows", "stream_penalty"]


def _has_classes(model: Any) -> bool:
    # A classifier of its own predicts in its own way.
    own = "predict" in vars(type(model))
    # Before a fit nothing says that there are none, and scikit-learn's tools ask then.
    return not own and bool(vars(model).get("label_kind_", "classes") == "classes")


class LabelledEmbedding(BaseEmbedding):
    """A space that is learned from labels and can score them."""

    _needs_labels: ClassVar[bool] = True
    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator", "targets")
    # Whether the factor can be made of labels on the device of X.
    _labels_on_device: ClassVar[bool] = False
    # Whether ``_publish_labels`` needs Y'Y.
    _keeps_label_square: ClassVar[bool] = False
    # Whether a stream keeps an R factor whatever alpha is.
    _exact_stream: ClassVar[bool] = False

    alpha: float | str

    alpha_: float
    alpha_curve_: AlphaCurve | None
    classes_: Array
    label_kind_: Kind
    label_loadings_: Array
    label_means_: Array

    # --- labels of a fit --------------------------------------------------------------

    def _read_labels(
        self,
        y: Any,
        n_rows: int,
        *,
        part: bool = False,
        targets: bool = False,
        keep_sparse: bool = False,
        classes: Any = None,
    ) -> Labels:
        owner = type(self).__name__
        labels = read_labels(
            y,
            n_rows,
            owner,
            part=part,
            targets=targets,
            keep_sparse=keep_sparse,
            classes=None if classes is None else np.asarray(classes),
        )
        if labels.kind not in self._takes:
            raise InvalidLabels(
                f"{owner} takes classes or a 0/1 indicator, but y holds continuous targets; "
                "use OPLS, CCA or MLSI for those."
            )
        return labels

    def _labels_of(self, X: Operator, y: Any, *, keep_sparse: bool, on_device: bool) -> Labels:
        """Read the labels of the rows of X; ``on_device`` holds 0 and 1 on its device."""
        found = indicator_on_device(y, X, type(self).__name__) if on_device else None
        return self._read_labels(y, X.shape[0], keep_sparse=keep_sparse) if found is None else found

    def _publish_labels(
        self,
        features: Features,
        labels: Labels | Stream,
        loadings: Array,
        means: Array,
        square: Array | None = None,
    ) -> None:
        """Set the map from the space to labels; ``square`` is Y'Y of centred labels."""
        self.classes_ = labels.names
        if labels.kind is not None:
            self.label_kind_ = labels.kind
        self.label_loadings_ = features.place(loadings)
        self.label_means_ = features.place(means)

    # --- scores -----------------------------------------------------------------------

    @refuse_overflow
    def label_scores(self, X: Any) -> Array:
        """Score every label for every row, from the learned space.

        The scores are the least squares estimate of the labels from the components: close
        to 1 means yes, close to 0 means no. With all components of OPLS they are the
        prediction of ridge regression.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        scores : array of shape (n, k)
            One column for each entry of ``classes_``.
        """
        fitted = self._fitted()
        # transform returns a data frame where set_output asked for one.
        latent = as_block(fitted.transform(X))
        return latent @ like(fitted.label_loadings_, latent) + like(fitted.label_means_, latent)

    def score(self, X: Any, y: Any) -> float:
        """Return how well the label scores predict the labels: R2, weighted by variance.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : labels of the form that was given to ``fit``
            Rows with unknown entries (-1 or NaN) are left out; rows of a class that ``fit`` did
            not have count as rows of no class.

        Returns
        -------
        score : float
            1 for a perfect prediction, 0 for that of the means.
        """
        fitted = self._fitted()
        scores = host(fitted.label_scores(X))
        owner = type(self).__name__
        labels = labels_as_fitted(y, scores.shape[0], fitted.classes_, owner, new_classes=True)
        values: Any = labels.values
        if labels.many:
            values = values.toarray()
        if labels.unknown is not None:
            known = ~labels.unknown.any(axis=1)
            scores, values = scores[known], values[known]
        return float(r2_score(values, scores, multioutput="variance_weighted"))

    @available_if(_has_classes)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes; exists where ``y`` of ``fit`` was a vector of classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        scores : array of shape (n, k), or (n,) for two classes
            The label scores; for two classes, that of the second minus that of the first.
        """
        scores = host(self._fitted().label_scores(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @available_if(_has_classes)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Array:
        """Return the class with the largest score; exists where ``fit`` had a vector of classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        y : array of shape (n,)
            Entries of ``classes_``.
        """
        fitted = self._fitted()
        return np.asarray(fitted.classes_[host(fitted.label_scores(X)).argmax(axis=1)])

    def top_labels(self, component: int, n: int = 10) -> Ends:
        """Return the labels at both ends of an axis.

        Parameters
        ----------
        component : int
            The axis, counted from 0.
        n : int, default=10
            Maximum number of labels at each end.

        Returns
        -------
        Ends
            With fields ``high`` and ``low``, lists of ``(name, weight)``.
        """
        fitted = self._fitted()
        table = on_host(fitted.label_loadings_)
        return ends(type(self).__name__, table, fitted.classes_, component, n)

    # --- batches ----------------------------------------------------------------------

    @when_streaming
    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, solve: bool = True) -> Self:
        """Learn from one more batch of rows.

        Any split and any order of the rows gives the same result, which for a given ``alpha``
        is that of :meth:`fit` on all of them. ``alpha="auto"`` chooses by generalized
        cross-validation, because the rows are gone; with fewer rows than columns give a number.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            At most 4,096 columns.
        y : as in :meth:`fit`
            Whole rows may be unknown; single entries may not.
        classes : sequence or None, default=None
            In the first call, the names of all labels that later batches may have. None uses
            those of the first batch; a new label later raises an error.
        solve : bool, default=True
            Whether to compute the space from all batches so far. False only adds the batch, for
            many small ones; :meth:`solve` computes the space in the end.

        Returns
        -------
        self
            The fitted estimator.
        """
        return add_batch(self, X, y, classes, solve=solve)  # type: ignore[no-any-return]

    merge = when_streaming(join_streams)

    @when_streaming
    def solve(self) -> Self:
        """Compute the space from all batches so far, with the parameters of this moment.

        Returns
        -------
        self
            The fitted estimator.
        """
        with one_at_a_time(self):
            return solve_stream(self)  # type: ignore[no-any-return]

    def _why_no_stream(self) -> str | None:
        return why_no_stream(self)

    def _batch(self, X: Operator, y: Any, stream: Stream) -> Batch:
        """Return the labelled rows of a batch with the block that is summed with them."""
        owner = type(self).__name__
        labels = self._read_labels(
            y,
            X.shape[0],
            part=True,
            targets=stream.kind == "targets",
            classes=stream.names if stream.kind == "classes" else None,
        )
        labels = align_labels(labels, stream, owner)
        if labels.labelled.all():
            return Batch(X, self._stream_block(labels))
        index = np.flatnonzero(labels.labelled)
        rest = X.rows(np.flatnonzero(~labels.labelled))
        return Batch(X.rows(index), self._stream_block(labels.rows(index)), rest)

    def _stream_block(self, labels: Labels) -> Array:
        """Return, row by row, what the factor is made from; the last columns are the labels."""
        return labels.values

    def _from_factor(self, images: Array, labels: Labels, factor: Array) -> Any:
        """Return ``W'X'Y`` from ``W'X'H``, where Y is H times a small matrix; otherwise None."""
        return None


def centred_labels(model: Any, labels: Labels) -> tuple[Array, Array]:
    """Return Y, centred where X is, with unknown entries at zero; and its means."""
    values = labels.centred if model.center else labels.values
    if labels.unknown is not None and not model.center:
        values = np.where(labels.unknown, 0.0, values)
    return values, labels.means() if model.center else np.zeros(labels.values.shape[1])


def labelled_rows(X: Operator, labels: Labels) -> tuple[Operator, Labels]:
    """Keep the rows with a known label."""
    labelled = labels.labelled
    if labelled.all():
        return X, labels
    index = np.flatnonzero(labelled)
    if index.size < 2:
        raise InvalidLabels(
            "y has labels for only one row, and at least two are needed; "
            "MLSI can learn from rows without labels."
        )
    return X.rows(index), labels.rows(index)


def stream_penalty(
    model: Any, X: Operator, labels: Array, rows: int, *, choose: bool = False
) -> tuple[float, AlphaCurve | None]:
    """Return alpha as a number, by generalized cross-validation where it is "auto".

    X and labels are few rows with the products of all. ``choose`` does so whatever alpha is.
    """
    if model.alpha != "auto" and not choose:
        return float(model.alpha), None
    gram, cross = X.gram(), X.cross(labels)
    square = float(np.square(labels).sum())
    curve = generalized_cross_validation(gram, cross, square, rows=rows, intercept=model.center)
    columns = X.shape[1]
    if rows - model.center <= columns and curve.alpha <= curve.alphas[0]:
        warn_caller(
            f"{type(model).__name__}: alpha='auto' in a stream of {rows} rows and "
            f"{columns} columns chose the smallest penalty that it tries, which means "
            "little with so few rows; give alpha a number, more rows, or use fit.",
            UncertainPenalty,
        )
    return curve.alpha, curve
