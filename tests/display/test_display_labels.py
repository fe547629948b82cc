"""Pictures of labels and of the ends of axes."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from _support.drawing import boxes_of, cloud, overlapping, tick_boxes
from _support.support import classes, features, indicator
from scipy import sparse

from labelspan import CCA, LDA, LSI, OPLS
from labelspan._axis_ends import Ends, Entry
from labelspan.display import (
    LabelMapDisplay,
    LoadingsDisplay,
)
from labelspan.display.label_placement import spread
from labelspan.display.style import shorten
from labelspan.graph.label_graph import label_correlation

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    # Tests of other files may have left figures open.
    plt.close("all")
    yield
    plt.close("all")


# --- labels -----------------------------------------------------------------------------


def test_labels_are_where_their_loadings_are():
    X, Y = features("tall", 0), indicator(60, 0)
    model = CCA(3).fit(X, pd.DataFrame(Y, columns=list("abcd")))
    shown = LabelMapDisplay.from_estimator(model, Y, components=(2, 0))
    dots = shown.ax_.collections[0]
    np.testing.assert_allclose(dots.get_offsets(), model.label_loadings_[[2, 0]].T)
    for number, text in shown.texts_.items():
        assert text.get_text() == "abcd"[number]
        np.testing.assert_allclose(text.xy, model.label_loadings_[[2, 0], number])
    # Areas are in proportion to how many rows carry a label.
    areas = dots.get_sizes()
    np.testing.assert_allclose(areas / areas.max(), Y.sum(axis=0) / Y.sum(axis=0).max())
    assert shown.ax_.get_legend().get_title().get_text() == "rows"
    assert LabelMapDisplay.from_estimator(model).ax_.get_legend() is None


@pytest.mark.parametrize("model", [CCA(3), OPLS(3, alpha=2.0)], ids=str)
def test_means_are_where_the_rows_are(model):
    X, Y = features("tall", 1), indicator(60, 1)
    model.fit(X, Y)
    latent = model.transform(X)
    rows = np.array([latent[Y[:, j] == 1].mean(axis=0) for j in range(4)])
    shown = LabelMapDisplay.from_estimator(model, Y, place="means")
    for axis in range(2):
        ratio = rows[:, axis] / shown.points[:, axis]
        np.testing.assert_allclose(ratio, ratio[0])
        assert ratio[0] > 0


def test_classes_are_counted_too():
    X, y = features("tall", 0), np.array(["low", "mid", "high"])[classes(60, 0, 3)]
    model = LDA().fit(X, y)
    shown = LabelMapDisplay.from_estimator(model, y[y != "mid"])
    assert shown.names.tolist() == ["high", "low", "mid"]
    assert shown.counts.tolist() == [(y == "high").sum(), (y == "low").sum(), 0]


def test_distances_on_a_map_of_labels_are_those_of_correlations():
    # Four labels, two of them always together, fill two dimensions: nothing is lost.
    Y = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 1, 0]])
    shown = LabelMapDisplay.from_labels(Y)
    found = np.square(shown.points[:, None] - shown.points).sum(axis=2)
    np.testing.assert_allclose(found, 2 - 2 * label_correlation(Y), atol=1e-12)
    assert shown.counts.tolist() == [3, 3, 2, 1]
    assert LabelMapDisplay.from_labels(sparse.csr_array(Y), names=list("abcd")).texts_[0]


@pytest.mark.parametrize(("count", "seed"), [(6, 0), (20, 1), (47, 2)])
def test_names_do_not_cover_names_or_points(count, seed):
    rng = np.random.default_rng(seed)
    # A few labels far out, most of them in a heap, some at one place.
    points = rng.standard_t(2, size=(count, 2))
    points[count // 2 :] *= 0.1
    points[-2:] = points[-3]
    names = [f"label-{'x' * int(rng.integers(8))}{i}" for i in range(count)]
    counts = rng.integers(1, 500, count)
    shown = LabelMapDisplay(points, names, counts=counts).plot()
    shown.figure_.canvas.draw()
    boxes = boxes_of(shown.texts_.values())
    assert len(boxes) == count
    assert overlapping(boxes) == []
    frame = shown.ax_.get_window_extent()
    for box in boxes:
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
        for x, y in shown.ax_.transData.transform(points):
            assert not (box.x0 < x < box.x1 and box.y0 < y < box.y1)
    again = LabelMapDisplay(points, names, counts=counts).plot()
    assert [t.get_position() for t in again.texts_.values()] == [
        t.get_position() for t in shown.texts_.values()
    ]
    shown.figure_.set_dpi(200)
    shown.figure_.canvas.draw()
    assert overlapping(boxes_of(shown.texts_.values())) == []


def test_names_without_room_are_left_out_and_counted():
    _, ax = plt.subplots(figsize=(2, 2))
    shown = LabelMapDisplay(cloud(60), [f"a long name {i}" for i in range(60)]).plot(ax)
    named = len(shown.texts_)
    assert 0 < named < 60
    assert ax.get_title() == f"{named} of 60 labels named"
    assert len(ax.collections[0].get_offsets()) == 60
    ax.figure.canvas.draw()
    assert overlapping(boxes_of(shown.texts_.values())) == []
    few = LabelMapDisplay(cloud(9), range(9), counts=range(9)).plot(n_names=3)
    assert sorted(few.texts_) == [6, 7, 8]
    assert LabelMapDisplay(cloud(9), range(9), counts=[0] * 9).plot(n_names=0).texts_ == {}


def test_names_far_from_their_points_have_a_line():
    shown = LabelMapDisplay(np.zeros((25, 2)), [f"label {i}" for i in range(25)]).plot()
    lines = [text.arrow_patch is not None for text in shown.texts_.values()]
    assert any(lines)
    assert not lines[0]


def test_boxes_stay_by_their_points_where_there_is_room():
    points = np.array([[20.0, 50.0], [80.0, 50.0]])
    sizes = np.full((2, 2), (16.0, 8.0))
    found = spread(points, np.full(2, 3.0), sizes, (0, 0, 100, 100))
    np.testing.assert_allclose(found, [[9.0, 50.0], [91.0, 50.0]])
    assert np.isnan(spread(points, np.full(2, 3.0), sizes, (0, 0, 100, 6))).all()


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


def test_long_names_lose_their_middle():
    assert shorten("short") == "short"
    assert shorten("two\nlines") == "two lines"
    assert shorten("a\u202eb\u2066\0c\u200dd") == "a b c\u200dd"
    long = shorten("x" * 40 + "end")
    assert len(long) == 32
    assert long.endswith("end")
