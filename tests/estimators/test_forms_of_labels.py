"""How y is read: decided by the fit, and the same in every later method, for every form of y."""

import pickle

import numpy as np
import pandas as pd
import pytest
from _support import strategies  # noqa: F401 - its profile
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from labelspan import CCA, DLE, HSL, LDA, MLSI, OPLS, Adapter
from labelspan.errors import AmbiguousLabels, InvalidInput, InvalidLabels

X, y = load_iris(return_X_y=True)
Y = np.c_[y == 0, y == 1, X[:, 0] > 6, X[:, 1] > 3].astype(int)
T = np.c_[X[:, 0] + X[:, 1], X[:, 2] - X[:, 3]]

METHODS = [OPLS(alpha=1.0), CCA(alpha=1.0), MLSI(3, alpha=1.0), HSL(alpha=1.0), LDA(), DLE()]
CLASSIFIERS = METHODS[3:]
REGRESSIONS = METHODS[:3]


# --- classes ----------------------------------------------------------------------------

CLASSES = {
    "strings": np.array(["setosa", "versicolor", "virginica"])[y],
    "objects": np.array(["a", "bb", "ccc"], dtype=object)[y],
    "ids above 2**53": y + 2**53,
    "unsigned ids": y.astype(np.uint64) + np.uint64(2**63),
    "floats": y.astype(float) + 3,
    "dates": np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[D]")[y],
    "series": pd.Series(["p", "q", "r"], name="class")[y].reset_index(drop=True),
    "categories": pd.Series(pd.Categorical.from_codes(y, ["x", "y", "z"])),
}


@pytest.mark.parametrize("model", METHODS, ids=repr)
@pytest.mark.parametrize("name", CLASSES)
def test_classes_of_any_name_are_the_same_classes(model, name):
    """``score`` turned names into floats: an error, or ids above 2**53 that were equal."""
    named, plain = clone(model).fit(X, CLASSES[name]), clone(model).fit(X, y)
    assert named.score(X, CLASSES[name]) == pytest.approx(plain.score(X, y), abs=1e-12)
    np.testing.assert_array_equal(
        named.predict(X),
        np.asarray(CLASSES[name])[[np.flatnonzero(y == k)[0] for k in plain.predict(X)]],
    )
    assert named.predict(X).dtype == np.unique(np.asarray(CLASSES[name])).dtype
    known = np.asarray(CLASSES[name])[:30]
    assert named.score(X[:30], known) == pytest.approx(plain.score(X[:30], y[:30]), abs=1e-12)


@pytest.mark.parametrize("model", METHODS, ids=repr)
@pytest.mark.parametrize("name", ["strings", "ids above 2**53"])
def test_cross_validation_of_classes(model, name):
    folds = KFold(3, shuffle=True, random_state=0)
    options = {"cv": folds, "error_score": "raise"}
    expected = cross_val_score(model, X, y, **options)
    np.testing.assert_allclose(cross_val_score(model, X, CLASSES[name], **options), expected)
    search = GridSearchCV(model, {"n_components": [1, 2]}, **options).fit(X, CLASSES[name])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_folds_of_classifiers_are_stratified(model):
    # The rows are sorted by class: a fold without stratification has one class.
    assert cross_val_score(clone(model), X, y, cv=3, error_score="raise").min() > 0.4


@pytest.mark.parametrize("model", METHODS, ids=repr)
def test_a_later_y_of_classes_is_not_guessed(model):
    fitted = clone(model).fit(X, CLASSES["strings"])
    with pytest.raises(InvalidLabels, match="holds numbers, but the classes of fit are text"):
        fitted.score(X, y)
    with pytest.raises(InvalidLabels, match="be a vector of classes as in fit, but has 4 columns"):
        fitted.score(X, Y)
    with pytest.raises(InvalidLabels, match="lists of labels, but fit had classes"):
        fitted.score(X, [["a"]] * len(X))
    fitted = clone(model).fit(X, y)
    # Fractions and classes that were not there are other classes, which nothing predicts.
    assert np.isfinite(fitted.score(X, y + np.where(np.arange(150) < 5, 0.5, 0)))


