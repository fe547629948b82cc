"""TF-IDF features: against scikit-learn, against a plain loop, and in blocks."""

import math
from itertools import pairwise

import numpy as np
import pytest
import Stemmer
from sklearn.feature_extraction.text import TfidfVectorizer

from labelspan.text import SPACE, TAGS, TOKENS, FeatureCounts, TextFeatures, Vocabulary, normalise

WORDS = ["chess", "games", "photo", "editing", "editors", "数据", "数据库", "libraries"]
WORDS += ["ärger", "straße", "the", "of"]


def texts_of(seed, count=40, most=12):
    rng = np.random.default_rng(seed)
    return ["", *(" ".join(rng.choice(WORDS, rng.integers(0, most))) for _ in range(count)), "数据"]


def chosen(texts, kind, language="en", cuts=()):
    vocabulary = Vocabulary(language)
    edges = [0, *cuts, len(texts)]
    blocks = [vocabulary.number(texts[a:b]) for a, b in pairwise(edges)]
    counts = FeatureCounts(vocabulary, kind)
    for block in blocks:
        counts.add(block)
    features = counts.choose()
    return features, np.vstack([features.transform(block).toarray() for block in blocks])


def by_name(features, matrix):
    order = np.argsort(np.array(features.names, dtype=object))
    return np.array(features.names, dtype=object)[order].tolist(), matrix[:, order]


@pytest.mark.parametrize(("seed", "count"), [(0, 40), (1, 1200)])
def test_words_of_the_space_are_those_of_scikit_learn(seed, count):
    texts = texts_of(seed, count)
    many = count > 1000
    other = TfidfVectorizer(
        preprocessor=normalise,
        token_pattern=TOKENS.pattern,
        ngram_range=(1, 2),
        min_df=2 if many else 1,
        max_df=0.5 if many else 1.0,
        sublinear_tf=True,
    )
    expected = other.fit_transform(texts).toarray()
    names, matrix = by_name(*chosen(texts, SPACE))
    assert names == other.get_feature_names_out().tolist()
    np.testing.assert_allclose(matrix, expected, atol=1e-6)


def tag_features(texts, new):
    """Return stems, pairs and parts of words by the formula, in a loop over texts."""
    stem = Stemmer.Stemmer("english").stemWord

    def blocks(text):
        plain = normalise(text)
        words = TOKENS.findall(plain)
        stems = [stem(word) for word in words]
        parts = []
        for word in words:
            marked = f" {word} "
            short = word in "数据库"
            sizes = () if short else (4, 5)
            parts += [marked[a : a + k] for k in sizes for a in range(len(marked) - k + 1)]
            parts += [word] * short
        for run in "".join(c if c in "数据库" else " " for c in plain).split():
            parts += [run[a : a + k] for k in (2, 3) for a in range(len(run) - k + 1)]
        return [*stems, *(f"{a} {b}" for a, b in pairwise(stems))], parts

    def block(n, least, share):
        df = {}
        for text in texts:
            for one in set(blocks(text)[n]):
                df[one] = df.get(one, 0) + 1
        many = len(texts) >= 1000
        most = share * len(texts) if many else len(texts)
        names = sorted(name for name, k in df.items() if (least if many else 1) <= k <= most)
        found = np.zeros((len(new), len(names)))
        for row, text in enumerate(new):
            own = blocks(text)[n]
            for column, name in enumerate(names):
                if name in own:
                    idf = math.log((1 + len(texts)) / (1 + df[name])) + 1
                    found[row, column] = (1 + math.log(own.count(name))) * idf
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return names, found / np.where(lengths > 0, lengths, 1)

    (words, first), (parts, second) = block(0, 2, 0.5), block(1, 3, 0.1)
    return words, parts, first, 0.7 * second


@pytest.mark.parametrize(("count", "cuts"), [(30, (5, 20)), (1100, ())])
def test_features_of_tags_are_stems_pairs_and_parts(count, cuts):
    texts = texts_of(5, count, 8)
    new = ["", "editorial chess 数据库 unknown", *texts[:20]]
    features, matrix = chosen(texts, TAGS, cuts=cuts)
    words, parts, first, second = tag_features(texts, new)
    cut = features.size - len(features.parts)
    assert sorted(features.names[:cut]) == words
    assert sorted(features.parts) == parts
    found = features.of_texts(new).toarray()
    for names, part, expected in (
        (features.names[:cut], found[:, :cut], first),
        (features.parts, found[:, cut:], second),
    ):
        order = np.argsort(np.array(names, dtype=object))
        np.testing.assert_allclose(part[:, order], expected, atol=1e-6)
    np.testing.assert_array_equal(features.of_texts(texts).toarray(), matrix)


@pytest.mark.parametrize("kind", [SPACE, TAGS])
def test_blocks_give_the_same_as_all_texts_at_once(kind):
    texts = texts_of(7, 1500)
    whole, expected = chosen(texts, kind)
    parts, found = chosen(texts, kind, cuts=(3, 700, 701))
    assert parts.names == whole.names
    np.testing.assert_array_equal(found, expected)


def test_what_is_stored_computes_the_same():
    texts = texts_of(9)
    features, matrix = chosen(texts, TAGS)
    arrays = {name: np.array(values) for name, values in features.arrays().items()}
    again = TextFeatures.from_arrays("en", arrays, stems=True)
    np.testing.assert_array_equal(again.of_texts(texts).toarray(), matrix)


def test_shares_of_words_add_up_to_the_score():
    texts = texts_of(13)
    features, _ = chosen(texts, TAGS)
    weights = np.random.default_rng(0).standard_normal(features.size)
    for text in ("chess games editorials 数据库", "数据", ""):
        row = features.of_texts([text])
        contributions = row.toarray()[0] * weights
        shares = features.word_shares(text, contributions)
        assert sum(shares.values()) == pytest.approx(contributions.sum(), abs=1e-6)
        assert set(shares) <= set(TOKENS.findall(text))
    assert "the" in features.names
    every = features.word_shares("the chess", np.ones(features.size))
    assert "chess" in every
    assert "the" not in every


def test_one_large_block_has_the_features_of_its_parts():
    vocabulary = Vocabulary("en")
    texts = [f"chess club number{n % 7} in town{n % 5}, by the river" for n in range(60)]
    small = vocabulary.number(texts)
    copies = 10 * (2**21 // small.tokens.size // 10 + 1)
    large, tenth = (small.take(np.tile(np.arange(60), n)) for n in (copies, copies // 10))
    for kind in (SPACE, TAGS):
        whole, parts = FeatureCounts(vocabulary, kind), FeatureCounts(vocabulary, kind)
        whole.add(large)
        for _ in range(10):
            parts.add(tenth)
        chosen = whole.choose()
        assert chosen.names == parts.choose().names
        np.testing.assert_array_equal(chosen.idf, parts.choose().idf)
        rows = chosen.transform(large)
        assert rows.shape[0] == 60 * copies
        assert abs(rows[-60:] - chosen.transform(small)).max() == 0
