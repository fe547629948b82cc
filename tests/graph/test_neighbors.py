"""Nearest neighbours: those of scikit-learn, ties in row order, no dependence on blocks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from labelspan.graph import neighbors
from labelspan.graph.neighbors import NeighborSearch, nearest_neighbors

KINDS = [np.asarray, sparse.csr_array]


def flat(n, seed=0, dtype=np.float64):
    """Rows near a plane of six dimensions."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, 6)) @ rng.standard_normal((6, 30))).astype(dtype)


@pytest.mark.parametrize(
    ("kind", "dtype", "metric"),
    [
        (np.asarray, np.float64, "euclidean"),
        (np.asarray, np.float32, "cosine"),
        (sparse.csr_array, np.float32, "euclidean"),
        (sparse.csr_array, np.float64, "cosine"),
    ],
)
def test_neighbours_are_those_of_scikit_learn(kind, dtype, metric):
    X, queries = flat(900, 0, dtype), flat(60, 1, dtype)
    reference = NearestNeighbors(n_neighbors=7, metric=metric, algorithm="brute")
    reference.fit(X.astype(np.float64))
    for asked in (None, queries):
        wide = None if asked is None else asked.astype(np.float64)
        far, near = reference.kneighbors(wide)
        found, values = nearest_neighbors(
            kind(X), 7, None if asked is None else kind(asked), metric=metric
        )
        np.testing.assert_array_equal(found, near)
        values = values if metric == "euclidean" else 1 - values
        np.testing.assert_allclose(values, far, atol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize(
    ("kind", "metric"), [(np.asarray, "cosine"), (sparse.csr_array, "euclidean")]
)
def test_blocks_threads_and_single_queries_change_nothing(kind, metric, monkeypatch):
    rng = np.random.default_rng(0)
    # Few different rows: most distances are shared by several.
    X = kind(rng.integers(0, 3, (300, 4)).astype(np.float32))
    found, values = nearest_neighbors(X, 12, metric=metric)
    monkeypatch.setattr(neighbors, "_ENTRIES", 7 * 300)
    monkeypatch.setattr("labelspan.operators.machine.n_threads", lambda: 3)
    again, same = nearest_neighbors(X, 12, metric=metric)
    np.testing.assert_array_equal(again, found)
    np.testing.assert_array_equal(same, values)
    search = NeighborSearch(X, metric=metric)
    for row in range(0, 300, 17):
        one, value = search.nearest(12, X[[row]], exclude=np.array([row]))
        np.testing.assert_array_equal(one[0], found[row])
        np.testing.assert_array_equal(value[0], values[row])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_of_equal_rows_the_first_are_found(metric):
    for n in (500, 40):  # 500 ties are too many to be compared one by one
        found, values = nearest_neighbors(np.ones((n, 3), dtype=np.float32), 2, metric=metric)
        assert found[[0, 1, n - 1]].tolist() == [[1, 2], [0, 2], [0, 1]]
        np.testing.assert_allclose(values, metric == "cosine", atol=1e-7)


def test_rows_of_zeros_have_cosine_zero_and_small_units_do_not():
    X = np.array([[0.0, 0.0], [1e-200, 0.0], [1e200, 1e200], [-1.0, 0.0]])
    for kind in KINDS:
        found, cosines = nearest_neighbors(kind(X), 3, metric="cosine")
        assert found.tolist() == [[1, 2, 3], [2, 0, 3], [1, 0, 3], [0, 2, 1]]
        np.testing.assert_allclose(cosines[1], [0.5**0.5, 0, -1], atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_neighbours_do_not_depend_on_the_mean(search, kind):
    X = flat(60)
    for dtype, mean in ((np.float64, 2.0**36), (np.float32, 2.0**12)):
        far = (X + mean).astype(dtype)
        near = far.astype(np.float64) - mean
        for rows, queries in ((far, None), (far[10:], far[:10])):
            plain = None if queries is None else near[:10]
            expected = nearest_neighbors(near if queries is None else near[10:], 5, plain)[0]
            asked = None if queries is None else kind(queries)
            found = nearest_neighbors(kind(rows), 5, asked, search=search)[0]
            np.testing.assert_array_equal(found, expected, err_msg=str(dtype))


def test_near_duplicates_are_ordered_by_their_true_distance():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((40, 5)), 3, axis=0)
    X[1::3] += 1e-9
    X[2::3] += 3e-9
    found, distances = nearest_neighbors(X, 2)
    first = np.arange(0, 120, 3)
    np.testing.assert_array_equal(found[first], np.stack([first + 1, first + 2], axis=1))
    np.testing.assert_allclose(distances[first, 0], 1e-9 * 5**0.5, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_approximate_search_finds_most_and_nothing_wrong(kind, metric):
    X, queries = flat(3000), flat(500, 0) + 0.01
    for asked in (None, queries):
        exact, _ = nearest_neighbors(X, 10, asked, metric=metric)
        given = None if asked is None else kind(asked)
        found, values = nearest_neighbors(kind(X), 10, given, metric=metric, search="approximate")
        assert all(len(set(row)) == 10 for row in found)
        if asked is None:
            assert not (found == np.arange(3000)[:, None]).any()
        recall = np.mean([np.isin(a, b).mean() for a, b in zip(exact, found, strict=True)])
        assert recall > (0.95 if asked is None else 0.85)
        assert (np.diff(values if metric == "euclidean" else -values, axis=1) >= 0).all()
        again = nearest_neighbors(kind(X), 10, given, metric=metric, search="approximate")[0]
        np.testing.assert_array_equal(found, again)


def test_masks_exclusion_and_few_rows(monkeypatch):
    X = flat(30)
    mask = np.arange(30) % 3 == 0
    search = NeighborSearch(X)
    found, _ = search.nearest(4, X[:5], mask=mask)
    own = np.flatnonzero(mask)
    np.testing.assert_array_equal(found, own[nearest_neighbors(X[mask], 4, X[:5])[0]])
    found, distances = search.nearest(50, exclude=np.arange(30), mask=mask)
    assert found.shape == (30, 10)
    assert (found[mask, -1] == -1).all()
    assert np.isnan(distances[mask, -1]).all()
    assert (found[~mask] >= 0).all()
    assert nearest_neighbors(X, 99)[0].shape == (30, 29)
    assert nearest_neighbors(X, 99, X[:2])[0].shape == (2, 30)
    assert nearest_neighbors(X, 3, X[:0])[0].shape == (0, 3)
    assert nearest_neighbors(X[:1], 3)[0].shape == (1, 0)
    calls = []
    monkeypatch.setattr(neighbors, "_ENTRIES", 300)
    nearest_neighbors(X, 3, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (30, 30)
