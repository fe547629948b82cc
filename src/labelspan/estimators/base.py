"""Base classes of embeddings, linear maps learned from features and from labels.

And what all estimators share: parameters and their descriptions, the choice of a penalty, solving.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import wraps
from textwrap import indent
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._axis_ends import Ends, ends
from .._params import Boolean, Constraint, Either, Integer, Null, OneOf, Real, check_params
from .._typing import Array
from ..errors import (
    InvalidInput,
    InvalidLabels,
    InvalidParameter,
    LabelspanWarning,
    Mismatch,
    NotConverged,
    UncertainPenalty,
    warn_caller,
)
from ..labels import Labels, read_labels
from ..labels.reading import Kind, indicator_on_device
from ..operators import Operator, as_operator
from ..operators.array_backend import (
    as_block,
    contiguous,
    host,
    largest_entries,
    like,
    on_host,
    scaled_transpose,
)
from ..operators.convert import canonical_csr, operator_or_none, project
from ..operators.machine import own_threads, refuse_too_large, single_thread, take_buffers
from ..operators.sparse import canonical
from ..solvers import SOLVERS, AlphaCurve, Problem, Solution, Solver, choose_solver
from ..solvers.alpha import choose_alpha, generalized_cross_validation, held_out
from ..solvers.auto import FORMER
from ..solvers.krylov import krylov_bytes
from ..solvers.problem import DIRECT_LIMIT
from ._streams import (
    Stream,
    add_batch,
    join_streams,
    labels_as_fitted,
    one_at_a_time,
    rows_of,
    solve_stream,
    when_streaming,
)

__all__ = [
    "ALPHA",
    "METHOD_OPTIONS",
    "RANK",
    "SHARED",
    "Embedding",
    "LabelledEmbedding",
    "TrainingRows",
    "accept",
    "all_or_nothing",
    "centre",
    "centred_labels",
    "choose_penalty",
    "described",
    "dimensions_for",
    "fixed_signs",
    "inverse_transform",
    "labels_as_fitted",
    "placed_by_labels",
    "refuse_large_squares",
    "refuse_overflow",
    "seed_of",
    "solve",
    "squared_norm",
    "stream_penalty",
    "stream_rows",
    "training_rows",
    "transform_with_labels",
]

# Up to this many entries of X a second BLAS thread costs more than it saves; up to this many
# multiplications for X'X, BLAS takes one thread by itself.
_SMALL = _TINY = 2**18


# --- constraints --------------------------------------------------------------------------


@dataclass(frozen=True)
class _SolverLike:
    """Accept "auto", the name of a solver, or a solver."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str) and value in FORMER:
            raise InvalidParameter(f"solver={value!r} is not used any more; use {FORMER[value]!r}.")
        if isinstance(value, str):
            return value == "auto" or value in SOLVERS
        return isinstance(value, Solver) and not isinstance(value, type)

    def describe(self) -> str:
        names = ", ".join(repr(name) for name in ("auto", *SOLVERS))
        return f"one of {names}, or a solver from labelspan.solvers"


@dataclass(frozen=True)
class _RandomState:
    """Accept the same values as scikit-learn."""

    def accepts(self, value: Any) -> bool:
        if Integer(0).accepts(value):
            return bool(value < 2**32)
        return value is None or isinstance(value, np.random.RandomState)

    def describe(self) -> str:
        return "a whole number from 0 to 2**32 - 1, None, or a numpy RandomState"


ALPHA = Either((Real(0.0), OneOf(("auto",))))
RANK = Either((Integer(1), Null(), OneOf(("auto",))))

SHARED: Mapping[str, Constraint] = {
    "n_components": Either((Integer(1), Null())),
    "center": Boolean(),
    "solver": _SolverLike(),
    "tol": Either((Real(0.0), Null())),
    "max_iter": Either((Integer(1), Null())),
    "random_state": _RandomState(),
}

# Parameters of OPLS, CCA, LDA and HSL.
METHOD_OPTIONS: Mapping[str, Constraint] = {
    **SHARED,
    "n_components": RANK,
    "alpha": ALPHA,
    "penalty": OneOf(("l2", "l1")),
    "scale": Either((OneOf(("eigenvalue",)), Null())),
}


# --- descriptions -------------------------------------------------------------------------

C = TypeVar("C", bound=type)

