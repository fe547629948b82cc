"""Data sets as .npz files: what is kept, and what is refused."""

import io

import numpy as np
import pytest
from _support.support import scattered
from scipy import sparse

from labelspan._files import write_whole
from labelspan.datasets import DataSet, read_npz, write_npz
from labelspan.errors import InvalidFile, InvalidInput

# --- .npz -------------------------------------------------------------------------------


def test_npz_keeps_everything(tmp_path):
    rng = np.random.default_rng(1)
    X = scattered((6, 5), 0.5, rng, np.float32)
    links = sparse.csr_array(np.eye(6)[::-1])
    data = DataSet(
        "all",
        X,
        sparse.csr_array(np.eye(6, 2, dtype=np.uint8)),
        feature_names=tuple("abcde"),
        label_names=("one", "two"),
        split=np.array([0, 0, 1, 1, 255, 0], dtype=np.uint8),
        links=links,
        extra={"price": np.arange(6.0)},
        source="here and there",
    )
    write_npz(data, tmp_path / "all.npz")
    back = read_npz(tmp_path / "all.npz")
    assert back.X.dtype == np.float32
    for name in ("X", "Y", "links"):
        np.testing.assert_array_equal(getattr(back, name).toarray(), getattr(data, name).toarray())
    for name in ("name", "feature_names", "label_names", "source"):
        assert getattr(back, name) == getattr(data, name)
    np.testing.assert_array_equal(back.split, data.split)
    np.testing.assert_array_equal(back.extra["price"], data.extra["price"])
    assert list(tmp_path.iterdir()) == [tmp_path / "all.npz"]


def broken_files():
    good = io.BytesIO()
    np.savez(good, X=np.eye(3), y=np.zeros(3))
    pickled = io.BytesIO()
    np.savez(pickled, X=np.array([{}], dtype=object))
    single = io.BytesIO()
    np.save(single, np.eye(3))
    parts = {"X_data": [1.0], "X_indices": [7], "X_indptr": [0, 1], "X_shape": [1, 2]}
    beyond, less, uneven = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(beyond, **parts)
    np.savez(less, **{key: parts[key] for key in ("X_data", "X_indptr", "X_shape")})
    np.savez(uneven, X=np.eye(3), y=np.zeros(2))
    return {
        "empty": (b"", "damaged or not an .npz file"),
        "text": (b"hello", "damaged or not an .npz file"),
        "truncated": (good.getvalue()[:-40], "damaged or not an .npz file"),
        "pickled": (pickled.getvalue(), "damaged or not an .npz file.*allow_pickle"),
        "single": (single.getvalue(), "damaged or not an .npz file: a single array"),
        "beyond": (beyond.getvalue(), "not a data set of labelspan"),
        "less": (less.getvalue(), "it has no array 'X_indices'"),
        "uneven": (uneven.getvalue(), "must have the same rows, but have X 3, y 2"),
    }


@pytest.mark.parametrize("name", broken_files())
def test_a_broken_npz_raises_an_error(name, tmp_path):
    content, message = broken_files()[name]
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(InvalidFile, match=message) as caught:
        read_npz(tmp_path / "bad.npz")
    assert "\n" not in str(caught.value)


def test_texts_and_objects_are_not_written_as_npz(tmp_path):
    with pytest.raises(InvalidInput, match="cannot hold texts"):
        write_npz(DataSet("a", texts=["b"]), tmp_path / "a.npz")
    with pytest.raises(InvalidInput, match="what holds objects, which are never pickled"):
        write_npz(DataSet("a", np.eye(1), extra={"what": [None]}), tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []


def test_nothing_half_written(tmp_path):
    path = tmp_path / "new" / "file"

    def fail(file):
        file.write(b"half")
        raise RuntimeError("the disk burns")

    with pytest.raises(RuntimeError, match="burns"):
        write_whole(path, fail)
    assert list(path.parent.iterdir()) == []
    write_whole(path, lambda file: file.write(b"old"))
    with pytest.raises(RuntimeError):
        write_whole(path, fail)
    assert [entry.read_bytes() for entry in path.parent.iterdir()] == [b"old"]
    with pytest.raises(InvalidFile, match=r"cannot be written: .*; choose another folder"):
        write_whole(path / "below", lambda file: None)
