"""Unknown labels in MLSI: regression where they are known, fitted values elsewhere."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from labelspan import MLSI

X, Y = make_multilabel_classification(150, n_features=30, n_classes=5, random_state=0)
X = X / np.linalg.norm(X, axis=1)[:, None]
Y = Y.astype(float)
RNG = np.random.default_rng(0)
ROWS = np.repeat((np.arange(150) >= 70)[:, None], 5, axis=1)
ENTRIES = RNG.random(Y.shape) < 0.3
BOTH = ROWS | ENTRIES


def regression(alpha, unknown, intercept):
    """Return the fitted values of each label, one label at a time."""
    fitted = np.empty_like(Y)
    for j in range(Y.shape[1]):
        rows = ~unknown[:, j]
        means = X[rows].mean(axis=0) * intercept
        shift = Y[rows, j].mean() * intercept
        A = X[rows] - means
        slopes = np.linalg.solve(A.T @ A + alpha * np.eye(30), A.T @ (Y[rows, j] - shift))
        fitted[:, j] = shift + (X - means) @ slopes
    return fitted


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
    filled = np.where(unknown, regression(0.5, unknown, center), Y)
    whole = MLSI(**options).fit(X, filled)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-5)
    # They are the regression itself, on the rows where a label is known.
    scores = model.label_scores(X)
    np.testing.assert_allclose(scores, regression(0.5, unknown, center), atol=1e-5)
