"""Rows that stay on the host and visit a device in blocks: the answers of resident data."""

import numpy as np
import pytest
from _support.support import angle, features, indicator
from scipy import sparse

from labelspan import LSI, MLSI, OPLS, as_operator
from labelspan.errors import InvalidInput
from labelspan.operators import RowBlocks, dottest

torch = pytest.importorskip("torch", reason="torch is not installed")
tensor = pytest.importorskip("labelspan.operators.tensor")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
KINDS = {"dense": np.asarray, "sparse": sparse.csr_array}


def moved(X, kind, device="cpu", most=1_000):
    operator = tensor.to_device(as_operator(KINDS[kind](X)), device, most)
    assert isinstance(operator, RowBlocks)
    assert len(operator.store.shapes) > 2
    return operator


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_products_are_those_of_the_array(kind, device):
    X = features("tall", 0)
    plain = moved(X, kind, device)
    centered, means = plain.centered()
    np.testing.assert_allclose(means, X.mean(axis=0), atol=1e-12)
    for operator, reference in ((plain, X), (centered, X - X.mean(axis=0))):
        block = np.random.default_rng(1).standard_normal((X.shape[1], 3))
        product = operator.normal(block)
        assert isinstance(product, torch.Tensor)
        np.testing.assert_allclose(product.cpu(), reference.T @ (reference @ block), atol=1e-9)
        np.testing.assert_allclose(operator.toarray(), reference, atol=1e-10)
        np.testing.assert_allclose(operator.gram(), reference.T @ reference, atol=1e-9)
        assert operator.sum_of_squares() == pytest.approx((reference**2).sum())
        np.testing.assert_allclose(operator.column_squares(), (reference**2).sum(axis=0), atol=1e-9)
        dottest(operator)


@pytest.mark.parametrize("kind", KINDS)
def test_large_means_lose_no_digits(kind):
    X = features("tall", 0)
    X[:, 0] += 1e8
    centered, _ = moved(X, kind).centered()
    np.testing.assert_allclose(centered.gram()[0, 0], np.var(X[:, 0]) * len(X), rtol=1e-6)
    block = np.eye(X.shape[1])[:, :1]
    expected = X[:, 0] - X[:, 0].mean()
    np.testing.assert_allclose(centered.matmat(block).cpu().numpy()[:, 0], expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [LSI(3), MLSI(3, alpha=1.0), OPLS(alpha=1.0), MLSI(3)])
def test_fits_are_those_of_the_array(kind, model):
    X = features("tall", 0)
    Y = indicator(len(X), 0)
    given = KINDS[kind](X)
    here = model.fit(given, Y)
    components, values = here.components_, here.eigenvalues_
    there = model.fit(moved(X, kind), Y)
    np.testing.assert_allclose(there.eigenvalues_, values, rtol=1e-6)
    assert angle(there.components_.numpy().T, components.T) < 1e-4


def test_rows_that_are_selected():
    X = features("tall", 0)
    index = np.array([3, 1, 7, 7])
    np.testing.assert_allclose(moved(X, "sparse").rows(index).toarray(), X[index], atol=1e-12)


def test_a_file_that_cannot_be_written_is_read(tmp_path):
    X = features("tall", 0)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_allclose(moved(mapped, "dense").toarray(), X)


@pytest.mark.parametrize("device", ["nonsense", "cuda:99", 7.5])
def test_a_missing_device(device):
    with pytest.raises(InvalidInput, match=r"cannot be used here .*; torch finds cpu"):
        as_operator(np.eye(3), device=device)
