"""The comparators of wang2010: closed forms, other libraries, limits, and shared behaviour."""

import numpy as np
import pytest
from _support.support import SHAPES, angle, classes, features, indicator
from scipy import linalg, sparse
from sklearn.datasets import make_blobs
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelPropagation
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelspan.errors import LabelspanWarning, NotConverged
from labelspan.evaluation.measurements import Results
from labelspan.graph import gaussian_graph, neighbor_graph
from labelspan.papers.verdicts import Claim, judge, load_claims
from labelspan.papers.wang2010 import PAPER
from labelspan.papers.wang2010.comparators import (
    MCGF,
    MLGF,
    MLLS,
    SMSE,
    HarmonicFunction,
    KMeansLaplacian,
    LocalGlobalConsistency,
    SpectralGraphTransducer,
)
from labelspan.papers.wang2010.equation8 import additive_directions
from labelspan.papers.wang2010.label_graph import label_correlation

SOLVING = [LocalGlobalConsistency, HarmonicFunction, KMeansLaplacian, MLGF, SMSE, MCGF]
GRAPHS = [*SOLVING, SpectralGraphTransducer]
X0 = np.zeros((30, 1))


def weights(rows, seed, density=0.3):
    """A random symmetric graph in one part."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((rows, rows)) * (rng.random((rows, rows)) < density), 1)
    W += np.diag(rng.random(rows - 1) + 0.1, 1)
    return W + W.T


def laplacian(W, normalized=False):
    root = np.sqrt(W.sum(axis=1)) if normalized else np.ones(len(W))
    return (np.diag(W.sum(axis=1)) - W) / np.outer(root, root)


def known(y, share, seed, unknown=-1):
    """The labels with all but a share of the rows unknown; the first rows stay."""
    rng = np.random.default_rng(seed + 300)
    labelled = rng.random(len(y)) < share
    labelled[: y.shape[1] if y.ndim == 2 else int(y.max()) + 1] = True
    out = np.array(y)
    out[~labelled] = unknown
    return out, labelled


def one_class(seed, count=3):
    """A graph, classes of which some are known, which they are, and as an indicator."""
    y = classes(30, seed, count)
    partly, labelled = known(y, 0.4, seed)
    return weights(30, seed), partly, labelled, np.eye(count)[y] * labelled[:, None]


def several(seed, count=4):
    """The same with several labels per row."""
    full = indicator(30, seed, count)
    Y, labelled = known(full, 0.4, seed)
    return weights(30, seed), Y, labelled, full * labelled[:, None]


@pytest.mark.filterwarnings("ignore::labelspan.errors.LabelspanWarning")
@parametrize_with_checks([*(kind() for kind in GRAPHS), MLLS()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- manners that all share -----------------------------------------------------------


@pytest.mark.parametrize("kind", GRAPHS, ids=lambda kind: kind.__name__)
def test_clusters_are_found_from_one_label_each(kind):
    X, truth = make_blobs([15, 25], centers=[[0.0] * 3, [4.0] * 3], random_state=1)
    y = np.full(40, None, dtype=object)
    first, second = np.flatnonzero(truth == 0)[0], np.flatnonzero(truth == 1)[0]
    y[first], y[second] = "left", "right"
    # From a label each the transducer expects halves, and insists on them as c grows.
    options = {"c": 10.0} if kind is SpectralGraphTransducer else {}
    model = kind(n_neighbors=15, **options).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, np.array(["left", "right"])[truth])
    np.testing.assert_array_equal(model.classes_, ["left", "right"])
    np.testing.assert_array_equal(model.predict(X + 0.01), model.transduction_)


@pytest.mark.parametrize("kind", GRAPHS, ids=lambda kind: kind.__name__)
def test_sparse_features_and_graphs_give_what_dense_ones_give(kind):
    X = features("tall", 0)
    y, _ = known(classes(60, 0), 0.4, 0)
    dense = kind().fit(X, y)
    found = kind().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(found.scores_, dense.scores_, atol=1e-6)
    np.testing.assert_allclose(
        found.label_scores(sparse.csr_array(X[:9])), dense.label_scores(X[:9]), atol=1e-6
    )
    given = kind().fit(X, y, graph=sparse.csr_array(neighbor_graph(X, 10).toarray()))
    np.testing.assert_allclose(given.scores_, dense.scores_, atol=1e-6)


@pytest.mark.parametrize("kind", [LocalGlobalConsistency, HarmonicFunction, MLGF, SMSE])
def test_rows_that_no_label_reaches_get_the_most_frequent_class(kind):
    W = linalg.block_diag(weights(20, 0), weights(9, 1), np.zeros((1, 1)))
    y = np.full(30, -1)
    y[:5] = [2, 0, 0, 1, 0]
    with pytest.warns(LabelspanWarning, match=r"no label reaches 10 of the 30 rows.*neighbours"):
        model = kind().fit(X0, y, graph=W)
    np.testing.assert_array_equal(model.transduction_[20:], 0)
    single = kind().fit(X0[:20], y[:20], graph=W[:20, :20])
    np.testing.assert_allclose(model.scores_[:20], single.scores_, atol=1e-6)


@pytest.mark.parametrize(
    ("affinity", "gamma"), [("rbf", None), ("nearest_neighbors", None), ("rbf", 0.07)]
)
def test_new_rows_get_the_weighted_mean_of_their_neighbours(affinity, gamma):
    X = features("tall", 0)
    y, _ = known(classes(60, 0), 0.4, 0)
    model = HarmonicFunction(affinity=affinity, gamma=gamma, n_neighbors=6).fit(X, y)
    new = X[:7] + 0.3
    squares = ((new[:, None] - X[None]) ** 2).sum(axis=2)
    own = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    if gamma is None and affinity == "rbf":
        gamma = 0.5 / np.median(own[np.triu_indices(60, 1)])
    elif gamma is None:
        gamma = 0.5 / np.median(np.sort(own, axis=1)[:, 1:7])
    near = np.exp(-gamma * squares)
    if affinity == "nearest_neighbors":
        near[squares > np.sort(squares, axis=1)[:, 5:6]] = 0.0
    expected = near @ model.scores_ / near.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_scores(new), expected, atol=1e-10)
    np.testing.assert_array_equal(model.predict(new), expected.argmax(axis=1))


@pytest.mark.parametrize("kind", SOLVING, ids=lambda kind: kind.__name__)
def test_an_iteration_that_stops_early_says_so_once(kind):
    X = np.random.default_rng(0).standard_normal((30, 4))
    W = np.diag(np.ones(29), 1) + np.diag(np.ones(29), -1)
    y = np.r_[0, np.full(28, -1), 1]
    Y = np.where(y[:, None] == -1, -1, np.array([[1, 1, 0], [0, 1, 1]])[y])
    with pytest.warns(NotConverged, match=f"{kind.__name__}: .*raise max_iter or tol") as caught:
        kind(max_iter=2, tol=1e-12).fit(X, Y, graph=W)
    assert len(caught) == 1


# --- local and global consistency -----------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.99])
def test_consistency_is_its_closed_form(alpha):
    W, y, labelled, Y = one_class(1)
    S = np.eye(30) - laplacian(W, normalized=True)
    expected = (1 - alpha) * np.linalg.solve(np.eye(30) - alpha * S, Y)
    found = LocalGlobalConsistency(alpha=alpha, tol=1e-12).fit(X0, y, graph=W)
    np.testing.assert_allclose(found.scores_, expected, atol=1e-10)
    best = np.where(
        expected.any(axis=1), expected.argmax(axis=1), np.bincount(y[labelled]).argmax()
    )
    np.testing.assert_array_equal(found.transduction_, np.where(labelled, y, best))


# --- harmonic functions ---------------------------------------------------------------


def test_harmonic_function_equals_label_propagation():
    X = features("tall", 0)
    y, _ = known(classes(60, 0), 0.3, 0)
    W = gaussian_graph(X, 0.05)
    reference = LabelPropagation(kernel=lambda *_: W.toarray(), max_iter=20000, tol=1e-12).fit(X, y)
    model = HarmonicFunction(affinity="rbf", gamma=0.05, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.scores_, reference.label_distributions_, atol=1e-9)
    np.testing.assert_array_equal(model.transduction_, reference.transduction_)


def test_class_mass_is_as_printed_and_balances():
    # A chain with its one label of class 1 at the end: all the middle leans to class 0.
    W = np.diag(np.ones(29), 1) + np.diag(np.ones(29), -1)
    y = np.full(30, -1)
    y[[0, 20]], y[29] = 0, 1
    plain = HarmonicFunction(tol=1e-12).fit(X0, y, graph=W)
    even = HarmonicFunction(class_mass=True, tol=1e-12).fit(X0, y, graph=W)
    np.testing.assert_allclose(even.scores_, plain.scores_)
    free = y == -1
    F, q = plain.scores_, np.array([2 / 3, 1 / 3])
    weighed = q * F / F[free].sum(axis=0)
    np.testing.assert_array_equal(even.transduction_[free], weighed[free].argmax(axis=1))
    assert (even.transduction_ == 1).sum() > (plain.transduction_ == 1).sum()
    np.testing.assert_array_equal(plain.class_weight_, 1.0)


# --- K-means-Laplacian ----------------------------------------------------------------


@pytest.mark.parametrize(("shape", "rows"), [("tall", 60), ("wide", 18)])
def test_kmeans_laplacian_maximises_its_quotient(shape, rows):
    X, W = features(shape, 0), weights(rows, 0)
    L, Xc = laplacian(W), X - X.mean(axis=0)
    y, labelled = known(classes(rows, 0), 0.4, 0)
    model = KMeansLaplacian(tol=1e-12).fit(X, y, graph=W)
    Q = model.embedding_
    assert Q.shape == (rows, 3)
    np.testing.assert_allclose(Q.T @ L @ Q, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(Q.sum(axis=0), 0.0, atol=1e-9)
    # The generalised problem itself, in a basis of all vectors that sum to zero.
    basis = linalg.null_space(np.ones((1, rows)))
    values, vectors = linalg.eigh(basis.T @ Xc @ Xc.T @ basis, basis.T @ L @ basis)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-8)
    assert angle(Q, basis @ vectors[:, ::-1][:, :3]) < 1e-6
    quotient = np.trace(np.linalg.solve(Q.T @ L @ Q, Q.T @ Xc @ Xc.T @ Q))
    rng = np.random.default_rng(1)
    for _ in range(5):
        other = Q + 0.1 * np.abs(Q).max() * rng.standard_normal(Q.shape)
        assert (
            np.trace(np.linalg.solve(other.T @ L @ other, other.T @ Xc @ Xc.T @ other)) < quotient
        )
    nearest = KNeighborsClassifier(1).fit(Q[labelled], y[labelled]).predict(Q)
    np.testing.assert_array_equal(model.transduction_, np.where(labelled, y, nearest))


@pytest.mark.parametrize("kind", [KMeansLaplacian, MCGF])
def test_parts_are_joined_and_distinguished(kind):
    X, y = make_blobs([8, 8, 8], centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    partly = np.where(np.arange(24) % 3 == 0, y, -1)
    with pytest.warns(LabelspanWarning, match="the graph is not connected, so weak links"):
        model = kind(n_neighbors=4).fit(X, partly)
    np.testing.assert_array_equal(model.transduction_, y)
    # Links that rounding swallows do not count.
    with pytest.warns(LabelspanWarning, match="is not connected"):
        model = kind(n_neighbors=9).fit(X, partly)
    np.testing.assert_array_equal(model.transduction_, y)


# --- spectral graph transducer --------------------------------------------------------


@pytest.mark.parametrize("normalized", [False, True])
def test_transducer_solves_its_own_one_class(normalized):
    W, y, labelled, Y = one_class(0)
    model = SpectralGraphTransducer(c=20.0, n_eigenvectors=12, normalized=normalized)
    scores = model.fit(X0, y, graph=W).scores_
    L = laplacian(W, normalized)
    V = np.linalg.eigh(L)[1][:, 1:13]
    D = np.diag(np.arange(1.0, 13) ** 2)
    null = np.sqrt(W.sum(axis=1)) if normalized else np.ones(30)
    for column in range(3):
        p = Y[:, column].sum()
        q = labelled.sum() - p
        g = np.where(Y[:, column] == 1, np.sqrt(q / p), -np.sqrt(p / q)) * labelled
        C = np.where(Y[:, column] == 1, (p + q) / (2 * p), (p + q) / (2 * q)) * labelled
        z = scores[:, column] + (np.sqrt(q / p) - np.sqrt(p / q)) / 2
        np.testing.assert_allclose(null @ z, 0.0, atol=1e-9)
        np.testing.assert_allclose(z @ z, 30.0)
        w = V.T @ z
        np.testing.assert_allclose(V @ w, z, atol=1e-9)
        G, b = D + 20 * V.T @ (C[:, None] * V), 20 * V.T @ (C * g)
        shift = (w @ (G @ w - b)) / 30.0
        np.testing.assert_allclose(G @ w - shift * w, b, atol=1e-8)
        assert shift < np.linalg.eigvalsh(G)[0]


# --- several labels per row ----------------------------------------------------------


def coupling(Y, labelled, normalized=False):
    C = label_correlation(Y[labelled])
    np.fill_diagonal(C, 0.0)
    return laplacian(C, normalized)


# --- MLGF -----------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.1, 3.0])
def test_mlgf_is_stationary_and_holds_the_labels(mu):
    W, Y, labelled, zeroed = several(1)
    F = MLGF(mu=mu, tol=1e-12).fit(X0, Y, graph=W).scores_
    np.testing.assert_array_equal(F[labelled], zeroed[labelled])
    L, H, free = laplacian(W), coupling(Y, labelled), ~labelled
    scaled = mu * W.sum() / 30 / (np.trace(H) / 4)
    slope = L @ F + scaled * F @ H
    np.testing.assert_allclose(slope[free], 0.0, atol=1e-9)
    # The same as one system for all entries.
    system = np.kron(L[np.ix_(free, free)], np.eye(4)) + np.kron(np.eye(free.sum()), scaled * H)
    right = W[np.ix_(free, labelled)] @ zeroed[labelled]
    np.testing.assert_allclose(F[free].ravel(), np.linalg.solve(system, right.ravel()), atol=1e-9)


# --- SMSE -----------------------------------------------------------------------------


@pytest.mark.parametrize("normalized", [False, True])
def test_smse_solves_the_sylvester_equation(normalized):
    W, Y, labelled, zeroed = several(0)
    mu, nu, J = 0.7, 0.3, np.diag(labelled.astype(float))
    L, H = laplacian(W, normalized), coupling(Y, labelled, normalized)
    expected = linalg.solve_sylvester(J + mu * L, nu * H, J @ zeroed)
    found = SMSE(mu=mu, nu=nu, normalized=normalized, tol=1e-12).fit(X0, Y, graph=W)
    np.testing.assert_allclose(found.scores_, expected, atol=1e-9)


# --- MCGF -----------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.0, 0.1, 2.0])
def test_mcgf_is_its_closed_form(mu):
    W, Y, labelled, zeroed = several(1)
    centred = np.where(labelled[:, None], zeroed - zeroed[labelled].mean(axis=0), 0.0)
    C = label_correlation(zeroed[labelled])
    expected = np.linalg.pinv(laplacian(W)) @ centred @ (np.eye(4) + mu * C)
    found = MCGF(mu=mu, tol=1e-12).fit(X0, Y, graph=W).scores_
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-9)


# --- MLLS -----------------------------------------------------------------------------


def objective(X, Y, U, theta, *, alpha, beta):
    """With the best V for this U and Theta."""
    outside = U - theta.T @ (theta @ U)
    fit = np.square(X @ U - Y).sum() / len(X)
    return fit + alpha * np.square(outside).sum() + beta * np.square(U).sum()


def best_slopes(X, Y, theta, alpha, beta):
    rows, columns = X.shape
    metric = X.T @ X / rows + (alpha + beta) * np.eye(columns) - alpha * theta.T @ theta
    return np.linalg.solve(metric, X.T @ Y / rows)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.5, 20.0])
def test_mlls_is_at_its_minimum(shape, alpha):
    X = features(shape, 0)
    Y = indicator(len(X), 0)
    model = MLLS(n_components=2, alpha=alpha, beta=0.2).fit(X, Y)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    U, theta = model.coef_.T, model.components_
    np.testing.assert_allclose(theta @ theta.T, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(U, best_slopes(Xc, Yc, theta, alpha, 0.2), atol=1e-8)
    slope = Xc.T @ (Xc @ U - Yc) / len(X) + alpha * (U - theta.T @ (theta @ U)) + 0.2 * U
    np.testing.assert_allclose(slope, 0.0, atol=1e-9)
    least = objective(Xc, Yc, U, theta, alpha=alpha, beta=0.2)
    rng = np.random.default_rng(0)
    for step in (0.01, 0.1, 100.0):
        for _ in range(10):
            moved = theta + step * rng.standard_normal(theta.shape)
            other = np.linalg.qr(moved.T)[0].T
            slopes = best_slopes(Xc, Yc, other, alpha, 0.2)
            assert objective(Xc, Yc, slopes, other, alpha=alpha, beta=0.2) > least
    np.testing.assert_allclose(model.label_scores(X), Xc @ U + Y.mean(axis=0), atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_mlls_is_ridge_regression_at_both_ends(shape):
    X = features(shape, 1)
    Y = indicator(len(X), 1)
    reference = Ridge(alpha=0.3 * len(X)).fit(X, Y)
    none = MLLS(alpha=0.0, beta=0.3).fit(X, Y)
    np.testing.assert_allclose(none.coef_, reference.coef_, atol=1e-8)
    np.testing.assert_allclose(none.intercept_, reference.intercept_, atol=1e-8)
    # A subspace for all labels costs nothing, however much the rest is penalised.
    whole = MLLS(n_components=4, alpha=50.0, beta=0.3).fit(X, Y)
    np.testing.assert_allclose(whole.coef_, reference.coef_, atol=1e-7)
    part = MLLS(n_components=1, alpha=50.0, beta=0.3).fit(X, Y)
    assert np.abs(part.coef_ - reference.coef_).max() > 1e-3


# --- labels from scores ---------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [MLGF, SMSE, MCGF, HarmonicFunction, LocalGlobalConsistency, SpectralGraphTransducer]
)
def test_each_label_goes_to_its_share_of_the_unlabelled_rows(kind):
    W, Y, labelled, zeroed = several(0)
    model = kind().fit(X0, Y, graph=W)
    found = model.transduction_
    np.testing.assert_array_equal(found[labelled], zeroed[labelled])
    free = ~labelled
    shares = zeroed[labelled].mean(axis=0)
    np.testing.assert_allclose(found[free].mean(axis=0), shares, atol=1.0 / free.sum())
    for label in range(4):
        taken = found[free, label] == 1
        scores = model.scores_[free, label]
        assert scores[taken].min() > scores[~taken].max()
    np.testing.assert_array_equal(found[free], model.scores_[free] > model.thresholds_)
    np.testing.assert_array_equal(kind().fit_predict(X0, Y, graph=W), found)


# --- equation 8, and claims with several readings ------------------------------------------


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("shape", [(40, 6), (12, 20)], ids=str)
def test_directions_of_equation_8_maximise_the_sum(shape, balanced):
    rng = np.random.default_rng(shape[1])
    y = classes(shape[0], 3, 3)
    X = rng.standard_normal(shape) + np.eye(3)[y] @ rng.standard_normal((3, shape[1]))
    given, _ = known(y, 0.5, 3)
    graph = neighbor_graph(X, 4)
    directions = additive_directions(X, given, graph, balanced=balanced)
    W = graph.toarray()
    laplacian = np.diag(W.sum(axis=1)) - W
    some = X[given >= 0]
    within = sum(
        np.cov(some[given[given >= 0] == c].T, bias=True) * (given == c).sum() for c in range(3)
    )
    total = np.cov(some.T, bias=True) * len(some)
    root = np.real(linalg.sqrtm(np.linalg.pinv(within, rcond=1e-10, hermitian=True)))
    first, second = root @ (total - within) @ root, X.T @ laplacian @ X
    if balanced:
        first, second = first / np.trace(first), second / np.trace(second)
    for weight in (0.05, 0.5, 0.95):
        F = directions(weight)
        np.testing.assert_allclose(F.T @ F, np.eye(2), atol=1e-10)
        objective = weight * first - (1 - weight) * second
        best = np.linalg.eigvalsh((objective + objective.T) / 2)[-2:].sum()
        value = np.trace(F.T @ objective @ F)
        assert abs(value - best) < 1e-6 * np.abs(objective).max() * shape[1]


def test_claims_are_judged_for_each_reading(tmp_path):
    claims = {claim.id: claim for claim in load_claims("wang2010")}
    readings = {
        (c.only["features"], c.only["graph"]) for i, c in claims.items() if "hf-table-3" in i
    }
    assert len(readings) == 4
    part = {part.name: part for part in PAPER.parts}["equation 8"]
    key = {"data": "iris", "features": "raw", "seed": 0}
    records = Results([{**key, **record} for record in part.run(key, tmp_path)])
    table = part.tables(records)[0]
    assert [len(row) for row in table.rows] == [len(table.head)] * len(table.rows)
    for name, claim in claims.items():
        if claim.part == "equation 8":
            ran = "raw features" in name
            assert (judge(claim, records).outcome != "not run") == ran
            assert ("Raw features, " in claim.text) == ran


def test_numbers_printed_for_several_sets():
    records = Results([{"data": "a", "value": 0.5}, {"data": "b", "value": 0.9}])
    told = {"paper": "p", "id": "i", "where": "w", "part": "p", "text": "t", "measure": "value"}
    claim = Claim(**told, kind="near", printed={"a": 0.52, "b": 0.6, "c": 1.0}, tolerance=0.05)
    verdict = judge(claim, records)
    assert (verdict.agreeing, verdict.cells, verdict.outcome) == (1, 2, "holds in part")
    assert verdict.measured == "a 0.500, printed 0.520; b 0.900, printed 0.600"
    assert claim.criterion == "within 0.05"
