"""Every operator equals its dense equivalent, whatever holds its numbers, hard ones too."""

import pickle

import numpy as np
import pytest
from _support.support import (
    Loopback,
    assert_close,
    assert_equals_dense,
    duplicated,
    features,
    operators,
)
from numpy.testing import assert_array_equal
from scipy import sparse

from labelspan.checks import check_operator
from labelspan.errors import InvalidInput
from labelspan.operators import (
    MemoryBlocks,
    Operator,
    Product,
    RowBlocks,
    RowFiles,
    RowWriter,
    Scaled,
    as_operator,
    machine,
)
from labelspan.operators import dense as dense_module
from labelspan.operators import operator as base_module
from labelspan.operators import sparse as sparse_module
from labelspan.operators.dense import Dense
from labelspan.operators.joined import Joined
from labelspan.operators.operator import Centered
from labelspan.papers.sun2009.graph_penalty import VStack
from labelspan.papers.wang2010.weighted_sum import WeightedSum
from labelspan.solvers.decomposition import OfRows

try:
    import torch

    DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
except ImportError:
    DEVICES = []
# The tests make sparse tensors themselves, and torch says once a process that they are new.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")


# --- numbers ------------------------------------------------------------------------------


def plain(rows, columns, rng):
    """Exact in float32 too; with an empty row and column."""
    X = np.round(rng.uniform(-1, 3, (rows, columns)) * 1024) / 1024
    X[rng.random(X.shape) < 0.4] = X[1] = X[:, 2] = 0.0
    return X


def hard(rows, columns, rng, level=1e8):
    """Large means, some with an entry that is zero; a constant and an empty column; equal rows."""
    X = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.5)
    X[:, :2] += level
    X[rng.integers(rows), 0] = 0.0
    X[:, 2], X[:, 3] = level / 3, 0.0
    X[:, 4] = 17 * level + rng.standard_normal(rows)
    X[4] = X[3]
    return X


DATA = {
    "plain, tall": lambda rng: plain(13, 7, rng),
    "plain, wide": lambda rng: plain(7, 13, rng),
    "hard, tall": lambda rng: hard(60, 7, rng),
    "hard, wide": lambda rng: hard(8, 20, rng),
    "float32, tall": lambda rng: plain(13, 7, rng).astype(np.float32),
    "float32, wide": lambda rng: plain(7, 13, rng).astype(np.float32),
    "float32, hard": lambda rng: hard(60, 7, rng, 3e3).astype(np.float32),
    "one row": lambda rng: rng.standard_normal((1, 9)),
    "zeros": lambda rng: np.zeros((4, 5)),
}


# --- stores -------------------------------------------------------------------------------


def written(X, folder):
    with RowWriter(folder) as writer:
        for start in range(0, X.shape[0], 20):
            writer.append(X[start : start + 20])
    return RowFiles(folder)


def mapped(X, folder):
    np.save(folder / "X.npy", X)
    return as_operator(np.load(folder / "X.npy", mmap_mode="r"))


def int64_indices(X, _):
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return as_operator(csr)


def unsorted(X, _):
    csr = sparse.csr_array(X)
    for start, stop in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        csr.indices[start:stop] = csr.indices[start:stop][::-1].copy()
        csr.data[start:stop] = csr.data[start:stop][::-1].copy()
    return as_operator(sparse.csr_matrix((csr.data, csr.indices, csr.indptr), shape=csr.shape))


def in_blocks(make):
    return lambda X, _: RowBlocks(MemoryBlocks(make(X[i : i + 5]) for i in range(0, len(X), 5)))


def moved(make, device):
    """Rows that are moved to a device in blocks, once for each product."""

    def on_device(X, _):
        tensor = pytest.importorskip("labelspan.operators.tensor", reason="torch is not installed")
        return tensor.to_device(as_operator(make(X)), device, most=1500)

    return on_device


def twice(X):
    return torch.sparse_csr_tensor(
        torch.arange(len(X) + 1) * 2 * X.shape[1],
        torch.arange(X.shape[1]).repeat(len(X)).repeat_interleave(2),
        torch.as_tensor(X).flatten().repeat_interleave(2) / 2,
        size=X.shape,
    )


