"""Whatever comes in: an answer that solves the method's own problem, or one clear refusal.

And what must not matter to it, and does not: units, axes, order. ``test_metamorphic`` tests more
with the defaults.
"""

import warnings

import numpy as np
import pytest
from _support.certificates import ANY, FAMILY, GRAPHS, LINEAR, NAMED, ONE, nothing_to_find
from _support.strategies import (
    FLAWS,
    cases,
    examples,
    narrow_scales,
    ordinary,
    same_contents,
    scales,
)
from hypothesis import assume, given, note
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from labelspan.errors import (
    AmbiguousLabels,
    InvalidInput,
    LabelspanError,
    LabelspanWarning,
    NotConverged,
)
from labelspan.papers.sun2009 import LeastSquares
from labelspan.papers.wang2010 import DLEClassifier

# An exact method's answer may differ by rounding, here many times that of its condition.
CLOSE = 1e-7


def fit(model, X, y):
    """The fitted model, or None where it refused with a sentence; any warning is an error.

    An iteration may warn that it stops early.
    """
    before = X.copy(), y.copy()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # LDA warns of a column, as scikit-learn's classifiers do.
            warnings.simplefilter("ignore", DataConversionWarning)
            warnings.simplefilter("ignore", NotConverged)
            # -1 is unknown in these tests.
            warnings.simplefilter("ignore", AmbiguousLabels)
            model.fit(X, y)
    except LabelspanError as error:
        sentence = str(error)
        assert sentence.endswith(".")
        assert len(sentence) > 30
        assert not hasattr(model, "components_")
        return None
    finally:
        assert same_contents(X, before[0])
        assert same_contents(y, before[1])
    return model


def unit(Z):
    # By a first scaling, because the squares of the data may be out of range.
    Z = Z / (np.abs(Z).max() or 1.0)
    return Z / (np.linalg.norm(Z) or 1.0)


def check_faces(model, X):
    """Shapes, widths, finite numbers, and one answer from all methods."""
    rows, columns = X.shape
    m = model.n_components_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataConversionWarning)
        Z = model.transform(X)
        scores = model.label_scores(X) if hasattr(model, "label_scores") else None
    assert Z.shape == (rows, m)
    assert Z.dtype == X.dtype
    assert m >= 1
    assert model.n_features_in_ == columns
    assert model.eigenvalues_.shape == (m,)
    assert (model.eigenvalues_ >= 0).all()
    dense = X.toarray() if hasattr(X, "toarray") else X
    assert model.components_.shape == (m, columns)
    assert model.components_.dtype == X.dtype
    assert model.mean_.dtype == np.float64
    tall = np.abs(model.components_).max(axis=1)
    assert (model.components_.max(axis=1) == tall).all()
    long = np.abs(dense - model.mean_).max() * tall.max() * columns
    gap = np.abs(Z - (dense - model.mean_) @ model.components_.T).max()
    assert gap <= 100 * np.finfo(X.dtype).eps * max(long, np.abs(dense).max() * tall.max())
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.isfinite(value).all(), name
    if scores is not None:
        k = model.classes_.size
        assert model.label_loadings_.shape == (m, k)
        assert model.label_means_.shape == (k,)
        assert scores.shape == (rows, k)
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", FAMILY)
def test_an_answer_with_its_certificate_or_a_refusal(name):
    """The same bits a second time, whatever the model was fitted to before."""
    member = FAMILY[name]

    @given(cases(kinds=member.kinds), st.integers(0, 3))
    def check(case, number):
        note(repr(case))
        X, y = case.given, case.y
        model = fit(member(), X, y)
        if model is None:
            assert name in GRAPHS or nothing_to_find(member(), case.X, y)
            return
        check_faces(model, X)
        if member.certify is not None:
            member.certify(model, case.X, y)
        if number == 0:
            found = dict(vars(model))
            for key, value in vars(fit(model, X, y)).items():
                if isinstance(value, np.ndarray):
                    np.testing.assert_array_equal(found[key], value)

    check()


@pytest.mark.parametrize("name", FAMILY)
def test_narrow_features_and_targets_out_of_range(name):
    """float32 with targets that fit it, or do not: finite numbers, or an error."""
    member = FAMILY[name]

    @examples(1 / 3)
    @given(cases(kinds=member.kinds, dtype=np.float32), narrow_scales, scales)
    def check(case, scale, larger):
        note(repr(case))
        scaled = "targets" in member.kinds and case.y.dtype.kind == "f"
        y = case.y * larger if scaled else case.y
        X = case.with_scale(scale).given
        model = fit(member(scale), X, y)
        if model is not None:
            check_faces(model, X)

    check()


@given(cases(kinds=("classes", "names", "indicator"), least=2), st.sampled_from(["auto", 1.0]))
def test_the_classifier_gives_classes_or_refuses(case, weight):
    X, y = case.given, case.y
    model = DLEClassifier(n_neighbors=3, alpha=0.5, label_graph_weight=weight)
    if fit(model, X, y) is None:
        return
    try:
        found = model.predict(X)
        again = model.fit_predict(X, y)
    except InvalidInput as error:
        assert "is unknown in all rows of y" in str(error)  # noqa: PT017 - either is right
        return
    assert found.shape == again.shape == y.shape or y.shape[1:] == (1,)
    assert np.isin(found, model.classes_ if found.ndim == 1 else [0, 1]).all()


