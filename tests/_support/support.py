"""Problems with known shapes, and plain dense references to hold solvers against."""

import numpy as np
from scipy import linalg, sparse

from labelspan.labels import (
    Factor,
    Regression,
    cca_factor,
    hsl_factor,
    lda_factor,
    opls_factor,
    read_labels,
)
from labelspan.operators import Operator, as_operator

SHAPES = {"wide": (18, 30, None), "tall": (60, 12, None), "low-rank": (40, 25, 7)}


class Loopback(Operator):
    """An operator that offers the two products and nothing else."""

    def __init__(self, array):
        super().__init__(array.shape, array.dtype)
        self._array = array

    def _matmat(self, block):
        return self._array @ block

    def _rmatmat(self, block):
        return self._array.T @ block


def features(shape, seed):
    """A dense matrix of a named shape, a third of its entries zero."""
    rows, columns, rank = SHAPES[shape]
    rng = np.random.default_rng(seed)
    if rank is None:
        X = rng.standard_normal((rows, columns)) + 0.5
        X[rng.random(X.shape) < 0.3] = 0.0
        return X
    return rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns)) + 0.5


def scattered(shape, density, rng, dtype=np.float64):
    """A sparse matrix of uniform entries; scipy's own takes its generator by two names."""
    flat = rng.choice(shape[0] * shape[1], round(density * shape[0] * shape[1]), replace=False)
    entries = rng.random(flat.size).astype(dtype)
    where = [index.astype(np.int32) for index in np.unravel_index(flat, shape)]
    return sparse.csr_array((entries, tuple(where)), shape=shape)


def indicator(rows, seed, labels=4):
    """Labels, several per row, none of them constant."""
    rng = np.random.default_rng(seed + 100)
    Y = (rng.random((rows, labels)) < 0.4).astype(float)
    Y[:labels] = np.eye(labels)
    return Y


def classes(rows, seed, count=4):
    rng = np.random.default_rng(seed + 200)
    return np.concatenate([np.arange(count), rng.integers(count, size=rows - count)])


def operators(X, center=True):
    """The same matrix behind different operators, and its dense reference."""
    dense = X - X.mean(axis=0) if center else X
    made = {"dense": as_operator(X), "sparse": as_operator(sparse.csr_array(X))}
    if center:
        made = {name: op.centered()[0] for name, op in made.items()}
    made["loopback"] = Loopback(dense)
    return made, dense


def thin_factor(name, rows, seed):
    if name == "lda":
        return lda_factor(read_labels(classes(rows, seed), rows, "test"))
    labels = read_labels(indicator(rows, seed), rows, "test")
    if name == "opls":
        return opls_factor(labels)
    if name == "cca":
        return cca_factor(labels)
    return hsl_factor(labels, laplacian=name)


THIN = ["opls", "cca", "lda", "clique", "star", "zhou"]


def dense_eigenvalues(X, S, alpha, count):
    """Leading eigenvalues of ``(X'X + alpha I)^+ X'S X``, by a general eigensolver."""
    metric = X.T @ X + alpha * np.eye(X.shape[1])
    values = linalg.eigvals(np.linalg.pinv(metric, rcond=1e-10, hermitian=True) @ X.T @ S @ X)
    assert np.abs(values.imag).max() < 1e-6 * np.abs(values).max()
    return np.sort(values.real)[::-1][:count]


def angle(A, B):
    """The sine of the largest principal angle between two column spaces."""
    assert A.shape == B.shape
    return float(np.sin(linalg.subspace_angles(A, B)).max())


def stack_factor(labels, *, features_square, beta, alpha):
    """MLSI's factor for given labels."""
    scale = np.sqrt(beta) / np.linalg.norm(labels)
    regression = Regression(alpha, norm=float(np.sqrt(beta)))
    return Factor(scale * labels, (1 - beta) / features_square, regression)
