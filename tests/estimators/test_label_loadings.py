"""Label loadings: the regression of the labels on the space, from products that are there."""

import numpy as np
import pytest

from labelspan import CCA, HSL, LDA, OPLS

MODELS = {
    "OPLS": OPLS,
    "CCA": CCA,
    "HSL": HSL,
    "LDA": LDA,
}


def data(kind, dtype, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 8)) * np.logspace(-3, 3, 8) + 5.0
    y = (X[:, 0] * 1e3 + X[:, 1] * 10 + rng.standard_normal(120)).argsort().argsort() // 31
    Y = np.eye(4)[y]
    if kind == "empty label":
        Y = np.c_[Y, np.zeros(120)]
    elif kind == "duplicate label":
        Y = np.c_[Y, Y[:, 0]]
    elif kind == "unknown rows":
        Y = Y.copy()
        Y[::5] = -1
    return X.astype(dtype), Y


@pytest.mark.parametrize(
    ("name", "kind", "dtype", "center"),
    [
        ("OPLS", "plain", "float32", False),
        ("OPLS", "duplicate label", "float64", True),
        ("CCA", "duplicate label", "float32", True),
        ("CCA", "unknown rows", "float64", False),
        ("HSL", "empty label", "float32", True),
        ("HSL", "unknown rows", "float64", True),
        ("LDA", "empty label", "float64", False),
        ("LDA", "unknown rows", "float32", True),
    ],
)
def test_loadings_are_the_products_of_space_and_labels(name, kind, dtype, center):
    X, Y = data(kind, dtype)
    options = {} if name == "HSL" else {"center": center}
    model = MODELS[name](alpha=1e-3, scale=None, **options).fit(X, Y)
    known = (Y >= 0).all(axis=1)
    wide, labels = X[known].astype(np.float64), Y[known]
    if center:
        wide, labels = wide - wide.mean(axis=0), labels - labels.mean(axis=0)
    image = wide @ model.components_.astype(np.float64).T
    expected = image.T @ labels
    size = np.linalg.norm(image, axis=0)[:, None] * np.linalg.norm(labels, axis=0)
    close = 1e-9 if dtype == "float64" else 1e-4
    assert (np.abs(model.label_loadings_ - expected) <= close * size + 1e-12).all()
