"""The estimator that compresses and adapts vectors with labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import methodcaller
from typing import Any, ClassVar, Self, cast

from .._params import Boolean, Constraint, Either, Integer, OneOf, Real
from .._typing import Array
from ..errors import InvalidInput, InvalidLabels
from ..estimators._streams import Stream
from ..estimators.base import Embedding, inverse_transform, transform_with_labels
from ..estimators.row_sample import RowSample
from ..estimators.solving import seed_of
from ..estimators.training import few_threads, fitting
from ..labels import Labels, read_labels
from ..operators.convert import sparse_table
from ..solvers.alpha import warn_at_end
from ..solvers.limits import DIRECT_LIMIT
from .adapter_report import AdapterReport
from .label_map import LabelMap
from .map_choice import choose_map

__all__ = ["Adapter"]

_OF_THE_MAP = (
    "components_",
    "mean_",
    "eigenvalues_",
    "n_components_",
    "n_iter_",
    "solver_",
    "status_",
    "classes_",
    "label_kind_",
    "label_ndim_",
    "label_directions_",
    "label_means_",
    "alpha_",
    "beta_",
)


class Adapter(Embedding):
    r"""Compress model embeddings and adapt them to labels, by one linear map.

    For embeddings from a language or image model and your own labels: fewer dimensions, and nearest
    neighbours that share labels. The map is that of :class:`MLSI`, in the units of the vectors, and
    computed in closed form, from one pass over the data.
    Its axes are sorted: the first m columns of ``transform(X)`` are the result for m dimensions.

    The fit compares the map on held-out rows with the original vectors and with PCA to the same
    number of dimensions, for training labels and for held-out labels, on a sample of 2,400
    labelled rows and 1,000 others. If no gain over PCA is certain (2.5 standard errors, beyond
    what the same neighbours would gain for labels of other rows), or fewer than 20 rows have
    labels, the fit returns PCA, and ``report_`` says so. If the original vectors are better than
    the map, ``report_`` and ``status_`` say so.

    Special cases: ``beta=0`` is PCA, and ``beta=1`` keeps only directions of the labels.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of dimensions. "auto" takes 64, or more if more are better on held-out rows, or, with
        a beta of 0.5 or less, if PCA to 64 keeps less than 95% of the variance.
    alpha : float or "auto", default="auto"
        Regularization strength of the regression of labels on vectors; "auto" chooses it as
        :class:`MLSI` does, on the sample.
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
        How the map was computed, and whether the original vectors were better on held-out rows.
    adapted_ : bool
        Whether labels shaped the map; False if it is PCA.
    alpha_, beta_ : float
        The values used.
    classes_ : array of shape (k,)
        Names of the labels.
    label_kind_, label_ndim_ : {"classes", "indicator"}, int
        How ``y`` was read: as a vector of classes or columns, and its number of dimensions.
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
    are compared by cosine; ``transform`` does not normalise them. If their lengths vary (by more
    than a fifth, on average), all axes are orthogonal to the mean, so that the length of a
    vector does not change its direction in the embedding; ``report_`` says so.

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

    @fitting
    @few_threads
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
        if rows.shape[1] > DIRECT_LIMIT:
            raise InvalidInput(
                f"Adapter takes vectors of at most {DIRECT_LIMIT} dimensions, but X has "
                f"{rows.shape[1]}; use MLSI, which supports data of any width."
            )
        labels = self._read_labels(y, rows.shape[0], keep_sparse=sparse_table(y))
        sample = RowSample.of(rows, labels, start=0, seed=seed_of(self))
        counts = int(labels.labelled.sum()), rows.shape[0]
        solver = "auto" if labels.sparse else "exact"
        self._set_map(sample, counts, solver, lambda model: model.fit(rows, labels))
        return self

    def _fit_stream(self, stream: Stream) -> None:
        counts = stream.seen("Adapter").n, stream.n
        assert stream.sample is not None
        fit = methodcaller("_fit_stream", stream)
        self._set_map(stream.sample, counts, "exact", fit)

    def _read_labels(self, y: Any, n_rows: int, **options: Any) -> Labels:
        labels = read_labels(y, n_rows, "Adapter", **options)
        if labels.kind == "targets":
            raise InvalidLabels(
                "Adapter takes classes or a 0/1 indicator, but y has continuous targets; use OPLS "
                "or MLSI for those."
            )
        return labels

    def _stream_block(self, labels: Labels) -> Array:
        return labels.values

    def _why_no_stream(self) -> None:
        return None

    def _set_map(
        self,
        sample: RowSample,
        counts: tuple[int, int],
        solver: str,
        fit: Callable[[LabelMap], Any],
    ) -> None:
        """Choose a map, and set its attributes; ``counts``: labelled rows, all rows."""
        n_labelled, n_rows = counts
        if n_labelled < 2:
            raise InvalidInput("Adapter needs at least two labelled rows; pass more.")
        choice = choose_map(self, sample, n_labelled, n_rows)
        if self.alpha == "auto" and choice.beta > 0:
            warn_at_end(choice.curve, "Adapter")
        model = LabelMap(
            choice.size,
            alpha=choice.alpha,
            beta=choice.beta,
            solver=solver,
            without_mean=choice.without_mean,
        )
        fit(model)
        size = model.n_components_
        self._count(size, f"the map has {size} directions", 0)
        stream = vars(self).get("_stream")
        self._forget()
        if stream is not None:
            self._stream = stream
        for name in _OF_THE_MAP:
            setattr(self, name, getattr(model, name))
        self.adapted_ = choice.beta > 0
        if choice.original_better:
            self.status_ += "; the original vectors were better on held-out rows"
        left_out = " The lengths of the vectors vary; the direction of their mean is left out."
        self.report_ = AdapterReport(
            used="adapted" if self.adapted_ else "pca",
            reason=choice.reason + left_out * choice.without_mean,
            n_components=size,
            alpha=choice.alpha,
            beta=choice.beta,
            n_rows=n_rows,
            n_labelled=n_labelled,
            n_labels=self.classes_.size,
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
            random_state=cast(int, fitted.random_state),
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
