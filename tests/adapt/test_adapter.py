"""The adapter: certificates, identities with other estimators, streams, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
from _support.support import angle, tagged_vectors
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelspan import MLSI, Adapter
from labelspan.checks import check_operator
from labelspan.datasets import load_debtags
from labelspan.errors import (
    InvalidInput,
    InvalidLabels,
    InvalidParameter,
    LabelspanWarning,
)
from labelspan.metrics import retrieval_at_k
from labelspan.operators import as_operator
from labelspan.operators.compositions import Without

EMBEDDINGS = Path(__file__).parents[2] / "examples" / "data" / "debtags_minilm.npz"


@parametrize_with_checks([Adapter()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def tagged(rows=240, columns=20, labels=6, seed=0):
    X, Y = tagged_vectors(rows, columns, labels, seed=seed)
    return X.astype(float), Y


# --- certificates and identities --------------------------------------------------------


def test_without_labels_it_is_pca():
    X, Y = tagged()
    model = Adapter(7, beta=0.0).fit(X, Y)
    expected = PCA(7, svd_solver="full").fit_transform(X)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(expected), atol=1e-9)
    assert not model.adapted_


def given_as(kind, Y):
    """Labels of which some are unknown, or one is on most rows."""
    rng = np.random.default_rng(0)
    if kind == "rows without labels":
        return np.where(np.arange(len(Y))[:, None] < 100, Y, -1.0)
    if kind == "entries":
        return np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    return np.c_[Y[:, 1:], rng.random(len(Y)) < 0.8] if kind == "a common label" else Y


@pytest.mark.parametrize("beta", [0.05, 0.4, 0.9])
@pytest.mark.parametrize("kind", ["all", "rows without labels", "entries", "a common label"])
def test_between_the_ends_it_is_mlsi(beta, kind):
    X, Y = tagged()
    y = given_as(kind, Y)
    model = Adapter(8, beta=beta, alpha=3.0, compare=False).fit(X, y)
    other = MLSI(8, beta=beta, alpha=3.0).fit(X, y)
    factor = np.linalg.norm(model.transform(X)[:, 0]) / np.linalg.norm(other.transform(X)[:, 0])
    # Of a common label's mean, MLSI subtracts what few dimensions leave; an adapter does not.
    for labels in (None, None if kind == "a common label" else y):
        ours, theirs = model.transform(X, labels=labels), other.transform(X, labels=labels)
        np.testing.assert_allclose(np.abs(ours), factor * np.abs(theirs), atol=1e-7)


def test_vectors_that_differ_in_few_directions():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 30)) + 5
    Y = (X[:, :3] > 5).astype(int)
    model = Adapter().fit(X, Y)
    assert model.n_components_ <= 4
    assert np.isfinite(model.transform(X)).all()
    with pytest.warns(LabelspanWarning, match="the map has 4 directions; 4 are used"):
        assert Adapter(5).fit(X, Y).n_components_ == 4


# --- vectors of different lengths -------------------------------------------------------


@pytest.mark.parametrize("kind", ["wide", "tall", "float32", "sparse"])
def test_an_operator_without_a_direction(kind):
    X = np.random.default_rng(0).random((9, 30) if kind == "wide" else (30, 9))
    u = X.mean(axis=0) / np.linalg.norm(X.mean(axis=0))
    if kind == "sparse":
        X = sparse.csr_array(np.where(X > 0.5, X, 0.0))
    rows = as_operator(X.astype(np.float32) if kind == "float32" else X)
    for base in (rows, rows.centered()[0]):
        check_operator(Without(base, u[:, None]))
        some = np.random.default_rng(1).standard_normal((rows.shape[1], 2)).astype(rows.dtype)
        expected = Without(base, u[:, None]).toarray()
        expected = expected.T @ (expected @ some)
        np.testing.assert_allclose(Without(base, u[:, None]).normal(some), expected, atol=1e-3)


def shaded(rows=300):
    """Vectors of which only the directions matter, and their labels."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, 20)) + 0.5
    return X * rng.lognormal(0.0, 0.6, (rows, 1)), X[:, :4] > 1.1


