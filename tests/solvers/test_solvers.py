"""Solvers: certificates and identities over one grid, then what each one claims."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from _support.support import (
    SHAPES,
    THIN,
    angle,
    dense_eigenvalues,
    features,
    operators,
    scattered,
    thin_factor,
)
from scipy import sparse

from labelspan import CCA, HSL, MLSI, OPLS
from labelspan.operators import Product, Scaled, as_operator
from labelspan.operators.digits import block_rank
from labelspan.solvers import (
    Exact,
    Krylov,
    KrylovOptions,
    Problem,
    choose_solver,
    eigen_residual,
)
from labelspan.solvers.conjugate_gradients import block_cg
from labelspan.solvers.decomposition import Decomposition
from labelspan.solvers.ridge import direct_ridge, leverage_of, ridge

ALPHAS = [0.0, 0.3, 30.0]
# Regressions are never solved directly.
ITERATIVE = KrylovOptions(direct=0)


def thin_problem(shape, factor, alpha, seed, operator="dense"):
    made, dense = operators(features(shape, seed))
    H = thin_factor(factor, dense.shape[0], seed)
    count = min(block_rank(H), np.linalg.matrix_rank(dense))
    return Problem(made[operator], H, count, alpha), dense, H


@pytest.fixture(params=["direct", "iterative"])
def krylov(request):
    """The Krylov solver on thin factors, on either side of the limit of dense Gram matrices."""
    options = ITERATIVE if request.param == "iterative" else KrylovOptions()
    return Krylov(tol=1e-11, max_iter=4000, options=options)


def check_certificates(problem, dense, solution, tolerance=1e-8):
    W = solution.weights
    metric = dense.T @ dense + problem.alpha * np.eye(dense.shape[1])
    np.testing.assert_allclose(W.T @ metric @ W, np.eye(W.shape[1]), atol=tolerance)
    assert eigen_residual(problem, solution) < tolerance
    assert (np.diff(solution.eigenvalues) <= 1e-12).all()


def pairwise(*columns):
    """Every pair of a shape and a factor, with the other columns in turn."""
    pairs = enumerate(itertools.product(SHAPES, THIN))
    return [(*pair, *(c[(n + n // len(THIN)) % len(c)] for c in columns)) for n, pair in pairs]


@pytest.mark.parametrize(("shape", "factor", "alpha"), pairwise(ALPHAS))
def test_direct_solvers_have_certificates_and_known_eigenvalues(shape, factor, alpha):
    problem, dense, H = thin_problem(shape, factor, alpha, 0)
    expected = dense_eigenvalues(dense, H @ H.T, alpha, problem.n_components)
    # From a Cholesky factor, then from the decomposition that a choice of alpha would leave.
    for _ in range(2):
        solution = Exact().solve(problem)
        check_certificates(problem, dense, solution)
        np.testing.assert_allclose(solution.eigenvalues, expected, rtol=1e-8, atol=1e-10)
        known = Decomposition(problem.X)
        assert known.spectrum.values.size
        problem = replace(problem, decomposition=known)


@pytest.mark.parametrize(
    ("shape", "factor", "alpha", "operator"),
    pairwise(ALPHAS, ["dense", "sparse", "loopback", "sparse"]),
)
def test_krylov_equals_exact(shape, factor, alpha, operator, krylov):
    problem, dense, _ = thin_problem(shape, factor, alpha, 7, operator)
    exact = Exact().solve(problem)
    solution = krylov.solve(problem)
    assert solution.converged
    assert solution.residual <= 1e-11
    np.testing.assert_allclose(solution.eigenvalues, exact.eigenvalues, rtol=1e-8)
    # The column space is the same; inside it, close eigenvalues may mix.
    assert angle(dense @ solution.weights, dense @ exact.weights) < 1e-8


def test_a_wrong_answer_fails_its_certificate():
    problem, dense, _ = thin_problem("tall", "opls", 0.3, 0)
    solution = Krylov().solve(problem)
    object.__setattr__(solution, "eigenvalues", solution.eigenvalues * (1 + 1e-4))
    with pytest.raises(AssertionError):
        check_certificates(problem, dense, solution)


def test_krylov_says_when_it_did_not_converge():
    problem, _, _ = thin_problem("tall", "opls", 0.0, 0)
    solution = Krylov(tol=1e-14, max_iter=2, options=ITERATIVE).solve(problem)
    assert not solution.converged
    assert solution.n_iter == 2
    assert "raise alpha, max_iter or tol" in solution.status


# --- thin factors whose iteration stops by the missing eigenvalues ----------------


@pytest.fixture
def large():
    """Data with a falling spectrum."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((400, 500)) < 0.1) * rng.standard_normal((400, 500)))
    X = sparse.csr_array(X * (1 / np.sqrt(1 + np.arange(500)))[None, :])
    Y = X @ rng.standard_normal((500, 12)) + 0.2 * rng.standard_normal((400, 12)) > 0
    return X, Y * 1.0


