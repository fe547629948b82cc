"""Algorithm 1 of the paper as a solver, with its 2-norm and 1-norm penalties."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, lsqr
from sklearn.exceptions import ConvergenceWarning

from ..._typing import Array
from ...errors import LabelspanWarning, warn_caller
from ...operators import Operator
from ...operators.array_backend import host
from ...operators.digits import block_rank
from ...operators.operator import Centered
from ...operators.sparse import Sparse
from ...solvers import Problem, Solution
from ...solvers.decomposition import factorise
from ...solvers.limits import small_enough

__all__ = ["LeastSquares", "targets"]

# Return codes of LSQR that mean it stopped because of the condition of X, or max_iter.
_ENDED_EARLY = (3, 6, 7)
# Maximum relative error of an accepted LSQR answer, about its tolerance times the condition
# number that it estimates.
_ACCURATE = 1e-4
# A target is reproduced if at most this fraction of it is left over.
_REPRODUCED = 1e-5


@dataclass(frozen=True)
class LeastSquares:
    """Solver that regresses targets, which depend only on the factor, on X.

    Pass it to OPLS, CCA, LDA or HSL as ``solver=``. With ``penalty="l1"`` the loadings are sparse;
    the regularization strength is the ``alpha`` of the estimator, which must be a number then.

    ``H P = Q R`` with column pivoting, ``R = U_R S_R V_R'``, targets ``T = Q U_R`` in the
    order of ``S_R``, of which the leading ones are kept (Corollary 1); then LSQR,
    one target at a time, or coordinate descent for the 1-norm penalty.

    It solves the eigenproblem exactly if ``rank(X) = n - 1`` for a centred X (Theorem 2)
    and there is no penalty; the solution says whether it does.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        ``|XW - T|^2 + alpha |W|^2``, or ``|XW - T|^2 + alpha sum_j |w_j|_1``.
    tol : float, default=1e-8
        LSQR's ``atol`` and ``btol``, or the coordinate descent's ``tol``.
    max_iter : int, default=10_000
        Maximum number of iterations per target.
    intercept : {"implicit", "bias"}, default="implicit"
        A centred sparse X is either centred implicitly, or not centred and extended by a column of
        ones, as in the paper. The two agree on the rows of X, and with a penalty everywhere;
        without one, and with more features than rows, the paper's form minimises the norm of the
        weights *and the bias*, and its weights have a component that is orthogonal to the centred
        rows.

    See Also
    --------
    labelspan.solvers.Exact : Exact also with a penalty.

    References
    ----------
    .. [1] Sun, L., Ji, S., & Ye, J. (2009). A least squares formulation for a class of
           generalized eigenvalue problems in machine learning. ICML.
           https://doi.org/10.1145/1553374.1553499

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from labelspan import OPLS
    >>> from labelspan.papers.sun2009 import LeastSquares
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> OPLS(alpha=200.0, solver=LeastSquares("l1")).fit(X, Y).components_ != 0
    array([[False,  True, False],
           [False, False, False],
           [False,  True, False]])
    """

    penalty: Literal["l2", "l1"] = "l2"
    tol: float = 1e-8
    max_iter: int = 10_000
    intercept: Literal["implicit", "bias"] = "implicit"

    @property
    def name(self) -> str:
        return "least-squares"

    def why_not(self, problem: Problem) -> str | None:
        if not problem.labels_only:
            return (
                "LeastSquares needs a factor made only of labels, but this one includes features."
            )
        return None

    def solve(self, problem: Problem) -> Solution:
        assert problem.label_block is not None
        wanted = targets(problem.label_block)[:, : problem.n_components]
        if self.penalty == "l1":
            weights, n_iter, converged = self._lasso(problem.X, wanted, problem.alpha)
            _warn_of_zeros(problem, wanted, weights)
        else:
            weights, n_iter, converged = self._lsqr(problem.X, wanted, problem.alpha)
        return self._solution(problem, wanted, weights, n_iter, converged)

    def _lsqr(self, X: Operator, wanted: Array, alpha: float) -> tuple[Array, int, bool]:
        # With a penalty, which does not apply to the bias, both forms have the same answer.
        bias = self.intercept == "bias" and alpha == 0 and isinstance(X, Centered)
        system, options = _system(X, bias=bias), {"atol": self.tol, "btol": self.tol}
        weights = np.empty((X.shape[1], wanted.shape[1]))
        n_iter, sure, condition = 0, True, 0.0
        for column in range(wanted.shape[1]):
            answer = lsqr(
                system, wanted[:, column], np.sqrt(alpha), iter_lim=self.max_iter, **options
            )
            weights[:, column] = answer[0][: X.shape[1]]
            n_iter = max(n_iter, int(answer[2]))
            sure &= answer[1] not in _ENDED_EARLY
            condition = max(condition, float(answer[6]))
        if sure and condition * self.tol <= _ACCURATE:
            return weights, n_iter, True
        if not bias and X.device is None and small_enough(X) and n_iter < self.max_iter:
            # Its stopping rule ignores short directions: the data is factorised.
            return factorise(X, wanted).slopes(alpha), n_iter, True
        return weights, n_iter, sure

    def _lasso(self, X: Operator, wanted: Array, alpha: float) -> tuple[Array, int, bool]:
        from sklearn.linear_model import Lasso  # noqa: PLC0415 - slow to import

        matrix, centred = _columns(X)
        # scikit-learn's objective is |Xw - t|^2 / 2n + alpha |w|_1, the paper's has no 2n.
        model = Lasso(
            alpha=alpha / (2 * X.shape[0]),
            fit_intercept=centred,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        weights = np.empty((X.shape[1], wanted.shape[1]))
        n_iter, converged = 0, True
        for column in range(wanted.shape[1]):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                model.fit(matrix, wanted[:, column])
            weights[:, column] = model.coef_
            n_iter = max(n_iter, int(model.n_iter_))
            converged &= not caught
        return weights, n_iter, converged

    def _solution(
        self, problem: Problem, wanted: Array, weights: Array, n_iter: int, converged: bool
    ) -> Solution:
        labels = problem.label_block
        assert labels is not None
        image = host(problem.X.matmat(weights))
        left_over = np.linalg.norm(image - wanted, axis=0)
        ridge = problem.alpha * (self.penalty == "l2")
        metric = image.T @ image + ridge * weights.T @ weights
        lengths = np.diag(metric)
        agreement = np.square(labels.T @ image).sum(axis=0)
        eigenvalues = np.divide(agreement, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        equivalent = problem.alpha == 0 and bool((left_over <= _REPRODUCED).all())
        status = _statement(problem, self.penalty, equivalent)
        if not converged:
            status = (
                f"LeastSquares stopped after {n_iter} iterations, by max_iter or "
                "because X is ill-conditioned; raise max_iter, tol or alpha."
            )
        return Solution(
            weights,
            eigenvalues,
            self.name,
            exact=equivalent,
            converged=converged,
            status=status,
            n_iter=n_iter,
            residual=float(left_over.max()),
            metric=metric,
        )


def _warn_of_zeros(problem: Problem, wanted: Array, weights: Array) -> None:
    if weights.any():
        return
    largest = 2 * float(np.abs(problem.X.cross(wanted)).max(initial=0.0))
    # Features that are unrelated to the targets have no weights under any penalty.
    if largest > 0:
        warn_caller(
            f"alpha={problem.alpha:g} makes every weight zero; use a value below {largest:.3g}.",
            LabelspanWarning,
        )


def targets(factor: Array) -> Array:
    """Return sun2009's class indicator ``T = Q U_R``, orthonormal, the leading target first."""
    q, r, _ = linalg.qr(factor, mode="economic", pivoting=True)
    rank = block_rank(factor)
    left, _, _ = linalg.svd(r[:rank], full_matrices=False)
    return np.asarray(q[:, :rank] @ left)


