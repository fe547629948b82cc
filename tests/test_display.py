"""Pictures of spaces: what is drawn, where, and that it can be read."""

import io
import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from support import classes, features, indicator

from labelspan import CCA, LDA, LPP, LSI, MLSI, OPLS
from labelspan.display import (
    EmbeddingDisplay,
    LabelMapDisplay,
    LoadingsDisplay,
    SpectrumDisplay,
)
from labelspan.display.spread import spread
from labelspan.display.style import COLOURS, GREY, MARKERS, PALE, shorten
from labelspan.errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch
from labelspan.estimators.reading import Ends, Entry
from labelspan.graph import label_correlation

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def cloud(count, seed=0):
    return np.random.default_rng(seed).standard_normal((count, 2))


def drawn(ax):
    """Points and their colours, over all collections of an axes."""
    places, colours = [], []
    for collection in ax.collections:
        own = collection.get_offsets()
        faces = np.broadcast_to(collection.get_facecolors(), (len(own), 4))
        places += [tuple(place) for place in np.asarray(own)]
        colours += [to_hex(face).upper() for face in faces]
    return dict(zip(places, colours, strict=True)), len(places)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def overlapping(boxes):
    return [
        (i, j)
        for (i, a), (j, b) in itertools.combinations(enumerate(boxes), 2)
        if a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1
    ]


def boxes_of(texts):
    return [Text.get_window_extent(text) for text in texts if text.get_text()]


def tick_boxes(ax, axis):
    return boxes_of(getattr(ax, f"get_{axis}ticklabels")())


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
def test_colours_are_told_apart_with_any_cones(cones):
    seen = [perceived(colour, CONES[cones]) for colour in COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15
    greys = [perceived(grey, CONES[cones]) for grey in (GREY, PALE)]
    assert min(np.linalg.norm(a - b) for a in seen for b in greys) > 15
    # Red and green of equal lightness are what this measure must see as one.
    confused = [perceived(c, CONES["no medium"]) for c in ("#C86450", "#8C8246")]
    assert np.linalg.norm(confused[0] - confused[1]) < 15


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


def test_a_label_that_is_unknown_where_it_is_asked_for_is_unlabelled():
    Y = np.array([[1, 0], [-1, 1], [0, 1]])
    points = cloud(3)
    found, _ = drawn(EmbeddingDisplay(points, Y).plot(labels=0).ax_)
    assert [found[tuple(p)] for p in points] == [COLOURS[0], PALE, GREY]


def test_rings_stand_for_the_other_labels():
    points = cloud(4)
    Y = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0]])
    shown = EmbeddingDisplay(points, Y).plot(labels=[0, 1, 2], several="rings")
    rings = [c for c in shown.ax_.collections if not len(c.get_facecolors())]
    assert [to_hex(ring.get_edgecolor()[0]).upper() for ring in rings] == list(COLOURS[1:3])
    np.testing.assert_array_equal(rings[0].get_offsets(), points[:1])
    np.testing.assert_array_equal(rings[1].get_offsets(), points[:2])
    first, second = rings[1].get_sizes()
    # On the row with three labels the last ring is outside the one before, and off the point.
    assert first > rings[0].get_sizes()[0] == second > shown.ax_.collections[0].get_sizes()[0]


@pytest.mark.parametrize("count", [50, 2_000, 50_000])
def test_many_points_are_small_faint_and_no_burden(count):
    shown = EmbeddingDisplay(cloud(count), np.arange(count) % 3).plot()
    assert sum(len(c.get_offsets()) for c in shown.ax_.collections) == count
    dots = shown.ax_.collections[0]
    ink = count * dots.get_sizes()[0] * dots.get_alpha()
    box = shown.ax_.get_window_extent()
    space = box.width * box.height * (72 / shown.figure_.dpi) ** 2
    assert 0.005 < ink / space < 0.6
    assert dots.get_rasterized() is (count > 1_000)
    if count == 2_000:
        file = io.StringIO()
        shown.figure_.savefig(file, format="svg")
        assert file.getvalue().count("<use") < 100
        assert "<image" in file.getvalue()


def test_the_last_class_does_not_lie_over_the_others():
    shown = EmbeddingDisplay(cloud(600), np.repeat([0, 1, 2], 200)).plot()
    order = [to_hex(face).upper() for face in shown.ax_.collections[0].get_facecolors()]
    for colour in COLOURS[:3]:
        assert 60 < order[:300].count(colour) < 140


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


