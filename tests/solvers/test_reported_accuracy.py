"""What the Krylov solver says is missing, against eigenvalues computed without the package."""

import re
import warnings

import numpy as np
import pytest
from _support.units import KINDS, Reference, labelled
from scipy import linalg, sparse

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS
from labelspan.errors import NotConverged
from labelspan.labels.factor import equalizing_weights
from labelspan.operators import MemoryBlocks, RowBlocks, as_operator
from labelspan.solvers import Krylov, KrylovOptions
from labelspan.solvers.conjugate_gradients import _Bound
from labelspan.solvers.limits import squared_units

ROWS, COLUMNS, COUNT = 1060, 1090, 12
QUICK = ("lognormal 3", "eight decades", "unix times")
# Regressions are never solved directly, and float32 stays float32.
ITERATIVE = Krylov(options=KrylovOptions(direct=0, in_float64=0))


def said(model):
    """Return what the status says is missing; infinity if it says that the answer is not right."""
    if "differ from orthonormal" in model.status_ or "stopped after" in model.status_:
        return np.inf
    found = re.search(r"estimated at (\S+) of", model.status_)
    if found is None:
        # What was solved to a residual may be off by it.
        residual = re.search(r"relative residual ([\d.e+-]*\d)", model.status_)
        assert "Solved" in model.status_ or residual
        return max(1e-6, float(residual[1])) if residual else 1e-6
    return float(found.group(1))


def check(model, expected, most):
    if said(model) == np.inf:
        return  # With a warning, which depends on the order of sums on the machine.
    missing = 1 - model.eigenvalues_.sum() / expected.sum()
    assert abs(missing) <= 2 * said(model) + 1e-5, (missing, model.status_)
    assert abs(missing) <= most, (missing, model.status_)


def factor(model, Y):
    """Return the labels of a method as it weighs them."""
    T = Y - Y.mean(axis=0)
    if isinstance(model, CCA):
        return np.linalg.qr(T)[0]
    if isinstance(model, LDA):
        return (Y / np.sqrt(Y.sum(axis=0))) - (Y / np.sqrt(Y.sum(axis=0))).mean(axis=0)
    if isinstance(model, HSL):
        rows = 1 / np.sqrt(np.maximum(Y @ Y.sum(axis=0), 1))
        H = Y * rows[:, None]
        return H - H.mean(axis=0)
    return T


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
@pytest.mark.filterwarnings("ignore::labelspan.errors.NotConverged")
@pytest.mark.parametrize("kind", QUICK)
def test_what_is_missing_is_what_the_status_says(kind):
    check_methods(kind)


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
@pytest.mark.filterwarnings("ignore::labelspan.errors.NotConverged")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in QUICK])
def test_what_is_missing_in_further_units(kind):
    check_methods(kind)


def check_methods(kind):
    number = KINDS.index(kind)
    X, Y = labelled(ROWS, COLUMNS, kind, noise=0.3, seed=number)
    reference = Reference(X)
    dtype = [np.float64, np.float32][number % 2]
    given = X.astype(dtype)
    check(LSI(COUNT, center=True).fit(given), reference.features(COUNT), 5e-3)
    T = Y - Y.mean(axis=0)
    T = T * equalizing_weights(np.square(T).mean(axis=0))
    for alpha in (1.0, "auto"):
        for solver in ("krylov", ITERATIVE):
            if solver is ITERATIVE and dtype is np.float32 and kind == "unix times":
                continue  # float32 does not have the digits of the times
            model = MLSI(COUNT, alpha=alpha, solver=solver).fit(given, Y)
            expected = reference.both(T, model.alpha_, model.beta_, COUNT)
            check(model, expected, 1e-2)
    classes = Y[:, 0] + 2 * Y[:, 1]
    for position, method in enumerate((OPLS, CCA, LDA, HSL)):
        alpha = [1.0, 1e3, "auto"][(position + number) % 3]
        model = method(alpha=alpha, solver=[ITERATIVE, "krylov"][(position + number) % 2])
        labels = np.eye(4)[classes] if method is LDA else Y
        model.fit(given, classes if method is LDA else Y)
        H = factor(model, labels)
        check(model, reference.thin(H, model.alpha_, model.eigenvalues_.size), 5e-3)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_penalty_that_hides_the_error_of_the_fitted_labels(seed):
    # Of the trace that conjugate gradients increase, most is then the penalty.
    X, Y = labelled(500, 600, "three dominant", labels=6, density=0.2, seed=seed)
    reference = Reference(X)
    alpha = 10 * float(np.median(np.square(reference.X).sum(axis=0)))
    model = MLSI(3, alpha=alpha, solver=ITERATIVE).fit(X, Y)
    T = Y - Y.mean(axis=0)
    T = T * equalizing_weights(np.square(T).mean(axis=0))
    check(model, reference.both(T, alpha, model.beta_, 3), 1e-2)


