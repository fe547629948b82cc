"""Vectors and labels in files: every format in batches, and files that are damaged or lie."""

import importlib.util
import json
import struct

import numpy as np
import pytest
from scipy import sparse

from labelspan.datasets.vector_files import open_vectors, read_label_file
from labelspan.errors import InvalidFile, InvalidInput, MissingData

X = np.random.default_rng(0).standard_normal((23, 5)).astype(np.float32)


def write_safetensors(path, values=X, kind="F32", *, offsets=None, shape=None, cut=0):
    body = values.tobytes()
    entry = {
        "dtype": kind,
        "shape": shape or list(values.shape),
        "data_offsets": offsets or [0, len(body)],
    }
    header = json.dumps({"__metadata__": {"a": "b"}, "vectors": entry}).encode()
    content = struct.pack("<Q", len(header)) + header + body
    path.write_bytes(content[: len(content) - cut])
    return path


def write_parquet(path, column):
    arrow = pytest.importorskip("pyarrow", reason="parquet needs the extra labelspan[io]")
    from pyarrow import parquet

    table = {"vectors": column, "title": ["a"] * len(column)}
    parquet.write_table(arrow.table(table), path, row_group_size=7)
    return path


def write(folder, kind):
    path = folder / f"v.{kind.partition(' ')[0]}"
    if kind == "npy":
        np.save(path, X)
    elif kind == "npz":
        np.savez(path, vectors=X, ids=np.arange(23), names=np.array(["a"] * 23))
    elif kind.startswith("safetensors"):
        write_safetensors(path)
    else:
        arrow = pytest.importorskip("pyarrow", reason="parquet needs the extra labelspan[io]")
        width = {"fixed": 5}.get(kind.partition(" ")[2], -1)
        kind = arrow.list_(arrow.float32(), width) if width > 0 else arrow.list_(arrow.float32())
        write_parquet(path, arrow.array(X.tolist(), kind))
    return path


@pytest.mark.parametrize(
    ("kind", "rows"),
    [("npy", 1), ("npz", 4), ("safetensors", 4), ("parquet", 100), ("parquet fixed", 4)],
)
def test_every_format_in_batches(tmp_path, kind, rows):
    vectors = open_vectors(write(tmp_path, kind))
    assert vectors.shape == (23, 5)
    batches = list(vectors.batches(rows))
    assert max(map(len, batches)) <= rows
    np.testing.assert_array_equal(np.concatenate(batches), X)
    np.testing.assert_array_equal(vectors.read(), X)


def test_types_of_safetensors(tmp_path):
    path = tmp_path / "v.safetensors"
    upper = (X.view(np.uint32) >> 16).astype(np.uint16)
    write_safetensors(path, upper, "BF16")
    np.testing.assert_allclose(open_vectors(path).read(), X, rtol=2**-7)
    write_safetensors(path, X.astype(np.float16), "F16")
    np.testing.assert_allclose(open_vectors(path).read(), X, rtol=1e-3, atol=1e-3)
    package = pytest.importorskip("safetensors.numpy")
    package.save_file({"a": X, "b": np.zeros(3)}, path)
    np.testing.assert_array_equal(open_vectors(path).read(), X)


