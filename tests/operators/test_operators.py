"""Every operator equals its dense equivalent, whatever holds its numbers."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from labelspan.errors import InvalidInput
from labelspan.operators import Centered, Operator, Scaled, VStack, as_operator, dottest
from labelspan.operators import dense as dense_module
from labelspan.operators import operator as base_module
from labelspan.operators import sparse as sparse_module
from labelspan.operators import threads as threads_module

TOLERANCE = {np.dtype("float64"): 1e-12, np.dtype("float32"): 3e-5}
FORMATS = {"csr_matrix": "float64", "csc_array": "float32", "coo_array": "float64"}
INDEX = np.array([2, 0, 2, -1, 3])


class Loopback(Operator):
    """Implement the two products and nothing else."""

    def __init__(self, array):
        super().__init__(array.shape, array.dtype)
        self.array = array

    def _matmat(self, block):
        return self.array @ block

    def _rmatmat(self, block):
        return self.array.T @ block


class Data:
    """Arrays to be read only, exact in float32 too; S has an empty row and column."""

    def __init__(self, rows, columns, seed):
        rng = np.random.default_rng(seed)
        sizes = [(rows, columns), (rows, columns), columns, rows, columns]
        exact = [np.round(rng.uniform(-1, 3, size) * 1024) / 1024 for size in sizes]
        self.A, self.S, self.offset, self.left, self.right = exact
        self.S[rng.random(self.S.shape) < 0.6] = self.S[1] = self.S[:, 2] = 0.0
        self.csr = sparse.csr_array(self.S)
        self.held = (*exact, self.csr.data, self.csr.indices, self.csr.indptr)
        for array in self.held:
            array.flags.writeable = False


def cells(data):
    """Make operators of every kind, each with its dense equivalent."""
    A, S, off, left, right = data.A, data.S, data.offset, data.left[:, None], data.right
    dense, csr = as_operator(A), as_operator(data.csr)
    dense32 = as_operator(A.astype(np.float32))
    csr32 = as_operator(data.csr.astype(np.float32))
    wide = data.csr.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    A0, S0 = A - A.mean(axis=0), S - S.mean(axis=0)
    stack, both = VStack([dense, csr]), np.vstack([A, S])
    scaled = Scaled(dense.shifted(off), data.left, right)
    mixed = VStack([Centered(csr, off), scaled, as_operator(A.T).T])
    twice = np.r_[left, left]
    deep = Scaled(stack, rows=twice[:, 0]).centered()[0]
    return {
        "dense": (dense, A),
        "dense32": (dense32, A),
        "dense-fortran": (as_operator(np.asfortranarray(A)), A),
        "dense-strided": (as_operator(np.repeat(A, 2, axis=1)[:, ::2]), A),
        "dense-shifted": (dense.shifted(off), A - off),
        "dense-shifted-twice": (dense.shifted(off).shifted(right), A - off - right),
        "dense-centered": (dense.centered()[0], A0),
        "dense32-centered": (dense32.centered()[0], A0),
        "dense-shifted-rows": (dense.shifted(off).rows(INDEX), (A - off)[INDEX]),
        **{
            f"{name}-{dtype}": (as_operator(getattr(sparse, name)(S.astype(dtype))), S)
            for name, dtype in FORMATS.items()
        },
        "sparse-int64-indices": (as_operator(wide), S),
        "sparse-rows": (csr.rows(INDEX), S[INDEX]),
        "sparse-centered": (csr.centered()[0], S0),
        "sparse32-centered": (csr32.centered()[0], S0),
        "sparse-shifted-rows": (csr.shifted(off).rows(INDEX), (S - off)[INDEX]),
        "centered-centered": (Centered(Centered(csr, off), right), S - off - right),
        "centered-of-dense": (Centered(dense, off), A - off),
        "scaled-rows": (Scaled(csr, rows=data.left), left * S),
        "scaled-columns": (Scaled(dense, columns=right), A * right),
        "scaled-both": (Scaled(csr, data.left, right), left * S * right),
        "scaled-both32": (Scaled(csr32, data.left, right), left * S * right),
        "scaled-neither": (Scaled(dense), A),
        "stack": (stack, both),
        "stack32": (VStack([dense32, csr32]), both),
        "stack-of-types": (VStack([dense32, csr]), both),
        "subset": (Operator.rows(csr, INDEX), S[INDEX]),
        "subset-list": (Operator.rows(dense32, [0, 0, 1]), A[[0, 0, 1]]),
        "loopback": (Loopback(A), A),
        "loopback-centered": (Loopback(A).centered()[0], A0),
        "deep": (deep.rows(INDEX), (twice * both - (twice * both).mean(axis=0))[INDEX]),
        "mixed": (mixed, np.vstack([S - off, left * (A - off) * right, A])),
    }


CELLS = list(cells(Data(6, 5, 0)))


def tolerance(name, operator):
    # One part in float32 leaves no more digits than that to the whole.
    return TOLERANCE[np.dtype("float32") if name == "stack-of-types" else operator.dtype]


def assert_close(got, want, tol):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    assert np.abs(got - want).max(initial=0.0) <= tol * max(1.0, np.abs(want).max(initial=0.0))


def assert_equals_dense(operator, reference, tol):
    rows, columns = reference.shape
    assert operator.shape == (rows, columns)
    rng = np.random.default_rng(rows)
    right = np.asfortranarray(rng.standard_normal((columns, 3)))
    left = rng.standard_normal((rows, 6))[:, ::2]
    for product, want in (
        (operator.matmat(right), reference @ right),
        (operator.rmatmat(left), reference.T @ left),
        (operator.toarray(), reference),
    ):
        assert product.dtype == operator.dtype
        assert_close(product, want, tol)
    for moment, want in (
        (operator.gram(), reference.T @ reference),
        (operator.cogram(), reference @ reference.T),
        (operator.column_means(), reference.mean(axis=0)),
    ):
        assert moment.dtype == np.float64
        assert_close(moment, want, tol)
        assert_close(moment, moment.T, 1e-14)
    assert operator.cross(left).dtype == np.float64
    assert_close(operator.cross(left), reference.T @ left, tol)
    assert operator.sum_of_squares() == pytest.approx(np.square(reference).sum(), rel=tol)
    matrix, offset = operator.columns()
    matrix = matrix.toarray() if sparse.issparse(matrix) else matrix
    assert_close(matrix if offset is None else matrix - offset, reference, tol)
    assert dottest(operator) <= tol


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize(
    ("shape", "seed", "small_blocks"), [((13, 7), 0, False), ((7, 13), 1, True)]
)
def test_operator_equals_its_dense_equivalent(name, shape, seed, small_blocks, monkeypatch):
    if small_blocks:
        monkeypatch.setattr(base_module, "_COLUMNS", 3)
        monkeypatch.setattr(sparse_module, "_COGRAM_BLOCK", 3)
        monkeypatch.setattr(dense_module, "_CACHED", 5 * shape[1])
        monkeypatch.setattr(dense_module, "_FEW_ROWS", 2)
        monkeypatch.setattr(dense_module, "_GRAM_ROWS", 5)
    operator, reference = cells(Data(*shape, seed))[name]
    assert_equals_dense(operator, reference, tolerance(name, operator))
    assert_equals_dense(operator.T, reference.T, tolerance(name, operator))
    assert_array_equal(operator.T.T.toarray(), operator.toarray())
    # What comes out is the caller's own: writing to it reaches nothing that came in.
    operator.toarray()[:] = 7
    matrix = operator.columns()[0]
    (matrix.data if sparse.issparse(matrix) else matrix)[:] = 7
    assert_close(operator.toarray(), reference, tolerance(name, operator))


@pytest.mark.parametrize("name", CELLS)
def test_compositions_of_every_operator(name):
    operator, reference = cells(Data(11, 6, 2))[name]
    tol = 4 * tolerance(name, operator)
    shifted, means = operator.centered()
    assert_close(means, reference.mean(axis=0), tol)
    flat = reference - reference.mean(axis=0)
    index, scale = [2, 0, 2, -1], np.linspace(-1, 2, reference.shape[0])
    assert_equals_dense(shifted, flat, tol)
    assert_equals_dense(operator.rows(index), reference[index], tol)
    assert_equals_dense(Operator.rows(shifted, index), flat[index], tol)
    assert_equals_dense(Scaled(shifted.T, columns=scale), flat.T * scale, tol)
    assert_equals_dense(VStack([operator, shifted]), np.vstack([reference, flat]), tol)


def test_memory_mapped_arrays(tmp_path):
    data = Data(9, 6, 0)
    mapped = {}
    for name, array in zip("ASolrdip", data.held, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    assert_equals_dense(as_operator(mapped["A"]).centered()[0], data.A - data.A.mean(axis=0), 1e-12)
    matrix = sparse.csr_array((mapped["d"], mapped["i"], mapped["p"]), shape=(9, 6))
    assert_equals_dense(as_operator(matrix), data.S, 1e-12)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool", "float16", ">f8"])
def test_other_numbers_become_float64(dtype):
    values = np.array([[1, 0, 1], [0, 0, 1]]).astype(dtype)
    makers = [np.asarray, sparse.csc_matrix, sparse.coo_array]
    for make in makers[: 1 if dtype in ("float16", ">f8") else 3]:
        assert as_operator(make(values)).dtype == np.float64
        assert_equals_dense(as_operator(make(values)), values.astype(float), 1e-14)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", [(4, 5), (3, 1), (1, 1)])
def test_no_nonzeros(make, shape, monkeypatch):
    monkeypatch.setattr(sparse_module, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(sparse_module, "_ENTRIES_OF_A_COLUMN", 1)
    operator = as_operator(make(np.zeros(shape)))
    for each in (operator, operator.centered()[0], operator.T, VStack([operator])):
        assert_equals_dense(each, np.zeros(each.shape), 0.0)
    assert operator.matmat(np.zeros((shape[1], 0))).shape == (shape[0], 0)


@pytest.mark.parametrize("order", [[0, 0, 1], [2, 0, 1]], ids=["duplicates", "unsorted"])
def test_entries_that_are_not_canonical(order):
    numbers, indices, starts = np.array([1.0, 2.0, 3.0]), np.array(order), np.array([0, 2, 3])
    matrix = sparse.csr_matrix((numbers, indices, starts), shape=(2, 3))
    reference = np.zeros((2, 3))
    np.add.at(reference, ([0, 0, 1], order), numbers)
    assert_equals_dense(as_operator(matrix), reference, 1e-14)
    assert_array_equal(matrix.data, [1.0, 2.0, 3.0])
    assert_array_equal(matrix.indices, order)


@pytest.mark.parametrize(
    ("dtype", "far", "step", "tol"), [("float64", 1e8, 10, 1e-13), ("float32", 2e5, 5, 1e-5)]
)
def test_dense_columns_far_from_zero_keep_their_digits(dtype, far, step, tol):
    rng = np.random.default_rng(0)
    # Multiples of 2^-step, and a power of two of rows: sums, means and the reference are exact.
    near = rng.integers(-4096, 4096, (64, 5)) * 2.0**-step
    level = np.round(far * rng.uniform(0.7, 1, 5))
    operator, means = as_operator((level + near).astype(dtype)).centered()
    assert_array_equal(means, level + near.mean(axis=0))
    assert_equals_dense(operator, near - near.mean(axis=0), tol)


@pytest.mark.parametrize("row", [0, 4, 39])
def test_one_heavy_row_among_empty_ones_on_threads(row, monkeypatch):
    monkeypatch.setattr(sparse_module, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(sparse_module, "_ENTRIES_OF_A_COLUMN", 1)
    for module in (sparse_module, threads_module):
        monkeypatch.setattr(module, "n_threads", lambda: 2)
    reference = np.zeros((40, 30))
    reference[row] = np.arange(30) + 1.0
    operator = as_operator(sparse.csr_array(reference))
    assert_equals_dense(operator, reference, 1e-12)
    # Blocks of rows are views, and not written a second time.
    assert len(pickle.dumps(operator)) < 2 * len(pickle.dumps(operator.csr))


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
