"""Rows in blocks, in memory or in files: what does not fit, damaged files."""

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
def test_rows_are_taken_in_any_order(tmp_path, kind):
    some = write(tmp_path, KINDS[kind](ROWS)).take(np.array([129, 3, 3, 27]))
    np.testing.assert_array_equal(as_operator(some).toarray(), ROWS[[129, 3, 3, 27]])


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


def test_an_interrupted_writer_continues_where_it_stopped(tmp_path):
    folder = tmp_path / "rows"
    writer = RowWriter(folder)
    writer.append(ROWS[:50])
    writer.append(ROWS[50:80])
    with pytest.raises(MissingData, match="contains no complete rows"):
        RowFiles(folder)
    # Killed while the third block was written, under another name.
    (folder / ".block-000002.arrays.0a1b2c3d").write_bytes(b"half")
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
        ("sparse", "block-000001.arrays"),
        ("dense", "block-000000.arrays"),
        ("dense", "rows.arrays"),
    ],
)
def test_files_that_are_changed_cut_or_missing_are_named(tmp_path, kind, name):
    operator = write(tmp_path / "rows", KINDS[kind](ROWS))
    path = tmp_path / "rows" / name
    whole = path.read_bytes()
    if name.startswith("block-"):
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(InvalidFile, match="is damaged: its content is not what was written"):
            operator.matmat(np.ones((12, 1)))
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidFile, match=name.split(".", maxsplit=1)[0]):
        RowFiles(tmp_path / "rows").toarray()
    path.unlink()
    with pytest.raises((MissingData, InvalidFile)):
        RowFiles(tmp_path / "rows").toarray()
