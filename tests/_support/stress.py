"""A grid of badly scaled, ill-conditioned and oddly stored data, with exact references.

Every cell is a method, a solver and a data set. The answer has to be right, or to come with
``converged=False`` (the estimators warn then), or to be refused; a wrong answer without a warning
is a defect. References are computed in extended precision, from the numbers as they are.
``python -m _support.stress``, run in ``tests``, prints the table of numerical errors.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelspan.labels import Factor, Regression
from labelspan.operators import as_operator
from labelspan.solvers import L2, SOLVERS, Problem

WIDE = np.longdouble
SHAPES = {"n > d": (90, 12), "n < d": (24, 40)}
ALPHAS = (0.0, 1e-3, 1e2)
METHODS = ("thin", "thin, whitened", "features", "ridge")
EXACT = ("exact",)
COUNT = 2


@dataclass(frozen=True)
class Data:
    """Numbers as a user has them, and in which form they are given."""

    X: np.ndarray
    form: str = "dense"

    def operator(self):
        X = self.X
        if self.form == "dense":
            return as_operator(X).centered()[0]
        if self.form == "sparse":
            return as_operator(sparse.csr_array(X)).centered()[0]
        rows, columns = X.shape
        # Every entry in two halves, as a reader that adds up counts leaves them.
        where = np.repeat(np.tile(np.arange(columns), rows), 2)
        ends = np.arange(rows + 1) * 2 * columns
        halves = np.repeat(X.ravel() / 2, 2)
        return as_operator(sparse.csr_array((halves, where, ends), shape=X.shape)).centered()[0]


def _rotated(rows, columns, condition, rng):
    side = min(rows, columns)
    left = np.linalg.qr(rng.standard_normal((rows, side)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, side)))[0]
    return left * np.logspace(0, -np.log10(condition), side) @ right.T


def data_sets(shape):
    """Name and data of every kind, for one shape."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal(shape)
    columns = shape[1]
    yield "plain", Data(X)
    yield "units over 8 decades", Data(X * 10.0 ** rng.uniform(-4, 4, columns))
    yield "units over 16 decades", Data(X * 10.0 ** rng.uniform(-8, 8, columns))
    huge = X.copy()
    huge[:, 3] = 1.7e9 + 3e7 * X[:, 3]
    yield "one huge column", Data(huge)
    for gap in (1e-3, 1e-6, 1e-9, 1e-12):
        near = X.copy()
        near[:, 1] = X[:, 0] + gap * X[:, 1]
        yield f"near-duplicate columns, {gap:.0e}", Data(near)
    twice = X.copy()
    twice[:, 1] = X[:, 0]
    yield "duplicate columns", Data(twice)
    for power in (2, 4, 6, 8, 10, 12, 14):
        yield f"condition 1e{power}", Data(_rotated(*shape, 10.0**power, rng))
    for power in (3, 6, 9):
        yield f"means of 1e{power}", Data(X + 10.0**power)
        yield f"means of 1e{power}, sparse", Data(X + 10.0**power, "sparse")
    yield "float32", Data(X.astype(np.float32))
    yield (
        "float32, units over 8 decades",
        Data((X * 10.0 ** rng.uniform(-4, 4, columns)).astype(np.float32)),
    )
    yield "float32, condition 1e4", Data(_rotated(*shape, 1e4, rng).astype(np.float32))
    yield "duplicate entries in CSR", Data(X, "duplicates")