_DESCRIPTIONS = {
    "rank": """\
"auto" keeps 30 plus half the number of labels, at most 500 and at most a quarter of the
rows.""",
    "alpha": """\
alpha : float or "auto", default="auto"
    Regularization strength, added to the diagonal of ``X'X``; 0 is the classical method.
    "auto" chooses the value with which ridge regression of the labels on the features predicts
    best: by the exact leave-one-out error if X has up to 1,000 rows or columns, on held-out
    rows if both are larger, by generalized cross-validation in a stream.""",
    "penalty": """\
penalty : {"l2", "l1"}, default="l2"
    "l1" gives sparse loadings and needs ``solver="least-squares"`` and a number for alpha.""",
    "scale": """\
"eigenvalue" gives ``sqrt(lambda_j) w_j'x``, so that better directions are longer, which
suits nearest neighbours; None gives ``w_j'x``, with ``W'(X'X + alpha I)W = I``.""",
    "center": """\
center : bool, default=True
    Whether to centre the columns; a sparse X stays sparse.""",
    "solver": """\
solver : str or solver, default="auto"
    "exact", "krylov" (to a given accuracy, for large data) or "least-squares".
tol, max_iter : float and int or None, default=None
    Tolerance and maximum number of iterations, for iterative solvers; None uses the
    solver's default. If both n and d are above 4,096 and alpha is above 0, None stops when the
    missing eigenvalues are estimated at 0.5% of those found; a small number, for example 1e-8,
    solves to full convergence.
random_state : int, RandomState or None, default=0
    Seed of solvers that use random numbers.""",
    "space": """\
components_ : array of shape (m, d)
eigenvalues_ : array of shape (m,)
mean_ : array of shape (d,)""",
    "labels": """\
classes_ : array of shape (k,)
    Names of the labels.
label_loadings_ : array of shape (m, k)
    Linear map from the embedding to the labels.
label_means_ : array of shape (k,)
    Offset of the label scores.""",
    "alpha_": """\
alpha_, alpha_curve_ : float, AlphaCurve or None
    Regularization strength, and the prediction error for each one tried if it was "auto".""",
    "counts": """\
n_components_, n_iter_ : int
    Number of components, and of iterations; 1 for a direct solver.""",
    "features": """\
n_features_in_, feature_names_in_ : int, array of shape (d,)
    Number of features, and their names if X is a data frame.""",
    "solver_": """\
solver_, status_ : str
    Name of the solver used, and its convergence message.""",
}


def described(kind: C) -> C:
    """Complete the docstring of a class: a line ``{alpha, penalty}`` is replaced by two entries."""

    def entries(line: re.Match[str]) -> str:
        margin, names = line.groups()
        return "\n".join(indent(_DESCRIPTIONS[name], margin) for name in names.split(", "))

    kind.__doc__ = re.sub(r"^( +)\{([^\n]*)\}$", entries, kind.__doc__ or "", flags=re.MULTILINE)
    return kind


# --- solving ------------------------------------------------------------------------------


def solve(model: Any, problem: Problem) -> Solution:
    """Solve a problem with the solver that the parameters of ``model`` select."""
    if isinstance(problem.factor.labels, Operator):
        _refuse_large_space(model, problem)
    solver = _pick_solver(model, problem)
    _refuse_misfit(model, solver, problem)
    take_buffers()
    with _threads_for(problem.X):
        solution = solver.solve(problem)
    return accept(model, solution, problem.n_components)


def _refuse_large_space(model: Any, problem: Problem) -> None:
    """Raise an error before a fit whose Krylov space would not fit into memory."""
    X, factor, count = problem.X, problem.factor, problem.n_components
    labels: Any = factor.labels
    k = labels.shape[1] if factor.mixing is None else factor.mixing.shape[-1]
    rows, columns = X.shape
    narrow = "" if X.dtype == np.float32 else "give X in float32, "
    refuse_too_large(
        type(model).__name__,
        krylov_bytes(rows, columns, k, count, X.dtype.itemsize, getattr(model, "max_iter", None)),
        f"a space of {count} components over {rows} rows, {columns} features and {k} labels",
        f"{narrow}lower n_components, or fit on fewer rows",
    )


