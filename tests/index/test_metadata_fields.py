"""Kinds of metadata: several values in one text, numbers with units, and dates as people write."""

import numpy as np
import pytest
from _support.tagged import rows

from labelspan import SemanticIndex
from labelspan.index.metadata_fields import read_fields


def field(values):
    tables = [(row, {"x": value}) for row, value in enumerate(values)]
    return read_fields(tables, len(values))["x"]


@pytest.mark.parametrize("mark", [", ", "; ", "|"])
def test_several_values_in_one_text_are_counted_and_chosen_one_by_one(mark):
    lists = [["Canada", "Peru"], ["India"], ["Peru"], ["India", "Canada"], ["Peru", "India"]] * 4
    found = field([mark.join(own) for own in lists])
    counts = found.counts(np.arange(len(lists)))
    assert dict(found.most_common(counts)) == {"Canada": 8, "Peru": 12, "India": 12}
    for choice in ("Canada", ["Canada"]):
        assert found.chosen(choice)[found.codes].tolist() == ["Canada" in own for own in lists]
    whole = mark.join(lists[0])
    assert found.chosen(whole)[found.codes].tolist() == [own == lists[0] for own in lists]


def test_sentences_and_names_are_not_split():
    for values in (
        [f"Hello {n}, world of {n * 7}" for n in range(40)],
        ["Lee, Ann", "Oz, Cem", "Ray, Bo"] * 9,
    ):
        assert field(values).parts is None


@pytest.mark.parametrize(
    ("values", "keys", "low"),
    [
        (["106 min", "90 min", "1,200 mins"], [90, 106, 1200], "100 min"),
        (["$12.50", "$3", "$1,000"], [3, 12.5, 1000], "$10"),
        (["40%", "7.5%", "99 %"], [7.5, 40, 99], 30),
        (["1,234", "56", "7"], [7, 56, 1234], 50),
        (["1,92", "10,5", "7"], [1.92, 7, 10.5], 6),
        (["1.250,50 €", "12,5 €", "9 €"], [9, 12.5, 1250.5], "10 €"),
    ],
)
def test_numbers_with_units(values, keys, low):
    found = field(values)
    assert (found.kind, found.keys.tolist()) == ("number", keys)
    assert found.chosen({"from": low}).tolist() == [False, True, True]
    assert found.bins(found.counts(np.arange(3)))


def test_two_units_are_no_measure():
    assert field(["90 min", "1 Season", "2 Seasons"] * 5).kind == "category"


@pytest.mark.parametrize(
    "text",
    ["2007/4/2", "2.4.2007", "Mon, 2 Apr 2007 19:18:42 GMT", "2007-04-02 10:00", "April 2, 2007"],
)
def test_dates_as_people_write_them(text):
    found = field([text, "2007-04-03"])
    assert (found.kind, found.keys.tolist()) == ("date", [13605.0, 13606.0])
    assert field(["1/2/2007", "2/1/2007"]).kind == "category"


def test_an_index_has_facets_of_single_values():
    places = ["Canada, Peru", "India", "Peru", "India, Canada", "Peru, India", "Canada"] * 4
    about = [{"country": place, "length": f"{80 + n} min"} for n, place in enumerate(places)]
    items = rows(len(places))
    texts = [f"film {item['body']}" for item in items]
    index = SemanticIndex().fit(texts, [item["tags"] for item in items], metadata=about)
    facets = {facet.field: facet for facet in index.browse().facets()}
    assert dict(facets["country"].counts) == {"Canada": 12, "Peru": 12, "India": 12}
    assert (facets["length"].kind, sum(n for *_, n in facets["length"].bins)) == ("number", 24)
    hits = index.search("film", 30, filter={"metadata": {"country": "Peru"}})
    assert len(hits) == 12
