"""A fit does not depend on how rows and labels are stored: the answers are those of dense arrays.

Stores and estimators meet pairwise, on tall and wide data and on columns with large means.
"""

import numpy as np
import pytest
from _support.support import angle, duplicated
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from labelspan import (
    CCA,
    DLE,
    HSL,
    LDA,
    LPP,
    LSI,
    MLSI,
    OPLS,
    KernelFeatures,
)
from labelspan.errors import InvalidLabels, NotEnoughMemory
from labelspan.labels import reading
from labelspan.operators import RowBlocks, RowFiles, RowWriter, as_operator, machine
from labelspan.papers.sun2009 import LeastSquares
from labelspan.solvers import Krylov, KrylovOptions, Problem
from labelspan.solvers.held_out import HeldOutOptions, held_out

pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")


def drawn(rows=300, columns=60, labels=20, seed=0):
    """Sparse rows and labels with common causes, so that the leading directions are apart."""
    rng = np.random.default_rng(seed)
    causes = rng.standard_normal((rows, 12)) * 1.5 ** -np.arange(12.0)
    X = np.where(rng.random((rows, columns)) < 0.4, causes @ rng.standard_normal((12, columns)), 0)
    noise = rng.standard_normal((rows, labels))
    Y = (causes @ rng.standard_normal((12, labels)) + noise > 1.5).astype(float)
    # Multiples of 1/1024: a mean of 2^30 is added without rounding.
    return np.round(X * 1024) / 1024, Y


def means(X):
    return X + 2.0**30 * (np.arange(X.shape[1]) % 3 == 0)


DATA = {
    "tall": drawn(),
    "wide": drawn(120, 250),
    "large means": (means(drawn()[0]), drawn()[1]),
}


# --- ways to store rows and labels --------------------------------------------------------


def written(folder, rows, size=125):
    with RowWriter(folder) as writer:
        for start in range(0, rows.shape[0], size):
            writer.append(rows[start : start + size])
    return RowFiles(folder)


def tensor(values):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return torch.as_tensor(values)


