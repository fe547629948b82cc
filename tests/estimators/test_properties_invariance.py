"""What must not matter, and does not: units, axes, order, repetition, width, threads."""

import numpy as np
import pytest
from _support.certificates import ANY, FAMILY, GRAPHS, LINEAR, NAMED, ONE
from _support.fitting import fit, unit
from _support.strategies import cases, examples, ordinary, scales, seeds
from _support.support import angle
from hypothesis import assume, given

from labelspan.errors import LabelspanWarning

FEW = examples(1 / 3)
SMOOTH = {**LINEAR, **GRAPHS}
# An exact method's answer may differ by rounding, here many times that of its condition.
CLOSE = 1e-7


def same_scores(one, two, X, X2=None, *, rows=slice(None), tolerance=CLOSE):
    """Both models tell the same of the rows: scores for labels, or the space itself."""
    X2 = X if X2 is None else X2
    if hasattr(one, "label_scores"):
        a, b = one.label_scores(X), two.label_scores(X2)
    else:
        a, b = unit(one.transform(X)), unit(two.transform(X2))
        a, b = a @ a.T, b @ b.T
        b = b if isinstance(rows, slice) else b[:, np.argsort(rows)]
    if not isinstance(rows, slice):
        b = b[np.argsort(rows)]
    np.testing.assert_allclose(b, a, atol=tolerance * max(1.0, np.abs(a).max()))


def same_space(one, two, X, X2=None, tolerance=CLOSE):
    """All components together span the same coordinates, length for length."""
    X2 = X if X2 is None else X2
    a, b = unit(one.transform(X)), unit(two.transform(X2))
    np.testing.assert_allclose(b @ b.T, a @ a.T, atol=tolerance * len(a))


# --- units ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", {**LINEAR, **GRAPHS})
def test_units_of_features_do_not_matter(name):
    """From 1e-150 to 1e150; alpha is in the units of X squared, and scaled with it."""
    member = FAMILY[name]

    @FEW
    @given(cases(kinds=member.kinds, forms=("dense", "csr"), least=2), scales)
    def check(case, scale):
        X, y = case.given, case.y
        with np.errstate(under="ignore"):
            plain, scaled = fit(member(), X, y), fit(member(scale), X * scale, y)
        if plain is None or scaled is None:
            # Beyond the squares' range, a refusal is right.
            assert plain is scaled or not 1e-140 < scale < 1e140
            return
        assert plain.n_components_ == scaled.n_components_
        np.testing.assert_allclose(unit(scaled.eigenvalues_), unit(plain.eigenvalues_), atol=CLOSE)
        one, two = unit(plain.transform(X)), unit(scaled.transform(X * scale))
        np.testing.assert_allclose(two, one, atol=CLOSE)
        if hasattr(plain, "label_scores"):
            same_scores(plain, scaled, X, X * scale)

    check()


@pytest.mark.parametrize("name", ["OPLS", "CCA", "CCA-alpha", "MLSI"])
def test_units_of_targets_do_not_matter(name):
    member = FAMILY[name]

    @FEW
    @given(ordinary(kinds=("targets",)), scales)
    def check(case, scale):
        plain = member().fit(case.X, case.y)
        scaled = member().fit(case.X, case.y * scale)
        expected = plain.label_scores(case.X)
        found = scaled.label_scores(case.X) / scale
        np.testing.assert_allclose(found, expected, atol=CLOSE * np.abs(expected).max())

    check()


# --- axes and order -------------------------------------------------------------------


@pytest.mark.parametrize("name", SMOOTH)
def test_a_rotation_of_the_features_only_rotates_the_weights(name):
    member = SMOOTH[name]

    @FEW
    @given(ordinary(kinds=member.kinds), seeds)
    def check(case, seed):
        assume(not name.endswith("poly") or case.X.shape[1] < 5)
        d = case.X.shape[1]
        Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
        one, two = member().fit(case.X, case.y), member().fit(case.X @ Q, case.y)
        assert one.n_components_ == two.n_components_
        np.testing.assert_allclose(
            two.eigenvalues_, one.eigenvalues_, atol=CLOSE * one.eigenvalues_.max()
        )
        same_space(one, two, case.X, case.X @ Q)
        same_scores(one, two, case.X, case.X @ Q)

    check()


