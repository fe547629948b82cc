"""Exact search in a large index, several queries at once."""

import tracemalloc

import numpy as np
import pytest

from labelspan.datasets import make_tagged_vectors
from labelspan.index.vectors import UnitVectors, unit_rows

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
