"""What the property tests have found, each by itself: what was wrong, and stays right."""

import numpy as np
import pytest
from _support.support import classes, features, indicator
from scipy import sparse
from sklearn.base import clone

from labelspan import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS, KernelFeatures
from labelspan.errors import InvalidInput
from labelspan.graph import gaussian_graph

STORES = [np.asarray, sparse.csr_array]


# --- constant features ----------------------------------------------------------------


@pytest.mark.parametrize("model", [LSI(center=True), MLSI(alpha=0.0), OPLS(), CCA()], ids=repr)
def test_a_constant_column_of_rows_in_small_units(model):
    """A column without a length counted as one of length 1, and its rounding as a direction."""
    X = np.array([[3.0, 3, 0, -2], [-2, 3, -4, -4], [-3, 3, 1, 4], [0, 3, 4, 2], [1, 3, 1, 4]])
    y = np.array([1, 1, 0, 0, 1])
    plain, small = clone(model).fit(X, y), clone(model).fit(X * 1e-60, y)
    np.testing.assert_allclose(
        small.eigenvalues_ / small.eigenvalues_[0], plain.eigenvalues_ / plain.eigenvalues_[0]
    )
    np.testing.assert_allclose(small.components_[:, 1] * 1e-60, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("model", "store"),
    zip([LDA(alpha=0.5), OPLS(alpha=0.5), CCA(), HSL()], STORES * 2, strict=True),
    ids=repr,
)
def test_features_that_are_all_constant_are_refused(model, store):
    """A sparse X of equal rows got a component made of rounding."""
    with pytest.raises(InvalidInput, match="does not explain y"):
        model.fit(store(np.full((9, 3), 0.7)), np.arange(9) % 3)


def test_an_even_design_under_a_kernel_predicts_what_a_small_penalty_does():
    """Around a circle the constant is an eigenvector of the kernel: its coordinate, constant
    but for rounding, got a weight, and new rows scores of -10.8 for labels of 0 and 1.
    """
    turn = np.arange(8) * np.pi / 4
    X = np.column_stack([np.cos(turn), np.sin(turn)])
    Y = (np.arange(8)[:, None] % [2, 3] == 0).astype(float)
    new = np.array([[0.3, 0.2], [2.0, 1.0]])
    kernel = KernelFeatures("rbf", gamma=1.0)
    found, expected = (
        OPLS(alpha=alpha).fit(kernel.fit_transform(X), Y).label_scores(kernel.transform(new))
        for alpha in (0.0, 1e-9)
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


# --- nothing at all -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "center"), [("auto", False), ("exact", True), ("krylov", False), ("krylov", True)]
)
def test_features_without_a_direction_are_refused_by_every_solver(solver, center):
    """The iterations ended in an IndexError."""
    X = np.full((6, 3), 0.1) if center else np.zeros((6, 3))
    message = "all rows of X are equal" if center else "X holds only zeros"
    with pytest.raises(InvalidInput, match=f"MLSI: {message}"):
        MLSI(1, solver=solver, center=center).fit(X, np.arange(6) % 2)
    with pytest.raises(InvalidInput, match=f"LSI: {message}"):
        LSI(1, solver=solver, center=center).fit(X)


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
@pytest.mark.parametrize("model", [LDA(), CCA(), OPLS(), OPLS(alpha=0.5)], ids=repr)
def test_features_that_say_nothing_about_the_classes_are_refused(model):
    """Every class has the same rows: X'H was rounding, and with it came a component."""
    rows = np.array([[1.0, -1, 0, 4, -3, 1], [-1, 2, 2, -2, 2, 2], [0.3, 0.1, 0.7, 1, 2, 0.9]])
    X, y = np.repeat(rows, 4, axis=0), np.tile([0, 1], 6)
    with pytest.raises(InvalidInput, match="X does not explain y"):
        model.fit(X, y)
    with pytest.raises(InvalidInput, match="X does not explain y"):
        model.partial_fit(X[:5], y[:5]).partial_fit(X[5:], y[5:]).transform(X)


def test_a_strong_penalty_is_not_taken_for_rounding():
    X, Y = features("tall", 0), indicator(60, 0)
    weak, strong = (OPLS(1, alpha=alpha, scale=None).fit(X, Y) for alpha in (1e12, 1e30))
    assert strong.eigenvalues_[0] < 1e-24
    np.testing.assert_allclose(strong.components_ * 1e9, weak.components_, rtol=1e-6)


@pytest.mark.parametrize("store", STORES)
def test_label_loadings_of_long_targets_fit_narrow_features(store):
    """X'Y was summed in float32: 1e15 times 1e30 is infinite there, though V'Y is not."""
    X, Y = features("tall", 0), features("tall", 1)[:, :3]
    large = MLSI(3, alpha=1e30).fit(store((X * 1e15).astype(np.float32)), Y * 1e30)
    plain = MLSI(3, alpha=1.0).fit(X, Y)
    np.testing.assert_allclose(
        large.label_loadings_ / 1e30, plain.label_loadings_, rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    "model", [LSI(), MLSI(), OPLS(), CCA(), LDA(), HSL(), LPP(), DLE()], ids=repr
)
def test_one_row_is_refused_by_an_error_of_ours(model):
    """What scikit-learn refuses came as its bare ValueError, outside our tree."""
    with pytest.raises(InvalidInput, match="minimum of 2 is required"):
        model.fit(np.ones((1, 2)), np.array([0]))
    bad = features("tall", 0)
    for number, message in ((np.nan, "contains NaN"), (np.inf, "infinity")):
        # Both infinities add up to NaN.
        bad[3:5, 3] = number, -number
        with np.errstate(invalid="ignore"), pytest.raises(InvalidInput, match=message):
            model.fit(bad, classes(60, 0))


