"""A column in any unit next to the others: with the defaults, the labels are learned as before."""

from functools import partial

import numpy as np
import pytest
from _support.units import KINDS, Reference, labelled
from scipy import sparse

from labelspan import CCA, HSL, LDA, MLSI, OPLS
from labelspan.errors import UncertainPenalty
from labelspan.operators import RowFiles, RowWriter, as_operator
from labelspan.solvers import AlphaCurve
from labelspan.solvers.alpha import (
    choose_alpha,
    held_out,
    warn_at_end,
)

METHODS = [MLSI, OPLS, CCA, HSL, LDA]


def extra(kind, rows):
    """Return a column that has nothing to do with the labels."""
    rng = np.random.default_rng(7)
    return {
        "unix times": lambda: 1.7e9 + rng.uniform(0, 3e7, rows),
        "bytes": lambda: rng.lognormal(14, 3, rows).round(),
        "ids": lambda: 1e12 + rng.permutation(rows),
        "nanometres": lambda: 1e-9 * rng.standard_normal(rows),
    }[kind]()


def indicators(rows, columns, seed=0):
    """Return rare 0/1 features and noisy labels that depend on the first of them."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, columns)) < 0.05) * 1.0
    signal = X[:, :24] @ rng.standard_normal((24, 4))
    return X, (signal + 0.3 * rng.standard_normal((rows, 4)) > 0.2).astype(int)


def quality(model, X, Y, train):
    """Return the part of the labels' variance that is predicted on other rows."""
    truth = np.eye(Y.max() + 1)[Y] if Y.ndim == 1 else Y
    gap = truth[~train] - np.asarray(model.label_scores(X[np.flatnonzero(~train)]))
    return 1 - np.square(gap).sum() / np.square(truth[~train] - truth[train].mean(axis=0)).sum()


def given_as(X, form):
    if form == "tensor":
        return pytest.importorskip("torch", reason="torch is not installed").as_tensor(X)
    return {"dense": np.asarray, "sparse": sparse.csr_array, "float32": np.float32}[form](X)


@pytest.mark.parametrize(
    ("unit", "form"),
    [
        ("unix times", "dense"),
        ("unix times", "sparse"),
        ("unix times", "tensor"),
        ("bytes", "dense"),
        ("bytes", "float32"),
        ("ids", "sparse"),
        ("nanometres", "dense"),
        ("nanometres", "sparse"),
    ],
)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_an_irrelevant_column_in_any_unit(method, unit, form):
    X, Y = indicators(500, 30)
    y = Y[:, 0] + 2 * Y[:, 1] if method is LDA else Y
    train = np.arange(500) < 350
    both = np.c_[X, extra(unit, 500)]
    plain = method().fit(given_as(X[train], form), y[train])
    fitted = method().fit(given_as(both[train], form), y[train])
    before = quality(plain, given_as(X, form), y, train)
    after = quality(fitted, given_as(both, form), y, train)
    assert before > 0.2
    assert after > before - 0.02
    assert 1 / 3 < fitted.alpha_ / plain.alpha_ < 3


