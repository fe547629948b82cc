"""Lists of items: matches, orders, counts and bins, against loops over the items."""

import datetime

import numpy as np
import pytest
from _support.explorer import WORDS, make_index

from labelspan import LSI, SemanticIndex
from labelspan.errors import InvalidInput
from labelspan.index import Filter

GAME, SOUND, IMAGE = sorted(WORDS)


@pytest.fixture(scope="module")
def index():
    return make_index()


def ids(found):
    return [hit.id for part in found.blocks(7) for hit in part if not hit.weak]


def collection(metadata, labels=None):
    texts = [f"chess board {number}" for number in range(len(metadata))]
    return SemanticIndex(estimator=LSI(2)).fit(texts, labels, metadata=metadata)


CONDITIONS = [
    ({}, lambda item: True),
    ({"labels": GAME}, lambda item: GAME in (item.labels or ())),
    (
        {"labels": [GAME], "without": [IMAGE]},
        lambda item: GAME in (item.labels or ()) and IMAGE not in item.labels,
    ),
    ({"labels": ["works-with::*"]}, lambda item: IMAGE in (item.labels or ())),
    ({"metadata": {"year": 2002}}, lambda item: item.metadata["year"] == 2002),
    ({"metadata": {"year": ["2002", 2003]}}, lambda item: item.metadata["year"] in (2002, 2003)),
    (
        {"metadata": {"year": {"from": 2001, "to": "2003"}}},
        lambda item: 2000 < item.metadata["year"] < 2004,
    ),
    (
        {"metadata": {"free": "true"}, "without_metadata": {"year": {"to": 2001}}},
        lambda item: item.metadata["free"] and item.metadata["year"] > 2001,
    ),
    ({"metadata": {"year": lambda year: year > 2002}}, lambda item: item.metadata["year"] > 2002),
    (
        Filter(labels=(GAME, SOUND), metadata={"free": True}),
        lambda item: {GAME, SOUND} <= set(item.labels or ()) and item.metadata["free"],
    ),
]


@pytest.mark.parametrize(("wanted", "condition"), CONDITIONS)
def test_a_list_and_its_counts_are_what_a_loop_finds(index, wanted, condition):
    found = index.browse(filter=wanted, sort="id")
    expected = [item for item in index.items() if condition(item)]
    assert ids(found) == sorted(item.id for item in expected)
    assert found.total == len(found) == len(expected) > 0
    hits = {hit.id: hit for hit in index.search("chess radio photo", len(index), wanted)}
    every = index.search("chess radio photo", len(index))
    assert list(hits) == [hit.id for hit in every if condition(hit)]
    assert [index.ids[n] for n in found.positions] == ids(found)
    counts = found.label_counts()
    for label in WORDS:
        assert counts.get(label, 0) == sum(label in (item.labels or ()) for item in expected)
    facets = {one.field: one for one in found.facets()}
    free, year = facets["free"], facets["year"]
    years = [item.metadata["year"] for item in expected]
    assert dict(year.counts) == {str(one): years.count(one) for one in set(years)}
    assert [(low, count) for low, _, count in year.bins if count] == [
        (one, years.count(one)) for one in sorted(set(years))
    ]
    assert (free.kind, year.kind) == ("category", "number")
    assert sum(count for _, count in free.counts) == len(expected)


@pytest.mark.parametrize(
    ("text", "balance"),
    [
        ("chess player", 0.4),
        ("radio -song", 1.0),
        ('"chess', 0.0),
        ("photo cam*", 0.4),
        ("item9", 1.0),
    ],
)
def test_a_list_has_all_hits_of_a_search_and_weak_ones_are_another_list(index, text, balance):
    hits = index.search(text, len(index), balance=balance)
    found = index.browse(text, balance=balance)
    listed = [hit for part in found.blocks(9) for hit in part]
    assert found.scored
    assert listed == [one for one in hits if not one.weak]
    assert [hit.id for hit in listed] == found.ids
    assert len(found) == found.total == len(listed)
    weak = [one for one in hits if one.weak][:50]
    assert 0 < found.total < len(index)
    other = index.browse(text, balance=balance, sort="-title")
    assert sorted(other.ids) == sorted(found.ids)
    assert found.close.page(1, 60) == weak
    assert found.close.ids == [one.id for one in weak]
    assert not set(found.close.ids) & set(found.ids)
    assert found.close.close is None
    assert sorted(other.close.ids) == sorted(found.close.ids)
    titles = [hit.title.casefold() for hit in other.close.page(1, 60)]
    assert titles == sorted(titles, reverse=True)


