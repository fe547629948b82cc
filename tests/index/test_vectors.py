"""Unit vectors: exact search, many queries at once, and items placed by their known labels."""

import tracemalloc

import numpy as np
import pytest
from _support.stored import rewritten
from _support.support import tagged_vectors

from labelspan import Adapter, SemanticIndex
from labelspan.errors import InvalidFile
from labelspan.index.label_table import LabelTable
from labelspan.index.vectors import LabelDirections, UnitVectors, label_places, unit_rows

# --- exact search -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def base():
    X, _ = tagged_vectors(3040, 24, 40, rank=16)
    return unit_rows(X - X.mean(axis=0))


@pytest.mark.parametrize(
    ("k", "sizes"), [(1, (64, 3)), (10, (5000, 7)), (300, (1 << 22, 256)), (5000, (64, 3))]
)
def test_many_queries_are_answered_like_single_ones(base, k, sizes, monkeypatch):
    base, queries = base[:3000], base[3000:]
    vectors = UnitVectors(base[:2500])
    vectors.append(base[2500:])
    vectors.drop(np.array([0, 17, 2700]))
    one_by_one = [vectors.top(query[None], k)[0] for query in queries]
    monkeypatch.setattr("labelspan.index.vectors._SCORES_AT_ONCE", sizes[0])
    monkeypatch.setattr("labelspan.index.vectors._QUERIES_AT_ONCE", sizes[1])
    for found, expected in zip(vectors.top(queries, k), one_by_one, strict=True):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    for query, (rows, found) in zip(queries, one_by_one, strict=True):
        cosines = base.astype(float) @ query.astype(float)
        cosines[[0, 17, 2700]] = -1
        best = np.argsort(-cosines, kind="stable")[:k]
        np.testing.assert_allclose(found, cosines[best[: len(found)]], atol=1e-12)
        assert len(rows) == min(k, np.count_nonzero(cosines > vectors.slack))


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


def test_estimates_are_products_and_warn_of_nothing():
    rng = np.random.default_rng(3)
    rows, query = rng.standard_normal((40, 9)).astype("f4"), rng.standard_normal(9).astype("f4")
    vectors = UnitVectors(rows[:30])
    vectors.append(rows[30:])
    some = np.array([35, 2, 39, 0, 30])
    found = vectors.estimates(query, some)
    np.testing.assert_allclose(found, rows[some].astype(float) @ query.astype(float), atol=1e-5)
    assert found.dtype == np.float32
    assert vectors.estimates(query, some[:0]).shape == (0,)
    # As in a damaged file that is read without checks; BLAS raises a flag, and numpy warns.
    rows[2], query[0] = np.inf, 0.0
    with pytest.warns(RuntimeWarning, match="invalid value"):
        rows[some] @ query
    assert np.isnan(UnitVectors(rows).estimates(query, some)[1])


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


# --- places by known labels ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_places_are_those_of_the_formula(seed):
    rng = np.random.default_rng(seed)
    U = unit_rows(rng.standard_normal((50, 6)))
    Y = (rng.random((50, 3)) < 0.4).astype(float)
    Y[::5] = 0
    found = LabelDirections(rng.standard_normal((3, 6)), rng.random(3))
    known = Y.any(axis=1)
    P = np.where(known[:, None], (Y - found.means) @ found.directions, 0.0)
    Z = U + P / np.sqrt(np.square(P[known]).sum(axis=1).mean())
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    table = LabelTable.of([tuple(f"l{j}" for j in np.flatnonzero(row)) for row in Y])
    # A label that came after the fit has no direction.
    labels = table.changed({0: (*(table.labels(0) or ()), "new")}).matrix()
    vectors = UnitVectors(U[:30])
    vectors.append(U[30:])
    np.testing.assert_allclose(label_places(vectors, labels, found).base, Z, atol=1e-6)
    # No label has a direction: items stay where they are.
    nowhere = LabelDirections(found.directions[:0], found.means[:0])
    np.testing.assert_allclose(label_places(vectors, labels, nowhere).base, U, atol=1e-6)


def test_more_like_this_goes_by_labels_and_vectors(tmp_path):
    """In an index of vectors in which labels hide behind noise."""
    rng = np.random.default_rng(0)
    Y = rng.random((200, 4)) < 0.3
    X = Y @ rng.standard_normal((4, 30)) + 2 * rng.standard_normal((200, 30))
    lists = [[f"l{j}" for j in np.flatnonzero(row)] for row in Y]
    index = SemanticIndex(estimator=Adapter(10, beta=0.5, compare=False))
    index.fit([""] * 200, lists, vectors=X)
    assert index.model.space.directions is not None

    def shared(name, hits):
        own = set(lists[int(name)])
        return np.mean([len(own & set(hit.labels)) / len(own | set(hit.labels)) for hit in hits])

    asked = [str(n) for n in range(200) if lists[n]]
    places, vectors = np.zeros(len(asked)), np.zeros(len(asked))
    for row, name in enumerate(asked):
        places[row] = shared(name, index.search(items=name))
        near = index.store.vectors.top(index.vectors([name]), 11)[0][0]
        vectors[row] = shared(name, [index.item(str(n)) for n in near if str(n) != name])
    assert places.mean() > vectors.mean() + 0.1
    hits = index.search(items="3")
    assert index.explain(None, hits[0].id, items="3").score == pytest.approx(
        hits[0].score, abs=1e-6
    )
    # The same from a folder, and after changes there.
    index.save(tmp_path / "i")
    with SemanticIndex.load(tmp_path / "i", write=True) as again:
        assert again.search(items="3") == hits
        moved = next(name for name in asked if not set(lists[3]) & set(lists[int(name)]))

        def score():
            return sum(h.score for h in again.search(items="3", k=199) if h.id == moved)

        before = score()
        again.relabel(moved, lists[3])
        assert score() > before
        again.add([""], [["l0", "never seen"]], ["new"], vectors=X[:1])
        assert any(h.id == "new" for h in again.search(items="0", k=199))
        again.save()
    wrong = index.model.space.directions.directions[:, :3]
    rewritten(tmp_path / "i", "space", estimator_label_directions_=wrong)
    with pytest.raises(InvalidFile, match="embedding do not fit together"):
        SemanticIndex.load(tmp_path / "i")
