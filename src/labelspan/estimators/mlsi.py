"""Multi-label informed latent semantic indexing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import lstsq, pinvh

from .._params import Constraint, Either, Null, OneOf, Real
from .._typing import Array
from ..errors import InvalidLabels, Mismatch
from ..labels.factor import equalizing_weights
from ..operators import Scaled, as_operator
from ..operators.array_backend import host, inner, on_host, scale_columns
from ..operators.digits import block_rank
from ..solvers import AlphaCurve, Problem, Solution, Solver
from ..solvers.missing_labels import complete_labels
from ..solvers.ridge import direct_ridge
from ._streams import Stream, why_no_stream
from .base import LabelledEmbedding, inverse_transform, transform_with_labels
from .options import ALPHA, RANK, SHARED, described
from .solving import choose_penalty, dimensions_for, threads_for
from .thresholds import label_thresholds
from .training import (
    TrainingRows,
    fitting,
    squared_norm,
    stream_rows,
    training_rows,
)

__all__ = ["MLSI", "common_labels", "label_trust", "moved_origin"]

# Relative error of the image of a step for which products of rows are accurate enough.
_CLOSE = 1e-8
# Labels on a larger fraction of the rows are not centred.
_COMMON = 0.5
# The largest weight that beta="auto" gives to the labels, so that features keep some, and the
# weight of labels relative to features if all labels are known. With labels on a part of the rows
# it is less, half of it with 300: on five development sets nDCG@10 is then .366, .368, .380 and
# .390 with 30, 75, 150 and 375 labelled rows, and .357, .352, .372, .388 if the number is ignored
# (LSI .355; .319 on the sets that have 375). Below the smallest weight neighbours gain nothing, and
# label scores lose: on seven development sets with 2 to 25% of the labels the mean average
# precision is .003 higher with .02 than with what may be 0.
_LEAST_BETA, _MOST_BETA, _RATIO, _FEW = 0.02, 0.65, 4.0, 300.0


@described
class MLSI(LabelledEmbedding):
    r"""Multi-label informed latent semantic indexing (yu2005).

    Minimises ``(1 - beta) |X - V A|^2 + beta |Y - V B|^2`` over V with orthonormal columns
    and ``V = X W``: one embedding that explains the features and the labels. X and Y are first
    centred and balanced: X is divided by its norm, each label by the square root of its standard
    deviation, and all labels by the norm of the part that the features explain.

    The labels enter through their ridge regression on X, so the embedding is defined for rows
    without labels and the fit costs about one truncated SVD. Rows without labels contribute their
    features and fitted labels: the method is semi-supervised.

    Special cases: ``beta=0`` is :class:`LSI` with the same ``center``; ``beta=1`` keeps only
    directions of the labels, at most k. With more rows than features it is principal covariates
    regression. The forms of the paper are :class:`labelspan.papers.yu2005.PaperMLSI`.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        None keeps 100, or the rank if that is smaller.
        {rank}
    beta : float or "auto", default="auto"
        Weight of the labels, from 0 to 1. "auto" is ``4 t / (1 + 4 t)``, from 0.02 to 0.65, with
        ``t = (R2 + s^2 (1 - R2)) n / (n + 300 (1 - s))``: s is the fraction of known labels, R2 the
        leave-one-out R2 of their regression, and n the number of labelled rows. With all labels
        known it is 0.65; with few, less. If labels will be added
        later, use 0.1, which keeps more of the features.
    alpha : float or "auto", default="auto"
        Regularization strength of the label regression, in the units of X. "auto" chooses the value
        with which ridge regression of the labels on the features predicts best: by the exact
        leave-one-out error if there are up to 1,000 labelled rows or columns, on held-out rows if
        both are larger.
    label_weight : {"balanced"} or None, default="balanced"
        "balanced" divides each label by the square root of its standard deviation, so that rare
        labels count more; None does not scale the labels.
    center : bool, default=True
        Whether to centre the columns of X and Y; a sparse X stays sparse. A label on more than half
        of the rows keeps its mean in the embedding: by cosine, rows that share only this label
        would otherwise have nothing in common.
    solver : str or solver, default="auto"
        "exact" decomposes the data; "krylov" uses one Krylov space, to a given accuracy, for data
        where both n and d are large.
    tol : float or None, default=None
        For "krylov": stop when the estimated missing part of the objective is below this fraction
        of it; None means 1e-2.
    max_iter : int or None, default=None
        For "krylov": maximum number of blocks.
    random_state : int, RandomState or None, default=0
        Seed of solvers that use random numbers.

    Attributes
    ----------
    components_ : array of shape (m, d)
        Directions of the features, longer where they explain more.
    eigenvalues_ : array of shape (m,)
        Eigenvalues of the balanced problem; their sum is at most 1.
    mean_ : array of shape (d,)
        The row that is mapped to the origin: the column means, zeros without ``center``. With a
        label on more than half of the rows it is moved, so that this label is not centred.
    {labels}
    label_directions_ : array of shape (k, m) or None
        Contribution of known labels to the embedding of a row in ``transform(X, labels=Y)``; None
        if the solver does not provide it.
    beta_ : float
        The weight of the labels used.
    {alpha_, counts, features, solver_}

    See Also
    --------
    LSI : The same without labels.
    OPLS : Only what predicts the labels.
    CCA : Only what correlates with the labels.
    KernelFeatures : Kernel features as input for it.
    labelspan.papers.yu2005.PaperMLSI : The forms of the paper.

    Notes
    -----
    The directions are the leading solutions of

    .. math:: X^\top ((1 - \beta) X X^\top + \beta \hat Y \hat Y^\top) X w
              = \lambda X^\top X w , \qquad
              \hat Y = X (X^\top X + \alpha I)^{-1} X^\top Y ,

    with X and the fitted labels :math:`\hat Y` divided by their norms, scaled by
    :math:`\sqrt{\lambda}`. "krylov" represents more than 256 labels, unless a regression of each
    costs little, by the combinations of them that hold most of their squared norm: 32 more than
    there are components.

    References
    ----------
    .. [1] Yu, K., Yu, S., & Tresp, V. (2005). Multi-label informed latent semantic indexing.
           SIGIR. https://doi.org/10.1145/1076034.1076080

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelspan import MLSI
    >>> X, Y = make_multilabel_classification(200, n_features=50, random_state=0)
    >>> model = MLSI(8).fit(X, Y)
    >>> model.transform(X).shape, model.label_scores(X).shape
    ((200, 8), (200, 5))
    """

    beta_: float
    label_directions_: Array | None

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **SHARED,
        "n_components": RANK,
        "beta": Either((Real(0.0, 1.0), OneOf(("auto",)))),
        "alpha": ALPHA,
        "label_weight": Either((OneOf(("balanced",)), Null())),
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        beta: float | str = "auto",
        alpha: float | str = "auto",
        label_weight: str | None = "balanced",
        center: bool = True,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.alpha = alpha
        self.label_weight = label_weight
        self.center = center
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fitting
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the embedding from features and labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : vector of classes, or array or sparse matrix of shape (n, k)
            -1 or NaN marks unknown entries. Each label is regressed on the rows where it is known,
            and its fitted values replace the unknown entries, which costs one more regression (for
            single unknown entries, an iteration with one column per label).

        Returns
        -------
        self
            The fitted estimator.
        """
        rows, alpha, curve, beta = self._prepared(X, y)
        self._fit_rows(rows, alpha, curve, beta)
        return self

    @fitting
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Learn the embedding, and embed the training rows.

        The same as ``fit(X, y).transform(X)``, up to rounding. On large data it costs a fraction of
        :meth:`transform`, because the solver has already processed the rows.

        Parameters
        ----------
        X, y : features and labels
            As in :meth:`fit`.

        Returns
        -------
        Z : array of shape (n, m)
            The embedded rows.
        """
        rows, alpha, curve, beta = self._prepared(X, y)
        solution, lengths = self._fit_rows(rows, alpha, curve, beta)
        if solution.embed is None or rows.X.device is not None:
            return self.transform(X)
        embedded = scale_columns(solution.embed(), lengths)
        origin = host(rows.means) - host(self.mean_)
        if origin.any():
            embedded = embedded + origin @ host(self.components_).T
        return rows.to_device(embedded)

    def _fit_rows(
        self,
        rows: TrainingRows,
        alpha: float,
        curve: AlphaCurve | None,
        beta: float,
        weights: Array | None = None,
    ) -> tuple[Solution, Array]:
        """Solve, and set the fitted attributes; return the scale of the directions, with signs."""
        with threads_for(rows.X):
            # The labels, each with a weight that does not depend on what is filled in.
            weights = self._label_weights(rows) if weights is None else weights
            if rows.labels.unknown is not None and beta > 0:
                rows = self._completed(rows, alpha)
            squares = rows.Y.column_squares()
            scale = weights * np.sqrt(beta / (float(squares @ np.square(weights)) or 1.0))
            solution = self._solve(self._problem(rows, scale, alpha, beta))  # W, lambda
            lengths = solution.lengths
            axes = scale_columns(solution.weights, lengths)  # sqrt(lambda) W
            signs = self._set_fitted(rows, axes, solution.eigenvalues, solution)
            self.alpha_, self.alpha_curve_, self.beta_ = alpha, curve, beta
            if solution.label_axes is not None and solution.images is not None:
                directions = scale[:, None] * on_host(solution.label_axes) * signs
                # V'X B: with all components the scores are the prediction of ridge regression.
                images = solution.images / scale
            else:
                directions = np.zeros((scale.size, signs.size)) if beta == 0 else None
                images = self._label_images(rows, solution.weights)  # V'Y
            self.label_directions_ = None if directions is None else rows.to_device(directions)
            self._set_label_map(rows, (signs / lengths)[:, None] * images)
            if self._has_thresholds(rows):
                own = None
                if directions is not None and beta > 0:
                    own = lambda _, labels: labels @ on_host(self.label_directions_)  # noqa: E731
                self.label_thresholds_ = label_thresholds(self, rows, own, alpha, solution.leverage)
            self._keep_common_labels(rows)
        return solution, signs * lengths

    def _problem(self, rows: TrainingRows, scale: Array, alpha: float, beta: float) -> Problem:
        X, Y, n = rows.X, rows.Y, rows.n
        columns = X.shape[1]
        rank = block_rank(Y.to_block()) if beta == 1 else Y.shape[1]
        most, reason = min(n - self.center, columns), f"X has {n} rows and {columns} columns"
        if beta == 1 and rank < most:
            most, reason = rank, f"with beta=1 only the {rank} directions of the labels count"
        wanted = dimensions_for(rank, n) if self.n_components == "auto" else 100
        # The two sides have traces 1 - beta and beta: X is divided by its norm, the labels by the
        # norm of the fitted ones.
        weight = (1.0 - beta) / squared_norm(self, X)
        return Problem(
            X,
            Scaled(Y, columns=scale) if beta > 0 else None,
            self._count(most, reason, default=wanted),
            alpha if beta > 0 else 0.0,
            feature_weight=weight,
            label_norm=float(np.sqrt(beta)),
            leverage=beta > 0 and self._has_thresholds(rows),
            decomposition=rows.decomposition,
        )

    # --- what is chosen from the data -------------------------------------------------

    def _prepared(self, X: Any, y: Any) -> tuple[TrainingRows, float, AlphaCurve | None, float]:
        """Read X and y, and choose alpha and beta, on the labelled rows."""
        self._check_params()
        sparse = self.solver == "auto" and self.beta not in (0, 1)
        rows = training_rows(self, X, y, keep_sparse=sparse, on_device=True, unlabelled=True)
        index, known = None, 1.0
        if rows.labels.unknown is not None:
            index = np.flatnonzero(rows.labels.labelled)
            known = 1.0 - float(rows.labels.unknown.mean())
        with threads_for(rows.X):
            return rows, *self._choose_parameters(
                rows, index, rows.n if index is None else index.size, known
            )

    def _choose_parameters(
        self, rows: TrainingRows, index: Array | None, labelled: int, known: float
    ) -> tuple[float, AlphaCurve | None, float]:
        """Return alpha, its curve, and beta, for a number of rows and the part of known labels."""
        if self.alpha == "auto" and self.beta == 0:
            return 0.0, None, 0.0
        alpha, curve = choose_penalty(self, rows, index)
        if self.beta != "auto":
            return alpha, curve, float(self.beta)
        errors = curve
        if errors is None and known < 1:
            # With a given alpha there are no leave-one-out errors.
            errors = choose_penalty(self, rows, index, choose=True)[1]
        return alpha, curve, label_trust(errors, labelled, known)

    def _label_weights(self, rows: TrainingRows) -> Array:
        """Return the factor of each label, from its mean square over the rows where it is known."""
        squares = rows.Y.column_squares()
        if self.label_weight is None:
            return np.ones(squares.size)
        unknown = rows.labels.unknown
        known = rows.n if unknown is None else np.maximum((~unknown).sum(axis=0), 1)
        return equalizing_weights(squares / known)

    def _completed(self, rows: TrainingRows, alpha: float) -> TrainingRows:
        """Return the rows with fitted values for unknown labels, centred if X is."""
        labels = rows.labels
        values = complete_labels(
            rows.X, labels.values, labels.unknown, alpha, intercept=self.center, owner="MLSI"
        )
        means = values.mean(axis=0) * self.center
        return replace(rows, Y=as_operator(values - means), label_means=means)

    @staticmethod
    def _label_images(rows: TrainingRows, weights: Array) -> Array:
        """Return V'Y, for a solver that does not tell the directions of the labels."""
        # At unit length, because products of large targets may overflow the dtype of X.
        length = np.sqrt(rows.Y.sum_of_squares()) or 1.0
        return np.asarray(length * inner(weights, rows.X.rmatmat(rows.Y.to_block() / length)))

    def _keep_common_labels(self, rows: TrainingRows) -> None:
        """Move the origin so that labels on more than half of the rows are not centred.

        By cosine, rows that only share such a label have nothing in common after centring.
        """
        directions = self.label_directions_
        common = common_labels(host(rows.label_means))
        if self.label_kind_ == "targets" or directions is None or not common.any():
            return
        offset = common @ host(directions)
        self.mean_ = rows.to_device(moved_origin(rows.means, self.components_, offset), np.float64)
        self.label_means_ = rows.to_device(
            host(rows.label_means) - offset @ host(self.label_loadings_)
        )

    # --- maps -------------------------------------------------------------------------

    transform = transform_with_labels
    inverse_transform = inverse_transform

    def _label_moves(self) -> Array:
        if self.label_directions_ is None:
            raise Mismatch(
                "MLSI: transform with labels= needs a built-in solver, but "
                f"solver={self.solver!r} was given; omit labels."
            )
        return self.label_directions_

    # --- partial_fit ------------------------------------------------------------------

    _why_no_stream = why_no_stream

    def _fit_stream(self, stream: Stream) -> None:
        seen = stream.seen("MLSI")
        if seen.n < 2:
            raise InvalidLabels("MLSI: partial_fit has not received any labelled rows; pass some.")
        rows = stream_rows(self, stream)
        alpha, curve, beta = self._choose_parameters(rows, None, seen.n, seen.n / stream.n)
        weights = self._label_weights(rows)
        if stream.unlabelled is not None:
            slopes = np.zeros((rows.X.shape[1], rows.Y.shape[1]))
            if beta > 0:
                slopes = direct_ridge(rows.X, rows.Y.to_block(), alpha).slopes.to_block()
            fitted = stream.unlabelled.with_labels(slopes, rows.means, rows.label_means)
            rows = stream_rows(self, replace(stream, labelled=seen.join(fitted)))
        self._fit_rows(rows, alpha, curve, beta, weights)


