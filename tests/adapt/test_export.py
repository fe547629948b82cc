"""Exports give the numbers of transform; quantised vectors keep their neighbours."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from labelspan import Adapter
from labelspan.adapt import export_map, to_faiss
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


def test_what_export_refuses(adapter, tmp_path, monkeypatch):
    with pytest.raises(InvalidParameter, match="follow from a suffix"):
        export_map(adapter, tmp_path / "map.txt")
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(InvalidInput, match="pip install onnx"):
        export_map(adapter, tmp_path / "map.onnx")
    assert list(tmp_path.iterdir()) == []
