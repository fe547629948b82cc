"""Words hashed to a fixed number of columns: features, names, and indexes of a stream."""

import contextlib
import json
import math
import re
from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from _support.streams import Corpus
from scipy import linalg
from sklearn.base import clone

from labelspan import LSI, MLSI, SemanticIndex
from labelspan.errors import InvalidFile, InvalidInput, InvalidParameter
from labelspan.index.analysis import Analyzer
from labelspan.index.folder import read_manifest, write_manifest
from labelspan.index.hashed_words import ColumnNames, HashedWords
from labelspan.index.results import Item
from labelspan.index.stream_fit import fit_stream
from labelspan.index.word_blocks import WordBlock
from labelspan.index.word_hash import hash_pairs, hash_words, words_by_column

N = 120


def items(count=N):
    rng = np.random.default_rng(0)
    found = []
    for row in range(count):
        topic = row % 4
        words = [f"topic{topic}x{n}" for n in rng.integers(0, 9, 8)]
        words += [f"Word{n}" for n in rng.zipf(1.6, 9) if n < 300]
        text = "" if row == 11 else " ".join(rng.permutation(words))
        if row % 30 == 7:
            text = f"\u6771\u4eac\u90fd {text} \u0130stanbul"
        labels = None if row % 9 == 5 else [f"t{topic}", *(["even"] if row % 2 == 0 else [])]
        found.append(SimpleNamespace(text=text, labels=labels, id=f"id{row}", metadata={"n": row}))
    return found


def fitted(out, content, model=None, **options):
    model = MLSI(4, alpha=1.0, tol=1e-6) if model is None else model
    options = {"language": "en", "block_items": 50, "tag_sample": N, "hashing": 1024, **options}
    return fit_stream(Corpus(content), out, model, **options)


# --- features -----------------------------------------------------------------------------


def column(feature, count):
    codes = hash_words(feature.split(" "))
    code = codes if codes.size == 1 else hash_pairs(codes[:1], codes[1:])
    return int(code[0]) % count


def by_hand(texts, count):
    """TF-IDF of columns, word by word."""
    counted = []
    for text in texts:
        tokens = re.findall(r"\w+", text.lower())
        features = [*tokens, *(f"{a} {b}" for a, b in pairwise(tokens))]
        counted.append(Counter(column(feature, count) for feature in features))
    texts_with = Counter(at for own in counted for at in own)
    out = np.zeros((len(texts), count))
    many = len(texts) >= 1000
    for row, own in enumerate(counted):
        for at, often in own.items():
            if not many or texts_with[at] <= len(texts) / 2:
                idf = math.log((1 + len(texts)) / (1 + texts_with[at])) + 1
                out[row, at] = (1 + math.log(often)) * idf
        out[row] /= np.linalg.norm(out[row]) or 1
    return out


@pytest.mark.parametrize(("count", "columns"), [(40, 256), (40, 1000), (1100, 700)])
def test_features_are_what_their_definition_says(count, columns):
    texts = [one.text.replace("\u6771\u4eac\u90fd", "") for one in items(count)]
    texts = [text.replace("\u0130", "i") for text in texts]
    found = HashedWords(columns).fit_transform(texts)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), by_hand(texts, columns), atol=1e-6)
    assert found[11].nnz == 0


def test_hashes_stay_the_same_between_versions():
    """Saved indexes depend on them."""
    words = hash_words(["chess", "board"])
    assert [f"{code:016x}" for code in words.tolist()] == ["dbdb3795eb277ec7", "49370582118f97d2"]
    assert f"{int(hash_pairs(words[:1], words[1:])[0]):016x}" == "eef64fa59c409636"


def test_words_of_a_text_are_told_by_their_columns():
    tokens = ["a", "game", "of", "chess"]
    found = words_by_column(tokens, 1 << 20)
    assert found[column("chess", 1 << 20)] == "chess"
    assert found[column("game of", 1 << 20)] == "game of"
    shared = words_by_column([f"w{n}" for n in range(400)], 256)
    assert any(" / " in words for words in shared.values())


def test_a_column_has_the_name_of_its_most_frequent_word():
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{n}" for n in rng.zipf(1.3, 30) if n < 5000) for _ in range(300)]
    named = ColumnNames(256)
    for start in range(0, 300, 60):
        rows = [Item("", text, None, {}) for text in texts[start : start + 60]]
        named.add(WordBlock.of(rows, Analyzer("none")))
    often = [Counter() for _ in range(256)]
    for text in texts:
        tokens = text.split()
        for feature in {*tokens, *(f"{a} {b}" for a, b in pairwise(tokens))}:
            often[column(feature, 256)][feature] += 1
    certain = 0
    for name, counts in zip(named.names, often, strict=True):
        assert name in counts
        best, most = counts.most_common(1)[0]
        if most > sum(counts.values()) / 2:
            certain += 1
            assert name == best
    assert certain > 5


def test_texts_without_words_and_bad_numbers_of_columns():
    with pytest.raises(InvalidInput, match="no words to learn from"):
        HashedWords().fit(["", "..."])
    for wrong in (0, 255, (1 << 24) + 1, True, 1000.0, "2**18"):
        with pytest.raises(InvalidParameter, match="number of columns from 256"):
            HashedWords(wrong).fit(["a text"])
    assert HashedWords(300).fit(["a b"]).transform([]).shape == (0, 300)


