"""Rows that stay on the host and visit a device in blocks: the answers of resident data."""

import numpy as np
import pytest
from _support.support import angle, features, indicator
from scipy import sparse

from labelspan import LSI, MLSI, OPLS, as_operator
from labelspan.errors import InvalidInput
from labelspan.operators import RowBlocks

torch = pytest.importorskip("torch", reason="torch is not installed")
tensor = pytest.importorskip("labelspan.operators.tensor")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
KINDS = {"dense": np.asarray, "sparse": sparse.csr_array}


def moved(X, kind, device="cpu", most=1_000):
    operator = tensor.to_device(as_operator(KINDS[kind](X)), device, most)
    assert isinstance(operator, RowBlocks)
    assert len(operator.store.shapes) > 2
    return operator


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("dense", LSI(3)),
        ("sparse", MLSI(3, alpha=1.0)),
        ("sparse", OPLS(alpha=1.0)),
        ("dense", MLSI(3)),
    ],
)
def test_fits_are_those_of_the_array(kind, model):
    X = features("tall", 0)
    Y = indicator(len(X), 0)
    given = KINDS[kind](X)
    here = model.fit(given, Y)
    components, values = here.components_, here.eigenvalues_
    there = model.fit(moved(X, kind), Y)
    np.testing.assert_allclose(there.eigenvalues_, values, rtol=1e-6)
    assert angle(there.components_.numpy().T, components.T) < 1e-4


def test_a_file_that_cannot_be_written_is_read(tmp_path):
    X = features("tall", 0)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_allclose(moved(mapped, "dense").toarray(), X)


@pytest.mark.parametrize("device", ["nonsense", "cuda:99", 7.5])
def test_a_missing_device(device):
    with pytest.raises(InvalidInput, match=r"cannot be used here .*; torch finds cpu"):
        as_operator(np.eye(3), device=device)
