"""Exports give the numbers of transform; quantised vectors keep their neighbours."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from labelspan import Adapter
from labelspan.adapt import Quantizer, export_map, to_faiss, write_search_index
from labelspan.datasets import open_vectors
from labelspan.errors import InvalidInput, InvalidParameter

DIGITS, CLASSES = load_digits(return_X_y=True)
X = (DIGITS / 16).astype(np.float32)


@pytest.fixture(scope="module")
def adapter():
    return Adapter(16, balance=0.3, compare=False).fit(X, CLASSES)


def test_numpy(adapter, tmp_path):
    with np.load(export_map(adapter, tmp_path / "map.npz"), allow_pickle=False) as file:
        stored = dict(file)
    expected = adapter.transform(X)
    np.testing.assert_allclose(X @ stored["components"].T + stored["bias"], expected, atol=1e-5)
    one_hot = CLASSES[:, None] == np.arange(10)
    known = expected + (one_hot - stored["label_means"]) @ stored["label_directions"]
    np.testing.assert_allclose(known, adapter.transform(X, labels=CLASSES), atol=1e-5)
    assert stored["label_names"].tolist() == [str(digit) for digit in range(10)]
    assert json.loads(str(stored["report"]))["n_components"] == 16


def test_faiss(adapter, tmp_path):
    faiss = pytest.importorskip("faiss")
    transform = faiss.read_VectorTransform(str(export_map(adapter, tmp_path / "map.faiss")))
    for one in (transform, to_faiss(adapter)):
        np.testing.assert_allclose(one.apply(X), adapter.transform(X), atol=1e-5)
    index = faiss.IndexPreTransform(transform, faiss.IndexFlatL2(16))
    index.add(X)
    assert (index.search(X[:50], 1)[1].ravel() == np.arange(50)).all()


def test_onnx(adapter, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    path = export_map(adapter, tmp_path / "map.onnx")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (found,) = session.run(["adapted"], {"vectors": X})
    np.testing.assert_allclose(found, adapter.transform(X), atol=1e-5)


def test_dense_module_by_its_files(adapter, tmp_path):
    """Without sentence-transformers: the tensors and the settings that its Dense module reads."""
    folder = export_map(adapter, tmp_path / "dense")
    weights = open_vectors(folder / "model.safetensors", name="linear.weight").read()
    settings = json.loads((folder / "config.json").read_text())
    assert weights.shape == (settings["out_features"], settings["in_features"]) == (16, 64)
    np.testing.assert_allclose(weights, adapter.components_, atol=1e-6)


def test_a_search_index(adapter, tmp_path):
    usearch = pytest.importorskip("usearch.index")
    keys = np.arange(X.shape[0]) + 100
    path = write_search_index(adapter, X, tmp_path / "items.usearch", labels=CLASSES, keys=keys)
    index = usearch.Index.restore(str(path))
    assert len(index) == X.shape[0]
    # A query has no labels; items of its class come first.
    found = index.search(adapter.transform(X[:60]), 5).keys.astype(int) - 100
    assert (CLASSES[found] == CLASSES[:60, None]).mean() > 0.9
    for options, message in [
        ({"dtype": "f8"}, "f32, f16 or i8"),
        ({"keys": [1]}, "one per vector"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            write_search_index(adapter, X, tmp_path / "no.usearch", **options)


def test_what_export_refuses(adapter, tmp_path, monkeypatch):
    with pytest.raises(InvalidParameter, match="follow from a suffix"):
        export_map(adapter, tmp_path / "map.txt")
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(InvalidInput, match="pip install onnx"):
        export_map(adapter, tmp_path / "map.onnx")
    assert list(tmp_path.iterdir()) == []


# --- codes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "size", "recall", "again"),
    [
        ("int8", 16, 0.95, 0.99),
        ("binary", 2, 0.2, 0.5),
    ],
)
def test_recall_is_measured(adapter, kind, size, recall, again):
    Z = adapter.transform(X)
    quantizer = Quantizer(kind).fit(Z)
    report = quantizer.report_
    assert report.recall > recall
    assert report.rescored > max(again, report.recall - 1e-9)
    codes = quantizer.transform(Z)
    assert codes.shape == (X.shape[0], size)
    assert (report.bytes_per_vector, report.bytes_before) == (size, 64)
    near = quantizer.similarities(codes[:20], codes)
    # An item is as similar to itself as anything can be.
    assert (near[np.arange(20), np.arange(20)] >= near.max(axis=1) * (1 - 0.05) - 1e-9).all()
    if kind == "binary":
        assert (near[np.arange(20), np.arange(20)] == 0).all()


def test_more_bits_keep_more_neighbours():
    Z = np.random.default_rng(0).standard_normal((1500, 64)) * np.geomspace(3, 0.5, 64)
    recalls = [Quantizer("binary").fit(Z[:, :size]).report_.recall for size in (8, 64)]
    assert recalls[1] > recalls[0]
    assert Quantizer("int8").fit(Z).report_.recall > recalls[1]


def test_what_the_quantizer_refuses():
    Z = np.eye(4)
    with pytest.raises(InvalidParameter, match="kind"):
        Quantizer("float").fit(Z)
    with pytest.raises(InvalidInput, match="NaN"):
        Quantizer().fit(Z * np.nan)
    with pytest.raises(InvalidInput, match="one vector per row"):
        Quantizer().fit(np.ones(4))
    with pytest.raises(InvalidInput, match="3 dimensions, but fit had 4"):
        Quantizer().fit(Z).transform(Z[:, :3])
    assert np.isnan(Quantizer().fit(Z[:1]).report_.recall)
