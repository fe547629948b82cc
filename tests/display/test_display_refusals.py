"""What pictures refuse, and in which words."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from _support.support import features, indicator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from labelspan import LSI, MLSI, OPLS
from labelspan.display import (
    EmbeddingDisplay,
    LoadingsDisplay,
)
from labelspan.errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    # Tests of other files may have left figures open.
    plt.close("all")
    yield
    plt.close("all")


# --- refusals ---------------------------------------------------------------------------


def test_refusals_of_components():
    X, Y = features("tall", 0), indicator(60, 0)
    model = MLSI(3).fit(X, Y)
    for bad in [(0, 3), (-1, 0), (1, 1), (0,), 2, (0, 1, 2), (0, 0.5), "tsne", (True, 0)]:
        with pytest.raises(InvalidParameter) as caught:
            EmbeddingDisplay.from_estimator(model, X, components=bad)
        text = f"components must be two different numbers from 0 to 2, 'pca' or None, but {bad!r}"
        assert text in str(caught.value)
    with pytest.raises(InvalidParameter, match="component must be from 0 to 2, but 3 was given"):
        LoadingsDisplay.from_estimator(model, 3)
    with pytest.raises(InvalidInput, match="the space has one component, and a picture of it nee"):
        EmbeddingDisplay.from_estimator(LSI(1).fit(X), X)
    with pytest.raises(InvalidInput, match="points must have two columns, but has shape"):
        EmbeddingDisplay(np.ones((4, 3))).plot()
    with pytest.raises(InvalidInput, match="points must be finite"):
        EmbeddingDisplay(np.full((4, 2), np.nan)).plot()


@pytest.mark.parametrize(
    "draw",
    [
        lambda model: EmbeddingDisplay.from_estimator(model, features("tall", 0)),
        LoadingsDisplay.from_estimator,
    ],
)
def test_refusals_of_estimators(draw):
    with pytest.raises(
        NotFittedError, match="Display: this MLSI is not fitted; call its fit first"
    ):
        draw(MLSI())
    with pytest.raises(InvalidInput, match=r"Display: (this )?Ridge has no "):
        draw(Ridge().fit(features("tall", 0), np.arange(60)))
    assert plt.get_fignums() == []


def test_refusals_of_labels():
    X, Y = features("tall", 0), indicator(60, 0)
    with pytest.raises(InvalidParameter, match="labels has 'q', which is not one of the 4 labels"):
        EmbeddingDisplay(X[:, :2], Y).plot(labels=["q"])
    with pytest.raises(InvalidParameter, match="labels must have from 1 to 70 entries, but has 0"):
        EmbeddingDisplay(X[:, :2], Y).plot(labels=[])
    with pytest.raises(InvalidParameter, match="names must have 4 entries, but has shape"):
        EmbeddingDisplay(X[:, :2], Y, names=["a"]).plot()
    with pytest.raises(InvalidLabels, match="y holds continuous targets; leave y out"):
        EmbeddingDisplay(X[:, :2], X[:, 2]).plot()
    with pytest.raises(InvalidLabels, match="y must have one row for each row of X"):
        EmbeddingDisplay(X[:, :2], Y[:-1]).plot()
    with pytest.raises(Mismatch, match=r"labels=\['a'\] needs y, and none was given"):
        EmbeddingDisplay(X[:, :2]).plot(labels=["a"])
    assert plt.get_fignums() == []


def test_other_refusals():
    X, Y = features("tall", 0), indicator(60, 0)
    model = OPLS(2).fit(X, Y)
    with pytest.raises(InvalidInput, match="nothing to draw; give features, labels or both"):
        LoadingsDisplay().plot()
    with pytest.raises(InvalidParameter, match=r"one axes for each panel \(features and labels\)"):
        LoadingsDisplay.from_estimator(model, ax=plt.subplots()[1])
    with pytest.raises(InvalidParameter, match="show must be 'features', 'labels' or None, but 'b"):
        LoadingsDisplay.from_estimator(model, show="both")
    with pytest.raises(InvalidParameter, match="label_names must have 4 entries"):
        LoadingsDisplay.from_estimator(model, label_names=["a"])
