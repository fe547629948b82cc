"""After an edit a map keeps its points, and changes labels and colours."""

import numpy as np
import pytest
from _support.explorer import read_points
from _support.topics import corpus

from labelspan import MLSI, SemanticIndex
from labelspan.display.map_data import draw_points

LABELS = ("labels", "groups", "label_ends", "label_rows")


@pytest.fixture
def index():
    texts, labels, ids, metadata = corpus(240)
    return SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids, metadata=metadata)


def parts(drawn):
    head, arrays = read_points(drawn.points)
    return (
        head,
        arrays,
        dict(
            zip(
                head["labels"],
                np.split(arrays["label_rows"], arrays["label_ends"][1:-1]),
                strict=True,
            )
        ),
    )


def check(index, drawn):
    """See that a map has the labels of the index."""
    head, arrays, rows = parts(drawn)
    assert {name: len(own) for name, own in rows.items()} == index.labels
    for number, item in enumerate(index.items()):
        own = set(item.labels or ())
        assert head["ids"][number] == item.id
        assert all((number in rows[name]) == (name in own) for name in rows)
        group = arrays["groups"][number]
        main = own & set(head["groups"])
        assert (head["groups"][group] in own) if group >= 0 else not main


def test_a_map_after_edits_is_the_same_but_for_labels(index):
    first = draw_points(index)
    assert first.main_labels
    check(index, first)
    index.relabel(["item3", "item4", "item5"], [["fresh"], [first.main_labels[0]], None])
    second = first.relabelled(index)
    check(index, second)
    before, arrays, _ = parts(first)
    after, changed, _ = parts(second)
    for name in before.keys() - {"arrays", *LABELS}:
        assert after[name] == before[name]
    for name in arrays.keys() - set(LABELS):
        assert np.array_equal(arrays[name], changed[name])
    assert second.etag != first.etag
    # As a map that is drawn now, and again with another edit.
    assert np.array_equal(second.places, draw_points(index).places)
    index.relabel("item3", ["game"])
    check(index, second.relabelled(index))
    assert first.relabelled(index).points == second.relabelled(index).points


def test_a_map_is_drawn_again_where_items_or_names_of_regions_go(index):
    drawn = draw_points(index)
    name = drawn.main_labels[0]
    owners = [item.id for item in index.items() if name in (item.labels or ())]
    index.relabel(owners, [["renamed"]] * len(owners))
    assert drawn.relabelled(index) is None
    drawn = draw_points(index)
    index.remove("item7")
    assert drawn.relabelled(index) is None
    assert draw_points(index).relabelled(index) is not None
