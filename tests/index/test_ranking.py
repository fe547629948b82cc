"""Words and space together: the score, names first, syntax, filters, and items added later."""

import numpy as np
import pytest
from _support.topics import WORDS, corpus, fresh

from labelspan import MLSI, SemanticIndex
from labelspan.errors import InvalidParameter
from labelspan.index.searching import Query, similar_labels
from labelspan.text import parse_query


@pytest.fixture(scope="module")
def index():
    return fresh()


def brute_force(index, query, balance):
    """Scores of all items by the formula, without blocks, candidates or the sample."""
    words, store = index.store.words, index.store
    scores = words.score(parse_query(query))
    Z = index.vectors().astype(float)
    q = np.asarray(index.embed(query), float)
    cosines = np.where(Z @ q > store.vectors.slack, Z @ q, 0)
    a = (1 - balance) / scores.scores.std() if scores.scores.any() else 0.0
    b = balance / (Z @ q).std() if q.any() else 0.0
    return (a * scores.scores + b * cosines) / (a * scores.most + b or 1.0)


@pytest.mark.parametrize(
    ("query", "balance"),
    [("crop a photo", 0.4), ("chess player", 0), ("music unheard", 0.25), ("unheard", 1)],
)
def test_the_score_is_the_sum_of_standardised_scores(index, query, balance):
    expected = brute_force(index, query, balance)
    hits = index.search(query, 60, balance=balance)
    assert len(hits) == np.count_nonzero(expected)
    found = np.array([expected[index.ids.index(hit.id)] for hit in hits])
    np.testing.assert_allclose([hit.score for hit in hits], found, atol=1e-6)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.score == pytest.approx(hit.from_words + hit.from_space)
    assert [hit.id for hit in index.search(query, 4, balance=balance)] == [h.id for h in hits[:4]]


QUERIES = ["chess", "paint a picture", '"a photo"', "play* -chess", "unheard", ""]


@pytest.mark.parametrize("few", [1, 8, 1000])
def test_the_best_are_those_of_all_however_few_rows_are_compared(few, monkeypatch):
    # Many texts are the same: equal scores are ranked by rows.
    texts, labels, _, _ = corpus(60)
    index = SemanticIndex(estimator=MLSI(8)).fit(texts * 15, labels * 15)
    monkeypatch.setattr("labelspan.index.searching._CANDIDATES", 8)
    monkeypatch.setattr("labelspan.index.searching._FEW", few)
    for wanted in (None, {"labels": ["game"]}):
        every = index.search(QUERIES, len(index), wanted)
        for k in (1, 7, 40):
            assert index.search(QUERIES, k, wanted) == [found[:k] for found in every]
    for balance in (0, 1):
        assert index.search(QUERIES, 5, balance=balance) == [
            index.search(query, len(index), balance=balance)[:5] for query in QUERIES
        ]


def test_the_own_id_and_title_come_first():
    texts, labels, _, _ = corpus(40)
    texts = [f"{text.title()} {n}!\nmore of it" for n, text in enumerate(texts)]
    ids = [f"Name-{n}" for n in range(len(texts))]
    index = SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)
    for balance in (0, 0.4, 1):
        for name, text in zip(ids, texts, strict=True):
            by_id = index.search(name, 3, balance=balance)
            assert (by_id[0].id, by_id[0].exact, by_id[0].score) == (name, "id", 1.0)
            title = text.partition("\n")[0].lower().rstrip("!")
            assert (index.search(title, 1, balance=balance)[0].id) == name
    assert index.search("name 7", 1)[0].exact == "title"
    # A filter holds for names as well.
    own = labels[3][0]
    assert index.search(ids[3], 1, {"without": [own]}) != index.search(ids[3], 1)


def test_new_words_and_items_are_found():
    index = fresh()
    assert index.search("zyzzyva") == []
    index.add(["Zyzzyva beetles of Brazil"], [["game"]], ["new"])
    assert [hit.id for hit in index.search("zyzzyva")] == ["new"]
    assert index.search("Zyzzyva beetles of Brazil", 1)[0].exact == "title"
    assert index.search("new", 1)[0].exact == "id"
    assert index.search("zyzzyva -beetles") == []


