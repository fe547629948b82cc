"""Labels in files next to the rows: the answers of labels in memory, and no block of n rows."""

import numpy as np
import pytest
from scipy import linalg, sparse

from labelspan import CCA, HSL, LDA, MLSI, OPLS
from labelspan.errors import InvalidLabels, Mismatch
from labelspan.operators import RowBlocks, RowFiles, RowWriter

ROWS, COLUMNS, LABELS = 900, 300, 30


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    strong = rng.standard_normal((ROWS, 12)) * 1.5 ** -np.arange(12.0)
    X = np.where(rng.random((ROWS, COLUMNS)) < 0.2, strong @ rng.standard_normal((12, COLUMNS)), 0)
    Y = strong @ rng.standard_normal((12, LABELS)) + rng.standard_normal((ROWS, LABELS)) > 1.5
    return sparse.csr_array(X), sparse.csr_array(Y.astype(float))


def written(folder, rows, size=250):
    with RowWriter(folder) as writer:
        for start in range(0, rows.shape[0], size):
            writer.append(rows[start : start + size])
    return RowFiles(folder)


@pytest.fixture
def files(tmp_path, data, monkeypatch):
    def refuse(*_):
        pytest.fail("a block as long as the rows")

    monkeypatch.setattr(RowBlocks, "_matmat", refuse)
    monkeypatch.setattr(RowBlocks, "_rmatmat", refuse)
    return tuple(written(tmp_path / name, rows) for name, rows in zip("XY", data, strict=True))


def overlap(one, other):
    bases = [linalg.orth(model.components_.T) for model in (one, other)]
    return linalg.svdvals(bases[0].T @ bases[1]).min()


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
    found = type(model)(
        **{**model.get_params(), "solver": "auto", "tol": 1e-6, "max_iter": 40}
    ).fit(*files)
    np.testing.assert_allclose(found.eigenvalues_, whole.eigenvalues_, rtol=1e-4)
    assert overlap(found, whole) > 1 - 1e-4
    if isinstance(model, CCA):
        signs = np.sign((found.components_ * whole.components_).sum(axis=1))
        close = 1e-2 * np.abs(whole.label_weights_).max()
        np.testing.assert_allclose(found.label_weights_ * signs, whole.label_weights_, atol=close)
    rows = X.toarray()[:50]
    np.testing.assert_allclose(found.label_scores(rows), whole.label_scores(rows), atol=5e-3)


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
    whole = LDA(4, alpha=5.0, center=center, solver="exact").fit(X.toarray(), classes)
    np.testing.assert_allclose(found.eigenvalues_, whole.eigenvalues_, rtol=1e-4)
    assert overlap(found, whole) > 1 - 1e-4
    rows = X.toarray()[:50]
    np.testing.assert_allclose(found.label_scores(rows), whole.label_scores(rows), atol=5e-3)


def test_labels_that_a_method_does_not_take(tmp_path, data, files):
    Y = data[1]
    with pytest.raises(InvalidLabels, match=r"LDA takes one label per row, but y has rows with"):
        LDA(2, alpha=1.0).fit(*files)
    strange = Y.toarray()
    strange[600, 0] = -1.0
    with pytest.raises(InvalidLabels, match="HSL takes classes or a 0/1 indicator"):
        HSL(2, alpha=1.0).fit(files[0], written(tmp_path / "strange", strange))
    # Sums and squares of this column are the same, as those of 0 and 1 are.
    strange[:8, 0] = 0.5
    with pytest.raises(InvalidLabels, match="HSL: y must not be negative"):
        HSL(2, alpha=1.0).fit(files[0], written(tmp_path / "negative", strange))


def test_the_error_is_that_of_models_of_the_other_rows(files, data, monkeypatch):
    """The Krylov space holds all of a small problem: its error is that of a plain regression."""
    import labelspan.solvers.alpha as module

    monkeypatch.setattr(module, "_FEW_HELD", 1)
    monkeypatch.setattr(module, "_CHANGE", 0.0)
    monkeypatch.setattr(module, "_FEW_LABELS", LABELS)
    curve = module.held_out(*files, intercept=True, seed=3)
    held = np.sort(np.random.default_rng(3).choice(ROWS, int(0.15 * ROWS), replace=False))
    X, Y = (rows.toarray() for rows in data)
    others = np.setdiff1d(np.arange(ROWS), held)
    means = X[others].mean(axis=0), Y[others].mean(axis=0)
    inside, targets = X[others] - means[0], Y[others] - means[1]
    slopes = linalg.solve(
        inside.T @ inside + curve.alpha * np.eye(COLUMNS), inside.T @ targets, assume_a="pos"
    )
    gap = Y[held] - means[1] - (X[held] - means[0]) @ slopes
    assert curve.error == pytest.approx(np.square(gap).sum() / held.size, rel=1e-3)


def test_what_cannot_be_fitted(tmp_path, data, files):
    X, Y = data
    with pytest.raises(InvalidLabels, match="needs a fit that keeps labels sparse"):
        HSL(alpha=1.0, solver="exact").fit(*files)
    with pytest.raises(InvalidLabels, match="needs a fit that keeps labels sparse"):
        MLSI(4, beta=1.0, alpha=1.0).fit(*files)
    with pytest.raises(Mismatch, match="need X in files too"):
        MLSI(4).fit(X, files[1])
    with pytest.raises(InvalidLabels, match="one row for each row"):
        MLSI(4).fit(files[0], written(tmp_path / "short", Y[:500]))
    with pytest.raises(Mismatch, match="blocks of the same numbers"):
        MLSI(4).fit(files[0], written(tmp_path / "other", Y, 500))
    with pytest.raises(InvalidLabels, match="no label"):
        MLSI(4).fit(files[0], written(tmp_path / "none", 0 * Y))
