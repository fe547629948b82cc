"""What a model says: scores and predictions, ends of axes, and the solver that it takes."""

import numpy as np
import pytest
from _support.support import classes, features, indicator
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import lars_path
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS, choose_solver
from labelspan.labels import lda_factor, read_labels
from labelspan.solvers.least_squares import targets

FAMILY = [MLSI(3), OPLS(), CCA(), LDA(), HSL()]


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


@pytest.mark.parametrize("model", [LSI(2), MLSI(2), OPLS(2), CCA(2), HSL(2)], ids=str)
def test_ends_are_the_extreme_weights(model):
    X, Y = features("tall", 0), indicator(60, 0)
    model.fit(X, Y)
    names = [f"f{i}" for i in range(12)]
    found = model.top_features(1, 3, names=names)
    row = model.components_[1]
    assert [entry.name for entry in found.high] == [names[i] for i in np.argsort(-row)[:3]]
    assert [entry.weight for entry in found.low] == [row[i] for i in np.argsort(row)[:3]]
    assert model.top_features(0, 2).high[0].name == int(model.components_[0].argmax())
    if not isinstance(model, LSI):
        both = model.top_labels(0, 4)
        assert len(both.high) + len(both.low) == 4
        assert both.high[0].name == model.classes_[model.label_loadings_[0].argmax()]


def test_names_come_from_a_data_frame_and_zeros_are_left_out():
    wine = load_wine(as_frame=True)
    model = LDA(penalty="l1", alpha=3.0).fit(wine.data / wine.data.std(), wine.target)
    found = model.top_features(0, 13)
    kept = int((model.components_[0] != 0).sum())
    assert 0 < kept < 13
    assert len(found.high) + len(found.low) == kept
    assert {entry.name for entry in found.high} <= set(wine.data.columns)


def test_every_penalty_at_once_is_a_lars_path_to_the_targets():
    """The recipe of the page on least squares."""
    X, y = features("tall", 2), classes(60, 2)
    T = targets(lda_factor(read_labels(y, 60, "t")))
    alphas, _, weights = lars_path(X - X.mean(axis=0), T[:, 0], method="lasso", max_iter=6)
    fitted = LDA(1, penalty="l1", alpha=2 * 60 * alphas[4], tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(np.abs(weights[:, 4]), np.abs(fitted.components_[0]), atol=1e-5)


@pytest.mark.parametrize("shape", [(200, 12), (1500, 1300)], ids=["narrow", "wide"])
@pytest.mark.parametrize(
    "model",
    [LSI(3), MLSI(3, alpha=1.0), CCA(alpha=1.0), OPLS(2, penalty="l1", alpha=1.0)],
    ids=["LSI", "MLSI", "CCA", "OPLS-l1"],
)
def test_the_solver_that_is_named_is_what_a_fit_takes(model, shape):
    X = sparse.random_array(shape, density=0.02 if shape[1] > 12 else 0.9, rng=0, format="csr")
    Y = (X[:, [0, 1, 2]].sum(axis=1).reshape(-1, 1) > [0.0, 0.3, 0.6]).astype(int)
    model = clone(model)
    found = choose_solver(model, X, Y)
    assert not hasattr(model, "components_")
    assert found.solver == model.fit(X, Y).solver_
    assert found.reason
