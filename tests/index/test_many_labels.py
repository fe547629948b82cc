"""An index whose labels are too many to be dense."""

import numpy as np

from labelspan import LSI, SemanticIndex
from labelspan.labels import reading


def corpus(count=60):
    rng = np.random.default_rng(0)
    topics = ["chess", "photo", "music", "maps"]
    chosen = [topics[i] for i in rng.integers(4, size=count)]
    others = rng.integers(4, size=count)
    texts = [f"{one} {one} {topics[i]} item" for one, i in zip(chosen, others, strict=True)]
    labels = [[one, f"of {one}"] for one in chosen]
    labels[3] = None
    return texts, labels


def test_the_same_neighbours_with_sparse_labels(monkeypatch):
    texts, labels = corpus()
    dense = SemanticIndex().fit(texts, labels)
    monkeypatch.setattr(reading, "DENSE_ENTRIES", 0)
    found = SemanticIndex().fit(texts, labels)
    for query in ("chess", "maps"):
        one, two = ([hit.labels for hit in index.search(query, 5)] for index in (dense, found))
        assert one == two
    assert [tag.label for tag in found.tag("photo", 1)] == [
        tag.label for tag in dense.tag("photo", 1)
    ]
    assert SemanticIndex(estimator=LSI(3)).fit(texts, labels).n_dimensions == 3
