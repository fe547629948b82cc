"""Changes of the data with a known effect, for every estimator with its defaults.

The order of the rows, a constant added to a column, all columns in other units, repeated rows and
float32 leave the embedding where it was, up to a scale that the units give.
"""

import numpy as np
import pytest
from _support.support import angle
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.utils import resample

from labelspan import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS, Adapter
from labelspan.estimators import KernelFeatures
from labelspan.papers.wang2010 import DLEClassifier

CENTRED = [MLSI(), OPLS(), CCA(), LDA(), HSL(), DLE(), LPP(), Adapter()]
ALL = [LSI(), *CENTRED]
SUPERVISED = [MLSI(), OPLS(), CCA(), LDA(), HSL(), DLE()]
# Estimators whose number of components does not depend on the number of rows.
SIZED = {"LSI": 5, "MLSI": 5, "LPP": 5, "Adapter": 5}


def data(model, seed, rows=150):
    X, Y = make_multilabel_classification(
        rows, n_features=25, n_classes=4, n_labels=2, random_state=seed
    )
    X = X + 0.3 * np.random.default_rng(seed).standard_normal(X.shape)
    # Columns have different lengths, so that eigenvalues are apart.
    X *= np.linspace(0.5, 2.0, X.shape[1])
    return X, Y.argmax(axis=1) if isinstance(model, LDA) else Y


def made(model):
    name = type(model).__name__
    return clone(model).set_params(n_components=SIZED[name]) if name in SIZED else clone(model)


def same(one, other, tolerance):
    """Compare the spaces of two embeddings of the same rows, and label scores if they have any."""
    assert one.shape == other.shape
    assert angle(one, other) < tolerance


# The comparison of an adapter draws rows at random, and may choose another beta in another order.
ORDERED = [*ALL[:-1], Adapter(compare=False)]


@pytest.mark.parametrize("model", ORDERED, ids=str)
def test_the_order_of_rows_does_not_matter(model):
    X, y = data(model, 0)
    order = np.random.default_rng(0).permutation(X.shape[0])
    one, other = made(model).fit(X, y), made(model).fit(X[order], y[order])
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-6)
    same(one.transform(X), other.transform(X), 1e-5)
    if hasattr(one, "label_scores"):
        np.testing.assert_allclose(one.label_scores(X), other.label_scores(X), atol=1e-6)


@pytest.mark.parametrize("constant", [3.0, -1e4])
@pytest.mark.parametrize("model", CENTRED, ids=str)
def test_a_constant_added_to_a_column_does_not_matter(model, constant):
    X, y = data(model, 2)
    shift = np.zeros(X.shape[1])
    shift[[1, 4]] = constant, -2 * constant
    one, other = made(model).fit(X, y), made(model).fit(X + shift, y)
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-5)
    same(one.transform(X), other.transform(X + shift), 1e-4)
    if hasattr(one, "label_scores"):
        np.testing.assert_allclose(one.label_scores(X), other.label_scores(X + shift), atol=1e-5)


@pytest.mark.parametrize("factor", [1e-6, 7.0, 1e9])
@pytest.mark.parametrize("model", ALL, ids=str)
def test_all_columns_in_other_units_give_the_same_space(model, factor):
    X, y = data(model, 3)
    one, other = made(model).fit(X, y), made(model).fit(factor * X, y)
    same(one.transform(X), other.transform(factor * X), 1e-5)
    if hasattr(one, "label_scores"):
        np.testing.assert_allclose(one.label_scores(X), other.label_scores(factor * X), atol=1e-5)
        np.testing.assert_array_equal(one.predict(X), other.predict(factor * X))


@pytest.mark.parametrize("model", [LSI(), MLSI(), OPLS(), CCA(), LDA(), HSL()], ids=str)
def test_repeated_rows_are_the_same_data(model):
    """With a given alpha, twice as large for rows that are there twice; defaults otherwise."""
    X, y = data(model, 4)
    one, other = made(model), made(model)
    if "alpha" in one.get_params():
        one.set_params(alpha=10.0)
        other.set_params(alpha=20.0)
    one.fit(X, y)
    other.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2, axis=0))
    same(one.transform(X), other.transform(X), 1e-5)
    if hasattr(one, "label_scores"):
        np.testing.assert_allclose(one.label_scores(X), other.label_scores(X), atol=1e-6)