def test_labels_are_sorted_by_how_typical_an_item_is(index):
    found = index.browse(filter={"labels": [IMAGE]})
    hits = index.search(None, len(index), {"labels": [IMAGE]}, labels=IMAGE)
    expected = [hit.id for hit in hits]
    assert ids(found)[: len(expected)] == expected
    assert found.scored
    assert found.total == index.labels[IMAGE], "items with a cosine of 0 are there as well"


def test_orders_are_those_of_python(index):
    items = index.items()
    keys = {
        "title": lambda item: item.title.casefold(),
        "id": lambda item: item.id,
        "labels": lambda item: len(item.labels or ()),
        "meta.year": lambda item: item.metadata["year"],
    }
    for name, key in keys.items():
        expected = [item.id for item in sorted(items, key=key)]
        assert ids(index.browse(sort=name)) == expected, name
        back = [key(index.item(one)) for one in ids(index.browse(sort=f"-{name}"))]
        assert back == sorted(back, reverse=True), name
    assert ids(index.browse(sort="score")) == index.ids, "nothing to compare with"
    scores = [hit.score for hit in index.browse("chess", sort="-score").page(size=60)]
    assert scores == sorted(scores)
    with pytest.raises(InvalidInput, match=r"cannot be sorted by 'colour'.*meta\.year"):
        index.browse(sort="colour")


def test_pages_and_parts_of_the_items(index):
    found = index.browse("chess")
    every = [hit.id for hit in found.page(1, 1000)]
    assert [hit.id for n in (1, 2, 3) for hit in found.page(n, 20)] == every[:60]
    assert found.page(100) == []
    with pytest.raises(InvalidInput, match="must be 1 or more"):
        found.page(0)
    marks = np.arange(len(index)) < 20
    part = index.browse("chess", within=marks)
    assert ids(part) == [one for one in ids(found) if one in index.ids[:20]]
    with pytest.raises(InvalidInput, match="True or False for each of 60 items"):
        index.browse(within=marks[:5])


def test_metadata_of_several_types_is_sorted_and_missing_values_come_last():
    given = [{"n": 3}, {"n": "b"}, {}, {"n": True}, {"n": 1}, {"n": 2.5}, {"n": "A"}, {"n": None}]
    index = collection(given)
    assert index.fields() == {"n": "category"}
    assert ids(index.browse(sort="meta.n")) == ["3", "4", "5", "0", "6", "1", "7", "2"]
    assert ids(index.browse(sort="-meta.n"))[-1] == "2"
    assert ids(index.browse(filter={"metadata": {"n": True}})) == ["3"]
    assert ids(index.browse(filter={"metadata": {"n": "1"}})) == ["4"]


@pytest.mark.parametrize(
    ("unit", "as_text"), [(1e-9, False), (0.37, True), (1, True), (1e9, False)]
)
def test_bins_of_numbers_are_what_their_ranges_find(unit, as_text):
    rng = np.random.default_rng(int(unit) % 7)
    values = (np.round(rng.normal(size=60) * 50) * unit).tolist()
    values = [int(value) if unit >= 1 else value for value in values]
    if as_text:
        values = [f"{value:.12f}" if unit < 1 else str(value) for value in values]
    index = collection([{"n": value} for value in values] + [{}])
    (facet,) = index.browse().facets()
    assert facet.kind == "number"
    assert 8 <= len(facet.bins) <= 21
    assert sum(count for *_, count in facet.bins) >= 60
    for low, high, count in facet.bins:
        inside = [n for n, value in enumerate(values) if low <= float(value) <= high]
        wanted = {"metadata": {"n": {"from": low, "to": high}}}
        assert ids(index.browse(filter=wanted)) == [str(n) for n in inside]
        assert count == len(inside)


