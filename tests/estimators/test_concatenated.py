"""The axes of LSI and the directions of the labels as one space."""

import numpy as np
import pytest

from labelspan import LSI, MLSI, OPLS, choose_solver, tune
from labelspan.errors import InvalidParameter, Mismatch


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 15)) * np.linspace(3.0, 0.5, 15) + 1
    Y = ((X @ rng.standard_normal((15, 5)) + 2 * rng.standard_normal((80, 5))) > 1) * 1.0
    return X, Y


def unit(block):
    return block / np.linalg.norm(block)


def weighted(Y, center=True):
    """Divide each label by the root of its standard deviation."""
    return Y * np.mean((Y - Y.mean(axis=0) * center) ** 2, axis=0) ** -0.25


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("count", [4, 9, 12])
def test_it_is_both_blocks(data, count, center):
    X, Y = data
    weight = 1.2 / 1.9  # 4 beta against 1 - beta
    by_labels = min(5, int(np.ceil(weight * count)))
    options = {"alpha": 3.0, "center": center}
    model = MLSI(count, form="concatenated", beta=0.3, **options).fit(X, Y)
    left = unit(OPLS(by_labels, **options).fit(X, weighted(Y, center)).transform(X))
    right = unit(LSI(count - by_labels, center=center).fit(X).transform(X))
    found = model.transform(X)
    assert found.shape == (80, count)
    expected = weight * left @ left.T + (1 - weight) * right @ right.T
    np.testing.assert_allclose(found @ found.T, expected, atol=1e-10)
    # The axes are sorted, their squared lengths are the eigenvalues, and those add up to one.
    np.testing.assert_allclose(np.square(found).sum(axis=0), model.eigenvalues_)
    assert (np.diff(model.eigenvalues_) <= 0).all()
    np.testing.assert_allclose(model.eigenvalues_.sum(), 1.0)
    short = MLSI(count, form="concatenated", beta=0.3, scale=None, **options).fit(X, Y)
    np.testing.assert_allclose(short.transform(X), found / np.sqrt(model.eigenvalues_), atol=1e-9)
    np.testing.assert_allclose(short.label_scores(X), model.label_scores(X), atol=1e-9)


def test_no_weight_for_labels_is_lsi_and_only_labels_is_opls(data):
    X, Y = data
    found = MLSI(4, form="concatenated", beta=0.0).fit(X, Y).transform(X)
    expected = unit(LSI(4, center=True).fit(X).transform(X))
    np.testing.assert_allclose(found, expected, atol=1e-10)
    model = MLSI(4, form="concatenated", beta=1.0, alpha=2.0).fit(X, Y)
    opls = OPLS(4, alpha=2.0).fit(X, weighted(Y))
    np.testing.assert_allclose(model.transform(X), unit(opls.transform(X)), atol=1e-10)
    back = Y.std(axis=0) ** 0.5
    np.testing.assert_allclose(model.label_scores(X), opls.label_scores(X) * back, atol=1e-10)
    plain = MLSI(4, form="concatenated", beta=1.0, alpha=2.0, balance="fitted").fit(X, Y)
    opls = OPLS(4, alpha=2.0).fit(X, Y)
    np.testing.assert_allclose(plain.transform(X), unit(opls.transform(X)), atol=1e-10)
    np.testing.assert_allclose(plain.label_scores(X), opls.label_scores(X), atol=1e-10)
    with pytest.raises(InvalidParameter, match="only the 5 directions of the labels count"):
        MLSI(6, form="concatenated", beta=1.0).fit(X, Y)


def test_axes_of_the_features_predict_what_the_label_directions_leave(data):
    X, Y = data
    model = MLSI(9, form="concatenated", alpha=3.0).fit(X, Y)
    by_labels = OPLS(5, alpha=3.0).fit(X, Y).label_scores(X)
    axes = np.linalg.qr(LSI(4, center=True).fit(X).transform(X))[0]
    expected = by_labels + axes @ (axes.T @ (Y - by_labels))
    np.testing.assert_allclose(model.label_scores(X), expected, atol=1e-9)


def test_known_labels_place_rows_in_the_label_block(data):
    X, Y = data
    model = MLSI(12, form="concatenated", alpha=3.0, beta=0.5).fit(X, Y)
    added = model.transform(X, labels=Y) - model.transform(X)
    opls = OPLS(alpha=3.0).fit(X, weighted(Y))
    level = np.sqrt(4 / 5) / np.linalg.norm(opls.transform(X))
    expected = level * (weighted(Y) - weighted(Y).mean(axis=0))
    np.testing.assert_allclose(added @ added.T, expected @ expected.T, atol=1e-12)


def test_rows_without_labels_shape_the_features_block(data):
    X, Y = data
    partly = Y.copy()
    partly[50:] = -1
    model = MLSI(12, form="concatenated", alpha=3.0).fit(X, partly)
    few = MLSI(12, form="concatenated", alpha=3.0).fit(X[:50], Y[:50])
    assert not np.allclose(model.eigenvalues_, few.eigenvalues_)
    # 50 of 80 rows are known: with a given alpha, the labels weigh as much less.
    added = model.transform(X, labels=Y) - model.transform(X)
    by_labels = OPLS(alpha=3.0).fit(X[:50], weighted(Y[:50]))
    square = np.square(X @ by_labels.components_.T - (X @ by_labels.components_.T).mean(0)).sum()
    ratio = 4 * 50 / 80
    weight = ratio / (1 + ratio)
    rows = (Y - model.label_means_) * Y[:50].std(axis=0) ** -0.5
    np.testing.assert_allclose(added @ added.T, weight / square * rows @ rows.T, atol=1e-10)
    assert model.label_scores(X).shape == Y.shape


def test_what_it_does_not_take(data):
    X, Y = data
    with pytest.raises(InvalidParameter, match="form='concatenated' needs"):
        MLSI(3, form="concatenated", solver="exact").fit(X, Y)
    with pytest.raises(InvalidParameter, match="form='concatenated' needs"):
        MLSI(3, form="concatenated", label_kernel="rbf").fit(X, Y)
    with pytest.raises(AttributeError, match="partial_fit"):
        MLSI(3, form="concatenated").partial_fit(X, Y)
    with pytest.raises(Mismatch, match="tune: form='concatenated'"):
        tune(MLSI(form="concatenated"), X, Y, alpha=[1.0])
    assert choose_solver(MLSI(3, form="concatenated", alpha=1.0), X, Y).solver == "exact"


def test_it_takes_a_kernel(data):
    X, Y = data
    plain = MLSI(6, form="concatenated", alpha=1.0).fit(X, Y).transform(X)
    dual = MLSI(6, form="concatenated", alpha=1.0, kernel="precomputed").fit(X @ X.T, Y)
    found = dual.transform(X @ X.T)
    np.testing.assert_allclose(found @ found.T, plain @ plain.T, atol=1e-8)


def test_few_known_labels_weigh_as_beta_says(data):
    X, Y = data
    partly = Y.copy()
    partly[20:] = -1
    found = [MLSI(8, form="concatenated", alpha=3.0, beta=beta) for beta in (0.3, 0.5)]
    lengths = [np.square(model.fit(X, partly).transform(X)).sum(axis=0) for model in found]
    for model, beta, square in zip(found, (0.3, 0.5), lengths, strict=True):
        by_labels = np.flatnonzero(np.abs(model.label_directions_).sum(axis=0) > 0)
        assert by_labels.size == min(5, int(np.ceil(beta * 8 - 1e-6)))
        np.testing.assert_allclose(square[by_labels].sum(), beta, rtol=1e-6)
