"""Synthetic data: it has the structure that was asked for, and the methods find it."""

import numpy as np
import pytest
from _support.support import angle
from scipy import linalg

from labelspan import LSI, MLSI
from labelspan.datasets import generators, make_tagged_vectors
from labelspan.errors import InvalidParameter


def column_space(rows):
    return linalg.orth(rows.T, rcond=1e-8)


def test_vectors_have_the_documented_means(monkeypatch):
    monkeypatch.setattr(generators, "_BLOCK", 1000)
    made = make_tagged_vectors(4000, 16, 8, rank=3, nuisance=2, noise=0.5, random_state=2)
    assert made.X.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(made.extra["directions"], axis=1), 1)
    assert np.linalg.matrix_rank(made.extra["directions"]) == 3
    rest = made.X - (made.extra["offset"] + made.Y @ made.extra["directions"])
    covariance = rest.T @ rest / len(made)
    values = np.linalg.eigvalsh(covariance)[::-1]
    np.testing.assert_allclose(values[:2], 4, rtol=0.1)
    np.testing.assert_allclose(values[2:], 0.25 / 16, rtol=0.2)
    # The nuisance is orthogonal to the labels.
    inside = linalg.orth(made.extra["directions"].T, rcond=1e-8)
    assert np.trace(inside.T @ covariance @ inside) == pytest.approx(3 * 0.25 / 16, rel=0.1)


@pytest.mark.parametrize("seed", [0])
def test_lsi_finds_directions_without_nuisance_and_mlsi_with_it(seed):
    plain = make_tagged_vectors(4000, 64, 12, rank=5, random_state=seed)
    found = LSI(5, center=True).fit(plain.X).components_.T.astype(float)
    assert angle(column_space(plain.extra["directions"]), found) < 0.05
    made = make_tagged_vectors(4000, 64, 12, rank=5, nuisance=6, random_state=seed)
    truth = column_space(made.extra["directions"])
    blind = LSI(5, center=True).fit(made.X)
    assert angle(truth, blind.components_.T.astype(float)) > 0.9
    model = MLSI(5, beta=0.99, center=True).fit(made.X, made.Y)
    latent = np.linalg.qr(model.transform(made.X).astype(float))[0]
    kept = np.linalg.norm(truth.T @ linalg.orth((made.X - made.X.mean(axis=0)).T @ latent))
    assert kept**2 > 0.95 * 5


def test_the_seed_decides_and_labels_are_well_formed():
    one, two, other = (make_tagged_vectors(60, 50, 4, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.X, two.X)
    assert (one.X != other.X).any()
    again = make_tagged_vectors(60, 50, 4, random_state=np.random.default_rng(5))
    np.testing.assert_array_equal(again.X, one.X)
    Y = make_tagged_vectors(400, 20, 7, labels_per_row=1.5, random_state=0).Y
    Y.check_format(full_check=True)
    assert Y.has_canonical_format
    assert Y.indices.dtype == np.int32
    assert Y.sum(axis=1).min() >= 1
    # Each row draws 1.5 labels, some of them twice.
    assert 1.2 < Y.sum(axis=1).mean() < 1.5
    first, middle, last = Y.sum(axis=0)[[0, 3, 6]]
    assert first > middle > last


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "make_tagged_vectors: n must be a whole number of at"),
        ({"noise": -1.0}, "make_tagged_vectors: noise must be a number of"),
        ({"labels_per_row": 0.5}, "labels_per_row must be a number of at"),
        ({"rank": 21}, "rank=21 must be at most labels=20"),
        ({"nuisance": 60}, "with nuisance=60 at most d=64; choose fewer"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(InvalidParameter, match=message):
        make_tagged_vectors(**options)