# --- indexes ------------------------------------------------------------------------------


def in_memory(content, model, columns=1024):
    index = SemanticIndex(vectorizer=HashedWords(columns), estimator=model, language="en")
    return index.fit(
        [one.text for one in content],
        [one.labels for one in content],
        [one.id for one in content],
        metadata=[one.metadata for one in content],
    )


@pytest.mark.parametrize("model", [LSI(4, tol=1e-6), None], ids=["LSI", "MLSI"])
def test_a_stream_finds_what_a_fit_in_memory_finds(tmp_path, model):
    content = items()
    if model is None:
        model = MLSI(4, alpha=1.0, tol=1e-6)
        content = [one for one in content if one.labels is not None]
    done = fitted(tmp_path / "index", content, model)
    assert (done.features, done.undercount) == (1024, 0)
    whole = in_memory(content, clone(model))
    for lazy in (False, True):
        with SemanticIndex.load(tmp_path / "index", lazy=lazy) as index:
            mine, other = (each._store.unit_vectors.base for each in (index, whole))
            turn = linalg.orthogonal_procrustes(mine, other)[0]
            np.testing.assert_allclose(mine @ turn, other, atol=0.02)
            for query in ("topic2x3 word1", "topic1x1", "\u6771\u4eac", "unknownword"):
                hits, wanted = index.search(query, k=3), whole.search(query, k=3)
                np.testing.assert_allclose(
                    [hit.score for hit in hits], [hit.score for hit in wanted], atol=0.01
                )
            assert index.tag("topic3x1 topic3x2 topic3x5", k=1)[0].label == "t3"
            why = index.explain("topic2x3 nowhere", "id2")
            assert {share.word for share in why.words} <= {
                "topic2x3",
                "nowhere",
                "topic2x3 nowhere",
            }
            named = [entry.name for axis in index.axes() for entry in axis.words.high]
            assert all(named)
            assert any(name.startswith("topic") for name in named)


def test_items_are_added_and_the_index_is_saved_again(tmp_path):
    fitted(tmp_path / "index", items())
    with SemanticIndex.load(tmp_path / "index", write=True) as index:
        index.add(["topic1x1 topic1x3"], [["t1", "new"]], ["later"])
        assert {tag.label for tag in index.tag("topic1x1 topic1x3", k=2)} == {"t1", "new"}
        index.save()
        hits = index.search("topic1x1 topic1x3", k=3)
    with SemanticIndex.load(tmp_path / "index") as index:
        assert len(index) == N + 1
        assert isinstance(index.vectorizer, HashedWords)
        assert index.vectorizer.n_features == 1024
        assert [hit.id for hit in index.search("topic1x1 topic1x3", k=3)] == [h.id for h in hits]


class Stopped(Exception):
    pass


def test_an_interrupted_fit_continues(tmp_path):
    def stop_at(number):
        calls = iter(range(number))

        def report(*_):
            if next(calls, None) is None:
                raise Stopped

        return report

    content = items()
    fitted(tmp_path / "whole", content)
    stops = 0
    while not (tmp_path / "index" / "manifest.json").exists():
        # A little further with every run.
        with contextlib.suppress(Stopped):
            fitted(tmp_path / "index", content, report=stop_at(stops))
        stops += 1
    assert stops > 4
    sums = [
        {name: entry["sha256"] for name, entry in read_manifest(path)["files"].items()}
        for path in (tmp_path / "whole", tmp_path / "index")
    ]
    assert sums[0] == sums[1]
    # Another number of columns is another fit.
    with pytest.raises(Stopped):
        fitted(tmp_path / "other", content, report=stop_at(2))
    assert fitted(tmp_path / "other", content, hashing=512).resumed == 0


def test_shared_words_are_told_by_the_words_and_not_by_their_columns(tmp_path):
    """With few columns, a word that a text lacks falls on a column that the text has."""
    content = items()
    fitted(tmp_path / "index", content, hashing=256)
    with SemanticIndex.load(tmp_path / "index") as index:
        taken = {column(word.lower(), 256) for word in content[0].text.split()}
        strange = next(f"odd{n}" for n in range(9999) if column(f"odd{n}", 256) in taken)
        shares = index.explain(f"{strange} topic0x1", "id0", n=50).words
        found = {share.word: share.shared for share in shares}
        assert not any(there for word, there in found.items() if strange in word)


def test_damage_is_seen(tmp_path):
    fitted(tmp_path / "index", items())
    content = read_manifest(tmp_path / "index")
    content["vectorizer"]["params"]["n_features"] = 1000
    write_manifest(tmp_path / "index", content)
    with pytest.raises(InvalidFile, match="parameters of the vectorizer are damaged"):
        SemanticIndex.load(tmp_path / "index", lazy=False)


def test_a_list_of_names_that_does_not_fit_is_seen(tmp_path):
    fitted(tmp_path / "index", items())
    (path,) = (tmp_path / "index").glob("generation-*/words.json")
    names = json.loads(path.read_text())
    assert len(names) == 1024
    path.write_text(json.dumps(names[:-1]))
    with (
        pytest.raises(InvalidFile, match=r"words\.json"),
        SemanticIndex.load(tmp_path / "index", lazy=True, verify=False) as index,
    ):
        index.axes()
