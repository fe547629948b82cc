"""What ``choose_solver`` says of an estimator is what its fit does."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from labelspan import CCA, LSI, MLSI, OPLS, choose_solver

RNG = np.random.default_rng(0)
NARROW = RNG.standard_normal((200, 12))
WIDE = sparse.random_array((1500, 1300), density=0.02, rng=RNG, format="csr")


def labels(X):
    return (np.asarray(X[:, [0, 1, 2]].sum(axis=1)).reshape(-1, 1) > [0.0, 0.3, 0.6]).astype(int)


@pytest.mark.parametrize("X", [NARROW, WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize(
    "model",
    [LSI(3), MLSI(3, alpha=1.0), CCA(alpha=1.0), OPLS(2, penalty="l1", alpha=1.0)],
    ids=["LSI", "MLSI", "CCA", "OPLS-l1"],
)
def test_it_is_what_a_fit_takes(model, X):
    Y = labels(X)
    model = clone(model)
    found = choose_solver(model, X, Y)
    assert not hasattr(model, "components_")
    assert found.solver == model.fit(X, Y).solver_
    assert found.reason