@pytest.mark.parametrize(
    ("method", "alpha", "dtype"),
    [
        (OPLS, 0.01, np.float64),
        (OPLS, 1.0, np.float32),
        (CCA, 0.1, np.float64),
        (CCA, 0.01, np.float32),
        (HSL, 1.0, np.float64),
        (HSL, 0.1, np.float32),
    ],
)
def test_what_is_missing_is_within_the_promise(large, method, alpha, dtype):
    X, Y = large[0].astype(dtype), large[1]
    model = method(alpha=alpha, solver=Krylov(options=ITERATIVE)).fit(X, Y)
    exact = method(alpha=alpha, solver="exact").fit(X.astype(np.float64), Y)
    assert "missing eigenvalues are estimated" in model.status_
    missing = 1 - model.eigenvalues_.sum() / exact.eigenvalues_.sum()
    assert -1e-4 < missing < 5e-3
    # The directions are those of the problem restricted to what was found.
    W = model.components_.T.astype(np.float64)
    if model.scale:
        W /= np.sqrt(model.eigenvalues_)
    Xc = X.toarray().astype(np.float64)
    Xc -= Xc.mean(axis=0)
    np.testing.assert_allclose(W.T @ (Xc.T @ Xc) @ W + alpha * W.T @ W, np.eye(12), atol=2e-2)


@pytest.mark.parametrize("decades", [0, 1, 2])
@pytest.mark.parametrize("penalty", [0.3, 3.0, 30.0])
def test_the_missing_part_of_a_regression_is_bounded(decades, penalty):
    rng = np.random.default_rng(decades)
    X = rng.standard_normal((60, 120)) * np.logspace(0, -decades, 120)
    # Copies of a label are merged, so the block of directions is narrower than the labels.
    right = X.T @ rng.standard_normal((60, 6))[:, [0, 1, 2, 3, 4, 5, 5]]
    matrix = X.T @ X + penalty * np.eye(120)
    exact = np.linalg.solve(matrix, right)
    solved = block_cg(matrix.__matmul__, right, 1e-14, 500)
    for rtol in (0.3, 0.1, 3e-2, 1e-2, 1e-3, 1e-6):
        run = block_cg(matrix.__matmul__, right, 1e-14, 500, rtol=rtol, least=penalty)
        assert run.n_iter < solved.n_iter
        gap = exact - run.solution
        missing = np.sum(gap * (matrix @ gap)) / np.sum(right * run.solution)
        # Below the rounding of products nothing can be told.
        assert missing <= max(run.to_come, 1e-12)
        assert run.to_come <= rtol


@pytest.mark.parametrize(("rows", "columns"), [(1500, 300), (300, 1500)])
@pytest.mark.parametrize("alpha", [0.3, 3.0])
def test_the_leverage_comes_with_the_regression(rows, columns, alpha):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.05)
    dense -= dense.mean(axis=0)
    squares = np.linalg.svd(dense, compute_uv=False) ** 2
    expected = (squares / (squares + alpha)).sum() / rows
    X, Y = as_operator(dense), dense @ rng.standard_normal((columns, 5)) > 0.3
    options = {"rtol": 5e-3, "direct": 0}
    fit = ridge(X, Y - Y.mean(axis=0), alpha, leverage=True, **options)
    without = ridge(X, Y - Y.mean(axis=0), alpha, **options)
    assert fit.leverage == pytest.approx(expected, rel=0.1)
    assert leverage_of(X, alpha) == pytest.approx(expected, rel=0.1)
    assert fit.n_iter == without.n_iter
    np.testing.assert_allclose(fit.agreement, without.agreement, rtol=1e-3, atol=1e-2)


