"""Word search: BM25 and phrases against a plain loop, languages, and arrays that do not fit."""

import math
import re
from collections import Counter

import numpy as np
import pytest
import snowballstemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from labelspan.errors import InvalidFile, InvalidParameter
from labelspan.index.analysis import (
    TOKENS,
    Analyzer,
    check_language,
    detect_language,
    language_name,
    split_words,
)
from labelspan.index.query_syntax import parse_query
from labelspan.index.results import Item
from labelspan.index.words import PLAIN, FieldWeights, WordIndex

WORDS = ["chess", "game", "games", "the", "of", "photo", "photos", "edit", "a"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
TITLED = st.tuples(TEXT, st.sampled_from([" ", "\n", "\n\n"]), TEXT).map("".join)
LABELS = st.lists(st.sampled_from(["Chess", "board-games", "edit"]), max_size=2, unique=True)


def items(texts, first=0, labels=None):
    lists = [None] * len(texts) if labels is None else labels
    return [
        Item(f"id {n}", text, None if own is None else tuple(own), {})
        for n, (text, own) in enumerate(zip(texts, lists, strict=True), start=first)
    ]


def bm25(texts, query, language="en", labels=None, weights=PLAIN):
    """BM25 of a query without syntax by the formula, in a loop over texts and words."""
    stem = snowballstemmer.stemmer("english").stemWord if language == "en" else str
    common = Analyzer(language).common
    lists = [()] * len(texts) if labels is None else labels
    docs, lengths = [], []
    for text, own in zip(texts, lists, strict=True):
        title, _, rest = text.strip().partition("\n")
        again = title.split() if rest.strip() else []
        doc = {}
        for word in text.split():
            doc[stem(word)] = doc.get(stem(word), 0) + 1
        for word in again:
            doc[stem(word)] += weights.title - 1
        for word in {stem(w) for label in own for w in re.findall(r"\w+", label.lower())}:
            doc[word] = doc.get(word, 0) + weights.label
        docs.append({word: count for word, count in doc.items() if count})
        lengths.append(
            sum(word not in common for word in text.split())
            + (weights.title - 1) * sum(word not in common for word in again)
        )
    average = sum(lengths) / len(texts) or 1.0
    words = [word for word in query.split() if word not in common] or query.split()
    scores = np.zeros(len(texts))
    for word in map(stem, words):
        having = sum(word in doc for doc in docs)
        idf = math.log(1 + (len(docs) - having + 0.5) / (having + 0.5))
        for row, doc in enumerate(docs):
            tf = doc.get(word, 0)
            norm = 1.2 * (1 - 0.75 + 0.75 * lengths[row] / average)
            scores[row] += idf * tf * 2.2 / (tf + norm)
    return scores


@settings(deadline=None, max_examples=100)
@given(
    texts=st.lists(TITLED, min_size=2, max_size=9),
    query=TEXT,
    early=st.integers(0, 9),
    language=st.sampled_from(["en", "none"]),
    data=st.data(),
)
def test_scores_are_bm25_of_the_items_that_are_there(texts, query, early, language, data):
    weights = data.draw(st.sampled_from([PLAIN, FieldWeights(), FieldWeights(3.0, 1.0)]))
    early = min(early, len(texts))
    labels = data.draw(st.lists(LABELS, min_size=len(texts), max_size=len(texts)))
    analyzer = Analyzer(language)
    index = WordIndex.build(analyzer, items(texts[:early], 0, labels[:early]), weights)
    index.append(items(texts[early:], early, labels[early:]))
    for row in data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=3)):
        labels[row] = data.draw(LABELS)
        index.relabel(row, tuple(labels[row]))
    gone = data.draw(st.sets(st.integers(0, len(texts) - 1), max_size=len(texts) - 1))
    index.drop(np.array(sorted(gone), dtype=int))
    kept = [row for row in range(len(texts)) if row not in gone]
    left = [texts[row] for row in kept], [labels[row] for row in kept]
    found = index.score(parse_query(query))
    expected = bm25(left[0], query, language, left[1], weights)
    np.testing.assert_allclose(found.scores[kept], expected, atol=1e-12)
    assert not found.scores[sorted(gone)].any()
    spread = expected.std() if np.ptp(expected) > 1e-9 else expected.mean()
    assert found.deviation == pytest.approx(spread, abs=1e-9)
    assert found.scores.max() <= found.most + 1e-9
    again = WordIndex.build(analyzer, items(left[0], 0, left[1]), weights)
    np.testing.assert_allclose(again.score(parse_query(query)).scores, expected, atol=1e-12)
    alive = np.isin(np.arange(len(texts)), kept)
    counts = Counter(label for own in left[1] for label in own)
    assert index.label_counts(alive) == dict(sorted(counts.items()))
    if early == len(texts):
        assert index.relabelled(labels).label_counts(alive) == index.label_counts(alive)


