"""What is chosen from labels that are known: alpha, beta, and fitted values for the others."""

from copy import deepcopy

import numpy as np
import pytest
from _support.support import MLSI_SOLVERS, angle
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS, Adapter
from labelspan.metrics import retrieval_at_k
from labelspan.operators import as_operator
from labelspan.solvers.missing_labels import complete_labels

N, D = 150, 30
X, Y = make_multilabel_classification(N, n_features=D, n_classes=5, random_state=0)
X, Y = X / np.linalg.norm(X, axis=1)[:, None], Y.astype(float)
RNG = np.random.default_rng(0)
ROWS = np.repeat((np.arange(N) >= 70)[:, None], 5, axis=1)
ENTRIES = RNG.random(Y.shape) < 0.3
BOTH = ROWS | ENTRIES


def ridge(alpha, unknown=BOTH & False, intercept=True):
    """Return the fitted values of each label, from the rows where it is known."""
    fitted = np.empty_like(Y)
    for j in range(Y.shape[1]):
        rows = ~unknown[:, j]
        means = X[rows].mean(axis=0) * intercept
        shift = Y[rows, j].mean() * intercept
        A = X[rows] - means
        slopes = np.linalg.solve(A.T @ A + alpha * np.eye(D), A.T @ (Y[rows, j] - shift))
        fitted[:, j] = shift + (X - means) @ slopes
    return fitted


# --- alpha ----------------------------------------------------------------------------


@pytest.mark.parametrize("model", [OPLS(), CCA(), HSL(), MLSI(5), MLSI(5, center=False)], ids=repr)
def test_the_choice_minimises_the_leave_one_out_error_of_ridge(model):
    model = clone(model).fit(X, Y)
    centred = model.center
    A, B = (X - X.mean(axis=0), Y - Y.mean(axis=0)) if centred else (X, Y)

    def error(alpha):
        hat = A @ np.linalg.solve(A.T @ A + alpha * np.eye(D), A.T)
        left = 1 - np.diag(hat) - (1 / N if centred else 0)
        return np.square((B - hat @ B) / left[:, None]).sum() / N

    here = error(model.alpha_)
    np.testing.assert_allclose(here, model.alpha_curve_.error, rtol=1e-9)
    assert here <= min(error(model.alpha_ * factor) for factor in (0.5, 0.9, 1.1, 2.0))


def test_unlabelled_rows_do_not_take_part():
    for model in (OPLS(), MLSI(5)):
        with_rows = clone(model).fit(X, np.where(ROWS, -1, Y)).alpha_
        np.testing.assert_allclose(with_rows, clone(model).fit(X[:70], Y[:70]).alpha_, rtol=1e-9)


@pytest.mark.parametrize("model", [OPLS(), OPLS(center=False), MLSI(5), LDA()], ids=repr)
def test_streams_choose_as_a_fit_does(model):
    """They had no rows, and took the mean of the leverages for each."""
    stream, y = clone(model), Y[:, 0] if isinstance(model, LDA) else Y
    for rows in np.array_split(np.arange(N), 4):
        stream.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(stream.alpha_, clone(model).fit(X, y).alpha_, rtol=1e-6)


# --- labels in MLSI -------------------------------------------------------------------


@pytest.mark.parametrize("options", MLSI_SOLVERS, ids=lambda o: o["solver"])
def test_scores_are_the_ridge_regression_seen_from_the_space(options):
    fitted = ridge(0.5)
    model = MLSI(5, alpha=0.5, **options).fit(X, Y)
    V = np.linalg.qr(model.transform(X))[0]
    expected = Y.mean(axis=0) + V @ (V.T @ fitted)
    np.testing.assert_allclose(model.label_scores(X), expected, atol=1e-6)
    whole = MLSI(D, alpha=0.5, **options).fit(X, Y)
    np.testing.assert_allclose(whole.label_scores(X), fitted, atol=1e-6)


