"""Tensors: models that are on their device, rows in parts, and the sums that Triton compiles."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from _support.support import angle, features, indicator
from scipy import sparse
from sklearn.base import clone

from labelspan import HSL, LDA, LSI, MLSI, as_operator
from labelspan.errors import InvalidInput, InvalidLabels

torch = pytest.importorskip("torch", reason="torch is not installed")
tensor = pytest.importorskip("labelspan.operators.tensor")

# The tests make sparse tensors themselves, and torch says once a process that they are new.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def kinds(X, device="cpu"):
    dense = torch.as_tensor(X, device=device)
    return {"dense": dense, "csr": dense.to_sparse_csr(), "coo": dense.to_sparse_coo()}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("model", "kind"),
    [(MLSI(4), "csr"), (LSI(3, center=True), "dense"), (HSL(laplacian="star"), "coo")],
    ids=str,
)
def test_what_a_model_of_tensors_gives_are_tensors(model, kind, device):
    X = features("tall", 3)
    Y = indicator(len(X), 3)
    plain = clone(model).fit(X, Y)
    given = kinds(X.copy(), device)[kind]
    labels = torch.as_tensor(Y.copy(), device=device)
    found = clone(model).fit(given, labels)
    np.testing.assert_array_equal(given.to_dense().cpu(), X)
    np.testing.assert_array_equal(labels.cpu(), Y)
    np.testing.assert_allclose(found.eigenvalues_, plain.eigenvalues_, rtol=1e-6, atol=1e-9)
    Z = found.transform(given)
    assert isinstance(Z, torch.Tensor)
    assert Z.device.type == found.components_.device.type == device
    assert angle(Z.cpu().numpy(), plain.transform(X)) < 1e-4
    # From the host to a model on a device, and the other way.
    np.testing.assert_allclose(found.transform(X), Z.cpu(), atol=1e-8)
    assert isinstance(plain.transform(given), torch.Tensor)
    assert len(found.top_features(0, 2).high) <= 2
    if not isinstance(model, LSI):
        scores = found.label_scores(given)
        assert isinstance(scores, torch.Tensor)
        np.testing.assert_allclose(scores.cpu(), plain.label_scores(X), atol=1e-3)
        ends = found.top_labels(0)  # all labels may lie at one end
        assert {entry.name for entry in ends.high + ends.low} == set(range(Y.shape[1]))
    if isinstance(model, (LSI, MLSI)):
        back = found.inverse_transform(Z)
        assert isinstance(back, torch.Tensor)
        np.testing.assert_allclose(back.cpu(), found.inverse_transform(Z.cpu().numpy()), atol=1e-8)


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
def test_classes_unknown_rows_and_float32():
    X, y = features("tall", 6), np.arange(60) % 3
    y[40:] = -1
    plain = LDA(alpha=0.1).fit(X, y)
    found = LDA(alpha=0.1).fit(torch.as_tensor(X), torch.as_tensor(y))
    np.testing.assert_allclose(found.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
    Y = indicator(60, 6)
    Y[50:] = -1
    plain = MLSI(3).fit(X, Y)
    found = MLSI(3).fit(torch.as_tensor(X), torch.as_tensor(Y))
    np.testing.assert_allclose(found.eigenvalues_, plain.eigenvalues_, rtol=1e-6)
    narrow = MLSI(3, solver="krylov").fit(
        torch.as_tensor(X, dtype=torch.float32).to_sparse_csr(), torch.as_tensor(indicator(60, 6))
    )
    assert narrow.components_.dtype == torch.float32
    assert narrow.transform(torch.as_tensor(X, dtype=torch.float32)).dtype == torch.float32


def test_refusals():
    X, Y = torch.as_tensor(features("tall", 8)), indicator(60, 8)
    model = MLSI(2).fit(X, Y)
    for device in ("nonsense", "cuda:99", 7.5):
        with pytest.raises(InvalidInput, match=r"cannot be used here .*; torch finds cpu"):
            as_operator(np.eye(3), device=device)
    with pytest.raises(InvalidInput, match="X has 5 features, but fit had 12"):
        model.transform(X[:, :5])
    with pytest.raises(InvalidInput, match="NaN or infinity"):
        MLSI(2).fit(torch.full((5, 3), float("nan")), Y[:5])
    with pytest.raises(InvalidLabels, match="X has 60 rows, y has 59 rows"):
        MLSI(2).fit(X, torch.as_tensor(Y[:59]))
    with pytest.raises(InvalidInput, match="two-dimensional"):
        MLSI(2).fit(X[:, 0], Y)
    with pytest.raises(InvalidInput, match=r"1 row\(s\); at least 2"):
        MLSI(2).fit(X[:1], Y[:1])


# --- products of sparse rows on a device --------------------------------------------------


def rows(shape, seed, dtype=np.float64, density=0.3):
    """Sparse rows: some empty, one full."""
    X = sparse.random(*shape, density, "csr", dtype=dtype, rng=np.random.default_rng(seed))
    X = X.tolil()
    X[1], X[2] = 0.0, 1.0
    return sparse.csr_array(X)


def as_tensor(X):
    return tensor.csr_tensor(
        *(torch.as_tensor(part) for part in (X.indptr, X.indices, X.data)), shape=X.shape
    )


class InTorch:
    """What the kernel does, one part after the other."""

    @staticmethod
    def part_sums(parts, columns, values, block):
        out = torch.full((parts[0].numel(), block.shape[1]), torch.nan, dtype=block.dtype)
        for first, last, place in zip(*(part.tolist() for part in parts), strict=True):
            out[place] = values[first:last] @ block[columns[first:last].long()]
        return out


@pytest.mark.parametrize(
    ("cached", "longest", "seed"), [(4, 3, 0), (4, 1024, 1), (7, 3, 2), (1000, 3, 1)]
)
def test_sums_of_parts_are_products(cached, longest, seed, monkeypatch):
    monkeypatch.setattr(tensor, "_CACHED_ROWS", cached)
    monkeypatch.setattr(tensor, "_MOST_IN_PART", longest)
    monkeypatch.setattr(tensor, "_FEWEST_IN_PART", 0)
    X = rows((9, 30), seed)
    block = np.random.default_rng(seed).standard_normal((30, 4))
    product = tensor._Product(as_tensor(X), InTorch)
    np.testing.assert_allclose(product(torch.as_tensor(block)), X @ block, atol=1e-12)


def test_rows_whose_columns_are_not_in_order_are_not_cut_by_columns(monkeypatch):
    monkeypatch.setattr(tensor, "_CACHED_ROWS", 10)
    monkeypatch.setattr(tensor, "_FEWEST_IN_PART", 0)
    starts, columns = torch.tensor([0, 3]), torch.tensor([25, 5, 15])
    csr = tensor.csr_tensor(starts, columns, torch.tensor([1.0, 2.0, 3.0]), shape=(1, 30))
    block = torch.arange(30.0)[:, None]
    assert tensor._Product(csr, InTorch)(block).item() == 25 + 10 + 45


_KERNEL = """
import numpy as np, torch
from labelspan.operators import tensor, triton_backend
import test_tensor as here
tensor._CACHED_ROWS, tensor._FEWEST_IN_PART, tensor._MOST_IN_PART = 16, 0, 20
for dtype in (np.float32, np.float64):
    for width in (1, 8, 13, 40, 130):
        X = here.rows((7, 40), width, dtype)
        block = np.random.default_rng(width).standard_normal((40, width)).astype(dtype)
        found = tensor._Product(here.as_tensor(X), triton_backend)(torch.as_tensor(block))
        assert found.dtype == torch.as_tensor(block).dtype
        np.testing.assert_allclose(found, X @ block, atol=1e-4 if dtype == np.float32 else 1e-12)
