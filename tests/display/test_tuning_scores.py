"""Scores of tuned parameters, as they are drawn."""

import pytest
from sklearn.datasets import make_multilabel_classification

from labelspan import MLSI, tune
from labelspan.display import TuningDisplay

pytest.importorskip("matplotlib")
X, Y = make_multilabel_classification(120, n_features=20, n_classes=4, random_state=0)


def test_tuning_shows_auto_as_a_level():
    found = tune(MLSI(3), X, Y, alpha=["auto", 1.0, 10.0], refit=False)
    shown = TuningDisplay.from_tuning(found)
    levels = [line for line in shown.ax_.get_lines() if line.get_label().startswith("alpha = auto")]
    assert len(levels) == 1
