"""The paper's least squares solver: the eigenproblem under its condition, ridge and lasso."""

from dataclasses import replace

import numpy as np
import pytest
from _support.support import THIN, angle, features, operators, thin_factor
from scipy import sparse
from sklearn.linear_model import Lasso, Ridge

from labelspan import OPLS
from labelspan.operators.digits import block_rank
from labelspan.papers.sun2009 import LeastSquares
from labelspan.papers.sun2009.least_squares import targets
from labelspan.solvers import Exact, Problem


def thin_problem(shape, factor, alpha, seed, operator="dense"):
    made, dense = operators(features(shape, seed))
    H = thin_factor(factor, dense.shape[0], seed)
    count = min(block_rank(H), np.linalg.matrix_rank(dense))
    return Problem(made[operator], H, count, alpha), dense, H


@pytest.mark.parametrize(
    ("factor", "intercept", "operator"),
    [
        (factor, ["implicit", "bias"][n % 2], ["dense", "sparse"][n // 2 % 2])
        for n, factor in enumerate(THIN)
    ],
)
def test_least_squares_equals_eigen_when_rank_is_n_minus_1(factor, intercept, operator):
    problem, dense, _ = thin_problem("wide", factor, 0.0, 3, operator)
    assert np.linalg.matrix_rank(dense) == dense.shape[0] - 1
    solution = LeastSquares(tol=1e-13, intercept=intercept).solve(problem)
    exact = Exact().solve(problem)
    assert solution.exact
    assert "as rank(X) = n - 1 implies" in solution.status
    np.testing.assert_allclose(solution.eigenvalues, exact.eigenvalues, rtol=1e-7)
    assert angle(dense @ solution.weights, dense @ exact.weights) < 1e-6
    if intercept == "implicit":
        assert angle(solution.weights, exact.weights) < 1e-6


def test_least_squares_says_that_the_condition_fails():
    problem, _, _ = thin_problem("tall", "opls", 0.0, 3)
    solution = LeastSquares().solve(problem)
    assert not solution.exact
    assert "d = 12 < n - 1 = 59" in solution.status
    low, _, _ = thin_problem("low-rank", "opls", 0.0, 3)
    assert "rank(X) = n - 1 does not hold" in LeastSquares().solve(low).status


def test_corollary_1_keeps_the_leading_targets():
    problem, _, H = thin_problem("wide", "opls", 0.0, 5)
    T = targets(H)
    np.testing.assert_allclose(T.T @ T, np.eye(T.shape[1]), atol=1e-12)
    values = np.linalg.eigvalsh(H @ H.T)[::-1][: T.shape[1]]
    np.testing.assert_allclose(np.diag(T.T @ H @ H.T @ T), values, rtol=1e-10)
    fewer = Problem(problem.X, problem.labels, 2)
    exact = Exact().solve(fewer)
    assert angle(LeastSquares(tol=1e-13).solve(fewer).weights, exact.weights) < 1e-6


@pytest.mark.parametrize(
    ("operator", "intercept"), [("dense", "bias"), ("sparse", "bias"), ("sparse", "implicit")]
)
def test_least_squares_with_a_ridge_is_ridge_regression_on_the_targets(operator, intercept):
    problem, _, H = thin_problem("tall", "star", 2.0, 4, operator)
    solution = LeastSquares(tol=1e-13, intercept=intercept).solve(problem)
    X = features("tall", 4)
    expected = Ridge(alpha=2.0).fit(X, targets(H)[:, : problem.n_components]).coef_.T
    np.testing.assert_allclose(solution.weights, expected, atol=1e-8)
    assert "different methods" in solution.status


@pytest.mark.parametrize("operator", ["dense", "sparse", "loopback"])
def test_least_squares_with_the_1_norm_is_the_lasso(operator):
    problem, dense, H = thin_problem("tall", "cca", 0.0, 4, operator)
    penalised = replace(problem, alpha=0.4)
    solution = LeastSquares("l1", tol=1e-12).solve(penalised)
    T = targets(H)[:, : problem.n_components]
    expected = Lasso(alpha=0.4 / 120, tol=1e-12, max_iter=10_000).fit(dense, T).coef_.T
    np.testing.assert_allclose(solution.weights, expected, atol=1e-7)
    assert (solution.weights == 0).any()


@pytest.mark.parametrize(
    ("condition", "form"),
    [(1e2, np.asarray), (1e6, sparse.csr_array), (1e8, np.asarray), (1e10, sparse.csr_array)],
)
def test_least_squares_does_not_depend_on_the_condition(condition, form):
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.standard_normal((side, 20)))[0] for side in (200, 20))
    X = (left * np.geomspace(1, 1 / condition, 20)) @ right.T
    Y = (np.random.default_rng(1).random((200, 3)) < 0.3).astype(float)
    model = OPLS(3, alpha=0, center=False, solver=LeastSquares()).fit(form(X), Y)
    # Without a penalty the fitted targets are their projections on the columns of X.
    fitted = model.transform(X)
    np.testing.assert_allclose(left @ (left.T @ fitted), fitted, atol=1e-6)
    easy = OPLS(3, alpha=0, center=False, solver=LeastSquares()).fit(left, Y)
    np.testing.assert_allclose(model.eigenvalues_, easy.eigenvalues_, rtol=1e-5)
