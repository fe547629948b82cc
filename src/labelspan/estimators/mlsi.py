"""Multi-label informed latent semantic indexing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np

from .._params import Boolean, Constraint, Either, OneOf, Real
from .._typing import Array
from ..errors import InvalidLabels, InvalidParameter, Mismatch, NotConverged, warn_caller
from ..labels import Labels
from ..labels.factor import (
    Balance,
    Form,
    block_rank,
    equalizing_weights,
    square_rank,
    stack_weights,
)
from ..operators import Operator
from ..operators.array_backend import column_norms, inner, on_host, scale_columns, sum_of_squares
from ..operators.kernel_map import KERNEL_LIMIT, Kernel, KernelMap
from ..solvers import AlphaCurve, Problem, Solution, Solver, Statistics, solve_statistics
from ..solvers.known_entries import Completed, complete_labels, trust_in_labels
from ..solvers.penalties import L2
from ..solvers.small_dense import psd_solve
from ._base import Features, all_or_nothing, invert, learned, refuse_overflow, squared_norm
from ._concatenated import fit_concatenated
from ._labelled import LabelledEmbedding
from ._many_labels import fit_stack
from ._options import (
    ALPHA,
    FUNCTION,
    LABEL_KERNELS,
    OPTIONS,
    RANK,
    SCALE,
    SHARED,
    accept,
    choose_penalty,
    dimensions_for,
    solve,
)
from ._partial_fit import Stream, why_no_stream
from ._placing import placed_by_labels

__all__ = ["MLSI"]


class MLSI(LabelledEmbedding):
    r"""Multi-label informed latent semantic indexing (yu2005).

    Minimises ``(1 - beta) |X - V A|^2 + beta |Y - V B|^2`` over V with orthonormal columns
    and ``V = X W``: one small space that explains the features and the labels. X and Y
    are centred and balanced first: X is divided by its norm, each label by the root of its
    standard deviation, and all labels by the norm of the part that the features explain.

    The labels enter through their regression on X, so that the space exists for rows
    without labels and the fit costs about one truncated SVD. Four forms:

    - ``"ridge"``: ridge regression with ``alpha`` in the units of X. It scales and
      generalises. With ``alpha=0``, ``balance="labels"`` and ``center=False`` it is yu2005 with
      gamma = 0.
    - ``"inverse"``: yu2005's Eq. 8 and 12, ``alpha`` being its gamma on the balanced X; with
      ``center=False`` to the letter.
    - ``"direct"``: yu2005's Eq. 4 with a ridge, ``X'CX w = lambda (X'X + alpha I) w``,
      with ``alpha`` in the units of X.
    - ``"concatenated"``: not one compromise but two blocks of axes: those of :class:`LSI`, and the
      leading directions of :class:`OPLS`. Each block is divided by its norm and weighted by ``1 -
      beta`` or ``4 beta``, and the labels have at most as large a part of the dimensions; where few
      labels are known, down to ``beta``. For labels that are still to come: it keeps more of the
      features than "ridge", and less of the labels that it has seen.

    Special cases: ``beta=0`` is :class:`LSI` with the same ``center``; ``beta=1`` keeps only
    directions of the labels, at most k. With more rows than features it is principal covariates
    regression.
    Rows without labels take part with their features and fitted labels: the method is
    semi-supervised.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        None keeps 100, or the rank where that is less. "auto" goes by the labels and rows: a
        third of the labels, at least 100 and at most 500 or a quarter of the rows.
    beta : float, default=0.5
        Weight of the labels, from 0 to 1.
    alpha : float or "auto", default="auto"
        Regularization strength; what it means depends on ``form``. "auto" chooses, for "ridge"
        and "direct", the strength with which ridge regression of the labels on the features
        predicts best: by the exact leave-one-out error where there are up to 1,000 labelled rows
        or columns, by held-out rows where both are more (about five products with X, 8 columns
        wide), by generalized cross-validation in a stream. For "inverse" it is 0, the paper's
        choice, because the gamma of the paper is not a ridge penalty.
    form : {"ridge", "inverse", "direct", "concatenated"}, default="ridge"
        How the labels enter; "concatenated" needs ``solver="auto"`` and a linear label kernel.
    balance : {"equalized", "fitted", "labels"} or bool, default="equalized"
        What the two sides are divided by, so that ``beta`` weighs equals.

        - "fitted": X by its norm, and the labels by the norm of the fitted labels X B. A strong
          penalty shrinks these, and they would lose their weight if divided by the norm of Y.
        - "equalized": the same, and before that each label by the root of its standard deviation,
          so that rare labels count more. The label scores go by the fitted labels: with all
          components they are the prediction of ridge regression.
        - "labels": X and Y by their norms, as in the paper; True means the same.
        - False: nothing.

        In the forms "inverse" and "direct" and with a label kernel, the first two are "labels";
        ``form="concatenated"`` only distinguishes "equalized" from the others.
    scale : {"eigenvalue"} or None, default="eigenvalue"
        "eigenvalue" gives ``sqrt(lambda_j) w_j'x``, so that better directions are longer;
        None gives ``w_j'x``. The paper is printed both ways.
    center : bool, default=True
        Whether to centre the columns of X and Y; a sparse X stays sparse. The paper does not.
    kernel : str or callable, default="linear"
        "linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "precomputed", or a function
        of two rows. Anything but "linear" is solved in the dual, exactly, up to 5,000 rows.
    gamma, degree, coef0 : float
        Parameters of the kernel, as in scikit-learn's ``KernelPCA``.
    kernel_params : dict or None, default=None
        Parameters of a kernel that is a function.
    landmarks : int or None, default=None
        Number of rows that represent all rows in the kernel (Nystroem approximation), for data
        with more rows than the exact dual takes.
    label_kernel : str or callable, default="linear"
        A kernel on the rows of Y, where the similarity of label sets is not the number of
        shared labels (yu2005, Table 2). Up to 5,000 labelled rows.
    label_kernel_params : dict or None, default=None
        ``gamma``, ``degree`` and ``coef0`` of the label kernel, or the parameters of a kernel that
        is a function.
    solver : str or solver, default="auto"
        "exact" decomposes the data; "krylov" finds everything in one Krylov space with a
        stated accuracy, for data where both n and d are large.
    tol : float or None, default=None
        For "krylov": stop when the estimated objective not yet found is below this fraction
        of the objective found; None is 1e-2.
    max_iter : int or None, default=None
        Maximum number of iterations, for iterative solvers.
    random_state : int, RandomState or None, default=0
        Seed of solvers that use random numbers.

    Attributes
    ----------
    components_ : array of shape (m, d)
    eigenvalues_ : array of shape (m,)
        Of the balanced problem: they sum to at most 1.
    mean_ : array of shape (d,)
    classes_ : array of shape (k,)
        Names of the labels.
    label_loadings_ : array of shape (m, k)
        From the space back to labels.
    label_means_ : array of shape (k,)
    label_directions_ : array of shape (k, m) or None
        What known labels add to the place of a row in ``transform(X, labels=Y)``; None for forms
        without it.
    alpha_ : float
        Regularization strength that was used.
    alpha_curve_ : AlphaCurve or None
        Prediction error for each strength that was tried, where ``alpha="auto"``.
    dual_coef_, X_fit_ : arrays of shape (n, m) and (n, d)
        With a kernel, instead of ``components_`` and ``mean_``.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of iterations; 1 for a direct solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, where X is a data frame.
    solver_ : str
        Name of the solver used.
    status_ : str
        Convergence message.

    See Also
    --------
    LSI : The same without labels.
    OPLS : Only what predicts the labels.
    CCA : Only what correlates with the labels.
    labelspan.papers.yu2005.supervised_lsi : The optimum for the training rows, without a map.

    Notes
    -----
    MLSI solves

    .. math:: \min_{V^\top V = I, V = X W} (1 - \beta) |X - V A|^2 + \beta |Y - V B|^2 ,

    where X and Y are centred and divided by their norms. Its directions are the leading solutions
    of :math:`X^\top ((1 - \beta) X X^\top + \beta \hat Y \hat Y^\top) X w = \lambda X^\top X w`,
    with :math:`\hat Y` the ridge regression of the labels on the features.

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

    label_directions_: Array | None = learned()

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **SHARED,
        "n_components": RANK,
        "beta": Real(0.0, 1.0),
        "alpha": ALPHA,
        "form": OneOf(("ridge", "inverse", "direct", "concatenated")),
        "balance": Either((OneOf(("equalized", "fitted", "labels")), Boolean())),
        "label_kernel": Either((OneOf(LABEL_KERNELS), FUNCTION)),
        "label_kernel_params": OPTIONS,
        "scale": SCALE,
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        beta: float = 0.5,
        alpha: float | str = "auto",
        form: str = "ridge",
        balance: str | bool = "equalized",
        scale: str | None = "eigenvalue",
        center: bool = True,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        landmarks: int | None = None,
        label_kernel: str | Callable[..., float] = "linear",
        label_kernel_params: Mapping[str, Any] | None = None,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.alpha = alpha
        self.form = form
        self.balance = balance
        self.scale = scale
        self.center = center
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.label_kernel = label_kernel
        self.label_kernel_params = label_kernel_params
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_params(self) -> None:
        super()._check_params()
        if self.form == "inverse" and self.beta == 1:
            raise InvalidParameter(
                "MLSI: form='inverse' needs beta below 1, but beta=1 was given; use form='ridge'."
            )
        named = isinstance(self.solver, str) and self.solver != "auto"
        if self.form == "concatenated" and (self.label_kernel != "linear" or named):
            raise InvalidParameter(
                "MLSI: form='concatenated' needs label_kernel='linear' and solver='auto'; leave "
                "both out."
            )
        unknown = set(self.label_kernel_params or ()) - {"gamma", "degree", "coef0"}
        if unknown and not callable(self.label_kernel):
            raise InvalidParameter(
                "MLSI: label_kernel_params may hold gamma, degree and coef0, "
                f"but has {', '.join(sorted(map(str, unknown)))}."
            )

    @all_or_nothing
    @refuse_overflow
    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Learn the space from features and labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : vector of classes, or array or sparse matrix of shape (n, k)
            -1 or NaN marks unknown entries. With ``form="ridge"`` each label is regressed on the
            rows where it is known, and its fitted values stand for the unknown entries, at the
            price of one more regression (for single unknown entries, of an iteration with
            products as wide as there are labels). In the other forms unknown entries add nothing.
            With ``form="ridge"`` also :class:`~labelspan.operators.RowFiles`, all known, in blocks
            of the same rows as those of X: memory then does not grow with the number of rows.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._learn(X, y)
        return self

    @all_or_nothing
    @refuse_overflow
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Learn the space, and map the rows that it was learned from.

        The same as ``fit(X, y).transform(X)``, up to rounding. On large data it costs a fraction of
        :meth:`transform`, because the solver has met the rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : labels as :meth:`fit` takes them
            The labels.

        Returns
        -------
        Z : array of shape (n, m)
            The places of the rows.
        """
        places = self._learn(X, y)
        return self.transform(X) if places is None else places()

    def _learn(self, X: Any, y: Any) -> Callable[[], Array] | None:
        """Fit; return what gives the places of the rows of X where they need no product with it."""
        self._check_params()
        features = self._read_features(X)
        labels = self._labels_of(
            features.operator,
            y,
            keep_sparse=self._keeps_sparse,
            on_device=self.label_kernel == "linear",
        )
        operator, means = self._center(features.operator, features.kernel_map)  # X
        if labels.many:
            fit_stack(self, features, (operator, means), labels)
            return None
        values, label_means = self._label_values(labels)  # Y
        informed = values if self.label_kernel == "linear" else self._label_features(labels)
        alpha, curve = self._penalty(operator, informed, labels)
        weights_of_labels = self._label_weights(values, labels)
        trust = 1.0
        if self._completes and labels.unknown is not None:
            completed, label_means = self._complete(operator, labels, alpha)
            informed = values = completed.values
            trust = self._trust(curve, completed.explained, 1.0 - float(labels.unknown.mean()))
        if self.form == "concatenated":
            found = fit_concatenated(
                self,
                features,
                (operator, means),
                values,
                alpha,
                weights=weights_of_labels,
                trust=trust,
            )
            self._publish_labels(features, labels.names, found[0], label_means)
            self.label_directions_ = features.place(found[1])
            self.alpha_, self.alpha_curve_ = alpha, curve
            return None
        stack = stack_weights(
            x_square=squared_norm(self, operator),
            y_square=_weighted_square(np.square(column_norms(informed)), weights_of_labels),
            beta=self.beta,
            alpha=alpha,
            form=cast(Form, self.form),
            balance=cast(Balance, self.balance),
        )
        rank = block_rank(informed) if self.beta == 1 else informed.shape[1]
        count = self._components(operator.shape, rank)
        penalty = L2(alpha if self.form == "direct" else 0.0)
        factor = stack.factor(informed, weights_of_labels)
        solution = solve(self, Problem(operator, factor, count, penalty))
        roots = self._roots(solution)  # sqrt(lambda)
        scale = _times(stack.scale, weights_of_labels)
        images = self._fitted_images(solution, scale)  # V'X B
        if images is None:
            images = self._label_images(operator, values, scale, solution)  # V'Y
        weights = scale_columns(solution.weights, roots)  # W
        signs = self._publish(features, weights, means, solution.eigenvalues, solution)
        loadings = (signs / roots)[:, None] * images
        self._publish_labels(features, labels.names, loadings, label_means)
        self._publish_directions(features, solution, signs, scale)
        self.alpha_, self.alpha_curve_ = alpha, curve
        embed = solution.embed
        if embed is None or features.kernel_map is not None or operator.device is not None:
            return None
        return lambda: features.place(scale_columns(embed(), signs * roots))

    @property
    def _equalizes(self) -> bool:
        """Whether the labels are weighted by how rare they are."""
        linear = self.label_kernel == "linear" and self.form in ("ridge", "concatenated")
        return self.balance == "equalized" and linear and self.beta > 0

    def _label_weights(self, values: Array, labels: Labels) -> Array | None:
        """Return what each label is multiplied by, from its known entries; None for ones."""
        if not self._equalizes:
            return None
        known = labels.values.shape[0] if labels.unknown is None else (~labels.unknown).sum(axis=0)
        return equalizing_weights(np.square(column_norms(values)) / np.maximum(known, 1))

    def _trust(self, curve: AlphaCurve | None, explained: float, known: float) -> float:
        """Return the factor of the weight of labels of which a part is known.

        In one space for both, labels of which few are known would lose neighbours on short texts,
        where the features are worth less still.
        """
        if self.form != "concatenated":
            return 1.0
        return known if curve is None else trust_in_labels(curve, explained, known)

    def _fitted_images(self, solution: Solution, scale: float | Array) -> Array | None:
        """Return ``V'X B``, the labels that are seen from the space where they are fitted.

        With all components the label scores are then the prediction of ridge regression. None
        where the scores go by the labels themselves.
        """
        if not self._equalizes or solution.label_axes is None:
            return None
        along = np.sqrt(np.maximum(solution.eigenvalues, 0.0))[:, None]
        return along * on_host(solution.label_axes).T / (solution.level**2 * scale)

    def _publish_directions(
        self, features: Features, solution: Solution, signs: Array, scale: float | Array
    ) -> None:
        """Set what known labels add to a place; ``scale`` is what Y was multiplied by."""
        self.label_directions_ = None
        if self.form != "ridge" or self.label_kernel != "linear":
            return
        if self.beta == 0:
            axes = np.zeros((self.classes_.size, signs.size))
        elif solution.label_axes is None:
            return
        else:
            axes = np.reshape(scale, (-1, 1)) * on_host(solution.label_axes) * signs
        lengths = np.sqrt(np.where(solution.eigenvalues > 0, solution.eigenvalues, 1.0))
        self.label_directions_ = features.place(axes if self.scale else axes / lengths)

    @refuse_overflow
    def transform(self, X: Any, labels: Any = None) -> Array:
        """Map rows to the learned space.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            With ``kernel="precomputed"``, the kernel between the rows and those of ``fit``.
        labels : labels of the form that was given to ``fit``, or None, default=None
            Known labels of the rows, for the items of a collection; -1 or NaN marks unknown
            entries, which add nothing. Rows that are placed by their labels lie closer to the new
            rows that should find them, which are placed by their features only. Only for
            the forms "ridge" and "concatenated", and linear label kernels.

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``; with a kernel, ``k(X, X_fit_) @ dual_coef_`` minus
            the mean. With labels, ``+ (Y - label_means_) @ label_directions_``: the fitted labels
            and the known ones together.
        """
        places = super().transform(X)
        if labels is None:
            return places
        fitted = self._fitted()
        if fitted.label_directions_ is None:
            raise Mismatch(
                "MLSI: transform with labels= needs a fit with form='ridge' or 'concatenated', "
                "label_kernel='linear' and a solver of labelspan; leave labels out."
            )
        return placed_by_labels(fitted, places, labels, fitted.label_directions_)

    @property
    def _completes(self) -> bool:
        """Whether labels are regressed on the rows that know them: the other forms take zeros."""
        return (
            self.form in ("ridge", "concatenated")
            and self.label_kernel == "linear"
            and self.beta > 0
        )

    def _complete(self, X: Operator, labels: Labels, alpha: float) -> tuple[Completed, Array]:
        """Return Y with fitted values where it is unknown, centred where X is; and its means."""
        assert labels.unknown is not None
        found = complete_labels(X, labels.values, labels.unknown, alpha, intercept=self.center)
        if not found.converged:
            warn_caller(
                "MLSI: the regression of labels with unknown entries stopped early; raise alpha.",
                NotConverged,
            )
        means = found.values.mean(axis=0) * self.center
        return replace(found, values=found.values - means), means

    @property
    def _no_penalty(self) -> bool:
        """Whether alpha="auto" means 0: gamma of the paper, or no label regression at all."""
        return self.alpha == "auto" and (self.form == "inverse" or self.beta == 0)

    def _penalty(
        self, X: Operator, targets: Array, labels: Labels
    ) -> tuple[float, AlphaCurve | None]:
        """Return alpha as a number, chosen on the labelled rows where it is "auto"."""
        if self._no_penalty:
            return 0.0, None
        if self.alpha == "auto" and labels.unknown is not None:
            index = np.flatnonzero(labels.labelled)
            X, targets = X.rows(index), targets[index]
        return choose_penalty(self, X, targets)

    @property
    def _keeps_sparse(self) -> bool:
        simple = self._linear and self.label_kernel == "linear" and self.solver == "auto"
        return simple and self.form == "ridge" and 0 < self.beta < 1

    def _label_features(self, labels: Labels) -> Array:
        """Return the coordinates of the labels under their kernel; zeros for unlabelled rows."""
        index = np.flatnonzero(labels.labelled)
        known = labels.values[index]
        if index.size > KERNEL_LIMIT:
            raise InvalidParameter(
                f"MLSI: label_kernel={self.label_kernel!r} on {index.size} labelled rows would "
                f"form a square array of that side, above the limit of {KERNEL_LIMIT}; "
                "use label_kernel='linear'."
            )
        options = dict(self.label_kernel_params or {})
        if callable(self.label_kernel):
            kernel = Kernel(self.label_kernel, params=options)
        else:
            kernel = Kernel(self.label_kernel, **options)
        _, coordinates = KernelMap.of(kernel, known)
        if self.center:
            coordinates -= coordinates.mean(axis=0)
        out = np.zeros((labels.values.shape[0], coordinates.shape[1]))
        out[index] = coordinates
        return out

    def _components(self, shape: tuple[int, int], rank: int) -> int:
        rows, columns = shape
        most, reason = min(rows - self.center, columns), f"X has {rows} rows and {columns} columns"
        if self.beta == 1 and rank < most:
            most, reason = rank, f"with beta=1 only the {rank} directions of the labels count"
        wanted = dimensions_for(rank, rows) if self.n_components == "auto" else 100
        return self._count(most, reason, default=wanted)

    def _label_images(
        self, X: Operator, values: Array, scale: float | Array, solution: Solution
    ) -> Array:
        """Return ``V'Y``; from the solver where it has it, else by one more product."""
        if solution.images is not None and np.all(scale) and self.label_kernel == "linear":
            return np.asarray(solution.images / scale)
        # At unit length, because products of large targets may overflow the dtype of X.
        length = np.sqrt(sum_of_squares(values)) or 1.0
        return np.asarray(length * inner(solution.weights, X.rmatmat(values / length)))

    @refuse_overflow
    def inverse_transform(self, Z: Any) -> Array:
        """Map points of the space back to features.

        Of all features that :meth:`transform` maps to Z, these are the ones closest to the
        mean. Not available with a kernel.

        Parameters
        ----------
        Z : array of shape (n, m)
            Rows of the space.

        Returns
        -------
        X : array of shape (n, d)
            The features.
        """
        return invert(self, Z)

    # --- partial_fit ------------------------------------------------------------------

    def _why_no_stream(self) -> str | None:
        if self.label_kernel != "linear":
            return "MLSI: partial_fit needs label_kernel='linear'; use fit."
        if self.form == "concatenated":
            return "MLSI: partial_fit cannot take form='concatenated'; use fit, or form='ridge'."
        return why_no_stream(self)

    def _batch(self, X: Operator, y: Any, stream: Stream) -> tuple[Operator, Array, Array | None]:
        labels = self._batch_labels(X, y, stream)
        if labels.unknown is None:
            return X, labels.values, None
        self._refuse_centred(True)
        return X, labels.values, np.flatnonzero(labels.labelled)

    def _refuse_centred(self, unlabelled: bool) -> None:
        if self.center and unlabelled and not self._completes:
            raise Mismatch(
                f"MLSI: partial_fit with center=True, form={self.form!r} and beta={self.beta} "
                "cannot take rows without labels, because the label means are known only at the "
                "end; use center=False, or fit."
            )

    @refuse_overflow
    def _fit_statistics(self, stream: Stream, statistics: Statistics) -> None:
        self._refuse_centred(stream.unlabelled)
        gram, cross, square = statistics.about(center=self.center)  # X'X, X'Y, Y'Y
        label_means = statistics.b_mean * self.center
        known = stream.labelled if stream.unlabelled else statistics
        if known is None:
            raise InvalidLabels("MLSI: partial_fit has seen no row with labels; give it some.")
        alpha, curve = 0.0, None
        if not self._no_penalty:
            alpha, curve = self._stream_penalty(*known.about(center=self.center), known.n)
        weights_of_labels = None
        if self._equalizes:
            own = known.about(center=self.center)[2]
            weights_of_labels = equalizing_weights(np.diag(own) / known.n)
        if stream.unlabelled and self._completes:
            cross, square, label_means = self._complete_statistics(statistics, known, alpha)
        stack = stack_weights(
            x_square=float(np.trace(gram)),
            y_square=_weighted_square(np.diag(square), weights_of_labels),
            beta=self.beta,
            alpha=alpha,
            form=cast(Form, self.form),
            balance=cast(Balance, self.balance),
        )
        rank = square_rank(square) if self.beta == 1 else square.shape[0]
        count = self._components((statistics.n, gram.shape[0]), rank)
        scale = _times(stack.scale, weights_of_labels)
        solution = solve_statistics(
            gram,
            scale * cross if stack.scale else None,
            stack.factor(np.zeros((0, square.shape[0]))),
            alpha=alpha if self.form == "direct" else 0.0,
            count=count,
            rows=statistics.n,
        )
        accept(self, solution, count)
        roots = self._roots(solution)  # sqrt(lambda)
        features = Features(None, stream.dtype)
        means = statistics.x_mean * self.center
        weights = solution.weights * roots
        signs = self._publish(features, weights, means, solution.eigenvalues, solution)
        images = self._fitted_images(solution, scale)
        if images is None:
            images = solution.weights.T @ cross
        loadings = (signs / roots)[:, None] * images
        self._publish_labels(features, stream.names, loadings, label_means)
        self._publish_directions(features, solution, signs, scale)
        self.alpha_, self.alpha_curve_ = alpha, curve

    def _complete_statistics(
        self, every: Statistics, known: Statistics, alpha: float
    ) -> tuple[Array, Array, Array]:
        """Return ``X'L``, ``L'L`` and the means of L, the labels with fitted values for rows
        without labels.

        Because ``X'(L - X B) = alpha B`` over all rows, B of the labelled rows gives ``X'L``.
        """
        gram, _, _ = every.about(center=self.center)
        inner, cross, square = known.about(center=self.center)
        tolerance = 4 * max(known.n, gram.shape[0]) * np.finfo(np.float64).eps
        slopes = psd_solve(inner, cross, alpha, float(tolerance))  # B
        means = (known.b_mean + (every.x_mean - known.x_mean) @ slopes) * self.center
        # L = X B + E with X'E = alpha B, and E is zero in rows without labels.
        return (
            gram @ slopes + alpha * slopes,
            square + slopes.T @ (gram - inner) @ slopes,
            means,
        )


def _times(scale: float, weights: Array | None) -> float | Array:
    return scale if weights is None else scale * weights


def _weighted_square(squares: Array, weights: Array | None) -> float:
    """Return the squared norm of the labels from that of each, once they are weighted."""
    return float((squares if weights is None else squares * np.square(weights)).sum())
