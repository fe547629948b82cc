"""Places of items in the plane, and names of regions."""

import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from labelspan import MLSI, SemanticIndex
from labelspan.display import CorpusMap, CorpusMapDisplay, corpus_html
from labelspan.display import layout as module
from labelspan.display.layout import Region, layout, regions
from labelspan.errors import InvalidInput, InvalidParameter, MissingData


def clusters(count=240, groups=4, m=10, seed=0):
    rng = np.random.default_rng(seed)
    member = rng.integers(groups, size=count)
    centres = rng.normal(size=(groups, m))
    return centres[member] + 0.3 * rng.normal(size=(count, m)), member


def near_share(places, member):
    """How often the nearest other point is of the same group."""
    away = np.square(places[:, None] - places[None]).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    return (member[away.argmin(axis=1)] == member).mean()


def test_groups_stay_together():
    vectors, member = clusters()
    before = vectors.copy()
    places = layout(vectors)
    assert places.shape == (240, 2)
    assert places.dtype == np.float32
    assert 0.99 < np.abs(places).max() <= 1.0
    assert near_share(places, member) > 0.97
    assert np.array_equal(vectors, before)


def test_the_same_places_every_time_and_on_any_number_of_threads():
    vectors, _ = clusters(150)
    with threadpool_limits(2):
        first = layout(vectors)
    with threadpool_limits(1):
        assert np.array_equal(first, layout(vectors))
    assert not np.array_equal(first, layout(vectors[::-1]))


def test_no_straight_edges(monkeypatch):
    """Points moved outside the frame used to be clipped to its sides."""
    vectors, _ = clusters(3000, groups=40)
    monkeypatch.setattr(module, "_SAMPLE", 200)
    monkeypatch.setattr(module, "_SPREAD", 0.05)
    for places in (layout(vectors), layout(np.repeat(vectors[:50], 4, axis=0))):
        assert np.abs(places).max() == 1.0
        # Only the outermost points touch a side.
        assert (np.abs(places) == 1.0).sum() <= 4


def test_only_directions_count():
    vectors, _ = clusters(120)
    longer = vectors * 2.0 ** np.arange(-2, 2).repeat(30)[:, None]
    assert np.array_equal(layout(vectors.astype(np.float32)), layout(longer.astype(np.float32)))


def test_many_items_are_placed_among_a_sample(monkeypatch):
    monkeypatch.setattr(module, "_SAMPLE", 120)
    vectors, member = clusters(700)
    places = layout(vectors)
    assert np.array_equal(places, layout(vectors))
    assert not np.array_equal(places, layout(vectors, random_state=1))
    assert np.abs(places).max() <= 1.0
    assert near_share(places, member) > 0.95


def test_items_that_are_alike_do_not_hide_each_other(monkeypatch):
    monkeypatch.setattr(module, "_SAMPLE", 60)
    places = layout(np.repeat(clusters(20)[0], 10, axis=0))
    assert len(np.unique(places, axis=0)) == 200


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7])
def test_few_items(count):
    places = layout(clusters(10)[0][:count])
    assert places.shape == (count, 2)
    assert len(np.unique(places, axis=0)) == count
    assert np.isfinite(places).all()


def test_items_that_are_all_the_same_or_zero():
    for vectors in (np.ones((20, 3)), np.zeros((20, 3)), np.ones((5, 1))):
        places = layout(vectors)
        assert np.isfinite(places).all()
        assert len(np.unique(places, axis=0)) == len(vectors)


def test_bad_vectors():
    with pytest.raises(InvalidInput, match=r"layout: vectors cannot be used: .*NaN"):
        layout([[np.nan, 1.0]])
    with pytest.raises(InvalidParameter, match="random_state must be a whole number"):
        layout(np.eye(3), random_state=-1)


# --- regions ------------------------------------------------------------------------------


def plane(seed=0):
    """Three spots, and a label that is everywhere."""
    rng = np.random.default_rng(seed)
    centres = {"one": (-0.7, 0.6), "two": (0.7, 0.6), "three": (0.0, -0.7)}
    places, lists = [], []
    for name, centre in centres.items():
        places.append(rng.normal(centre, 0.06, (50, 2)))
        lists += [[name, "any"]] * 50
    places.append(rng.uniform(-1, 1, (100, 2)))
    lists += [["any"]] * 60 + [None] * 40
    return np.concatenate(places), lists, centres


@pytest.mark.parametrize("seed", range(3))
def test_labels_are_named_where_they_gather(seed):
    places, lists, centres = plane(seed)
    found = {region.name: region for region in regions(places, lists)}
    assert set(found) == set(centres)
    for name, (x, y) in centres.items():
        assert np.hypot(found[name].x - x, found[name].y - y) < 0.05
        assert 40 <= found[name].count <= 50