def test_a_larger_space_is_seen_along_its_principal_axes():
    X, Y = features("tall", 1) * np.geomspace(1, 10, 12), indicator(60, 1)
    model = LSI(5).fit(X)
    latent = model.transform(X)
    shown = EmbeddingDisplay.from_estimator(model, X, Y)
    twin = PCA(2).fit(latent)
    np.testing.assert_allclose(np.abs(shown.points), np.abs(twin.transform(latent)), atol=1e-9)
    assert f"({twin.explained_variance_ratio_[0]:.0%} of" in shown.ax_.get_xlabel()
    chosen = EmbeddingDisplay.from_estimator(model, X, components=(3, 1))
    np.testing.assert_array_equal(chosen.points, latent[:, [3, 1]])
    assert chosen.ax_.get_xlabel() == "component 3"


def test_a_white_space_is_seen_along_its_first_components():
    X, y = features("tall", 1), classes(60, 1)
    model = LDA().fit(X, y)
    shown = EmbeddingDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(shown.points, model.transform(X)[:, :2])
    forced = EmbeddingDisplay.from_estimator(model, X, y, components="pca")
    assert forced.ax_.get_xlabel().startswith("principal axis 1 (33%")


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


# --- eigenvalues ------------------------------------------------------------------------


def test_bars_are_eigenvalues_and_the_line_their_share():
    X = features("tall", 0)
    model = LSI(4).fit(X)
    total = (X**2).sum()
    shown = SpectrumDisplay.from_estimator(model, total=total)
    heights = [bar.get_height() for bar in shown.ax_.patches]
    np.testing.assert_allclose(heights, model.eigenvalues_)
    share = shown.share_ax_.get_lines()[0].get_ydata()
    left = ((X - model.inverse_transform(model.transform(X))) ** 2).sum()
    assert share[-1] == pytest.approx(1 - left / total)
    assert shown.ax_.get_title() == f"4 components keep {share[-1]:.0%} of the total"


def test_without_a_total_the_share_is_of_the_sum():
    shown = SpectrumDisplay([5.0, 3.0, 1.5, 0.5]).plot()
    np.testing.assert_allclose(shown.share_ax_.get_lines()[0].get_ydata(), [0.5, 0.8, 0.95, 1.0])
    assert shown.ax_.get_title() == "3 of 4 components reach 90% of the sum"
    assert SpectrumDisplay([0.5], total=2).plot().ax_.get_title().startswith("1 component keeps 25")


def test_what_rises_or_is_nothing_has_no_share():
    model = LPP(4).fit(features("tall", 0))
    shown = SpectrumDisplay.from_estimator(model)
    assert shown.share_ax_ is None
    assert len(shown.ax_.patches) == 4
    assert SpectrumDisplay([0.0, 0.0]).plot().share_ax_ is None


def test_a_hundred_components_have_readable_numbers():
    shown = SpectrumDisplay(1 / np.arange(1.0, 101)).plot()
    shown.figure_.canvas.draw()
    assert overlapping(tick_boxes(shown.ax_, "x")) == []
    assert (shown.ax_.get_xticks() % 1 == 0).all()


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


@pytest.mark.parametrize("model", [CCA(3), OPLS(3, alpha=2.0), MLSI(3)], ids=str)
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
def test_names_lie_over_no_name_and_no_point(count, seed):
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


def test_names_without_room_are_left_out_and_said():
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
    model = OPLS(2).fit(X, Y)
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
    titles = {
        "features": LoadingsDisplay.from_estimator(LSI(2).fit(X)),
        "labels": LoadingsDisplay.from_estimator(OPLS(2, kernel="rbf", alpha=1.0).fit(X, Y)),
    }
    for title, shown in titles.items():
        assert [ax.get_title() for ax in shown.axes_] == [title]
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
    long = shorten("x" * 40 + "end")
    assert len(long) == 32
    assert long.endswith("end")


# --- refusals ---------------------------------------------------------------------------


def test_refusals_of_components():
    X, Y = features("tall", 0), indicator(60, 0)
    model = MLSI(3).fit(X, Y)
    for kind, arguments in ((EmbeddingDisplay, (X,)), (LabelMapDisplay, ())):
        for bad in [(0, 3), (-1, 0), (1, 1), (0,), 2, (0, 1, 2), (0, 0.5), "tsne", (True, 0)]:
            with pytest.raises(InvalidParameter) as caught:
                kind.from_estimator(model, *arguments, components=bad)
            text = (
                f"components must be two different numbers from 0 to 2, 'pca' or None, but {bad!r}"
            )
            assert text in str(caught.value)
    with pytest.raises(InvalidParameter, match="component must be from 0 to 2, but 3 was given"):
        LoadingsDisplay.from_estimator(model, 3)
    with pytest.raises(InvalidInput, match="the space has one component, and a picture of it nee"):
        EmbeddingDisplay.from_estimator(LSI(1).fit(X), X)
    with pytest.raises(InvalidInput, match="points must have two columns, but has shape"):
        EmbeddingDisplay(np.ones((4, 3))).plot()
    with pytest.raises(InvalidInput, match="points must be finite"):
        LabelMapDisplay(np.full((4, 2), np.nan), range(4)).plot()


