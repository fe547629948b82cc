"""Label factors against plain dense transcriptions of their formulas."""

import numpy as np
import pytest
from _support.support import stack_factor
from numpy.testing import assert_allclose, assert_array_equal

from labelspan.errors import InvalidLabels, InvalidParameter
from labelspan.labels import (
    Factor,
    Labels,
    cca_factor,
    hsl_factor,
    lda_factor,
    opls_factor,
    read_labels,
)
from labelspan.labels.factor import block_rank

SEEDS = range(4)
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


def assert_same(H, S, tol=1e-10):
    """``H H' = S``; entries of H have no meaning of their own."""
    assert H.shape[0] == S.shape[0]
    assert np.abs(H @ H.T - S).max() <= tol * max(1.0, np.abs(S).max())


def power(values, exponent):
    return np.array([v**exponent if v > 0 else 0.0 for v in values])


def zhou(Y, w):
    """``S = Dv^-1/2 Y W De^-1 Y' Dv^-1/2`` (Zhou, Huang and Schoelkopf)."""
    edges, vertices = Y.sum(axis=0), Y @ w
    inside = sum(w[e] * np.outer(Y[:, e], Y[:, e]) / edges[e] for e in np.flatnonzero(edges))
    return np.diag(power(vertices, -0.5)) @ inside @ np.diag(power(vertices, -0.5))


def clique(Y, w):
    """Make a graph in which each pair of rows is joined once for each label they share."""
    rows, labels = Y.shape
    graph = np.zeros((rows, rows))
    for i in range(rows):
        for j in range(rows):
            graph[i, j] = sum(w[e] for e in range(labels) if Y[i, e] and Y[j, e])
    degree = power(graph.sum(axis=1), -0.5)
    return np.diag(degree) @ graph @ np.diag(degree)


def star(Y, w):
    """Make a graph of rows and labels; a walk from row to row takes two of its steps."""
    rows, labels = Y.shape
    graph = np.zeros((rows + labels, rows + labels))
    for e in range(labels):
        for i in np.flatnonzero(Y[:, e]):
            graph[i, rows + e] = graph[rows + e, i] = w[e] / Y[:, e].sum()
    degree = power(graph.sum(axis=1), -0.5)
    walk = np.diag(degree) @ graph @ np.diag(degree)
    return (walk @ walk)[:rows, :rows]


SIMILARITY = {"zhou": zhou, "clique": clique, "star": star}


@pytest.mark.parametrize("seed", SEEDS)
def test_opls_is_the_centred_labels(seed):
    Y = indicator(seed)
    C = centring(len(Y))
    assert_same(opls_factor(read(Y)), C @ Y @ Y.T @ C)
    assert_same(opls_factor(read(Y), center=False), Y @ Y.T)
    targets = np.random.default_rng(seed).standard_normal((12, 3))
    assert_same(opls_factor(read(targets)), centring(12) @ targets @ targets.T @ centring(12))


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
@pytest.mark.parametrize("seed", SEEDS)
def test_cca_is_the_projector_on_the_labels(name, center, seed):
    Y = CCA_LABELS[name](indicator(seed))
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
def test_cca_does_not_depend_on_the_scale_of_labels(seed):
    Y = np.random.default_rng(seed).standard_normal((20, 5))
    scales = np.array([1e-20, 1e-4, 1.0, 1e4, 1e9])
    want = projector(Y - Y.mean(axis=0))
    assert_same(cca_factor(read(Y)), want)
    assert_same(cca_factor(read(Y * scales)), want)
    assert cca_factor(read(Y * scales)).shape[1] == block_rank(Y * scales) == 5


def test_cca_of_constant_labels_is_zero():
    constant = Labels(np.full((6, 2), 0.1), None, np.arange(2), "targets")
    assert_array_equal(cca_factor(constant), np.zeros((6, 1)))
    assert_array_equal(cca_factor(read(np.zeros((6, 2)))), np.zeros((6, 1)))


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
@pytest.mark.parametrize("seed", SEEDS)
def test_hsl_on_one_hot_classes_equals_lda(laplacian, seed):
    labels = read(classes(seed))
    want = lda_factor(labels) @ lda_factor(labels).T
    assert_same(hsl_factor(labels, laplacian=laplacian), want)


