"""Label factors against plain dense transcriptions of their formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from labelspan.errors import InvalidLabels
from labelspan.estimators.class_posterior import discriminants
from labelspan.labels import factor as factors
from labelspan.labels import read_labels, reading
from labelspan.operators.digits import block_rank, orthonormal_columns, whitening

SEEDS = range(2)
LAPLACIANS = ["clique", "star", "zhou"]
NAN = np.nan


def indicator(seed, rows=25, labels=5):
    rng = np.random.default_rng(seed)
    return (rng.random((rows, labels)) < 0.35).astype(float)


def classes(seed, rows=30, count=4):
    rng = np.random.default_rng(seed)
    return rng.permutation(np.concatenate([np.arange(count), rng.integers(0, count, rows - count)]))


def read(y):
    return read_labels(y, len(y), "test")


def centring(rows):
    return np.eye(rows) - 1.0 / rows


def projector(block):
    return block @ np.linalg.pinv(block, rcond=1e-6)


def blocks(factor):
    return lambda *args, **options: factor(*args, **options).toarray()


# The factors are operators; here they are arrays.
cca_factor, hsl_factor = blocks(factors.cca_factor), blocks(factors.hsl_factor)
lda_factor, opls_factor = blocks(factors.lda_factor), blocks(factors.opls_factor)


def assert_same(H, S, tol=1e-10):
    """``H H' = S``; entries of H have no meaning of their own."""
    assert H.shape[0] == S.shape[0]
    assert np.abs(H @ H.T - S).max() <= tol * max(1.0, np.abs(S).max())


def power(values, exponent):
    return np.array([v**exponent if v > 0 else 0.0 for v in values])


def zhou(Y):
    """``S = Dv^-1/2 Y De^-1 Y' Dv^-1/2`` (Zhou, Huang and Schoelkopf)."""
    edges, vertices = Y.sum(axis=0), Y.sum(axis=1)
    inside = sum(np.outer(Y[:, e], Y[:, e]) / edges[e] for e in np.flatnonzero(edges))
    return np.diag(power(vertices, -0.5)) @ inside @ np.diag(power(vertices, -0.5))


def clique(Y):
    """Make a graph in which each pair of rows is joined once for each label they share."""
    rows, labels = Y.shape
    graph = np.zeros((rows, rows))
    for i in range(rows):
        for j in range(rows):
            graph[i, j] = sum(1.0 for e in range(labels) if Y[i, e] and Y[j, e])
    degree = power(graph.sum(axis=1), -0.5)
    return np.diag(degree) @ graph @ np.diag(degree)


def star(Y):
    """Make a graph of rows and labels; a walk from row to row takes two of its steps."""
    rows, labels = Y.shape
    graph = np.zeros((rows + labels, rows + labels))
    for e in range(labels):
        for i in np.flatnonzero(Y[:, e]):
            graph[i, rows + e] = graph[rows + e, i] = 1 / Y[:, e].sum()
    degree = power(graph.sum(axis=1), -0.5)
    walk = np.diag(degree) @ graph @ np.diag(degree)
    return (walk @ walk)[:rows, :rows]


SIMILARITY = {"zhou": zhou, "clique": clique, "star": star}


CCA_LABELS = {
    "indicator": lambda Y: Y,
    "duplicate": lambda Y: np.hstack([Y, Y[:, :2]]),
    "complement": lambda Y: np.hstack([Y, 1 - Y]),
    "constant": lambda Y: np.hstack([Y, np.ones((len(Y), 1))]),
    "constant-target": lambda Y: np.hstack([Y, np.full((len(Y), 1), 0.1)]),
    "tiny-constant": lambda Y: np.hstack([Y, np.full((len(Y), 1), 1e-9 / 3)]),
    "empty": lambda Y: np.hstack([Y, np.zeros((len(Y), 2))]),
    "more-labels-than-rows": lambda Y: np.hstack([Y[:6], Y[6:12], Y[12:18]]),
}