STORES = {
    "csr": lambda X, Y, _: (sparse.csr_array(X), Y),
    "duplicates": lambda X, Y, _: (duplicated(X), Y),
    "duplicates, csc": lambda X, Y, _: (duplicated(X, sparse.csc_matrix), Y),
    "tensor": lambda X, Y, _: (tensor(X), tensor(Y)),
    "CSR tensor": lambda X, Y, _: (tensor(X).to_sparse_csr(), Y),
    "sparse labels": lambda X, Y, _: (X, sparse.csr_array(Y)),
    "files": lambda X, Y, folder: (written(folder / "X", X), Y),
    "sparse files": lambda X, Y, folder: (written(folder / "X", sparse.csr_array(X)), Y),
    "files, sparse labels": lambda X, Y, folder: (
        written(folder / "X", sparse.csr_array(X)),
        sparse.csr_array(Y),
    ),
}
FINE = {"alpha": 5.0, "tol": 1e-7, "max_iter": 60}
LINEAR = [
    MLSI(6, **FINE),
    MLSI(6, **FINE, beta=0.8, center=False),
    MLSI(6, **FINE, label_weight=None),
    OPLS(6, **FINE),
    CCA(6, **FINE),
    CCA(6, **FINE, center=False),
    LDA(4, **FINE),
    HSL(6, **FINE),
    HSL(6, **FINE, laplacian="star"),
    HSL(6, **FINE, laplacian="zhou"),
]
KEPT = [
    LSI(6, center=True),
    LSI(6, solver="krylov", tol=1e-9, center=True),
    MLSI(6, alpha=1.0, solver="krylov", tol=1e-9, max_iter=100),
    MLSI(6),
    CCA(4),
    OPLS(6, alpha=0.1, solver="exact"),
    LDA(alpha=0.1),
    CCA(3, alpha=0.5, solver=LeastSquares(tol=1e-9)),
]
COMPARED = [
    DLE(alpha=0.1),
    LPP(2, alpha=0.1),
    LPP(2, affinity="rbf", alpha=0.1),
    make_pipeline(KernelFeatures("rbf", gamma=0.1), MLSI(2)),
    make_pipeline(KernelFeatures("cosine"), MLSI(2)),
    make_pipeline(KernelFeatures(gamma=0.1, landmarks=20), OPLS(alpha=0.1)),
]
# Rows that are compared with each other need arrays; many labels an iteration.
TAKEN = {
    **{store: [*COMPARED, *KEPT, *LINEAR] for store in ("csr", "duplicates", "duplicates, csc")},
    **{store: [*KEPT, *LINEAR] for store in ("tensor", "CSR tensor", "files", "sparse files")},
    "sparse labels": LINEAR,
    "files, sparse labels": LINEAR,
}
CELLS = [
    (store, model, list(DATA)[(n + m + m // 3) % 3])
    for n, (store, models) in enumerate(TAKEN.items())
    for m, model in enumerate(models)
    if (n + m) % 3 == 0 or "sparse labels" in store
]


def name_of(value):
    return "+".join(step for step, _ in value.steps) if hasattr(value, "steps") else str(value)


@pytest.mark.parametrize(("store", "model", "data"), CELLS, ids=name_of)
def test_a_fit_is_that_of_dense_arrays(store, model, data, tmp_path, monkeypatch):
    X, Y = DATA[data]
    if not getattr(model, "center", True) and data == "large means":
        X, Y = DATA["tall"]
    if isinstance(model, LDA):
        # Some rows have no class, one class has no rows, and one has one.
        Y = np.eye(Y.shape[1])[Y[:, :-2].argmax(axis=1)]
        Y[::50], Y[7] = 0, np.eye(Y.shape[1])[-2]
    whole = clone(model)
    if model in LINEAR:
        whole.set_params(solver="exact", tol=None, max_iter=None)
    whole.fit(X, Y)
    if "labels" in store:
        monkeypatch.setattr(reading, "DENSE_ENTRIES", 0)
    rows, labels = STORES[store](X, Y, tmp_path)
    before = [part.copy() for part in (rows.data, rows.indices)] if sparse.issparse(rows) else []
    found = clone(model).fit(rows, labels)
    one, two = ((each[-1] if hasattr(each, "steps") else each) for each in (found, whole))
    close = 1e-4 if model in LINEAR else 1e-6
    np.testing.assert_allclose(np.asarray(one.eigenvalues_), two.eigenvalues_, rtol=close)
    few = rows if sparse.issparse(rows) else X
    assert angle(np.asarray(found.transform(few)), whole.transform(X)) < 1e-3
    if hasattr(two, "label_scores") and not hasattr(found, "steps"):
        np.testing.assert_allclose(found.label_scores(few), whole.label_scores(X), atol=1e-2)
        np.testing.assert_allclose(one.label_means_, two.label_means_, atol=1e-12)
    if isinstance(model, CCA) and store != "tensor":
        assert angle(one.transform_labels(Y), two.transform_labels(Y)) < 1e-2
    for number, array in enumerate(before):
        np.testing.assert_array_equal((rows.data, rows.indices)[number], array)


# --- no block as long as the rows ---------------------------------------------------------


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_pass_for_each_block(dtype, tmp_path, passes):
    # Otherwise few rows in float32 are solved in float64, and few columns directly.
    thresholds = KrylovOptions(direct=0, in_float64=0)
    X, Y = drawn(700, 500, 5)
    X = sparse.csr_array(X.astype(dtype))
    stored = written(tmp_path, X, 300)
    options = {"solver": Krylov(1e-4, options=thresholds), "center": True}
    found, expected = LSI(6, **options).fit(stored), LSI(6, **options).fit(X)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-3)
    assert {name for name, _ in passes} == {"normal"}
    passes.clear()
    options = {"alpha": 5.0, "solver": Krylov(options=thresholds)}
    found, expected = MLSI(6, **options).fit(stored, Y), MLSI(6, **options).fit(X, Y)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-2)
    # The labels, the regression, and a block of each step.
    assert [width for name, width in passes if name == "_rmatmat"] == [Y.shape[1]]
    assert found.n_iter_ < len(passes) <= found.n_iter_ + 40


@pytest.mark.parametrize("model", [MLSI(8), OPLS(6), HSL(6)], ids=str)
def test_sparse_labels_are_never_dense(model, monkeypatch):
    """Neither rows x labels nor labels x labels, nor features x labels."""
    monkeypatch.setattr(reading, "DENSE_ENTRIES", 0)
    # More rows than those on which thresholds are chosen.
    X, labels = (sparse.csr_array(part) for part in drawn(2500, 30, 12))
    as_array = sparse.csr_array.toarray

    def refuse(self, *args, **kwargs):
        assert self.shape[0] < 2500, "labels were made dense"
        return as_array(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
    monkeypatch.setattr(sparse.csr_array, "todense", refuse)
    model = clone(model)
    if "alpha" in model.get_params():
        model.set_params(alpha=0.5)
    assert model.fit(X, labels).n_components_ == model.n_components


def test_the_space_of_many_labels_is_as_good_as_it_says():
    for seed in range(2):
        X, Y = drawn(500, 150, 100, seed)
        operators = as_operator(X).centered()[0], as_operator(Y).centered()[0]
        thin = Problem(operators[0], operators[1], 20, 0.1)
        exact = OPLS(20, alpha=0.1).fit(X, Y).eigenvalues_.sum()
        for tol in (1e-1, 1e-2, 1e-4):
            found = Krylov(tol=tol, max_iter=40).solve(thin)
            assert found.converged
            assert -1e-9 < 1 - found.eigenvalues.sum() / exact < tol
            W = found.weights
            image = operators[0].matmat(W)
            np.testing.assert_allclose(image.T @ image + 0.1 * W.T @ W, np.eye(20), atol=1e-6)


@pytest.mark.parametrize("store", ["memory", "files"])
def test_the_error_is_that_of_models_of_the_other_rows(store, tmp_path):
    """The Krylov space holds all of a small problem: its error is that of a plain regression."""
    X, Y = DATA["tall"]
    rows, columns = X.shape
    options = HeldOutOptions(fewest_rows=1, change=0.0, each_label=Y.shape[1])
    given = as_operator(X) if store == "memory" else written(tmp_path, X)
    curve = held_out(given, as_operator(Y), intercept=True, seed=3, options=options)
    held = np.sort(np.random.default_rng(3).permutation(rows)[: int(0.15 * rows)])
    others = np.setdiff1d(np.arange(rows), held)
    centre, shift = X[others].mean(axis=0), Y[others].mean(axis=0)
    inside = X[others] - centre
    square = inside.T @ inside + curve.alpha * np.eye(columns)
    slopes = np.linalg.solve(square, inside.T @ (Y[others] - shift))
    gap = Y[held] - shift - (X[held] - centre) @ slopes
    assert curve.error == pytest.approx(np.square(gap).sum() / held.size, rel=1e-8)


def test_labels_stay_in_memory(tmp_path):
    X, Y = DATA["tall"]
    for rows in (X, written(tmp_path / "X", X)):
        with pytest.raises(InvalidLabels, match="but RowFiles was given"):
            MLSI(4).fit(rows, written(tmp_path / f"Y{type(rows).__name__}", Y))


def test_a_fit_that_does_not_fit_says_so_first(monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 2**30)
    X = sparse.csr_array(sparse.eye_array(200_000, 50_000))
    Y = sparse.csr_array(sparse.eye_array(200_000, 30_000))
    message = "takes about .* GiB of memory, and 1.0 GiB are available; "
    for model, rows, start in (
        (DLE(), X, f"DLE: y with.*{message}give MLSI, OPLS or HSL"),
        (CCA(10, alpha=1.0), X, f"CCA: whitening 30000 labels {message}use OPLS"),
        (OPLS(400, alpha=1.0), X, f"OPLS: a space of 400 components.*{message}give X"),
        (MLSI(400, alpha=1.0), X.astype("f4"), f"MLSI: a space of 400.*{message}lower n_comp"),
        (OPLS(2, alpha=1.0, solver="krylov"), X, message),
    ):
        with pytest.raises(NotEnoughMemory, match=start):
            model.fit(rows, Y)