@pytest.mark.parametrize("balance", [-0.1, "much", True, float("nan")])
def test_a_balance_that_is_not_one_is_refused(index, balance):
    with pytest.raises(InvalidParameter, match=r"balance must be a number from 0 \(only words\)"):
        index.search("chess", balance=balance)
    with pytest.raises(InvalidParameter, match="explain: balance must be"):
        index.explain("chess", "item0", balance=balance)


@pytest.mark.parametrize(
    ("query", "balance"),
    [
        ("crop a photo", 0.4),
        ("chess player", 1.0),
        ("item3", 0.4),
        ('"a photo"', 0.0),
        ("play*", 1.0),
    ],
)
def test_an_explanation_adds_up(index, query, balance):
    for hit in index.search(query, 5, balance=balance):
        why = index.explain(query, hit.id, 60, balance=balance)
        assert why.score == hit.score
        assert why.exact == hit.exact
        assert (why.from_words, why.from_space) == (hit.from_words, hit.from_space)
        assert sum(one.share for one in why.matches) == pytest.approx(why.from_words)
        if balance == 1 and hit.exact is None:
            assert why.cosine == pytest.approx(why.score, abs=1e-6)
            asked = Query(index.model, index.store, parse_query(query).text)
            vector = asked.vectors()[0][0]
            shares = vector * index.vectors([hit.id])[0]
            found = sum(axis.share for axis in why.axes)
            assert found == pytest.approx(shares[shares > 0].sum(), abs=1e-6)
        if hit.exact is None:
            assert all(one.shared == (f" {one.word} " in f" {hit.text} ") for one in why.words)
        assert {label.label for label in why.labels} == set(hit.labels)


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
def test_the_language_is_kept(tmp_path):
    texts = ["Kirjastojen kokoelmat ja niiden käyttö", "Kissat ja koirat, mutta ei hevoset"]
    index = SemanticIndex().fit(texts, [["a"], ["b"]])
    assert index.language_ == "fi"
    index.save(tmp_path / "i")
    with SemanticIndex.load(tmp_path / "i") as again:
        assert (again.language, again.language_) == ("auto", "fi")
        assert again.search("kirjasto", balance=0)[0].id == "0"
    plain = SemanticIndex(language="none").fit(texts, [["a"], ["b"]])
    assert plain.search("kirjasto", balance=0) == []
    assert plain.language_ == "none"
    with pytest.raises(InvalidParameter, match="language must be"):
        SemanticIndex(language="klingon").fit(texts, [["a"], ["b"]])
    by_vectors = SemanticIndex().fit(["", ""], [["a"], ["b"]], vectors=np.eye(2, 3) + 1)
    assert by_vectors.language_ is None


def test_only_some_words_of_a_long_query_are_corrected(index, monkeypatch):
    asked = []
    words = index.store.words
    monkeypatch.setattr(words, "near", lambda word: asked.append(word) or ["chess"])
    found = index.unknown_words(" ".join(f"zq{n}" for n in range(300)))
    assert len(found) == 300
    assert asked == list(found)[:3]
    assert [bool(near) for near in found.values()] == [True] * 3 + [False] * 297


def test_similar_labels_share_items():
    texts, labels, ids, _ = corpus()
    labels = [[*own, "fun"] if "game" in own else own for own in labels]
    index = SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids)
    near = similar_labels(index.store, "fun", 10)
    assert near[0][0] == "game"
    assert near[0][1] == pytest.approx(1, abs=1e-6)
    assert all(0 < score <= 1 for _, score in near)


def test_axes_have_words_and_labels_at_both_ends(index):
    axes = index.axes(2)
    assert [axis.number for axis in axes] == list(range(8))
    names = {entry.name for axis in axes[:4] for end in axis.labels for entry in end}
    assert names == set(WORDS)
    assert all(len(end) <= 2 for axis in axes for end in (*axis.words, *axis.labels))
    assert index.axes(2, [3]) == axes[3:4]
    with pytest.raises(InvalidParameter, match="numbers must be 0 to 7, but 8"):
        index.axes(numbers=[8])