@pytest.mark.filterwarnings("ignore::labelspan.errors.NotConverged")
@pytest.mark.parametrize("method", [LDA, CCA, MLSI], ids=lambda method: method.__name__)
def test_krylov_by_name_on_small_data(method):
    X, Y = labelled(80, 301, "unix times", seed=2)
    y = Y[:, 0] + 2 * Y[:, 1] if method is LDA else Y
    exact = method(alpha=1.0, solver="exact").fit(X, y)
    found = method(alpha=1.0, solver="krylov").fit(X, y)
    missing = 1 - found.eigenvalues_.sum() / exact.eigenvalues_.sum()
    assert abs(missing) <= 2 * said(found) + 1e-8
    assert abs(missing) < 1e-2 or said(found) == np.inf


# --- a few dominant factors, in any units, and any penalty ------------------------------


def dominated(rng, sides=(120, 700)):
    """Return data with up to five dominant factors in units over up to six decades, and labels."""
    n, d = int(rng.integers(*sides)), int(rng.integers(*sides))
    factors, k = int(rng.integers(1, 6)), int(rng.choice([2, 3, 8, 30]))
    S = rng.standard_normal((n, d)) * np.geomspace(1, 10 ** -rng.uniform(0, 3), d)
    common = rng.standard_normal((n, factors)) @ rng.standard_normal((factors, d))
    S += 10 ** rng.uniform(0, 1.5) * common
    T = S @ (rng.standard_normal((d, k)) * (rng.random((d, 1)) < 0.2))
    T = T / T.std(axis=0) + rng.choice([0.1, 1.0, 3.0]) * rng.standard_normal((n, k))
    Y = (rng.uniform(0, 1) < T).astype(int)
    Y[:2] = [[0], [1]]
    return S * 10 ** rng.uniform(0, rng.choice([0, 3, 6]), d), Y