@pytest.mark.parametrize("beta", [0.0, 0.3, "auto"])
def test_where_lengths_vary_the_direction_of_the_mean_is_left_out(beta):
    X, Y = shaded()
    model = Adapter(8, beta=beta).fit(X, Y)
    assert "direction of their mean is left out" in model.report_.reason
    mean = X.mean(axis=0)
    assert np.abs(model.components_ @ mean).max() < 1e-9 * np.linalg.norm(model.components_)
    # The same as of rows that do not have it; shorter rows have the same direction.
    rest = X - np.outer(X @ mean, mean) / (mean @ mean)
    other = Adapter(8, beta=beta).fit(rest, Y)
    places = model.transform(X)
    np.testing.assert_allclose(np.abs(places), np.abs(other.transform(rest)), atol=1e-7)
    if not model.label_means_.any():
        np.testing.assert_allclose(model.transform(X / 3), places / 3, atol=1e-7)
    for labels in (None, Y):
        streamed = Adapter(8, beta=beta)
        for start in range(0, 300, 70):
            part = slice(start, start + 70)
            streamed.partial_fit(X[part], Y[part], solve=False)
        np.testing.assert_allclose(
            streamed.solve().transform(X, labels=labels), model.transform(X, labels=labels)
        )
    equal = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert "left out" not in Adapter(8, beta=beta).fit(equal, Y).report_.reason


@pytest.mark.parametrize(("size", "columns"), [(4, 5), (5, 4)])
def test_all_dimensions_are_kept_if_they_were_asked_for(size, columns):
    X, Y = shaded()
    model = Adapter(min(size, columns)).fit(X[:, :columns], Y)
    assert model.n_components_ == 4
    assert "left out" not in model.report_.reason


# --- streams ----------------------------------------------------------------------------


@pytest.mark.parametrize(("cut", "form"), [(1, "indicator"), (37, "unlabelled"), (500, "classes")])
def test_a_stream_is_the_fit_of_all_rows(cut, form):
    X, Y = tagged(rows=120 if cut == 1 else 700, labels=5)
    y, options = Y, {}
    if form == "classes":
        y = Y.argmax(axis=1)
        options = {"classes": np.arange(5)}
    elif form == "unlabelled":
        y = np.where(np.arange(Y.shape[0])[:, None] % 3 == 0, -1, Y)
    whole = Adapter(6).fit(X, y)
    stream = Adapter(6)
    for start in range(0, X.shape[0], cut):
        stream.partial_fit(X[start : start + cut], y[start : start + cut], solve=False, **options)
    stream.solve()
    np.testing.assert_allclose(stream.components_, whole.components_, atol=1e-8)
    np.testing.assert_allclose(stream.label_directions_, whole.label_directions_, atol=1e-8)
    assert stream.beta_ == whole.beta_
    for ours, theirs in zip(stream.report_.comparisons, whole.report_.comparisons, strict=True):
        assert ours.size == theirs.size
        np.testing.assert_allclose(ours.adapted, theirs.adapted, atol=2e-3)
    np.testing.assert_allclose(stream.transform(X, labels=y), whole.transform(X, labels=y))


def test_two_streams_are_merged():
    X, Y = tagged(rows=300)
    Y[::7] = -1
    left, right = Adapter(6, compare=False), Adapter(6, compare=False)
    left.partial_fit(X[:100], Y[:100]).merge(right.partial_fit(X[100:], Y[100:]))
    whole = Adapter(6, compare=False).fit(X, Y)
    np.testing.assert_allclose(left.components_, whole.components_, atol=1e-8)
    np.testing.assert_allclose(left.transform(X, labels=Y), whole.transform(X, labels=Y), atol=1e-8)
    assert (left.report_.n_rows, left.report_.n_labelled) == (300, 257)


@pytest.mark.parametrize("stream", [False, True])
def test_minus_one_and_one_are_classes(stream):
    X, Y = tagged()
    y = Y[:, 0]
    plain = Adapter(3, beta=0.4, compare=False).fit(X, y)
    signed = Adapter(3, beta=0.4, compare=False)
    if stream:
        for part in (slice(0, 100), slice(100, None)):
            signed.partial_fit(X[part], 2 * y[part] - 1, classes=[-1, 1])
    else:
        signed.fit(X, 2 * y - 1)
    assert signed.classes_.tolist() == [-1, 1]
    np.testing.assert_allclose(
        signed.transform(X, labels=2 * y - 1), plain.transform(X, labels=y), atol=1e-9
    )