STORES = {
    "dense": lambda X, _: as_operator(X),
    "fortran": lambda X, _: as_operator(np.asfortranarray(X)),
    "strided": lambda X, _: as_operator(np.repeat(X, 2, axis=1)[:, ::2]),
    "memory-mapped": mapped,
    "csr": lambda X, _: as_operator(sparse.csr_array(X)),
    "csc": lambda X, _: as_operator(sparse.csc_matrix(X)),
    "coo": lambda X, _: as_operator(sparse.coo_array(X)),
    "duplicates": lambda X, _: as_operator(duplicated(X)),
    "unsorted": unsorted,
    "int64 indices": int64_indices,
    "products only": lambda X, _: Loopback(X),
    "transposed": lambda X, _: as_operator(sparse.csr_array(X.T)).T,
    "blocks": in_blocks(np.asarray),
    "sparse blocks": in_blocks(sparse.csr_array),
    "files": written,
    "sparse files": lambda X, folder: written(sparse.csr_array(X), folder),
    "joined": lambda X, _: Joined([as_operator(sparse.csr_array(X[:, :4])), as_operator(X[:, 4:])]),
}
for one in DEVICES:
    STORES |= {
        f"tensor on {one}": lambda X, _, d=one: as_operator(torch.as_tensor(X, device=d)),
        f"CSR on {one}": lambda X, _, d=one: as_operator(
            torch.as_tensor(X, device=d).to_sparse_csr()
        ),
        f"COO on {one}": lambda X, _, d=one: as_operator(
            torch.as_tensor(X, device=d).to_sparse_coo()
        ),
        f"duplicates on {one}": lambda X, _, d=one: as_operator(twice(X).to(d)),
        f"moved to {one}": moved(np.asarray, one),
        f"sparse, moved to {one}": moved(sparse.csr_array, one),
    }
# Products of these are corrected afterwards, and lose what a large mean takes.
NO_DIGITS = {"products only", "transposed"}


@pytest.fixture
def small_blocks(monkeypatch):
    """Let a few rows and columns be many: blocks, threads, arranged columns, no small copies."""
    monkeypatch.setattr(base_module, "_COLUMNS", 3)
    for name, value in (("_CACHED", 35), ("_FEW_ROWS", 2), ("_GRAM_ROWS", 5)):
        monkeypatch.setattr(dense_module, name, value)
    for name in ("_COPIED", "_CONVERTED"):
        monkeypatch.setattr(dense_module, name, 0)
    for name, value in (("_GRAM_BLOCK", 3), ("_WORTH_ARRANGING", 0), ("_WORTH_A_THREAD", 1)):
        monkeypatch.setattr(sparse_module, name, value)
    monkeypatch.setattr(sparse_module, "_ENTRIES_OF_A_COLUMN", 1)
    for module in (sparse_module, machine):
        monkeypatch.setattr(module, "n_threads", lambda: 2)


