"""Rows in blocks, in memory or in files: labels next to them, what does not fit, damaged files."""

import numpy as np
import pytest
from scipy import sparse

from labelspan.errors import InvalidFile, InvalidInput, Mismatch, MissingData
from labelspan.operators import MemoryBlocks, RowBlocks, RowFiles, RowWriter, as_operator

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((130, 12)) * (RNG.random((130, 12)) < 0.4)
KINDS = {"dense": np.asarray, "sparse": sparse.csr_array}


def parts(rows, size=40):
    return [rows[start : start + size] for start in range(0, rows.shape[0], size)]


def write(folder, rows):
    with RowWriter(folder) as writer:
        for part in parts(rows):
            writer.append(part)
    return RowFiles(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_in_the_same_blocks(tmp_path, kind):
    X, Y = ROWS + 1e7 * (np.arange(12) == 1), (RNG.random((130, 4)) < 0.3).astype(float)
    stored = write(tmp_path / "X", KINDS[kind](X))
    some = stored.take(np.array([129, 3, 3, 27]))
    np.testing.assert_array_equal(as_operator(some).toarray(), X[[129, 3, 3, 27]])
    rows = stored.centered()[0]
    labels = RowBlocks(MemoryBlocks(parts(KINDS[kind](Y)))).centered()[0]
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    block, small = RNG.standard_normal((12, 3)), RNG.standard_normal((4, 2))
    for beside in (labels, as_operator(Y)):
        normal, seen = rows.joint_products(block, beside)
        np.testing.assert_allclose(normal, X.T @ (X @ block), atol=1e-5)
        np.testing.assert_allclose(seen, Y.T @ (X @ block), atol=1e-5)
        found = rows.label_products(small, beside)
        np.testing.assert_allclose(found, X.T @ (Y @ small), atol=1e-5)
    with pytest.raises(Mismatch, match=r"blocks of the same numbers of rows; X has 40, 40, 40, \."):
        rows.joint_products(block, RowBlocks(MemoryBlocks(parts(Y, 30))))
    with pytest.raises(Mismatch, match="pass the labels as an array"):
        rows.rows(np.arange(4)).joint_products(block, labels)


@pytest.mark.parametrize("store", ["memory", "files"])
def test_blocks_that_do_not_fit_raise_an_error(tmp_path, store):
    store = MemoryBlocks() if store == "memory" else RowWriter(tmp_path / "rows")
    store.append(ROWS)
    for other in (ROWS[:, :5], sparse.csr_array(ROWS), ROWS.astype("float32")):
        with pytest.raises(Mismatch, match="the blocks before it have 12"):
            store.append(other)
    with pytest.raises(InvalidInput, match="NaN or infinity"):
        store.append(np.full((2, 12), np.inf))
    with pytest.raises(InvalidInput, match="needs arrays or sparse matrices"):
        store.append(as_operator(ROWS).T)
    if isinstance(store, RowWriter):
        assert store.n_rows == 130
        return
    with pytest.raises(InvalidInput, match="No block has any rows"):
        RowBlocks(MemoryBlocks())
    with pytest.raises(Mismatch, match=r"shape \(130, 12\) became one of \(3, 12\)"):
        RowBlocks(store).changed(lambda rows: rows[:3]).gram()


def test_an_interrupted_writer_continues_where_it_stopped(tmp_path):
    folder = tmp_path / "rows"
    writer = RowWriter(folder)
    writer.append(ROWS[:50])
    writer.append(ROWS[50:80])
    with pytest.raises(MissingData, match="contains no complete rows"):
        RowFiles(folder)
    # Killed while the third block was written: its file is there, its line is cut off.
    (folder / "block-000002.rows.npy").write_bytes(b"half")
    with (folder / "blocks.jsonl").open("a") as file:
        file.write('{"rows": 50, "sha')
    again = RowWriter(folder)
    assert again.n_rows == 80
    with again:
        again.append(ROWS[80:])
    operator = RowFiles(folder)
    np.testing.assert_array_equal(operator.toarray(), ROWS)
    np.testing.assert_allclose(operator.column_means(), ROWS.mean(axis=0))
    with pytest.raises(InvalidInput, match="already contains complete rows"):
        RowWriter(folder)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="contains other files"):
        RowWriter(tmp_path / "full")
    with pytest.raises(InvalidInput, match="no rows were written"), RowWriter(tmp_path / "none"):
        pass


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("sparse", "block-000001.data.npy"),
        ("sparse", "block-000001.indices.npy"),
        ("dense", "block-000000.rows.npy"),
        ("dense", "rows.json"),
        ("dense", "blocks.jsonl"),
        ("dense", "sums.npy"),
    ],
)
def test_files_that_are_changed_cut_or_missing_are_named(tmp_path, kind, name):
    operator = write(tmp_path / "rows", KINDS[kind](ROWS))
    path = tmp_path / "rows" / name
    whole = path.read_bytes()
    if name.startswith("block-"):
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(InvalidFile, match="is damaged; write the rows again"):
            operator.matmat(np.ones((12, 1)))
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidFile, match=name.split(".", maxsplit=1)[0]):
        RowFiles(tmp_path / "rows").toarray()
    path.unlink()
    with pytest.raises((MissingData, InvalidFile)):
        RowFiles(tmp_path / "rows").toarray()