def choose_penalty(model: Any, X: Operator, labels: Any) -> tuple[float, AlphaCurve | None]:
    """Return alpha as a number, and, if it is "auto", the curve from which it was chosen.

    ``labels`` are centred, or :class:`Labels` that are sparse.
    """
    if model.alpha != "auto":
        return float(model.alpha), None
    take_buffers()
    with _threads_for(X):
        if isinstance(labels, Labels):
            curve = held_out(X, labels.values, intercept=model.center)
        else:
            curve = choose_alpha(X, labels, intercept=model.center)
    return curve.alpha, curve


def stream_penalty(
    model: Any, X: Operator, labels: Array, rows: int, *, choose: bool = False
) -> tuple[float, AlphaCurve | None]:
    """Return alpha as a number, by generalized cross-validation if it is "auto".

    X and labels are a few rows with the same products as all rows. ``choose`` ignores alpha.
    """
    if model.alpha != "auto" and not choose:
        return float(model.alpha), None
    square = float(np.square(labels).sum())
    curve = generalized_cross_validation(
        X.gram(), X.cross(labels), square, rows=rows, intercept=model.center
    )
    columns = X.shape[1]
    if rows - model.center <= columns and curve.alpha <= curve.alphas[0]:
        warn_caller(
            f"{type(model).__name__}: alpha='auto' in a stream of {rows} rows and "
            f"{columns} columns chose the smallest penalty that it tries, which means "
            "little with so few rows; give alpha a number, more rows, or use fit.",
            UncertainPenalty,
        )
    return curve.alpha, curve


def _threads_for(X: Operator) -> AbstractContextManager[object]:
    rows, columns = X.shape
    # With X on a device the host only does small algebra, for which threads do not pay off.
    if rows * columns**2 <= _TINY and X.device is None:
        return nullcontext()
    if rows * columns <= _SMALL or X.device is not None:
        return single_thread()
    return own_threads() if X.threaded and X.short_side > DIRECT_LIMIT else nullcontext()


def _refuse_misfit(model: Any, solver: Solver, problem: Problem) -> None:
    """Raise :class:`Mismatch` if the solver does not support the problem.

    A solver does not know estimators: here its reason becomes an error message for ``model``, with
    the solvers that can be used instead.
    """
    reason = solver.why_not(problem)
    if reason is None:
        return
    fitting = [name for name, kind in SOLVERS.items() if kind().why_not(problem) is None]
    ways = " or ".join(f"solver={name!r}" for name in ("auto", *fitting))
    raise Mismatch(f"{type(model).__name__}: {reason} Use {ways}.")


def accept(model: Any, solution: Solution, count: int) -> Solution:
    """Warn if the solver stopped early or found too few directions; raise if it found none."""
    owner = type(model).__name__
    if not solution.converged:
        warn_caller(f"{owner}: {solution.status}", NotConverged)
    found = solution.eigenvalues.size
    if found == 0:
        raise InvalidInput(
            f"{owner}: X does not explain y, because every eigenvalue is zero; "
            "check that X varies between rows."
        )
    asked = isinstance(model.n_components, numbers.Integral) and "_stream" not in vars(model)
    if asked and found < count:
        warn_caller(
            f"{owner}: n_components={model.n_components} was given, but only {found} directions "
            f"have an eigenvalue above zero; {found} are used.",
            LabelspanWarning,
        )
    return solution


def _pick_solver(model: Any, problem: Problem) -> Solver:
    """Return the solver that was named or passed, with its options."""
    owner, solver = type(model).__name__, model.solver
    options = {
        name: getattr(model, name)
        for name in ("tol", "max_iter")
        if getattr(model, name, None) is not None
    }
    if not isinstance(solver, str):
        for name in options:
            raise Mismatch(
                f"{owner}: {name} is set both here and on the solver given; "
                "set it only on the solver."
            )
        return solver  # type: ignore[no-any-return]
    automatic = solver == "auto"
    name = choose_solver(problem).solver if automatic else solver
    kind = SOLVERS[name]
    known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    for option in options.keys() - known:
        if not automatic:
            raise Mismatch(
                f"{owner}: {option}={options[option]!r} has no meaning for "
                f"solver={name!r}, which is direct; leave {option} at None."
            )
    chosen: dict[str, Any] = {key: options[key] for key in options.keys() & known}
    if "seed" in known:
        chosen["seed"] = seed_of(model)
    return kind(**chosen)


