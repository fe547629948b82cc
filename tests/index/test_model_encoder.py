"""An index whose space is learned from vectors of a model, next to its words."""

import numpy as np
import pytest
from _support.tagged import rows

from labelspan import Adapter, SemanticIndex
from labelspan.errors import InvalidInput, Mismatch

ITEMS = rows(120)
TEXTS = [item["body"] for item in ITEMS]
LABELS = [item["tags"] for item in ITEMS]
IDS = [f"i{number}" for number in range(len(ITEMS))]


class Model:
    """Sums of random vectors of words: what a static embedding is."""

    def __init__(self, width=24):
        self.calls, self.width = 0, width

    def __deepcopy__(self, memo):
        raise AssertionError("the model was copied")

    def __reduce__(self):
        raise AssertionError("the model was pickled")

    def encode(self, texts):
        self.calls += 1
        out = np.zeros((len(texts), self.width), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                seed = sum(ord(letter) * 31**place for place, letter in enumerate(word)) % 2**32
                out[row] += np.random.default_rng(seed).standard_normal(self.width)
        return out


def test_words_and_a_space_of_a_model(tmp_path):
    model = Model()
    index = SemanticIndex().fit(TEXTS, LABELS, IDS, encoder=model.encode)
    assert isinstance(index.space, Adapter)
    assert index.space.n_features_in_ == 24
    hits = index.search(TEXTS[7], k=3)
    assert hits[0].id == "i7"
    expected = index.space.transform(model.encode(TEXTS[:5]))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(index.vectors(IDS[:5]), expected, atol=1e-5)
    index.save(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index", encoder=model.encode) as loaded:
        assert [hit.id for hit in loaded.search(TEXTS[7], k=3)] == [hit.id for hit in hits]
        assert loaded.can_tag
        assert loaded.tag(TEXTS[7]) == index.tag(TEXTS[7])
    with SemanticIndex.load(tmp_path / "index", encoder=model.encode, write=True) as writer:
        writer.add([TEXTS[0]], ids=["new"])
        assert {hit.id for hit in writer.search(TEXTS[0], k=2)} == {"i0", "new"}


def test_without_the_model_items_and_labels_can_be_searched(tmp_path):
    SemanticIndex().fit(TEXTS, LABELS, IDS, encoder=Model().encode).save(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index") as index:
        assert len(index.search(items="i3", k=4)) == 4
        with pytest.raises(Mismatch, match="encoder="):
            index.search("chess")
    with (
        SemanticIndex.load(tmp_path / "index", encoder=Model(7).encode) as index,
        pytest.raises(InvalidInput, match="7 dimensions"),
    ):
        index.search("chess")


def test_vectors_that_are_known_are_not_computed_again():
    model = Model()
    vectors = model.encode(TEXTS)
    index = SemanticIndex(estimator=Adapter(6, balance=0.3, compare=False))
    index.fit(TEXTS, LABELS, IDS, vectors=vectors, encoder=model.encode)
    assert model.calls == 1
    index.search("chess")
    assert model.calls == 2
    with pytest.raises(InvalidInput, match="one row for each item"):
        SemanticIndex().fit(TEXTS, LABELS, vectors=vectors[:5], encoder=model.encode)


def test_without_labels_the_space_is_pca():
    index = SemanticIndex().fit(TEXTS, ids=IDS, encoder=Model().encode)
    assert index.n_dimensions <= 24
    assert index.search(TEXTS[2], k=1)[0].id == "i2"


def test_an_index_of_words_takes_no_model(tmp_path):
    SemanticIndex().fit(TEXTS, LABELS, IDS).save(tmp_path / "index")
    with pytest.raises(Mismatch, match="without an encoder"):
        SemanticIndex.load(tmp_path / "index", encoder=Model().encode)