def test_a_label_that_is_the_same_everywhere_changes_nothing():
    more = np.hstack([Y, np.full((N, 1), 0.1)])
    found = MLSI(5, alpha=3.0).fit(X, more)
    expected = MLSI(5, alpha=3.0).fit(X, Y)
    np.testing.assert_allclose(found.transform(X), expected.transform(X), atol=1e-10)
    np.testing.assert_allclose(found.label_scores(X)[:, -1], 0.1, atol=1e-10)


@pytest.mark.parametrize(
    ("unknown", "center", "solver"),
    [
        (ROWS, True, "krylov"),
        (ENTRIES, False, "exact"),
        (BOTH, True, "exact"),
        (BOTH, False, "krylov"),
    ],
)
def test_scores_with_all_components_are_those_of_the_known_rows(unknown, center, solver):
    """With beta=1 and all directions the scores are fitted labels plus alpha W'B."""
    options = {"alpha": 0.5, "beta": 1.0, "label_weight": None, "center": center, "solver": solver}
    model = MLSI(**options).fit(X, np.where(unknown, np.nan, Y))
    filled = np.where(unknown, ridge(0.5, unknown, center), Y)
    whole = MLSI(**options).fit(X, filled)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-5)
    # They are the regression itself, on the rows where a label is known.
    scores = model.label_scores(X)
    np.testing.assert_allclose(scores, ridge(0.5, unknown, center), atol=1e-5)