@pytest.mark.parametrize("unit", ["unix times", "bytes", "nanometres"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_an_irrelevant_column_in_a_stream(method, unit):
    method = partial(HSL, laplacian="zhou") if method is HSL else method
    X, Y = indicators(500, 30)
    y = Y[:, 0] + 2 * Y[:, 1] if method is LDA else Y
    train = np.arange(500) < 350
    both = np.c_[X, extra(unit, 500)]
    options = {"classes": np.arange(4)} if method is LDA else {}
    model = method()
    for part in np.array_split(np.flatnonzero(train), 3):
        model.partial_fit(both[part], y[part], **options)
    plain = method().fit(X[train], y[train])
    assert quality(model, both, y, train) > quality(plain, X, y, train) - 0.02


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("unit", ["unix times", "ids"])
def test_an_irrelevant_column_of_rows_in_files(unit, form, tmp_path):
    X, Y = indicators(500, 30)
    both = np.c_[X, extra(unit, 500)]
    rows = given_as(both, form)
    with RowWriter(tmp_path) as writer:
        for start in range(0, 500, 125):
            writer.append(rows[start : start + 125])
    found, expected = OPLS().fit(RowFiles(tmp_path), Y), OPLS().fit(both, Y)
    assert found.alpha_ == pytest.approx(expected.alpha_, rel=1e-3)
    np.testing.assert_allclose(found.label_scores(both), expected.label_scores(both), atol=1e-4)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("method", [OPLS, MLSI], ids=lambda method: method.__name__)
def test_an_irrelevant_column_where_alpha_is_chosen_on_held_out_rows(method, form):
    X, Y = indicators(1300, 1060)
    train = np.arange(1300) < 1100
    both = np.c_[X, extra("unix times", 1300)]
    plain = method().fit(given_as(X[train], form), Y[train])
    fitted = method().fit(given_as(both[train], form), Y[train])
    before, after = quality(plain, X, Y, train), quality(fitted, both, Y, train)
    assert before > 0.15
    assert after > before - 0.02
    assert 1 / 3 < fitted.alpha_ / plain.alpha_ < 3


def bytes_and_flags(rows=400):
    """Return ten flags, which are the labels, next to ten columns of bytes."""
    rng = np.random.default_rng(0)
    flags = (rng.random((rows, 10)) < 0.3) * 1.0
    return np.c_[flags, rng.lognormal(10, 1, (rows, 10))], flags.astype(int)


@pytest.mark.parametrize("form", ["dense", "sparse", "float32", "tensor"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_ten_flags_next_to_ten_columns_of_bytes(method, form):
    X, Y = bytes_and_flags()
    y = Y[:, 0] if method is LDA else Y
    model = method().fit(given_as(X, form), y)
    assert quality(model, given_as(X, form), y, np.arange(400) < 200) > 0.99


@pytest.mark.parametrize("method", [OPLS, MLSI], ids=lambda method: method.__name__)
def test_ten_flags_next_to_ten_columns_of_bytes_in_a_stream(method):
    X, Y = bytes_and_flags()
    model = method()
    for part in np.array_split(np.arange(400), 3):
        model.partial_fit(X[part], Y[part])
    assert quality(model, X, Y, np.arange(400) < 200) > 0.99


# --- the choice against brute force -------------------------------------------------------


def near_the_best(chosen, X, Y, slack=2e-3):
    """The choice is within a factor of 3, or as good: errors may hardly depend on it."""
    reference = Reference(X)
    grid = chosen * 10.0 ** np.arange(-4, 4.5, 0.5)
    errors = reference.left_out(Y, grid)
    best = grid[np.argmin(errors)]
    there = errors[np.argmin(np.abs(np.log(grid / chosen)))]
    return 1 / 3.2 < chosen / best < 3.2 or there < (1 + slack) * errors.min()


@pytest.mark.parametrize("kind", KINDS)
def test_leave_one_out_is_near_brute_force_in_any_units(kind):
    X, Y = labelled(160, 60, kind, seed=3)
    assert near_the_best(choose_alpha(as_operator(X), as_operator(Y), intercept=True).alpha, X, Y)


@pytest.mark.parametrize("kind", KINDS)
def test_held_out_rows_choose_near_brute_force_in_any_units(kind):
    X, Y = labelled(900, 300, kind, seed=4)
    # 270 held-out rows cannot tell errors apart that differ by less than this.
    curve = held_out(as_operator(X), as_operator(Y), intercept=True)
    assert near_the_best(curve.alpha, X, Y, slack=2e-2)


def test_a_space_grown_for_one_penalty_does_not_hide_a_better_one():
    X, Y = labelled(3000, 700, "lognormal 1", labels=6, noise=0.1, density=0.05, seed=0)
    curve = held_out(as_operator(sparse.csr_array(X)), as_operator(Y), intercept=True)
    there, *others = Reference(X).left_out(Y, curve.alpha * np.array([1.0, 0.06, 10.0]))
    assert there < 1.02 * min(others)


def test_a_choice_at_an_end_of_the_grid_warns():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((60, 5)), rng.standard_normal((60, 2))
    X -= X.mean(axis=0)
    # What X explains is taken out, but for a little of it.
    Y -= 0.9 * X @ np.linalg.lstsq(X, Y)[0]
    with pytest.warns(UncertainPenalty, match="OPLS: .*largest value.*do not predict"):
        model = OPLS().fit(X, Y)
    assert model.alpha_curve_.at_end == "upper"
    with pytest.warns(UncertainPenalty, match="OPLS: .*largest value"):
        OPLS().partial_fit(X, Y)
    lower = AlphaCurve(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 1.0, 1.0)
    with pytest.warns(UncertainPenalty, match="CCA: .*smallest value"):
        warn_at_end(lower, "CCA")


def test_labels_that_are_predicted_without_error_are_no_reason_to_warn():
    X = np.random.default_rng(0).standard_normal((60, 5))
    model = OPLS().fit(X, X[:, :2])
    assert model.alpha_curve_.at_end is None
    assert model.score(X, X[:, :2]) > 0.99999


def test_a_given_penalty_is_no_reason_to_warn():
    """With beta="auto" the leave-one-out errors of a stream are computed for a given alpha, too."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 5))
    X -= X.mean(axis=0)
    Y = rng.standard_normal((60, 2))
    Y -= 0.9 * X @ np.linalg.lstsq(X, Y)[0]
    Y[:20] = np.nan
    MLSI(alpha=1.0).partial_fit(X, Y)
