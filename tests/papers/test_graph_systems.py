"""Conjugate gradients on graphs: scaling, restarts, and honesty about the residual."""

import numpy as np
import pytest

from labelspan.papers.wang2010.comparators.graph_systems import solve_definite
from labelspan.solvers.regression import block_cg

FINE = {"tol": 1e-12, "max_iter": 1000}


def definite(rows, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, 2 * rows))
    return A @ A.T / rows, rng.standard_normal((rows, 3))


@pytest.mark.parametrize("seed", [0, 1])
def test_solves_a_definite_system_in_any_units_of_its_rows(seed):
    A, B = definite(40, seed)
    plain, turns, residual = solve_definite(A.__matmul__, B, np.diag(A), **FINE)
    assert residual <= 1e-12
    np.testing.assert_allclose(plain, np.linalg.solve(A, B), atol=1e-9)
    units = np.logspace(-6, 6, 40)
    wild = units[:, None] * A * units
    found, more, residual = solve_definite(
        wild.__matmul__, units[:, None] * B, np.diag(wild), **FINE
    )
    assert residual <= 1e-12
    np.testing.assert_allclose(found * units[:, None], plain, atol=1e-9)
    assert more <= turns + 2


def test_continues_with_columns_that_the_block_dropped():
    A, B = definite(40, 0)
    unit = A / np.sqrt(np.outer(np.diag(A), np.diag(A)))
    # Two right-hand sides so close that a block takes them for one.
    close = B[:, :1] + 1e-7 * np.hstack([0 * B[:, :1], B[:, 1:2]])
    run = block_cg(unit.__matmul__, close, 0.0, 1e-12, 1000)
    true = np.linalg.norm(unit @ run.solution - close, axis=0) / np.linalg.norm(close, axis=0)
    assert run.residual <= 1e-12 < true.max()
    found, _, residual = solve_definite(unit.__matmul__, close, np.ones(40), **FINE)
    assert residual <= 1e-12
    gaps = np.linalg.norm(unit @ found - close, axis=0) / np.linalg.norm(close, axis=0)
    assert gaps.max() <= 1.01e-12


def test_singular_systems_have_their_smallest_solution():
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((30, 30)), 1)
    W = W + W.T
    L = np.diag(W.sum(axis=1)) - W
    B = rng.standard_normal((30, 2))
    B -= B.mean(axis=0)
    found, _, residual = solve_definite(L.__matmul__, B, np.diag(L), **FINE)
    assert residual <= 1e-12
    centred = found - found.mean(axis=0)
    np.testing.assert_allclose(centred, np.linalg.pinv(L) @ B, atol=1e-10)
