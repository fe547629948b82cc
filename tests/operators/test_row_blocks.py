"""Rows in blocks, in memory, in files, moved to a device: the products of dense rows."""

import numpy as np
import pytest
from scipy import sparse

from labelspan.errors import InvalidInput, Mismatch
from labelspan.operators import MemoryBlocks, RowBlocks, RowFiles, RowWriter, as_operator, dottest
from labelspan.operators.array_backend import on_host

RNG = np.random.default_rng(0)


def hard_rows():
    """Large means, a constant column, an empty column, empty and repeated rows."""
    rows = RNG.standard_normal((70, 9)) * (RNG.random((70, 9)) < 0.5)
    rows[:, 1] = 1e7 + RNG.standard_normal(70)
    rows[:, 2] = 1e7 / 3
    rows[:, 5] = 0.0
    rows[20] = rows[3]
    rows[30:33, 6:] = 0.0
    return rows


DATA = {
    "plain": RNG.standard_normal((70, 9)) * (RNG.random((70, 9)) < 0.5),
    "hard": hard_rows(),
    "one row": RNG.standard_normal((1, 9)),
}
try:
    import torch

    DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
except ImportError:
    DEVICES = []
KINDS = {"dense": np.asarray, "sparse": sparse.csr_array}


def stored(store, rows, folder, size=25):
    parts = [rows[start : start + size] for start in range(0, rows.shape[0], size)]
    if store == "memory":
        return RowBlocks(MemoryBlocks(parts))
    if store in DEVICES:
        tensor = pytest.importorskip("labelspan.operators.tensor", reason="torch is not installed")
        return tensor.to_device(as_operator(rows), store, most=1000)
    with RowWriter(folder) as writer:
        for part in parts:
            writer.append(part)
    return RowFiles(folder)


@pytest.mark.parametrize(
    ("store", "kind", "data", "dtype"),
    [
        ("memory", "dense", "plain", "float64"),
        ("memory", "sparse", "hard", "float64"),
        ("memory", "dense", "one row", "float32"),
        ("files", "sparse", "plain", "float32"),
        ("files", "dense", "hard", "float64"),
        ("files", "sparse", "one row", "float64"),
        *((device, "sparse", "plain", "float32") for device in DEVICES),
        *((device, "dense", "hard", "float64") for device in DEVICES),
    ],
)
def test_operators_equal_dense_arrays(tmp_path, store, kind, data, dtype, monkeypatch):  # noqa: PLR0917
    monkeypatch.setattr("labelspan.operators.sparse._WORTH_ARRANGING", 0)
    X = DATA[data].astype(dtype)
    operator = stored(store, KINDS[kind](X), tmp_path)
    assert len(X) == 1 or len(operator.store.shapes) > 2
    wide = X.astype(float)
    centered, means = operator.centered()
    np.testing.assert_allclose(means, wide.mean(axis=0), rtol=1e-14, atol=1e-7)
    index = np.array([0]) if len(X) == 1 else np.array([69, 3, 3, 27, 0])
    pairs = [
        (operator, wide),
        (centered, wide - means),
        (operator.rows(index), wide[index]),
        (centered.rows(index), (wide - means)[index]),
        (operator.shifted(np.ones(9)), wide - 1.0),
    ]
    close = 1e-4 if dtype == "float32" else 1e-9
    for mine, dense in pairs:
        assert dottest(mine) < close
        size = max(1.0, np.abs(dense).max())
        block = RNG.standard_normal((9, 3))
        tall = RNG.standard_normal((dense.shape[0], 2))
        products = [
            (mine.toarray(), dense, size),
            (mine.matmat(block), dense @ block, 10 * size),
            (mine.rmatmat(tall), dense.T @ tall, 70 * size),
            (mine.cross(tall), dense.T @ tall, 70 * size),
            (mine.normal(block), dense.T @ (dense @ block), 700 * size**2),
            (mine.gram(), dense.T @ dense, 70 * size**2),
            (mine.moments(tall)[1], dense.T @ tall, 70 * size),
            (mine.column_means(), dense.mean(axis=0), size),
            (mine.column_squares(), np.square(dense).sum(axis=0), 70 * size**2),
        ]
        for found, expected, scale in products:
            np.testing.assert_allclose(on_host(found), expected, atol=close * scale)
    np.testing.assert_array_equal(centered.rows(index).take(np.arange(0, len(X), 30)).shape[1], 9)


@pytest.mark.parametrize("store", ["files", *DEVICES])
@pytest.mark.parametrize("kind", KINDS)
def test_large_means_keep_their_digits(tmp_path, kind, store):
    X = hard_rows()
    centered, means = stored(store, KINDS[kind](X), tmp_path).centered()
    near = X - means
    near[:, 2] = 0.0
    assert means[2] == X[0, 2]
    np.testing.assert_allclose(centered.gram(), near.T @ near, atol=1e-6)
    np.testing.assert_allclose(centered.column_squares(), np.square(near).sum(axis=0), rtol=1e-7)
    assert centered.column_squares()[2] == 0
    block = RNG.standard_normal((9, 2))
    np.testing.assert_allclose(on_host(centered.matmat(block)), near @ block, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_in_the_same_blocks(tmp_path, kind):
    X, Y = hard_rows(), (RNG.random((70, 4)) < 0.3).astype(float)
    rows = stored("files", KINDS[kind](X), tmp_path / "X").centered()[0]
    labels = stored("memory", KINDS[kind](Y), None).centered()[0]
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    block, small = RNG.standard_normal((9, 3)), RNG.standard_normal((4, 2))
    for beside in (labels, as_operator(Y)):
        normal, seen = rows.joint_products(block, beside)
        np.testing.assert_allclose(normal, X.T @ (X @ block), atol=1e-5)
        np.testing.assert_allclose(seen, Y.T @ (X @ block), atol=1e-5)
        found = rows.label_products(small, beside)
        np.testing.assert_allclose(found, X.T @ (Y @ small), atol=1e-5)
    with pytest.raises(Mismatch, match="blocks of the same numbers of rows; X has 25, 25, 20 and"):
        rows.joint_products(block, stored("memory", Y, None, 30))
    with pytest.raises(Mismatch, match="pass the labels as an array"):
        rows.rows(np.arange(4)).joint_products(block, labels)


def test_blocks_that_do_not_fit_raise_an_error():
    store = MemoryBlocks([DATA["plain"]])
    for other in (DATA["plain"][:, :5], sparse.csr_array(DATA["plain"])):
        with pytest.raises(Mismatch, match="the blocks before it have 9"):
            store.append(other)
    with pytest.raises(InvalidInput, match="NaN or infinity"):
        store.append(np.full((2, 9), np.inf))
    with pytest.raises(InvalidInput, match="No block has any rows"):
        RowBlocks(MemoryBlocks())
    with pytest.raises(Mismatch, match=r"shape \(70, 9\) became one of \(3, 9\)"):
        RowBlocks(store).changed(lambda rows: rows[:3]).gram()