def test_hostile_files(tmp_path):
    def hostile(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    np.save(tmp_path / "good.npy", X)
    good = (tmp_path / "good.npy").read_bytes()
    objects = tmp_path / "objects.npy"
    np.save(objects, np.array([{"a": 1}, 2], dtype=object), allow_pickle=True)
    np.save(tmp_path / "flat.npy", np.arange(9.0))
    np.save(tmp_path / "none.npy", np.zeros((0, 5)))
    np.save(tmp_path / "nan.npy", np.where(np.arange(23)[:, None] == 7, np.nan, X))
    files = [
        objects,
        tmp_path / "flat.npy",
        tmp_path / "none.npy",
        hostile("cut.npy", good[:-40]),
        hostile("empty.npy", b""),
        hostile("text.npy", b"not an array"),
        hostile("text.npz", b"PK\x03\x04 and nothing"),
        hostile("empty.npz", b""),
        hostile("empty.safetensors", b""),
        hostile("huge.safetensors", struct.pack("<Q", 2**62) + b"{}"),
        hostile("nojson.safetensors", struct.pack("<Q", 4) + b"{{{{"),
        hostile("list.safetensors", struct.pack("<Q", 2) + b"[]"),
        hostile("deep.safetensors", struct.pack("<Q", 90000) + b"[" * 90000),
        write_safetensors(tmp_path / "cut.safetensors", cut=9),
        write_safetensors(tmp_path / "offsets.safetensors", offsets=[0, 8]),
        write_safetensors(tmp_path / "negative.safetensors", shape=[-23, -5]),
        write_safetensors(tmp_path / "before.safetensors", offsets=[-40, 420]),
    ]
    if importlib.util.find_spec("pyarrow"):
        files.append(hostile("text.parquet", b"PAR1 and nothing"))
    for path in files:
        with pytest.raises(InvalidInput) as error:
            open_vectors(path)
        assert str(path) in str(error.value)
    with pytest.raises(InvalidFile, match="vector 8 holds NaN"):
        open_vectors(tmp_path / "nan.npy").read()
    with pytest.raises(MissingData):
        open_vectors(tmp_path / "missing.npy")
    with pytest.raises(InvalidInput, match="convert"):
        open_vectors(hostile("v.csv", b"1,2"))
    with pytest.raises(InvalidInput, match="not a file"):
        open_vectors(tmp_path)


def test_parquet_that_is_ragged_or_has_gaps(tmp_path):
    pytest.importorskip("pyarrow", reason="parquet needs the extra labelspan[io]")
    ragged = [[1.0, 2.0]] * 9 + [[1.0]] + [[1.0, 2.0, 3.0]]
    with pytest.raises(InvalidFile, match=r"row 10: 'vectors' must have 2 numbers.*but has 1"):
        open_vectors(write_parquet(tmp_path / "r.parquet", ragged)).read()
    gaps = [[1.0, 2.0]] * 9 + [None]
    with pytest.raises(InvalidFile, match=r"row 10: 'vectors' must have 2 numbers.*but has 0"):
        open_vectors(write_parquet(tmp_path / "g.parquet", gaps)).read()
    with pytest.raises(InvalidInput, match="these do: none"):
        open_vectors(write_parquet(tmp_path / "t.parquet", ["text", "text"]))


# --- labels -----------------------------------------------------------------------------

LISTS = [["b", "a"], [], ["c"], ["a", "c"]]
TABLE = np.array([[1, 1, 0], [-1, -1, -1], [0, 0, 1], [1, 0, 1]])


def test_labels_in_every_format(tmp_path):
    known = np.maximum(TABLE, 0)
    files = {
        "a.jsonl": "".join(json.dumps({"tags": own, "n": 1}) + "\n" for own in LISTS),
        "b.csv": "id,tags\n" + "".join(f"1,{';'.join(own)}\n" for own in LISTS),
        "c.txt": "".join(";".join(own) + "\n" for own in LISTS),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    np.savez(tmp_path / "d.npz", Y=TABLE, label_names=np.array(["a", "b", "c"]))
    for name in (*files, "d.npz"):
        found = read_label_file(tmp_path / name)
        assert found.names == ("a", "b", "c"), name
        np.testing.assert_array_equal(found.block(0, 4), TABLE)
        np.testing.assert_array_equal(found.block(1, 3), TABLE[1:3])
    found = read_label_file(tmp_path / "c.txt", empty="none")
    np.testing.assert_array_equal(found.block(1, 2), [[0, 0, 0]])
    assert read_label_file(tmp_path / "c.txt", min_count=2).names == ("a", "c")
    assert read_label_file(tmp_path / "b.csv", field="id").names == ("1",)
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_matrix(known))
    np.testing.assert_array_equal(read_label_file(tmp_path / "s.npz").block(0, 4), known)
    classes = np.array([2, 0, -1, 2])
    for vector in (classes, np.where(classes < 0, np.nan, classes)):
        np.save(tmp_path / "y.npy", vector)
        found = read_label_file(tmp_path / "y.npy")
        assert found.names == ("0", "2")
        np.testing.assert_array_equal(found.block(0, 4), [[0, 1], [1, 0], [-1, -1], [0, 1]])
    np.savez(tmp_path / "c.npz", y=classes, class_names=np.array(["p", "q", "r"]))
    assert read_label_file(tmp_path / "c.npz").names == ("p", "r")


def test_labels_that_are_refused(tmp_path):
    def array(name, value):
        np.save(tmp_path / name, value)
        return tmp_path / name

    sparse.save_npz(tmp_path / "csc.npz", sparse.csc_matrix(np.eye(3)))
    np.savez(tmp_path / "bad.npz", indices=[9], indptr=[0, 1], data=[1], shape=[1, 3])
    np.savez(tmp_path / "many.npz", p=np.eye(2), q=np.eye(2))
    np.savez(tmp_path / "names.npz", Y=np.eye(2), label_names=np.array(["a"]))
    (tmp_path / "no.txt").write_text("\n\n")
    (tmp_path / "two.csv").write_text("p,q\n1,2\n")
    for path, message in [
        (array("half.npy", np.full((3, 2), 0.5)), "0 and 1"),
        (array("part.npy", np.array([[0, -1], [1, 0]])), "-1 in whole rows"),
        (array("float.npy", np.array([0.5, 1.5])), "whole numbers or strings"),
        (array("cube.npy", np.zeros((2, 2, 2))), "must be a vector"),
        (tmp_path / "csc.npz", "CSR format"),
        (tmp_path / "bad.npz", "indices must be"),
        (tmp_path / "many.npz", "one array of labels"),
        (tmp_path / "names.npz", "1 names for 2 labels"),
        (tmp_path / "no.txt", "holds no labels"),
        (tmp_path / "two.csv", "no field with a usual name"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            read_label_file(path)
    with pytest.raises(InvalidInput, match="has no field 'r'"):
        read_label_file(tmp_path / "two.csv", field="r")
    with pytest.raises(MissingData):
        read_label_file(tmp_path / "missing.txt")
