"""Stores that read items when they are needed: the same answers, from fewer items."""

import sqlite3

import pytest
from _support.stored import answers, generation, made

from labelspan import SemanticIndex
from labelspan.errors import InvalidFile, InvalidInput
from labelspan.index import items as items_module


@pytest.fixture
def folder(tmp_path):
    made().save(tmp_path / "i")
    return tmp_path / "i"


@pytest.fixture
def rows_read(monkeypatch):
    """Numbers of the rows that were read."""
    found = []
    parse = items_module._parse_row

    def counting(values):
        found.append(values[0])
        return parse(values)

    monkeypatch.setattr(items_module, "_parse_row", counting)
    return found


def changed(index):
    index.add(["dice card", "radio\nnew waves"], [["board game"], None], ["x", "y"])
    index.remove(["item2", "x"]).add(["volume"], [["sound"]], ids=["item3"], replace=True)
    index.relabel(["item4", "y"], [["late label"], ["late label"]])
    return index


def asked(index):
    filters = [None, {"labels": "game"}, {"without": "sound"}, {"any_labels": ["image", "sound"]}]
    queries = ["chess player", "item5", "late label", '"a" -radio', "pla*", "game"]
    return [index.search(queries, 5, one) for one in filters]


def test_answers_are_the_same(folder):
    for change in (lambda index: index, changed, lambda index: changed(index).save()):
        with SemanticIndex.load(folder, write=True) as writer:
            if "y" in writer:
                writer.remove("y").add(["dice"], ids=["item2"])
            change(writer)
        eager = SemanticIndex.load(folder)
        for verify in (True, False):
            with SemanticIndex.load(folder, lazy=True, verify=verify) as lazy:
                assert asked(lazy) == asked(eager)
                assert lazy.labels == eager.labels
                assert len(lazy) == len(eager)
                for name in ("item0", "item2", "item3", "x", "y", 3, "\ud800"):
                    assert (name in lazy) == (name in eager)
                assert lazy._store._catalogue is None
                assert lazy.search("card", 5, {"metadata": {"shelf": "a"}}) == eager.search(
                    "card", 5, {"metadata": {"shelf": "a"}}
                )
                assert lazy._store._catalogue is not None
                assert answers(lazy) == answers(eager)
                assert asked(lazy) == asked(eager)


def test_a_search_reads_what_it_gives(folder, rows_read):
    with SemanticIndex.load(folder, lazy=True) as index:
        assert rows_read == []
        hits = index.search("chess player", 3, {"labels": "game"})
        assert index.labels["game"] > 3
        assert "item7" in index
        assert len(rows_read) == len(hits) == 3
        index.explain("chess player", hits[0].id)
        assert len(rows_read) == 4
    with SemanticIndex.load(folder, write=True) as writer:
        changed(writer)
    rows_read.clear()
    with SemanticIndex.load(folder, lazy=True):
        assert rows_read == [4, 25, 26]


def test_missing_names_raise_the_same_errors(folder):
    eager = SemanticIndex.load(folder)
    for ask in (
        lambda index: index.item("item99"),
        lambda index: index.search("chess", filter={"labels": "gane"}),
        lambda index: index.search("chess", filter={"without": ["gane"]}),
        lambda index: index.search(items="nothing"),
        lambda index: index.search("chess", filter={"metadata": {"size": 3}}),
    ):
        with pytest.raises(InvalidInput) as expected:
            ask(eager)
        with (
            SemanticIndex.load(folder, lazy=True) as lazy,
            pytest.raises(InvalidInput) as found,
        ):
            ask(lazy)
        assert str(found.value) == str(expected.value)


def test_what_a_writer_does_meanwhile(folder):
    with (
        SemanticIndex.load(folder, lazy=True) as reader,
        SemanticIndex.load(folder, write=True) as writer,
    ):
        writer.add(["chess"], ids=["new"]).remove("item0")
        assert "new" not in reader
        assert not {"new", "item0"} & {hit.id for hit in reader.search("chess", 30)}
        # The items are first read here: without what was added, or removed.
        assert set(reader.ids) == set(writer.ids) - {"new"}
        assert not {"new", "item0"} & {hit.id for hit in reader.search("chess", 30)}
        assert len(reader) == 23
        assert reader.stale()
        assert reader.refresh()
        assert answers(reader) == answers(writer)


def test_changes_through_a_lazy_writer(folder):
    with SemanticIndex.load(folder, write=True, lazy=True) as lazy:
        changed(lazy)
        assert lazy._store._catalogue is None
        with pytest.raises(InvalidInput, match="already in the index"):
            lazy.add(["a"], ids=["item0"])
        assert answers(SemanticIndex.load(folder)) == answers(lazy)


def test_labels_are_words_that_change(folder):
    def first(index):
        return [hit.id for hit in index.search("zebra", 5, balance=0)]

    with SemanticIndex.load(folder, write=True) as index:
        assert first(index) == []
        index.relabel(["item3", "item8"], [["zebra stripes"], ["zebra"]])
        index.add(["stripes"], [["Zebras"]], ["new"])
        found = first(index)
        assert sorted(found) == ["item3", "item8", "new"]
        assert first(SemanticIndex.load(folder)) == found
        assert first(SemanticIndex.load(folder, lazy=True)) == found
        index.relabel("item3", ["game"]).save()
        assert sorted(first(index)) == ["item8", "new"]
        index.relabel("item8", None)
        index.save()
    for lazy in (True, False):
        assert first(SemanticIndex.load(folder, lazy=lazy)) == ["new"]


@pytest.mark.parametrize(
    "change", ["text = 'other'", "labels = '[]'", "metadata = '{}'", "labels = '3'"]
)
def test_an_item_that_was_changed_is_noticed_when_it_is_read(folder, change):
    with sqlite3.connect(generation(folder) / "items.sqlite") as database:
        database.execute(f"UPDATE items SET {change} WHERE row = 3")
    database.close()
    with SemanticIndex.load(folder, lazy=True) as index:
        with pytest.raises(InvalidFile, match=r"items\.sqlite"):
            index.search("item3")
        with pytest.raises(InvalidFile, match=r"items\.sqlite"):
            index.items()


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM items WHERE row = 3",
        "UPDATE about SET value = value + 1 WHERE name = 'count'",
        "UPDATE items SET row = 99 WHERE row = 3",
        "UPDATE items SET row = -1 WHERE row = 3",
        "UPDATE items SET vector = zeroblob(20) WHERE row = 3",
        "UPDATE items SET row = 99, vector = zeroblob(20) WHERE row = 3",
        "UPDATE items SET row = 24, vector = zeroblob(7) WHERE row = 3",
        "UPDATE items SET row = 24, vector = x'' WHERE row = 3",
        "DROP INDEX changed",
    ],
)
def test_rows_that_are_not_those_of_the_arrays(folder, change):
    with sqlite3.connect(generation(folder) / "items.sqlite") as database:
        database.execute(change)
    database.close()
    for verify in (True, False):
        if "count" in change and not verify:
            continue

        def read(verify=verify):
            with SemanticIndex.load(folder, lazy=True, verify=verify) as index:
                return index.ids

        with pytest.raises(InvalidFile, match=r"items\.sqlite"):
            read()