@pytest.mark.parametrize("name", {**LINEAR, **GRAPHS})
def test_units_of_features_do_not_matter(name):
    """From 1e-150 to 1e150; alpha is in the units of X squared, and scaled with it."""
    member = FAMILY[name]
    # Of rows at distance zero, a graph has no width: any that is taken has a unit.
    flaws = ("none", "constant column", "equal columns", "far") if name in GRAPHS else FLAWS

    @examples(1 / 3)
    @given(cases(kinds=member.kinds, flaws=flaws, forms=("dense", "csr"), least=2), scales)
    def check(case, scale):
        note(repr(case))
        X, y = case.given, case.y
        with np.errstate(under="ignore"):
            plain, scaled = fit(member(), X, y), fit(member(scale), X * scale, y)
        if plain is None or scaled is None:
            # Beyond the squares' range, a refusal is right.
            assert plain is scaled or not 1e-140 < scale < 1e140
            return
        np.testing.assert_allclose(unit(scaled.eigenvalues_), unit(plain.eigenvalues_), atol=CLOSE)
        same(plain, scaled, X, X * scale)

    check()


# --- what must not matter -----------------------------------------------------------------


def same(one, two, X, X2, tolerance=CLOSE):
    """Both models tell the same of the rows: eigenvalues, the space itself, scores for labels."""
    assert one.n_components_ == two.n_components_
    a, b = unit(one.transform(X)), unit(two.transform(X2))
    np.testing.assert_allclose(b @ b.T, a @ a.T, atol=tolerance * len(a))
    if hasattr(one, "label_scores"):
        a, b = one.label_scores(X), two.label_scores(X2)
        np.testing.assert_allclose(b, a, atol=tolerance * max(1.0, np.abs(a).max()))


def same_values(one, two, tolerance=CLOSE):
    np.testing.assert_allclose(
        two.eigenvalues_, one.eigenvalues_, atol=tolerance * one.eigenvalues_.max()
    )


def rotated(member, case, rng, tolerance):
    """A rotation of the features only rotates the weights."""
    d = case.X.shape[1]
    X = case.X @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    one, two = member().fit(case.X, case.y), member().fit(X, case.y)
    same_values(one, two)
    same(one, two, case.X, X)


def reordered(member, case, rng, tolerance):
    """The order of the rows does not matter."""
    rows = rng.permutation(len(case.X))
    one, two = member().fit(case.X, case.y), member().fit(case.X[rows], case.y[rows])
    same_values(one, two, tolerance)
    same(one, two, case.X, case.X, tolerance)


def cut(member, case, rng, tolerance):
    """Fewer components are the first of more; of more than there are, it is warned."""
    every = member().fit(case.X, case.y)
    some = int(rng.integers(1, every.n_components_ + 1))
    few = member().set_params(n_components=some).fit(case.X, case.y)
    assert few.n_components_ == some
    np.testing.assert_allclose(few.eigenvalues_, every.eigenvalues_[:some])
    Z = every.transform(case.X)
    if (np.abs(np.diff(every.eigenvalues_)) > 1e-6 * every.eigenvalues_.max()).all():
        np.testing.assert_allclose(few.transform(case.X), Z[:, :some], atol=CLOSE * np.abs(Z).max())
    above = member().set_params(n_components=40)
    with pytest.warns(LabelspanWarning, match="n_components=40"):
        above.fit(case.X, case.y)
    assert above.n_components_ == every.n_components_


def units(member, case, rng, tolerance):
    """Units of targets do not matter, where a method has no weight for them."""
    assume(case.y.dtype.kind == "f" and not np.isin(case.y, [0, 1]).all())
    scale = 2.0 ** int(rng.choice([-498, -33, -3, 33, 332]))
    plain, scaled = member().fit(case.X, case.y), member().fit(case.X, case.y * scale)
    expected = plain.label_scores(case.X)
    found = scaled.label_scores(case.X) / scale
    np.testing.assert_allclose(found, expected, atol=CLOSE * np.abs(expected).max())


def changes_for(name):
    changes = [reordered]
    if name in LINEAR or name in GRAPHS:
        changes += [rotated, cut]
    return [*changes, units] if name in ("OPLS", "CCA", "CCA-alpha", "MLSI") else changes


@pytest.mark.parametrize("name", FAMILY)
def test_what_must_not_matter(name):
    member = FAMILY[name]
    tolerance = 1e-5 if "krylov" in name or "lasso" in name else CLOSE

    @examples(2 / 3)
    @given(ordinary(kinds=member.kinds), st.sampled_from(changes_for(name)), st.integers(0, 10_000))
    def check(case, change, seed):
        change(member, case, np.random.default_rng(seed), tolerance)

    check()


def test_all_estimators_are_tested():
    """Every estimator and every solver has its place among those that are tried."""
    kinds = {type(member()).__name__ for member in FAMILY.values()}
    assert kinds == {"LSI", "MLSI", "OPLS", "CCA", "LDA", "HSL", "LPP", "DLE"}
    used = {getattr(member(), "solver", "auto") for member in FAMILY.values()}
    assert used >= {"exact", LeastSquares(), LeastSquares("l1"), "krylov"}
    assert {*ANY, *NAMED, *ONE} == {kind for member in FAMILY.values() for kind in member.kinds}
