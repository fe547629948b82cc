"""BERTopic and sentence-transformers themselves, with a map in their pipelines."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from labelspan import Adapter
from labelspan.adapt import export_map

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
        umap_model=Adapter(5, balance=0.5),
        hdbscan_model=KMeans(3, n_init=3, random_state=0),
        calculate_probabilities=False,
    )
    topics, _ = model.fit_transform(texts, X, y=classes)
    assert len(set(topics)) == 3
    expected = Adapter(5, balance=0.5).fit(X, classes)
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
    adapter = Adapter(4, balance=0.3).fit(X, labels)
    last = Dense.load(str(export_map(adapter, tmp_path / "dense")))
    whole = package.SentenceTransformer(modules=[first, last], device="cpu")
    np.testing.assert_allclose(whole.encode(texts), adapter.transform(X), atol=1e-5)
    whole.save(str(tmp_path / "model"))
    loaded = package.SentenceTransformer(str(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(loaded.encode(texts), adapter.transform(X), atol=1e-5)
