"""What a model says: scores and predictions, ends of axes, and the solver that it takes."""

import numpy as np
import pytest
from _support.support import classes, features, indicator
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris, load_wine, make_multilabel_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import lars_path
from sklearn.metrics import accuracy_score, f1_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelspan import CCA, DLE, HSL, LDA, LSI, MLSI, OPLS, choose_solver
from labelspan.datasets import load_debtags
from labelspan.errors import Mismatch
from labelspan.estimators.thresholds import _best_cut, best_thresholds
from labelspan.labels import lda_factor, read_labels
from labelspan.papers.sun2009.least_squares import LeastSquares, targets

FAMILY = [MLSI(3), OPLS(), CCA(), LDA(), HSL()]


@pytest.mark.parametrize("model", [MLSI(3), OPLS(), CCA(), HSL()], ids=str)
def test_the_score_is_that_of_the_label_scores(model):
    X, y = features("tall", 0), indicator(60, 0)
    Y = y
    model.fit(X, y)
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
    model = LDA(alpha=3.0, solver=LeastSquares("l1")).fit(wine.data / wine.data.std(), wine.target)
    found = model.top_features(0, 13)
    kept = int((model.components_[0] != 0).sum())
    assert 0 < kept < 13
    assert len(found.high) + len(found.low) == kept
    assert {entry.name for entry in found.high} <= set(wine.data.columns)


def test_every_penalty_at_once_is_a_lars_path_to_the_targets():
    """The recipe of the page on least squares."""
    X, y = features("tall", 2), classes(60, 2)
    T = targets(lda_factor(read_labels(y, 60, "t")).toarray())
    alphas, _, weights = lars_path(X - X.mean(axis=0), T[:, 0], method="lasso", max_iter=6)
    lasso = LeastSquares("l1", tol=1e-10, max_iter=100_000)
    fitted = LDA(1, alpha=2 * 60 * alphas[4], solver=lasso).fit(X, y)
    np.testing.assert_allclose(np.abs(weights[:, 4]), np.abs(fitted.components_[0]), atol=1e-5)


@pytest.mark.parametrize("shape", [(200, 12), (1500, 1300)], ids=["narrow", "wide"])
@pytest.mark.parametrize(
    "model",
    [LSI(3), MLSI(3, alpha=1.0), CCA(alpha=1.0)],
    ids=["LSI", "MLSI", "CCA"],
)
def test_the_solver_that_is_named_is_what_a_fit_takes(model, shape):
    X = sparse.random_array(shape, density=0.02 if shape[1] > 12 else 0.9, rng=0, format="csr")
    Y = (X[:, [0, 1, 2]].sum(axis=1).reshape(-1, 1) > [0.0, 0.3, 0.6]).astype(int)
    model = clone(model)
    found = choose_solver(model, X, Y)
    assert not hasattr(model, "components_")
    assert found.solver == model.fit(X, Y).solver_
    assert found.reason


# --- classifiers --------------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_the_posterior_of_lda_is_that_of_normal_distributions(load):
    """Those of scikit-learn, whose covariance is divided by n or by n - k, as its version does."""
    X, y = load(return_X_y=True)
    means = np.stack([X[y == one].mean(axis=0) for one in range(3)])
    covariance = (X - means[y]).T @ (X - means[y]) / (y.size - 3)
    gaps = X[:, None] - means
    distances = np.einsum("ncd,de,nce->nc", gaps, np.linalg.inv(covariance), gaps)
    expected = np.bincount(y) * np.exp(-distances / 2)
    expected /= expected.sum(axis=1, keepdims=True)
    for options in ({}, {"scale": "eigenvalue"}, {"center": False}):
        model = LDA(alpha=0.0, **options).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-8)
        assert model.score(X, y) == LinearDiscriminantAnalysis().fit(X, y).score(X, y)
    streamed = LDA(alpha=0.0).partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    np.testing.assert_allclose(streamed.predict_proba(X), expected, atol=1e-6)


@pytest.mark.parametrize("model", [LDA(), DLE()], ids=str)
def test_classifiers_score_by_accuracy(model):
    X, y = load_iris(return_X_y=True)
    model = clone(model)
    assert is_classifier(model)
    model.fit(X, y)
    found = model.predict(X)
    assert model.score(X, y) == (found == y).mean() > 0.9
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), found)
    hidden = np.where(np.arange(150) % 3 == 0, -1, y)
    assert model.score(X, hidden) == (found == y)[np.arange(150) % 3 > 0].mean()
    weights = np.where(found == y, 1.0, 3.0)
    assert model.score(X, y, weights) == accuracy_score(y, found, sample_weight=weights)
    # A class that was not seen counts as an error.
    assert model.score(X, np.full(150, 7)) == 0
    Y = np.eye(3, dtype=int)[y]
    model.fit(X, Y)
    assert model.predict(X).shape == (150, 3)
    assert model.score(X, Y) == (model.predict(X) == Y).all(axis=1).mean() > 0.6


# --- several labels -----------------------------------------------------------------------

