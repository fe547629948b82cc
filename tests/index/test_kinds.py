"""SemanticIndex: other texts, vectors and estimators."""

import numpy as np
import pytest
from _support.topics import corpus, fresh
from scipy import sparse

from labelspan import LSI, MLSI, SemanticIndex
from labelspan.errors import InvalidInput, Mismatch


@pytest.fixture(scope="module")
def index():
    return fresh()


def test_texts_in_other_languages():
    pairs = {
        "game": [
            "игра в шахматы",
            "国际象棋游戏",
            "शतरंज का खेल",
            "لعبة الشطرنج",
            "チェスのゲーム",
            "",
        ],
        "mail": ["читать почту", "阅读电子邮件", "डाक पढ़ना", "قراءة البريد", "メールを読む", ""],
    }
    texts = [text for own in pairs.values() for text in own]
    labels = [[name] for name, own in pairs.items() for _ in own]
    # All ten directions: of those with equal eigenvalues, any six would do.
    index = SemanticIndex(estimator=MLSI(10)).fit(texts, labels)
    queries = {
        "шахматы": "0",
        "象棋": "1",
        "शतरंज": "2",
        "الشطرنج": "3",
        "ゲーム": "4",
        "почту": "6",
    }
    for query, expected in queries.items():
        assert index.search(query, 1)[0].id == expected
    assert index.search("") == []
    assert len(index.tag("")) == 2


def test_given_vectors():
    rng = np.random.default_rng(0)
    labels = [["even"] if n % 2 == 0 else ["odd"] for n in range(40)]
    X = rng.standard_normal((40, 12)) + 3 * np.array([[1, -1][n % 2] for n in range(40)])[:, None]
    results = []
    for form in (X, sparse.csr_array(X), X.astype(np.float32)):
        index = SemanticIndex(estimator=MLSI(4)).fit([""] * 40, labels, vectors=form)
        results.append([h.id for h in index.search(X[3], 5)])
        assert index.search(X[3:5], 5)[0] == index.search(X[3], 5)
    assert results[0] == results[1] == results[2]
    assert index.search(X[3], 1)[0].id == "3"
    assert index.tag(X[1], 1)[0].label == "odd"
    assert index.axes(3)[0].words.high == []
    assert index.add(["new"], ids=["x"], vectors=X[:1]).search(X[0], 1)[0].score > 0.999
    # A stored zero is not a feature: such an item has no place.
    nothing = sparse.csr_matrix(([0.0], [3], [0, 1]), shape=(1, 12))
    assert not index.add([""], ids=["nothing"], vectors=nothing).vectors(["nothing"]).any()
    assert nothing.nnz == 1
    with pytest.raises(Mismatch, match="a query is a vector"):
        index.search("a text")
    with pytest.raises(Mismatch, match="takes vectors; give vectors="):
        index.add(["a text"])
    with pytest.raises(InvalidInput, match="must have 12 columns as in fit, but have 3"):
        index.search(np.ones(3))
    with pytest.raises(InvalidInput, match="there are 2 items and 1 rows"):
        index.add(["", ""], vectors=X[:1])
    with pytest.raises(InvalidInput, match="NaN"):
        index.add([""], vectors=np.full((1, 12), np.nan))


def test_without_labels():
    texts, _, ids, _ = corpus()
    index = SemanticIndex(estimator=LSI(5)).fit(texts, ids=ids)
    assert index.search("chess", 1)
    assert index.labels == {}
    assert index.axes(2)[0].labels.high == []
    with pytest.raises(Mismatch, match="fitted without labels"):
        index.tag("chess")


def test_labels_that_are_too_many_to_be_dense(index, monkeypatch):
    texts, labels, ids, _ = corpus()
    monkeypatch.setattr("labelspan.index.fitting.DENSE_ENTRIES", 0)
    found = SemanticIndex(estimator=MLSI(8)).fit(texts, [None, *labels[1:]], ids)
    for query in ("chess", "crop a photo"):
        one, two = ({hit.id for hit in each.search(query, 5)} for each in (index, found))
        assert len(one & two) >= 3
    assert found.tag("photo", 1)[0].label == index.tag("photo", 1)[0].label
    assert SemanticIndex(estimator=LSI(3)).fit(texts, labels).n_dimensions == 3


@pytest.mark.parametrize("count", [2, 7])
def test_a_handful_of_items(count):
    texts, labels, ids, _ = corpus(count)
    index = SemanticIndex().fit(texts, labels, ids)
    assert index.search(texts[0], 1)[0].score == pytest.approx(1, abs=1e-5)
    assert index.tag(texts[0])
