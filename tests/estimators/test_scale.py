"""``scale``: lengths of the directions, and what does not depend on them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification

from labelspan import CCA, HSL, LDA, OPLS

X, Y = make_multilabel_classification(120, n_features=15, n_classes=4, random_state=0)
y = np.argmax(Y, axis=1)
MODELS = [OPLS(alpha=2.0), CCA(alpha=2.0), HSL(laplacian="zhou", alpha=2.0), LDA(alpha=2.0)]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("streamed", [False, True])
def test_scaled_directions_are_roots_of_eigenvalues_longer(model, streamed):
    labels = y if isinstance(model, LDA) else Y

    def fitted(scale):
        own = clone(model).set_params(scale=scale)
        return own.partial_fit(X, labels) if streamed else own.fit(X, labels)

    plain, scaled = fitted(None), fitted("eigenvalue")
    np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_)
    Z = plain.transform(X) * np.sqrt(plain.eigenvalues_)
    np.testing.assert_allclose(scaled.transform(X), Z, atol=1e-10)
    np.testing.assert_allclose(scaled.label_scores(X), plain.label_scores(X), atol=1e-10)