def _statement(problem: Problem, penalty: str, equivalent: bool) -> str:
    rows, columns = problem.X.shape
    if penalty == "l1":
        return (
            "With the 1-norm penalty, targets that are equally important can be rotated into "
            "each other; the sparse weights then depend on the order of the labels."
        )
    if problem.alpha > 0:
        return (
            "With a penalty, least squares and the penalised eigenproblem are different methods; "
            "solver='exact' solves the latter."
        )
    if equivalent:
        return (
            "Every target is reproduced, as rank(X) = n - 1 implies: "
            "this is the solution of the eigenproblem (sun2009, Theorem 2)."
        )
    because = f"d = {columns} < n - 1 = {rows - 1}" if columns < rows - 1 else "X has a lower rank"
    return (
        f"rank(X) = n - 1 does not hold ({because}): this is sun2009's least squares answer, "
        "not that of the eigenproblem, which solver='exact' gives."
    )


def _columns(X: Operator) -> tuple[Any, bool]:
    """Return X with fast access to its columns, and whether they still have to be centred."""
    centred = isinstance(X, Centered)
    base = X.base if isinstance(X, Centered) else X
    if isinstance(base, Sparse):
        return base.csr.tocsc(), centred
    return np.asfortranarray(X.toarray()), False


def _system(X: Operator, *, bias: bool) -> LinearOperator:
    """Return X, or with a ``bias`` X before centring and a column of ones."""
    base = X.base if bias and isinstance(X, Centered) else X
    rows, columns = X.shape

    def forward(vector: Array) -> Array:
        out = host(base.matmat(vector[:columns].reshape(-1, 1)))[:, 0]
        return np.asarray(out + vector.ravel()[-1] if bias else out)

    def backward(vector: Array) -> Array:
        out = host(base.rmatmat(vector.reshape(-1, 1)))[:, 0]
        return np.append(out, vector.sum()) if bias else out

    return LinearOperator((rows, columns + bias), forward, backward, dtype=np.float64)
