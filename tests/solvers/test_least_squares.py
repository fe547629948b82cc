"""Least squares on hard inputs: bad conditions, more targets than features, too much penalty."""

import numpy as np
import pytest
from scipy import sparse

from labelspan import OPLS


def ill_conditioned(condition, rows=200, columns=20, seed=0):
    """Return X with singular values from 1 down to 1 / condition, and its left vectors."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((rows, columns)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    return (left * np.geomspace(1, 1 / condition, columns)) @ right.T, left


def labels():
    return (np.random.default_rng(1).random((200, 3)) < 0.3).astype(float)


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e8, 1e10])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_answer_does_not_depend_on_the_condition(condition, form):
    X, left = ill_conditioned(condition)
    Y = labels()
    model = OPLS(3, alpha=0, center=False, solver="least-squares").fit(form(X), Y)
    # Without a penalty the fitted targets are their projections on the columns of X.
    fitted = model.transform(X)
    np.testing.assert_allclose(left @ (left.T @ fitted), fitted, atol=1e-6)
    easy = OPLS(3, alpha=0, center=False, solver="least-squares").fit(left, Y)
    np.testing.assert_allclose(model.eigenvalues_, easy.eigenvalues_, rtol=1e-5)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_more_targets_than_features_give_a_column_each(penalty):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    Y = (X @ rng.standard_normal((3, 8)) + rng.standard_normal((60, 8)) > 0).astype(float)
    model = OPLS(alpha=0.1, penalty=penalty, solver="least-squares").fit(X, Y)
    assert model.components_.shape == (8, 3)
    assert model.label_scores(X).shape == (60, 8)
    # Without a penalty there are no more directions than features.
    assert OPLS(alpha=0, solver="least-squares").fit(X, Y).n_components_ == 3