@pytest.mark.parametrize(
    ("store", "data", "small"),
    [
        (store, data, (n + m // 3) % 2 == 0)
        for n, store in enumerate(STORES)
        for m, data in enumerate(DATA)
        if (n + m) % 3 == 0 or store in ("dense", "csr")
    ],
)
def test_operators_equal_dense_arrays(store, data, small, tmp_path, request):
    if small:
        request.getfixturevalue("small_blocks")
    rng = np.random.default_rng(len(store))
    X = DATA[data](rng)
    X.flags.writeable = store not in STORES or "tensor" in store or " on " in store
    before = X.copy()
    operator = STORES[store](X, tmp_path)
    tol = 3e-5 if X.dtype == np.float32 else 1e-12
    wide = X.astype(np.float64)
    assert_equals_dense(operator, wide, tol)
    if "plain" in data:
        check_operator(operator)
        assert_array_equal(operator.T.T.toarray(), operator.toarray())
    index = rng.integers(len(X), size=4)
    assert_equals_dense(operator.rows(index), wide[index], tol)
    if not (store in NO_DIGITS and "hard" in data):
        # Each column in its own size: one zero in a column of 1e8 makes the column itself large.
        centered, means = operator.centered()
        exact = 1e-12 if X.dtype == np.float64 else 1e-8
        np.testing.assert_allclose(means, wide.mean(axis=0), rtol=exact, atol=exact)
        near, constant = wide - wide.mean(axis=0), (wide == wide[0]).all(axis=0)
        near[:, constant] = 0.0
        assert (means == wide[0])[constant].all() or store.startswith(("tensor", "moved"))
        size = np.abs(near).max(axis=0)
        size[size == 0] = 1.0
        # The mean itself is rounded to the digits of float64.
        slack = 100 * np.finfo(X.dtype).eps + 2e-15 * (np.abs(means) / size).max()
        offset = rng.standard_normal(X.shape[1])
        assert_equals_dense(Scaled(centered, columns=1 / size), near / size, 100 * slack)
        some_pairs = [
            (centered, near),
            (centered.rows(index), near[index]),
            (centered.shifted(offset), near - offset),
        ]
        if X.dtype == np.float64:
            some_pairs += [
                (Operator.rows(operator, index).shifted(means), near[index]),
                (VStack([operator, as_operator(X)]).centered()[0], np.r_[near, near]),
            ]
        for some, expected in some_pairs:
            assert_close(some.toarray() / size, expected / size, slack)
            gram = (expected / size).T @ (expected / size)
            assert_close(some.gram() / np.outer(size, size), gram, len(expected) * slack)
    # What comes out is the caller's own: writing to it reaches nothing that came in.
    operator.toarray()[:] = 7
    assert_array_equal(X, before)


def compositions(rng):
    """Operators made of others, each with its dense equivalent."""
    A, S = plain(11, 6, rng), plain(11, 6, rng)
    left, right = rng.standard_normal(11), rng.standard_normal(6)
    dense, csr = as_operator(A), as_operator(sparse.csr_array(S))
    narrow = as_operator(A.astype(np.float32)), as_operator(sparse.csr_array(S, dtype=np.float32))
    both, index, others = np.vstack([A, S]), np.array([2, 0, 2, -1]), rng.standard_normal((4, 11))
    twice = np.r_[left, left][:, None]
    deep = Scaled(VStack([dense, csr]), rows=twice[:, 0]).centered()[0]
    yield dense.shifted(right).shifted(right), A - 2 * right
    yield Centered(Centered(csr, right), right), S - 2 * right
    yield Centered(dense, right), A - right
    yield dense.shifted(right).rows(index), (A - right)[index]
    yield csr.shifted(right).rows(index), (S - right)[index]
    yield Scaled(csr, rows=left), left[:, None] * S
    yield Scaled(dense, columns=right), A * right
    yield Scaled(narrow[1], left, right), left[:, None] * S * right
    yield Scaled(csr.centered()[0].T, columns=left), (S - S.mean(axis=0)).T * left
    yield Scaled(dense), A
    yield VStack([narrow[0], narrow[1]]), both
    yield VStack([narrow[0], csr]), both
    yield Operator.rows(csr, index), S[index]
    yield Loopback(A).centered()[0], A - A.mean(axis=0)
    yield Product(as_operator(others), csr), others @ S
    graphs = as_operator(A.T @ A), as_operator(sparse.csr_array(S.T @ S))
    yield WeightedSum(graphs, [1.0, 2.0]), A.T @ A + 2 * S.T @ S
    yield OfRows(csr, others.T, exact=True), S.T @ others.T
    yield OfRows(narrow[0], others.T.astype(np.float32)), A.T @ others.T
    yield deep.rows(index), (twice * both - (twice * both).mean(axis=0))[index]
    yield (
        VStack([Centered(csr, right), Scaled(dense, left, right), as_operator(A.T).T]),
        np.vstack([S - right, left[:, None] * A * right, A]),
    )
    for device in DEVICES:
        on_device = as_operator(torch.as_tensor(S, device=device).to_sparse_csr())
        yield VStack([dense, on_device]), both
        yield Product(as_operator(others), on_device), others @ S
        yield Scaled(on_device.T, columns=left), S.T * left


@pytest.mark.parametrize("small", [False, True], ids=["", "small blocks"])
def test_compositions(small, request):
    if small:
        request.getfixturevalue("small_blocks")
    for operator, reference in compositions(np.random.default_rng(0)):
        # One part in float32 leaves no more digits than that to the whole.
        tol = 1e-4 if operator.dtype == np.float32 or isinstance(operator, VStack) else 1e-11
        assert_equals_dense(operator, reference, tol)
        assert_equals_dense(operator.T, reference.T, tol)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool", "float16", ">f8"])
def test_other_numbers_become_float64(dtype):
    values = np.array([[1, 0, 1], [0, 0, 1]]).astype(dtype)
    makers = [np.asarray, sparse.csc_matrix, sparse.coo_array]
    for make in makers[: 1 if dtype in ("float16", ">f8") else 3]:
        assert as_operator(make(values)).dtype == np.float64
        assert_equals_dense(as_operator(make(values)), values.astype(float), 1e-14)


@pytest.mark.parametrize("make", [np.asarray, sparse.coo_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("X", [np.ones(3), np.eye(2) * 1j], ids=["1d", "complex"])
def test_data_that_is_not_a_matrix_of_numbers_is_refused(X, make):
    bad = [np.ones((1, 1, 1)), np.array([[1, "a"]], dtype=object), np.array([["a"]]), None]
    for other in bad:
        with pytest.raises(InvalidInput, match=r"X must be a two-dimensional .* of numbers"):
            as_operator(other)
    if make(X).ndim != X.ndim:
        pytest.skip("sparse vectors came with scipy 1.13")
    with pytest.raises(
        InvalidInput, match=r"X must be a two-dimensional .* of numbers, but .*type"
    ):
        as_operator(make(X))


def test_one_heavy_row_among_empty_ones_is_stored_once(small_blocks):
    reference = np.zeros((40, 30))
    reference[4] = np.arange(30) + 1.0
    operator = as_operator(sparse.csr_array(reference))
    assert_equals_dense(operator, reference, 1e-12)
    # Blocks of rows are views, and not written a second time.
    assert len(pickle.dumps(operator)) < 2 * len(pickle.dumps(operator.csr))


# --- dense rows in one pass ---------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 30])
def test_sums_of_float32_columns_that_are_far_from_zero(columns, small_blocks):
    """One column of 40 is summed again, or all of them; the others are off by little."""
    X = np.random.default_rng(0).standard_normal((5000, 40))
    X[:, :columns] += 1e6
    X = X.astype(np.float32)
    exact = X.mean(axis=0, dtype=np.float64)
    means = Dense(X).column_means()
    np.testing.assert_allclose(means[:columns], exact[:columns], rtol=1e-14)
    np.testing.assert_allclose(means[columns:], exact[columns:], atol=1e-7)


def test_a_rare_value_does_not_make_a_column_constant(small_blocks):
    X = np.random.default_rng(0).standard_normal((5000, 40)).astype(np.float32)
    X[:, 3] = -1.0
    X[777, 3] = 1.0
    operator, means = Dense(X).centered()
    wide = X.astype(np.float64) - means
    exact, rough = wide.T @ wide, operator.rough_gram()
    np.testing.assert_allclose(rough, exact, atol=3e-6 * np.trace(exact))
    assert not np.array_equal(rough, operator.gram())
    assert means[3] == pytest.approx(-1.0 + 2 / 5000, abs=1e-9)


# --- check_operator -----------------------------------------------------------------------

X = features("tall", 0)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"_rmatmat": lambda self, block: 0.99 * (X.T @ block)}, "the dot-test fails"),
        ({"gram": lambda self: X.T @ X + 1e-3}, "gram differs from the dense"),
        ({"gram": lambda self: (X.T @ X)[0]}, r"gram has shape \(12,\)"),
        ({"cogram": lambda self: 2 * X @ X.T}, "cogram"),
        ({"to_block": lambda self: X + 1e-3}, "rmatmat differs"),
        ({"column_means": lambda self: X[1:].mean(axis=0)}, "column_means"),
        ({"sum_of_squares": lambda self: 1.01 * float((X**2).sum())}, "sum_of_squares"),
        ({"cross": lambda self, block: -X.T @ block}, "cross"),
        ({"shifted": lambda self, offset: as_operator(X + offset)}, "shifted"),
        ({"rows": lambda self, index: as_operator(X[index[::-1] - 1])}, "rows"),
        ({"matmat": lambda self, block: X @ block[:12]}, "took a block of the wrong shape"),
        ({"rmatmat": lambda self, block: X.T @ block[:60]}, "took a block of the wrong shape"),
    ],
)
def test_what_is_wrong_with_an_operator_is_seen(methods, message):
    for sound in operators(X)[0].values():
        check_operator(sound)
    with pytest.raises(AssertionError, match=message):
        check_operator(type("Broken", (Loopback,), methods)(X))
