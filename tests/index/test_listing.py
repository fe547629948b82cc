"""Lists of items: selections, orders and counts, against loops over the items."""

import numpy as np
import pytest
from _support.explorer import WORDS, make_index

from labelspan import LSI, SemanticIndex
from labelspan.errors import InvalidInput
from labelspan.index.listing import ItemListing, Selection, label_separator, metadata_text

GAME, SOUND, IMAGE = sorted(WORDS)


@pytest.fixture(scope="module")
def index():
    return make_index()


@pytest.fixture(scope="module")
def listing(index):
    return ItemListing(index)


def ids(listing, found, sort=""):
    return [item.id for item in listing.items(found.places[listing.ordered(found, sort)])]


CONDITIONS = [
    (Selection(), lambda item: True),
    (Selection(labels=(GAME,)), lambda item: GAME in (item.labels or ())),
    (
        Selection(labels=(GAME,), without=(IMAGE,)),
        lambda item: GAME in (item.labels or ()) and IMAGE not in item.labels,
    ),
    (Selection(metadata=("year=2002",)), lambda item: item.metadata["year"] == 2002),
    (
        Selection(metadata=("free=true",), without_metadata=("year=2000", "year=2001")),
        lambda item: item.metadata["free"] and item.metadata["year"] > 2001,
    ),
]


@pytest.mark.parametrize(("wanted", "condition"), CONDITIONS)
def test_a_selection_is_what_a_loop_finds(index, listing, wanted, condition):
    found = listing.select(wanted)
    expected = [item for item in index.items() if condition(item)]
    assert [item.id for item in listing.items(found.places)] == [item.id for item in expected]
    counts = listing.labels.counts(found.mask(listing.size))
    for label in WORDS:
        assert counts.get(label, 0) == sum(label in (item.labels or ()) for item in expected)
    years = listing.values["year"].counts(found.mask(listing.size))
    assert sum(years.values()) == len(expected)


@pytest.mark.parametrize("balance", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("text", ["chess player", "radio -song", '"chess', "photo cam*", "item9"])
def test_a_text_matches_all_items_that_a_search_does_not_call_weak(index, listing, text, balance):
    hits = index.search(text, len(index), balance=balance)
    sure = {hit.id: hit.score for hit in hits if not hit.weak}
    found = listing.select(Selection(text, balance))
    names = [item.id for item in listing.items(found.places)]
    assert set(names) == set(sure)
    assert len(sure) < len(index)
    np.testing.assert_allclose(found.scores, [sure[name] for name in names], atol=1e-9)
    order = ids(listing, found)
    assert sorted(order, key=lambda name: -sure[name]) == order


def test_labels_are_sorted_by_how_typical_an_item_is(index, listing):
    found = listing.select(Selection(labels=(IMAGE,)))
    hits = index.search(None, len(index), {"labels": [IMAGE]}, labels=IMAGE)
    expected = [hit.id for hit in hits]
    assert ids(listing, found)[: len(expected)] == expected
    assert len(found.places) == index.labels[IMAGE], "items with a cosine of 0 are there as well"


def test_orders_are_those_of_python(index, listing):
    found, items = listing.select(Selection()), index.items()
    keys = {
        "title": lambda item: item.title.casefold(),
        "id": lambda item: item.id,
        "labels": lambda item: len(item.labels or ()),
        "meta.year": lambda item: item.metadata["year"],
    }
    assert set(keys) | {"score", "meta.free"} == set(listing.sorts())
    for name, key in keys.items():
        assert ids(listing, found, name) == [item.id for item in sorted(items, key=key)], name
        back = [key(index.item(one)) for one in ids(listing, found, f"-{name}")]
        assert back == sorted(back, reverse=True), name
    assert ids(listing, found, "score") == index.ids, "nothing to compare with"
    with pytest.raises(InvalidInput, match="cannot be sorted by 'colour'"):
        listing.ordered(found, "colour")


def test_metadata_of_several_types_is_sorted_and_missing_values_come_last():
    given = [{"n": 3}, {"n": "b"}, {}, {"n": True}, {"n": 1}, {"n": 2.5}, {"n": "A"}, {"n": None}]
    texts = [f"chess board {number}" for number in range(len(given))]
    index = SemanticIndex(estimator=LSI(2)).fit(texts, metadata=given)
    listing = ItemListing(index)
    every = listing.select(Selection())
    assert ids(listing, every, "meta.n") == ["3", "4", "5", "0", "6", "1", "7", "2"]
    assert ids(listing, every, "-meta.n")[-1] == "2"
    assert ids(listing, listing.select(Selection(metadata=("n=true",)))) == ["3"]
    assert ids(listing, listing.select(Selection(metadata=("n=1",)))) == ["4"]


def test_groups_are_beginnings_of_labels():
    labels = [["a::b::c"], ["a::b::d", "e"], ["a::f"], ["e"], ["a::b::c", "a::f"], []]
    texts = ["chess board", "chess player", "photo frame", "photo", "board frame", "player"]
    index = SemanticIndex(estimator=LSI(2)).fit(texts, labels)
    listing = ItemListing(index)
    assert listing.separator == "::"
    assert listing.groups.counts(np.ones(6, dtype=bool)) == {"a": 4, "a::b": 3}
    assert ids(listing, listing.select(Selection(groups=("a::b",)))) == ["0", "1", "4"]
    assert ids(listing, listing.select(Selection(without_groups=("a",)))) == ["3", "5"]
    for wanted in (Selection(groups=("b",)), Selection(metadata=("x=1",))):
        with pytest.raises(InvalidInput, match="No item has"):
            listing.select(wanted)


def test_items_that_were_removed_or_added_are_counted_right(index):
    changed = make_index()
    changed.remove(["item20", "item21"])
    changed.add(["a new chess game"], [["game"]], ["new"], metadata=[{"year": 1}])
    listing = ItemListing(changed)
    found = listing.select(Selection())
    assert ids(listing, found) == changed.ids
    assert ids(listing, listing.select(Selection(metadata=("year=1",)))) == ["new"]
    assert "new" in ids(listing, listing.select(Selection("chess")))
    parts = list(listing.parts(found.places))
    assert [item.id for part in parts for item in part] == changed.ids


def test_names_of_separators_and_values():
    assert label_separator([]) == ""
    assert label_separator(["a/b", "c/d", "e"]) == "/"
    assert label_separator(["::", "a", "b"]) == ""
    assert metadata_text(None) == "null"