def dimensions_for(labels: int, rows: int) -> int:
    """Return the default number of dimensions: 30 plus half the number of labels.

    At most 500, and beyond 30 at most a quarter of the rows. On five development sets of 6 to 204
    labels it is at most .002 nDCG below the best number; 100 dimensions are .003 below.
    """
    return int(np.clip(30 + labels // 2, 30, max(30, min(500, rows // 4))))


def seed_of(model: Any) -> int:
    """Return ``random_state`` as a seed."""
    state = model.random_state
    # A whole number is the seed itself; making a RandomState of it costs milliseconds.
    whole = isinstance(state, numbers.Integral)
    return int(state if whole else check_random_state(state).randint(2**31 - 1))


F = TypeVar("F", bound=Callable[..., Any])


# --- decorators ---------------------------------------------------------------------------


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


# --- features -----------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingRows:
    """Features and labels of n rows, centred if the estimator centres.

    ``raw`` is X as given, or None: in a stream, X and Y are a few rows with the products of all.
    """

    raw: Any
    dtype: Any
    n: int
    X: Operator
    means: Array
    labels: Any = None
    Y: Any = None
    label_means: Any = None

    def place(self, values: Array) -> Array:
        """Move fitted arrays to the device of X, or to the host in the dtype of X."""
        if self.raw is None or self.raw.device is None:
            return contiguous(values, self.dtype)
        return cast(Array, self.raw.place(values))


class Embedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear embedding, learned from features.

    See Also
    --------
    LabelledEmbedding : The base class of methods that learn from labels.

    Examples
    --------
    >>> from labelspan import LSI
    >>> from labelspan.estimators import Embedding
    >>> issubclass(LSI, Embedding)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}
    # Whether a stream stores an R factor for every alpha.
    _exact_stream: ClassVar[bool] = False

    # Defaults of options that a constructor does not have.
    n_components: Any
    center: bool = True
    solver: Any = "auto"
    random_state: int | np.random.RandomState | None = 0

    components_: Array
    mean_: Array
    eigenvalues_: Array
    n_components_: int
    n_iter_: int | Array
    solver_: str
    status_: str

    # --- input ------------------------------------------------------------------------

    def _check_params(self) -> None:
        # A third-party method may lack some options.
        given = {name: getattr(self, name) for name in self._constraints if hasattr(self, name)}
        check_params(type(self).__name__, given, {name: self._constraints[name] for name in given})

    def _validate(self, X: Any, *, reset: bool, least: int = 1, select_rows: bool = False) -> Any:
        """Return X as an array, a sparse matrix or an operator, with ``least`` rows or more.

        ``select_rows`` rejects operators and returns rows that can be selected by index.
        """
        owner = type(self).__name__
        operator = None if select_rows else operator_or_none(X)
        if operator is not None:
            rows, columns = operator.shape
            if rows < least:
                raise InvalidInput(f"{owner}: X has {rows} row(s); at least {least} are needed.")
            if reset:
                self.n_features_in_ = columns
                self.__dict__.pop("feature_names_in_", None)
            elif columns != self.n_features_in_:
                raise InvalidInput(
                    f"{owner}: X has {columns} features, but fit had {self.n_features_in_}."
                )
            if not np.isfinite(operator.sum_of_squares()):
                raise InvalidInput(f"{owner}: X contains NaN or infinity, or numbers too large.")
            return operator
        try:
            data = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=("csr",) if select_rows else ("csr", "csc", "coo"),
                dtype=[np.float64, np.float32],
                ensure_min_samples=least,
            )
        except ValueError as error:
            raise InvalidInput(f"{owner}: {error}") from None
        except TypeError as error:
            # scikit-learn's checks expect its own error for objects that are not numbers.
            if getattr(getattr(X, "dtype", None), "kind", None) == "O":
                raise
            raise InvalidInput(
                f"{owner}: {error}; X was {type(X).__name__}, and must be a "
                "two-dimensional array, a sparse matrix or a data frame of numbers."
            ) from None
        # Other formats are only multiplied, and as_operator sums duplicates itself.
        return canonical(data) if select_rows else data

    def _read_features(self, X: Any) -> Operator:
        """Validate X of ``fit``."""
        return as_operator(self._validate(X, reset=True, least=2))

    def _count(self, most: int, reason: str, default: int) -> int:
        """Return the number of components to compute; ``reason`` says what limits it."""
        owner = type(self).__name__
        if most == 0:
            raise InvalidInput(f"{owner}: there is no direction to find, because {reason}.")
        if self.n_components is None or isinstance(self.n_components, str):
            return min(default, most)
        # A stream may have more later.
        if self.n_components > most and "_stream" not in vars(self):
            warn_caller(
                f"{owner}: n_components={self.n_components} exceeds the {most} available, "
                f"because {reason}; {most} are used.",
                LabelspanWarning,
            )
        return min(int(self.n_components), most)

    # --- output -----------------------------------------------------------------------

    def _publish(
        self,
        rows: TrainingRows,
        weights: Array,
        eigenvalues: Array,
        solution: Solution | None = None,
    ) -> Array:
        """Set the fitted attributes, with signs fixed; return the signs."""
        self._forget()
        signs = fixed_signs(weights)
        self.components_ = rows.place(scaled_transpose(weights, signs))
        self.mean_ = rows.place(rows.means)
        self.eigenvalues_ = eigenvalues
        self.n_components_ = eigenvalues.size
        if solution is not None:
            self.solver_ = solution.solver
            self.status_ = solution.status
            self.n_iter_ = max(1, solution.n_iter)
        return signs

    def _forget(self) -> None:
        """Remove the attributes of an earlier fit or stream."""
        kept = {"n_features_in_", "feature_names_in_"}
        for name in vars(self).keys() - kept:
            if name.endswith("_") or name == "_stream":
                del self.__dict__[name]

    def _fitted(self) -> Self:
        """Return a snapshot of the fit, which later fits do not change."""
        fitted = object.__new__(type(self))
        fitted.__dict__ = self.__dict__
        check_is_fitted(fitted)
        stream = vars(fitted).get("_stream")
        if stream is not None:
            stream.refuse_unless_solved(type(self).__name__)
        return fitted

    @refuse_overflow
    def transform(self, X: Any) -> Array:
        """Map rows to the embedding.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``.
        """
        fitted = self._fitted()
        rows = fitted._validate(X, reset=False)
        return project(rows, fitted.mean_, fitted.components_)

    def top_features(
        self, component: int, n: int = 10, *, names: Sequence[Any] | Array | None = None
    ) -> Ends:
        """Return the features at both ends of an axis.

        Parameters
        ----------
        component : int
            The axis, counted from 0.
        n : int, default=10
            Maximum number of features at each end.
        names : sequence or None, default=None
            Names of the features, for example a vectorizer's ``get_feature_names_out()``; None
            uses those of ``fit``, or the column numbers.

        Returns
        -------
        Ends
            With fields ``high`` and ``low``, lists of ``(name, weight)``.
        """
        fitted = self._fitted()
        components = on_host(fitted.components_)
        if names is None:
            names = getattr(fitted, "feature_names_in_", None)
        if names is None:
            names = np.arange(components.shape[1])
        return ends(type(self).__name__, components, names, component, n)

    # --- batches ----------------------------------------------------------------------

    @when_streaming
    @one_at_a_time
    @all_or_nothing
    @refuse_overflow
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, solve: bool = True
    ) -> Self:
        """Update the model with a batch of rows.

        Any split and any order of the rows gives the same result, which for a fixed ``alpha`` is
        that of :meth:`fit` on all of them. ``alpha="auto"`` uses generalized cross-validation,
        because rows are not stored; with fewer rows than columns pass a number.

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
            Whether to compute the embedding from all batches so far. False only adds the batch,
            which suits many small ones; :meth:`solve` then computes the embedding.

        Returns
        -------
        self
            The fitted estimator.
        """
        add_batch(self, X, y, classes)
        if solve:
            solve_stream(self, needed=False)
        return self

    @when_streaming
    @one_at_a_time
    @all_or_nothing
    @refuse_overflow
    def merge(self, other: Self) -> Self:
        """Add the batches of another model to this one, and solve; the other is unchanged.

        Parameters
        ----------
        other : estimator
            With the same class and parameters, after ``partial_fit``.

        Returns
        -------
        self
            The fitted estimator.
        """
        join_streams(self, other)
        solve_stream(self, needed=False)
        return self

    @when_streaming
    @one_at_a_time
    @all_or_nothing
    @refuse_overflow
    def solve(self) -> Self:
        """Compute the embedding from all batches so far, with the current parameters.

        Returns
        -------
        self
            The fitted estimator.
        """
        solve_stream(self)
        return self

    def _why_no_stream(self) -> str | None:
        """Return why all rows are needed at once; None if they are not."""
        return (
            f"{type(self).__name__}: partial_fit is not available, because all rows are needed "
            "at once; use fit."
        )

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def centre(model: Any, X: Operator) -> tuple[Operator, Array]:
    """Return X, centred if the estimator centres, and the means that were subtracted."""
    return X.centered() if model.center else (X, np.zeros(X.shape[1]))


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


