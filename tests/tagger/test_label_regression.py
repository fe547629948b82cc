"""The regression of labels: its definition, and scores of models without a row."""

import numpy as np
import pytest
from scipy import sparse

from labelspan.tagger.label_regression import FeatureRows, LabelledRows, LabelRegression
from labelspan.tagger.learning import leading_directions

ALPHA = 0.7


def data(n=120, d=300, k=7, dense=False, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.1, "csr", np.float32, rng)
    # Two rows that are equal, an empty one, and a label of one row.
    X = sparse.csr_matrix(sparse.vstack([X[:-2], X[:1], sparse.csr_matrix((1, d))])).tolil()
    # And features of one row and of two.
    X[:, :2] = 0
    X[3, 0], X[[3, 17], 1] = 1.0, 0.5
    X = X.tocsr()
    labels = rng.random((n, k)) < 0.2
    labels[:, 0] = False
    labels[3, 0] = True
    X = X.astype(np.float32)
    return (X.toarray() if dense else X), sparse.csr_matrix(labels.astype(np.float32))


def model(X, Y, directions=None):
    directions = leading_directions(X) if directions is None else directions
    return LabelRegression(LabelledRows(FeatureRows(X, directions), Y), ALPHA)


def full_axes(directions, d):
    """Directions with the components of all features."""
    axes = np.zeros((d, directions.axes.shape[1]))
    axes[directions.columns] = directions.axes
    return axes


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("rows", [120, 30])
def test_scores_follow_their_definition(dense, rows, scaled):
    X, Y = data(dense=dense)
    found = model(X, Y)
    view = found.rows.view(X[:rows], scaled=scaled)
    lead, rest = found.terms(view)
    twice = found.terms(found.rows.view(X[:rows]), view)
    np.testing.assert_allclose([twice[0], twice[2]], [lead, rest], atol=1e-4)
    full = X if dense else X.toarray()
    V = full_axes(found.rows.items.directions, 300)
    Z = np.column_stack([full @ V, np.ones(120)])
    B = np.linalg.solve(Z.T @ Z + ALPHA * np.eye(Z.shape[1]), Z.T @ Y.toarray())
    often = (full != 0).sum(axis=0) > 1
    asked = full * often / np.linalg.norm(full, axis=0) if scaled else full
    kernel = asked @ full.T - asked @ V @ V.T @ full.T
    np.testing.assert_allclose(lead, (Z @ B)[:rows], atol=1e-4)
    np.testing.assert_allclose(rest, (kernel @ (Y.toarray() - Z @ B))[:rows], atol=1e-3)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_rows_are_scored_as_by_a_model_without_them(dense, scaled):
    X, Y = data(dense=dense)
    found = model(X, Y)
    every = np.arange(120)
    lead, rest = found.terms(found.rows.view(X, every, scaled))
    for row in (0, 3, 17, 118, 119):
        others = every != row
        separate = model(X[others], Y[others], found.rows.items.directions)
        expected = separate.terms(separate.rows.view(X[[row]], scaled=scaled))
        np.testing.assert_allclose([lead[row], rest[row]], np.vstack(expected), atol=1e-4)
        weights = found.feature_weights(2, row)
        for one, other in zip(weights, separate.feature_weights(2), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)
        asked = found.rows.items.scaled(X[[row]], np.array([row])) if scaled else X[[row]]
        own = [float((X[[row]] @ weights[0])[0]) + weights[2], float((asked @ weights[1])[0])]
        np.testing.assert_allclose(own, [lead[row, 2], rest[row, 2]], atol=1e-4)
    # Rows that are not among them are scored with all.
    mixed = found.terms(found.rows.view(X[:3], np.array([-1, 1, -1]), scaled))[1]
    whole = found.terms(found.rows.view(X[:3], scaled=scaled))[1]
    np.testing.assert_allclose(mixed[[0, 2]], whole[[0, 2]], atol=1e-4)
    np.testing.assert_allclose(mixed[1], rest[1], atol=1e-4)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_new_rows_have_the_same_scores_by_the_weights_of_features(dense, scaled, monkeypatch):
    X, Y = data(dense=dense, k=24)
    found, new = model(X, Y), X[[5, 9]]
    expected = found.terms(found.rows.view(new, scaled=scaled))
    # The first rows are fewer than the weights cost.
    for _ in range(3):
        one = found.terms_of_new(new[:1], scaled)
        np.testing.assert_allclose(np.vstack(one), [term[0] for term in expected], atol=1e-4)
    assert "_all_weights" not in vars(found)
    np.testing.assert_allclose(found.terms_of_new(new, scaled), expected, atol=1e-4)
    assert "_all_weights" in vars(found)
    # Few labels at a time.
    monkeypatch.setattr("labelspan.tagger.label_regression._ENTRIES", 2000)
    again = model(X, Y)
    again.terms_of_new(X, scaled)
    for one, other in zip(again._all_weights, found._all_weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_directions_are_orthonormal_and_explain_the_mean():
    X, _ = data()
    found = full_axes(leading_directions(X), 300)
    np.testing.assert_allclose(found.T @ found, np.eye(found.shape[1]), atol=5e-3)
    mean = np.asarray(X.mean(axis=0)).ravel()
    assert np.linalg.norm(mean - found @ (found.T @ mean)) < 2e-3 * np.linalg.norm(mean)
    assert leading_directions(np.zeros((1, 4), np.float32)).axes.shape == (4, 0)
    assert leading_directions(sparse.csr_matrix((9, 4), dtype=np.float32)).axes.shape == (0, 0)
    assert np.isfinite(leading_directions(np.zeros((9, 4), np.float32)).axes).all()


def test_rare_features_are_left_to_the_remainders():
    X, Y = data(n=900, d=300)
    X = sparse.csr_matrix(X.multiply(np.random.default_rng(1).random((1, 300)) ** 4 > 0.02))
    X = sparse.csr_matrix(sparse.hstack([X, sparse.eye(900, 5)])).astype(np.float32)
    found = model(X, Y)
    counts = np.bincount(X.indices, minlength=305)
    np.testing.assert_array_equal(found.rows.items.directions.columns, np.flatnonzero(counts >= 5))
    # The scores still depend on them.
    column = np.flatnonzero(np.diff(Y.tocsc().indptr))[1]
    weights = found.feature_weights(int(column))
    assert not weights[0][300:].any()
    assert weights[1][300:].any()
