"""``alpha="auto"``: what is chosen, for every way that data can come."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import RidgeCV

from labelspan import CCA, HSL, MLSI, OPLS
from labelspan.solvers.alpha import generalized_cross_validation

X, Y = make_multilabel_classification(150, n_features=40, n_classes=5, random_state=0)
X = X.astype(float)
MODELS = [OPLS(), CCA(), HSL(), MLSI(5), MLSI(5, center=False)]


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


def test_scores_are_those_of_scikit_learns_ridge_by_leave_one_out():
    model = OPLS().fit(X, Y)
    reference = RidgeCV(model.alpha_curve_.alphas).fit(X, Y)
    nearest = np.abs(np.log(model.alpha_curve_.alphas / model.alpha_)).argmin()
    steps = np.flatnonzero(model.alpha_curve_.alphas == reference.alpha_)[0]
    assert abs(steps - nearest) <= 1
