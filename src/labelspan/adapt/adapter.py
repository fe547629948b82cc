"""The estimator that compresses and adapts vectors with labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np

from .._params import Boolean, Constraint, Either, Integer, OneOf, Real
from .._typing import Array
from ..errors import InvalidInput, InvalidLabels
from ..estimators._streams import labels_as_fitted, one_at_a_time
from ..estimators.base import Embedding, inverse_transform, transform_with_labels
from ..estimators.mlsi import common_labels, moved_origin
from ..estimators.training import TrainingRows, all_or_nothing, refuse_overflow
from ..labels import Labels, read_labels
from ..operators import Operator, as_operator
from ..operators.convert import sparse_table
from ..solvers.alpha import choose_alpha
from ..solvers.problem import DIRECT_LIMIT
from ..solvers.regression import complete_labels
from .adapter_report import AdapterReport
from .adapter_stream import AdapterStream
from .map_choice import MapChoice
from .nested_map import LabelSpectrum

__all__ = ["Adapter"]


class Adapter(Embedding):
    r"""Compress model embeddings and adapt them to labels, by one linear map.

    For embeddings from a language or image model and your own labels: fewer dimensions, and nearest
    neighbours that share labels. The map is computed in closed form, from one pass over the data.
    Its axes are sorted: the first m columns of ``transform(X)`` are the result for m dimensions.

    The fit compares the map on held-out rows with the original vectors and with PCA to the same
    number of dimensions, for training labels and for held-out labels. If nothing is gained, or
    fewer than 20 rows have labels, the fit returns PCA, and ``report_`` says so. If the original
    vectors are better than the map, ``report_`` and ``status_`` say so.

    Special cases: ``beta=0`` is PCA, and ``beta=1`` keeps only directions of the labels. With all
    labels known it is :class:`MLSI`, centred, computed from moments.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of dimensions. "auto" takes 64, or more if these have less than 90% of the sum of
        eigenvalues, or if more are better on held-out rows.
    alpha : float or "auto", default="auto"
        Regularization strength of the regression of labels on vectors; "auto" chooses it by
        cross-validation in closed form.
    beta : float or "auto", default="auto"
        Weight of the labels relative to the variance of the vectors, from 0 to 1. "auto" is the
        ``beta`` that :class:`MLSI` would choose, or 0 if nothing is gained on held-out rows.
    new_labels : bool, default=False
        Whether future labels, which are not in ``y`` yet, matter. The beta is then at most 0.1,
        and 0 if held-out labels are worse than with PCA, by more than a standard error. With one
        label per row no labels are held out.
    compare : bool, default=True
        Whether to compare on held-out rows. False takes a fifth of the time, and
        ``n_components="auto"`` is then 64 or less.
    random_state : int, default=0
        Seed of the choice of held-out rows and labels.

    Attributes
    ----------
    components_ : array of shape (m, d)
    mean_ : array of shape (d,)
    eigenvalues_ : array of shape (m,)
        Importance of the axes, in descending order.
    report_ : AdapterReport
        The comparison and the choice; ``print(report_)`` shows a table.
    status_ : str
        "exact", and whether the original vectors were better on held-out rows.
    adapted_ : bool
        Whether labels shaped the map; False if it is PCA.
    alpha_, beta_ : float
        The values used.
    classes_ : array of shape (k,)
        Names of the labels.
    label_directions_ : array of shape (k, m)
        Contribution of known labels to the embedding of an item.
    label_means_ : array of shape (k,)
    n_components_ : int
        Number of dimensions.
    n_features_in_ : int
        Number of dimensions of the vectors.
    feature_names_in_ : array of shape (d,)
        Names of the columns if X is a data frame.

    See Also
    --------
    MLSI : The same embedding for sparse and wide data, with other solvers.
    AdapterReport : What is measured.

    Notes
    -----
    With X centred, each label centred and divided by the root of its standard deviation, and
    :math:`B = (X'X + \alpha I)^{-1} X'Y`, the axes are the leading directions of

    .. math:: (1 - b) X X' + b \frac{|X|^2}{|X B|^2} X B B' X'.

    Rows whose labels are unknown (-1 or NaN in the whole row) count in the first term only. Vectors
    are compared by cosine; ``transform`` does not normalise them.

    References
    ----------
    .. [1] K. Yu, S. Yu, V. Tresp. Multi-label informed latent semantic indexing. SIGIR 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from labelspan import Adapter
    >>> X, y = load_digits(return_X_y=True)
    >>> adapter = Adapter(8).fit(X, y)
    >>> adapter.transform(X).shape, adapter.report_.used
    ((1797, 8), 'adapted')
    >>> found = adapter.report_.comparison(8)
    >>> found.adapted > found.pca
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Either((Integer(1), OneOf(("auto",)))),
        "alpha": Either((Real(0.0), OneOf(("auto",)))),
        "beta": Either((Real(0.0, 1.0), OneOf(("auto",)))),
        "new_labels": Boolean(),
        "compare": Boolean(),
        "random_state": Integer(0),
    }

    report_: AdapterReport
    adapted_: bool
    alpha_: float
    beta_: float
    classes_: Array
    label_directions_: Array
    label_means_: Array

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        alpha: float | str = "auto",
        beta: float | str = "auto",
        new_labels: bool = False,
        compare: bool = True,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.beta = beta
        self.new_labels = new_labels
        self.compare = compare
        self.random_state = random_state

    # --- fit --------------------------------------------------------------------------

    @all_or_nothing
    @refuse_overflow
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the map from vectors and labels.

        Parameters
        ----------
        X : array, tensor or sparse matrix of shape (n, d)
            Vectors; d is at most 4096.
        y : vector of classes, or 0/1 array or sparse matrix of shape (n, k)
            -1 or NaN in a whole row marks a row without known labels. A single unknown entry is
            replaced by the fitted value of its label's regression on the rows where the label is
            known, so it does not change this regression.

        Returns
        -------
        self : Adapter
            Fitted estimator.
        """
        self._check_params()
        rows = self._read_features(X)
        _refuse_wide(rows.shape[1])
        labels = read_labels(y, rows.shape[0], "Adapter", keep_sparse=sparse_table(y))
        _refuse_targets(labels)
        labels = self._completed(rows, labels)
        stream = AdapterStream.opened(labels, rows, self._seed).extended(rows, labels)
        self._forget()
        self._publish_map(rows, stream)
        return self

    @one_at_a_time
    @all_or_nothing
    @refuse_overflow
    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, solve: bool = True) -> Self:
        """Update the map with a batch of vectors and labels.

        The result is that of :meth:`fit` on all rows, up to rounding, whatever the batches.
        Only sums and a sample of 2,400 rows are stored.

        Parameters
        ----------
        X : array, tensor or sparse matrix of shape (n, d)
            Vectors.
        y : vector of classes, or 0/1 array or sparse matrix of shape (n, k)
            Labels, without single unknown entries, which need all rows at once.
        classes : sequence or None, default=None
            With a vector of classes, all classes; with an indicator, names of its columns. Needed
            in the first call only.
        solve : bool, default=True
            Whether to compute the map from all batches so far. False only adds the batch;
            :meth:`solve` then computes the map.

        Returns
        -------
        self : Adapter
            The estimator, fitted on all batches so far.
        """
        self._check_params()
        stream: AdapterStream | None = vars(self).get("_stream")
        rows = as_operator(self._validate(X, reset=stream is None))
        _refuse_wide(rows.shape[1])
        labels = _labels_of_batch(y, rows.shape[0], classes, stream)
        if stream is None:
            stream = AdapterStream.opened(labels, rows, self._seed)
        self._forget()
        self._stream = replace(stream.extended(rows, labels), solved=False)
        # With fewer labelled rows there is no map yet.
        return self.solve() if solve and self._stream.n_labelled >= 2 else self

    @all_or_nothing
    @refuse_overflow
    def solve(self) -> Self:
        """Compute the map from all batches so far.

        Returns
        -------
        self : Adapter
            Fitted estimator.
        """
        stream: AdapterStream | None = vars(self).get("_stream")
        if stream is None:
            raise InvalidInput("Adapter: there is no batch to solve; call partial_fit first.")
        self._check_params()
        self._forget()
        self._publish_map(None, stream)
        self._stream = replace(stream, solved=True)
        return self

    def _completed(self, X: Operator, labels: Labels) -> Labels:
        """Fill single unknown entries by regression."""
        known, unknown = labels.labelled, labels.unknown
        if unknown is None or not unknown[known].any():
            return labels
        alpha = self.alpha
        if alpha == "auto":
            index = np.flatnonzero(known)
            usual = np.where(unknown, labels.means(), labels.values)
            rows = X if known.all() else X.rows(index)
            alpha = choose_alpha(rows, usual[index], intercept=True).alpha
        values = complete_labels(
            X, labels.values, unknown, float(alpha), intercept=True, owner="Adapter"
        )
        rest = None if known.all() else np.repeat(~known[:, None], labels.names.size, axis=1)
        return replace(labels, values=values, unknown=rest)

    @property
    def _seed(self) -> int:
        return int(cast(int, self.random_state))

    # --- solution ---------------------------------------------------------------------

    def _publish_map(self, raw: Operator | None, stream: AdapterStream) -> None:
        alpha = None if self.alpha == "auto" else float(self.alpha)
        spectrum = LabelSpectrum.of(
            stream.whole(), stream.unlabelled, alpha, stream.rows, stream.row_labels
        )
        rank = spectrum.squares.size
        if rank == 0:
            raise InvalidInput("Adapter: all rows of X are equal, so there is no direction.")
        auto = self.n_components == "auto"
        choice = MapChoice(
            self,
            stream,
            alpha,
            spectrum,
            wanted=None if auto else self._count(rank, f"the rows differ in {rank} directions", 0),
        )
        beta = choice.beta
        axes = spectrum.solve(beta, count=choice.size)
        size = min(choice.size, axes.values.size)
        weights = spectrum.axes @ axes.weights[:, :size]
        placed = as_operator(stream.rows) if raw is None else raw
        rows = TrainingRows(raw, stream.dtype, stream.n_rows, placed, spectrum.mean)
        signs = self._publish(rows, weights, axes.values[:size])
        better = "; the original vectors were better on held-out rows"
        self.solver_, self.n_iter_ = "exact", 1
        self.status_ = "exact" + (better if choice.original_better else "")
        self.classes_ = stream.names
        self.label_directions_ = rows.place(axes.directions[:, :size] * signs)
        common = common_labels(spectrum.label_mean)
        self.label_means_ = rows.place(spectrum.label_mean - common)
        offset = common @ (axes.directions[:, :size] * signs)
        if offset.any():
            self.mean_ = rows.place(
                moved_origin(spectrum.mean, self.components_, offset), np.float64
            )
        self.alpha_, self.beta_ = spectrum.alpha, beta
        self.adapted_ = beta > 0
        self.report_ = AdapterReport(
            used="adapted" if beta > 0 else "pca",
            reason=choice.reason,
            n_components=size,
            alpha=spectrum.alpha,
            beta=beta,
            n_rows=stream.n_rows,
            n_labelled=stream.n_labelled,
            n_labels=stream.names.size,
            original_better=choice.original_better,
            comparisons=choice.comparisons,
        )

    def settled(self) -> Adapter:
        """Return an unfitted adapter with the values that this one chose.

        Returns
        -------
        Adapter
            Without the comparison; it fits in a fraction of the time.
        """
        fitted = self._fitted()
        return Adapter(
            fitted.n_components_,
            alpha=fitted.alpha_,
            beta=fitted.beta_,
            compare=False,
            random_state=self._seed,
        )

    # --- use --------------------------------------------------------------------------

    transform = transform_with_labels
    inverse_transform = inverse_transform

    def _label_moves(self) -> Array:
        return self.label_directions_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _labels_of_batch(y: Any, n_rows: int, classes: Any, stream: AdapterStream | None) -> Labels:
    """Read labels of a batch, in the columns of the batches before it."""
    if stream is not None:
        labels = labels_as_fitted(y, n_rows, stream.names, "Adapter")
        if labels.kind != stream.kind and labels.labelled.any():
            raise InvalidLabels(
                f"Adapter: the labels were read as {stream.kind} before and as {labels.kind} now; "
                "pass all of them in one form."
            )
    else:
        given = None if classes is None else np.asarray(classes)
        labels = read_labels(y, n_rows, "Adapter", part=given is not None, classes=given)
        if given is not None:
            names = np.unique(given) if labels.kind == "classes" else given
            labels = replace(labels_as_fitted(y, n_rows, names, "Adapter"), names=names)
    _refuse_targets(labels)
    if labels.unknown is not None and labels.unknown[labels.labelled].any():
        raise InvalidLabels(
            "Adapter: partial_fit takes rows whose labels are all known or all unknown, but some "
            "rows have single unknown entries; use fit, which supports them, write 0 for "
            "absent labels, or mark the whole row."
        )
    return labels


def _refuse_targets(labels: Labels) -> None:
    if labels.kind == "targets":
        raise InvalidLabels(
            "Adapter takes classes or a 0/1 indicator, but y has continuous targets; use OPLS or "
            "MLSI for those."
        )


def _refuse_wide(columns: int) -> None:
    if columns > DIRECT_LIMIT:
        raise InvalidInput(
            f"Adapter keeps a {columns} x {columns} array, above the limit of {DIRECT_LIMIT} "
            "columns; use MLSI, which supports data of any width."
        )
