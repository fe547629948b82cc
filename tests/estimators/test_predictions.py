"""``score``, ``predict`` and ``decision_function``: what scikit-learn's tools ask for."""

import numpy as np
import pytest
from _support.support import classes, features, indicator
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelspan import CCA, HSL, LDA, MLSI, OPLS, PLSDA, PLSSVD

FAMILY = [MLSI(3), OPLS(), CCA(), LDA(), HSL(), PLSSVD(), PLSDA()]


@pytest.mark.parametrize("model", FAMILY, ids=str)
def test_the_score_is_that_of_the_label_scores(model):
    X = features("tall", 0)
    y = classes(60, 0) if isinstance(model, LDA) else indicator(60, 0)
    model.fit(X, y)
    Y = np.eye(4)[y] if y.ndim == 1 else y
    expected = r2_score(Y, model.label_scores(X), multioutput="variance_weighted")
    assert model.score(X, y) == pytest.approx(expected)
    # Rows with unknown labels are not counted.
    hidden = y.copy()
    hidden[::3] = -1
    known = np.arange(60) % 3 > 0
    expected = r2_score(Y[known], model.label_scores(X)[known], multioutput="variance_weighted")
    assert model.score(X, hidden) == pytest.approx(expected)


@pytest.mark.parametrize("model", FAMILY, ids=str)
def test_classes_are_predicted_by_the_largest_score(model):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = np.array(["a", "b", "c"])[y]
    model = clone(model)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, names)
    assert (model.predict(X) == names).mean() > 0.9
    scores = model.decision_function(X)
    assert scores.shape == (178, 3)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    two = names[y < 2]
    model.fit(X[y < 2], two)
    signs = model.decision_function(X[y < 2])
    assert signs.shape == (130,)
    np.testing.assert_array_equal(model.classes_[(signs > 0) * 1], model.predict(X[y < 2]))


def test_grid_search_and_pipelines():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    search = GridSearchCV(MLSI(), {"n_components": [1, 3], "beta": [0.1, 0.9]}, cv=3)
    search.fit(X[order], y[order])
    assert search.best_params_["n_components"] == 3
    # In the order of the file each fold has a class that the others do not have.
    assert np.isfinite(cross_val_score(MLSI(3), X, y, cv=3)).all()
    Y = np.eye(3)[y]
    search = GridSearchCV(OPLS(), {"alpha": [0.1, 1e6]}).fit(X[order], Y[order])
    assert search.best_params_["alpha"] == 0.1
    pipeline = make_pipeline(StandardScaler(), LDA())
    assert (cross_val_predict(pipeline, X[order], y[order]) == y[order]).mean() > 0.75