# --- minus one --------------------------------------------------------------------------


@pytest.mark.parametrize("model", METHODS, ids=repr)
def test_minus_one_and_one_are_two_classes_everywhere(model):
    signs = np.where(y == 0, -1, 1)
    fitted = clone(model).fit(X, signs)
    assert fitted.classes_.tolist() == [-1, 1]
    assert set(fitted.predict(X).tolist()) == {-1, 1}
    assert fitted.score(X[:40], signs[:40]) == pytest.approx(
        clone(model).fit(X, y != 0).score(X[:40], y[:40] != 0)
    )
    if hasattr(model, "partial_fit"):
        stream = clone(model).partial_fit(X[30:80], signs[30:80])
        stream.partial_fit(X[80:], signs[80:]).partial_fit(X[:30], signs[:30])
        assert stream.classes_.tolist() == [-1, 1]
        if hasattr(model, "alpha_"):
            np.testing.assert_allclose(stream.label_means_, fitted.label_means_)


def test_minus_one_is_the_mark_of_a_semi_supervised_method():
    assert DLE().fit(X, y - 1).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("model", METHODS[:-1], ids=repr)
def test_minus_one_next_to_others_is_unknown_and_said_once(model):
    with pytest.warns(AmbiguousLabels, match="-1 was read as unknown, in 50 of 150 rows") as said:
        fitted = clone(model).fit(X, y - 1)
    assert sum(one.category is AmbiguousLabels for one in said) == 1
    assert fitted.classes_.tolist() == [0, 1]
    fitted.score(X, y - 1)  # without a word


# --- indicators and targets -------------------------------------------------------------


@pytest.mark.parametrize("model", [*REGRESSIONS, HSL(alpha=1.0), DLE()], ids=repr)
def test_another_width_or_kind_is_refused(model):
    fitted = clone(model).fit(X, Y)
    for wrong in (Y[:, :1], Y[:, 0], Y[:, :3], np.c_[Y, Y]):
        with pytest.raises(InvalidLabels, match="must have 4 columns as in fit, but has"):
            fitted.score(X, wrong)
    with pytest.raises(InvalidLabels, match="0/1 indicator in fit, but has other numbers"):
        fitted.score(X, Y * 2)
    if not isinstance(model, HSL | DLE):
        with pytest.raises(InvalidLabels, match="must have 4 columns as in fit, but has 1"):
            fitted.transform(X, labels=Y[:, 0])
    if hasattr(model, "partial_fit") and not isinstance(model, HSL):
        stream = clone(model).partial_fit(X, Y)
        with pytest.raises(InvalidLabels, match="4 columns as in the first batch, but has 3"):
            stream.partial_fit(X, Y[:, :3])


@pytest.mark.parametrize("model", REGRESSIONS, ids=repr)
def test_ratings_by_halves_are_targets_where_all_are_whole(model):
    """Rows with whole ratings were read as classes: a score of 0 for .997."""
    ratings = np.round(2 * X @ [0.5, 1, 2, 3]) / 2
    whole = ratings % 1 == 0
    fitted = clone(model).fit(X, ratings)
    assert fitted.score(X[whole], ratings[whole]) > 0.9
    assert fitted.score(X[whole], ratings[whole].astype(int)) > 0.9
    order = np.argsort(~whole, kind="stable")
    scores = cross_val_score(model, X[order], ratings[order], cv=3, error_score="raise")
    assert scores.min() > 0.8


@pytest.mark.parametrize("model", REGRESSIONS, ids=repr)
def test_a_vector_comes_back_as_a_vector(model):
    assert clone(model).fit(X, T[:, 0]).predict(X).shape == (150,)
    assert clone(model).fit(X, T[:, :1]).predict(X).shape == (150, 1)
    assert clone(model).fit(X, T).predict(X).shape == (150, 2)
    assert cross_val_predict(model, X, T[:, 0]).shape == (150,)
    assert clone(model).partial_fit(X, T[:, 0]).predict(X).shape == (150,)
    # Minus one is a number among targets.
    shifted = T[:, 0] - T[0, 0] - 1
    fitted = clone(model).fit(X, shifted)
    assert fitted.score(X, shifted) == pytest.approx(clone(model).fit(X, T[:, 0]).score(X, T[:, 0]))


