"""Word search: BM25 and phrases against a plain loop."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelspan.text import Analyzer, Vocabulary, WordSearch, WordSegment, parse_query

WORDS = ["chess", "game", "games", "the", "of", "photo", "photos", "edit", "a"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
TITLED = st.tuples(TEXT, st.sampled_from([" ", "\n", "\n\n"]), TEXT).map("".join)
NAMES = ["Chess", "board-games", "edit"]
LABELS = st.sets(st.integers(0, 2))


def bm25(texts, query, language="en", labels=None):
    """BM25 of a query without syntax by the formula, in a loop over texts and words."""
    stem = Stemmer.Stemmer("english").stemWord if language == "en" else str
    common = Analyzer(language).common
    docs, named, lengths = [], [], []
    for text, own in zip(texts, labels or [()] * len(texts), strict=True):
        title, _, rest = text.strip().partition("\n")
        again = title.split() if rest.strip() else []
        doc = {}
        for word in [*text.split(), *again]:
            doc[stem(word)] = doc.get(stem(word), 0) + 1
        docs.append(doc)
        named.append({stem(w) for n in own for w in re.findall(r"\w+", NAMES[n].lower())})
        lengths.append(sum(word not in common for word in [*text.split(), *again]))
    average = sum(lengths) / len(texts) or 1.0
    words = [word for word in query.split() if word not in common] or query.split()
    scores = np.zeros(len(texts))
    for word in map(stem, words):
        pairs = list(zip(docs, named, strict=True))
        idf, label_idf = (
            math.log(1 + (len(docs) - having + 0.5) / (having + 0.5))
            for having in (
                sum(word in doc or word in own for doc, own in pairs),
                sum(word in own for own in named),
            )
        )
        for row, doc in enumerate(docs):
            tf = doc.get(word, 0)
            norm = 1.2 * (1 - 0.75 + 0.75 * lengths[row] / average)
            scores[row] += idf * tf * 2.2 / (tf + norm)
            scores[row] += 0.75 * label_idf * (word in named[row])
    return scores


def built(texts, language="none", cuts=(), ids=None):
    """Index texts in segments, of which all but the first are appended."""
    vocabulary = Vocabulary(language)
    ids = [f"id {n}" for n in range(len(texts))] if ids is None else ids
    edges = [0, *sorted(min(cut, len(texts)) for cut in cuts), len(texts)]
    made = [
        WordSegment.build(vocabulary.number(texts[a:b]), ids[a:b], texts[a:b])
        for a, b in pairwise(edges)
    ]
    search = WordSearch(vocabulary, made[:1])
    for segment in made[1:]:
        search.append(segment)
    return search


def indicator(lists):
    dense = np.zeros((len(lists), len(NAMES)))
    for row, own in enumerate(lists):
        dense[row, list(own)] = 1
    return sparse.csr_matrix(dense)


def rows(search, query):
    found = search.score(parse_query(query))
    allowed = found.scores > 0 if found.allowed is None else found.allowed & (found.scores > 0)
    return np.flatnonzero(allowed).tolist()


@settings(deadline=None, max_examples=100)
@given(
    texts=st.lists(TITLED, min_size=2, max_size=9),
    query=TEXT,
    cuts=st.lists(st.integers(0, 9), max_size=3),
    language=st.sampled_from(["en", "none"]),
    data=st.data(),
)
def test_scores_are_bm25_of_the_items_that_are_there(texts, query, cuts, language, data):
    search = built(texts, language, cuts)
    labels = data.draw(st.lists(LABELS, min_size=len(texts), max_size=len(texts)))
    search.set_labels(NAMES, indicator([()] * len(texts)))
    search.set_labels(NAMES, indicator(labels))
    gone = data.draw(st.sets(st.integers(0, len(texts) - 1), max_size=len(texts) - 1))
    search.remove(sorted(gone)[::2])
    search.remove(gone)
    kept = [row for row in range(len(texts)) if row not in gone]
    found = search.score(parse_query(query))
    expected = bm25([texts[n] for n in kept], query, language, [labels[n] for n in kept])
    np.testing.assert_allclose(found.scores[kept], expected, rtol=2e-6, atol=1e-12)
    assert not found.scores[sorted(gone)].any()
    assert not found.coverage[sorted(gone)].any()
    spread = expected.std() if np.ptp(expected) > 1e-5 * expected.mean() else expected.mean()
    assert found.deviation == pytest.approx(spread, rel=1e-3, abs=1e-9)
    assert found.scores.max() <= found.most * (1 + 1e-6)
    # The same word by word.
    shares = [search.explain(parse_query(query), row) for row in kept]
    np.testing.assert_allclose([sum(one.values()) for one in shares], expected, rtol=2e-6)


@settings(deadline=None, max_examples=60)
@given(
    texts=st.lists(TEXT, min_size=1, max_size=40),
    phrase=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    cuts=st.lists(st.integers(0, 40), max_size=2),
)
def test_a_phrase_is_found_where_its_words_follow_one_another(texts, phrase, cuts):
    search = built(texts, cuts=cuts)
    there = [re.search(rf"\b{phrase}\b", text) is not None for text in texts]
    assert search.score(parse_query(f'"{phrase}"')).allowed.tolist() == there
    without = search.score(parse_query(f'x -"{phrase}"')).allowed
    assert without.tolist() == [not one for one in there]


@pytest.mark.parametrize("cuts", [(), (1, 2, 3, 4, 5)])
def test_a_prefix_stands_for_all_words_with_it(cuts):
    texts = ["compile", "compilers compiling", "computer", "company", "älter", "alter"]
    search = built(texts, cuts=cuts)
    for prefix in ("comp", "compil", "ä", "x", "c"):
        expected = [any(w.startswith(prefix) for w in text.split()) for text in texts]
        found = search.score(parse_query(f"{prefix}*"))
        assert (found.scores > 0).tolist() == expected
        assert found.unknown == (() if any(expected) else (f"{prefix}*",))
        allowed = search.score(parse_query(f"word -{prefix}*")).allowed
        assert allowed.tolist() == [not one for one in expected]
    # Several words with a beginning count as one word that is there as often.
    scores = search.score(parse_query("comp*")).scores
    same = built(["comp", "comp comp", "comp", "comp", "älter", "alter"])
    np.testing.assert_allclose(scores, same.score(parse_query("comp")).scores, rtol=1e-6)
    # With stems, a beginning that is longer than the stem finds the stem.
    assert rows(built(texts, "en", cuts), "compiling*") == [0, 1]
    assert rows(built(texts, "en", cuts), "alter -compiling*") == [5]


def test_words_of_labels_are_found():
    names = ["Korean TV Shows", "tv::数据", "4.22", "http://a.org/korean"]
    texts = ["a drama", "korean food", "news", "nothing"]
    search = built(texts, "en", (2,))
    labels = np.array([[1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
    search.set_labels(names, sparse.csr_matrix(labels))
    assert rows(search, "korean show") == [0, 1]
    assert rows(search, "kore*") == [0, 1]
    assert rows(search, "tv") == [0, 2]
    assert rows(search, "数据") == rows(search, "据") == [2]
    # A phrase and what is excluded are about the text.
    assert search.score(parse_query('"korean"')).allowed.tolist() == [False, True, False, False]
    assert search.score(parse_query("a -korean")).allowed.tolist() == [True, False, True, True]
    # A label is evidence next to the text.
    scores = search.score(parse_query("drama korean")).scores
    assert scores[0] > scores[1] > 0
    # Addresses and codes are not words.
    assert rows(search, "http") == rows(search, "4") == rows(search, "22") == []
    # Other labels replace those of before.
    search.set_labels(names, sparse.csr_matrix(labels[::-1]))
    assert rows(search, "tv") == [1, 3]


def test_question_words_and_fillers_weigh_little():
    texts = ["something else", "a holocaust film", "a film with something", "other", "more"]
    search = built(texts, "en")
    scores = search.score(parse_query("something about the holocaust")).scores
    assert scores[1] > 2 * scores[0] > 0
    # By themselves they are words like others.
    assert rows(search, "something") == [0, 2]


QUESTIONS = {
    "en": "does anybody know {chess}|how many {planets} are there|could someone explain {war}",
    "de": "ich interessiere mich für {Krieg}|worum geht es bei {Krieg}|wann war der {Krieg}",
    "fi": "onko teillä mitään {sodasta}|osaisitteko kertoa {sodasta}|millaisia {pelejä} on",
    "sv": "jag vill veta mer om {krig}|varför är {himlen} så|hur många {planeter} finns det",
    "fr": "j'aimerais en savoir plus sur {lui}|combien de {planètes} y a-t-il|pourquoi {lui}",
    "es": "me gustaría saber más sobre {eso}|estoy buscando {algo}|cuántos {planetas} hay",
    "it": "ho bisogno di {pace}|avete qualcosa sulla {guerra}|parlami della {guerra}",
    "nl": "laat me iets zien met {honden}|hoeveel {planeten} zijn er|wiens {hond} is dat",
    "pt": "quantos {planetas} existem|estou procurando {guerra}|quais são os {jogos}",
    "da": "findes der noget om {krig}|jeg er interesseret i {krig}|fortæl om {krig}",
    "no": "jeg vil gjerne vite mer om {krig}|fortell om {krig}|hva slags {spill} finnes",
    "ru": "меня интересует {война}|сколько {планет} существует|откуда {она}|чья это {собака}",
    "hu": "miről szól a {háború}|mutass valamit {kutyákkal}|hány {bolygó} van",
    "ro": "spune-mi despre {război}|câte {planete} există|mă interesează {războiul}",
    "tr": "{savaş} ilgimi çekiyor|{demokrasi} nedir|kaç {gezegen} var|bana {köpek} göster",
}


@pytest.mark.parametrize("language", QUESTIONS)
def test_the_topic_of_a_question_outweighs_its_other_words(language):
    analyzer = Analyzer(language)
    assert not analyzer.fillers & analyzer.common
    for question in QUESTIONS[language].split("|"):
        other = analyzer.query(re.sub(r"\{.*\}", " ", question))
        assert {word for word, _, common in other if not common} <= analyzer.fillers


def test_coverage_is_the_share_of_words_by_rarity():
    search = built(["rare common", "common", "other", "common"])
    found = search.score(parse_query("rare common unknown"))
    rare, common, unknown = (math.log1p((4 - n + 0.5) / (n + 0.5)) for n in (1, 3, 0))
    shares = np.array([rare + common, common, 0, common]) / (rare + common + unknown)
    np.testing.assert_allclose(found.coverage, shares)
    # Only frequent words are a weak match, except in a phrase.
    search = built(["the game", "of the", "a chess game"], "en")
    found = search.score(parse_query("of the"))
    assert found.scores[1] > 0
    assert not found.coverage.any()
    assert search.score(parse_query('"of the"')).coverage[1] == 1


@pytest.mark.parametrize(
    ("texts", "query", "expected"),
    [
        # Finnish cases, German umlauts in both encodings, pairs of Han characters.
        (["Kirjastojen kokoelmat", "Kissat ja koirat"], "kirjasto", [0]),
        (["Die Häuser der Stadt", "Der Hund"], "ha\u0308user", [0]),
        (["数据库系统", "系统数据", "电影"], "数据库", [0, 1]),
        (["数据库系统", "系统数据", "电影"], '"数据库"', [0]),
        (["数据库系统", "系统数据", "电影"], "系 -数据库", [1]),
        (["数据库系统", "系统数据", "电影"], "影", [2]),
        (["数,据库", "数据"], "数据", [1]),
        (["\uff21\uff22\uff23 full width", "other"], "abc", [0]),
    ],
)
def test_texts_as_they_are(texts, query, expected):
    language = {"K": "fi", "D": "de"}.get(texts[0][0], "none")
    assert rows(built(texts, language, (1,)), query) == expected


def test_names_are_found_apart_from_case_and_signs():
    texts = ["The GIMP!\nAn image editor", "", "the gimp", "?"]
    for cuts in ((), (2,), (1, 2, 3)):
        search = built(texts, "en", cuts, ids=["gimp-2", "b", "c", "?!"])
        assert search.named("the gimp").tolist() == [0, 2]
        assert search.named("GIMP 2").tolist() == [0]
        assert search.named("gimp").tolist() == search.named("?!").tolist() == []
        search.remove([0])
        assert search.named("the gimp").tolist() == [2]


def test_near_spellings_of_words_that_are_there():
    search = built(["jurassic park", "jurassic", "classic parks", "the juras mountains"], "en")
    assert search.near("jurasic") == ["jurassic", "juras"]
    assert search.near("juarssic") == ["jurassic"]
    assert search.near("prak") == ["park"]
    assert search.near("xyzzyq") == search.near("of") == search.near("数据") == []
    search.remove([0, 1])
    assert search.near("jurasic") == ["juras"]


def test_segments_stay_few():
    texts = [f"text {n} again" for n in range(100)]
    search = built(texts, cuts=range(100))
    assert len(search.segments) <= 7
    whole = built(texts)
    for query in ("text", "7", "aga*", '"13 again"'):
        one, other = (made.score(parse_query(query)) for made in (search, whole))
        np.testing.assert_array_equal(one.scores, other.scores)


def test_what_is_stored_answers_the_same():
    texts = ["Games\nchess games 数据库", "数据 photos", "the edit", "", "chess"]
    search = built(texts, "en", (4,))
    vocabulary = Vocabulary.from_arrays("en", search.vocabulary.arrays())
    segments = [WordSegment.from_arrays(vocabulary, one.arrays()) for one in search.segments]
    again = WordSearch(vocabulary, segments)
    for made in (search, again):
        made.remove([2])
    for query in ("chess", "ga*", '"chess games"', "数据", "edit"):
        one, other = (made.score(parse_query(query)) for made in (search, again))
        np.testing.assert_array_equal(one.scores, other.scores)
        np.testing.assert_array_equal(one.coverage, other.coverage)
    # And it grows as before.
    for made in (search, again):
        block = made.vocabulary.number(["chess 数据集"])
        made.append(WordSegment.build(block, ["new"], ["chess 数据集"]))
    assert rows(search, "数据") == rows(again, "数据") == [0, 1, 5]
    assert rows(again, "集") == [5]