@pytest.mark.parametrize("laplacian", LAPLACIANS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_hsl_is_a_normalised_hypergraph_laplacian(laplacian, weighted, seed):
    Y = indicator(seed)
    Y[3] = Y[:, 1] = 0.0
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.2, 5.0, Y.shape[1]) if weighted else np.ones(Y.shape[1])
    S = SIMILARITY[laplacian](Y, w)
    weights = {"edge_weight": w} if weighted else {}
    plain = hsl_factor(read(Y), laplacian=laplacian, center=False, **weights)
    assert_same(plain, S)
    C = centring(len(Y))
    assert_same(hsl_factor(read(Y), laplacian=laplacian, **weights), C @ S @ C)
    # I - S is a Laplacian: its eigenvalues lie from 0 to 2, and S has 1 among its own.
    values = np.linalg.eigvalsh(plain @ plain.T)
    assert values[0] > -1e-12
    assert values[-1] == pytest.approx(1.0)


def test_hsl_is_clique_by_default():
    labels = read(indicator(0))
    assert_array_equal(hsl_factor(labels), hsl_factor(labels, laplacian="clique"))
    doubled = hsl_factor(labels, edge_weight=[2, 2, 2, 2, 2])
    assert_same(doubled, hsl_factor(labels) @ hsl_factor(labels).T)


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
@pytest.mark.parametrize("seed", SEEDS)
def test_unknown_entries_become_zeros_and_do_not_change_the_mean(name, seed):
    rng = np.random.default_rng(seed)
    Y = indicator(seed)
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
@pytest.mark.parametrize("seed", SEEDS)
def test_unlabelled_rows_are_as_if_they_were_not_there(name, seed):
    y = classes(seed)
    y[::5] = -1
    labels = read(y)
    known = np.flatnonzero(labels.labelled)
    S = np.zeros((len(y), len(y)))
    part = FACTORS[name](labels.rows(known))
    S[np.ix_(known, known)] = part @ part.T
    assert_same(FACTORS[name](labels), S)


@pytest.mark.parametrize("name", FACTORS)
def test_factors_leave_the_labels_unchanged(name):
    Y = indicator(1)
    for y in (Y, np.where(np.eye(*Y.shape) > 0, NAN, Y)):
        labels = read(y)
        before = labels.values.copy()
        labels.values.flags.writeable = False
        FACTORS[name](labels)
        FACTORS[name](labels, center=False)
        assert_array_equal(labels.values, before)


@pytest.mark.parametrize("laplacian", LAPLACIANS)
@pytest.mark.parametrize(
    "weight",
    [
        [1.0, 1.0],
        [1.0, 0.0, 1.0],
        [1.0, -2.0, 1.0],
        [1.0, NAN, 1.0],
        [1.0, np.inf, 1.0],
        [[1.0, 1.0, 1.0]],
        2.0,
        "heavy",
        [[1.0], [1.0, 2.0], []],
    ],
    ids=["short", "zero", "negative", "nan", "infinite", "2d", "number", "text", "ragged"],
)
def test_edge_weights_are_one_positive_number_per_label(laplacian, weight):
    message = "HSL: edge_weight must hold one positive number for each of the 3 labels, but"
    with pytest.raises(InvalidParameter, match=message):
        hsl_factor(read(indicator(0, labels=3)), laplacian=laplacian, edge_weight=weight)


def test_hsl_refuses_negative_memberships():
    with pytest.raises(InvalidLabels, match="HSL: y must not be negative"):
        hsl_factor(read(np.array([[0.5, -2.0], [1.0, 3.0]])))


