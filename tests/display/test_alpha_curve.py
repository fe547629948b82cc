"""The curve of a chosen regularization strength, as it is drawn."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from labelspan import MLSI, OPLS, tune
from labelspan.display import AlphaDisplay, TuningDisplay
from labelspan.errors import InvalidInput

pytest.importorskip("matplotlib")
X, Y = make_multilabel_classification(120, n_features=20, n_classes=4, random_state=0)


def test_draws_the_curve_and_the_choice():
    model = OPLS().fit(X, Y)
    shown = AlphaDisplay.from_estimator(model)
    curve, chosen = shown.ax_.get_lines()
    np.testing.assert_array_equal(curve.get_xdata(), model.alpha_curve_.alphas)
    np.testing.assert_array_equal(curve.get_ydata(), model.alpha_curve_.errors)
    assert chosen.get_xdata()[0] == model.alpha_
    assert f"{model.alpha_:.3g}" in shown.ax_.get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize("model", [OPLS(alpha=1.0), OPLS()])
def test_refuses_estimators_without_a_curve(model):
    if model.alpha == 1.0:
        model.fit(X, Y)
    with pytest.raises(InvalidInput, match="fit it with alpha='auto'"):
        AlphaDisplay.from_estimator(model)


def test_tuning_shows_auto_as_a_level():
    found = tune(MLSI(3), X, Y, alpha=["auto", 1.0, 10.0], refit=False)
    shown = TuningDisplay.from_tuning(found)
    levels = [line for line in shown.ax_.get_lines() if line.get_label().startswith("alpha = auto")]
    assert len(levels) == 1
