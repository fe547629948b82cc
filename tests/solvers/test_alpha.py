"""Leave-one-out errors in closed form, against models that are fitted without each row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from labelspan.labels import Factor, Regression
from labelspan.operators import as_operator
from labelspan.solvers import Exact, Problem, problem
from labelspan.solvers import alpha as alpha_module
from labelspan.solvers.alpha import (
    RidgeSpectrum,
    alpha_grid,
    choose_alpha,
    generalized_cross_validation,
    held_out,
    leave_one_out,
)

ALPHAS = np.array([1e-3, 0.1, 1.0, 30.0, 1e4])


def make(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal(d)
    Y = (X @ rng.standard_normal((d, k)) + 2 * rng.standard_normal((n, k)) > 1).astype(float)
    return X, Y


def refit(kernel, Y, alpha, weights, intercept):
    """Return the mean squared error of n dual ridge models, each without one row."""
    n = kernel.shape[0]
    total = 0.0
    for row in range(n):
        rest = np.delete(np.arange(n), row)
        w = weights[rest]
        mean = np.average(Y[rest], axis=0, weights=w) if intercept else np.zeros(Y.shape[1])
        inside, across = kernel[np.ix_(rest, rest)], kernel[row, rest]
        if intercept:
            share = w / w.sum()
            column = inside @ share
            across = across - across @ share - column + share @ column
            inside = inside - column - column[:, None] + share @ column
        # W (Y - K A) = alpha A, so that A = (K + alpha W^-1)^-1 Y.
        dual = np.linalg.solve(inside + alpha * np.diag(1 / w), Y[rest] - mean)
        total += weights[row] * np.square(Y[row] - mean - across @ dual).sum()
    return total / weights.sum()


SHAPES = [(25, 6, 3), (12, 30, 3), (14, 4, 9), (12, 30, 20)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dual", [True, False])
def test_equals_refits(shape, intercept, weighted, dual):
    X, Y = make(*shape)
    weights = np.random.default_rng(1).uniform(0.5, 3, X.shape[0]) if weighted else None
    if dual:
        spectrum = RidgeSpectrum.of_kernel(X @ X.T, intercept=intercept, weights=weights)
    else:
        spectrum = RidgeSpectrum.of_rows(X, intercept=intercept, weights=weights)
    curve = leave_one_out(spectrum, Y, alphas=ALPHAS)
    given = np.ones(X.shape[0]) if weights is None else weights
    expected = [refit(X @ X.T, Y, alpha, given, intercept) for alpha in ALPHAS]
    np.testing.assert_allclose(curve.errors, expected, rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_labels_equal_dense_ones(shape, kind):
    X, Y = make(*shape)
    spectrum = RidgeSpectrum.of_rows(X)
    dense, thin = (leave_one_out(spectrum, labels, alphas=ALPHAS) for labels in (Y, kind(Y)))
    np.testing.assert_allclose(thin.errors, dense.errors, rtol=1e-10)


def test_sparse_labels_are_never_made_dense(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("labels were made dense")

    X, Y = make(14, 4, 9)
    labels = sparse.csr_array(Y)
    monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
    monkeypatch.setattr(sparse.csr_array, "todense", refuse)
    leave_one_out(RidgeSpectrum.of_rows(X), labels, alphas=ALPHAS)


@pytest.mark.parametrize("intercept", [True, False])
def test_kernel_equals_refits(intercept):
    X, Y = make(20, 3, 2)
    kernel = rbf_kernel(X, gamma=0.2)
    curve = leave_one_out(RidgeSpectrum.of_kernel(kernel, intercept=intercept), Y, alphas=ALPHAS)
    expected = [refit(kernel, Y, alpha, np.ones(20), intercept) for alpha in ALPHAS]
    np.testing.assert_allclose(curve.errors, expected, rtol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_inside_a_space_equals_refits_there(intercept):
    X, Y = make(30, 20, 4)
    basis = np.linalg.qr(np.random.default_rng(2).standard_normal((20, 6)))[0]
    image = X @ basis
    centered = image - image.mean(axis=0) * intercept
    found = [
        RidgeSpectrum.of_rows(image, intercept=intercept),
        RidgeSpectrum.of_gram(centered.T @ centered, centered, intercept=intercept),
    ]
    expected = [refit(image @ image.T, Y, alpha, np.ones(30), intercept) for alpha in ALPHAS]
    for spectrum in found:
        curve = leave_one_out(spectrum, Y, alphas=ALPHAS)
        np.testing.assert_allclose(curve.errors, expected, rtol=1e-6)


@pytest.mark.parametrize("k", [3, 12])
def test_a_sample_of_rows_estimates_the_error_of_the_model_of_all_rows(k):
    X, Y = make(40, 6, k)
    X = X - X.mean(axis=0)
    gram = X.T @ X
    whole = RidgeSpectrum.of_gram(gram, X, intercept=True)
    parts = []
    for rows in (np.arange(0, 15), np.arange(15, 40)):
        spectrum = RidgeSpectrum.of_gram(gram, X[rows], intercept=True, n_rows=40)
        coordinates = whole.left.T @ Y
        parts.append(
            leave_one_out(
                spectrum, Y[rows], alphas=ALPHAS, coordinates=coordinates, means=Y.mean(axis=0)
            ).errors
        )
    joined = (15 * parts[0] + 25 * parts[1]) / 40
    np.testing.assert_allclose(joined, leave_one_out(whole, Y, alphas=ALPHAS).errors, rtol=1e-9)


@pytest.mark.parametrize("shape", [(25, 6, 3), (12, 30, 3)])
@pytest.mark.parametrize("intercept", [True, False])
def test_generalized_cross_validation_is_its_formula(shape, intercept):
    X, Y = make(*shape)
    n, d = X.shape
    Xc, Yc = (A - A.mean(axis=0) * intercept for A in (X, Y))
    curve = generalized_cross_validation(
        Xc.T @ Xc, Xc.T @ Yc, np.square(Yc).sum(), rows=n, intercept=intercept, alphas=ALPHAS
    )
    expected = []
    for alpha in ALPHAS:
        hat = Xc @ np.linalg.solve(Xc.T @ Xc + alpha * np.eye(d), Xc.T)
        residual = np.square(Yc - hat @ Yc).sum()
        expected.append(n * residual / (n - intercept - np.trace(hat)) ** 2)
    np.testing.assert_allclose(curve.errors, expected, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_both_criteria_choose_alike_with_many_rows(seed):
    X, Y = make(400, 30, 5, seed)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    exact = leave_one_out(RidgeSpectrum.of_rows(X), Y)
    mean = generalized_cross_validation(Xc.T @ Xc, Xc.T @ Yc, np.square(Yc).sum(), rows=400)
    assert abs(np.log(exact.alpha / mean.alpha)) < 0.5


@pytest.mark.parametrize("seed", range(5))
def test_the_choice_is_the_minimum(seed):
    X, Y = make(60, 80, 4, seed)
    spectrum = RidgeSpectrum.of_rows(X)
    curve = leave_one_out(spectrum, Y)
    fine = leave_one_out(spectrum, Y, alphas=np.geomspace(curve.alphas[0], curve.alphas[-1], 2000))
    assert curve.error <= curve.errors.min()
    assert curve.error <= fine.errors.min() * (1 + 1e-4)
    assert not curve.at_edge


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e5])
def test_the_choice_follows_the_unit_of_the_data(factor):
    X, Y = make(50, 20, 3)
    one, other = (leave_one_out(RidgeSpectrum.of_rows(A), Y) for A in (X, factor * X))
    assert other.alpha == pytest.approx(factor**2 * one.alpha, rel=1e-6)


def test_columns_in_very_different_units():
    X, Y = make(80, 12, 3)
    scaled = X * np.concatenate([[1e7, 1e5], np.ones(10)])
    curve = leave_one_out(RidgeSpectrum.of_rows(scaled), Y)
    # The two large columns are as good as unpenalised; the others need what they needed.
    even = leave_one_out(RidgeSpectrum.of_rows(X), Y)
    assert curve.alphas[0] < even.alpha / 100
    assert 0.05 < curve.alpha / even.alpha < 20
    assert curve.error < 1.05 * even.error


def test_float32_data_is_decomposed_in_float64():
    X, Y = make(40, 15, 3)
    narrow = X.astype(np.float32)
    spectrum = RidgeSpectrum.of_rows(narrow)
    assert spectrum.left.dtype == np.float64
    wide = leave_one_out(RidgeSpectrum.of_rows(narrow.astype(np.float64)), Y)
    assert leave_one_out(spectrum, Y.astype(np.float32)).alpha == pytest.approx(
        wide.alpha, rel=1e-6
    )


def test_rounding_of_a_float32_kernel_is_not_a_direction():
    X, _ = make(200, 8, 1)
    narrow = X.astype(np.float32)
    gram = narrow @ narrow.T
    assert RidgeSpectrum.of_kernel(gram).squares.size == 8
    assert RidgeSpectrum.of_gram(gram, np.eye(200)).squares.size == 8


def test_labels_that_are_noise_get_a_strong_penalty():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((100, 50)), rng.standard_normal((100, 20))
    curve = leave_one_out(RidgeSpectrum.of_rows(X), Y)
    assert curve.alpha > 5 * RidgeSpectrum.of_rows(X).squares[0]


def test_exact_labels_get_a_weak_penalty():
    X, _ = make(100, 10, 1)
    Y = X @ np.random.default_rng(3).standard_normal((10, 2))
    assert leave_one_out(RidgeSpectrum.of_rows(X), Y).alpha < 1e-4


def test_constant_labels_get_the_strongest_penalty():
    X, _ = make(30, 5, 1)
    curve = leave_one_out(RidgeSpectrum.of_rows(X), np.ones((30, 2)))
    assert curve.alpha == curve.alphas[-1]


def test_equal_rows_have_no_direction():
    spectrum = RidgeSpectrum.of_rows(np.ones((6, 3)))
    assert spectrum.squares.size == 0
    Y = np.eye(6)[:, :2]
    # Only the mean is fitted: n / (n - 1) times the deviation from it.
    expected = np.square((Y - Y.mean(axis=0)) * 6 / 5).sum() / 6
    assert leave_one_out(spectrum, Y).error == pytest.approx(expected)


def test_inputs_stay_as_they_are():
    X, Y = make(20, 5, 3)
    given = X.copy(), Y.copy()
    leave_one_out(RidgeSpectrum.of_rows(X, weights=np.arange(1.0, 21)), Y)
    np.testing.assert_array_equal(X, given[0])
    np.testing.assert_array_equal(Y, given[1])


def test_the_grid_surrounds_the_spectrum():
    squares = np.geomspace(1e4, 1, 40)
    grid = alpha_grid(squares)
    assert grid[0] < squares[-1] / 100
    assert grid[-1] > 5 * squares[0]
    assert grid.size >= 25
    assert alpha_grid(squares, count=7).size == 7


@pytest.mark.parametrize("fill", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(60, 20, 4), (60, 20, 30), (20, 60, 4)])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_choice_is_exact_while_one_side_is_small(shape, fill, intercept, monkeypatch):
    X, Y = make(*shape)
    operator = as_operator(X)
    operator.fill = fill
    monkeypatch.setattr(problem, "_SPARSE_SIDE", 10)
    curve = choose_alpha(operator, Y, intercept=intercept)
    exact = leave_one_out(RidgeSpectrum.of_rows(X, intercept=intercept), Y)
    if fill:
        assert curve.alpha == pytest.approx(exact.alpha, rel=1e-3)
        assert curve.error == pytest.approx(exact.error, rel=1e-6)
    else:
        assert curve.error != pytest.approx(exact.error, rel=1e-6)


@pytest.mark.parametrize("width", [20, 500])
def test_the_choice_takes_sparse_features_and_labels(width):
    X, Y = make(80, width, 6)
    dense = choose_alpha(as_operator(X), Y, intercept=True)
    thin = choose_alpha(as_operator(sparse.csr_array(X)), sparse.csr_array(Y), intercept=True)
    assert thin.alpha == pytest.approx(dense.alpha, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_mixtures_and_held_out_rows_choose_nearly_the_same_penalty(seed, monkeypatch):
    X, Y = make(240, 300, 40, seed)
    exact = leave_one_out(RidgeSpectrum.of_rows(X), Y)
    for limit in (1024, 10):
        monkeypatch.setattr(problem, "_DENSE_SIDE", limit)
        found = choose_alpha(as_operator(X), Y, intercept=True)
        regret = leave_one_out(RidgeSpectrum.of_rows(X), Y, alphas=np.array([found.alpha])).error
        assert found.alpha != exact.alpha
        assert regret < 1.05 * exact.error


def test_the_decomposition_of_the_choice_serves_the_solver(monkeypatch):
    X, Y = make(60, 20, 4)
    rows = as_operator(X).centered()[0]
    alpha = choose_alpha(rows, Y, intercept=True).alpha
    monkeypatch.setattr("numpy.linalg.eigh", None)
    monkeypatch.setattr(type(rows), "gram", None)
    stack = Factor(Y - Y.mean(axis=0), 0.1, Regression(alpha))
    assert Exact().solve(Problem(rows, stack, 5)).converged


def topics(n=1400, d=1300, k=30, seed=0):
    """Return sparse rows of length one and labels that depend on a few of their directions."""
    rng = np.random.default_rng(seed)
    themes = rng.dirichlet(np.full(20, 0.2), n)
    words = rng.dirichlet(np.full(d, 0.05), 20)
    counts = rng.poisson(60 * themes @ words)
    X = np.sqrt(counts)
    X /= np.maximum(np.linalg.norm(X, axis=1), 1e-9)[:, None]
    Y = (themes @ rng.standard_normal((20, k)) + 0.4 * rng.standard_normal((n, k)) > 0.5) * 1.0
    return sparse.csr_array(X), Y


@pytest.mark.parametrize("intercept", [True, False])
def test_held_out_rows_choose_about_what_leave_one_out_does(intercept):
    X, Y = topics()
    spectrum = RidgeSpectrum.of_kernel((X @ X.T).toarray(), intercept=intercept)
    exact = leave_one_out(spectrum, Y)
    for seed in range(3):
        found = held_out(as_operator(X), Y, intercept=intercept, seed=seed)
        assert 0.5 < found.alpha / exact.alpha < 2
        # The error of what was chosen is as good as the smallest.
        there = leave_one_out(spectrum, Y, alphas=np.array([found.alpha])).errors[0]
        assert there < 1.005 * exact.error


def test_large_data_is_held_out():
    X, Y = topics()
    operator = as_operator(X)
    chosen = choose_alpha(operator, Y, intercept=True)
    assert chosen.alpha == held_out(operator, Y, intercept=True).alpha


def test_a_space_as_large_as_the_rows_has_the_error_of_a_refit():
    X, Y = make(60, 6, 3)
    found = held_out(as_operator(X), Y, intercept=True)
    order = np.random.default_rng(0).permutation(60)
    errors = []
    for held in (order[:9], order[9:18]):
        rest = np.setdiff1d(np.arange(60), held)
        means, shift = X[rest].mean(axis=0), Y[rest].mean(axis=0)
        A = X[rest] - means
        slopes = np.linalg.solve(A.T @ A + found.alpha * np.eye(6), A.T @ (Y[rest] - shift))
        errors.append(np.square(Y[held] - shift - (X[held] - means) @ slopes).sum() / 9)
    np.testing.assert_allclose(found.error, np.mean(errors), rtol=1e-9)


def test_features_of_zeros_have_a_flat_curve():
    found = held_out(as_operator(np.zeros((40, 5))), make(40, 5, 2)[1], intercept=True)
    assert np.ptp(found.errors) == 0


@pytest.mark.parametrize("k", [3, 16, 17, 60, 140])
def test_combinations_of_labels_have_their_expected_error(k):
    """Leading directions count exactly, the rest on average."""
    rng = np.random.default_rng(0)
    labels = as_operator((rng.random((200, k)) < np.linspace(0.05, 0.9, k)).astype(float))
    errors = rng.standard_normal((50, k)) * np.linspace(3, 1, k)
    found = []
    for seed in range(400):
        R = alpha_module._combinations(labels, np.random.default_rng(seed))
        found.append(np.square(errors @ R).sum() / np.square(errors).sum())
    assert R.shape[1] == (k if k <= 16 else 8)
    assert np.mean(found) == pytest.approx(1.0, abs=0.02 if k > 16 else 1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_combinations_are_the_same_from_products_and_from_passes(kind, monkeypatch):
    rng = np.random.default_rng(0)
    labels = as_operator(kind((rng.random((300, 40)) < np.linspace(0.02, 0.9, 40)).astype(float)))
    at_once = alpha_module._combinations(labels, np.random.default_rng(1))
    monkeypatch.setattr(alpha_module, "_GRAM_LABELS", 0)
    in_passes = alpha_module._combinations(labels, np.random.default_rng(1))
    np.testing.assert_allclose(at_once, in_passes, atol=1e-12)


def test_of_penalties_that_are_equally_good_down_to_the_smallest_the_strongest_is_chosen():
    """More columns than rows: small penalties all interpolate, and predict the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2000))
    curve = leave_one_out(RidgeSpectrum.of_rows(X), X[:, :1] + rng.standard_normal((20, 1)))
    as_good = curve.errors <= curve.errors.min() * 1.001
    assert as_good[0]
    assert not as_good.all()
    last = np.flatnonzero(~as_good)[0] - 1
    assert curve.alpha >= curve.alphas[last]
    assert curve.error <= curve.errors.min() * 1.001


def test_rounding_is_not_outside_of_features_that_span_all():
    rng = np.random.default_rng(0)
    left = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    squares = np.linspace(2.0, 0.5, 40)
    alphas = np.array([1e-7, 1e-5, 1e-3])
    for k in (3, 60):
        labels = (rng.random((40, k)) < 0.3).astype(float)
        found = [
            leave_one_out(
                RidgeSpectrum(squares, vectors, np.zeros(40)), labels, alphas=alphas
            ).errors
            for vectors in (left, left.astype(np.float32).astype(float))
        ]
        np.testing.assert_allclose(found[1], found[0], rtol=1e-4)
