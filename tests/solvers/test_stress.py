"""Badly scaled, ill-conditioned and oddly stored data: right, warned or refused, never silent."""

from collections import Counter

import numpy as np
import pytest
from _support import stress
from _support.units import labelled
from scipy import sparse

from labelspan import CCA, LSI, MLSI, OPLS
from labelspan.errors import InvalidInput, NotConverged
from labelspan.metrics import principal_angles
from labelspan.operators import MemoryBlocks, RowBlocks, as_operator
from labelspan.operators.dense import Dense
from labelspan.solvers import (
    Exact,
    Krylov,
    KrylovOptions,
    Problem,
    ridge,
    svd,
)
from labelspan.solvers.block_krylov import KrylovSpace
from labelspan.solvers.decomposition import complete_basis
from labelspan.solvers.svd import truncated_svd

KINDS = [kind for kind, *_ in stress.data_sets((6, 5))]


def check_cells(shape, **options):
    cells = list(stress.cells(shape, **options))
    assert [cell for cell in cells if cell[-1][0] == "silent"] == []
    # Every estimator is right on ordinary data, and on large means and duplicate entries.
    ordinary = [cell for cell in cells if cell[0].startswith(("plain", "means", "duplicate e"))]
    assert {outcome for *_, (outcome, _) in ordinary} <= {"right"}
    return Counter(outcome for *_, (outcome, _) in cells)


@pytest.mark.parametrize(("number", "kind"), enumerate(KINDS))
def test_no_answer_is_wrong_without_a_warning(number, kind):
    """Each kind of data with one of the shapes, and with two of the solvers."""
    solvers = stress.SOLVERS[number // 2 % 3 :] or stress.SOLVERS[:1]
    counts = check_cells(list(stress.SHAPES)[number % 2], solvers=solvers, kinds=[kind])
    assert counts["right"] > counts["warned"]


@pytest.mark.parametrize("shape", stress.SHAPES)
def test_no_answer_of_the_whole_grid_is_wrong_without_a_warning(shape):
    counts = check_cells(shape)
    # Most of the grid is solved, not warned about.
    assert counts["right"] > 10 * counts["warned"]


def test_the_grid_sees_a_wrong_estimator(monkeypatch):
    class Off(OPLS):
        def fit(self, X, y):
            super().fit(X, y)
            self.eigenvalues_ = self.eigenvalues_ * (1 + 1e-4)
            return self

    monkeypatch.setattr(stress, "OPLS", Off)
    cells = stress.cells("n > d", solvers=("auto",), kinds=KINDS[:1], names=("OPLS",))
    assert {outcome for *_, (outcome, _) in cells} == {"silent"}


# --- what was wrong once ------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:OPLS. columns of X vary so little")
def test_a_condition_number_beyond_the_data_warns_with_the_remedy():
    X = stress.rotated(200, 20, 1e14, np.random.default_rng(0))
    Y = stress.labels_of(X, np.random.default_rng(1))
    with pytest.warns(NotConverged, match="may be off by .* raise alpha, or remove columns"):
        OPLS(2, alpha=0).fit(X, Y)


def test_units_over_eight_decades_without_a_penalty():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 200)) * 10 ** rng.uniform(-4, 4, 200)
    S = (X / X.std(0)) @ rng.standard_normal((200, 6))
    Y = (np.quantile(S, 0.8, axis=0) < S) * 1.0
    model = MLSI(2, alpha=0, solver="krylov", label_weight=None).fit(X, Y)
    reference = MLSI(2, alpha=0, solver="exact", label_weight=None).fit(X, Y)
    np.testing.assert_allclose(model.eigenvalues_, reference.eigenvalues_, rtol=1e-6)


@pytest.mark.parametrize(("method", "scale"), [(CCA, 1.0), (CCA, 1e-6), (OPLS, 1e-6)])
def test_targets_that_nearly_repeat_each_other_are_two(method, scale):
    """One of start and end was dropped: their products have no digits of the difference."""
    rng = np.random.default_rng(77)
    X = rng.standard_normal((400, 6))
    start = 1.7e9 + rng.uniform(0, 1e8, 400)
    length = 600 + 300 * X[:, 0]
    both = method(alpha=0).fit(X, scale * np.c_[start, start + length])
    apart = method(alpha=0).fit(X, scale * np.c_[start, length])
    assert both.eigenvalues_.size == 2
    if method is CCA:
        np.testing.assert_allclose(both.correlations_, apart.correlations_, rtol=1e-5)
        np.testing.assert_allclose(both.correlations_[0], 1.0, rtol=1e-9)
    assert principal_angles(both.components_.T, apart.components_.T).max() < 1e-4


