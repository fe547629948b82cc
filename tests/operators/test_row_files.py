"""Rows in files: the same products and fits as in memory, and what happens to damaged files."""

import numpy as np
import pytest
from scipy import sparse

from labelspan.errors import InvalidFile, InvalidInput, Mismatch, MissingData
from labelspan.operators import RowFiles, RowWriter, as_operator

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((130, 12)) * (RNG.random((130, 12)) < 0.4)


def forms(dtype):
    return {"dense": ROWS.astype(dtype), "sparse": sparse.csr_array(ROWS.astype(dtype))}


def write(folder, rows, size=40):
    with RowWriter(folder) as writer:
        for start in range(0, rows.shape[0], size):
            writer.append(rows[start : start + size])
    return RowFiles(folder)


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


def test_blocks_of_another_form_raise_an_error(tmp_path):
    writer = RowWriter(tmp_path / "rows")
    writer.append(ROWS)
    for other in (ROWS[:, :5], sparse.csr_array(ROWS), ROWS.astype("float32")):
        with pytest.raises(Mismatch, match="the blocks before it have 12"):
            writer.append(other)
    with pytest.raises(InvalidInput, match="NaN or infinity"):
        writer.append(np.full((2, 12), np.nan))
    with pytest.raises(InvalidInput, match="needs arrays or sparse matrices"):
        writer.append(as_operator(ROWS).T)
    assert writer.n_rows == 130
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="contains other files"):
        RowWriter(tmp_path / "full")
    with pytest.raises(InvalidInput, match="no rows were written"), RowWriter(tmp_path / "none"):
        pass


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["block-000001.data.npy", "block-000001.indices.npy"])
def test_a_changed_byte_is_found(tmp_path, name):
    operator = write(tmp_path / "rows", forms("float64")["sparse"])
    flip(tmp_path / "rows" / name)
    with pytest.raises(InvalidFile, match="is damaged; write the rows again"):
        operator.matmat(np.ones((12, 1)))


@pytest.mark.parametrize("name", ["rows.json", "blocks.jsonl", "sums.npy", "block-000000.rows.npy"])
def test_files_that_are_cut_or_missing_are_named(tmp_path, name):
    write(tmp_path / "rows", ROWS)
    path = tmp_path / "rows" / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidFile, match=name.split(".", maxsplit=1)[0]):
        RowFiles(tmp_path / "rows").toarray()
    path.unlink()
    with pytest.raises((MissingData, InvalidFile)):
        RowFiles(tmp_path / "rows").toarray()
