"""Search in a large index: several queries at once, exact and approximate."""

import tracemalloc
from importlib.util import find_spec

import numpy as np
import pytest

from labelspan.datasets import make_tagged_vectors
from labelspan.errors import InvalidFile
from labelspan.index import ann
from labelspan.index.ann import AnnIndex, check_ann, nearest
from labelspan.index.vectors import UnitVectors, unit_rows

needs_usearch = pytest.mark.skipif(
    find_spec("usearch") is None, reason="usearch is not installed: pip install 'labelspan[ann]'"
)
ROWS, WIDTH = 3000, 24


def synthetic_vectors(count=ROWS, seed=0, width=WIDTH):
    """Unit vectors of mixtures of labels, as an index would hold them."""
    X = make_tagged_vectors(count, width, 40, rank=16, random_state=seed).X
    return unit_rows(X - X.mean(axis=0))


@pytest.fixture(scope="module")
def base():
    return synthetic_vectors()


@pytest.fixture(scope="module")
def queries():
    # The labels' directions are drawn first: with the same seed they are the same.
    return synthetic_vectors(40)


def same(found, expected):
    assert len(found) == len(expected)
    for (rows, scores), (more, others) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(rows, more)
        np.testing.assert_array_equal(scores, others)


# --- exact, many at once ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "sizes"), [(1, (64, 3)), (10, (5000, 7)), (300, (1 << 22, 256)), (5000, (64, 3))]
)
def test_many_queries_are_answered_like_single_ones(base, queries, k, sizes, monkeypatch):
    vectors = UnitVectors(base[:2500])
    vectors.append(base[2500:])
    vectors.drop(np.array([0, 17, 2700]))
    one_by_one = [vectors.top(query[None], k)[0] for query in queries]
    monkeypatch.setattr("labelspan.index.vectors._SCORES_AT_ONCE", sizes[0])
    monkeypatch.setattr("labelspan.index.vectors._QUERIES_AT_ONCE", sizes[1])
    same(vectors.top(queries, k), one_by_one)
    wide = base.astype(float)
    for query, (rows, found) in zip(queries, one_by_one, strict=True):
        cosines = wide @ query.astype(float)
        cosines[[0, 17, 2700]] = -1
        best = np.argsort(-cosines, kind="stable")[:k]
        np.testing.assert_allclose(found, cosines[best[: len(found)]], atol=1e-12)
        assert len(rows) == min(k, np.count_nonzero(cosines > 1e-5))


def test_rows_that_float32_cannot_distinguish_are_ranked_in_float64(monkeypatch):
    rng = np.random.default_rng(0)
    middle = unit_rows(rng.standard_normal((1, 100)))
    close = middle + 3e-8 * rng.standard_normal((400, 100)).astype(np.float32)
    vectors = UnitVectors(close.astype(np.float32))
    exact = (vectors.base * middle[0].astype(float)).sum(axis=1)
    expected = np.lexsort((np.arange(400), -exact))[:20]
    for size in (1 << 22, 100, 1):
        monkeypatch.setattr("labelspan.index.vectors._SCORES_AT_ONCE", size)
        for rows in (middle, np.repeat(middle, 5, axis=0)):
            np.testing.assert_array_equal(vectors.top(rows, 20)[-1][0], expected)


def test_memory_is_bounded_for_any_number_of_queries():
    rng = np.random.default_rng(0)
    vectors = UnitVectors(unit_rows(rng.standard_normal((20_000, 16))))
    asked = unit_rows(rng.standard_normal((1000, 16)))
    tracemalloc.start()
    vectors.top(asked, 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All scores at once would be 80 MB.
    assert peak < 40e6


# --- approximate -------------------------------------------------------------------------


@needs_usearch
def test_approximate_search_finds_nearly_all_and_scores_are_exact(base, queries):
    vectors = UnitVectors(base)
    found, proposed = nearest(vectors, AnnIndex.build(base), queries, 10, vectors.alive)
    exact = vectors.top(queries, 10)
    assert proposed
    hits = [len(set(a) & set(b)) for (a, _), (b, _) in zip(found, exact, strict=True)]
    assert np.mean(hits) > 9.8
    for (rows, scores), query in zip(found, queries, strict=True):
        np.testing.assert_array_equal(scores, vectors.rank(query, rows, 10)[1])
    one, _ = nearest(vectors, AnnIndex.build(base), queries[:1], 10, vectors.alive)
    same(one, found[:1])


@needs_usearch
@pytest.mark.parametrize(
    ("share", "k", "proposed"), [(0.9, 10, True), (0.2, 10, False), (1, 257, False)]
)
def test_narrow_filters_and_many_answers_are_exact(base, queries, share, k, proposed):
    vectors = UnitVectors(base)
    mask = np.random.default_rng(0).random(ROWS) < share
    found, used = nearest(vectors, AnnIndex.build(base), queries, k, mask)
    assert used is proposed
    assert [len(rows) for rows, _ in found] == [
        len(rows) for rows, _ in vectors.top(queries, k, mask)
    ]
    assert all(mask[rows].all() for rows, _ in found)


# --- an invalid ann index -----------------------------------------------------------------


@needs_usearch
def test_an_ann_index_with_wrong_links_is_refused_with_any_hash(base):
    index = AnnIndex.build(base)
    content, empty = bytes(index._index.save()), bytes(ann._empty(WIDTH).save())
    check_ann(content, empty, ROWS)
    nodes = 8 + ROWS * 2 * WIDTH + 64 + 40
    ground = nodes + 2 * ROWS
    wrong = {
        "another matrix": (0, (ROWS + 1).to_bytes(4, "little")),
        "another head": (8 + ROWS * 2 * WIDTH + 33, b"\xff"),
        "another size": (nodes - 32, b"\x11"),
        "the highest level": (nodes - 16, b"\x09"),
        "a level or its entry": (nodes - 8, b"\xff\xff"),
        "a key": (ground, (ROWS).to_bytes(8, "little")),
        "a node's level": (ground + 8, b"\x01\x00"),
        "a count of links": (ground + 10, b"\x21"),
        "a link": (ground + 14, (ROWS).to_bytes(4, "little")),
    }
    for what, (place, data) in wrong.items():
        changed = content[:place] + data + content[place + len(data) :]
        with pytest.raises(InvalidFile, match=what):
            check_ann(changed, empty, ROWS)
    for cut in (0, 3, 50, len(content) // 2, len(content) - 1):
        with pytest.raises(InvalidFile, match="not valid"):
            check_ann(content[:cut], empty, ROWS)