@pytest.mark.parametrize("days", [3, 900, 200_000])
def test_dates_are_sorted_and_binned_by_time(days):
    rng = np.random.default_rng(days)
    dates = [
        datetime.date(2020, 6, 17) + datetime.timedelta(days=int(n))
        for n in rng.integers(0, days, 50)
    ]
    forms = ["{0:%Y-%m-%d}", "{0:%B} {0.day}, {0.year}", "{0.day} {0:%b} {0.year}", "{0}T12:00:00Z"]
    index = collection([{"when": forms[n % 4].format(one)} for n, one in enumerate(dates)])
    assert index.fields() == {"when": "date"}
    order = [dates[int(one)] for one in ids(index.browse(sort="meta.when"))]
    assert order == sorted(dates)
    bins = index.browse().facets()[0].bins
    assert sum(count for *_, count in bins) == 50
    assert len(bins) <= 21
    for low, high, count in bins:
        first, last = map(datetime.date.fromisoformat, (low, high))
        inside = [str(n) for n, one in enumerate(dates) if first <= one <= last]
        assert count == len(inside)
        assert ids(index.browse(filter={"metadata": {"when": {"from": low, "to": high}}})) == inside
    year = [str(n) for n, one in enumerate(dates) if one.year == 2020]
    for wanted in ({"from": "2020", "to": "2020"}, {"from": 2020, "to": "2020-12"}):
        assert ids(index.browse(filter={"metadata": {"when": wanted}})) == year


def test_kinds_of_fields_and_wrong_ranges():
    count = 50
    tables = [
        {
            "url": f"x{n}",
            "code": f"0{n % 9}",
            "day": ["2020-01-01", ""][n == 3],
            "huge": 10**400 + n,
            "wide": [1e308, -1e308, 5e-324][n % 3],
            "colour": ["red", "blue"][n % 2],
        }
        for n in range(count)
    ]
    index = collection(tables)
    kinds = {"url": "text", "code": "category", "day": "date", "wide": "number"}
    kinds["colour"] = "category"
    assert index.fields() == dict(sorted({**kinds, "huge": "text"}.items()))
    facets = {one.field: one for one in index.browse().facets(1)}
    assert set(facets) == set(kinds) - {"url"}
    assert facets["code"].more == 8
    assert facets["wide"].bins == ((-1e308, 1e308, count),)
    assert ids(index.browse(filter={"metadata": {"colour": {"from": "red"}}}))[:2] == ["0", "2"]
    wrong = {
        "not a date": {"day": {"from": "soon"}},
        "not a number": {"wide": {"to": "much"}},
        "a dict with 'from'": {"wide": {"least": 1}},
        "strings, numbers": {"colour": [["red"]]},
        "the keys are": {"size": 1},
    }
    for message, condition in wrong.items():
        with pytest.raises(InvalidInput, match=message):
            index.browse(filter={"metadata": condition})


def test_groups_are_beginnings_of_labels():
    labels = [["a::b::c"], ["a::b::d", "e"], ["a::f"], ["e"], ["a::b::c", "a::f"], []]
    index = collection([{}] * 6, labels)
    assert index.browse().group_counts() == {"a": 4, "a::b": 3}
    assert index.browse().facets() == []
    assert ids(index.browse(filter={"labels": "a::b::*"})) == ["0", "1", "4"]
    assert ids(index.browse(filter={"without": "a::*"})) == ["3", "5"]
    with pytest.raises(InvalidInput, match="begins with 'b::'"):
        index.browse(filter={"labels": "b::*"})
    assert collection([{}] * 3, [["a"], ["b"], []]).browse().group_counts() == {}
