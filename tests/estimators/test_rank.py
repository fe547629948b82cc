"""``n_components="auto"``: the rank of reduced-rank regression, and the rule for larger spaces."""

import numpy as np
import pytest
from sklearn.base import clone

from labelspan import CCA, HSL, LDA, OPLS
from labelspan.operators import as_operator
from labelspan.solvers.rank_choice import choose_rank, degrees_of_freedom


def problem(seed, rank=3, *, rows=200, columns=20, labels=10, noise=2.0):
    """Targets whose means have a known rank."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    slopes = rng.standard_normal((columns, rank)) @ rng.standard_normal((rank, labels))
    Y = X @ slopes + noise * np.sqrt(rank) * rng.standard_normal((rows, labels))
    return X, Y


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_the_rank_is_found(rank):
    for seed in range(5):
        X, Y = problem(seed, rank)
        assert OPLS("auto", alpha=0.0).fit(X, Y).n_components_ == rank


def test_the_choice_is_that_of_the_formula():
    X, Y = problem(7)
    whole = OPLS(alpha=2.0, scale=None).fit(X, Y)
    Z = whole.transform(X)
    centred = Y - Y.mean(axis=0)
    found = choose_rank(
        whole.eigenvalues_,
        total=np.square(centred).sum(),
        rows=len(X) - 1,
        labels=10,
        freedom=degrees_of_freedom(as_operator(X - X.mean(axis=0)), 2.0),
        kept=np.square(Z).sum(axis=0),
    )
    model = OPLS("auto", alpha=2.0).fit(X, Y)
    assert model.n_components_ == found.rank == int(np.argmin(found.errors)) + 1
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_[: found.rank])


@pytest.mark.parametrize("kind", [OPLS, CCA, LDA, HSL], ids=lambda kind: kind.__name__)
def test_streams_choose_as_fits_do(kind):
    X, Y = problem(1)
    y = Y[:, :4].argmax(axis=1) if kind in (LDA, HSL) else Y
    params = {"laplacian": "zhou"} if kind is HSL else {}
    model = kind("auto", alpha=0.0, **params)
    whole = clone(model).fit(X, y)
    stream = model.partial_fit(X[:90], y[:90]).partial_fit(X[90:], y[90:])
    assert 1 <= stream.n_components_ <= whole.label_loadings_.shape[1]
    assert abs(stream.n_components_ - whole.n_components_) <= 1
    assert stream.transform(X).shape[1] == stream.n_components_
