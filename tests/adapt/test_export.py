"""Exports give the numbers of transform, also in the pipelines of other libraries."""

import json

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from labelspan import MLSI, Adapter
from labelspan.adapt import export_map, to_faiss
from labelspan.datasets.vector_files import open_vectors
from labelspan.errors import InvalidInput, InvalidParameter, Mismatch

DIGITS, CLASSES = load_digits(return_X_y=True)
X = (DIGITS / 16).astype(np.float32)


@pytest.fixture(scope="module")
def adapter():
    return Adapter(16, beta=0.3, compare=False).fit(X, CLASSES)


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


def test_another_estimator_is_refused_by_what_writes_it(tmp_path):
    with pytest.raises(Mismatch, match=r"MLSI is not an Adapter; .*joblib\.dump.*register_onnx"):
        export_map(MLSI(3).fit(X[:100], CLASSES[:100]), tmp_path / "map.npz")


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
    with pytest.raises(InvalidParameter, match="given by a suffix"):
        export_map(adapter, tmp_path / "map.txt")
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(InvalidInput, match="pip install onnx"):
        export_map(adapter, tmp_path / "map.onnx")
    assert list(tmp_path.iterdir()) == []


# --- BERTopic and sentence-transformers themselves ----------------------------------------

WORDS = {
    "food": ["bread", "cheese", "apple", "soup", "rice", "honey"],
    "music": ["violin", "song", "piano", "choir", "drum", "melody"],
    "sport": ["goal", "race", "tennis", "swim", "jump", "match"],
}
EVERY = [word for words in WORDS.values() for word in words]


def documents(rows=240, seed=0):
    """Texts about one or two of three subjects, and their subjects."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(rows):
        own = rng.choice(list(WORDS), rng.integers(1, 3), replace=False)
        texts.append(" ".join(rng.choice([word for one in own for word in WORDS[one]], 8)))
        labels.append([int(name in own) for name in WORDS])
    return texts, np.array(labels)


def static_vectors(texts, seed=0):
    rng = np.random.default_rng(seed)
    vocabulary = {word: row for row, word in enumerate(EVERY)}
    table = rng.standard_normal((len(vocabulary), 24)).astype(np.float32)
    return np.stack([table[[vocabulary[w] for w in text.split()]].mean(axis=0) for text in texts])


@pytest.mark.filterwarnings("ignore")
def test_the_reducer_of_bertopic():
    bertopic = pytest.importorskip("bertopic")
    texts, labels = documents()
    X = static_vectors(texts)
    classes = labels.argmax(axis=1)
    model = bertopic.BERTopic(
        umap_model=Adapter(5, beta=0.5),
        hdbscan_model=KMeans(3, n_init=3, random_state=0),
        calculate_probabilities=False,
    )
    topics, _ = model.fit_transform(texts, X, y=classes)
    assert len(set(topics)) == 3
    expected = Adapter(5, beta=0.5).fit(X, classes)
    np.testing.assert_allclose(model.umap_model.transform(X), expected.transform(X), atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_a_dense_module_at_the_end_of_a_sentence_transformer(tmp_path):
    package = pytest.importorskip("sentence_transformers")
    tokenizers = pytest.importorskip("tokenizers")
    from sentence_transformers.models import Dense, StaticEmbedding

    texts, labels = documents()
    names = ["[UNK]", *EVERY]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({w: i for i, w in enumerate(names)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    table = np.random.default_rng(0).standard_normal((len(names), 24)).astype(np.float32)
    first = StaticEmbedding(tokenizer, embedding_weights=table)
    X = package.SentenceTransformer(modules=[first], device="cpu").encode(texts)
    adapter = Adapter(4, beta=0.3).fit(X, labels)
    last = Dense.load(str(export_map(adapter, tmp_path / "dense")))
    whole = package.SentenceTransformer(modules=[first, last], device="cpu")
    np.testing.assert_allclose(whole.encode(texts), adapter.transform(X), atol=1e-5)
    whole.save(str(tmp_path / "model"))
    loaded = package.SentenceTransformer(str(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(loaded.encode(texts), adapter.transform(X), atol=1e-5)
