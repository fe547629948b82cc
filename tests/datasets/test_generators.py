"""Synthetic data: it has the structure that was asked for, and the methods find it."""

import numpy as np
import pytest
from _support.support import angle
from scipy import linalg, sparse

from labelspan import LSI, MLSI
from labelspan.datasets import generators, make_tagged_corpus, make_tagged_vectors
from labelspan.errors import InvalidParameter


def shares(Y):
    """The labels of each row, each row summing to one."""
    dense = Y.toarray().astype(float)
    return dense / dense.sum(axis=1, keepdims=True)


def means(corpus):
    """The mean texts of one label each; the mean of any text is among their mixtures."""
    return corpus.offset + corpus.directions.toarray()


def column_space(rows):
    return linalg.orth(rows.T, rcond=1e-8)


def feature_space(model, X):
    """The span of the features' loadings on a fitted space."""
    return X.T @ np.linalg.qr(model.transform(X).astype(float))[0]


# --- corpora ----------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1 << 22, 1000])
@pytest.mark.parametrize("topics", [None, 3])
def test_a_corpus_has_the_documented_means(block, topics, monkeypatch):
    monkeypatch.setattr(generators, "BLOCK", block)
    corpus = make_tagged_corpus(3000, 80, 6, topics=topics, random_state=4)
    X = corpus.X.toarray()
    np.testing.assert_allclose(corpus.directions.sum(axis=1), 80 * 0.7)
    assert corpus.offset.sum() == pytest.approx(80 * 0.3)
    expected = corpus.offset + shares(corpus.Y) @ corpus.directions
    # Counts scatter as Poisson numbers do: in units of their deviation, means are within 5.
    for rows in (slice(None), slice(0, 1500), corpus.Y.toarray()[:, 2] == 1):
        part, truth = X[rows], expected[rows]
        deviation = np.sqrt(truth.sum(axis=0))
        assert np.abs((part - truth).sum(axis=0) / deviation).max() < 5
    # And they scatter no less, either.
    assert ((X - expected) ** 2 / expected).mean() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("block", [1 << 22, 700])
def test_a_corpus_is_well_formed(block, monkeypatch):
    monkeypatch.setattr(generators, "BLOCK", block)
    corpus = make_tagged_corpus(
        400, 300, 7, words_per_text=3.0, labels_per_text=1.5, random_state=0
    )
    assert corpus.X.shape == (400, 300)
    for part in (corpus.X, corpus.Y):
        part.check_format(full_check=True)
        assert part.has_canonical_format
        assert part.indices.dtype == np.int32
        assert part.sum(axis=1).min() >= 1
    assert corpus.X.dtype == np.float32
    assert set(corpus.Y.data) == {1}
    assert corpus.X.sum(axis=1).mean() == pytest.approx(3, abs=0.3)
    # Each text draws 1.5 labels, some of them twice.
    assert 1.2 < corpus.Y.sum(axis=1).mean() < 1.5
    first, middle, last = corpus.Y.sum(axis=0)[[0, 3, 6]]
    assert first > middle > last


def test_labels_mix_fewer_topics():
    plain = make_tagged_corpus(50, 200, 9, random_state=1)
    mixed = make_tagged_corpus(50, 200, 9, topics=4, random_state=1)
    assert np.linalg.matrix_rank(plain.directions.toarray()) == 9
    assert np.linalg.matrix_rank(mixed.directions.toarray()) == 4
    assert sparse.issparse(mixed.directions)
    few = make_tagged_corpus(50, 200, 9, words_per_topic=12, random_state=1)
    assert (np.diff(few.directions.indptr) == 12).all()


def test_extreme_shares_of_background():
    none = make_tagged_corpus(40, 100, 3, background=0.0, random_state=0)
    assert not none.offset.any()
    possible = (none.Y @ none.directions).toarray() > 0
    assert not none.X.toarray()[~possible].any()
    every = make_tagged_corpus(40, 100, 3, background=1.0, random_state=0)
    assert every.directions.sum() == 0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_lsi_and_mlsi_find_the_topics(seed):
    corpus = make_tagged_corpus(2000, 400, 6, words_per_text=300, random_state=seed)
    truth = means(corpus).T
    lsi = LSI(6, random_state=0).fit(corpus.X)
    assert angle(truth, lsi.components_.T.astype(float)) < 0.08
    mlsi = MLSI(6, center=False, random_state=0).fit(corpus.X, corpus.Y)
    assert angle(truth, feature_space(mlsi, corpus.X)) < 0.08
    # The rows of the space say which labels a text has.
    for model in (lsi, mlsi):
        angles = linalg.subspace_angles(shares(corpus.Y), model.transform(corpus.X).astype(float))
        assert np.cos(angles).min() > 0.95


