"""Pictures of labels and of the ends of axes."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from _support.drawing import overlapping, tick_boxes
from _support.support import features, indicator

from labelspan import LSI, OPLS
from labelspan._axis_ends import Ends, Entry
from labelspan.display import (
    LoadingsDisplay,
)

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    # Tests of other files may have left figures open.
    plt.close("all")
    yield
    plt.close("all")


# --- ends of axes -----------------------------------------------------------------------


def test_bars_are_the_ends_of_an_axis():
    X, Y = features("tall", 0), indicator(60, 0)
    model = OPLS(2, alpha=0.0).fit(X, Y)
    names = [f"f{i}" for i in range(12)]
    shown = LoadingsDisplay.from_estimator(
        model, 1, n=3, feature_names=names, label_names=["w", "x", "y", "z"]
    )
    ends = model.top_features(1, 3, names=names)
    entries = [*ends.high, *ends.low[::-1]]
    ax, other = shown.axes_
    assert [text.get_text() for text in ax.get_yticklabels()] == [e.name for e in entries]
    np.testing.assert_allclose([b.get_width() for b in ax.patches], [e.weight for e in entries])
    # The high end stands above.
    heights = ax.transData.transform([(0, bar.get_y()) for bar in ax.patches])[:, 1]
    assert (np.diff(heights) < 0).all()
    order = np.argsort(-model.label_loadings_[1])
    assert "".join(text.get_text() for text in other.get_yticklabels()) == "".join(
        "wxyz"[i] for i in order
    )
    assert shown.ax_ is ax
    assert ax.get_xlabel() == "weight on component 1"


def test_panels_are_what_the_estimator_has():
    X, Y = features("tall", 0), indicator(60, 0)
    shown = LoadingsDisplay.from_estimator(LSI(2).fit(X))
    assert [ax.get_title() for ax in shown.axes_] == ["features"]
    both = LoadingsDisplay.from_estimator(OPLS(2, alpha=1.0).fit(X, Y))
    assert [ax.get_title() for ax in both.axes_] == ["features", "labels"]
    one = LoadingsDisplay.from_estimator(OPLS(2).fit(X, Y), show="labels", ax=plt.subplots()[1])
    assert [ax.get_title() for ax in one.axes_] == ["labels"]
    empty = LoadingsDisplay(Ends([], [])).plot()
    assert [text.get_text() for text in empty.ax_.texts] == ["all weights are zero"]


@pytest.mark.parametrize("given", [False, True])
def test_names_of_bars_do_not_touch(given):
    entries = [Entry(f"a feature with a rather long name, {i}", 1 / (i + 1)) for i in range(15)]
    ends = Ends(entries, [Entry(name, -weight) for name, weight in entries])
    axes = plt.subplots(1, 2, figsize=(6, 3), layout="constrained")[1] if given else None
    shown = LoadingsDisplay(ends, Ends(entries[:2], [])).plot(axes)
    shown.figure_.canvas.draw()
    for ax in shown.axes_:
        assert overlapping(tick_boxes(ax, "y")) == []
        assert overlapping(tick_boxes(ax, "x")) == []
    # A bar is as thick in one panel as in the other.
    thick = [ax.patches[0].get_window_extent().height for ax in shown.axes_]
    assert thick[0] == pytest.approx(thick[1])