@pytest.mark.parametrize("model", ALL, ids=str)
def test_rows_drawn_with_repetition_are_fitted(model):
    """Many copies, of which leave-one-out knows nothing: finite, and no worse than a constant."""
    X, y = data(model, 5)
    X, y = resample(X, y, n_samples=150, random_state=0)
    found = made(model).fit(X, y)
    assert np.isfinite(found.transform(X)).all()
    if hasattr(found, "label_scores") and hasattr(found, "score"):
        assert found.score(X, y) > 0


@pytest.mark.parametrize("model", ALL, ids=str)
def test_float32_gives_the_same_space(model):
    X, y = data(model, 6)
    single = X.astype(np.float32)
    one, other = made(model).fit(single.astype(np.float64), y), made(model).fit(single, y)
    assert other.transform(single).dtype == np.float32
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-3)
    same(one.transform(single.astype(np.float64)), np.float64(other.transform(single)), 1e-2)
    if hasattr(one, "label_scores"):
        np.testing.assert_allclose(one.label_scores(single), other.label_scores(single), atol=1e-3)


@pytest.mark.parametrize("model", [CCA(alpha=0.0), LDA(alpha=0.0)], ids=str)
def test_the_units_of_each_column_do_not_matter_without_a_penalty(model):
    X, y = data(model, 7)
    units = 10.0 ** np.linspace(-4, 4, X.shape[1])
    one, other = clone(model).fit(X, y), clone(model).fit(X * units, y)
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-6)
    same(one.transform(X), other.transform(X * units), 1e-4)


@pytest.mark.parametrize("model", [*SUPERVISED, Adapter()], ids=str)
def test_the_order_and_the_names_of_labels_do_not_matter(model):
    X, y = data(model, 10)
    order = np.array([2, 0, 3, 1])
    other = np.array(list("dabc"))[y] if y.ndim == 1 else y[:, order]
    one, two = made(model).fit(X, y), made(model).fit(X, other)
    np.testing.assert_allclose(one.eigenvalues_, two.eigenvalues_, rtol=1e-6)
    same(one.transform(X), two.transform(X), 1e-5)
    if hasattr(one, "predict"):
        found = one.predict(X)
        expected = np.array(list("dabc"))[found] if y.ndim == 1 else found[:, order]
        np.testing.assert_array_equal(two.predict(X), expected)


@pytest.mark.parametrize("model", [*SUPERVISED, Adapter()], ids=str)
def test_rows_without_labels_are_marked_in_any_way(model):
    """By -1 or NaN, and left out by methods that learn from labelled rows only."""
    X, y = data(model, 11)
    minus = y.copy()
    minus[::4] = -1
    one, two = made(model).fit(X, minus), made(model).fit(X, np.where(minus < 0, np.nan, minus))
    np.testing.assert_array_equal(one.components_, two.components_)
    if isinstance(model, (OPLS, CCA, LDA, HSL)):
        known = np.arange(X.shape[0]) % 4 > 0
        left = made(model).fit(X[known], y[known])
        np.testing.assert_array_equal(left.components_, one.components_)
        np.testing.assert_array_equal(left.predict(X), one.predict(X))


def test_predictions_do_not_depend_on_the_order_of_rows():
    # The leverage behind thresholds is estimated with random signs of the rows.
    for model, tolerance in {
        LDA(): 0,
        DLE(): 0,
        DLEClassifier(): 0,
        OPLS(): 0.02,
        MLSI(): 0.02,
    }.items():
        X, y = data(model, 8)
        order = np.random.default_rng(8).permutation(X.shape[0])
        one, other = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
        assert np.mean(one.predict(X) != other.predict(X)) <= tolerance, model


def test_kernel_features_keep_distances():
    X, _ = data(LSI(), 9)
    order = np.random.default_rng(9).permutation(X.shape[0])
    one = KernelFeatures().fit_transform(X)
    other = KernelFeatures().fit_transform(X[order])
    np.testing.assert_allclose((one @ one.T)[np.ix_(order, order)], other @ other.T, atol=1e-8)
    shifted = KernelFeatures().fit_transform(X + 1e5)
    np.testing.assert_allclose(one @ one.T, shifted @ shifted.T, atol=1e-6)


def test_the_comparison_can_fail():
    X, y = data(OPLS(), 0)
    with pytest.raises(AssertionError):
        same(OPLS().fit(X, y).transform(X), OPLS().fit(X[:75], y[:75]).transform(X), 1e-5)