def test_a_regression_that_iterates_slowly_is_solved_directly():
    rng = np.random.default_rng(1)
    S = rng.standard_normal((500, 450)) * np.geomspace(1, 0.01, 450)
    S += 10 * rng.standard_normal((500, 3)) @ rng.standard_normal((3, 450))
    X = as_operator(S * 10 ** rng.uniform(0, 6, 450))
    fit = ridge(X, rng.standard_normal((500, 3)), 1e9, rtol=5e-3)
    assert fit.to_come is None
    assert fit.method.startswith("Solved")


def test_directions_lost_to_rounding_are_found_by_full_convergence(large):
    X, Y = as_operator(large[0]), large[1]
    assert ridge(X, Y, 0.1, rtol=5e-3, direct=0).to_come is not None
    fit = ridge(X, Y, 0.1, rtol=5e-3, direct=0, max_turn=-1.0)
    assert fit.to_come is None
    dense = large[0].toarray()
    exact = np.linalg.solve(dense.T @ dense + 0.1 * np.eye(500), dense.T @ Y)
    np.testing.assert_allclose(fit.slopes.to_block(), exact, atol=1e-6)


# --- factors that hold the features ---------------------------------------------------


STORED = {"dense": as_operator, "sparse": lambda Y: as_operator(sparse.csr_array(Y))}


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_scaled_and_combined_labels_are_their_products(kind, thin):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 40)), rng.standard_normal((60, 20))
    scale, mixing = rng.random(20), rng.standard_normal((20, 7))
    L = Y * scale @ mixing
    given = Product(Scaled(STORED[kind](Y), columns=scale), as_operator(mixing))
    options = {} if thin else {"feature_weight": 0.01, "label_norm": 0.7}
    exact = Exact().solve(Problem(as_operator(X), L, 6, 0.5, **options))
    problem = Problem(as_operator(X), given, 6, 0.5, **options)
    assert problem.sparse_labels == (kind == "sparse")
    found = Krylov(tol=1e-12).solve(problem)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-8)
    assert angle(X @ found.weights, X @ exact.weights) < 1e-5
    if thin:
        np.testing.assert_allclose(found.images, found.weights.T @ X.T @ L, atol=1e-8)
    else:
        signs = np.sign((found.weights * exact.weights).sum(axis=0))
        np.testing.assert_allclose(found.label_axes * signs, exact.label_axes, atol=1e-5)


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_many_labels_are_represented_by_combinations_of_them(kind, thin):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 120)) * np.arange(1, 121) ** -0.5
    chance = X[:, :40] @ rng.standard_normal((40, 200)) + 3 * rng.standard_normal((300, 200))
    Y = (chance > 3.5) - 0.1
    scale = rng.random(200)
    L = Y * scale
    options, represented, level = {}, L, 1.0
    if not thin:
        # Next to features, the 64 leading combinations; the scale is that of all labels.
        axes = np.linalg.svd(L)[2][:64].T
        represented = L @ axes @ axes.T
        hat = X @ np.linalg.solve(X.T @ X + 0.5 * np.eye(120), X.T)
        level = np.linalg.norm(hat @ represented) / np.linalg.norm(hat @ L)
        options = {"feature_weight": 0.4 / np.square(X).sum()}
    norm = {} if thin else {"label_norm": 0.8 * level}
    exact = Exact().solve(Problem(as_operator(X), represented, 8, 0.5, **options, **norm))
    norm = {} if thin else {"label_norm": 0.8}
    labels = Scaled(STORED[kind](Y), columns=scale)
    found = Krylov(options=KrylovOptions(each_label=20, direct=0)).solve(
        Problem(as_operator(X), labels, 8, 0.5, **options, **norm)
    )
    assert found.converged
    missing = 1 - found.eigenvalues.sum() / exact.eigenvalues.sum()
    assert abs(missing) < 0.01
    if thin:
        assert abs(missing) < 2 * found.residual
        np.testing.assert_allclose(found.images, found.weights.T @ X.T @ L, atol=1e-8)
    else:
        assert "64 combinations" in found.status
        signs = np.sign((found.weights * exact.weights).sum(axis=0))
        off = np.linalg.norm(found.label_axes * signs - exact.label_axes, axis=0)
        assert (off[:3] < 0.2 * np.linalg.norm(exact.label_axes[:, :3], axis=0)).all()


def big_sparse(seed, decay=0.7, rows=700, columns=900):
    rng = np.random.default_rng(seed)
    X = scattered((rows, columns), 0.02, rng)
    return X * (1.0 / np.arange(1, columns + 1) ** decay)


