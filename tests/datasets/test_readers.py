"""Readers of files: against references, and line by line against what is wrong with them."""

import gzip
import io

import numpy as np
import pytest
from _support.support import scattered
from scipy import sparse
from scipy.io import arff as scipy_arff

from labelspan._files import write_whole
from labelspan.datasets import DataSet, read_arff, read_npz, write_npz
from labelspan.errors import InvalidFile, InvalidInput, InvalidParameter, MissingData

XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="it's sweet"></label>
<label name="round"><label name="red"/></label>
</labels>
"""
ARFF = r"""% a comment
@RELATION 'fruit: things'

@attribute weight numeric
@attribute	'it\'s sweet' {0,1}
@attribute colour {green, 'dark red', "pale, blue"}
@ATTRIBUTE round{0, 1}
@attribute steps {2,4,8}
@attribute red {false,true}
@data
"""
DENSE = """1.5, 1, green, 0, 4, true
% between rows
?,?,'dark red',1,8,false
-2e1,0,"pale, blue",?,2,FALSE
"""


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def fruit(tmp_path):
    write(tmp_path, "fruit.xml", XML)
    return write(tmp_path, "fruit.arff", ARFF + DENSE.replace("FALSE", "false"))


# --- ARFF -------------------------------------------------------------------------------


def test_dense_arff_with_xml_and_labels_by_number_and_name(fruit):
    data = read_arff(fruit)
    assert data.label_names == ("it's sweet", "round", "red")
    assert data.feature_names == ("weight", "colour", "steps")
    np.testing.assert_array_equal(data.X, [[1.5, 0, 4], [np.nan, 1, 8], [-20, 2, 2]])
    np.testing.assert_array_equal(data.Y, [[1, 0, 1], [-1, 1, 0], [0, -1, 0]])
    packed = fruit.with_name("packed.arff.gz")
    packed.write_bytes(gzip.compress(fruit.read_bytes()))
    np.testing.assert_array_equal(read_arff(packed, fruit.with_suffix(".xml")).X, data.X)
    fruit.with_suffix(".xml").unlink()
    assert read_arff(fruit, -1).label_names == ("red",)
    assert read_arff(fruit, ("round", "it's sweet")).label_names == ("round", "it's sweet")
    for labels, message in [
        (None, r"there is no fruit.xml next to fruit.arff"),
        (6, r"labels=6 does not fit fruit.arff, which has 6"),
        (["sour"], "has no attribute 'sour'; correct labels"),
        (["red", "red"], "cannot have a label twice"),
        (["colour"], "label 'colour' has the values green, dark red, pale"),
    ]:
        with pytest.raises((InvalidParameter, InvalidFile), match=message):
            read_arff(fruit, labels)


@pytest.mark.parametrize("seed", [0, 1])
def test_dense_arff_is_what_scipy_reads_and_sparse_arff_says_the_same(tmp_path, seed):
    rng = np.random.default_rng(seed)
    block = rng.random((15, 7)).round(3) * (rng.random((15, 7)) < 0.4)
    block[:, 5:] = block[:, 5:] > 0
    head = ["@relation 'x: -C -2'", *(f"@attribute a{j} numeric" for j in range(5))]
    head += ["@attribute l5 {0,1}", "@attribute l6 {0,1}", "@data"]
    cells = [",".join(f"{v:g}" for v in row) for row in block]
    dense = write(tmp_path, "d.arff", "\n".join([*head, *cells]))
    # The places may come in any order.
    entries = [[f"{j} {row[j]:g}" for j in rng.permutation(7) if row[j]] for row in block]
    rows = ["{" + ", ".join(own) + "}" for own in entries]
    thin, wide = read_arff(write(tmp_path, "s.arff", "\n".join([*head, *rows]))), read_arff(dense)
    assert sparse.issparse(thin.Y)
    assert thin.X.has_canonical_format
    np.testing.assert_array_equal(thin.X.toarray(), wide.X)
    np.testing.assert_array_equal(thin.Y.toarray(), wide.Y)
    reference = scipy_arff.loadarff(dense)[0]
    np.testing.assert_array_equal(wide.X, np.stack([reference[f"a{j}"] for j in range(5)], axis=1))
    np.testing.assert_array_equal(wide.Y, block[:, 5:])


SPARSE_HEAD = "@relation x\n@attribute l {0,1}\n@attribute a numeric\n@attribute b {x,y}\n@data\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no @data; it is not an ARFF file"),
        ("@relation x\n@data\n1", "line 2: '@data' does not belong in an ARFF header"),
        ("@relation x\nhello\n", "line 2: 'hello' does not belong in an ARFF header"),
        ("@attribute a\n", "line 1: this @attribute has no name or no type"),
        ("@attribute a string\n", "line 1: attribute 'a' has the type 'string'"),
        ("@attribute 'a numeric\n", "line 1: a quotation mark is not closed"),
        ("@attribute a real\n@attribute a real\n", "line 2: 'a' is declared twice"),
        (f"{SPARSE_HEAD}1,2\n", "line 6: 2 values in a file of 3 attributes"),
        (f"{SPARSE_HEAD}\n1,2,x\n1,q,x\n", "line 8: 'q' is not a value of 'a'"),
        (f"{SPARSE_HEAD}1,2,z\n", "line 6: 'z' is not a value of 'b'"),
        (f"{SPARSE_HEAD}2,2,x\n", "line 6: '2' is not a value of 'l'"),
        (f"{SPARSE_HEAD}1,2,'x\n", "line 6: a quotation mark is not closed"),
        (f"{SPARSE_HEAD}{{0 1\n", "line 6: this row does not end with a brace"),
        (f"{SPARSE_HEAD}{{0 1,,1 2}}\n", "line 6: '' is not an index and a value"),
        (f"{SPARSE_HEAD}{{-1 1}}\n", "line 6: '-1 1' is not an index and a value"),
        (f"{SPARSE_HEAD}{{0 1,0 1}}\n", "line 6: place 0 is named twice"),
        (f"{SPARSE_HEAD}{{3 1}}\n", "line 6: place 3 in a file of 3 attributes"),
        (f"{SPARSE_HEAD}{{0 1}}\n1,2,x\n", "line 7: dense and sparse rows do not go together"),
        (
            "@attribute l {0,1}\n@attribute s {2,4}\n@data\n{0 1}\n",
            "line 4: sparse rows leave out the first value of 's', which is not 0",
        ),
        (
            "@attribute l {1,0}\n@attribute s real\n@data\n{0 1}\n",
            "line 4: sparse rows leave out the first value of 'l', which is not 0",
        ),
    ],
)
def test_malformed_arff_is_named_by_its_line(tmp_path, text, message):
    path = write(tmp_path, "bad.arff", text)
    with pytest.raises(InvalidFile) as caught:
        read_arff(path, ["l"] if "@attribute l" in text else 1)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


BOMB = """<!DOCTYPE labels [
<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
]>
<labels><label name="&b;"/></labels>"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "declares the XML entity"),
        ("<!DOCTYPE labels SYSTEM 'file:///etc/hosts'><labels/>", "must name every label"),
        ("<labels>\n<label/></labels>", "must name every label"),
        ("<labels>\n<label name='a'></labels>", "is not XML (mismatched tag: line 2"),
        ("<labels><label name='&b;'/></labels>", "is not XML (undefined entity: line 1"),
        ("<labels/>", "must name every label"),
        ("", "is not XML (no element found"),
    ],
)
def test_xml_is_read_safely(fruit, text, message):
    xml = write(fruit.parent, "fruit.xml", text)
    with pytest.raises(InvalidFile) as caught:
        read_arff(fruit)
    assert message in str(caught.value)
    assert str(xml) in str(caught.value)


