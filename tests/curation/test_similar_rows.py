"""Pairs of rows that are nearly the same, compared with all pairs."""

import numpy as np
import pytest
from scipy import sparse

from labelspan.curation.similar_rows import similar_rows


def rows_with_near_duplicates(seed, n=120, d=60):
    """Sparse rows, some of them slightly changed copies of others."""
    rng = np.random.default_rng(seed)
    rows = rng.exponential(size=(n, d)) * (rng.random((n, d)) < 0.2)
    for row in range(0, n, 4):
        noise = rng.choice([0.01, 0.1, 0.6])
        rows[row + 1] = rows[row] * (1 + rng.uniform(-noise, noise, d))
        rows[row + 1, rng.integers(d)] += noise * rng.random()
    rows[7] = 0
    return rows


@pytest.mark.parametrize(
    ("seed", "least", "kind"),
    [(0, 0.5, np.asarray), (1, 0.9, sparse.csr_matrix), (2, 0.99, np.asarray)],
)
def test_similar_rows_are_those_of_all_pairs(seed, least, kind, monkeypatch):
    monkeypatch.setattr("labelspan.curation.similar_rows._ENTRIES", 1000)
    rows = rows_with_near_duplicates(seed)
    units = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    cosines = np.triu(units @ units.T, 1)
    found = similar_rows(kind(rows), least)
    expected = list(zip(*np.nonzero(cosines >= least), strict=True))
    assert [pair[:2] for pair in found] == expected
    assert len(found) > 3
    for a, b, cosine in found:
        assert cosine == pytest.approx(cosines[a, b])


def test_many_equal_rows_list_some_each():
    found = similar_rows(np.ones((200, 3)), 0.9)
    assert len(found) <= 200 * 20
    assert {row for pair in found for row in pair[:2]} == set(range(200))
    assert all(cosine == pytest.approx(1) for *_, cosine in found)


def test_rows_without_features_are_similar_to_none():
    assert similar_rows(np.zeros((3, 2)), 0.9) == []
    assert similar_rows(np.zeros((0, 2)), 0.9) == []