@refuse_overflow
def inverse_transform(self: Embedding, Z: Any) -> Array:
    """Map embedded points back to features.

    Of all features that :meth:`transform` maps to Z, these are the ones closest to the mean.

    Parameters
    ----------
    Z : array of shape (n, m)
        Embedded rows.

    Returns
    -------
    X : array of shape (n, d)
        The features.
    """
    fitted = self._fitted()
    components = on_host(fitted.components_)
    latent = as_block(Z)
    m = components.shape[0]
    if latent.ndim != 2 or latent.shape[1] != m:
        raise InvalidInput(
            f"{type(self).__name__}: inverse_transform takes embedded rows "
            f"with {m} columns, but an array of shape {tuple(latent.shape)} was given."
        )
    wide = components.astype(np.float64)
    back = np.linalg.solve(wide @ wide.T, wide).astype(components.dtype)
    found: Array = latent @ like(back, latent) + like(on_host(fitted.mean_), latent)
    return found


# --- labels -------------------------------------------------------------------------------


def _has_classes(model: Any) -> bool:
    # scikit-learn's tools ask before the fit, when it is not known whether there are any.
    return bool(vars(model).get("label_kind_", "classes") == "classes")


@described
class LabelledEmbedding(Embedding):
    """Supervised embedding with label scores: the base class of a new method.

    A method is defined by its label factor H, an array with one row per row of X: a class with
    ``fit = fit_by_factor`` and a method ``label_factor(labels)`` that returns H. Options that its
    own constructor does not have keep their defaults.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        None keeps every direction of the factor.
        {rank}
    {alpha, penalty}
    scale : {"eigenvalue"} or None, default=None
        {scale}
    {center, solver}

    See Also
    --------
    fit_by_factor : The fit of OPLS, CCA, LDA and HSL.
    labelspan.labels.Labels : The argument of ``label_factor``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from labelspan import LDA
    >>> from labelspan.estimators import LabelledEmbedding, fit_by_factor
    >>> class Mine(LabelledEmbedding):
    ...     def __init__(self, n_components=None, *, alpha="auto"):
    ...         self.n_components = n_components
    ...         self.alpha = alpha
    ...
    ...     fit = fit_by_factor
    ...
    ...     def label_factor(self, labels):
    ...         return labels.centred / np.sqrt(labels.values.sum(axis=0))
    >>> X, y = load_iris(return_X_y=True)
    >>> np.allclose(Mine().fit(X, y).eigenvalues_, LDA().fit(X, y).eigenvalues_)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = METHOD_OPTIONS
    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator", "targets")
    # Whether the factor is the labels themselves or an orthonormal basis of them.
    _factor_is_labels: ClassVar[bool] = False
    _factor_is_basis: ClassVar[bool] = False

    # Defaults of options that a constructor does not have, with those of Embedding.
    alpha: float | str = "auto"
    penalty: str = "l2"
    scale: str | None = None

    alpha_: float
    alpha_curve_: AlphaCurve | None
    classes_: Array
    label_kind_: Kind
    label_loadings_: Array
    label_means_: Array

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        alpha: float | str = "auto",
        penalty: str = "l2",
        scale: str | None = None,
        center: bool = True,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.penalty = penalty
        self.scale = scale
        self.center = center
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _read_labels(self, y: Any, n_rows: int, **options: Any) -> Labels:
        """Read labels of ``fit``; ``options`` as in :func:`~labelspan.labels.read_labels`."""
        owner = type(self).__name__
        labels = read_labels(y, n_rows, owner, **options)
        if labels.kind not in self._takes:
            raise InvalidLabels(
                f"{owner} takes classes or a 0/1 indicator, but y has continuous targets; "
                "use OPLS, CCA or MLSI for those."
            )
        return labels

    def _publish_labels(self, rows: TrainingRows, loadings: Array) -> None:
        """Set the map from the embedding to the labels."""
        self.classes_ = rows.labels.names
        self.label_kind_ = cast(Kind, rows.labels.kind)
        self.label_loadings_ = rows.place(loadings)
        self.label_means_ = rows.place(rows.label_means)

    def _publish_pairs(self, rows: TrainingRows, H: Any, images: Array) -> None:
        """Set additional attributes of a method, from Y and its regression on the directions."""

    def _stream_block(self, labels: Labels) -> Array:
        """Return the rows whose products a stream sums; the last columns are the labels."""
        return labels.values

    @refuse_overflow
    def label_scores(self, X: Any) -> Array:
        """Score every label for every row, from the embedding.

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
        # transform returns a data frame if set_output requested one.
        latent = as_block(fitted.transform(X))
        return latent @ like(fitted.label_loadings_, latent) + like(fitted.label_means_, latent)

    def score(self, X: Any, y: Any) -> float:
        """Return the R2 of the label scores, weighted by variance.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : labels of the form that was given to ``fit``
            Rows with unknown entries (-1 or NaN) are ignored; rows of a class that was not seen in
            ``fit`` count as rows without a class.

        Returns
        -------
        score : float
            1 for a perfect prediction, 0 for predicting the means.
        """
        from sklearn.metrics import r2_score  # noqa: PLC0415 - slow to import

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
        """Return the scores of the classes; available if ``y`` of ``fit`` was a class vector.

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
        """Return the class with the largest score; available if ``y`` of ``fit`` was a class
        vector.

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


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
    labels = indicator_on_device(y, rows, owner) if on_device else None
    if labels is None:
        labels = model._read_labels(y, rows.shape[0], keep_sparse=keep_sparse)
    if not unlabelled:
        rows, labels = _labelled_rows(owner, rows, labels)
    rows, means = centre(model, rows)
    Y, label_means = centred_labels(model, labels, rows.dtype)
    return TrainingRows(raw, raw.dtype, rows.shape[0], rows, means, labels, Y, label_means)