def labels_of(X, rng):
    """Three labels that the features say something of, two of them through every direction."""
    wide = X.astype(np.float64)
    centred = wide - wide.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    left, _, _ = np.linalg.svd(centred / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    Y = rng.standard_normal((X.shape[0], 3))
    Y[:, 0] += 4 * left[:, min(4, left.shape[1] - 1)]
    Y[:, 1] += 3 * left[:, : min(X.shape) - 1].sum(axis=1)
    return Y - Y.mean(axis=0)


# --- references in extended precision -----------------------------------------------------


def _orthonormal(A):
    """Orthonormal columns of A's range, columns of unit length first, in extended precision."""
    A = A.astype(WIDE)
    lengths = np.sqrt((A * A).sum(axis=0))
    A = A[:, lengths > 0] / lengths[lengths > 0]
    basis = np.zeros((A.shape[0], 0), dtype=WIDE)
    rest = A.copy()
    for _ in range(min(A.shape)):
        sizes = np.sqrt((rest * rest).sum(axis=0))
        pick = int(sizes.argmax())
        if sizes[pick] < 1e-17:
            break
        vector = rest[:, pick] / sizes[pick]
        for _ in range(2):
            vector = vector - basis @ (basis.T @ vector)
            vector = vector / np.sqrt((vector * vector).sum())
        basis = np.column_stack([basis, vector])
        rest = rest - np.outer(vector, vector @ rest)
    return basis


def _inside(X, alpha):
    """The rows of an orthonormal basis of ``[X; sqrt(alpha) I]`` that belong to X."""
    if alpha == 0:
        return _orthonormal(X)
    border = WIDE(np.sqrt(alpha)) * np.eye(X.shape[1], dtype=WIDE)
    return _orthonormal(np.vstack([X, border]))[: X.shape[0]]


def _leading(square):
    return np.linalg.eigvalsh(square.astype(np.float64))[::-1][:COUNT]


def centred_exactly(X):
    X = X.astype(WIDE)
    # Twice: where extended precision is 80 bits, the rounding of a large mean would be a direction.
    X = X - X.mean(axis=0)
    return X - X.mean(axis=0)


class Reference:
    """The leading eigenvalues of every method for one data set."""

    def __init__(self, X):
        self.X = centred_exactly(X)
        self._bases = {}

    def _basis(self, alpha):
        if alpha not in self._bases:
            self._bases[alpha] = _inside(self.X, alpha)
        return self._bases[alpha]

    def values(self, method, L, share, alpha):
        L, X = L.astype(WIDE), self.X
        if method == "features":
            return _leading(WIDE(share) * (X @ X.T))
        Q = self._basis(alpha)
        if method.startswith("thin"):
            seen = Q.T @ L
            return _leading(seen.T @ seen)
        fitted = Q @ (Q.T @ L)
        return _leading(WIDE(share) * (X @ X.T) + fitted @ fitted.T)


# --- the grid -----------------------------------------------------------------------------


def problem_of(operator, method, L, share, alpha):
    if method == "features":
        return Problem(operator, Factor(share=share), COUNT)
    if method.startswith("thin"):
        return Problem(operator, Factor(labels=L), COUNT, L2(alpha))
    return Problem(operator, Factor(L, share, Regression(alpha)), COUNT)


def make_solver(name, dtype):
    if name == "krylov":
        return SOLVERS[name](tol=1e-9 if dtype == np.float64 else 1e-5)
    return SOLVERS[name]()


def cells(shape):
    """Outcome of every cell of one shape: right, warned, refused or silent."""
    for kind, data in data_sets(SHAPES[shape]):
        operator, reference = data.operator(), Reference(data.X)
        Y = labels_of(data.X, np.random.default_rng(3))
        share = 0.5 / float((reference.X**2).sum())
        wanted = 1e-6 if data.X.dtype == np.float64 else 1e-4
        for method in METHODS:
            L = np.linalg.qr(Y)[0] if method == "thin, whitened" else Y / np.linalg.norm(Y)
            for alpha in ALPHAS if method != "features" else ALPHAS[:1]:
                exact = reference.values(method, L, share, alpha)
                problem = problem_of(operator, method, L, share, alpha)
                for name in (*EXACT, "krylov"):
                    outcome = _outcome(make_solver(name, data.X.dtype), problem, exact, wanted)
                    yield kind, method, alpha, name, outcome


def _outcome(solver, problem, exact, wanted):
    if solver.why_not(problem) is not None:
        return "refused", 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = solver.solve(problem)
    values = np.zeros(COUNT)
    values[: found.eigenvalues.size] = found.eigenvalues
    off = float(np.abs(values - exact).max() / exact[0])
    if caught or not found.converged:
        return "warned", off
    return ("right" if off <= wanted else "silent"), off


def main():
    totals = {}
    for shape in SHAPES:
        for kind, _, _, _, (outcome, _) in cells(shape):
            totals.setdefault(kind, Counter())[outcome] += 1
    print("| Data | right | warned | refused | wrong without a warning |")
    print("| --- | --- | --- | --- | --- |")
    whole = Counter()
    for kind, counts in totals.items():
        whole.update(counts)
        print(f"| {kind} | {_row(counts)} |")
    print(f"| **all** | {_row(whole)} |")


def _row(counts):
    return " | ".join(str(counts[name]) for name in ("right", "warned", "refused", "silent"))


if __name__ == "__main__":
    main()
