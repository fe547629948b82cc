"""The method: regress the labels on the features, then take the leading directions.

Every linear method of the three papers is two steps above two primitives, with its label factor H,
its penalty and its weights as plain arguments of a `Problem`:

1. ``B = (X'X + alpha I)^+ X'H``: a ridge regression of H on the features X.
2. A method made only of labels (OPLS, CCA, LDA, HSL) has an eigenproblem as wide as the labels,
   ``H'X B = U diag(lambda) U'``, and ``W = B U diag(lambda)^-1/2``. If the features count as well
   (MLSI), ``X W`` are the leading left singular vectors of ``[c X, c' X B]``; without labels (LSI)
   those of ``c X``.

`Exact` and `Krylov` do both with the direct and with the iterative form of the primitives.
In reading order: this file, ``ridge``, ``svd``, ``decomposition``, then the operators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from ..errors import LabelspanWarning, warn_caller
from ..operators import Operator, as_operator
from ..operators.array_backend import (
    add_product,
    concatenate,
    host,
    inner,
    put_rows,
    scale_columns,
    times,
)
from ..operators.operator import Composite
from .decomposition import DIGITS, Basis, Decomposition, basis_of_gram, factorise
from .limits import (
    accuracy_wanted,
    combinations,
    finest_tolerance,
    rounding,
    small_enough,
    squared_units,
)
from .problem import Problem, Solution
from .ridge import (
    FROM_DATA,
    FROM_PRODUCTS,
    UNDERFLOW,
    RidgeFit,
    direct_ridge,
    few_enough,
    ridge,
    ridge_in_basis,
    unsure,
)
from .small_dense import (
    LEAST_EIGENVALUE,
    few_leading,
    leading_pairs,
    length,
    orthonormalize,
    thin_spectrum,
)
from .svd import BLOCK_WIDTH, SVD, direct_svd, leading_combinations, truncated_svd

__all__ = ["Exact", "Krylov", "KrylovOptions", "Stacked", "two_stage"]

# If the user names the direct solver, its limit is higher than in the automatic choice:
# 20,000 x 20,000 in float64 is 3 GiB.
_LIMIT = 20_000
# Rounding errors that the check of a direction may accumulate, in units of epsilon.
_NOISE = 64.0
# The smallest tolerance for which float32 is used, the smallest penalty relative to the sum of
# squares, and the range of that sum.
_ROUGH, _PENALTY, _LOW, _HIGH = 1e-3, 1e-5, 1e-20, 1e20
# The part of the tolerance that the regression may take, because a block of the directions costs
# less than one of its iterations.
_OF_LABELS = 0.75


# --- the method ---------------------------------------------------------------------------


class Regressed(NamedTuple):
    """Labels that were regressed: each of them, or a few combinations ``H axes`` of many.

    ``norm`` is that of ``X B`` for all labels, if it is needed.
    """

    fit: RidgeFit
    axes: Array | None = None
    norm: float = 1.0


class LeadingDirections(NamedTuple):
    """``A = [c X, c' X B] = V diag(values)^1/2 R'`` with ``V = X W``, and how it was found.

    ``labels`` are the rows of R that belong to the labels, ``report`` is a part of a `Solution`.
    """

    weights: Array
    values: Array
    labels: Array | None
    report: dict[str, Any]


def two_stage(
    problem: Problem,
    name: str,
    regress: Callable[[Problem], Regressed] | None,
    directions: Callable[[Stacked, int], LeadingDirections],
) -> Solution:
    """Solve a problem, with the primitives of the solver called ``name``."""
    if problem.labels is None or regress is None:
        W, values, _, report = directions(Stacked(problem, None), problem.n_components)
        return Solution(W, values, name, **report)
    regressed = regress(problem)  # B
    if problem.labels_only:
        return _of_labels(regressed.fit, problem.n_components, name)
    A = Stacked(problem, regressed)  # [c X, c' X B]
    W, values, R, report = directions(A, problem.n_components)
    assert R is not None
    axes = A.label_scale * (R if regressed.axes is None else regressed.axes @ R)
    return Solution(
        W,
        values,
        name,
        images=np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T / A.label_scale**2,  # V'X B
        label_axes=axes,
        leverage=regressed.fit.leverage,
        **report,
    )


def _of_labels(fit: RidgeFit, count: int, name: str) -> Solution:
    """Solve ``H'X B = U diag(lambda) U'``, for a method made only of labels."""
    values, U = thin_spectrum(fit.agreement, count)
    mixing = U / np.sqrt(values)
    return Solution(
        fit.slopes.matmat(mixing),
        values,
        name,
        exact=fit.to_come is None,
        converged=fit.converged,
        status=fit.status if name == "exact" else _told(fit),
        n_iter=fit.n_iter,
        residual=fit.residual if fit.to_come is None else fit.to_come,
        error=fit.error,
        # W'X'H without a product: the agreement is H'X B, and W = B mixing.
        images=mixing.T @ fit.agreement.T,
        leverage=fit.leverage,
    )


def _told(fit: RidgeFit) -> str:
    """Return the status of a method made only of labels whose regression may have iterated."""
    if fit.iterated and not fit.converged:
        known = "an unknown part" if fit.to_come is None else f"{fit.to_come:.1e}"
        return (
            f"solver='krylov' stopped after {fit.n_iter} iterations with a relative residual "
            f"of {fit.residual:.1e}, and {known} of the eigenvalues estimated to be missing; "
            "raise alpha, max_iter or tol."
        )
    if fit.to_come is None:
        return f"Regression: {fit.status}" if fit.converged else fit.status
    return (
        f"Regression: {fit.method}; the missing eigenvalues are estimated at {fit.to_come:.1e} of "
        "those found."
    )


class Stacked(Composite):
    """``A = [c X, c' X B]``: features, and labels regressed on them; ``c X`` without labels.

    With fewer rows than columns ``X B`` is multiplied instead of B, unless the rows of X are read
    in passes.
    """

    def __init__(self, problem: Problem, regressed: Regressed | None) -> None:
        X = problem.X
        width = 0 if regressed is None else regressed.fit.agreement.shape[1]
        super().__init__((X.shape[0], X.shape[1] + width), [X])
        self.base, self.one_pass, self.regressed = X, X.one_pass, regressed
        self.feature_scale = float(np.sqrt(problem.feature_weight or 0.0))  # c
        self.label_scale = 1.0  # c'
        if regressed is not None and problem.label_norm is not None and regressed.norm > 0:
            self.label_scale = problem.label_norm / regressed.norm

    @cached_property
    def _slopes(self) -> Operator | None:
        if self.regressed is None:
            return None
        slopes = self.regressed.fit.slopes
        return as_operator(self.base.to_device(slopes.to_block())) if slopes.dense else slopes

    @cached_property
    def _fitted(self) -> Array | None:
        X = self.base
        if self.regressed is None or X.one_pass or X.shape[0] >= X.shape[1]:
            return None
        return self.regressed.fit.fitted(X)

    def label_images(self, width: int, rng: np.random.Generator) -> Array:
        """Return combinations of the fitted labels, or these if they are fewer than ``width``."""
        assert self._slopes is not None
        count = self.shape[1] - self.base.shape[1]
        mixing = np.eye(count) if count <= width else rng.standard_normal((count, width))
        if self._fitted is not None:
            return times(self._fitted, mixing)
        return self.base.matmat(self.to_device(self._slopes.matmat(mixing)))

    def combined(self, block: Array) -> Array:
        """Return the coefficients of X for coefficients of both parts."""
        side = self.base.shape[1]
        out: Array = self.feature_scale * block[:side]
        if self._slopes is not None:
            out += self.label_scale * self.to_device(self._slopes.matmat(block[side:]))
        return out

    def _apart(self, back: Array) -> Array:
        if self._slopes is None:
            return self.feature_scale * back
        along = self.to_device(self.label_scale * inner(self._slopes.to_block(), back))
        return concatenate([self.feature_scale * back, along], axis=0)

    def _matmat(self, block: Array) -> Array:
        if self._fitted is None:
            return self.base.matmat(self.combined(block))
        side = self.base.shape[1]
        out = self.base.matmat(self.feature_scale * block[:side])
        add_product(out, self._fitted, self.label_scale * block[side:])
        return out

    def _rmatmat(self, block: Array) -> Array:
        back = self.base.rmatmat(block)
        if self._fitted is None:
            return self._apart(back)
        along = self.to_device(self.label_scale * inner(self._fitted, block))
        return concatenate([self.feature_scale * back, along], axis=0)

    def normal(self, block: Array) -> Array:
        if self._fitted is not None:
            return super().normal(block)
        return self._apart(self.base.normal(self.combined(self.to_device(block))))

    def column_squares(self) -> Array:
        own: Array = self.feature_scale**2 * host(self.base.column_squares())
        if self._slopes is None:
            return own
        slopes = self._slopes.to_block()
        fitted = np.diag(inner(slopes, self.base.normal(slopes)))
        return np.concatenate([own, self.label_scale**2 * fitted])


# --- the direct form ----------------------------------------------------------------------


@dataclass(frozen=True)
class Exact:
    """Solve directly, from one decomposition of the data; exact for every problem.

    It needs memory for the smaller Gram matrix, and time for n d min(n, d) multiplications and its
    eigenvectors. If only a few directions are requested, or the problem is made only of labels,
    only these or a Cholesky factor are computed. Products of the data keep half of its digits: if
    the condition number shows that too few are left, or the final check fails, the data itself is
    factorised, with columns of unit length, at about three times the cost. The check takes up to
    six products with four columns.

    See Also
    --------
    Krylov : For data with large n and d.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Exact, Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> Exact().solve(Problem(X, np.eye(20)[:, :2], n_components=2)).solver
    'exact'
    """

    @property
    def name(self) -> str:
        return "exact"

    def why_not(self, problem: Problem) -> str | None:
        smaller = problem.X.short_side
        if smaller > _LIMIT:
            return (
                f"solver='exact' would form a dense {smaller} x {smaller} array, above its limit "
                f"of {_LIMIT}."
            )
        return None

    def solve(self, problem: Problem) -> Solution:
        solution = self._solve(problem)
        if solution.converged or problem.X.dtype == np.float64:
            return solution
        # Checked by products in float32, an answer with more digits may look wrong, or be it.
        wide = problem.X.in_type(np.float64)
        if wide is None:
            return solution
        finer = self._solve(replace(problem, X=wide))
        return finer if finer.converged else solution

    def _solve(self, problem: Problem) -> Solution:
        X, block = problem.X, problem.label_block
        known = problem.decomposition
        if known is None or known.X is not X:
            known = Decomposition(X)
        solution = None
        if problem.labels_only:
            assert block is not None
            fit = direct_ridge(X, block, problem.alpha, decomposition=known)
            return _of_labels(fit, problem.n_components, self.name)
        if problem.labels is None and not known.known:
            found = direct_svd(X, problem.n_components)
            if found is not None:
                solution = two_stage(problem, self.name, None, partial(_eigenvectors, found))
        else:
            basis = basis_of_gram(known, block, problem.alpha)
            solution = None if basis is None else self._in_basis(problem, basis, FROM_PRODUCTS)
            values = np.zeros(0) if solution is None else solution.eigenvalues
            if problem.feature_weight and not (values.size and values[-1] > DIGITS * values[0]):
                solution = None
        if solution is None or (not solution.converged and small_enough(X)):
            solution = self._in_basis(problem, factorise(X, block), FROM_DATA)
        return solution

    def _in_basis(self, problem: Problem, basis: Basis, method: str) -> Solution:
        def regress(problem: Problem) -> Regressed:
            assert problem.label_block is not None
            X, alpha = problem.X, problem.alpha
            fit = ridge_in_basis(X, basis, problem.label_block, alpha, method)
            assert fit.inside is not None
            return Regressed(fit, norm=length(fit.inside))

        return two_stage(problem, self.name, regress, partial(_in_basis, basis, method))


def _eigenvectors(found: tuple[Array, Array, Array], A: Stacked, count: int) -> LeadingDirections:
    """Return directions of the features from eigenvectors of their Gram matrix."""
    values, right, scale = found
    W, values = right / np.sqrt(values), A.feature_scale**2 * values
    return LeadingDirections(W, values, None, _checked(A, W, values, FROM_PRODUCTS, scale))


def _in_basis(basis: Basis, method: str, A: Stacked, count: int) -> LeadingDirections:
    """Find directions in a basis ``X = U S V'``: ``A A' = U (c^2 S^2 + c'^2 F F') U'``."""
    squares, labels = A.feature_scale**2 * basis.values, None
    scale = basis.lengths
    if A.regressed is None or not basis.rank:
        values, E = squares[:count], np.eye(basis.rank, min(count, basis.rank))
    else:
        assert A.regressed.fit.inside is not None
        F, scale = A.label_scale * A.regressed.fit.inside, A.regressed.fit.scale
        if not np.isfinite(F).all():
            raise FloatingPointError("the labels are too large compared with their fitted values")
        square = F @ F.T
        square[np.diag_indices_from(square)] += squares
        values, E = few_leading(square, count)
        keep = values > LEAST_EIGENVALUE * max(values[0], 0.0)
        values, E = values[keep], E[:, keep]
        labels = F.T @ E / np.sqrt(values)
    W = basis.right.matmat(E / np.sqrt(basis.values)[:, None])
    return LeadingDirections(W, values, labels, _checked(A, W, values, method, scale))


def _checked(A: Stacked, W: Array, values: Array, method: str, scale: Array) -> dict[str, Any]:
    """Check directions against the data, by four products with up to 8 columns; report it."""
    X, residual, error = A.base, 0.0, 0.0
    if A.regressed is not None:
        fit = A.regressed.fit
        residual, error = fit.residual, fit.error or 0.0
    wanted = accuracy_wanted(X.dtype)
    if values.size:
        # The equation is more sensitive than the fitted labels, and limited by the precision
        # of products for the shortest direction.
        noise = 10 * wanted + _NOISE * rounding(X.dtype) * float(np.sqrt(values[0] / values[-1]))
        equation = _residual(A, W, values, scale)
        residual, error = max(residual, equation), max(error, equation * (equation > noise))
    right = error <= wanted
    status = f"{method}; relative residual {residual:.0e}." if right else unsure(error, residual)
    return {"converged": right, "status": status, "residual": residual, "error": error}


def _residual(A: Stacked, W: Array, values: Array, scale: Array) -> float:
    """Check ``(c^2 I + c'^2 B B') X'X W = W diag(values)`` and ``W'X'X W = I`` by new products.

    Random combinations of the directions, each divided by the root of its eigenvalue, in
    coordinates times the lengths of the columns; two products with at most 4 columns.
    """
    mixing = combinations(values.size)
    directions, roots = host(W), np.sqrt(values)[:, None]
    mixed, right = directions @ (mixing / roots), directions @ (roots * mixing)
    seen = host(A.base.normal(mixed))
    # mixing' D W'X'X W D^-1 mixing, with D the roots: W'X'X W = I makes it mixing'mixing.
    square, expected = right.T @ seen, mixing.T @ mixing
    left = A.feature_scale**2 * seen
    if A.regressed is not None:
        slopes = A.regressed.fit.slopes
        left = left + A.label_scale**2 * host(slopes.matmat(slopes.rmatmat(seen)))
    right = right * scale[:, None]
    return max(
        float(np.linalg.norm(square - expected) / np.linalg.norm(expected)),
        float(np.linalg.norm(left * scale[:, None] - right) / np.linalg.norm(right)),
    )


# --- the iterative form -------------------------------------------------------------------


@dataclass(frozen=True)
class KrylovOptions:
    """Thresholds of :class:`Krylov`.

    Parameters
    ----------
    features_tol, labels_tol, thin_tol : float
        Default tolerances without labels, with features and labels, and only with labels.
    blocks, iterations : int
        Maximum number of blocks of a space, and of iterations of conjugate gradients.
    each_label : int
        Up to this many labels, each is regressed; of more labels, as many leading combinations as
        the directions need. Next to features, these combinations stand for the labels.
    probes : int
        Number of random combinations of the labels that estimate the norm of the others.
    rounds : int
        Maximum number of times that the combinations of the labels are improved, for a thin factor.
    direct : int
        Up to this smaller side of X a regression may be solved directly, if that costs less.
    in_float64 : int
        Up to this many entries, data in float32 is solved in float64.
    in_float32 : tuple of (int, int)
        From this many entries, and up to that many stored ones, data is solved in float32 if its
        columns have similar units, so that the tolerance needs no more digits.

    See Also
    --------
    Krylov : The solver.

    Examples
    --------
    >>> from labelspan.solvers import KrylovOptions
    >>> KrylovOptions(direct=0).each_label
    256
    """

    features_tol: float = 5e-3
    labels_tol: float = 1e-2
    thin_tol: float = 5e-3
    blocks: int = 100
    iterations: int = 1000
    each_label: int = 256
    probes: int = 32
    rounds: int = 8
    direct: int = 4096
    in_float64: int = 1 << 22
    in_float32: tuple[int, int] = (1 << 19, 1 << 27)


@dataclass(frozen=True)
class Krylov:
    """Find the leading directions in a Krylov space, to a given accuracy of the objective.

    For features only, this is a truncated SVD. Labels are regressed on the features by block
    conjugate gradients with columns of unit length, or directly if n or d is small enough for that
    to cost less. With a thin factor, a small eigenproblem follows; with features, a truncated SVD
    of features and regressed labels together. Rows in files or on other machines are read once
    for each block and each iteration.

    Parameters
    ----------
    tol : float or None
        Stop when the missing part of the objective is estimated below this fraction
        of the objective found; by default 1e-2 with features and labels, and 5e-3 otherwise. For a
        thin factor a given number is the relative residual of the regressions instead. The estimate
        continues the last gains at a slower rate, and new products with X test it. It is an
        estimate, not a bound. With a ``tol`` below 4e-6, float32 data in memory or on a device is
        multiplied in float64; otherwise 4e-6 is used, with a warning.
    max_iter : int or None
        Maximum number of blocks of the space, and of iterations of conjugate gradients; None means
        100 and 1,000.
    seed : int
        The same seed gives the same answer.
    options : KrylovOptions
        Thresholds, for tests and experiments.

    See Also
    --------
    Exact : Direct, for small n or d.

    References
    ----------
    .. [1] Halko, N., Martinsson, P.-G., & Tropp, J. A. (2011). Finding structure with randomness.
           SIAM Review, 53, 217-288.
    .. [2] Musco, C., & Musco, C. (2015). Randomized block Krylov methods for stronger and faster
           approximate singular value decomposition. NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Krylov, Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((200, 100)))
    >>> found = Krylov().solve(Problem(X, None, n_components=3, feature_weight=1.0))
    >>> found.exact, found.converged
    (False, True)
    """

    tol: float | None = None
    max_iter: int | None = None
    seed: int = 0
    options: KrylovOptions = field(default_factory=KrylovOptions)

    @property
    def name(self) -> str:
        return "krylov"

    def why_not(self, problem: Problem) -> str | None:
        return None

    def solve(self, problem: Problem) -> Solution:
        found: Solution | None = None
        for dtype in self._types(problem):
            X = problem.X.in_type(dtype)
            if X is None:
                continue
            found = self._arranged(replace(problem, X=X))
            if found.converged and found.eigenvalues.size == problem.n_components:
                break
        return self._arranged(problem) if found is None else found

    def _types(self, problem: Problem) -> list[Any]:
        """Return the types in which to solve, until an answer passes its check."""
        X, finest = problem.X, finest_tolerance(problem.X.dtype)
        wide, rough = np.dtype(np.float64), np.dtype(np.float32)
        if self.tol is not None and self.tol < finest and X.dtype != wide:
            if X.in_type(wide) is not None:
                return [wide]
            warn_caller(
                f"tol={self.tol:.0e} is below what {X.dtype} can tell; {finest:.0e} is used. Pass "
                "X in float64 for less.",
                LabelspanWarning,
            )
        small = X.dtype != wide and X.device is None and _entries(X) <= self.options.in_float64
        types: list[Any] = [rough] if self._is_mild(problem) else []
        types += [wide if small else X.dtype]
        # Next to columns in large units, short directions have no digits in float32.
        if not problem.labels_only and X.device is None and np.ptp(squared_units(X)):
            types += [wide]
        return list(dict.fromkeys(types))

    def _is_mild(self, problem: Problem) -> bool:
        """Return whether float32 has enough digits, and X is neither small nor huge."""
        X, (fewest, most) = problem.X, self.options.in_float32
        rough = self.tol is None or self.tol >= _ROUGH
        if not rough or X.device is not None or _entries(X) < fewest:
            return False
        if _entries(X) * X.fill > most:
            return False
        square = X.sum_of_squares()
        faint = problem.labels is not None and problem.alpha < _PENALTY * square
        if faint or not _LOW < square < _HIGH:
            return False
        return not np.ptp(squared_units(X))

    def _arranged(self, problem: Problem) -> Solution:
        """Solve with the columns in the fastest order; return weights in the original order."""
        X, order = problem.X.arranged()
        found = self._solve(replace(problem, X=X))
        if order is None:
            return found
        return replace(found, weights=put_rows(order, found.weights))

    def _solve(self, problem: Problem) -> Solution:
        labels, count = problem.labels, problem.n_components
        many = problem.labels_only and labels is not None and labels.shape[1] > 2 * count
        if many and labels is not None and not self._each(problem):
            return self._of_many_labels(problem, labels)
        return two_stage(problem, self.name, self._regress, self._directions)

    def _tolerance(self, X: Operator, default: float) -> float:
        return max(default if self.tol is None else self.tol, finest_tolerance(X.dtype))

    # --- the regression ---------------------------------------------------------------

    def _regress(self, problem: Problem) -> Regressed:
        """Regress the labels; next to features, many are represented by leading combinations.

        Those of the labels along the directions would be more of the objective, but items with
        similar labels are not nearer.
        """
        X, labels, options = problem.X, problem.labels, self.options
        assert labels is not None
        if problem.labels_only:
            tol = None if self.tol is None else self._tolerance(X, 0.0)
            rtol = options.thin_tol if problem.alpha > 0 and tol is None else None
            targets = _targets(X, labels)
            return Regressed(
                self._ridge(problem, targets, tol=tol, rtol=rtol, leverage=problem.leverage)
            )
        rtol = self._tolerance(X, options.labels_tol)
        axes = None
        if not self._each(problem):
            axes = self._leading(labels, problem.n_components + BLOCK_WIDTH)
        fit = self._to_rtol(
            problem, axes, _OF_LABELS * rtol, fitted=True, leverage=problem.leverage
        )
        if X.shape[0] < X.shape[1] and not X.one_pass:
            fit = replace(fit, known=fit.fitted(X))
        others = 0.0 if axes is None else self._square_of_others(problem, axes, rtol)
        square = others + fit.fitted_square(X, problem.alpha)
        if problem.label_norm is not None and not square > UNDERFLOW and fit.agreement.any():
            raise FloatingPointError("the fitted labels are too small compared with the labels")
        return Regressed(fit, axes, float(np.sqrt(square)))

    def _ridge(self, problem: Problem, targets: Array, **options: Any) -> RidgeFit:
        most = self.max_iter or self.options.iterations
        direct = self.options.direct
        return ridge(problem.X, targets, problem.alpha, max_iter=most, direct=direct, **options)

    def _to_rtol(
        self, problem: Problem, axes: Array | None, rtol: float, **options: Any
    ) -> RidgeFit:
        assert problem.labels is not None
        rtol = max(rtol, finest_tolerance(problem.X.dtype))
        targets = _targets(problem.X, problem.labels, axes)
        return self._ridge(problem, targets, rtol=rtol, **options)

    def _each(self, problem: Problem) -> bool:
        """Return whether each label is regressed; only few if they are sparse, for their memory."""
        assert problem.labels is not None
        labels, count = problem.labels.shape[1], problem.n_components
        if problem.sparse_labels:
            return labels <= min(self.options.each_label, 2 * max(count, BLOCK_WIDTH))
        return labels <= self.options.each_label or few_enough(
            problem.X, labels, self.options.direct
        )

    def _leading(self, labels: Operator, count: int) -> Array:
        width = min(labels.shape[1], max(count, 2 * BLOCK_WIDTH))
        return leading_combinations(labels, width, np.random.default_rng(self.seed))

    def _square_of_others(self, problem: Problem, axes: Array, rtol: float) -> float:
        """Estimate the squared norm of the fitted labels outside some combinations of them."""
        rng, probes = np.random.default_rng(self.seed + 1), self.options.probes
        signs = rng.choice([-1.0, 1.0], (axes.shape[0], probes))
        signs = (signs - axes @ (axes.T @ signs)) / np.sqrt(probes)
        fit = self._to_rtol(problem, signs, rtol / 4)
        return fit.fitted_square(problem.X, problem.alpha)

    def _of_many_labels(self, problem: Problem, labels: Operator) -> Solution:
        """Do the same for few of many directions, from combinations of the labels.

        The regression G of some combinations spans the space in which the directions are found;
        the labels along these directions are better combinations.
        """
        X, count = problem.X, problem.n_components
        tol = self.options.thin_tol if self.tol is None else self.tol
        axes, total, gained, n_iter = self._leading(labels, 2 * count), 0.0, np.inf, 0
        for _ in range(self.options.rounds):
            fit = self._to_rtol(problem, axes, tol / 4)
            n_iter += fit.n_iter
            seen = host(labels.rmatmat(labels.to_device(host(fit.fitted(X)))))
            metric = axes.T @ seen
            values, inside = leading_pairs(seen.T @ seen, (metric + metric.T) / 2, 2 * count)
            before, total = total, float(values[:count].sum())
            gained = (total - before) / total
            if gained <= tol / 2:
                break
            axes = orthonormalize((seen @ inside).astype(np.float64))[0]
        values, inside = values[:count], inside[:, :count]
        keep = values > 0
        values, inside = values[keep], inside[:, keep]
        missing = max(fit.missing, 0.0) + 2 * abs(gained)
        done = fit.converged and gained <= tol / 2
        status = (
            f"Regression: {fit.method}; the missing eigenvalues are estimated at {missing:.1e} of "
            "those found."
        )
        if not done:
            status = (
                f"solver='krylov' stopped with {missing:.1e} of the eigenvalues estimated to be "
                "missing; raise alpha, max_iter or tol."
            )
        return Solution(
            fit.slopes.matmat(inside),
            values,
            self.name,
            exact=False,
            converged=bool(done),
            status=status,
            n_iter=n_iter,
            residual=missing,
            images=inside.T @ seen.T,
        )

    # --- the directions ---------------------------------------------------------------

    def _directions(self, A: Stacked, count: int) -> LeadingDirections:
        X, regressed = A.base, A.regressed
        rng, most = np.random.default_rng(self.seed), self.max_iter or self.options.blocks
        if regressed is None:
            tol = self._tolerance(X, self.options.features_tol)
            svd = truncated_svd(X, count, tol=tol, max_iter=most, rng=rng)
            W = scale_columns(svd.right, 1 / np.sqrt(svd.values))
            return LeadingDirections(
                W, A.feature_scale**2 * svd.values, None, self._report(svd, tol)
            )
        fit, tol = regressed.fit, self._tolerance(X, self.options.labels_tol)
        left = max(tol - max(fit.missing, 0.0), (1 - _OF_LABELS) * tol)
        # Most of the objective is in the labels: one block less is needed than from random columns.
        svd = truncated_svd(
            A, count, tol=left, max_iter=most, rng=rng, start=lambda n: A.label_images(n, rng)
        )
        W = scale_columns(A.combined(svd.right), 1 / np.sqrt(svd.values))
        labels = host(svd.right[X.shape[1] :]).astype(np.float64)
        return LeadingDirections(W, svd.values, labels, self._report(svd, tol, regressed))

    def _report(self, svd: SVD, tol: float, regressed: Regressed | None = None) -> dict[str, Any]:
        """Say what is missing: of the directions, and of the fitted labels."""
        fit = None if regressed is None else regressed.fit
        rest, shown = svd.rest + (0.0 if fit is None else fit.missing), svd.shown
        converged = rest <= tol and (fit is None or fit.converged)
        known = f"{rest:.1e}" if np.isfinite(rest) else "an unknown part"
        fresh = f"new products with X show {shown.missing:.0e}"
        status = (
            f"The missing part of the objective is estimated at {known} of the objective found; "
            f"{fresh}."
        )
        if shown.error_bound > tol:
            status = (
                f"The directions differ from orthonormal ones by {shown.error_bound:.0e} in new "
                "products with X; scale the columns of X, or pass X in float64."
            )
        elif not converged:
            status = (
                f"solver='krylov' stopped after {svd.n_iter} blocks with {known} of the "
                f"objective estimated to be missing ({fresh}); raise max_iter or tol, or use an "
                "exact solver."
            )
        if regressed is not None and regressed.axes is not None:
            count = regressed.axes.shape[1]
            status = f"The labels are represented by {count} combinations. {status}"
        return {
            "exact": False,
            "converged": bool(converged),
            "status": status,
            "n_iter": svd.n_iter,
            "residual": float(rest),
            "embed": svd.left,
        }


def _targets(X: Operator, labels: Operator, axes: Array | None = None) -> Array:
    """Return the labels, or combinations of them, as a block next to X."""
    if axes is None and labels.dense:
        return X.to_device(labels.to_block())
    return X.to_device(labels.matmat(np.eye(labels.shape[1]) if axes is None else axes))


def _entries(X: Operator) -> int:
    return X.shape[0] * X.shape[1]
