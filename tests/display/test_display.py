"""Pictures of spaces: what is drawn, where, and that it can be read."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from _support.drawing import cloud, drawn, legend, overlapping, tick_boxes
from _support.support import classes, features, indicator
from matplotlib.colors import to_hex, to_rgb
from scipy import sparse

from labelspan import LDA, LSI, MLSI
from labelspan.display import EmbeddingDisplay
from labelspan.display.embedding import COLOURS, GREY, PALE
from labelspan.display.style import palettes
from labelspan.errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    # Tests of other files may have left figures open.
    plt.close("all")
    yield
    plt.close("all")


# --- colours ----------------------------------------------------------------------------

# What is left of linear red, green and blue without one kind of cones (Machado and others 2009).
CONES = {
    "all": np.eye(3),
    "no long": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no medium": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no short": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def perceived(colour, cones):
    """CIE Lab of a colour, as an eye with these cones sees it."""
    value = np.array(to_rgb(colour))
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    x, y, z = TO_XYZ @ np.clip(np.asarray(cones) @ linear, 0, 1) / (0.95047, 1.0, 1.08883)
    x, y, z = (np.cbrt(t) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("cones", CONES)
def test_colours_can_be_distinguished_with_colour_blindness(cones):
    seen = [perceived(colour, CONES[cones]) for colour in COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15
    greys = [perceived(grey, CONES[cones]) for grey in (GREY, PALE)]
    assert min(np.linalg.norm(a - b) for a in seen for b in greys) > 15
    # Red and green of equal lightness are what this measure must see as one.
    confused = [perceived(c, CONES["no medium"]) for c in ("#C86450", "#8C8246")]
    assert np.linalg.norm(confused[0] - confused[1]) < 15


@pytest.mark.parametrize("background", ["light", "dark"])
def test_colours_of_the_map_can_be_distinguished(background):
    for cones in ("all", "no long", "no medium"):
        seen = [perceived(colour, CONES[cones]) for colour in palettes()[background]]
        near = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen[:8], 2)]
        assert min(near) > 9
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 5


def test_a_colour_of_the_map_has_the_same_hue_in_light_and_dark():
    def hue(colour):
        _, a, b = perceived(colour, CONES["all"])
        return np.degrees(np.arctan2(b, a))

    turned = [hue(a) - hue(b) for a, b in zip(*palettes().values(), strict=True)]
    assert np.abs((np.array(turned) + 180) % 360 - 180).max() < 16


# --- rows -------------------------------------------------------------------------------


def test_every_row_is_a_point_in_the_colour_of_its_class():
    X, y = features("tall", 0), classes(60, 0)
    hidden = y.copy()
    hidden[10:15] = -1
    model = LDA(2).fit(X, y)
    shown = EmbeddingDisplay.from_estimator(model, X, hidden)
    found, count = drawn(shown.ax_)
    assert count == 60
    for place, label in zip(model.transform(X), hidden, strict=True):
        assert found[tuple(place)] == (PALE if label == -1 else COLOURS[label])
    assert legend(shown.ax_) == ["0", "1", "2", "3", "unlabelled"]
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("component 0", "component 1")
    assert shown.figure_ is shown.ax_.figure
    left, right = shown.ax_.get_xlim()
    assert left < model.transform(X)[:, 0].min() < model.transform(X)[:, 0].max() < right


def test_a_row_with_several_labels_has_the_first_that_is_asked_for():
    points = cloud(5)
    Y = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0], [np.nan] * 3])
    shown = EmbeddingDisplay(points, Y, names=["a", "b", "c"]).plot(labels=["b", "a"])
    found, _ = drawn(shown.ax_)
    assert [found[tuple(p)] for p in points] == [COLOURS[0], COLOURS[0], GREY, GREY, PALE]
    assert legend(shown.ax_) == ["b", "a", "none of these", "unlabelled"]
    one = EmbeddingDisplay(points, pd.DataFrame(Y, columns=["a", "b", "c"])).plot(labels="c")
    found, _ = drawn(one.ax_)
    assert [found[tuple(p)] for p in points] == [GREY, COLOURS[0], COLOURS[0], GREY, PALE]
    # Left to itself it begins with the rarest, which would be lost under the others.
    every = EmbeddingDisplay(points, Y[:, ::-1], names=["c", "b", "a"]).plot()
    assert legend(every.ax_) == ["a", "c", "b", "no label", "unlabelled"]


def test_more_labels_than_colours():
    counts = np.arange(1, 31)
    y = np.repeat(np.arange(30), counts)
    shown = EmbeddingDisplay(cloud(y.size), y).plot()
    assert legend(shown.ax_) == [*map(str, range(20, 30)), "other classes"]
    every = EmbeddingDisplay(cloud(y.size), y).plot(labels=range(30))
    looks = [
        (to_hex(handle.get_color()), handle.get_marker())
        for handle in every.ax_.get_legend().legend_handles
    ]
    assert len(set(looks)) == 30
    assert len(every.ax_.collections) == 3
    assert EmbeddingDisplay(cloud(3)).plot().ax_.get_legend() is None


def test_the_legend_is_outside_and_inside_the_figure():
    names = [f"a rather long name of label number {i}" for i in range(30)]
    y = np.array(names)[np.arange(300) % 30]
    shown = EmbeddingDisplay(cloud(300), y).plot(labels=names)
    shown.figure_.canvas.draw()
    box = shown.ax_.get_legend().get_window_extent()
    whole = shown.figure_.bbox
    assert box.x0 >= shown.ax_.get_window_extent().x1
    assert box.x1 <= whole.x1
    assert box.y0 >= 0
    assert box.y1 <= whole.y1
    assert EmbeddingDisplay(cloud(300), y).plot(legend=False).ax_.get_legend() is None


def test_components_are_chosen():
    X, Y = features("tall", 1) * np.geomspace(1, 10, 12), indicator(60, 1)
    model = LSI(5).fit(X)
    latent = model.transform(X)
    shown = EmbeddingDisplay.from_estimator(model, X, Y)
    np.testing.assert_array_equal(shown.points, latent[:, :2])
    chosen = EmbeddingDisplay.from_estimator(model, X, components=(3, 1))
    np.testing.assert_array_equal(chosen.points, latent[:, [3, 1]])
    assert chosen.ax_.get_xlabel() == "component 3"


def test_names_come_from_the_estimator_and_a_given_axes_is_used():
    X, Y = features("tall", 2), indicator(60, 2)
    names = ["w", "x", "y", "z"]
    model = MLSI(2).set_output(transform="pandas").fit(X, pd.DataFrame(Y, columns=names))
    _, ax = plt.subplots()
    shown = EmbeddingDisplay.from_estimator(model, X, sparse.csr_array(Y), ax=ax)
    assert shown.ax_ is ax
    assert set(names) <= set(legend(ax))


@pytest.mark.parametrize("scale", [1e-4, 0.02, 1.0, 3e5])
def test_numbers_on_the_axes_do_not_touch(scale):
    shown = EmbeddingDisplay(scale * cloud(100)).plot()
    shown.figure_.canvas.draw()
    for axis in "xy":
        assert overlapping(tick_boxes(shown.ax_, axis)) == []


def test_refusals_of_components():
    X, Y = features("tall", 0), indicator(60, 0)
    model = MLSI(3).fit(X, Y)
    for bad in [(0, 3), (-1, 0), (1, 1), (0,), 2, (0, 1, 2), (0, 0.5), "tsne", (True, 0)]:
        with pytest.raises(InvalidParameter) as caught:
            EmbeddingDisplay.from_estimator(model, X, components=bad)
        text = f"components must be two different numbers from 0 to 2, but {bad!r}"
        assert text in str(caught.value)
    with pytest.raises(InvalidInput, match="the embedding has one component, but a plot needs two"):
        EmbeddingDisplay.from_estimator(LSI(1).fit(X), X)
    with pytest.raises(InvalidInput, match="points must have two columns, but has shape"):
        EmbeddingDisplay(np.ones((4, 3))).plot()
    with pytest.raises(InvalidInput, match="points must be finite"):
        EmbeddingDisplay(np.full((4, 2), np.nan)).plot()


def test_refusals_of_labels():
    X, Y = features("tall", 0), indicator(60, 0)
    with pytest.raises(InvalidParameter, match="labels has 'q', which is not one of the 4 labels"):
        EmbeddingDisplay(X[:, :2], Y).plot(labels=["q"])
    with pytest.raises(InvalidParameter, match="labels must have from 1 to 70 entries, but has 0"):
        EmbeddingDisplay(X[:, :2], Y).plot(labels=[])
    with pytest.raises(InvalidParameter, match="names must have 4 entries, but has shape"):
        EmbeddingDisplay(X[:, :2], Y, names=["a"]).plot()
    with pytest.raises(InvalidLabels, match="y has continuous targets; omit y"):
        EmbeddingDisplay(X[:, :2], X[:, 2]).plot()
    with pytest.raises(InvalidLabels, match="y must have one row for each row of X"):
        EmbeddingDisplay(X[:, :2], Y[:-1]).plot()
    with pytest.raises(Mismatch, match=r"labels=\['a'\] needs y, but none was given"):
        EmbeddingDisplay(X[:, :2]).plot(labels=["a"])
    assert plt.get_fignums() == []