@pytest.mark.parametrize("name", FAMILY)
def test_the_order_of_rows_does_not_matter(name):
    member = FAMILY[name]

    @FEW
    @given(ordinary(kinds=member.kinds), seeds)
    def check(case, seed):
        rows = np.random.default_rng(seed).permutation(len(case.X))
        one, two = member().fit(case.X, case.y), member().fit(case.X[rows], case.y[rows])
        loose = 1e-5 if "krylov" in name or "lasso" in name else CLOSE
        same_scores(one, two, case.X, case.X[rows], rows=rows, tolerance=loose)
        np.testing.assert_allclose(
            two.eigenvalues_, one.eigenvalues_, atol=loose * one.eigenvalues_.max()
        )

    check()


@pytest.mark.parametrize("name", [name for name in LINEAR if "inverse" not in name])
def test_rows_that_come_twice_weigh_twice(name):
    """With the penalty doubled too, nothing changes but the length of the metric."""
    member = LINEAR[name]

    @FEW
    @given(ordinary(kinds=member.kinds))
    def check(case):
        X, y = np.repeat(case.X, 2, axis=0), np.repeat(case.y, 2, axis=0)
        one, two = member().fit(case.X, case.y), member(np.sqrt(2.0)).fit(X, y)
        same_space(one, two, case.X)
        same_scores(one, two, case.X)

    check()


# --- how many -------------------------------------------------------------------------


@pytest.mark.parametrize("name", {**LINEAR, **GRAPHS})
def test_fewer_components_are_the_first_of_more(name):
    member = FAMILY[name]

    @FEW
    @given(ordinary(kinds=member.kinds), seeds)
    def check(case, seed):
        every = member().fit(case.X, case.y)
        some = 1 + seed % every.n_components_
        few = member().set_params(n_components=some).fit(case.X, case.y)
        assert few.n_components_ == some
        np.testing.assert_allclose(few.eigenvalues_, every.eigenvalues_[:some])
        gaps = np.abs(np.diff(every.eigenvalues_))
        assume((gaps > 1e-6 * every.eigenvalues_.max()).all())
        np.testing.assert_allclose(
            few.transform(case.X),
            every.transform(case.X)[:, :some],
            atol=CLOSE * np.abs(every.transform(case.X)).max(),
        )
        above = member().set_params(n_components=40)
        with pytest.warns(LabelspanWarning, match="n_components=40"):
            above.fit(case.X, case.y)
        assert above.n_components_ == every.n_components_

    check()


# --- widths ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", LINEAR)
def test_float32_is_near_float64(name):
    """Eigenvalues within 1e-4 of the largest; leading spaces, where a gap of a tenth of the
    largest eigenvalue parts them from the rest, within an angle of 1e-2.
    """
    member = LINEAR[name]

    @FEW
    @given(ordinary(kinds=member.kinds))
    def check(case):
        narrow = case.X.astype(np.float32)
        condition = np.linalg.cond(case.X - case.X.mean(axis=0))
        assume(condition < 50)
        one, two = member().fit(case.X, case.y), member().fit(narrow, case.y)
        assert two.components_.dtype == two.transform(narrow).dtype == np.float32
        assert one.n_components_ == two.n_components_
        top = one.eigenvalues_.max()
        np.testing.assert_allclose(two.eigenvalues_, one.eigenvalues_, atol=1e-4 * top)
        gaps = np.append(-np.diff(one.eigenvalues_), np.inf)
        for m in np.flatnonzero(gaps > 0.1 * top) + 1:
            spaces = (model.transform(case.X)[:, :m].astype(float) for model in (one, two))
            assert angle(*spaces) < 1e-2

    check()


@pytest.mark.parametrize("name", FAMILY)
def test_a_second_run_gives_the_same_bits(name):
    member = FAMILY[name]

    @FEW
    @given(cases(kinds=member.kinds, least=2))
    def check(case):
        one, two = (fit(member(), case.given, case.y) for _ in range(2))
        assert (one is None) == (two is None)
        if one is None:
            return
        fit(two, case.given, case.y)  # nor does an earlier fit leave anything behind
        for key, value in vars(one).items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(vars(two)[key], value)
        np.testing.assert_array_equal(one.transform(case.given), two.transform(case.given))

    check()


def test_all_estimators_are_tested():
    """Every estimator and every solver has its place among those that are tried."""
    kinds = {type(member()).__name__ for member in FAMILY.values()}
    assert kinds == {"LSI", "MLSI", "OPLS", "CCA", "LDA", "HSL", "LPP", "DLE", "PLSSVD", "PLSDA"}
    used = {getattr(member(), "solver", "auto") for member in FAMILY.values()}
    assert used >= {"exact", "least-squares", "krylov"}
    assert {*ANY, *NAMED, *ONE} == {kind for member in FAMILY.values() for kind in member.kinds}
