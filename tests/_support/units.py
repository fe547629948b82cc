"""Data whose columns are in very different units, and independent dense references."""

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

KINDS = (
    "lognormal 1",
    "lognormal 2",
    "lognormal 3",
    "lognormal 4",
    "eight decades",
    "pareto",
    "three dominant",
    "unix times",
)


def in_units(Z, kind, seed=0):
    """Return the columns of Z in the units of a kind."""
    rng = np.random.default_rng(seed)
    columns = Z.shape[1]
    if kind.startswith("lognormal"):
        return Z * rng.lognormal(0, float(kind.split()[1]), columns)
    if kind == "eight decades":
        return Z * 10.0 ** rng.uniform(-4, 4, columns)
    if kind == "pareto":
        return Z * rng.pareto(0.5, columns)
    X = Z.copy()
    if kind == "three dominant":
        X[:, rng.choice(columns, 3, replace=False)] *= 1e4
    else:
        X[:, -1] = 1.7e9 + rng.uniform(0, 3e7, len(Z))
    return X


def labelled(rows, columns, kind, *, labels=4, noise=1.0, density=1.0, seed=0):
    """Return X in the units of a kind, and labels that depend on some of its columns.

    A ``density`` below 1 leaves as many entries, on average, that are not zero.
    """
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((rows, columns))
    if density < 1:
        Z *= rng.random((rows, columns)) < density
    used = Z[:, : max(4, columns // 30)]
    scores = used @ rng.standard_normal((used.shape[1], labels)) / np.sqrt(used.shape[1] * density)
    Y = scores + noise * rng.standard_normal((rows, labels)) > 0.5
    return in_units(Z, kind, seed), Y.astype(int)


class Reference:
    """Ridge regressions, leave-one-out errors and eigenvalues from columns of unit length.

    ``(Z'Z + alpha D^-2) C = Z'T`` by Cholesky, for X = Z D centred: none of the package is used.
    """

    def __init__(self, X):
        X = np.asarray(X, dtype=np.float64)
        self.X = X - X.mean(axis=0)
        lengths = np.linalg.norm(self.X, axis=0)
        self.lengths = np.where(lengths > 0, lengths, 1.0)
        self.Z = self.X / self.lengths
        self.gram = self.Z.T @ self.Z

    def hat(self, alpha):
        """Return ``Z (Z'Z + alpha D^-2)^-1 Z'``."""
        penalised = self.gram + np.diag(alpha / self.lengths**2)
        # A jitter far below the digits of the answer keeps short directions from failing.
        penalised[np.diag_indices_from(penalised)] += 1e-13
        half = linalg.solve_triangular(linalg.cholesky(penalised, lower=True), self.Z.T, lower=True)
        return half.T @ half

    def left_out(self, Y, alphas):
        """Return the leave-one-out error of ridge regression with an intercept."""
        T = Y - Y.mean(axis=0)
        errors = []
        for alpha in alphas:
            hat = self.hat(alpha)
            free = 1 - 1 / len(T) - np.diag(hat)
            errors.append(float(np.square((T - hat @ T) / free[:, None]).sum() / len(T)))
        return np.array(errors)

    def thin(self, H, alpha, count):
        """Return the leading eigenvalues of ``H'X (X'X + alpha I)^-1 X'H``."""
        values = np.linalg.eigvalsh(H.T @ self.hat(alpha) @ H)[::-1]
        return values[:count]

    def features(self, count):
        """Return the largest squared singular values."""
        return np.linalg.svd(self.X, compute_uv=False)[:count] ** 2

    def both(self, T, alpha, beta, count):
        """Return the leading eigenvalues of MLSI, for weighted labels T."""
        fitted = self.hat(alpha) @ T
        stacked = np.hstack(
            [
                np.sqrt(1 - beta) * self.X / np.linalg.norm(self.X),
                np.sqrt(beta) * fitted / np.linalg.norm(fitted),
            ]
        )
        return np.linalg.svd(stacked, compute_uv=False)[:count] ** 2


class Case(NamedTuple):
    """Generated data: features, a sparse array for some, labels, and in words what they are."""

    X: object
    Y: np.ndarray
    words: str


SIZES = {
    "tall": ((100, 700), (5, 90)),
    "wide": ((60, 250), (251, 900)),
    "both large": ((1150, 1500), (1120, 1500)),
    "many rows": ((2900, 4500), (1050, 1300)),
    "many columns": ((1100, 1300), (2900, 4000)),
}
CASES = ("half", "most", "lognormal", "bytes", "decades", "equal")


def generated(seed, size):
    """Return columns in units of some kind, and one to 300 labels that depend on some of them.

    Half or most columns are multiplied by one number of 1e2 to 1e7, all by lognormal numbers or by
    ten to the power of 0 to 6, or ten are bytes.
    """
    rng = np.random.default_rng(seed)
    rows, columns = (int(rng.integers(*limits)) for limits in SIZES[size])
    kind = str(rng.choice(CASES, p=[0.19] * 5 + [0.05]))
    form = str(rng.choice(["dense", "flags", "sparse"]))
    if form == "dense":
        Z = rng.standard_normal((rows, columns))
    else:
        there = rng.random((rows, columns)) < rng.choice([0.05, 0.3])
        Z = there * (1.0 if form == "flags" else rng.exponential(size=there.shape))
    order, units = rng.permutation(columns), np.ones(columns)
    large = np.zeros(columns, dtype=bool)
    if kind in {"half", "most"}:
        large[order[: int((0.5 if kind == "half" else 0.9) * columns)]] = True
        units[large] = 10 ** rng.uniform(2, 7)
    elif kind == "bytes":
        large[order[: min(10, columns // 2)]] = True
        Z[:, large] = rng.lognormal(10, 1, (rows, int(large.sum())))
    elif kind == "lognormal":
        units = rng.lognormal(0, rng.uniform(1, 4), columns)
    elif kind == "decades":
        units = 10 ** rng.uniform(0, 6, columns)
    which = str(rng.choice(["short", "all", "long"], p=[0.6, 0.3, 0.1])) if large.any() else "all"
    pool = np.flatnonzero({"short": ~large, "all": large | True, "long": large}[which])
    used = Z[:, rng.choice(pool, min(pool.size, int(rng.integers(2, 40))), replace=False)]
    used = (used - used.mean(axis=0)) / np.maximum(used.std(axis=0), 1e-12)
    labels = int(10 ** rng.uniform(0, np.log10(300.99)))
    Y = used @ rng.standard_normal((used.shape[1], labels)) / np.sqrt(used.shape[1])
    Y += rng.choice([0.1, 1.0, 3.0]) * rng.standard_normal(Y.shape)
    flags = (rng.uniform(0, 1) < Y) * 1.0
    if rng.random() < 0.7 and flags.std(axis=0).any():
        Y = flags[:, flags.std(axis=0) > 0]
    X = Z * units
    words = f"{size} {seed}: {kind}, {form}, {X.shape}, {Y.shape[1]} labels on {which} columns"
    return Case(sparse.csr_array(X) if form == "sparse" else X, Y, words)


class BruteForce:
    """Leave-one-out errors of ridge regression with an intercept, and their minimum.

    By singular vectors of the centred columns, the longest first: none of the package is used.
    """

    def __init__(self, X, Y):
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        X = X - X.mean(axis=0)
        lengths = np.linalg.norm(X, axis=0)
        self.shortest, self.longest = lengths[lengths > 1e-13 * lengths.max()].min(), lengths.max()
        left, singular, _ = np.linalg.svd(X[:, np.argsort(-lengths)], full_matrices=False)
        keep = singular > 1e-14 * singular[0]
        keep[len(X) - 1 :] = False
        self.left, self.squares = left[:, keep], singular[keep] ** 2
        T = Y - Y.mean(axis=0)
        self.inside = self.left.T @ T
        self.shares = self.left**2
        free = 1 - 1 / len(X) - self.shares.sum(axis=1)
        # A row that the others do not determine has nothing outside.
        self.free = np.where((free < 1e-11) | (keep.sum() >= len(X) - 1), 0.0, free)
        self.outside = (T - self.left @ self.inside) * (self.free > 0)[:, None]

    def error(self, alpha):
        kept = alpha / (self.squares + alpha)
        gap = self.outside + self.left @ (kept[:, None] * self.inside)
        return float(np.square(gap / (self.free + self.shares @ kept)[:, None]).sum() / len(gap))

    def best(self):
        """Return the smallest error from 1e-8 of the shortest square to ten times the longest."""
        ends = np.log([1e-8 * self.shortest**2, 10 * self.longest**2])
        grid = np.exp(np.linspace(*ends, int(np.ptp(ends) * 3 / np.log(10)) + 2))
        errors = [self.error(alpha) for alpha in grid]
        lowest = int(np.argmin(errors))
        fine = np.geomspace(*grid[[max(lowest - 1, 0), min(lowest + 1, grid.size - 1)]], 9)
        return min(*errors, *(self.error(alpha) for alpha in fine))