LISTS = [[name for name, one in zip("dcba", row, strict=True) if one] for row in Y.tolist()]


@pytest.mark.parametrize("store", [list, tuple, pd.Series], ids=repr)
@pytest.mark.parametrize("model", REGRESSIONS, ids=repr)
def test_lists_of_labels_are_taken_by_every_method(model, store):
    """``fit`` took an array of lists, ``score`` and ``partial_fit`` refused it."""
    listed, table = clone(model).fit(X, store(LISTS)), clone(model).fit(X, Y[:, ::-1])
    assert listed.classes_.tolist() == list("abcd")
    assert listed.score(X, store(LISTS)) == pytest.approx(table.score(X, Y[:, ::-1]))
    np.testing.assert_array_equal(listed.predict(X), table.predict(X))
    np.testing.assert_allclose(
        listed.transform(X[:5], labels=store(LISTS[:5])),
        table.transform(X[:5], labels=Y[:5, ::-1]),
    )
    stream = clone(model).partial_fit(X[:99], store(LISTS[:99]), classes=list("abcd"))
    stream.partial_fit(X[99:], store(LISTS[99:]))
    np.testing.assert_allclose(stream.label_means_, listed.label_means_, atol=1e-7)
    with pytest.raises(InvalidLabels, match=r"labels that fit did not have: \['new'\]"):
        listed.transform(X[:2], labels=[["a"], ["new"]])


@pytest.mark.parametrize("model", [*REGRESSIONS, HSL(alpha=1.0), DLE()], ids=repr)
@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "f1_macro"])
def test_scores_of_indicators(model, scoring):
    folds = KFold(3, shuffle=True, random_state=0)
    found = cross_val_score(model, X, Y, scoring=scoring, cv=folds, error_score="raise")
    assert (found > 0.5).all()
    assert not is_classifier(clone(model)) or isinstance(model, HSL | DLE)
    if isinstance(model, OPLS):
        found = cross_val_score(model, X, T, scoring="r2", cv=folds, error_score="raise")
        assert (found > 0.9).all()


def test_parameters_that_are_set_count_from_the_next_fit():
    """``set_params(scale=None)`` changed ``transform(X, labels=Y)``."""
    for model, changed in [
        (OPLS(), {"scale": None}),
        (CCA(), {"scale": "eigenvalue"}),
        (OPLS(), {"solver": "krylov", "center": False}),
    ]:
        model.fit(X, Y)
        before = model.transform(X, labels=Y), model.predict(X), model.score(X, Y)
        model.set_params(**changed)
        copy = pickle.loads(pickle.dumps(model))
        for one in (model, copy):
            np.testing.assert_array_equal(before[0], one.transform(X, labels=Y))
            np.testing.assert_array_equal(before[1], one.predict(X))
            assert before[2] == one.score(X, Y)
            assert one.get_params()[next(iter(changed))] == next(iter(changed.values()))
    after = OPLS().fit(X, Y).set_params(scale=None).fit(X, Y)
    np.testing.assert_array_equal(after.transform(X), OPLS(scale=None).fit(X, Y).transform(X))


def test_texts_as_features_name_what_reads_them():
    texts = ["a chess game", "edit photos", "play chess", "crop photos"]
    for given_as in (texts, np.array(texts), pd.Series(texts)):
        with pytest.raises(
            InvalidInput, match=r"MLSI: X holds texts.*TfidfVectorizer.*SemanticInd"
        ):
            MLSI().fit(given_as, ["game", "photo", "game", "photo"])
    make_pipeline(TfidfVectorizer(), LDA(alpha=1.0)).fit(texts, ["game", "photo", "game", "photo"])


# --- every form of y, every method of every estimator -----------------------------------