def common_labels(means: Array) -> Array:
    """Return the means of labels on more than half of the rows, and zeros for others."""
    return np.where(means > _COMMON, means, 0.0)


def moved_origin(means: Array, components: Array, offset: Array) -> Array:
    """Return the row next to ``means`` from which these have an offset in the embedding."""
    rows = host(components)
    # The shortest step whose image is the offset, from the products of the rows at unit length.
    lengths = np.linalg.norm(rows, axis=1).astype(np.float64)
    lengths[lengths == 0] = 1.0
    gram = np.asarray(rows @ rows.T, dtype=np.float64) / np.outer(lengths, lengths)
    step: Array = (pinvh(gram) @ (offset / lengths) / lengths) @ rows
    allowed = max(_CLOSE, 1e3 * float(np.finfo(rows.dtype).eps)) * np.linalg.norm(offset)
    if np.linalg.norm(rows @ step - offset) > allowed:
        step = lstsq(rows, offset, lapack_driver="gelsy")[0]
    return np.asarray(host(means) - step)


def label_trust(curve: AlphaCurve | None, rows: int, known: float) -> float:
    """Return the weight of labels from their regression, their rows, and the fraction known."""
    explained = 0.0
    if curve is not None and curve.errors[-1] > 0:
        # At the largest penalty almost nothing is fitted: the error is that of the means.
        explained = max(0.0, 1.0 - curve.error / float(curve.errors[-1]))
    trust = explained + known**2 * (1.0 - explained)
    ratio = _RATIO * trust * rows / (rows + _FEW * (1.0 - known))
    return min(_MOST_BETA, max(_LEAST_BETA, ratio / (1.0 + ratio)))
