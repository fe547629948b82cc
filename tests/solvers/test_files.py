"""Rows and labels in files: the answers of those in memory, and no block as long as the rows."""

import numpy as np
import pytest
from scipy import linalg, sparse

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS
from labelspan.errors import InvalidLabels, Mismatch
from labelspan.operators import RowBlocks, RowFiles, RowWriter
from labelspan.solvers import alpha as alpha_module


def drawn(rows, columns, fall, fill):
    """Rows with a few strong directions, so that the leading ones are well apart, and these."""
    rng = np.random.default_rng(0)
    strong = rng.standard_normal((rows, 12)) * fall ** -np.arange(12.0)
    image = strong @ rng.standard_normal((12, columns))
    return sparse.csr_array(np.where(rng.random((rows, columns)) < fill, image, 0)), strong, rng


def written(folder, rows, size=250):
    with RowWriter(folder) as writer:
        for start in range(0, rows.shape[0], size):
            writer.append(rows[start : start + size])
    return RowFiles(folder)


def overlap(one, other):
    """The smallest cosine between the spaces of two models."""
    bases = [linalg.orth(model.components_.T) for model in (one, other)]
    return linalg.svdvals(bases[0].T @ bases[1]).min()


# --- rows in files, labels in memory -------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    X, strong, rng = drawn(1300, 1050, 2.0, 0.3)
    return X, (strong[:, :5] + 0.5 * rng.standard_normal((1300, 5)) > 0.3).astype(float)


@pytest.fixture
def passes(monkeypatch):
    """Names of the products with rows in files, and their blocks' widths; none is X @ block."""
    seen = []

    def counted(name, old):
        def call(self, block):
            seen.append((name, block.shape[1]))
            return old(self, block)

        return call

    for name in ("_rmatmat", "normal"):
        monkeypatch.setattr(RowBlocks, name, counted(name, getattr(RowBlocks, name)))
    monkeypatch.setattr(RowBlocks, "_matmat", lambda *_: pytest.fail("a block as long as the rows"))
    return seen


@pytest.mark.parametrize(
    ("kind", "center"),
    [
        ("sparse", False),
        ("sparse", True),
        ("dense", False),
        ("float32", True),
        ("large means", True),
    ],
)
def test_lsi_from_files(tmp_path, rows, passes, center, kind, monkeypatch):  # noqa: PLR0917
    # Otherwise few rows in float32 are solved in float64.
    monkeypatch.setattr("labelspan.solvers.krylov._SMALL", 0)
    X = rows[0]
    if kind != "sparse":
        X = X.toarray().astype(np.float32 if kind == "float32" else float)
    if kind == "large means":
        X = X + 1e4 * np.random.default_rng(1).standard_normal(X.shape[1])
    tol, close = (1e-4, 1e-3) if kind == "float32" else (1e-8, 1e-6)
    options = {"solver": "krylov", "center": center, "tol": tol}
    found = LSI(6, **options).fit(written(tmp_path, X, 500))
    assert {name for name, _ in passes} == {"normal"}
    model = LSI(6, **options).fit(X)
    np.testing.assert_allclose(found.eigenvalues_, model.eigenvalues_, rtol=close)
    assert overlap(found, model) > 1 - close


@pytest.mark.parametrize("label_weight", [None, "balanced"])
def test_mlsi_from_files(tmp_path, rows, passes, label_weight):
    X, Y = rows
    options = {"alpha": 0.5, "label_weight": label_weight, "solver": "krylov", "tol": 1e-5}
    found = MLSI(6, **options).fit(written(tmp_path, X, 500), Y)
    expected = MLSI(6, **(options | {"solver": "exact", "tol": None})).fit(X, Y)
    # Only the labels are as long as the rows.
    assert {width for name, width in passes if name == "_rmatmat"} <= {Y.shape[1]}
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-4)
    if overlap(found, expected) <= 1 - 1e-4:
        # Without weights, two eigenvalues are close, and in memory it is not closer.
        assert label_weight is None
        in_memory = MLSI(6, **options).fit(X, Y)
        assert overlap(found, expected) > overlap(in_memory, expected) - 1e-3
    squares = [model.label_loadings_.T @ model.label_loadings_ for model in (found, expected)]
    np.testing.assert_allclose(*squares, rtol=2e-2, atol=2e-5)


@pytest.mark.parametrize("most", [1300, 700])
def test_one_pass_for_each_block(tmp_path, rows, passes, most):
    X, Y = (part[:most] for part in rows)
    options = {"alpha": 5.0, "solver": "krylov"}
    found = MLSI(6, **options).fit(written(tmp_path, X, 500), Y)
    expected = MLSI(6, **options).fit(X, Y)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-2)
    # The labels, a start, a block of each step; then narrow ones, for the size of fitted labels,
    # for what may be missing and for the inspection.
    assert [name for name, _ in passes].count("_rmatmat") == 1
    assert found.n_iter_ <= [width for _, width in passes].count(36) + 3
    assert found.n_iter_ < len(passes) <= found.n_iter_ + 12


# --- labels in files too -------------------------------------------------------------------

ROWS, COLUMNS, LABELS = 900, 300, 30


@pytest.fixture(scope="module")
def data():
    X, strong, rng = drawn(ROWS, COLUMNS, 1.5, 0.2)
    Y = strong @ rng.standard_normal((12, LABELS)) + rng.standard_normal((ROWS, LABELS)) > 1.5
    return X, sparse.csr_array(Y.astype(float))