def test_damaged_bytes_raise_an_error(tmp_path, fruit):
    path = tmp_path / "x.arff.gz"
    content = fruit.read_bytes()
    path.write_bytes(gzip.compress(content)[:-20])
    with pytest.raises(InvalidFile, match=r"is damaged: .*; get it again"):
        read_arff(path, 1)
    path.write_bytes(content + b"1.5, 1, \xff, 0, 4, true\n")
    with pytest.raises(InvalidFile, match="line 15: this is not UTF-8"):
        read_arff(path, fruit.with_suffix(".xml"))
    with pytest.raises(MissingData, match=r"There is no file .*none\.arff"):
        read_arff(tmp_path / "none.arff")


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
        "empty": (b"", "damaged or not a file of numbers"),
        "text": (b"hello", "damaged or not a file of numbers"),
        "truncated": (good.getvalue()[:-40], "damaged or not a file of numbers"),
        "pickled": (pickled.getvalue(), "damaged or not a file of numbers.*allow_pickle"),
        "single": (single.getvalue(), "it has no array"),
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


def test_what_is_not_written_as_npz_and_nothing_half_written(tmp_path):
    with pytest.raises(InvalidInput, match="cannot hold texts"):
        write_npz(DataSet("a", texts=["b"]), tmp_path / "a.npz")
    with pytest.raises(InvalidInput, match="what holds objects, which are never pickled"):
        write_npz(DataSet("a", np.eye(1), extra={"what": [None]}), tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []
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
