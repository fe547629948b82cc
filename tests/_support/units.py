"""Data whose columns are in very different units, and an independent dense reference."""

import numpy as np
from scipy import linalg

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