def check_dominated(seed):
    """Fit every method to one data set; return the number of answers that came with a warning."""
    rng = np.random.default_rng(seed)
    X, Y = dominated(rng)
    X = X.astype(rng.choice([np.float64, np.float32]))
    reference = Reference(X)
    given = sparse.csr_array(X) if rng.random() < 0.3 else X
    rounding = 1e-6 if X.dtype == np.float64 else 1e-4
    mean_square = float(np.square(reference.X).sum(axis=0).mean())
    warned = 0
    for method in (OPLS, CCA, LDA, HSL, MLSI, LSI):
        solver = ["auto", "krylov", ITERATIVE][int(rng.integers(3))]
        alpha = 10 ** rng.uniform(-7, 0) * mean_square
        classes = Y[:, 0] + 2 * Y[:, 1]
        y, labels = (classes, np.eye(4)[classes]) if method is LDA else (Y, Y)
        labels = labels[:, labels.any(axis=0)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if method is LSI:
                model = LSI(5, center=True, solver=solver).fit(given)
                expected = reference.features(model.eigenvalues_.size)
            elif method is MLSI:
                model = MLSI(8, alpha=alpha, solver=solver).fit(given, y)
                T = Y - Y.mean(axis=0)
                T = T * equalizing_weights(np.square(T).mean(axis=0))
                expected = reference.both(T, alpha, model.beta_, model.eigenvalues_.size)
            else:
                model = method(alpha=alpha, solver=solver).fit(given, y)
                H = factor(model, labels)
                expected = reference.thin(H, alpha, model.eigenvalues_.size)
        if any(issubclass(warning.category, NotConverged) for warning in caught):
            assert solver != "auto", (seed, method, model.status_)
            warned += 1
            continue
        missing = abs(1 - model.eigenvalues_.sum() / expected.sum())
        told = (seed, method.__name__, solver, missing, model.status_)
        assert missing <= 2 * said(model) + rounding, told
        assert missing <= (1e-2 if method is MLSI else 5e-3) + rounding, told
    return warned


# With the last, rounding brought back a long direction in the last iteration.
@pytest.mark.parametrize("seed", [*range(12), [4242, 151]])
def test_what_is_missing_next_to_dominant_factors(seed):
    check_dominated(seed)


def test_what_is_missing_next_to_dominant_factors_of_fresh_data():
    fresh = int(np.random.SeedSequence().generate_state(1)[0])
    warned = sum(check_dominated([fresh, seed]) for seed in range(170))
    assert warned <= 170


def squared(matrix, count):
    """Return the largest squared singular values."""
    square = matrix @ matrix.T
    return linalg.eigvalsh(square, subset_by_index=[len(square) - count, len(square) - 1])[::-1]


def check_large(seed):
    """Fit both sides above the limit of direct solutions, by default; return what warned."""
    rng = np.random.default_rng(seed)
    X, Y = dominated(rng, (4100, 5200))
    reference = Reference(X)
    alpha = 10 ** rng.uniform(-3, 0) * float(np.square(reference.X).sum(axis=0).mean())
    given, hat = X.astype(rng.choice([np.float64, np.float32])), reference.hat(alpha)
    T, warned = Y - Y.mean(axis=0), []
    T = T * equalizing_weights(np.square(T).mean(axis=0))
    for method in (OPLS, CCA, HSL, MLSI, LSI):
        model = LSI(5, center=True) if method is LSI else method(8, alpha=alpha)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(given, Y)
        count = model.eigenvalues_.size
        if any(issubclass(warning.category, NotConverged) for warning in caught):
            warned.append((method.__name__, model.status_))
            continue
        if method is LSI:
            expected = squared(reference.X, count)
        elif method is MLSI:
            fitted, beta = hat @ T, model.beta_
            parts = [np.sqrt(1 - beta) * reference.X / np.linalg.norm(reference.X)]
            parts.append(np.sqrt(beta) * fitted / np.linalg.norm(fitted))
            expected = squared(np.hstack(parts), count)
        else:
            H = factor(model, Y)
            expected = np.linalg.eigvalsh(H.T @ hat @ H)[::-1][:count]
        missing = abs(1 - model.eigenvalues_.sum() / expected.sum())
        told = (seed, method.__name__, X.shape, missing, model.status_)
        assert missing <= 2 * said(model) + 1e-4, told
        assert missing <= (1e-2 if method is MLSI else 5e-3) + 1e-4, told
    return warned


def test_what_is_missing_where_both_sides_are_large():
    fresh = int(np.random.SeedSequence().generate_state(1)[0])
    assert len([check_large([fresh, seed]) for seed in range(3)]) == 3


def test_frequent_words_are_not_a_unit():
    rng = np.random.default_rng(0)
    X = (rng.random((200, 30)) < np.geomspace(0.9, 0.02, 30)) * rng.uniform(0.5, 1.5, (200, 30))
    texts = sparse.csr_array(X)
    assert np.ptp(squared_units(as_operator(texts))) == 0
    blocks, index = RowBlocks(MemoryBlocks([texts[:70], texts[70:]])), np.arange(90, 20, -2)
    for found, stored in ((blocks, texts), (blocks.rows(index), texts[index])):
        np.testing.assert_array_equal(found.column_counts(), as_operator(stored).column_counts())
    X[:, 3] *= 1e9
    units = squared_units(as_operator(sparse.csr_array(X)).centered()[0])
    assert units[3] > 1e15 * np.median(units)
    np.testing.assert_allclose(squared_units(as_operator(X)), np.square(X).sum(axis=0))


def test_a_bound_that_rounding_has_lost_starts_again():
    """It was infinite from then on: on texts in float32 no share was ever reached."""
    bound, least = _Bound(0.5, 2), 0.5
    after = bound.after(3.0 * np.eye(2), 0.1 * np.eye(2), 0.2 * np.eye(2))
    assert after == pytest.approx(2 * 0.2**2 / least)
    assert np.isfinite(bound.after(0.1 * np.eye(2), 0.1 * np.eye(2), 0.1 * np.eye(2)))