@pytest.mark.parametrize("flip", [False, True])
def test_krylov_restarts_and_ends_at_the_svd(flip):
    X = big_sparse(0, decay=0.1)
    X = sparse.csr_array(X.T if flip else X)
    expected = np.linalg.svd(X.toarray(), compute_uv=False)[:20] ** 2
    problem = Problem(as_operator(X), None, 20, feature_weight=1.0)
    solution = Krylov(tol=1e-13).solve(problem)
    # More blocks than fit between two restarts.
    assert solution.n_iter > 12
    np.testing.assert_allclose(solution.eigenvalues, expected, rtol=1e-9)
    assert eigen_residual(problem, solution) < 1e-5


# --- who takes what -------------------------------------------------------------------


def test_a_refusal_says_what_the_solver_cannot_take():
    huge = as_operator(sparse.csr_array((30_000, 25_000)))
    reason = Exact().why_not(Problem(huge, None, 1, feature_weight=1.0))
    assert re.search("25000 x 25000.*limit of 20000", reason)


def cell(rows, columns, labels, *, count=10, fill=0.0, **options):
    X = as_operator(sparse.csr_array((rows, columns)))
    X.fill = fill
    return Problem(X, labels, count, **options)


LABELS = np.ones((1, 1))
CHOICES = [
    (cell(1000, 50, LABELS), "exact", "thin"),
    (cell(3000, 2000, LABELS), "exact", "thin"),
    (cell(3000, 2000, LABELS, alpha=1.0), "krylov", "thin"),
    (cell(90_000, 90_000, LABELS), "krylov", "thin"),
    (cell(100_000, 768, None, fill=1.0, feature_weight=1.0), "exact", "768, is short"),
    (cell(100_000, 768, None, fill=0.01, feature_weight=1.0), "krylov", "both n and d"),
    (cell(100, 50_000, None, feature_weight=1.0), "exact", "100, is short"),
    (cell(500, 800, LABELS, fill=0.5, alpha=1.0, feature_weight=0.5), "exact", "500, is short"),
    (cell(30_000, 50_000, None, feature_weight=1.0), "krylov", "both n and d"),
    (cell(30_000, 50_000, LABELS, alpha=1.0, feature_weight=0.5), "krylov", "both n and d"),
    (cell(3_000, 30_000, sparse.csr_array(LABELS)), "krylov", "too many labels"),
    (cell(30_000, 3_000, None, count=2_000, feature_weight=1.0), "exact", "many directions"),
]


@pytest.mark.parametrize(("problem", "solver", "reason"), CHOICES)
def test_auto_chooses_by_this_table(problem, solver, reason):
    choice = choose_solver(problem)
    assert choice.solver == solver
    assert reason in choice.reason


def test_labels_outside_the_space_have_a_part_of_the_norm():
    """Of 300 labels the space starts from 64; the sum of eigenvalues was too large by 4 to 7%."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 300)) * np.geomspace(3, 0.3, 300)
    signal = 0.1 * X @ rng.standard_normal((300, 300))
    Y = (signal + 3 * rng.standard_normal(signal.shape) > 1).astype(float)
    found = MLSI(20, alpha=1.0, solver="krylov", random_state=0).fit(X, Y)
    exact = MLSI(20, alpha=1.0, solver="exact").fit(X, Y)
    assert found.eigenvalues_.sum() == pytest.approx(exact.eigenvalues_.sum(), rel=1e-2)


@pytest.mark.parametrize("shape", [(60, 25), (25, 60)])
@pytest.mark.parametrize(("penalty", "dtype"), [(1e-2, "float32"), (1e-7, "float64")])
def test_a_rough_direct_regression_has_the_digits_that_it_needs(shape, penalty, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((shape[0], 4)) @ rng.standard_normal((4, shape[1]))
    X = (X + 1e-2 * rng.standard_normal(shape)).astype(np.float32)
    T = rng.standard_normal((shape[0], 3))
    alpha = penalty * np.square(X).sum()
    fit = direct_ridge(as_operator(X), T, alpha, rough=True)
    assert fit.slopes.dtype == dtype
    wide = X.astype(float)
    expected = wide @ np.linalg.solve(wide.T @ wide + alpha * np.eye(shape[1]), wide.T @ T)
    fitted = wide @ fit.slopes.to_block()
    error = np.linalg.norm(fitted - expected) / np.linalg.norm(expected)
    assert error < (1e-4 if dtype == "float32" else 1e-5)
    assert error < 2 * fit.error + 1e-5
