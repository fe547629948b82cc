"""A search that has begun ends with the items that it began with, whatever another thread does."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from _support.stored import made

from labelspan import SemanticIndex
from labelspan.curation import Review
from labelspan.errors import InvalidInput, Mismatch
from labelspan.index.history import By

CHANGES = {
    "save": lambda index: index.save(),
    "add": lambda index: index.add(["chess"] * 3, [["game"]] * 3, ["x", "y", "z"]),
    "replace": lambda index: index.add(["photo"], [["new"]], ["item0"], replace=True),
    "remove": lambda index: index.remove(["item0", "item1"]),
    "relabel": lambda index: index.relabel(["item0", "item3"], [["new"], None]),
}
ASKED = {
    "words": {"query": "chess player"},
    "items": {"items": "item2"},
    "labels": {"labels": "game"},
    "meaning": {"query": "chess player", "balance": 1},
}


def paused(index, change, **asked):
    """Search; while the filter is computed, another thread makes a change."""
    changes = [change]

    def accepted(value):
        while changes:
            thread = threading.Thread(target=changes.pop())
            thread.start()
            thread.join()
        return True

    return index.search(filter={"metadata": {"year": accepted}}, **asked)


@pytest.mark.parametrize(
    ("change", "asked"), [*((one, "words") for one in CHANGES), *(("add", one) for one in ASKED)]
)
def test_a_change_during_a_search(change, asked, folder):
    with SemanticIndex.load(folder, write=True) as index:
        before = index.search(**ASKED[asked])
        during = paused(index, lambda: CHANGES[change](index), **ASKED[asked])
        gone = {"remove": {"item0", "item1"}, "replace": {"item0"}}.get(change, set())
        kept = [hit for hit in before if hit.id not in gone]
        assert [(hit.id, hit.score) for hit in during] == [(hit.id, hit.score) for hit in kept]


def test_a_refresh_during_a_search(folder):
    with SemanticIndex.load(folder, write=True) as writer, SemanticIndex.load(folder) as reader:
        before = reader.search("chess player")

        def change():
            writer.add(["chess player"], [["game"]], ["new"]).save()
            assert reader.refresh()

        assert paused(reader, change, query="chess player") == before
        assert "new" in {hit.id for hit in reader.search("chess player")}


def test_an_item_replaced_during_a_search_for_more_like_it(folder):
    with SemanticIndex.load(folder, write=True) as index:
        found = paused(index, lambda: CHANGES["replace"](index), items="item0")
        assert found == index.search(items="item0")
        with pytest.raises(InvalidInput, match="no item 'item0'"):
            paused(index, lambda: CHANGES["remove"](index), items="item0")


def test_lists_and_taggers_stay_with_their_items(folder):
    with SemanticIndex.load(folder, write=True) as index:
        listed, store, tagger = index.browse("chess"), index.store, index.tagger
        ids, hits = listed.ids, listed.page()
        index.add(["chess"], [["game"]], ["new"]).save()
        assert (listed.ids, listed.page()) == (ids, hits)
        assert "new" not in store.ids()
        assert index.tagger is not tagger
        with pytest.raises(Mismatch, match="have changed since this store was read"):
            index.add(["a"]) and store.remove(["item0"], By())
        assert "item0" in index


def test_the_tagger_of_items_that_have_changed_since(folder):
    with SemanticIndex.load(folder, write=True) as index:
        model, store, before = index.model, index.store, index.tagger
        index.relabel("item7", ["one more"])
        after = index.tagger
        assert index._tagger(model, store).labels == before.labels
        assert after.labels == (*before.labels, "one more")
        assert index.tagger is after


def test_threads_read_while_others_change(folder):
    ways = [
        lambda index: index.search("chess player", k=3),
        lambda index: index.tag(items="item5"),
        lambda index: index.explain("chess", "item5"),
        lambda index: index.browse("chess").page(),
        lambda index: index.items(),
        lambda index: index.unknown_words("ches zyzzyva"),
    ]
    done = threading.Event()

    def read(index, way):
        while not done.is_set():
            assert way(index) is not None

    with (
        SemanticIndex.load(folder, write=True) as writer,
        SemanticIndex.load(folder) as reader,
        ThreadPoolExecutor(2 + len(ways)) as pool,
    ):
        reading = [pool.submit(read, writer, way) for way in ways]
        reading += [pool.submit(read, reader, way) for way in ways[:2]]
        try:
            for n in range(4):
                writer.add([f"chess zyzzyva{n}"], [["game"]], [f"new{n % 2}"], replace=True)
                writer.relabel("item7", [f"label{n}"])
                reader.refresh()
                if n % 2:
                    writer.save()
        finally:
            done.set()
        for one in reading:
            one.result()


def test_two_reviews_of_one_index_number_their_decisions(folder):
    with SemanticIndex.load(folder, write=True) as index:
        one, other = Review(index), Review(index)
        assert one.feedback("item0", ["new"]).number == 1
        assert other.feedback("item0", [], ["new"]).number == 2
        with pytest.raises(InvalidInput, match="changed since, by 2"):
            index.undo(1)
        assert [made.number for made in index.history()] == [2, 1]


def test_an_index_in_memory_that_is_fitted_again(folder):
    index = made(12)
    review = Review(index)
    review.feedback("item0", ["new"])
    texts = [item.text for item in index.items()]
    index.fit(texts, [item.labels for item in index.items()])
    assert index.history() == []