@settings(deadline=None, max_examples=60)
@given(
    texts=st.lists(TEXT, min_size=1, max_size=9),
    phrase=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    early=st.integers(0, 9),
)
def test_a_phrase_is_found_where_its_words_follow_one_another(texts, phrase, early):
    index = WordIndex.build(Analyzer("none"), items(texts[:early]))
    index.append(items(texts[early:], early))
    there = [re.search(rf"\b{phrase}\b", text) is not None for text in texts]
    assert index.score(parse_query(f'"{phrase}"')).allowed.tolist() == there
    without = index.score(parse_query(f'x -"{phrase}"')).allowed
    assert without.tolist() == [not one for one in there]


def test_a_prefix_stands_for_all_words_with_it():
    texts = ["compile", "compilers compiling", "computer", "company", "älter", "alter"]
    for early in (0, 3, 6):
        index = WordIndex.build(Analyzer("none"), items(texts[:early]))
        index.append(items(texts[early:], early))
        for prefix in ("comp", "compil", "ä", "x", "c"):
            query = parse_query(f"{prefix}*")
            expected = [any(w.startswith(prefix) for w in text.split()) for text in texts]
            assert (index.score(query).scores > 0).tolist() == expected
            allowed = index.score(parse_query(f"word -{prefix}*")).allowed
            assert allowed.tolist() == [not one for one in expected]
    # With stems, a beginning that is longer than the stem finds the stem.
    stemmed = WordIndex.build(Analyzer("en"), items(texts))
    assert (stemmed.score(parse_query("compiling*")).scores > 0).tolist() == [True, True] + [
        False
    ] * 4


def test_the_first_of_several_lines_is_the_title():
    texts = ["chess\nfor two", "chess for two", "\n chess\nfor two", "two\nchess for"]
    index = WordIndex.build(Analyzer("none"), items(texts))
    scores = index.score(parse_query("chess")).scores
    assert scores[0] == scores[2] > scores[1] > scores[3] > 0
    plain = WordIndex(Analyzer("none"), index.arrays, PLAIN)
    assert np.ptp(plain.score(parse_query("chess")).scores) == 0


def test_words_of_labels_are_found():
    lists = [["Korean TV Shows"], None, ["tv::数据", "4.22"], ["http://a.org/korean"]]
    texts = ["a drama", "korean food", "news", "nothing"]
    for early in (0, 2, 4):
        index = WordIndex.build(Analyzer("en"), items(texts[:early], 0, lists[:early]))
        index.append(items(texts[early:], early, lists[early:]))

        def rows(query, index=index):
            return np.flatnonzero(index.score(parse_query(query)).scores).tolist()

        assert rows("korean show") == [0, 1]
        assert rows("kore*") == [0, 1]
        assert rows("tv") == [0, 2]
        assert rows("数据") == [2]
        # A phrase and what is excluded are about the text.
        assert index.score(parse_query('"korean"')).allowed.tolist() == [False, True, False, False]
        assert index.score(parse_query("a -korean")).allowed.tolist() == [True, False, True, True]
        scores = index.score(parse_query("korean")).scores
        assert scores[1] > scores[0] > 0
        assert index.labelled("Korean TV Shows").tolist() == [0]
        # Addresses and codes are not words.
        assert rows("http") == rows("4") == rows("22") == []
        assert index.labelled("http://a.org/korean").tolist() == [3]
        assert index.labelled("korean").tolist() == []


def test_frequent_words_count_only_without_others():
    index = WordIndex.build(Analyzer("en"), items(["the game", "of the", "a chess game"]))
    assert [m.word for m in index.matches(parse_query("the game of chess"))] == ["game", "chess"]
    assert [m.word for m in index.matches(parse_query("of the"))] == ["of", "the"]
    assert index.score(parse_query('"of the"')).allowed.tolist() == [False, True, False]


def test_coverage_is_the_share_of_words_by_rarity():
    index = WordIndex.build(Analyzer("none"), items(["rare common", "common", "other", "common"]))
    found = index.score(parse_query("rare common unknown"))
    rarity = {m.word: m.rarity for m in index.matches(parse_query("rare common unknown"))}
    assert rarity["unknown"] > rarity["rare"] > rarity["common"] > 0
    total = sum(rarity.values())
    shares = [(rarity["rare"] + rarity["common"]) / total, rarity["common"] / total, 0]
    np.testing.assert_allclose(found.coverage[:3], shares)


