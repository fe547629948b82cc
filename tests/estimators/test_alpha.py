"""``alpha="auto"``: what is chosen, for every way that data can come."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import RidgeCV

from labelspan import CCA, HSL, MLSI, OPLS, KernelFeatures, tune
from labelspan.errors import InvalidParameter, Mismatch, UncertainPenalty
from labelspan.estimators import _options
from labelspan.operators import Operator, as_operator
from labelspan.solvers.alpha import choose_alpha, generalized_cross_validation

X, Y = make_multilabel_classification(150, n_features=40, n_classes=5, random_state=0)
X = X.astype(float)
MODELS = [OPLS(), CCA(), HSL(), MLSI(5), MLSI(5, center=False)]


class ProductsOnly(Operator):
    """Rows that never come together, as on the workers of a cluster."""

    dual = False

    def __init__(self, values):
        super().__init__(values.shape, values.dtype)
        self._values = values

    def _matmat(self, block):
        return self._values @ block

    def _rmatmat(self, block):
        return self._values.T @ block

    def toarray(self):
        raise Mismatch("no dense form")

    def cogram(self):
        raise Mismatch("rows of different machines")


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_choice_minimises_the_leave_one_out_error_of_ridge(model):
    model = clone(model).fit(X, Y)
    centred = model.center
    A, B = (X - X.mean(axis=0), Y - Y.mean(axis=0)) if centred else (X, Y)

    def error(alpha):
        hat = A @ np.linalg.solve(A.T @ A + alpha * np.eye(40), A.T)
        left = 1 - np.diag(hat) - (1 / 150 if centred else 0)
        return np.square((B - hat @ B) / left[:, None]).sum() / 150

    here = error(model.alpha_)
    np.testing.assert_allclose(here, model.alpha_curve_.error, rtol=1e-9)
    assert here <= min(error(model.alpha_ * factor) for factor in (0.5, 0.9, 1.1, 2.0))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_space_is_that_of_the_chosen_number(model):
    auto = clone(model).fit(X, Y)
    given = clone(model).set_params(alpha=auto.alpha_).fit(X, Y)
    np.testing.assert_allclose(auto.transform(X), given.transform(X), rtol=1e-9, atol=1e-12)
    assert given.alpha_ == auto.alpha_
    assert given.alpha_curve_ is None


def test_sparse_kernels_and_repeats_choose_the_same():
    number = OPLS().fit(X, Y).alpha_
    np.testing.assert_allclose(OPLS().fit(sparse.csr_array(X), Y).alpha_, number, rtol=1e-6)
    inner = X @ X.T
    found = OPLS().fit(KernelFeatures("precomputed").fit_transform(inner), Y).alpha_
    np.testing.assert_allclose(found, number, rtol=1e-4)


def test_units_of_x_square():
    one, ten = OPLS().fit(X, Y), OPLS().fit(10 * X, Y)
    np.testing.assert_allclose(ten.alpha_, 100 * one.alpha_, rtol=1e-6)


def test_unlabelled_rows_do_not_take_part():
    part = np.where(np.arange(150)[:, None] < 60, Y, -1)
    for model in (OPLS(), MLSI(5)):
        with_rows = clone(model).fit(X, part).alpha_
        np.testing.assert_allclose(with_rows, clone(model).fit(X[:60], Y[:60]).alpha_, rtol=1e-9)


def test_streams_choose_by_generalized_cross_validation():
    stream = OPLS()
    for rows in np.array_split(np.arange(150), 4):
        stream.partial_fit(X[rows], Y[rows])
    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0)
    curve = generalized_cross_validation(A.T @ A, A.T @ B, np.square(B).sum(), rows=150)
    np.testing.assert_allclose(stream.alpha_, curve.alpha, rtol=1e-6)
    assert 0.5 < stream.alpha_ / OPLS().fit(X, Y).alpha_ < 2


def test_a_stream_of_few_rows_says_that_its_choice_means_little(monkeypatch):
    rng = np.random.default_rng(0)
    rows, targets = rng.standard_normal((20, 60)), rng.standard_normal((20, 2))

    def smallest(*products, **options):
        # With fewer rows than columns roundings decide, so the choice is made here.
        curve = generalized_cross_validation(*products, **options)
        return replace(curve, alpha=curve.alphas[0])

    monkeypatch.setattr(_options, "generalized_cross_validation", smallest)
    with pytest.warns(UncertainPenalty, match="20 rows and 60 columns chose the smallest penalty"):
        assert OPLS().partial_fit(rows, targets).alpha_ > 0


@pytest.mark.parametrize("shape", [(150, 40), (40, 150)])
@pytest.mark.parametrize("intercept", [True, False])
def test_rows_on_other_machines_choose_by_products(shape, intercept, monkeypatch):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal(shape)
    labels = rows[:, :3] + 2 * rng.standard_normal((shape[0], 3))
    here = as_operator(rows)
    apart = ProductsOnly(rows)
    choices = [choose_alpha(X, labels, intercept=intercept).alpha for X in (here, apart)]
    np.testing.assert_allclose(*choices, rtol=1e-6)
    # Both sides beyond the limit: held-out rows, in a space of products.
    monkeypatch.setattr("labelspan.solvers.problem._DENSE_SIDE", 30)
    choices = [choose_alpha(X, labels, intercept=intercept).alpha for X in (here, apart)]
    np.testing.assert_allclose(*choices, rtol=1e-6)


def test_the_one_norm_needs_a_number():
    with pytest.raises(InvalidParameter, match="penalty='l1' needs a number for alpha"):
        OPLS(penalty="l1").fit(X, Y)
    with pytest.raises(InvalidParameter, match="alpha must be"):
        OPLS(alpha="best").fit(X, Y)


def test_tune_takes_auto_among_numbers():
    found = tune(OPLS(), X, Y, alpha=["auto", 1e8])
    assert found.best_params["alpha"] == "auto"
    assert found.best_estimator.alpha_ == OPLS().fit(X, Y).alpha_


def test_scores_are_those_of_scikit_learns_ridge_by_leave_one_out():
    model = OPLS().fit(X, Y)
    reference = RidgeCV(model.alpha_curve_.alphas).fit(X, Y)
    nearest = np.abs(np.log(model.alpha_curve_.alphas / model.alpha_)).argmin()
    steps = np.flatnonzero(model.alpha_curve_.alphas == reference.alpha_)[0]
    assert abs(steps - nearest) <= 1