# --- what is compared -------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*alpha='auto' chose the largest")
def test_labels_that_are_noise_give_pca_and_say_so():
    used = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((500, 24)) * np.geomspace(3, 0.3, 24)
        model = Adapter(8, random_state=seed).fit(X, (rng.random((500, 6)) < 0.3).astype(int))
        used.append(model.report_.used)
        if used[-1] == "pca":
            assert "Nothing is gained" in model.report_.reason
            assert angle(model.transform(X), PCA(8, svd_solver="full").fit_transform(X)) < 1e-7
            np.testing.assert_array_equal(model.label_directions_, 0.0)
    # By chance, one in a hundred is taken for a gain.
    assert used.count("adapted") <= 1


def test_more_rows_are_compared_until_the_answer_is_clear():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 20)) * np.geomspace(3, 0.3, 20)
    clear = (X[:, 10:16] / X[:, 10:16].std(axis=0) > 0.5).astype(int)
    noise = (rng.random((2000, 6)) < 0.5).astype(int)
    found = [Adapter(8).fit(X, Y).report_.comparison().n_queries for Y in (clear, noise)]
    assert found[0] <= 400
    assert found[1] > 1900


def test_labels_that_matter_are_used():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 40)) * np.geomspace(4, 0.4, 40)
    Y = (X[:, 20:30] / X[:, 20:30].std(axis=0) > 0.8).astype(int)
    train, test = slice(0, 600), slice(600, None)
    model = Adapter(10, random_state=0).fit(X[train], Y[train])
    found = model.report_.comparison()
    assert model.report_.used == "adapted"
    assert found.low > 0
    pca = PCA(10, svd_solver="full").fit(X[train])
    some = Y[test].any(axis=1)
    ours, theirs = (
        retrieval_at_k(
            one.transform(X[test])[some], Y[test][some], one.transform(X[train]), Y[train]
        ).ndcg
        for one in (model, pca)
    )
    assert ours > theirs
    # What is said of held-out rows is true of rows that the fit has never seen.
    assert abs(ours - found.adapted) < 0.08


def test_a_map_that_harms_new_labels_is_not_used():
    X, Y = tagged(rows=800, columns=32, labels=12)
    model, bold = (Adapter(16, new_labels=choice).fit(X, Y) for choice in (True, False))
    assert bold.adapted_
    assert {one.labels for one in bold.report_.comparisons} == {"seen"}
    given = Adapter(16, new_labels=True, beta=bold.beta_).fit(X, Y)
    assert given.report_.comparison(labels="new").high < 0
    assert model.beta_ <= 0.1
    new = model.report_.comparison(labels="new")
    assert not model.adapted_ or new.gain >= -new.error