@pytest.mark.parametrize(
    ("texts", "query", "rows"),
    [
        # Finnish cases, German umlauts in both encodings, pairs of Han characters.
        (["Kirjastojen kokoelmat", "Kissat ja koirat"], "kirjasto", [0]),
        (["Die Häuser der Stadt", "Der Hund"], "ha\u0308user", [0]),
        (["数据库系统", "系统数据", "电影"], "数据库", [0, 1]),
        (["数据库系统", "系统数据", "电影"], '"数据库"', [0]),
        (["数据库系统", "系统数据", "电影"], "影", [2]),
        (["\uff21\uff22\uff23 full width", "other"], "abc", [0]),
    ],
)
def test_texts_as_they_are(texts, query, rows):
    language = {"K": "fi", "D": "de"}.get(texts[0][0], "none")
    index = WordIndex.build(Analyzer(language), items(texts))
    parsed = parse_query(query)
    found = index.score(parsed)
    scores = found.scores if found.allowed is None else np.where(found.allowed, found.scores, 0)
    assert np.flatnonzero(scores).tolist() == rows
    late = WordIndex.build(Analyzer(language), [])
    late.append(items(texts))
    np.testing.assert_allclose(late.score(parsed).scores, found.scores)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "This is the house that Jack built, and it is not far from here."),
        ("fi", "Tämä on talo, jonka hän rakensi, mutta se ei ole enää siellä ja se on myyty."),
        ("de", "Das ist das Haus, das er gebaut hat, und es ist nicht weit von hier."),
        ("sv", "Det är huset som han har byggt, och det är inte så långt från den här staden."),
        ("fr", "C'est la maison qu'il a construite, et elle n'est pas loin de la ville."),
        ("es", "Esta es la casa que construyó, y no está muy lejos de la ciudad."),
        ("ru", "Это дом, который он построил, и он не очень далеко от города."),
        ("none", "这是他建造的房子离城市不远。"),
        ("none", "xyzzy plugh frobnicate"),
        ("none", ""),
    ],
)
def test_the_language_is_detected(code, text):
    assert detect_language([text] * 3) == code


def test_languages_have_codes_and_names():
    assert check_language("fit", "Finnish") == check_language("fit", "FI") == "fi"
    assert check_language("fit", "auto") == "auto"
    assert language_name("fi") == "Finnish"
    assert language_name("none") == "no language"
    with pytest.raises(InvalidParameter, match=r"language must be 'auto', 'none' or one of da,"):
        check_language("fit", "klingon")


def test_names_are_found_apart_from_case_and_signs():
    early = [Item("gimp-2", "The GIMP!\nAn image editor", None, {}), Item("b", "", None, {})]
    index = WordIndex.build(Analyzer("en"), early)
    index.append([Item("c", "the gimp", None, {}), Item("?!", "?", None, {})])
    assert index.named("the gimp").tolist() == [0, 2]
    assert index.named("GIMP 2").tolist() == [0]
    assert index.named("gimp").tolist() == index.named("?!").tolist() == []


def test_arrays_that_do_not_fit_are_refused():
    lists = [["one label", "x"], None, ["x"]]
    index = WordIndex.build(Analyzer("none"), items(["a b\na", "b c", ""], 0, lists))
    arrays = {name: np.array(values) for name, values in index.arrays.items()}
    again = WordIndex.read(Analyzer("none"), arrays, 3)
    np.testing.assert_array_equal(
        again.score(parse_query("a c")).scores, index.score(parse_query("a c")).scores
    )
    with pytest.raises(InvalidFile, match="do not fit together"):
        WordIndex.read(Analyzer("none"), arrays, 2)
    for name, values in arrays.items():
        for wrong in (values[:-1], values.astype(np.float32), values[:, None]):
            with pytest.raises(InvalidFile, match="do not fit together"):
                WordIndex.read(Analyzer("none"), {**arrays, name: wrong}, 3)
    starts = ("word_starts", "word_occurrences", "label_starts", "label_ends")
    for name in ("word_rows", "name_rows", "word_counts", "word_titles", "label_rows", *starts):
        for value in (-1, 99):
            wrong = arrays[name].copy()
            wrong[1] = value
            with pytest.raises(InvalidFile, match="do not fit together"):
                WordIndex.read(Analyzer("none"), {**arrays, name: wrong}, 3)


def test_words_in_ascii_are_split_as_all_others():
    text = "".join(map(chr, range(128))) + " don't stop_it 3.14 a-b A_B\x00c \x1cd"
    assert split_words(text) == TOKENS.findall(text)
    assert split_words("") == []
