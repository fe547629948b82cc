"""Leave-one-out errors in closed form, against models that are fitted without each row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelspan.errors import UncertainPenalty
from labelspan.operators import as_operator
from labelspan.solvers.alpha import (
    choose_alpha,
    leave_one_out,
    leave_one_out_of_sample,
    warn_at_end,
)
from labelspan.solvers.held_out import HeldOutOptions, held_out

ALPHAS = np.array([1e-3, 0.1, 1.0, 30.0, 1e4])


def make(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal(d)
    Y = (X @ rng.standard_normal((d, k)) + 2 * rng.standard_normal((n, k)) > 1).astype(float)
    return X, Y


def spectrum(X, intercept=True):
    """Return squared singular values, left vectors without null ones, and squared columns."""
    rows = np.asarray(X, float) - np.asarray(X, float).mean(axis=0) * intercept
    left, singular, _ = np.linalg.svd(rows, full_matrices=False)
    kept = singular > 1e-13 * max(X.shape) * singular[0] if singular[0] else singular > 0
    return singular[kept] ** 2, left[:, kept], np.square(rows).sum(axis=0)


def refit(X, Y, alpha, intercept):
    """Return the mean squared error of n ridge models, each without one row."""
    total = 0.0
    for row in range(len(X)):
        rest = np.delete(np.arange(len(X)), row)
        means = [A[rest].mean(axis=0) * intercept for A in (X, Y)]
        A, B = X[rest] - means[0], Y[rest] - means[1]
        slopes = A.T @ np.linalg.solve(A @ A.T + alpha * np.eye(len(A)), B)
        total += np.square(Y[row] - means[1] - (X[row] - means[0]) @ slopes).sum()
    return total / len(X)


@pytest.mark.parametrize("shape", [(25, 6, 3), (12, 30, 3), (14, 4, 9)])
@pytest.mark.parametrize("intercept", [True, False])
def test_equals_refits(shape, intercept):
    X, Y = make(*shape)
    curve = leave_one_out(*spectrum(X, intercept), Y, intercept=intercept, alphas=ALPHAS)
    expected = [refit(X, Y, alpha, intercept) for alpha in ALPHAS]
    np.testing.assert_allclose(curve.errors, expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [(25, 6, 3), (12, 30, 3), (40, 6, 90)])
@pytest.mark.parametrize("intercept", [True, False])
def test_products_and_a_sample_give_the_same_errors(shape, intercept):
    X, Y = make(*shape)
    Xc, Yc = (A - A.mean(axis=0) * intercept for A in (X, Y))

    def curve(rows):
        means = Y.mean(axis=0) * intercept
        found = Xc.T @ Xc, Xc.T @ Yc, Xc[rows], Y[rows], means
        return leave_one_out_of_sample(*found, rows=len(X), intercept=intercept)

    every = curve(np.arange(len(X)))
    usual = every.alphas > 1e-3
    expected = [refit(X, Y, alpha, intercept) for alpha in every.alphas[usual]]
    np.testing.assert_allclose(every.errors[usual], expected, rtol=1e-6)
    # The mean over two halves is that over all rows.
    halves = [curve(np.arange(part, len(X), 2)) for part in (0, 1)]
    counts = [-(-len(X) // 2), len(X) // 2]
    np.testing.assert_allclose(
        np.average([one.errors for one in halves], axis=0, weights=counts), every.errors, rtol=1e-6
    )


def test_columns_in_very_different_units():
    X, Y = make(80, 12, 3)
    scaled = X * np.concatenate([[1e7, 1e5], np.ones(10)])
    curve = leave_one_out(*spectrum(scaled), Y)
    # The two large columns are as good as unpenalised; the others need what they needed.
    even = leave_one_out(*spectrum(X), Y)
    assert curve.alphas[0] < even.alpha / 100
    assert 0.05 < curve.alpha / even.alpha < 20
    assert curve.error < 1.05 * even.error


def test_equal_rows_have_no_direction():
    nothing = spectrum(np.ones((6, 3)))
    assert nothing[0].size == 0
    Y = np.eye(6)[:, :2]
    # Only the mean is fitted: n / (n - 1) times the deviation from it.
    expected = np.square((Y - Y.mean(axis=0)) * 6 / 5).sum() / 6
    assert leave_one_out(*nothing, Y).error == pytest.approx(expected)


@pytest.mark.parametrize(
    ("shape", "fill", "intercept"),
    [
        ((60, 20, 4), 1.0, True),
        ((60, 20, 30), 1.0, False),
        ((20, 60, 4), 1.0, True),
        ((500, 420, 4), 0.0, False),
    ],
)
def test_the_choice_is_exact_while_one_side_is_small(shape, fill, intercept):
    X, Y = make(*shape)
    operator = as_operator(X)
    operator.fill = fill
    curve = choose_alpha(operator, as_operator(Y), intercept=intercept)
    exact = leave_one_out(*spectrum(X, intercept), Y, intercept=intercept)
    if fill:
        assert curve.alpha == pytest.approx(exact.alpha, rel=1e-3)
        assert curve.error == pytest.approx(exact.error, rel=1e-6)
    else:
        assert curve.error != pytest.approx(exact.error, rel=1e-6)


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
    whole = spectrum(X.toarray(), intercept)
    exact = leave_one_out(*whole, Y, intercept=intercept)
    for seed in range(3):
        found = held_out(as_operator(X), as_operator(Y), intercept=intercept, seed=seed)
        assert 0.5 < found.alpha / exact.alpha < 2
        # The error of what was chosen is as good as the smallest.
        alphas = np.array([found.alpha])
        there = leave_one_out(*whole, Y, intercept=intercept, alphas=alphas).errors[0]
        assert there < 1.005 * exact.error


def test_of_penalties_that_are_equally_good_down_to_the_smallest_the_strongest_is_chosen():
    """More columns than rows: small penalties all interpolate, and predict the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2000))
    curve = leave_one_out(*spectrum(X), X[:, :1] + rng.standard_normal((20, 1)))
    as_good = curve.errors <= curve.errors.min() * 1.001
    assert as_good[0]
    assert not as_good.all()
    last = np.flatnonzero(~as_good)[0] - 1
    assert curve.alpha >= curve.alphas[last]
    assert curve.error <= curve.errors.min() * 1.001


