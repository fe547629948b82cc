"""Places of items in the plane, and names of regions."""

import base64
import hashlib
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from _support.explorer import read_points
from threadpoolctl import threadpool_limits

from labelspan import MLSI, SemanticIndex
from labelspan.display import CorpusMap, CorpusMapDisplay, corpus_html
from labelspan.display import layout as stored_module
from labelspan.display.layout import layout, place
from labelspan.display.map_data import encode_map
from labelspan.display.map_regions import MapRegions, Region, name_regions, word_lists
from labelspan.display.mesh_tsne import Mesh, _over_pairs
from labelspan.errors import InvalidInput
from labelspan.index.folder import MAP_FILE


def clusters(count=240, groups=4, m=10, seed=0):
    rng = np.random.default_rng(seed)
    member = rng.integers(groups, size=count)
    centres = rng.normal(size=(groups, m))
    return centres[member] + 0.3 * rng.normal(size=(count, m)), member


def near_share(places, member):
    """Return how often the nearest other point belongs to the same group."""
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


def test_similar_items_do_not_hide_each_other():
    vectors = np.repeat(clusters(20)[0], 10, axis=0)
    places = layout(vectors)
    assert len(np.unique(places, axis=0)) == 200
    assert near_share(places, np.arange(200) // 10) == 1.0


def test_further_items_come_next_to_their_neighbours():
    vectors, member = clusters(300)
    places = layout(vectors[:200])
    before = places.copy()
    added = place(vectors[200:], vectors[:200], places)
    assert added.dtype == np.float32
    assert np.array_equal(places, before)
    everything = np.concatenate([places, added])
    assert np.abs(everything).max() <= 1.0
    assert len(np.unique(everything, axis=0)) == 300
    assert near_share(everything, member) > 0.95
    # The same item many times: next to each other, and not at one place.
    again = place(np.repeat(vectors[:1], 50, axis=0), vectors[:200], places)
    assert len(np.unique(np.concatenate([places, again]), axis=0)) == 250
    assert np.linalg.norm(again - places[0], axis=1).max() < 0.2
    assert place(np.zeros((0, 10)), vectors, layout(vectors)).shape == (0, 2)
    assert place(vectors[:9], np.zeros((0, 10)), np.zeros((0, 2))).shape == (9, 2)


def test_the_mesh_sums_over_all_pairs():
    rng = np.random.default_rng(0)
    points = rng.normal(scale=4.0, size=(300, 2)).astype(np.float32)
    apart = points[:, None].astype(float) - points[None]
    kernel = 1 / (1 + np.square(apart).sum(axis=2))
    exact = (apart * kernel[:, :, None] ** 2).sum(axis=1)
    mesh = Mesh(float(np.ptp(points, axis=0).max()), 0.25)
    for (sums, forces), error in ((mesh(points), 0.005), (_over_pairs(points), 1e-5)):
        assert np.allclose(sums, kernel.sum(axis=1), rtol=error)
        assert np.abs(forces - exact).max() < 4 * error * np.abs(exact).max()


@pytest.mark.parametrize("count", [0, 1, 2, 4])
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


def test_the_largest_come_first_and_each_item_has_its_main_label():
    rng = np.random.default_rng(0)
    sizes = {"large": 900, "middle": 300, "small": 60}
    spots = {"large": (-0.4, 0.0), "middle": (0.6, 0.5), "small": (0.7, -0.6)}
    places = np.concatenate(
        [rng.normal(spots[name], np.sqrt(n) / 120, (n, 2)) for name, n in sizes.items()]
    )
    # A third of the largest spot has a second, rarer label that is nowhere denser.
    lists = [
        [name, "here"][: 1 + (n % 3 == 0)] for name, size in sizes.items() for n in range(size)
    ]
    found = name_regions(places, lists)
    assert [region.name for region in found.regions] == list(sizes) == found.labels
    assert [found.labels[n] for n in found.own] == [own[0] for own in lists]
    assert name_regions(np.zeros((0, 2)), []).regions == []
    assert name_regions(places[:3], [["x"]] * 3).regions == []
    # Texts without a word that could be a name.
    name_regions(places, lists, words=[[]] * len(lists), levels=2)
    # The number of items, not their order, decides.
    order = rng.permutation(len(places))
    again = name_regions(places[order], [lists[n] for n in order])
    assert again.labels == found.labels
    assert np.array_equal(again.own, found.own[order])


def test_words_name_places_that_no_label_names():
    places, lists, _ = plane()
    words = [["red", "often"] if "one" in (own or ()) else ["often"] for own in lists]
    bare = [None if own and "three" in own else own for own in lists]
    words = [
        [*w, "blue"] if own and "three" in own else w for w, own in zip(words, lists, strict=True)
    ]
    found = {region.name: region for region in name_regions(places, bare, words=words).regions}
    assert {"one", "two", "blue"} == set(found)
    assert [found[name].kind for name in ("one", "blue")] == ["label", "word"]
    assert np.hypot(found["blue"].x, found["blue"].y + 0.7) < 0.05
    # Two or three words that tell something, and are not forms of one, name a place.
    more = [[*own, "sky", "blues", "sea"] if "blue" in own else own for own in words]
    (name,) = {
        one.name for one in name_regions(places, bare, words=more).regions if one.kind == "word"
    }
    assert name in {" · ".join(one) for one in itertools.permutations(["blue", "sky", "sea"])} | {
        " · ".join(one) for one in itertools.permutations(["blues", "sky", "sea"])
    }
    assert word_lists(["", "A Chess  chess board_3 \u4e2d\u6587\u5b57"]) == [
        [],
        ["chess", "board", "\u4e2d\u6587\u5b57"],
    ]
    assert word_lists(["How not to play"], {"how", "not", "to"}) == [["play"]]


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
    return SemanticIndex(estimator=MLSI(3, center=False)).fit(texts, labels)


def test_the_layout_is_kept_in_the_folder_and_added_to(index, tmp_path, monkeypatch, caplog):
    folder = tmp_path / "kept"
    index.save(folder)
    calls = []
    real = stored_module.layout
    monkeypatch.setattr(stored_module, "layout", lambda *a, **k: calls.append(1) or real(*a, **k))
    with SemanticIndex.load(folder) as reader:
        first = CorpusMap.from_index(reader).points
        assert np.array_equal(CorpusMap.from_index(reader).points, first)
        assert calls == [1]
    with SemanticIndex.load(folder, write=True) as writer:
        writer.remove(["5"]).add(["chess dice", "music song"], ids=["new", "newer"]).save()
        added = CorpusMap.from_index(writer)
        # The layout was kept by the save, and the others stayed where they were.
        assert calls == [1]
        assert np.array_equal(added.points[:5], first[:5])
        assert np.array_equal(added.points[5:-2], first[6:])
        assert np.array_equal(CorpusMap.from_index(writer).points, added.points)
        writer.add(["photo"] * 70)
        assert len(CorpusMap.from_index(writer).points) == 131
        assert calls == [1, 1], "more were added than laid out"
    path = folder / MAP_FILE
    whole = path.read_bytes()
    damaged = [b"", whole[:-1], whole[:90] + b"x" + whole[91:], b"x" + whole[1:]]
    for content in damaged:
        path.write_bytes(content)
        with SemanticIndex.load(folder) as reader:
            CorpusMap.from_index(reader)
        assert path.read_bytes() == whole
    assert len(calls) == 2 + len(damaged)
    assert caplog.text.count("A stored map is not used") == len(damaged)


@pytest.fixture(scope="module")
def corpus_map(index):
    return CorpusMap.from_index(index)


def test_a_map_of_an_index(index, corpus_map):
    assert list(corpus_map.ids) == index.ids
    assert corpus_map.titles[7] == "<b>7</b> $$x$$"
    assert corpus_map.labels[0] == ()
    assert corpus_map.counts == dict.fromkeys(("game", "image", "sound"), 18)
    # Words can name places between them, as the layout happens to be.
    named = {region.name for region in corpus_map.regions if region.kind == "label"}
    assert named == {"game", "image", "sound"}
    points = corpus_map.point_colours()
    assert len(set(points)) == 4
    for colour, own in zip(points, corpus_map.labels, strict=True):
        assert (colour == "#BDBDBD") == (not own)


def test_the_picture_has_points_and_names(corpus_map):
    import matplotlib.pyplot as plt

    shown = CorpusMapDisplay(corpus_map).plot(title="all")
    assert len(shown.ax_.collections[0].get_offsets()) == 60
    assert {"game", "image", "sound"} <= set(shown.names_)
    assert [text.get_text() for text in shown.ax_.texts] == shown.names_
    # A second name in the same place is left out.
    named = corpus_map.named
    twice = [*corpus_map.regions, Region("again", *shown.ax_.texts[0].get_position(), 1)]
    crowded = replace(corpus_map, named=MapRegions(twice, named.labels, named.own))
    shown = CorpusMapDisplay(crowded).plot()
    assert "again" not in shown.names_
    assert [text.get_text() for text in shown.ax_.texts] == shown.names_
    plt.close("all")
    empty = CorpusMap(np.zeros((0, 2)), [], [], [])
    with pytest.raises(InvalidInput, match="no items to draw"):
        CorpusMapDisplay(empty).plot()


def test_the_page_is_whole(corpus_map):
    page = corpus_html(corpus_map, "A <map> & more")
    assert page.startswith("<!doctype html>")
    assert "<title>A &lt;map&gt; &amp; more</title>" in page
    # Scripts are inside, and allowed by their hashes; texts of items are data, not markup.
    assert "<script src=" not in page
    assert "<link" not in page
    assert "<b>7</b>" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        text = re.search(rf"<{kind}>(.*)</{kind}>", page, re.DOTALL)[1]
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    data = base64.b64decode(re.search(r'<template id="points">([^<]*)<', page)[1])
    assert data == encode_map(corpus_map)
    head, arrays = read_points(data)
    assert head["titles"][7] == "<b>7</b> $$x$$"
    assert head["groups"] == corpus_map.named.labels
    assert np.array_equal(arrays["groups"], corpus_map.named.own)
    empty = CorpusMap(np.zeros((0, 2)), [], [], [])
    with pytest.raises(InvalidInput, match="no items to draw"):
        corpus_html(empty, "x")


def test_metadata_to_colour_by():
    days = ["2021-03-04", "1969-12-31T10:00"] * 20
    columns = {
        "number": [n / 2 for n in range(40)],
        "date": [f"20{n:02}-01-02" for n in range(40)],
        "few dates": days,
        "kind": ["often"] * 25 + ["rare"] * 10 + [None] * 5,
        "own": [f"name {n}" for n in range(40)],
        "same": ["x"] * 40,
        "mixed": [1, "one"] * 20,
        "large": [10.0**300 * n for n in range(40)],
        "truth": [True, False] * 20,
    }
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    found = CorpusMap(
        np.zeros((40, 2)), [str(n) for n in range(40)], [""] * 40, [()] * 40, metadata=rows
    )
    head, arrays = read_points(encode_map(found))
    kinds = {one["name"]: one["kind"] for one in head["fields"]}
    assert kinds == {
        "number": "number",
        "date": "date",
        "few dates": "category",
        "kind": "category",
        "mixed": "category",
        "truth": "category",
    }
    values = {one["name"]: arrays[f"field{n}"] for n, one in enumerate(head["fields"])}
    assert values["number"].tolist() == columns["number"]
    assert values["date"][0] == 10958, "days since 1970"
    assert values["kind"].tolist() == [0] * 25 + [1] * 10 + [-1] * 5
    assert head["fields"][3]["values"] == ["often", "rare"]