@pytest.fixture
def files(tmp_path, data, monkeypatch):
    for name in ("_matmat", "_rmatmat"):
        monkeypatch.setattr(RowBlocks, name, lambda *_: pytest.fail("a block as long as the rows"))
    return tuple(written(tmp_path / name, part) for name, part in zip("XY", data, strict=True))


def assert_same(found, whole, X):
    np.testing.assert_allclose(found.eigenvalues_, whole.eigenvalues_, rtol=1e-4)
    assert overlap(found, whole) > 1 - 1e-4
    few = X.toarray()[:50]
    np.testing.assert_allclose(found.label_scores(few), whole.label_scores(few), atol=5e-3)


@pytest.mark.parametrize(
    "model",
    [
        MLSI(6, alpha=5.0),
        MLSI(6, alpha=5.0, center=False),
        OPLS(6, alpha=5.0),
        CCA(6, alpha=5.0),
        CCA(6, alpha=5.0, center=False),
        HSL(6, alpha=5.0),
        HSL(6, alpha=5.0, laplacian="star"),
        HSL(6, alpha=5.0, laplacian="zhou"),
    ],
    ids=lambda model: f"{type(model).__name__}{'' if model.center else ' not centred'}",
)
def test_fits_are_those_in_memory(files, data, model):
    X, Y = data
    whole = model.set_params(solver="exact").fit(X.toarray(), Y.toarray())
    options = {**model.get_params(), "solver": "auto", "tol": 1e-6, "max_iter": 40}
    found = type(model)(**options).fit(*files)
    assert_same(found, whole, X)
    if isinstance(model, CCA):
        signs = np.sign((found.components_ * whole.components_).sum(axis=1))
        close = 1e-2 * np.abs(whole.label_weights_).max()
        np.testing.assert_allclose(found.label_weights_ * signs, whole.label_weights_, atol=close)


@pytest.mark.parametrize(("center", "dtype"), [(True, np.float32), (False, np.float64)])
def test_classes_in_files_are_those_in_memory(tmp_path, data, center, dtype):
    """Some rows have no class, one class has no rows, and one has one."""
    X, Y = data
    rng = np.random.default_rng(3)
    scores = Y.toarray()[:, :8] + 0.1 * rng.random((ROWS, 8))
    classes = np.zeros((ROWS, 10), dtype=dtype)
    classes[np.arange(ROWS), scores.argmax(axis=1)] = 1
    classes[::50] = 0
    classes[7] = np.eye(10)[9]
    files = written(tmp_path / "X", X.astype(dtype)), written(tmp_path / "Y", classes)
    tol = 1e-6 if dtype == np.float64 else 1e-5
    found = LDA(4, alpha=5.0, center=center, tol=tol, max_iter=40).fit(*files)
    assert_same(
        found, LDA(4, alpha=5.0, center=center, solver="exact").fit(X.toarray(), classes), X
    )


def test_the_error_is_that_of_models_of_the_other_rows(files, data, monkeypatch):
    """The Krylov space holds all of a small problem: its error is that of a plain regression."""
    for name, value in (("_FEW_HELD", 1), ("_CHANGE", 0.0), ("_FEW_LABELS", LABELS)):
        monkeypatch.setattr(alpha_module, name, value)
    curve = alpha_module.held_out(*files, intercept=True, seed=3)
    held = np.sort(np.random.default_rng(3).choice(ROWS, int(0.15 * ROWS), replace=False))
    X, Y = (part.toarray() for part in data)
    others = np.setdiff1d(np.arange(ROWS), held)
    means = X[others].mean(axis=0), Y[others].mean(axis=0)
    inside, targets = X[others] - means[0], Y[others] - means[1]
    square = inside.T @ inside + curve.alpha * np.eye(COLUMNS)
    slopes = linalg.solve(square, inside.T @ targets, assume_a="pos")
    gap = Y[held] - means[1] - (X[held] - means[0]) @ slopes
    assert curve.error == pytest.approx(np.square(gap).sum() / held.size, rel=1e-3)


def test_what_cannot_be_fitted(tmp_path, data, files):
    X, Y = data
    strange = Y.toarray()
    strange[600, 0] = -1.0
    # Sums and squares of this column are the same, as those of 0 and 1 are.
    negative = strange.copy()
    negative[:8, 0] = 0.5
    given = {"short": Y[:500], "none": 0 * Y, "strange": strange, "negative": negative}
    made = {name: written(tmp_path / name, part) for name, part in given.items()}
    made |= {"Y": files[1], "other": written(tmp_path / "other", Y, 500)}
    for model, name, error, message in (
        (LDA(2, alpha=1.0), "Y", InvalidLabels, "LDA takes one label per row, but y has rows with"),
        (HSL(2, alpha=1.0), "strange", InvalidLabels, "HSL takes classes or a 0/1 indicator"),
        (HSL(2, alpha=1.0), "negative", InvalidLabels, "HSL: y must not be negative"),
        (HSL(alpha=1.0, solver="exact"), "Y", InvalidLabels, "needs a fit that keeps labels"),
        (MLSI(4, beta=1.0, alpha=1.0), "Y", InvalidLabels, "needs a fit that keeps labels"),
        (MLSI(4), "short", InvalidLabels, "one row for each row"),
        (MLSI(4), "none", InvalidLabels, "no row of y has a label"),
        (MLSI(4), "other", Mismatch, "blocks of the same numbers"),
    ):
        with pytest.raises(error, match=message):
            model.fit(files[0], made[name])
    with pytest.raises(Mismatch, match="need X in files too"):
        MLSI(4).fit(X, files[1])