@pytest.mark.parametrize("seed", SEEDS)
def test_block_rank(seed):
    rng = np.random.default_rng(seed)
    block = rng.standard_normal((20, 4))
    for rank, other in (
        (4, block),
        (4, block * [1e-12, 1.0, 1e5, 1e12]),
        (4, np.hstack([block, block @ rng.standard_normal((4, 3))])),
        (4, np.hstack([block, np.zeros((20, 2))])),
        (1, np.ones((20, 3))),
        (3, rng.standard_normal((3, 7))),
        (0, np.zeros((20, 3))),
        (0, np.zeros((20, 0))),
    ):
        assert block_rank(other) == rank


@pytest.mark.parametrize("form", ["ridge", "direct"])
@pytest.mark.parametrize("beta", [0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_stack_balances_the_traces(form, beta, seed):
    X = 30 * np.random.default_rng(seed).standard_normal((25, 8))
    Y = 1e-3 * indicator(seed)
    square = np.square(X).sum()
    factor = stack_factor(Y, features_square=square, beta=beta, alpha=0.7, form=form)
    assert factor.share * square == pytest.approx(1 - beta)
    assert np.square(factor.labels).sum() == pytest.approx(beta)
    assert_allclose(factor.labels * np.linalg.norm(Y), np.sqrt(beta) * Y, atol=1e-15)
    assert (factor.regression is None) == (form == "direct")
    if form == "ridge":
        assert factor.regression.alpha == 0.7
        assert factor.regression.mix is None
    assert factor.thin == (form == "direct" and beta == 1)
    loose = stack_factor(Y, features_square=square, beta=beta, alpha=0, form=form, balance=False)
    assert loose.share == pytest.approx(1 - beta)
    assert_allclose(loose.labels, np.sqrt(beta) * Y)


@pytest.mark.parametrize("form", ["ridge", "direct", "inverse"])
def test_stack_without_labels_is_only_the_features(form):
    Y = indicator(0)
    t = 1 + 0.7 if form == "inverse" else 1.0
    factor = stack_factor(Y, features_square=4.0, beta=0.0, alpha=0.7, form=form)
    assert factor.labels is None
    assert factor.regression is None
    assert factor.share == pytest.approx(1 / (4 * t))
    # Features or labels that are all zero have no norm to be divided by.
    empty = stack_factor(0 * Y, features_square=0.0, beta=0.5, alpha=0.7, form=form)
    assert np.isfinite(empty.share)
    assert_array_equal(empty.labels, 0 * Y)


@pytest.mark.parametrize("shape", [(12, 30), (30, 9), (30, 3)], ids=["wide", "tall", "thin"])
@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.5), (0.3, 0.2), (5.0, 0.9)])
@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_form_mixes_labels_by_the_formula(shape, alpha, beta, balance, seed):
    X = 3 * np.random.default_rng(seed).standard_normal(shape)
    Y = indicator(seed, rows=shape[0])
    square = np.square(X).sum()
    options = {"features_square": square, "beta": beta, "alpha": alpha, "balance": balance}
    factor = stack_factor(Y, form="inverse", **options)
    Xb, Yb = (X / np.linalg.norm(X), Y / np.linalg.norm(Y)) if balance else (X, Y)
    a, t = 1 - beta, 1 / (1 - beta) + alpha
    B = np.linalg.pinv(Xb) @ Yb
    eye = np.eye(Y.shape[1])
    Q = np.linalg.inv(a**2 * (eye / beta + B.T @ B / a) - B.T @ B / t) / t**2
    # The solver regresses the factor's labels on X itself, without a penalty.
    assert factor.regression.alpha == 0
    raw = np.linalg.pinv(X) @ factor.labels
    root = factor.regression.mix(raw.T @ raw)
    assert_allclose(root, root.T, atol=1e-12)
    assert_allclose(root @ root, Q, rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(root)[0] > 0
    S = Xb @ Xb.T / t + Xb @ B @ Q @ B.T @ Xb.T
    fitted = X @ raw @ root
    assert_allclose(factor.share * X @ X.T + fitted @ fitted.T, S, atol=1e-10 * np.abs(S).max())


def test_a_factor_says_whether_it_is_thin():
    labels = np.eye(3)
    assert Factor(labels).thin
    assert not Factor(labels, share=0.5).thin
    assert not stack_factor(labels, features_square=1, beta=1, alpha=1, form="ridge").thin