def test_one_label_per_row_is_adapted_also_for_new_labels():
    """Held-out classes leave rows without any label; they were a veto."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 8, 600)
    X = rng.standard_normal((8, 40))[y] + 2.0 * rng.standard_normal((600, 40))
    assert Adapter(new_labels=True).fit(X, y).adapted_


def test_at_least_32_dimensions_and_mlsis_weight():
    X, Y = tagged(rows=300, columns=60, labels=8)
    few = np.where(np.arange(300)[:, None] < 32, Y, -1.0)
    for labels in (Y, few):
        assert Adapter().fit(X, labels).n_components_ >= 32
    assert Adapter(compare=False).fit(X, Y).beta_ == MLSI().fit(X, Y).beta_


@pytest.mark.parametrize("rows", [8, 19])
def test_few_rows_give_pca(rows):
    X, Y = tagged(rows=rows)
    model = Adapter(4).fit(X, Y)
    assert model.report_.comparisons == ()
    assert f"{rows} labelled rows are too few" in model.report_.reason
    assert model.report_.used == "pca"
    assert angle(model.transform(X), PCA(4, svd_solver="full").fit_transform(X)) < 1e-7
    # What was asked for is used: a beta, or no comparison.
    assert Adapter(4, beta=0.3).fit(X, Y).beta_ == 0.3
    assert Adapter(4, compare=False).fit(X, Y).beta_ == 0.65
    assert Adapter(4).fit(*tagged(rows=20)).report_.comparisons != ()


def test_where_the_vectors_as_they_came_are_better_it_is_said():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 12, 400)
    X = rng.standard_normal((12, 12))[groups] * 3 + rng.standard_normal((400, 12))
    # Two dimensions cannot keep twelve groups apart.
    narrow, wide = (Adapter(size).fit(X, groups) for size in (2, 12))
    found = narrow.report_.comparison()
    assert found.original > max(found.adapted, found.pca)
    assert narrow.report_.original_better
    assert "The original vectors are better" in narrow.report_.reason
    assert "better on held-out rows" in narrow.status_
    assert not wide.report_.original_better
    assert "better" not in wide.status_


def test_fits_repeat_and_do_not_change_their_input():
    X, Y = tagged()
    X.setflags(write=False)
    Y.setflags(write=False)
    first = Adapter(6).fit(X, Y)
    second = clone(first).fit(X, Y)
    np.testing.assert_array_equal(first.components_, second.components_)
    assert first.report_ == second.report_
    back = first.inverse_transform(first.transform(X))
    np.testing.assert_allclose(first.transform(back), first.transform(X), atol=1e-9)
    narrow = Adapter(6).fit(X.astype(np.float32), Y)
    assert narrow.components_.dtype == narrow.label_directions_.dtype == np.float32
    assert narrow.transform(X.astype(np.float32), labels=Y).dtype == np.float32
    np.testing.assert_allclose(np.abs(narrow.components_), np.abs(first.components_), atol=1e-4)


# --- what is refused --------------------------------------------------------------------


def test_what_is_refused():
    X, Y = tagged()
    holes = Y.copy()
    holes[0, 0] = -1
    with pytest.raises(InvalidLabels, match="single unknown entries; use fit"):
        Adapter(4).partial_fit(X, holes)
    for y, message in [
        (Y + 0.5, "continuous targets"),
        (np.full_like(Y, -1), "every label in y is unknown"),
        (Y[:-1], "X has 240 rows, y has 239"),
        (None, "requires y"),
    ]:
        with pytest.raises(InvalidLabels, match=message):
            Adapter(4).fit(X, y)
    with pytest.raises(InvalidInput, match="all rows of X are equal"):
        Adapter().fit(np.ones((50, 4)), Y[:50])
    with pytest.raises(InvalidInput, match="at most 4096 dimensions"):
        Adapter().fit(np.ones((3, 4097)), [0, 1, 0])
    for params in ({"beta": 2}, {"n_components": 0}, {"alpha": -1.0}, {"compare": 1}):
        with pytest.raises(InvalidParameter, match=next(iter(params))):
            Adapter(**params).fit(X, Y)
    model = Adapter(3, compare=False).partial_fit(X, Y.argmax(axis=1), classes=np.arange(6))
    with pytest.raises(InvalidLabels, match="classes that the first batch did not have"):
        model.partial_fit(X, np.full(240, 9))
    with pytest.raises(
        InvalidLabels,
        match=r"must be a vector of classes as in .*, but has 3 columns",
    ):
        model.transform(X, labels=Y[:, :3])


# --- vectors of a language model --------------------------------------------------------


@pytest.mark.skipif(not EMBEDDINGS.exists(), reason="the vectors of the gallery are not here")
def test_sentence_embeddings_gain_on_seen_labels_and_keep_new_ones():
    with np.load(EMBEDDINGS) as file:
        stored = dict(file)
    corpus = load_debtags().take(stored["rows"])
    X = normalize(stored["codes"].astype(np.float32))
    counts = np.asarray(corpus.Y.sum(axis=0)).ravel()
    report = Adapter(64, new_labels=True).fit(X, corpus.Y[:, counts >= 10]).report_
    seen, new = report.comparison(labels="seen"), report.comparison(labels="new")
    assert seen.low > 0.005
    assert seen.adapted > seen.original + 0.015
    assert new.gain > -0.005