def test_a_label_that_is_everywhere_names_no_place():
    rng = np.random.default_rng(1)
    lists = [["half"] if half else [] for half in rng.random(400) < 0.5]
    assert regions(rng.uniform(-1, 1, (400, 2)), lists) == []


def test_of_labels_in_one_place_the_purest_is_kept():
    places, lists, _ = plane()
    # Half of the first spot carries a further label, and the rest does not.
    mixed = [[*own, "half"] if n < 50 and n % 2 else own for n, own in enumerate(lists)]
    names = [region.name for region in regions(places, mixed)]
    assert "one" in names
    assert "half" not in names


def test_the_best_come_first_and_no_more_than_asked():
    places, lists, _ = plane()
    every = regions(places, lists)
    assert regions(places, lists, most=2) == every[:2]
    assert regions(places, lists, most=0) == []
    assert regions(np.zeros((0, 2)), []) == []
    assert regions(places[:3], [["x"]] * 3) == []


def test_regions_refuse_lists_that_do_not_fit():
    with pytest.raises(InvalidParameter, match="row for each of the 2 label lists"):
        regions(np.zeros((3, 2)), [["a"], ["b"]])
    with pytest.raises(InvalidParameter, match="most must be a whole number"):
        regions(np.zeros((1, 2)), [["a"]], most=-1)


# --- pictures -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def index():
    words = {"game": "chess board dice", "sound": "music song radio", "image": "photo paint crop"}
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for number in range(60):
        name = sorted(words)[number % 3]
        texts.append(f"<b>{number}</b> $$x$$\n" + " ".join(rng.choice(words[name].split(), 4)))
        labels.append([name] if number % 10 else None)
    return SemanticIndex(estimator=MLSI(3)).fit(texts, labels)


@pytest.fixture(scope="module")
def corpus_map(index):
    return CorpusMap.from_index(index)


def test_a_map_of_an_index(index, corpus_map):
    assert list(corpus_map.ids) == index.ids
    assert corpus_map.titles[7] == "<b>7</b> $$x$$"
    assert corpus_map.labels[0] == ()
    assert corpus_map.counts == dict.fromkeys(("game", "image", "sound"), 18)
    assert {region.name for region in corpus_map.regions} == {"game", "image", "sound"}
    colours = corpus_map.colours()
    points = corpus_map.point_colours()
    for colour, own in zip(points, corpus_map.labels, strict=True):
        assert colour == (colours[own[0]] if own else "#BDBDBD")


def test_a_point_has_the_colour_of_its_rarest_label():
    places = np.zeros((3, 2))
    spots = [Region("often", 0, 0, 3), Region("rare", 0.5, 0, 1)]
    lists = [("often",), ("often", "rare"), ("often",)]
    found = CorpusMap(places, ["a", "b", "c"], ["", "", ""], lists, spots)
    colours = found.colours()
    assert list(colours) == ["rare", "often"]
    assert found.point_colours() == [colours["often"], colours["rare"], colours["often"]]


def test_the_picture_has_points_and_names(corpus_map):
    import matplotlib.pyplot as plt

    shown = CorpusMapDisplay(corpus_map).plot(title="all")
    assert len(shown.ax_.collections[0].get_offsets()) == 60
    assert sorted(shown.names_) == ["game", "image", "sound"]
    assert [text.get_text() for text in shown.ax_.texts] == shown.names_
    # A second name in the same place is left out.
    twice = [*corpus_map.regions, Region("again", *shown.ax_.texts[0].get_position(), 1)]
    lists = [*corpus_map.labels[:-1], ("again",)]
    crowded = CorpusMap(corpus_map.points, corpus_map.ids, corpus_map.titles, lists, twice)
    shown = CorpusMapDisplay(crowded).plot()
    assert "again" not in shown.names_
    assert [text.get_text() for text in shown.ax_.texts] == shown.names_
    plt.close("all")
    empty = CorpusMap(np.zeros((0, 2)), [], [], [], [])
    with pytest.raises(InvalidInput, match="no items to draw"):
        CorpusMapDisplay(empty).plot()


def test_the_page_is_whole(corpus_map):
    pytest.importorskip("bokeh", reason="HTML maps need the extra labelspan[app]")
    page = corpus_html(corpus_map, "A <map> & more")
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert "<title>A &lt;map&gt; &amp; more</title>" in page
    for part in ('"webgl"', "the largest regions", '"sound"', "18", "Find in ids and titles"):
        assert part in page
    # Scripts are inside, and texts of items are data, not markup.
    assert "<script src=" not in page
    assert "<link" not in page
    assert "<b>7</b>" not in page


def test_without_bokeh_a_sentence(corpus_map, monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh", None)
    monkeypatch.setitem(sys.modules, "bokeh.embed", None)
    with pytest.raises(MissingData, match=r"needs bokeh.*pip install 'labelspan\[app\]'"):
        corpus_html(corpus_map, "x")
