"""Rows that are read in passes: the same answers, and no block as long as the rows."""

import numpy as np
import pytest
from scipy import linalg, sparse

from labelspan import LSI, MLSI
from labelspan.operators import RowBlocks, RowFiles, RowWriter

ROWS, COLUMNS, LABELS = 1300, 1050, 5


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    # A few strong directions, so that the leading ones are well apart.
    strong = rng.standard_normal((ROWS, 12)) * 2.0 ** -np.arange(12.0)
    X = sparse.csr_array(
        np.where(rng.random((ROWS, COLUMNS)) < 0.3, strong @ rng.standard_normal((12, COLUMNS)), 0)
    )
    Y = (strong[:, :LABELS] + 0.5 * rng.standard_normal((ROWS, LABELS)) > 0.3).astype(float)
    return X, Y


def written(folder, X):
    with RowWriter(folder) as writer:
        for start in range(0, X.shape[0], 500):
            writer.append(X[start : start + 500])
    return RowFiles(folder)


def overlap(one, other):
    """The smallest cosine between the spaces of two models."""
    bases = [linalg.orth(model.components_.T) for model in (one, other)]
    return linalg.svdvals(bases[0].T @ bases[1]).min()


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


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kind", ["sparse", "dense", "float32", "large means"])
def test_lsi_from_files(tmp_path, data, passes, center, kind, monkeypatch):  # noqa: PLR0917
    # Otherwise few rows in float32 are solved in float64.
    monkeypatch.setattr("labelspan.solvers.krylov._SMALL", 0)
    X = data[0]
    if kind != "sparse":
        X = X.toarray().astype(np.float32 if kind == "float32" else float)
    if kind == "large means":
        if not center:
            pytest.skip("the mean is then all that there is")
        X = X + 1e4 * np.random.default_rng(1).standard_normal(COLUMNS)
    tol = 1e-4 if kind == "float32" else 1e-8
    model = LSI(6, solver="krylov", center=center, tol=tol)
    found = LSI(6, solver="krylov", center=center, tol=tol).fit(written(tmp_path, X))
    model.fit(X)
    assert {name for name, _ in passes} == {"normal"}
    close = 1e-3 if kind == "float32" else 1e-6
    np.testing.assert_allclose(found.eigenvalues_, model.eigenvalues_, rtol=close)
    assert overlap(found, model) > 1 - close


@pytest.mark.parametrize("label_weight", [None, "balanced"])
def test_mlsi_from_files(tmp_path, data, passes, label_weight):
    X, Y = data
    options = {"alpha": 0.5, "label_weight": label_weight, "solver": "krylov", "tol": 1e-5}
    found = MLSI(6, **options).fit(written(tmp_path, X), Y)
    expected = MLSI(6, **(options | {"solver": "exact", "tol": None})).fit(X, Y)
    # Only the labels are as long as the rows.
    assert {width for name, width in passes if name == "_rmatmat"} <= {LABELS}
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-4)
    if overlap(found, expected) <= 1 - 1e-4:
        # Without weights, two eigenvalues are close, and in memory it is not closer.
        assert label_weight is None
        in_memory = MLSI(6, **options).fit(X, Y)
        assert overlap(found, expected) > overlap(in_memory, expected) - 1e-3
    np.testing.assert_allclose(
        found.label_loadings_.T @ found.label_loadings_,
        expected.label_loadings_.T @ expected.label_loadings_,
        rtol=2e-2,
        atol=2e-5,
    )


@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_one_pass_for_each_block(tmp_path, data, passes, shape):
    X, Y = (data[0], data[1]) if shape == "tall" else (data[0][:700], data[1][:700])
    options = {"alpha": 5.0, "solver": "krylov"}
    found = MLSI(6, **options).fit(written(tmp_path, X), Y)
    expected = MLSI(6, **options).fit(X, Y)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-2)
    # The labels, a start, a block of each step; then narrow ones, for the size of fitted labels,
    # for what may be missing and for the inspection.
    assert [name for name, _ in passes].count("_rmatmat") == 1
    assert found.n_iter_ <= [width for _, width in passes].count(36) + 3
    assert found.n_iter_ < len(passes) <= found.n_iter_ + 12
