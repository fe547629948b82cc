"""SemanticIndex: searching, tagging, explaining, and folding in."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from labelspan import CCA, DLE, HSL, LPP, LSI, MLSI, OPLS, SemanticIndex
from labelspan.errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch
from labelspan.index import Filter
from labelspan.index.tagger import calibrate
from labelspan.index.vectorizer import default_vectorizer
from labelspan.index.vectors import Vectors, unit_rows

WORDS = {
    "game": ["chess", "board", "player", "level", "score", "puzzle", "dice", "card"],
    "sound": ["audio", "music", "player", "mixer", "song", "volume", "tune", "radio"],
    "image": ["photo", "picture", "pixel", "colour", "crop", "camera", "paint", "draw"],
}


def corpus(count=60, seed=0):
    """Texts of three topics, some of two, with labels, ids and metadata."""
    rng = np.random.default_rng(seed)
    topics = sorted(WORDS)
    texts, labels, metadata = [], [], []
    for number in range(count):
        own = {topics[number % 3]}
        if rng.random() < 0.3:
            own.add(topics[rng.integers(3)])
        words = [rng.choice(WORDS[topic], 4) for topic in sorted(own)]
        texts.append(" ".join(np.concatenate([*words, rng.choice(["the", "a", "very"], 2)])))
        labels.append(sorted(own))
        metadata.append(
            {"year": 2000 + number % 5, "free": number % 2 == 0, "shelf": "ab"[number % 2]}
        )
    return texts, labels, [f"item{n}" for n in range(count)], metadata


@pytest.fixture(scope="module")
def index():
    texts, labels, ids, metadata = corpus()
    return SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids, metadata=metadata)


def fresh():
    texts, labels, ids, metadata = corpus()
    return SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids, metadata=metadata)


# --- searching ----------------------------------------------------------------------------


def test_search_is_the_cosine_with_every_item(index):
    texts, labels, ids, _ = corpus()
    X = default_vectorizer(60).fit(texts)
    names = sorted(WORDS)
    Y = np.array([[name in own for name in names] for own in labels], dtype=float)
    space = MLSI(8).fit(X.transform(texts), Y)
    Z = space.transform(X.transform(texts)).astype(float)
    q = space.transform(X.transform(["crop a photo"]))[0].astype(float)
    cosines = Z @ q / np.linalg.norm(Z, axis=1) / np.linalg.norm(q)
    hits = index.search("crop a photo", 7)
    np.testing.assert_allclose([h.score for h in hits], np.sort(cosines)[::-1][:7], atol=1e-5)
    for hit in hits:
        row = ids.index(hit.id)
        assert hit.text == texts[row]
        assert hit.labels == tuple(labels[row])
        assert abs(hit.score - cosines[row]) < 1e-5


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    ("count", "k"), [(5, 10), (64, 1), (200, 3), (200, 4), (1000, 10), (1000, 999)]
)
def test_the_best_of_many_are_those_of_a_full_sort(count, k, ties):
    rng = np.random.default_rng(count + k)
    drawn = rng.standard_normal((count, 3))
    rows = unit_rows(drawn.round() if ties else drawn)
    vectors, query = Vectors(rows[: count // 2]), unit_rows(rng.standard_normal((1, 3)))
    vectors.append(rows[count // 2 :])
    vectors.drop(np.array([1, count - 1]))
    allowed = rng.random(count) < 0.7
    for mask in (None, allowed):
        open_rows = [
            r for r in range(count) if r not in {1, count - 1} and (mask is None or mask[r])
        ]
        scores = vectors.scores(query)[0]
        best = sorted((r for r in open_rows if scores[r] > 0), key=lambda r: (-scores[r], r))[:k]
        ((found, given),) = vectors.top(query, k, mask)
        assert found.tolist() == best
        np.testing.assert_array_equal(given, np.clip(scores[best], 0, 1))


def test_scores_fall_and_lie_between_0_and_1(index):
    hits = index.search("music", 100)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    # Items on the other side of the space are no answers, however many are asked for.
    assert len(hits) < len(index)


def test_several_texts_are_as_many_searches(index):
    queries = ["chess", "", "paint a picture", "unheard"]
    together = index.search(queries, 5)
    for found, query in zip(together, queries, strict=True):
        alone = index.search(query, 5)
        assert [hit.id for hit in found] == [hit.id for hit in alone]
        np.testing.assert_allclose([h.score for h in found], [h.score for h in alone], rtol=1e-5)
    assert together[1] == together[3] == []


def test_search_by_items_leaves_them_out(index):
    hits = index.search(items=["item0", "item3"], k=60)
    assert not {"item0", "item3"} & {hit.id for hit in hits}
    both = index._corpus.vectors(["item0", "item3"]).mean(axis=0)
    score = float(unit_rows(both[None])[0] @ index._corpus.vectors([hits[0].id])[0])
    assert hits[0].score == pytest.approx(score, abs=1e-6)


def test_search_by_label_finds_its_items(index):
    for label in WORDS:
        assert all(label in hit.labels for hit in index.search(labels=label, k=8))


def test_text_items_and_labels_together_are_a_mean(index):
    parts = [index._query(*part)[0][0] for part in (("radio", (), ()), (None, ("item2",), ()))]
    parts.append(index._query(None, (), ("image",))[0][0])
    mixed = index._query("radio", ("item2",), ("image",))[0][0]
    np.testing.assert_allclose(mixed, unit_rows(np.sum(parts, axis=0)[None])[0], atol=1e-6)
    hits = index.search("radio", 5, labels=["image"], items="item2")
    assert hits[0].score == pytest.approx(
        float(mixed @ index._corpus.vectors([hits[0].id])[0]), abs=1e-6
    )


@pytest.mark.parametrize(
    ("given", "test"),
    [
        ({"labels": ["game", "sound"]}, lambda h: {"game", "sound"} <= set(h.labels)),
        ({"any_labels": ("game", "sound")}, lambda h: {"game", "sound"} & set(h.labels)),
        ({"without": "image"}, lambda h: "image" not in h.labels),
        ({"metadata": {"year": 2003}}, lambda h: h.metadata["year"] == 2003),
        ({"metadata": {"year": [2001, 2002]}}, lambda h: h.metadata["year"] in (2001, 2002)),
        ({"metadata": {"year": lambda y: y > 2002}}, lambda h: h.metadata["year"] > 2002),
        ({"metadata": {"free": True, "shelf": "a"}}, lambda h: h.metadata["free"]),
        (Filter(labels=("game",), metadata={"shelf": "b"}), lambda h: h.metadata["shelf"] == "b"),
    ],
)
def test_filters_are_those_of_a_plain_loop(index, given, test):
    everything = index.search("player", 60)
    expected = [hit.id for hit in everything if test(hit)]
    if isinstance(given, Filter):
        expected = [h.id for h in everything if test(h) and "game" in h.labels]
    assert [hit.id for hit in index.search("player", 60, given)] == expected
    assert expected


def test_true_is_not_one_in_a_filter():
    texts, labels, ids, _ = corpus(6)
    tables = [{"x": value} for value in (True, 1, 1.0, False, 0, None)]
    index = SemanticIndex().fit(texts, labels, ids, metadata=tables)
    wanted = [(True, {0}), (1, {1, 2}), (0, {4}), (None, {5}), ("1", set())]
    for value, rows in wanted:
        mask = index._corpus.catalogue.mask(Filter(metadata={"x": value}), 6)
        assert set(np.flatnonzero(mask)) == rows


def test_ties_are_settled_by_order_and_blocks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    base = unit_rows(rng.standard_normal((40, 5)))
    base[10:20] = base[3]
    vectors = Vectors(base)
    vectors.append(base[3:5])
    vectors.drop(np.array([12]))
    queries = np.concatenate([base[3:4], unit_rows(rng.standard_normal((9, 5)))])
    ranked = vectors.top(queries, 6)
    assert ranked[0][0].tolist() == [3, 10, 11, 13, 14, 15]
    monkeypatch.setattr("labelspan.index.vectors._SCORES_AT_ONCE", 50)
    for (rows, scores), (more, others) in zip(ranked, vectors.top(queries, 6), strict=True):
        assert rows.tolist() == more.tolist()
        np.testing.assert_allclose(scores, others, atol=1e-6)


# --- items --------------------------------------------------------------------------------


def test_an_added_item_lies_where_its_text_says():
    index = fresh()
    text = corpus()[0][5]
    index.add([text, "unheard", ""], ids=["twin", "odd", "void"])
    assert len(index) == 63
    np.testing.assert_array_equal(index._corpus.vectors(["twin"]), index._corpus.vectors(["item5"]))
    assert index.search(text, 2)[1].score == pytest.approx(1)
    assert index.item("twin").labels is None
    assert "void" not in {hit.id for hit in index.search(["chess", "photo"], 63)[0]}


def test_a_new_label_can_be_searched_and_filtered_by():
    index = fresh()
    index.search(labels="game")
    index.add(["song tune radio", "song mixer"], [["live"], ["live", "sound"]], ["n1", "n2"])
    # What tells games from the rest depends on the rest, which has changed.
    mean = index._corpus.vectors(index.ids).mean(axis=0, dtype=float)
    np.testing.assert_allclose(index._corpus.moments()[0], mean, atol=1e-12)
    assert index.labels["live"] == 2
    assert index.search(labels="live", k=2)[0].labels
    assert {h.id for h in index.search("song", 9, {"labels": "live"})} == {"n1", "n2"}
    assert "live" not in {tag.label for tag in index.tag("song", 99)}


def test_removed_items_are_gone():
    index = fresh()
    index.remove(["item0", "item7"]).remove("item9")
    assert len(index) == 57
    assert "item0" not in index
    assert not {"item0", "item7", "item9"} & {h.id for h in index.search("chess", 60)}
    # What is gone takes no place among the best.
    assert len(index.search(corpus()[0][0], 5)) == len(index.search(corpus()[0][7], 5)) == 5
    with pytest.raises(InvalidInput, match="no item 'item0' in the index; did you mean"):
        index.item("item0")
    index.remove(index.ids)
    assert len(index) == 0
    assert index.search("chess") == []


def test_ids_are_not_taken_twice():
    index = fresh()
    with pytest.raises(InvalidInput, match=r"'item3' is in the index already.*replace=True"):
        index.add(["a", "b"], ids=["new", "item3"])
    assert "new" not in index
    index.add(["camera"], [["image"]], ["item3"], replace=True)
    assert len(index) == 60
    assert index.item("item3").text == "camera"
    assert "item3" not in {
        h.id for h in index.search(labels="game", k=60, filter={"labels": "game"})
    }
    index.add(["one", "two"]).add(["three"])
    assert len(index) == 63


def test_nothing_that_was_given_is_changed():
    texts, labels, ids, metadata = corpus(12)
    before = repr((texts, labels, ids, metadata))
    index = SemanticIndex().fit(texts, labels, ids, metadata=metadata)
    index.item("item1").metadata["year"] = -1
    assert index.item("item1").metadata["year"] == 2001
    assert repr((texts, labels, ids, metadata)) == before


# --- labels and tags ----------------------------------------------------------------------


def test_tags_are_ranked_and_know_their_threshold(index):
    tags = index.tag("chess and music", 3)
    assert [tag.probability for tag in tags] == sorted((t.probability for t in tags), reverse=True)
    assert {tag.label for tag in tags} == set(WORDS)
    assert all(tag.chosen == (tag.probability >= tag.threshold) for tag in tags)
    assert tags[-1].label == "image"
    assert not tags[-1].chosen
    both = index.tag(["chess and music", ""], 2)
    assert [tag.label for tag in both[0]] == [tag.label for tag in tags[:2]]


def test_tags_hold_on_unseen_texts(index):
    texts, labels, _, _ = corpus(90, seed=5)
    found = [{tag.label for tag in tags if tag.chosen} for tags in index.tag(texts, 3)]
    agreeing = [set(own) == got for own, got in zip(labels, found, strict=True)]
    assert np.mean(agreeing) > 0.8


def test_probabilities_come_from_scores_of_unseen_items():
    rng = np.random.default_rng(0)
    words = [f"word{n}" for n in range(900)]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(80)]
    labels = [["heads"] if toss else ["tails"] for toss in rng.random(80) < 0.5]
    index = SemanticIndex(estimator=MLSI(20, alpha=0.01)).fit(texts, labels)
    own = [
        next(tag.probability for tag in tags if [tag.label] == label)
        for tags, label in zip(index.tag(texts), labels, strict=True)
    ]
    # The space knows the tosses of its own items by heart, and nothing of any other's.
    assert np.mean(own) < 0.75


@pytest.mark.parametrize("seed", range(3))
def test_calibration_is_logistic_regression(seed):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((400, 5)) * [1, 0.01, 30, 1, 1] + [0, 5, 0, 0, 0]
    chance = 1 / (1 + np.exp(-(scores * [2, 200, 0.1, 8, 1] - [1, 1000, 0, 6, 3])))
    targets = (rng.random((400, 5)) < chance).astype(float)
    found = calibrate(scores, targets)
    standard = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    for j in range(5):
        # Platt's targets are weights on both answers.
        positive = targets[:, j].sum()
        soft = np.where(targets[:, j] > 0, (positive + 1) / (positive + 2), 1 / (402 - positive))
        column, answers = np.tile(standard[:, [j]], (2, 1)), np.repeat([1, 0], 400)
        twin = LogisticRegression(C=100, tol=1e-8)
        twin.fit(column, answers, sample_weight=np.concatenate([soft, 1 - soft]))
        expected = twin.predict_proba(standard[:, [j]])[:, 1]
        ours = 1 / (1 + np.exp(-(found.slope[j] * scores[:, j] + found.offset[j])))
        np.testing.assert_allclose(ours, expected, atol=1e-3)
        chosen = ours >= ours[:, None]
        best = (2 * (chosen * targets[:, j]).sum(axis=1) / (chosen.sum(axis=1) + positive)).max()
        assert f1_score(targets[:, j], ours >= found.thresholds[j]) == pytest.approx(best)


def test_calibration_survives_what_cannot_be_learned():
    rng = np.random.default_rng(0)
    split = rng.random((50, 1))
    wanted = (split > 0.5).astype(float)
    scores = np.concatenate([split, -split, np.ones((50, 1)), split], axis=1)
    targets = np.concatenate([wanted, wanted, wanted, np.zeros((50, 1))], axis=1)
    found = calibrate(scores, targets)
    assert np.isfinite([found.slope, found.offset, found.thresholds]).all()
    # Scores that run against the label, or say nothing, leave its share.
    assert found.slope[1] == 0
    assert 1 / (1 + np.exp(-found.offset[1])) == pytest.approx(wanted.mean(), abs=0.02)
    assert 1 / (1 + np.exp(-found.offset[3] - found.slope[3])) < 0.1


def test_an_indicator_is_the_same_as_lists():
    texts, labels, ids, _ = corpus()
    labels[4] = labels[9] = None
    names = sorted(WORDS)
    Y = np.array([[-1] * 3 if own is None else [n in own for n in names] for own in labels], float)
    lists = SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)
    for form in (Y, sparse.csr_array(Y)):
        twin = SemanticIndex(estimator=MLSI(5)).fit(texts, form, ids, label_names=names)
        assert twin.search("chess", 9) == lists.search("chess", 9)
        assert twin.tag("chess") == lists.tag("chess")
        assert twin.item("item4").labels is None


def test_similar_labels_share_items():
    texts, labels, ids, _ = corpus()
    labels = [[*own, "fun"] if "game" in own else own for own in labels]
    index = SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids)
    near = index.similar_labels("fun")
    assert near[0][0] == "game"
    assert near[0][1] == pytest.approx(1, abs=1e-6)
    assert all(0 < score <= 1 for _, score in near)


# --- reading the space --------------------------------------------------------------------


def test_shares_add_up_to_the_score(index):
    hit = index.search("crop a photo", 1)[0]
    why = index.explain("crop a photo", hit.id, n=8)
    assert why.score == pytest.approx(hit.score, abs=1e-6)
    shares = index._query("crop a photo", (), ())[0][0] * index._corpus.vectors([hit.id])[0]
    assert sum(a.share for a in why.axes) == pytest.approx(shares[shares > 0].sum(), abs=1e-6)
    every = index.explain("crop a photo", hit.id, n=1000)
    # Words with a negative share are not shown; the rest cannot be less than the whole.
    assert sum(word.share for word in every.words) >= hit.score - 1e-6
    assert {word.word for word in every.words} <= {"crop", "a", "photo", "crop a", "a photo"}
    assert {w.word for w in every.words if w.shared} == {
        w.word for w in every.words if f" {w.word} " in f" {hit.text} "
    }
    assert {label.label for label in why.labels} == set(hit.labels)


def test_an_axis_is_read_at_the_end_where_both_lie(index):
    for query, label in (("chess dice", "game"), ("radio song", "sound"), ("photo", "image")):
        why = index.explain(query, index.search(query, 1)[0].id)
        best = why.axes[0]
        assert best.words == getattr(best.axis.words, best.end)
        coordinates = index._query(query, (), ())[0][0]
        ends = {a.end: np.sign(coordinates[a.axis.number]) for a in why.axes}
        assert ends == {"high": 1, "low": -1}
        assert label in [entry.name for axis in why.axes[:3] for entry in axis.labels]


def test_an_explanation_of_items_and_labels_has_no_words(index):
    why = index.explain(None, "item3", items="item0", labels="game")
    assert why.words == ()
    assert why.axes


def test_axes_have_words_and_labels_at_both_ends(index):
    axes = index.axes(2)
    assert [axis.number for axis in axes] == list(range(8))
    names = {entry.name for axis in axes[:4] for end in axis.labels for entry in end}
    assert names == set(WORDS)
    assert all(len(end) <= 2 for axis in axes for end in (*axis.words, *axis.labels))
    assert index.axes(2, [3]) == axes[3:4]
    with pytest.raises(InvalidParameter, match="axes 0 to 7, but 8"):
        index.axes(numbers=[8])


# --- other texts, vectors and estimators --------------------------------------------------


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
    index = SemanticIndex(estimator=MLSI(6)).fit(texts, labels)
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
    words = set(default_vectorizer(2).build_analyzer()("पढ़ना 象棋, naïve C3PO"))
    assert {"पढ़ना", "象", "棋", "象 棋", "naïve", "c3po"} <= words


def test_vectors_of_ones_own():
    rng = np.random.default_rng(0)
    labels = [["even"] if n % 2 == 0 else ["odd"] for n in range(40)]
    X = rng.standard_normal((40, 12)) + 3 * np.array([[1, -1][n % 2] for n in range(40)])[:, None]
    results = []
    for form in (X, sparse.csr_array(X), X.astype(np.float32)):
        index = SemanticIndex(vectorizer=None, estimator=MLSI(4)).fit(
            [""] * 40, labels, vectors=form
        )
        results.append([h.id for h in index.search(X[3], 5)])
        assert index.search(X[3:5], 5)[0] == index.search(X[3], 5)
    assert results[0] == results[1] == results[2]
    assert index.search(X[3], 1)[0].id == "3"
    assert index.tag(X[1], 1)[0].label == "odd"
    assert index.axes(3)[0].words.high == []
    assert index.add(["new"], ids=["x"], vectors=X[:1]).search(X[0], 1)[0].score > 0.999
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


@pytest.mark.parametrize(
    "estimator",
    [LSI(4), MLSI(4), OPLS(2, alpha=1.0), CCA(2, alpha=1.0), HSL(2, alpha=1.0), DLE(2), LPP(4)],
    ids=lambda e: type(e).__name__,
)
def test_every_estimator_serves(estimator):
    texts, labels, ids, _ = corpus()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index = SemanticIndex(estimator=estimator).fit(texts, labels, ids)
    assert all(0 <= hit.score <= 1 for hit in index.search("chess", 60))
    # Also where the space has its origin at the mean, a text without words is nowhere.
    assert index.search(["", "unheard"]) == [[], []]
    assert len(index.tag("chess")) == 3
    assert len(index.axes(2)) == index._model.estimator.n_components_
    assert not hasattr(estimator, "components_")


@pytest.mark.parametrize(
    "vectorizer",
    [CountVectorizer(), HashingVectorizer(n_features=256), TfidfVectorizer(analyzer="char")],
    ids=lambda v: type(v).__name__,
)
def test_scikit_learns_vectorisers_serve(vectorizer):
    texts, labels, ids, _ = corpus()
    index = SemanticIndex(vectorizer=vectorizer, estimator=MLSI(6)).fit(texts, labels, ids)
    assert "game" in index.search("chess puzzle", 1)[0].labels
    assert index.explain("chess puzzle", "item0").axes is not None


def test_without_labels():
    texts, _, ids, _ = corpus()
    index = SemanticIndex(estimator=LSI(5)).fit(texts, ids=ids)
    assert index.search("chess", 1)
    assert index.labels == {}
    assert index.axes(2)[0].labels.high == []
    with pytest.raises(Mismatch, match="fitted without labels"):
        index.tag("chess")


def test_unlabelled_items_count_for_the_words():
    texts, labels, ids, _ = corpus()
    some = [own if n % 3 else None for n, own in enumerate(labels)]
    index = SemanticIndex(estimator=MLSI(6)).fit(texts, some, ids)
    assert index.labels.keys() == set(WORDS)
    assert index.item("item3").labels is None
    assert index.tag("radio", 1)[0].label == "sound"


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_a_handful_of_items(count):
    texts, labels, ids, _ = corpus(count)
    index = SemanticIndex().fit(texts, labels, ids)
    assert index.search(texts[0], 1)[0].score == pytest.approx(1, abs=1e-5)
    assert index.tag(texts[0])


def test_the_same_seed_gives_the_same_index(index):
    twin = fresh()
    assert twin.search(["chess", "photo"]) == index.search(["chess", "photo"])
    assert twin.tag("radio") == index.tag("radio")


# --- refusals -----------------------------------------------------------------------------

TEXTS, LABELS, IDS, _ = corpus(8)
FITS = [
    ({"texts": []}, "two items or more, but 0 came"),
    ({"texts": ["one"]}, "two items or more, but 1 came"),
    ({"texts": "one text"}, "texts must be a list of strings; put one text in a list"),
    ({"texts": [*TEXTS[:7], None]}, r"texts\[7\] is of type NoneType.*'' where there is no text"),
    ({"texts": [*TEXTS[:7], "\ud800"]}, r"texts\[7\] holds half a character"),
    ({"texts": [""] * 8}, "no word to learn from"),
    ({"ids": ["a", "b", "c", "d", "e", "f", "b", "h"]}, "id 'b' comes twice"),
    ({"ids": ["a"]}, "there are 8 items and 1 ids"),
    ({"ids": list(range(8))}, r"ids\[0\] must be a string"),
    ({"labels": None}, r"MLSI learns from labels, and no item has a known one.*LSI\(\)"),
    ({"labels": [None] * 8}, "no item has a known one"),
    ({"labels": [[]] * 8}, "no item has a known one"),
    ({"labels": LABELS[:3]}, "there are 8 items and 3 entries"),
    ({"labels": ["game"] * 8}, r"labels\[0\] must be a list of strings"),
    ({"labels": [[1]] * 8}, r"labels\[0\] must hold strings"),
    ({"labels": np.eye(8)}, "need label_names"),
    ({"labels": np.eye(8), "label_names": ["a"]}, "must be 8 different names"),
    ({"labels": np.full((8, 2), 0.5), "label_names": "ab"}, "an indicator of 0 and 1"),
    ({"labels": np.array([[1, -1]] * 8), "label_names": "ab"}, "single unknown entries|-1 and 1"),
    ({"metadata": [{}]}, "there are 8 items and 1 entries"),
    ({"metadata": [{"a": [1]}] * 8}, r"metadata\[0\] has 'a': \[1\]"),
    ({"metadata": [{"a": float("nan")}] * 8}, "finite numbers"),
    ({"metadata": [3] * 8}, "must be a dict"),
    ({"vectors": np.eye(8)}, r"leave vectors= out, or use SemanticIndex\(vectorizer=None\)"),
]


@pytest.mark.parametrize(("wrong", "message"), FITS)
def test_what_fit_refuses(wrong, message):
    given = {"texts": TEXTS, "labels": LABELS, "ids": IDS, **wrong}
    if len(given["texts"]) < 8 and "texts" in wrong:
        given |= {"labels": None, "ids": None}
    index = SemanticIndex()
    with pytest.raises(InvalidInput, match=message) as caught:
        index.fit(**given)
    assert str(caught.value).startswith("fit: ")
    assert len(index) == 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"vectorizer": "bm25"}, "vectorizer must be 'tfidf', a scikit-learn vectoriser or None"),
        ({"estimator": "MLSI"}, "estimator must be an estimator of labelspan"),
        ({"folds": 1}, "folds must be a whole number of at least 2"),
        ({"random_state": None}, "random_state must be a whole number"),
        ({"estimator": MLSI(beta=2)}, "beta must be a number from 0 to 1"),
    ],
)
def test_what_the_constructor_refuses_in_fit(params, message):
    with pytest.raises(InvalidParameter, match=message):
        SemanticIndex(**params).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda i: i.search(), "give a text, items or labels"),
        (lambda i: i.search([]), "list of texts is empty"),
        (lambda i: i.search("a", 0), "k must be a whole number of at least 1, but 0"),
        (lambda i: i.search(3), "texts must be a list of strings"),
        (lambda i: i.search(items="nobody"), "There is no item 'nobody'"),
        (lambda i: i.search(labels="games"), "label 'games'; did you mean 'game'"),
        (lambda i: i.search("a", filter={"labels": "gone"}), "No item has the label 'gone'"),
        (lambda i: i.search("a", filter={"tags": "x"}), "filter must be a Filter, or a dict with"),
        (
            lambda i: i.search("a", filter={"metadata": {"size": 1}}),
            "the keys are: free, shelf, year",
        ),
        (lambda i: i.search("a", filter={"metadata": 3}), "metadata must be a dict"),
        (lambda i: i.tag("a", k=-1), "k must be"),
        (lambda i: i.explain(["a", "b"], "item0"), "one query, not several"),
        (lambda i: i.explain("a", "nobody"), "There is no item 'nobody'"),
        (lambda i: i.similar_labels("gone"), "No item has the label 'gone'"),
        (lambda i: i.add(["a"], ids=["x", "y"]), "there are 1 items and 2 ids"),
        (lambda i: i.add(["a", "b"], ids=["x", "x"]), "id 'x' comes twice"),
        (lambda i: i.remove(["item0", "nobody"]), "There is no item 'nobody'"),
    ],
)
def test_what_questions_refuse(index, ask, message):
    with pytest.raises(InvalidInput, match=message):
        ask(index)
    assert len(index) == 60


def test_a_failed_fit_leaves_the_old_index(index):
    twin = fresh()
    with pytest.raises(InvalidLabels):
        twin.fit(TEXTS)
    assert twin.search("chess") == index.search("chess")


def test_an_index_that_holds_nothing_says_so():
    with pytest.raises(NotFittedError, match=r"call fit, or SemanticIndex\.load"):
        SemanticIndex().search("a")
    assert repr(SemanticIndex()) == "<SemanticIndex, not fitted>"