"""


def test_the_kernel_sums_parts():
    # Its interpreter of before does not know loops whose ends are numbers of the kernel.
    pytest.importorskip("triton", minversion="3.9", reason="Triton 3.9 is not installed")
    run = subprocess.run(
        [sys.executable, "-c", _KERNEL],
        env={
            "TRITON_INTERPRET": "1",
            "PYTHONPATH": ":".join([str(Path(__file__).parent), *sys.path]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 20, 52, 112, 200])
def test_products_on_a_device(dtype, width):
    pytest.importorskip("triton", reason="Triton is not installed")
    X = sparse.random(300_000, 500, 0.02, "csr", dtype=dtype, rng=np.random.default_rng(width))
    operator = tensor.SparseTensor(as_tensor(X).cuda())
    assert operator._backward._counts is not None
    rng = np.random.default_rng(0)
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    for product, matrix in ((operator.matmat, X), (operator.rmatmat, X.T)):
        block = rng.standard_normal((matrix.shape[1], width)).astype(dtype)
        expected = matrix @ block
        found = product(torch.as_tensor(block).cuda()).cpu().numpy()
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found / scale, expected / scale, atol=tolerance)
        again = product(torch.as_tensor(block).cuda()).cpu().numpy()
        np.testing.assert_array_equal(found, again)


@pytest.mark.parametrize("device", DEVICES)
def test_frequent_columns_of_a_tensor_are_not_long_units(device):
    X = features("tall", 6)
    X *= np.random.default_rng(0).random(X.shape) < np.geomspace(1, 0.05, X.shape[1])
    found, expected = as_operator(kinds(X, device)["csr"]), as_operator(sparse.csr_array(X))
    np.testing.assert_array_equal(found.column_counts(), expected.column_counts())
    for _ in range(2):
        np.testing.assert_allclose(found.column_squares(), expected.column_squares(), rtol=1e-12)
        np.testing.assert_allclose(found.column_means(), expected.column_means(), atol=1e-14)