# --- DLE ------------------------------------------------------------------------------


FAR, NEAR = [4.0, 1, -4, -2, 1, 2, 0], [0.0, 3, -1, -3, -1, 0, 0]
PARTLY = np.full((7, 12), -1.0)
PARTLY[2] = np.isin(np.arange(12), [1, 2, 3, 6])
PARTLY[6] = np.isin(np.arange(12), [3, 6, 8, 11])


@pytest.mark.parametrize(
    ("model", "X", "y", "message"),
    [
        # Both labels are on the same rows: what was between them was rounding, and a component.
        (
            DLE(n_neighbors=3),
            np.array([[2.0], [3.0], [-4.0], [3.0], [0.0]]),
            np.array([[1, 1], [1, 1], [1, 1], [0, 0], [1, 1]]),
            "all classes have the same mean",
        ),
        # Groups of equal rows so far apart that X'LX is less than its own rounding.
        (
            DLE(alpha=0.5, affinity="rbf"),
            np.array([[3.0, -4.0], [3.0, -4.0], [-3.0, -2.0], [3.0, -4.0], [3.0, -4.0]]),
            np.array([0, 1, 1, 0, 0]),
            "the graph does not connect any different rows",
        ),
        # Away from the mean of all rows, even the scatter of equal labelled rows is rounding.
        (
            DLE(n_neighbors=3),
            sparse.csr_array([FAR, FAR, NEAR, NEAR, [-4.0, 0, 1, -1, 1, 2, 4], NEAR, NEAR]),
            PARTLY,
            "no class has two different labelled rows",
        ),
    ],
)
def test_dle_refuses_what_is_only_rounding(model, X, y, message):
    with pytest.raises(InvalidInput, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("store", STORES)
def test_lpp_of_wide_rows_far_from_zero_has_no_direction_too_many(store):
    """X X' of sparse rows about their mean is a difference: its null direction had a length."""
    rows = [[1000.0, 1000, 1000, 999, 1004, 999], [1001, 999, 1000, 1004, 997, 1001]]
    X = np.array([*rows, [999, 1002, 1002, 998, 1002, 1002]])
    assert LPP(n_neighbors=2).fit(store(X)).n_components_ == 2


# --- numbers out of range -------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
@pytest.mark.parametrize("model", [OPLS(), CCA(), MLSI()], ids=repr)
def test_targets_beyond_the_width_of_the_features_are_refused(model):
    """They became infinite in float32, with a RuntimeWarning, and scores NaN."""
    X, Y = features("tall", 0), features("tall", 1)[:, :3] * 1e150
    with pytest.raises(InvalidInput, match="pass float64 instead of float32"):
        model.fit(X.astype(np.float32), Y)
    assert not hasattr(model, "components_")
    assert np.isfinite(model.fit(X, Y).label_scores(X)).all()


def test_weights_beyond_the_range_of_floats_are_refused():
    """Whitened twice, features of 1e-155 would need weights of 1e310."""
    X, y = features("wide", 0) * 1e-155, classes(18, 0)
    with pytest.raises(InvalidInput, match="too large or too small"):
        DLE(alpha=0, projection="whitened").fit(X, y)


@pytest.mark.parametrize("store", STORES)
def test_squares_beyond_the_range_of_floats_are_refused(store):
    X, Y = features("tall", 0), indicator(60, 0)
    models = [LSI(), MLSI(), OPLS(), DLE(), LPP(affinity="rbf"), LPP(), KernelFeatures("rbf")]
    for model in models:
        with pytest.raises(InvalidInput, match="too large or too small"):
            model.fit(store(X * 1e160), Y)


def test_rows_that_leave_the_range_are_refused_by_transform():
    X, Y = features("tall", 0), indicator(60, 0)
    model = OPLS().fit(X * 1e-100, Y)
    for method in (model.transform, model.label_scores):
        with pytest.raises(InvalidInput, match="OPLS: X or y contains numbers"):
            method(X * 1e250)
    np.testing.assert_allclose(model.transform(X * 1e-100), OPLS().fit(X, Y).transform(X))


def test_classes_named_by_floats_beyond_whole_numbers_keep_their_names():
    """They were cast to int64, with a RuntimeWarning, and two classes could become one."""
    X, y = features("tall", 0), classes(60, 0)
    model = LDA().fit(X, y * 1e20 + 1e20)
    np.testing.assert_array_equal(model.classes_, np.arange(1, 5) * 1e20)
    np.testing.assert_array_equal(model.components_, LDA().fit(X, y).components_)


def test_the_width_of_a_gaussian_is_finite_for_rows_that_nearly_meet():
    """Half the inverse of a median of 5e-324 is infinite, and infinity times 0 is NaN."""
    graph = gaussian_graph(np.array([[0.0], [2.2e-162], [0.0], [2.2e-162]])).toarray()
    assert np.isfinite(graph).all()