ROWS = np.random.default_rng(0).permutation(150)[:90]
NAMES = [[0, 1, 2], ["a", "b", "c"], [-1, 1], [2.0, 7.0], [True, False], [2**60, 2**60 + 1]]
WAYS = {
    "classes": [
        np.asarray,
        np.ndarray.tolist,
        lambda part: part.astype(object),
        lambda part: pd.Series(part, index=np.arange(len(part)) + 7),
        lambda part: pd.Series(part).astype("category"),
    ],
    "indicator": [
        np.asarray,
        np.ndarray.tolist,
        sparse.csr_array,
        pd.DataFrame,
        lambda part: part.astype(bool),
        lambda part: part.astype(np.float32),
    ],
    "lists": [
        lambda part: [[k for k, one in zip("wxyz", row, strict=True) if one] for row in part],
        lambda part: tuple({k for k, one in zip("wxyz", row, strict=True) if one} for row in part),
        lambda part: pd.Series([np.array(list("wxyz"))[row > 0] for row in part]),
    ],
    "targets": [
        np.asarray,
        np.ndarray.tolist,
        lambda part: part.astype(np.float32),
        lambda part: part.astype(object),
    ],
}


@st.composite
def forms(draw):
    """A kind of y, all of it, and two ways to write some rows of it."""
    kind = draw(st.sampled_from(sorted(WAYS)))
    if kind == "classes":
        names = np.array(draw(st.sampled_from(NAMES)))
        base = names[y[ROWS] % len(names)]
    elif kind == "targets":
        base = np.round(2 * T[ROWS]) / 2
        base = base[:, 0] if draw(st.booleans()) else base
    else:
        base = Y[ROWS]
    return kind, base, *(draw(st.sampled_from(WAYS[kind])) for _ in range(2))


@pytest.mark.filterwarnings("ignore::labelspan.errors.LabelspanWarning")
@given(
    form=forms(),
    model=st.sampled_from(METHODS),
    start=st.integers(0, 80),
    size=st.integers(3, 60),
)
def test_every_method_reads_some_rows_as_the_fit_read_all(form, model, start, size):
    kind, base, first, later = form
    model, data, part = clone(model), X[ROWS], slice(start, start + size)
    if isinstance(model, LDA) and kind != "classes":
        return
    if isinstance(model, HSL | DLE) and kind == "targets":
        with pytest.raises(InvalidLabels, match="continuous targets"):
            model.fit(data, first(base))
        return
    model.fit(data, first(base))
    assert model.label_kind_ == ("indicator" if kind == "lists" else kind)
    score = model.score(data[part], first(base[part]))
    assert model.score(data[part], later(base[part])) == pytest.approx(score, abs=1e-9, nan_ok=True)
    found = model.predict(data[part])
    assert found.shape == base[part].shape
    if kind == "classes":
        assert set(found.tolist()) <= set(base.tolist())
    if isinstance(model, OPLS | CCA | MLSI):
        np.testing.assert_allclose(
            model.transform(data[part], labels=later(base[part])),
            model.transform(data, labels=first(base))[part],
            atol=1e-8,
        )
    if hasattr(model, "partial_fit"):
        names = {"classes": np.unique(base), "lists": list("wxyz")}.get(kind)
        stream = clone(model).partial_fit(data[:50], first(base[:50]), classes=names)
        stream.partial_fit(data[50:], later(base[50:]))
        assert (stream.label_kind_, stream.label_ndim_) == (model.label_kind_, model.label_ndim_)
        assert stream.classes_.tolist() == model.classes_.tolist()
        np.testing.assert_allclose(
            stream.label_scores(data).mean(axis=0), model.label_scores(data).mean(axis=0), atol=1e-6
        )


@pytest.mark.filterwarnings("ignore::labelspan.errors.LabelspanWarning")
@given(form=forms(), start=st.integers(0, 80), size=st.integers(3, 10))
@settings(max_examples=8)
def test_an_adapter_reads_some_rows_as_its_fit_read_all(form, start, size):
    kind, base, first, later = form
    if kind == "targets":
        return
    part, model = slice(start, start + size), Adapter(2, beta=0.5, alpha=1.0, compare=False)
    model.fit(X[ROWS], first(base))
    np.testing.assert_allclose(
        model.transform(X[ROWS][part], labels=later(base[part])),
        model.transform(X[ROWS], labels=first(base))[part],
        atol=1e-8,
    )