def test_more_texts_find_the_topics_better():
    found = {}
    for n in (500, 8000):
        corpus = make_tagged_corpus(n, 300, 5, words_per_text=100, random_state=0)
        found[n] = angle(means(corpus).T, LSI(5).fit(corpus.X).components_.T.astype(float))
    # Sixteen times as many texts: about four times as near.
    assert found[8000] < found[500] / 2.5


def test_labels_help_where_texts_are_short():
    corpus = make_tagged_corpus(3000, 600, 20, topics=4, words_per_text=100, random_state=0)
    truth = column_space(means(corpus))
    assert truth.shape[1] == 4
    blind = angle(truth, LSI(4, random_state=0).fit(corpus.X).components_.T.astype(float))
    model = MLSI(4, center=False, random_state=0).fit(corpus.X, corpus.Y)
    informed = angle(truth, feature_space(model, corpus.X))
    assert informed < 0.3
    assert blind > 0.7


# --- vectors ----------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1 << 22, 1000])
def test_vectors_have_the_documented_means(block, monkeypatch):
    monkeypatch.setattr(generators, "BLOCK", block)
    made = make_tagged_vectors(4000, 16, 8, rank=3, nuisance=2, noise=0.5, random_state=2)
    assert made.X.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(made.directions, axis=1), 1)
    assert np.linalg.matrix_rank(made.directions) == 3
    rest = made.X - (made.offset + made.Y @ made.directions)
    covariance = rest.T @ rest / len(made)
    values = np.linalg.eigvalsh(covariance)[::-1]
    np.testing.assert_allclose(values[:2], 4, rtol=0.1)
    np.testing.assert_allclose(values[2:], 0.25 / 16, rtol=0.2)
    # The nuisance is orthogonal to the labels.
    inside = linalg.orth(made.directions.T, rcond=1e-8)
    assert np.trace(inside.T @ covariance @ inside) == pytest.approx(3 * 0.25 / 16, rel=0.1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_lsi_finds_directions_without_nuisance_and_mlsi_with_it(seed):
    plain = make_tagged_vectors(4000, 64, 12, rank=5, random_state=seed)
    found = LSI(5, center=True).fit(plain.X).components_.T.astype(float)
    assert angle(column_space(plain.directions), found) < 0.05
    made = make_tagged_vectors(4000, 64, 12, rank=5, nuisance=6, random_state=seed)
    truth = column_space(made.directions)
    blind = LSI(5, center=True).fit(made.X)
    assert angle(truth, blind.components_.T.astype(float)) > 0.9
    model = MLSI(5, beta=0.99, center=True).fit(made.X, made.Y)
    latent = np.linalg.qr(model.transform(made.X).astype(float))[0]
    kept = np.linalg.norm(truth.T @ linalg.orth((made.X - made.X.mean(axis=0)).T @ latent))
    assert kept**2 > 0.95 * 5


# --- both -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_tagged_corpus, make_tagged_vectors])
def test_the_seed_decides(make):
    one, two, other = (make(60, 50, 4, random_state=seed) for seed in (5, 5, 6))
    dense = [np.asarray(part.dense().X) for part in (one, two, other)]
    np.testing.assert_array_equal(dense[0], dense[1])
    assert (dense[0] != dense[2]).any()
    again = make(60, 50, 4, random_state=np.random.default_rng(5))
    np.testing.assert_array_equal(again.dense().X, dense[0])
    part = one.take([3, 1])
    assert len(part) == 2
    assert part.directions is one.directions


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_tagged_corpus, {"n": 0}, "make_tagged_corpus: n must be a whole number of at"),
        (make_tagged_corpus, {"background": 1.5}, "background must be a number from 0 to 1"),
        (make_tagged_corpus, {"labels_per_text": 0.5}, "labels_per_text must be a number of at"),
        (make_tagged_corpus, {"words_per_topic": 9999}, "words_per_topic=9999 is more than the"),
        (make_tagged_vectors, {"noise": -1.0}, "make_tagged_vectors: noise must be a number of"),
        (make_tagged_vectors, {"rank": 21}, "rank=21 must be at most labels=20"),
        (make_tagged_vectors, {"nuisance": 60}, "with nuisance=60 at most d=64; choose fewer"),
    ],
)
def test_parameters_are_checked(make, options, message):
    with pytest.raises(InvalidParameter, match=message):
        make(**options)
