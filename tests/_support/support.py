"""Problems with known shapes, and plain dense references to hold solvers against."""

import numpy as np
from scipy import linalg, sparse

from labelspan.labels import (
    cca_factor,
    hsl_factor,
    lda_factor,
    opls_factor,
    read_labels,
)
from labelspan.operators import Operator, as_operator, dottest
from labelspan.operators.array_backend import on_host

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


def duplicated(X, make=sparse.csr_matrix):
    """Store each entry of an array as two halves, in CSR or CSC."""
    turned = X.T if make is sparse.csc_matrix else X
    outer, inner = turned.shape
    indices = np.repeat(np.tile(np.arange(inner), outer), 2)
    data = np.repeat(turned.ravel() / 2, 2)
    return make((data, indices, np.arange(outer + 1) * 2 * inner), shape=X.shape)


def assert_close(got, want, tol):
    got, want = np.asarray(on_host(got)), np.asarray(want)
    assert got.shape == want.shape
    assert np.abs(got - want).max(initial=0.0) <= tol * max(1.0, np.abs(want).max(initial=0.0))


def assert_equals_dense(operator, reference, tol):
    """Every product and sum of an operator is that of a dense array."""
    rows, columns = reference.shape
    assert operator.shape == (rows, columns)
    rng = np.random.default_rng(rows)
    right = np.asfortranarray(rng.standard_normal((columns, 3)))
    left = rng.standard_normal((rows, 6))[:, ::2]
    rare = np.where(left > 2.5, left, 0.0)
    squares = np.square(reference).sum(axis=0)
    for name, given, want in (
        ("matmat", (right,), reference @ right),
        ("rmatmat", (left,), reference.T @ left),
        ("normal", (right,), reference.T @ (reference @ right)),
    ):
        product = getattr(operator, name)(*given)
        assert np.dtype(str(product.dtype).removeprefix("torch.")) == operator.dtype
        assert_close(product, want, 10 * tol * max(1.0, np.sqrt(rows)))
    for name, given, want in (
        ("gram", (), reference.T @ reference),
        ("column_means", (), reference.mean(axis=0)),
        ("column_squares", (), squares),
        ("cross", (left,), reference.T @ left),
        ("cross", (rare,), reference.T @ rare),
    ):
        moment = getattr(operator, name)(*given)
        assert moment.dtype == np.float64
        assert_close(moment, want, tol)
    gram, cross = operator.moments(left)
    assert_close(gram, reference.T @ reference, tol)
    assert_close(cross, reference.T @ left, tol)
    assert_close(operator.sum_of_squares(), squares.sum(), tol)
    # One centred row is zero up to rounding, which has no digits to compare.
    assert not reference.any() or dottest(operator) <= 10 * tol
    if operator.dual:
        assert_close(operator.cogram(), reference @ reference.T, tol)
        for whole in (operator.toarray(), operator.to_block()):
            assert_close(whole, reference, tol)


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
        return lda_factor(read_labels(classes(rows, seed), rows, "test")).toarray()
    labels = read_labels(indicator(rows, seed), rows, "test")
    if name in {"opls", "cca"}:
        return {"opls": opls_factor, "cca": cca_factor}[name](labels).toarray()
    return hsl_factor(labels, laplacian=name).toarray()


# Every solver of MLSI, to full convergence.
MLSI_SOLVERS = [{"solver": "exact"}, {"solver": "krylov", "tol": 1e-12, "max_iter": 50}]
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


def tagged_vectors(n, d, labels, rank=None, seed=0):
    """Noisy vectors in float32 whose labels, a row of 0 and 1 each, are directions of them."""
    rng = np.random.default_rng(seed)
    rank = min(labels, d) if rank is None else rank
    basis = np.linalg.qr(rng.standard_normal((d, rank)))[0].T
    directions = rng.standard_normal((labels, rank)) @ basis
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    offset = rng.standard_normal(d) / np.sqrt(d)
    rows = np.repeat(np.arange(n), 1 + rng.poisson(1.5, n))
    # The frequency of a label is about inversely proportional to its rank.
    ends = np.cumsum(1.0 / (5 + np.arange(labels)))
    Y = np.zeros((n, labels))
    Y[rows, np.minimum(np.searchsorted(ends / ends[-1], rng.random(rows.size)), labels - 1)] = 1
    noise = 0.5 / np.sqrt(d) * rng.standard_normal((n, d), dtype=np.float32)
    return (offset + Y @ directions).astype(np.float32) + noise, Y