def wide(kind):
    """Return 60 rows of 200 columns that are hard in some way."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((60, 200))
    if kind == "units":
        rows *= 10.0 ** rng.uniform(-6, 6, 200)
    if kind == "ill conditioned":
        left, _, right = np.linalg.svd(rows, full_matrices=False)
        rows = (left * np.geomspace(1, 1e-6, 60)) @ right
    if kind == "duplicates":
        rows[20:40] = rows[:20]
    return rows.astype(np.float32) if kind == "float32" else rows


@pytest.mark.parametrize("kind", ["plain", "units", "ill conditioned", "duplicates", "float32"])
@pytest.mark.parametrize(("share", "intercept"), [(1e-6, True), (1e-2, False), (1.0, True)])
def test_labels_of_wide_rows_are_filled_to_one_percent(kind, share, intercept):
    rows = wide(kind)
    labels = np.random.default_rng(3).integers(0, 2, (60, 4)) * 1.0
    unknown = np.repeat((np.arange(60) >= 45)[:, None], 4, axis=1)
    known = rows[:45].astype(float)
    alpha = share * float(np.square(known).sum(axis=1).mean())
    given = labels.copy()
    filled = complete_labels(
        as_operator(rows), labels, unknown, alpha, intercept=intercept, owner="test"
    )
    np.testing.assert_array_equal(labels, given)
    np.testing.assert_array_equal(filled[:45], labels[:45])
    means, shift = known.mean(axis=0) * intercept, labels[:45].mean(axis=0) * intercept
    centred = known - means
    gram = centred @ centred.T + alpha * np.eye(45)
    slopes = centred.T @ np.linalg.solve(gram, labels[:45] - shift)
    exact = shift + (rows[45:] - means) @ slopes
    size = np.linalg.norm(labels[:45] - shift, axis=0)
    assert (np.linalg.norm(filled[45:] - exact, axis=0) <= 0.02 * size).all()


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
@pytest.mark.parametrize("part", [slice(60, None), slice(0, None, 2), slice(12, None)])
def test_few_known_labels_weigh_less(part):
    # Two of four labels have nothing to do with the features.
    labels = np.hstack([Y[:, :2], np.random.default_rng(1).integers(0, 2, (N, 2)) * 1.0])
    partly = labels.copy()
    partly[part] = -1
    share = float((partly[:, 0] >= 0).mean())
    model = MLSI(9).fit(X, partly)
    curve = model.alpha_curve_
    explained = max(0.0, 1 - curve.error / curve.errors[-1])
    trust = explained + share**2 * (1 - explained)
    ratio = 4 * trust * share * N / (share * N + 300 * (1 - share))
    assert model.beta_ == pytest.approx(min(0.65, max(0.02, ratio / (1 + ratio))))
    # A given alpha does not change the weight, and a stream has nearly the same.
    assert MLSI(9, alpha=model.alpha_).fit(X, partly).beta_ == pytest.approx(model.beta_)
    stream = MLSI(9, alpha=model.alpha_).partial_fit(X, partly)
    assert stream.beta_ == pytest.approx(model.beta_, abs=0.1)
    assert MLSI(9).fit(X, labels).beta_ == 0.65
    assert MLSI(9, beta=0.2).fit(X, partly).beta_ == 0.2


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
def test_labels_that_seem_noise_keep_some_weight():
    rows = np.random.default_rng(0).standard_normal((200, 30))
    labels = (np.random.default_rng(7).random((200, 4)) < 0.3) * 1.0
    labels[12:] = -1
    model = MLSI(9).fit(rows, labels)
    assert model.beta_ == 0.02
    assert (model.label_scores(rows).std(axis=0) > 0).all()


# --- a label on most rows ---------------------------------------------------------------


def with_a_common_label(seed=0):
    """Topics as word counts; one label is on five rows in six, the others on few."""
    rng = np.random.default_rng(seed)
    labels = np.c_[rng.random(300) < 5 / 6, rng.random((300, 4)) < 0.1].astype(int)
    labels[~labels.any(axis=1), 1] = 1
    words = rng.gamma(0.3, 1.0, (5, 80))
    counts = rng.poisson(labels @ words + 0.2)
    return counts / np.maximum(np.linalg.norm(counts, axis=1), 1)[:, None], labels


def neighbours(model, rows, labels, test):
    return retrieval_at_k(
        model.transform(rows[test]), labels[test], model.transform(rows[~test]), labels[~test]
    ).ndcg


def test_a_label_on_most_rows_does_not_vanish_by_centring():
    """The plain centred embedding is the same one with its mean row at the origin."""
    rows, labels = with_a_common_label()
    test = np.arange(300) % 3 == 0
    model = MLSI(10).fit(rows[~test], labels[~test])
    centred = deepcopy(model)
    centred.mean_ = rows[~test].mean(axis=0)
    bare = MLSI(10, center=False).fit(rows[~test], labels[~test])
    ours, plain, uncentred = (neighbours(one, rows, labels, test) for one in (model, centred, bare))
    assert ours > plain + 0.02
    assert ours > uncentred - 0.01


def test_a_common_label_moves_the_origin_and_nothing_else():
    rows, labels = with_a_common_label()
    model = MLSI(10).fit(rows, labels)
    origin = (rows.mean(axis=0) - model.mean_) @ model.components_.T
    scores = (rows - rows.mean(axis=0)) @ model.components_.T @ model.label_loadings_
    np.testing.assert_allclose(model.label_scores(rows), scores + labels.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(model.transform(rows).mean(axis=0), origin, atol=1e-12)
    assert np.linalg.norm(origin) > 0.1 * np.linalg.norm(model.transform(rows), axis=1).mean()
    np.testing.assert_allclose(MLSI(10).fit_transform(rows, labels), model.transform(rows))
    moved = MLSI(10).fit(rows + 3.0, labels)
    np.testing.assert_allclose(moved.transform(rows + 3.0), model.transform(rows), atol=1e-8)
    stream = MLSI(10, alpha=model.alpha_).partial_fit(rows[:100], labels[:100])
    stream.partial_fit(rows[100:], labels[100:])
    np.testing.assert_allclose(stream.transform(rows), model.transform(rows), atol=1e-8)
    rare = MLSI(10).fit(rows, labels[:, 1:])
    np.testing.assert_allclose(rare.mean_, rows.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("model", [MLSI(5, alpha=1.0), Adapter(5)], ids=str)
def test_a_label_on_every_labelled_row_is_no_direction(model):
    labels = np.where(np.arange(N)[:, None] < 70, [[1.0, 0.0]], -1.0)
    found = model.fit(X, labels).transform(X)
    assert angle(found, LSI(5, center=True).fit_transform(X)) < 1e-6