@pytest.mark.parametrize(
    "draw",
    [
        lambda model: EmbeddingDisplay.from_estimator(model, features("tall", 0)),
        SpectrumDisplay.from_estimator,
        LabelMapDisplay.from_estimator,
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


def test_refusals_of_estimators_without_labels():
    model = LSI(2).fit(features("tall", 0))
    with pytest.raises(Mismatch, match="this LSI has no label_loadings_, for it did not learn"):
        LabelMapDisplay.from_estimator(model)
    with pytest.raises(Mismatch, match="this LSI has no weights on labels"):
        LoadingsDisplay.from_estimator(model, show="labels")


def test_refusals_of_labels():
    X, Y = features("tall", 0), indicator(60, 0)
    with pytest.raises(InvalidParameter, match="labels has 'q', which is none of the 4 labels"):
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
    with pytest.raises(InvalidParameter, match="several must be 'first' or 'rings', but 'all'"):
        EmbeddingDisplay(X[:, :2], Y).plot(several="all")
    with pytest.raises(InvalidParameter, match="several='rings' has 10 colours, but 11 labels"):
        EmbeddingDisplay(X[:, :2], np.eye(60)).plot(labels=range(11), several="rings")
    with pytest.raises(InvalidLabels, match="three columns or more, but Y holds classes with 4"):
        LabelMapDisplay.from_labels(classes(60, 0))
    with pytest.raises(InvalidLabels, match="label 1 is carried by no row, and has no place"):
        LabelMapDisplay.from_labels(Y * [1, 0, 1, 1])
    model = OPLS(2).fit(X, Y)
    with pytest.raises(InvalidLabels, match="indicator with 4 columns, but holds indicator with 3"):
        LabelMapDisplay.from_estimator(model, Y[:, :3])
    with pytest.raises(Mismatch, match="place='means' needs a y with rows for every label, but no"):
        LabelMapDisplay.from_estimator(model, place="means")
    with pytest.raises(InvalidParameter, match="place must be 'loadings' or 'means', but 'x'"):
        LabelMapDisplay.from_estimator(model, place="x")
    assert plt.get_fignums() == []


def test_other_refusals():
    X, Y = features("tall", 0), indicator(60, 0)
    model = OPLS(2).fit(X, Y)
    with pytest.raises(InvalidInput, match="counts must be 4 finite numbers of at least 0"):
        LabelMapDisplay(cloud(4), range(4), counts=[1, 2, 3, -1]).plot()
    with pytest.raises(InvalidParameter, match="n_names must be a whole number of at least 0"):
        LabelMapDisplay(cloud(4), range(4)).plot(n_names=-1)
    with pytest.raises(InvalidParameter, match="names must have 4 entries"):
        LabelMapDisplay(cloud(4), range(3)).plot()
    with pytest.raises(InvalidInput, match="eigenvalues must be a vector of finite numbers"):
        SpectrumDisplay([]).plot()
    with pytest.raises(InvalidParameter, match="at least the sum of the eigenvalues, 3, but 2 was"):
        SpectrumDisplay([2, 1], total=2).plot()
    with pytest.raises(Mismatch, match="total=9 has no meaning for eigenvalues that rise"):
        SpectrumDisplay([1, 2], total=9).plot()
    with pytest.raises(InvalidInput, match="nothing to draw; give features, labels or both"):
        LoadingsDisplay().plot()
    with pytest.raises(InvalidParameter, match=r"one axes for each panel \(features and labels\)"):
        LoadingsDisplay.from_estimator(model, ax=plt.subplots()[1])
    with pytest.raises(InvalidParameter, match="show must be 'features', 'labels' or None, but 'b"):
        LoadingsDisplay.from_estimator(model, show="both")
    with pytest.raises(InvalidParameter, match="label_names must have 4 entries"):
        LoadingsDisplay.from_estimator(model, label_names=["a"])


def test_markers_and_colours_are_all_different():
    assert len(set(COLOURS)) == len(COLOURS)
    assert len(set(MARKERS)) == len(MARKERS)
