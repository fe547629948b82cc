"""Reading a space: ends of axes, and paths of sparse loadings."""

import numpy as np
import pytest
from _support.support import classes, features, indicator
from sklearn.datasets import load_wine
from sklearn.linear_model import lars_path

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS
from labelspan.labels import lda_factor, read_labels
from labelspan.solvers.least_squares import targets


@pytest.mark.parametrize("model", [LSI(2), MLSI(2), OPLS(2), CCA(2), HSL(2)], ids=str)
def test_ends_are_the_extreme_weights(model):
    X, Y = features("tall", 0), indicator(60, 0)
    model.fit(X, Y)
    names = [f"f{i}" for i in range(12)]
    found = model.top_features(1, 3, names=names)
    row = model.components_[1]
    assert [entry.name for entry in found.high] == [names[i] for i in np.argsort(-row)[:3]]
    assert [entry.weight for entry in found.low] == [row[i] for i in np.argsort(row)[:3]]
    assert model.top_features(0, 2).high[0].name == int(model.components_[0].argmax())
    if not isinstance(model, LSI):
        both = model.top_labels(0, 4)
        assert len(both.high) + len(both.low) == 4
        assert both.high[0].name == model.classes_[model.label_loadings_[0].argmax()]


def test_names_come_from_a_data_frame_and_zeros_are_left_out():
    wine = load_wine(as_frame=True)
    model = LDA(penalty="l1", alpha=3.0).fit(wine.data / wine.data.std(), wine.target)
    found = model.top_features(0, 13)
    kept = int((model.components_[0] != 0).sum())
    assert 0 < kept < 13
    assert len(found.high) + len(found.low) == kept
    assert {entry.name for entry in found.high} <= set(wine.data.columns)


def test_every_penalty_at_once_is_a_lars_path_to_the_targets():
    """The recipe of the page on least squares."""
    X, y = features("tall", 2), classes(60, 2)
    T = targets(lda_factor(read_labels(y, 60, "t")))
    alphas, _, weights = lars_path(X - X.mean(axis=0), T[:, 0], method="lasso", max_iter=6)
    fitted = LDA(1, penalty="l1", alpha=2 * 60 * alphas[4], tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(np.abs(weights[:, 4]), np.abs(fitted.components_[0]), atol=1e-5)