@pytest.mark.parametrize("name", CCA_LABELS)
@pytest.mark.parametrize("center", [True, False])
def test_cca_is_the_projector_on_the_labels(name, center):
    Y = CCA_LABELS[name](indicator(0))
    block = Y - Y.mean(axis=0) if center else Y
    norms = np.linalg.norm(block, axis=0)
    # The reference sees columns of like scale, and no rounding of a constant.
    block = block[:, norms > 1e-12 * np.linalg.norm(Y)] if center else block[:, norms > 0]
    block = block / np.linalg.norm(block, axis=0)
    H = cca_factor(read(Y), center=center)
    assert_same(H, projector(block))
    assert_allclose(H.T @ H, np.eye(H.shape[1]), atol=1e-10)
    assert H.shape[1] == np.linalg.matrix_rank(block, tol=1e-6) == block_rank(block)


@pytest.mark.parametrize("seed", SEEDS)
def test_lda_is_the_class_means_and_equals_cca_on_one_hot(seed):
    y = classes(seed)
    labels = read(y)
    same = y[:, None] == y[None, :]
    within = same / same.sum(axis=1)
    H = lda_factor(labels)
    assert_same(H, within - 1.0 / len(y))
    assert_same(lda_factor(labels, center=False), within)
    assert_same(cca_factor(labels), H @ H.T)
    assert cca_factor(labels).shape[1] == 3


@pytest.mark.parametrize("laplacian", LAPLACIANS)
def test_hsl_on_one_hot_classes_equals_lda(laplacian):
    labels = read(classes(0))
    want = lda_factor(labels) @ lda_factor(labels).T
    assert_same(hsl_factor(labels, laplacian=laplacian), want)


@pytest.mark.parametrize("laplacian", LAPLACIANS)
@pytest.mark.parametrize("seed", SEEDS)
def test_hsl_is_a_normalised_hypergraph_laplacian(laplacian, seed):
    Y = indicator(seed)
    Y[3] = Y[:, 1] = 0.0
    S = SIMILARITY[laplacian](Y)
    plain = hsl_factor(read(Y), laplacian=laplacian, center=False)
    assert_same(plain, S)
    C = centring(len(Y))
    assert_same(hsl_factor(read(Y), laplacian=laplacian), C @ S @ C)
    # I - S is a Laplacian: its eigenvalues lie from 0 to 2, and S has 1 among its own.
    values = np.linalg.eigvalsh(plain @ plain.T)
    assert values[0] > -1e-12
    assert values[-1] == pytest.approx(1.0)


FACTORS = {
    "opls": opls_factor,
    "cca": cca_factor,
    "lda": lda_factor,
    **{
        name: lambda labels, name=name, **kw: hsl_factor(labels, laplacian=name, **kw)
        for name in LAPLACIANS
    },
}
COLUMNWISE = [name for name in FACTORS if name != "cca"]


@pytest.mark.parametrize("name", FACTORS)
def test_empty_rows_and_labels_give_zeros(name):
    Y = indicator(0)
    Y[4] = Y[:, 2] = 0.0
    H = FACTORS[name](read(Y), center=False)
    assert_array_equal(H[4], 0.0)
    assert np.isfinite(H).all()
    if name in COLUMNWISE:
        assert_array_equal(H[:, 2], 0.0)
        centred = FACTORS[name](read(Y))
        assert_array_equal(centred[:, 2], 0.0)
        assert_allclose(centred.mean(axis=0), 0.0, atol=1e-15)
        assert_allclose(centred, H - H.mean(axis=0), atol=1e-15)