def stream_rows(model: Any, stream: Stream) -> TrainingRows:
    """Return a few rows with the same products as the labelled rows of a stream."""
    seen = stream.seen(type(model).__name__)
    X, Y = rows_of(model, seen)
    means, label_means = seen.x_mean * model.center, seen.b_mean * model.center
    return TrainingRows(None, stream.dtype, seen.n, X, means, stream, Y, label_means)


def centred_labels(model: Any, labels: Labels, dtype: Any = np.float64) -> tuple[Any, Array]:
    """Return Y, centred if X is, with unknown entries set to zero, and its means.

    Sparse labels become an operator in ``dtype``.
    """
    if labels.many:
        return centre(model, as_operator(canonical_csr(labels.values, dtype)))
    if model.center:
        return labels.centred, labels.means()
    values = labels.values
    if labels.unknown is not None:
        values = np.where(labels.unknown, 0.0, values)
    return values, np.zeros(values.shape[1])


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


@refuse_overflow
def transform_with_labels(self: Any, X: Any, labels: Any = None) -> Array:
    """Map rows to the embedding.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    labels : labels of the form that was given to ``fit``, or None, default=None
        Known labels of the rows, for the items of a collection; -1 or NaN marks unknown
        entries, which add nothing. Rows that are embedded with their labels are closer to the
        queries that should find them, which are embedded from features only. Not available for
        ``penalty="l1"`` and ``solver="least-squares"``.

    Returns
    -------
    Z : array of shape (n, m)
        ``(X - mean_) @ components_.T``. With labels, ``+ (Y - label_means_) @ D``: the fitted
        labels and the known ones together. D has a direction for each label, for OPLS
        ``label_loadings_.T`` with ``scale="eigenvalue"``, for others ``label_directions_``.
    """
    fitted = self._fitted()
    rows = Embedding.transform(fitted, X)
    if labels is None:
        return rows
    return placed_by_labels(fitted, rows, labels, fitted._label_moves())


def placed_by_labels(model: Any, places: Any, y: Any, directions: Array) -> Array:
    """Add the contribution of known labels to embedded rows, by one direction per label."""
    block = as_block(places)
    labels = labels_as_fitted(y, block.shape[0], model.classes_, type(model).__name__)
    ways, means = host(directions), host(model.label_means_)
    if labels.many:
        added = labels.values @ ways - means @ ways
    else:
        values = labels.values - means
        if labels.unknown is not None:
            values = np.where(labels.unknown, 0.0, values)
        added = values @ ways
    moved: Array = block + like(added, block)
    return moved