MULTILABEL = [MLSI(10), OPLS(), CCA(), HSL(), DLE(), OPLS(alpha=0.1, solver=LeastSquares())]


@pytest.mark.parametrize("model", MULTILABEL, ids=str)
def test_labels_above_their_thresholds_are_predicted(model):
    X, Y = make_multilabel_classification(300, n_features=40, random_state=0)
    model = clone(model).fit(X[:200], Y[:200])
    found = model.predict(X[200:])
    assert f1_score(Y[200:], found, average="micro") > 0.6
    np.testing.assert_array_equal(found, model.decision_function(X[200:]) > 0)
    expected = model.label_scores(X[200:]) - model.label_thresholds_
    np.testing.assert_allclose(model.decision_function(X[200:]), expected)


@pytest.mark.parametrize(
    "model", [OPLS(alpha=40.0), MLSI(5, alpha=40.0), CCA(2, alpha=40.0)], ids=str
)
def test_thresholds_are_those_of_rows_left_out(model):
    """More features than rows: the scores of training rows are nearly their labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 100))
    Y = (X[:, :4] + 0.5 * rng.standard_normal((80, 4)) > 0.8).astype(int)
    scores = np.empty(Y.shape)
    for row in range(80):
        others = np.arange(80) != row
        scores[row] = clone(model).fit(X[others], Y[others]).label_scores(X[row : row + 1])[0]
    fitted = clone(model).fit(X, Y)
    expected = best_thresholds(scores, Y.astype(float))
    far = np.abs(best_thresholds(fitted.label_scores(X), Y.astype(float)) - expected).mean()
    assert np.abs(fitted.label_thresholds_ - expected).mean() < 0.5 * far


def test_the_best_cut_is_that_of_all_cuts():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 8, (200, 3)) / 8.0  # with ties
    truth = (scores + 0.5 * rng.standard_normal((200, 3)) > 0.7).astype(float)
    found = _best_cut(scores, truth)
    for column in range(3):
        cuts = np.arange(-1, 17) / 16.0
        best = max(f1_score(truth[:, column], scores[:, column] > cut) for cut in cuts)
        predicted = scores[:, column] > found[column]
        assert f1_score(truth[:, column], predicted) == pytest.approx(best)
    # A label without rows gets the common threshold; unknown entries count for nothing.
    truth[:, 2], hidden = 0.0, scores.copy()
    assert best_thresholds(scores, truth)[2] == pytest.approx(
        _best_cut(scores.reshape(-1, 1), truth.reshape(-1, 1))[0]
    )
    hidden[::2] = -np.inf
    np.testing.assert_allclose(
        best_thresholds(hidden, np.where(np.isfinite(hidden), truth, 0.0)),
        best_thresholds(scores[1::2], truth[1::2]),
    )


@pytest.mark.parametrize("model", [MLSI(), OPLS(), CCA(), HSL()], ids=str)
def test_a_grid_search_by_f1(model):
    X, Y = make_multilabel_classification(200, n_features=40, random_state=0)
    for labels in (Y, sparse.csr_array(Y)):
        search = GridSearchCV(clone(model), {"alpha": [10.0, 1e6]}, scoring="f1_micro", cv=3)
        search.fit(sparse.csr_array(X), labels)
        assert search.best_params_ == {"alpha": 10.0}
        assert search.best_score_ > 0.6


def test_a_grid_search_by_f1_on_real_data():
    corpus = load_debtags()
    chosen = np.flatnonzero(corpus.train)[:600]
    Y = corpus.Y[chosen].toarray()
    Y = Y[:, Y.sum(axis=0) >= 20]
    X = TfidfVectorizer(min_df=2).fit_transform([corpus.texts[row] for row in chosen])
    grid = {"n_components": [5, 60], "beta": [0.1, 0.65]}
    search = GridSearchCV(MLSI(), grid, scoring="f1_micro", cv=KFold(3)).fit(X, Y)
    assert search.best_params_ == {"n_components": 60, "beta": 0.65}
    half = cross_val_predict(search.best_estimator_, X, Y, cv=KFold(3), method="decision_function")
    half = half + search.best_estimator_.label_thresholds_ > 0.5
    assert search.best_score_ > f1_score(Y, half, average="micro") + 0.05


def test_targets_are_predicted_and_streams_have_no_thresholds():
    X, Y = features("tall", 0), indicator(60, 0)
    model = OPLS().fit(X, X[:, :3] @ np.ones((3, 2)))
    np.testing.assert_array_equal(model.predict(X), model.label_scores(X))
    assert not hasattr(model, "decision_function")
    model = OPLS(alpha=1.0).partial_fit(X, Y)
    with pytest.raises(Mismatch, match="predict needs thresholds"):
        model.predict(X)
    assert model.label_scores(X).shape == (60, 4)


def test_lda_warns_of_a_column_of_classes():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(DataConversionWarning, match=r"pass y.ravel\(\)"):
        model = LDA().fit(X, y[:, None])
    assert model.predict(X).shape == (150,)