@pytest.mark.parametrize(
    ("shape", "means"), [((20, 30), 1e6), ((20, 19), 1e8), ((20, 20), 1e9), ((20, 30), 1e9)]
)
def test_what_rounding_leaves_of_means_is_no_direction(shape, means):
    """Centred rows have n - 1 directions, and a regression without a penalty uses all of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    Y = rng.standard_normal((shape[0], 3))
    Y -= Y.mean(axis=0)
    centred = [as_operator(X + shift).centered()[0] for shift in (0.0, means)]
    problems = [Problem(rows, Y, 4, feature_weight=0.05) for rows in centred]
    values = [Exact().solve(problem).eigenvalues for problem in problems]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-13 * max(means, 100.0))


@pytest.mark.parametrize(
    ("solver", "power"), [("exact", -80), ("krylov", -85), ("exact", -160), ("krylov", -160)]
)
def test_a_penalty_that_leaves_nothing_of_the_labels_is_right_or_refused(solver, power):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    Y = (X[:, :3] + rng.standard_normal((60, 3)) > 0) * 1.0
    model = MLSI(2, alpha=1.0, beta=0.9, solver=solver)
    with pytest.raises(InvalidInput, match="too large or too small to compute with; rescale"):
        model.fit(X * 10.0**power, Y)


# --- certificates -------------------------------------------------------------------------


@pytest.mark.parametrize("shape", stress.SHAPES)
def test_every_direct_answer_has_a_residual_from_the_data(shape):
    rows, columns = stress.SHAPES[shape]
    rng = np.random.default_rng(0)
    X = as_operator(rng.standard_normal((rows, columns))).centered()[0]
    L = rng.standard_normal((rows, 6))
    for problem in (Problem(X, L, 2), Problem(X, L, 2, 1.0, feature_weight=0.01)):
        found = Exact().solve(problem)
        assert 0 < found.residual < 1e-5
        assert found.error < 1e-10
        assert f"relative residual {found.residual:.0e}" in found.status


# --- what the Krylov solver promises -----------------------------------------------------


def spectra(rng):
    """Matrices with flat, steep, clustered, stepped and badly scaled spectra."""
    rows, columns = 220, 160
    index = np.arange(1, columns + 1)
    steps = np.r_[np.repeat([1.0, 0.7, 0.5, 0.3], 25), 0.2 * np.ones(columns - 100)]
    cluster = np.r_[1 - 1e-3 * np.arange(15), 0.1 * np.ones(columns - 15)]
    shapes = {
        "flat": np.ones(columns),
        "slow": index**-0.2,
        "power": index**-1.0,
        "steep": 0.8**index,
        "geometric": 0.98**index,
        "cluster": cluster,
        "steps": steps,
    }
    left = np.linalg.qr(rng.standard_normal((rows, columns)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    for name, values in shapes.items():
        yield name, left * values @ right.T
    noise = rng.standard_normal((rows, columns))
    yield "noise", noise
    yield "units", noise * 10.0 ** rng.uniform(-4, 4, columns)


@pytest.mark.parametrize(("dtype", "flip"), [(np.float64, False), (np.float32, True)])
def test_what_is_missing_is_never_more_than_the_estimate(dtype, flip):
    for name, matrix in spectra(np.random.default_rng(0)):
        X = (matrix.T if flip else matrix).astype(dtype)
        exact = np.linalg.svd(X.astype(np.float64), compute_uv=False) ** 2
        for count, tol, seed in ((3, 1e-1, 0), (3, 1e-4, 1), (20, 1e-1, 1), (20, 1e-2, 0)):
            rng = np.random.default_rng(seed)
            found = truncated_svd(as_operator(X), count, tol=tol, max_iter=300, rng=rng)
            missing = 1 - found.values.sum() / exact[:count].sum()
            assert found.converged, (name, count, tol, seed)
            assert missing <= found.rest, (name, count, tol, seed)
            assert found.rest <= tol


@pytest.mark.parametrize("kind", ["unix times", "lognormal 4", "eight decades"])
@pytest.mark.parametrize("store", ["columns", "rows", "sparse", "passes"])
def test_directions_next_to_columns_in_large_units_are_found(store, kind):
    """Not only their sum, in which the short ones vanish."""
    X = labelled(500, 160, kind, density=0.2, seed=4)[0]
    X[:, :-1] *= np.random.default_rng(1).lognormal(0, 1, 159)
    X -= X.mean(axis=0)
    given = {
        "columns": lambda: as_operator(np.asfortranarray(X)),
        "rows": lambda: as_operator(np.asfortranarray(X).T).T,
        "sparse": lambda: as_operator(sparse.csr_array(X)),
        "passes": lambda: RowBlocks(MemoryBlocks([X[:200], X[200:]])),
    }[store]()
    rng = np.random.default_rng(0)
    found = truncated_svd(given, 30, tol=5e-3, max_iter=100, rng=rng)
    values = np.linalg.svd(X, compute_uv=False)[:30] ** 2
    assert found.converged
    np.testing.assert_allclose(found.values, values, rtol=0.03)
    images = X @ found.right
    np.testing.assert_allclose(found.right.T @ found.right, np.eye(30), atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(images, axis=0) ** 2, found.values, rtol=0.05)
    if found.left is not None:
        left = found.left()
        np.testing.assert_allclose(left.T @ left, np.eye(30), atol=1e-3)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_float32_is_widened_where_it_loses_directions(store):
    X = labelled(500, 160, "unix times", density=0.2, seed=4)[0].astype(np.float32)
    solver = Krylov(options=KrylovOptions(in_float64=0))
    found = LSI(20, center=True, solver=solver).fit(store(X))
    wide = X.astype(np.float64)
    values = np.linalg.svd(wide - wide.mean(axis=0), compute_uv=False)[:20] ** 2
    np.testing.assert_allclose(found.eigenvalues_, values, rtol=0.1)


def test_blocks_in_float32_stay_orthogonal():
    rng = np.random.default_rng(0)
    X = sparse.random_array((6000, 3000), density=0.01, rng=rng, format="csr", dtype=np.float32)
    space = KrylovSpace(as_operator(X), rng.standard_normal((3000, 20)).astype(np.float32))
    for _ in range(24):
        assert space.expand()
    basis = np.hstack(space.basis).astype(np.float64)
    assert np.abs(basis.T @ basis - np.eye(basis.shape[1])).max() < 2e-3
    square = np.square(X.astype(np.float64) @ basis).sum(axis=0)
    np.testing.assert_allclose(np.diag(space.gram), square, rtol=1e-2)


def test_no_more_directions_are_found_than_there_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12)) @ rng.standard_normal((12, 200))
    X[:, 3] = 1e9 * rng.standard_normal(300)
    found = truncated_svd(as_operator(X), 30, tol=5e-3, max_iter=100, rng=rng)
    values = np.linalg.svd(X, compute_uv=False)[:13] ** 2
    np.testing.assert_allclose(found.values, values, rtol=0.01)


@pytest.mark.parametrize(
    ("alpha", "more", "seed"), [(1e-2, 0, 0), (1e2, 0, 1), (1e-3, 40, 0), (1.0, 40, 1)]
)
def test_what_is_missing_with_labels_is_never_more_than_the_estimate(alpha, more, seed):
    for name, X in spectra(np.random.default_rng(seed)):
        Y = stress.labels_of(X, np.random.default_rng(seed))
        # With more labels the blocks are wide.
        others = np.random.default_rng(seed).standard_normal((X.shape[0], more))
        Y = np.hstack([Y, others + (X / np.abs(X).max()) @ (X.T @ others)])
        never_more_than_the_estimate(name, X, Y, 1.0, alpha, 10, seed)


def test_labels_outside_the_first_block_are_not_overlooked():
    """Few different eigenvalues exhaust a space that lacks labels: nothing seemed to be missing."""
    rng = np.random.default_rng(0)
    for name, X in spectra(rng):
        if name in {"flat", "steps"}:
            Y = rng.standard_normal((X.shape[0], 100)) * np.arange(1, 101) ** -0.5
            never_more_than_the_estimate(name, X, Y, 0.1, 1e-2, 40, 0)


def never_more_than_the_estimate(name, X, Y, share, alpha, count, seed):  # noqa: PLR0917
    weight = share / float((X**2).sum())
    problem = Problem(as_operator(X), Y / np.linalg.norm(Y), count, alpha, feature_weight=weight)
    exact = Exact().solve(problem).eigenvalues.sum()
    for tol in (1e-1, 1e-2, 1e-3, 1e-4):
        found = Krylov(tol=tol, seed=seed).solve(problem)
        missing = 1 - found.eigenvalues.sum() / exact
        assert found.converged, (name, tol)
        assert missing <= 2 * found.residual + 1e-13, (name, tol, missing, found.status)


def test_more_copies_of_an_eigenvalue_than_a_block_is_wide():
    rng, copies, rows, columns = np.random.default_rng(0), 120, 300, 250
    roots = 0.3 * np.arange(1, columns + 1) ** -0.5
    roots[:copies] = 1.0
    left = np.linalg.qr(rng.standard_normal((rows, columns)))[0]
    X = left * roots @ np.linalg.qr(rng.standard_normal((columns, columns)))[0].T
    model = LSI(80, solver="krylov").fit(X)
    assert model.eigenvalues_.sum() > 0.99 * 80
    assert "new products with X show" in model.status_
    Y = X[:, :4]
    weight = 1 / float((X**2).sum())
    problem = Problem(as_operator(X), Y / np.linalg.norm(Y), 80, 0.01, feature_weight=weight)
    found = Krylov().solve(problem)
    assert found.eigenvalues.sum() > 0.99 * Exact().solve(problem).eigenvalues.sum()


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize(
    ("kind", "center"),
    [
        ("dense", True),
        ("sparse", False),
        ("sparse", True),
        ("tensor", False),
        ("sparse tensor", True),
    ],
)
def test_a_tolerance_below_float32_is_met_in_float64(kind, center):
    # Few entries are solved in float64 in any case.
    options = KrylovOptions(direct=0, in_float64=0)
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((300, 120)), 0.8).astype(np.float32) - np.float32(0.8)
    Y = (X @ rng.standard_normal((120, 4)) > 0.5).astype(float)
    given = X if kind == "dense" else sparse.csr_array(X)
    if "tensor" in kind:
        torch = pytest.importorskip("torch", reason="torch is not installed")
        given = torch.as_tensor(X)
        given = given.to_sparse_csr() if "sparse" in kind else given
    model = MLSI(12, solver=Krylov(1e-10, options=options), alpha=1.0, center=center)
    found = model.fit(given, Y)
    exact = MLSI(12, solver="exact", alpha=1.0, center=center).fit(X.astype(float), Y)
    components = np.asarray(found.components_)
    assert components.dtype == np.float32
    assert principal_angles(components.T.astype(float), exact.components_.T).max() < 2e-4


def test_dummy_variables_need_no_warning():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.eye(5)[rng.integers(0, 5, 5000)] for _ in range(20)], axis=1)
    Y = rng.standard_normal((5000, 4))
    model = OPLS(alpha=0).fit(X, Y)
    centred, target = X - X.mean(axis=0), Y - Y.mean(axis=0)
    slopes = np.linalg.pinv(centred, rcond=1e-10) @ target
    expected = np.linalg.eigvalsh(target.T @ centred @ slopes)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-10)


# --- one rank rule ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["units over 8 decades", "near-duplicate columns, 1e-06"])
@pytest.mark.parametrize("shape", stress.SHAPES)
def test_a_complete_basis_keeps_short_directions(shape, kind):
    X = next(X for name, X, _ in stress.data_sets(stress.SHAPES[shape]) if name == kind)
    Y = stress.labels_of(X, np.random.default_rng(3))
    basis = complete_basis(as_operator(X).centered()[0], Y)
    values = np.linalg.svd(basis.coordinates, compute_uv=False)[: stress.COUNT] ** 2
    exact = stress.References(X, Y, None).opls(0.0)
    np.testing.assert_allclose(values, exact, rtol=1e-6)


# --- an iteration without a penalty -------------------------------------------------------


def graded(power, rng):
    """Sparse columns that nearly depend on each other in pairs, and targets along all of them."""
    rows, half = 240, 30
    lengths = np.r_[np.ones(half), np.logspace(0, -power, half)]
    left = np.zeros((rows, 2 * half))
    for j in range(2 * half):
        left[4 * j : 4 * j + 4, j] = rng.choice([-0.5, 0.5], 4)
    one, other = np.arange(half), half + np.arange(half)
    right = np.eye(2 * half)
    right[one, one] = right[other, other] = 0.6
    right[one, other], right[other, one] = 0.8, -0.8
    slopes = rng.standard_normal((2 * half, 3))
    # X = U S V' is known, and with it the truth: X^+ T is V S^-1 U'T.
    X = sparse.csr_array((left * lengths) @ right)
    return X, left @ slopes, right.T @ (slopes / lengths[:, None])


@pytest.mark.parametrize("power", [1, 4, 6])
def test_iterating_without_a_penalty_knows_its_error(power):
    X, targets, truth = graded(power, np.random.default_rng(0))
    fit = ridge.ridge(as_operator(X), targets, 0.0, direct=0)
    off = np.linalg.norm(X @ (fit.slopes.to_block() - truth)) / np.linalg.norm(targets)
    assert fit.method == "block conjugate gradients"
    assert fit.converged == (fit.error <= 1e-6)
    # Beyond, the residual over the shortest direction is rounding: whether the iteration is sure
    # depends on the machine.
    if power <= 4:
        assert fit.converged
    # Before, a residual of 1e-8 was enough: with condition 1e5 and up, not one digit is right then.
    assert off <= fit.error or not fit.converged


@pytest.mark.parametrize(("alpha", "targets"), [(0.0, 40), (1e-3, 3)])
def test_iterating_is_sure_of_ordinary_and_singular_data(alpha, targets):
    rng = np.random.default_rng(0)
    plain, thin = rng.standard_normal((120, 50)), rng.standard_normal((120, 20))
    low = thin @ rng.standard_normal((20, 50))
    # Null directions come in by rounding, and are not directions that the iteration has seen.
    for X in (plain, low, np.hstack([plain, plain[:, :9]]), low.T):
        T = rng.standard_normal((X.shape[0], targets))
        fit = ridge.ridge(as_operator(sparse.csr_array(X)), T, alpha, direct=0)
        border = np.sqrt(alpha) * np.eye(X.shape[1])
        tall, wanted = np.vstack([X, border]), np.vstack([T, np.zeros((X.shape[1], targets))])
        exact = np.linalg.lstsq(tall, wanted, rcond=1e-12)[0]
        off = np.linalg.norm(tall @ (fit.slopes.to_block() - exact)) / np.linalg.norm(T)
        assert fit.converged
        # Rounding comes on top of what the iteration leaves.
        assert off <= (1e-7 if fit.error is None else fit.error + 1e-12)


# --- a Gram matrix that is wrong ----------------------------------------------------------


def _rows_for_pca(dtype):
    rng = np.random.default_rng(0)
    return (rng.standard_normal((3000, 40)) * np.linspace(3, 1, 40) + 0.3).astype(dtype)


def _spoiled(gram, how):
    gram = gram.copy()
    if how == "an entry":
        gram[3, 5] += 0.1 * gram[3, 3]
        gram[5, 3] = gram[3, 5]
    elif how == "a column":
        gram[:, 7] *= 1.1
        gram[7] *= 1.1
    else:
        gram *= 1.1
    return gram


@pytest.mark.parametrize(
    ("how", "dtype"), [("an entry", "float64"), ("a column", "float32"), ("its size", "float64")]
)
def test_a_wrong_gram_matrix_is_not_silent(how, dtype, monkeypatch):
    """The random products of the pass for the means see it, and the data is factorised."""
    X = _rows_for_pca(dtype)
    expected = np.linalg.svd(X - X.mean(axis=0, dtype=np.float64), compute_uv=False)[:9] ** 2
    products = Dense._products

    def spoil(self, block, width):
        gram, *others = products(self, block, width)
        return _spoiled(gram, how), *others

    monkeypatch.setattr(Dense, "_products", spoil)
    model = LSI(9, center=True).fit(X)
    assert "singular vectors of the data" in model.status_
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-5)


@pytest.mark.parametrize("how", ["turned", "stretched", "exchanged", "values"])
def test_wrong_eigenvectors_are_not_silent(how, monkeypatch):
    X = _rows_for_pca("float64")
    expected = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:9] ** 2
    right = svd.few_leading

    def wrong(matrix, count):
        values, vectors = (part.copy() for part in right(matrix, count))
        if how == "turned":
            vectors[:, 8] += 0.01 * vectors[:, 0]
        elif how == "stretched":
            vectors[:, 8] *= 1.01
        elif how == "exchanged":
            vectors[:, [0, 8]] = vectors[:, [8, 0]]
        else:
            values[8] *= 1.01
        return values, vectors

    monkeypatch.setattr(svd, "few_leading", wrong)
    model = LSI(9, center=True).fit(X)
    assert "singular vectors of the data" in model.status_
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-9)