@pytest.mark.parametrize("name", COLUMNWISE)
def test_unknown_entries_become_zeros_and_do_not_change_the_mean(name):
    rng = np.random.default_rng(0)
    Y = indicator(0)
    holes = rng.random(Y.shape) < 0.2
    holes[:, 3] = True
    labels = read(np.where(holes, NAN, Y))
    assert_array_equal(labels.unknown, holes)
    # A factor without centring takes unknown for "no"; its mean is over the known entries only.
    plain = FACTORS[name](labels, center=False)
    assert_array_equal(plain, FACTORS[name](read(np.where(holes, 0.0, Y)), center=False))
    H = FACTORS[name](labels)
    assert_array_equal(H[holes], 0.0)
    for column in range(Y.shape[1]):
        known = ~holes[:, column]
        want = plain[known, column] - plain[known, column].mean() if known.any() else []
        assert_allclose(H[known, column], want, atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_cca_projects_on_what_is_known(seed):
    Y = indicator(seed)
    Y[np.random.default_rng(seed).random(Y.shape) < 0.2] = NAN
    assert_same(cca_factor(read(Y)), projector(np.nan_to_num(Y - np.nanmean(Y, axis=0))))


@pytest.mark.parametrize("name", FACTORS)
def test_unlabelled_rows_are_as_if_they_were_not_there(name):
    y = classes(0)
    y[::5] = -1
    labels = read(y)
    known = np.flatnonzero(labels.labelled)
    S = np.zeros((len(y), len(y)))
    part = FACTORS[name](labels.rows(known))
    S[np.ix_(known, known)] = part @ part.T
    assert_same(FACTORS[name](labels), S)


def test_hsl_refuses_negative_memberships():
    with pytest.raises(InvalidLabels, match="HSL: y must not be negative"):
        hsl_factor(read(np.array([[0.5, -2.0], [1.0, 3.0]])))


@pytest.mark.parametrize("kind", ["plain", "dependent", "zeros", "near"])
def test_orthonormal_columns(kind):
    rng = np.random.default_rng(0)
    block = rng.standard_normal((30, 5)) * [1e-6, 1.0, 1e3, 1.0, 1.0]
    if kind == "dependent":
        block[:, 4] = block[:, 1] - 2 * block[:, 3]
    elif kind == "zeros":
        block[:, 2] = 0.0
    elif kind == "near":
        block[:, 4] = block[:, 1] + 1e-7 * block[:, 4]
    rank = 5 if kind in {"plain", "near"} else 4
    Q = orthonormal_columns(block)
    assert block_rank(block) == Q.shape[1] == rank
    tolerance = 1e-8 if kind == "near" else 1e-12
    assert_allclose(Q.T @ Q, np.eye(rank), atol=tolerance)
    assert_allclose(Q @ (Q.T @ block), block, atol=tolerance * np.abs(block).max())


def test_whitening_of_sparse_labels_drops_the_sum_of_the_classes(monkeypatch):
    """Sums over 100,000 rows round more than an array of 50 columns."""
    monkeypatch.setattr(reading, "DENSE_ENTRIES", 0)
    column = np.zeros(100_000, dtype=int)
    column[:49] = np.arange(1, 50)
    Y = sparse.csr_array((np.ones(column.size), (np.arange(column.size), column)))
    labels = read_labels(Y, column.size, "CCA", keep_sparse=True)
    assert cca_factor(labels).shape[1] == 49


def test_whitening_is_the_same_in_any_units():
    square = np.cov(np.random.default_rng(0).standard_normal((4, 30)))
    units = np.array([1e-9, 1e-3, 1.0, 1e6])
    T = whitening(square * np.outer(units, units))
    assert_allclose(units[:, None] * (T @ T.T) * units, np.linalg.inv(square), rtol=1e-10)
    # So are the posteriors of classes.
    counts = np.full(4, 5.0)
    slopes, offsets = discriminants(np.eye(4), square, counts, 20)
    again = discriminants(np.diag(units**2), units[:, None] * square, counts, 20)
    assert_allclose(units[:, None] * again[0], slopes, rtol=1e-8)
    assert_allclose(again[1], offsets, rtol=1e-8)
