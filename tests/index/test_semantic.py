"""SemanticIndex: searching, items that come and go, other texts, vectors and estimators."""

import numpy as np
import pytest
from _support.topics import corpus, fresh
from scipy import sparse

from labelspan import LSI, MLSI, SemanticIndex
from labelspan.errors import InvalidInput, Mismatch
from labelspan.index.searching import Query
from labelspan.index.vectors import unit_rows


def _query(index, *asked):
    return Query(index.model, index.store, *asked).vectors()


@pytest.fixture(scope="module")
def index():
    return fresh()


# --- searching ---------------------------------------------------------------------------


def test_search_by_items_leaves_them_out(index):
    hits = index.search(items=["item0", "item3"], k=60)
    assert not {"item0", "item3"} & {hit.id for hit in hits}
    # Items of known labels are placed by them too.
    model, store = index.model, index.store
    places = store.label_places(model.space.directions)
    near = places.rows([int(hits[0].id.removeprefix("item"))])[0]
    score = float(unit_rows(places.rows([0, 3]).mean(axis=0)[None])[0] @ near)
    assert hits[0].score == pytest.approx(score, abs=1e-6)


def test_text_items_and_labels_together_are_a_mean(index):
    parts = [_query(index, *part)[0][0] for part in (("radio", (), ()), (None, ("item2",), ()))]
    parts.append(_query(index, None, (), ("image",))[0][0])
    mixed = _query(index, "radio", ("item2",), ("image",))[0][0]
    np.testing.assert_allclose(mixed, unit_rows(np.sum(parts, axis=0)[None])[0], atol=1e-6)
    hits = index.search("radio", 5, labels=["image"], items="item2", balance=1)
    assert hits[0].score == pytest.approx(float(mixed @ index.vectors([hits[0].id])[0]), abs=1e-6)


# --- items -------------------------------------------------------------------------------


def test_an_added_item_lies_where_its_text_says():
    index = fresh()
    text = corpus()[0][5]
    index.add([text, "unheard", ""], ids=["copy", "odd", "void"])
    assert len(index) == 63
    np.testing.assert_array_equal(index.vectors(["copy"]), index.vectors(["item5"]))
    assert index.search(text, 2)[1].score == pytest.approx(1)
    assert index.item("copy").labels is None
    assert "void" not in {hit.id for hit in index.search(["chess", "photo"], 63)[0]}


# --- other texts, vectors and estimators ----------------------------------------------------


def test_texts_in_other_languages():
    texts = ["игра в шахматы", "国际象棋游戏", "शतरंज का खेल", "لعبة الشطرنج", "チェスのゲーム", ""]
    texts += ["читать почту", "阅读电子邮件", "डाक पढ़ना", "قراءة البريد", "メールを読む", ""]
    labels = [["game"]] * 6 + [["mail"]] * 6
    # All ten directions: of those with equal eigenvalues, any six would do.
    index = SemanticIndex(estimator=MLSI(10)).fit(texts, labels)
    queries = ["шахматы", "象棋", "शतरंज", "الشطرنج", "ゲーム", "почту"]
    assert [found[0].id for found in index.search(queries, 1)] == ["0", "1", "2", "3", "4", "6"]
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
    with pytest.raises(
        Mismatch, match="was fitted with vectors of its items; give those of the new ones"
    ):
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


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
@pytest.mark.parametrize("count", [2, 7])
def test_a_handful_of_items(count):
    texts, labels, ids, _ = corpus(count)
    index = SemanticIndex().fit(texts, labels, ids)
    assert index.search(texts[0], 1)[0].score == pytest.approx(1, abs=1e-5)
    assert index.tag(texts[0])