def test_few_sparse_rows_in_float32():
    """Rounding looked like a direction along the mean, and the smallest penalty was chosen."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 2000), density=0.03, rng=rng, dtype=np.float32, format="csr")
    Y = (rng.random((30, 4)) < 0.3).astype(float)
    curve = choose_alpha(as_operator(X), as_operator(Y), intercept=True)
    exact = choose_alpha(as_operator(X.toarray().astype(float)), as_operator(Y), intercept=True)
    np.testing.assert_allclose(curve.error, exact.error, rtol=1e-3)


def test_nearly_as_many_columns_as_rows_need_many_blocks():
    """In a small space a small penalty looked good, because such a space regularises by itself."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((780, 620))
    Y = X[:, :20] @ rng.standard_normal((20, 1)) / 4.5 + 0.1 * rng.standard_normal((780, 1))
    found = held_out(as_operator(X), as_operator(Y), intercept=True)
    assert found.settled
    whole = spectrum(X)
    there = leave_one_out(*whole, Y, alphas=np.array([found.alpha])).errors[0]
    assert there < 1.05 * leave_one_out(*whole, Y).error
    small = held_out(
        as_operator(X), as_operator(Y), intercept=True, options=HeldOutOptions(blocks=8)
    )
    assert not small.settled
    with pytest.warns(UncertainPenalty, match="OPLS: .*still changes"):
        warn_at_end(small, "OPLS")


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_columns_without_entries_in_the_chosen_rows_do_not_matter(kind):
    """Centred with the means of all rows and then of some, they are zero but for rounding."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((900, 500), density=0.05, rng=rng).tocsr()
    Y = (X[:, :40] @ rng.standard_normal((40, 3)) + 0.2 * rng.standard_normal((900, 3)) > 0) * 1.0
    places = rng.integers(0, 300, 1500), np.arange(1500)
    more = sparse.csr_array((rng.random(1500) + 0.5, places), shape=(900, 1500))
    wide = sparse.csr_array(sparse.hstack([X, more]))
    both = [part.toarray() if kind == "dense" else part for part in (X, wide)]
    some = np.arange(300, 900)
    curves = [
        held_out(as_operator(part).centered()[0].rows(some), as_operator(Y[some]), intercept=True)
        for part in both
    ]
    assert all(curve.settled for curve in curves)
    np.testing.assert_allclose(curves[1].alpha, curves[0].alpha, rtol=0.3)
    np.testing.assert_allclose(curves[1].error, curves[0].error, rtol=1e-2)
