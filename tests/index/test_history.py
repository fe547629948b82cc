"""The log: every door appends to it, and undoing puts back what was not changed since."""

import gc
import json
import random
import shutil
import sqlite3
import time
import weakref
from contextlib import closing
from dataclasses import astuple

import numpy as np
import pytest
from _support.commands import run
from _support.topics import corpus

from labelspan import MLSI, SemanticIndex
from labelspan.corpus import Concept, LabelVocabulary
from labelspan.curation import LabelEdits, MetadataEdits, Review, SavedSearches, Teacher
from labelspan.errors import InvalidFile, InvalidInput, Mismatch
from labelspan.index.database import _OLDER, _hashed, read_history
from labelspan.index.history import By


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    texts, labels, ids, metadata = corpus(24)
    path = tmp_path_factory.mktemp("history") / "index"
    SemanticIndex(estimator=MLSI(4)).fit(texts, labels, ids, metadata=metadata).save(path)
    return path


@pytest.fixture
def index(original, tmp_path):
    path = shutil.copytree(original, tmp_path / "index")
    with SemanticIndex.load(path, write=True) as index:
        yield index


def state(index):
    """Everything that a change may change, by ids."""
    items = {item.id: (item.text, item.labels, item.metadata) for item in index.items()}
    lessons = {one.label: Teacher(index, one.label).answers() for one in Teacher.lessons(index)}
    verdicts = {
        (item, index.store.history.label_name(label)): answer
        for (item, label), answer in index.store.history.verdicts().items()
    }
    known = index.vocabulary
    vocabulary = None if known is None else known.to_json()
    return items, index.labels, lessons, verdicts, SavedSearches(index).all(), vocabulary


def doors(index):
    """Changes by each door, one after the other."""
    edits = LabelEdits(index)
    first = index.item("item0")
    yield "add", lambda: index.add(["a chess club"], [["game", "fresh"]], ["new"], who="anna")
    yield (
        "add",
        lambda: index.add(
            ["another text", "one more"],
            [["sound"], None],
            ["item0", "late"],
            metadata=[{"year": 1, "by": "x"}, {}],
            replace=True,
        ),
    )
    yield "add", lambda: index.add([first.text], [["game"]], ["item0"], replace=True)
    yield "relabel", lambda: index.relabel(["item1", "item2"], [["rare"], None])
    yield "remove", lambda: index.remove(["item3", "item4"], who="ben")
    yield "edit", lambda: edits.apply(edits.plan_edit(["item5", "item2"], "x", ()), create=True)
    yield "rename", lambda: edits.apply(edits.plan_replace("image", "photo"), create=True)
    yield "merge", lambda: edits.apply(edits.plan_replace(["x", "rare"], "sound"))
    yield "drop", lambda: edits.apply(edits.plan_replace("sound", None))
    yield "feedback", lambda: edits.feedback("item6", ["fresh"], ["photo"], who="cleo")
    yield "review", lambda: Review(index).decide(Review(index).waiting()[:2], "accept")
    yield "answer", lambda: Teacher(index, "strategy", items=["item7"], within="game")
    yield "answer", lambda: Teacher(index, "strategy").answer("item8", "no")
    yield "answer", lambda: Teacher(index, "strategy", items=["item9"])
    yield "lesson", lambda: Teacher(index, "strategy").apply(Teacher(index, "strategy").plan())
    yield "metadata", lambda: merge_values(index)
    yield "search", lambda: SavedSearches(index).save("mine", "label=game&without=photo")
    vocabulary = LabelVocabulary({"1": Concept("media"), "2": Concept("photo", (), ("media",))})
    yield "vocabulary", lambda: index.use_vocabulary(vocabulary)


def merge_values(index):
    value = next(item.metadata["shelf"] for item in index.items() if "shelf" in item.metadata)
    return MetadataEdits(index).replace("shelf", {value: "one value"})


def test_every_door_appends_and_everything_is_undone(index):
    states, numbers = [state(index)], []
    for n, (action, change) in enumerate(doors(index), 1):
        # A lesson that is continued has two changes.
        before = index.store.number
        change()
        (entry, *_) = index.history(1)
        assert entry.number > before, action
        assert entry.action == action
        assert index.changes(entry.number), action
        assert entry.said.endswith("."), entry
        numbers.append(entry.number)
        states.append(state(index))
        assert states[-1] != states[-2], (n, action)
    every = [entry.number for entry in reversed(index.history(100))]
    assert every == list(range(1, every[-1] + 1))
    assert index.history(100)[-1].who == "anna"
    with SemanticIndex.load(index.path, verify=True) as read:
        assert state(read) == states[-1]
        assert read.history(100) == index.history(100)
    # Backwards, then forwards again by undoing the undos.
    undos = []
    for number in reversed(every):
        made = index.undo(number)
        assert made.restored
        assert not made.kept
        assert index.history(1)[0].said == f"Undo: {made.entry.said}"
        undos.append(made.number)
        if number in numbers:
            assert state(index) == states[numbers.index(number)], made.entry
    assert state(index) == states[0]
    assert LabelEdits(index).changes() == {}
    for number in reversed(undos):
        assert index.undo(number).restored
    assert state(index) == states[-1]
    assert index.history(1)[0].said.startswith("Redo: ")
    with SemanticIndex.load(index.path, verify=True) as read:
        assert state(read) == states[-1]


@pytest.mark.parametrize("seed", range(3))
def test_independent_changes_are_undone_in_any_order(index, seed):
    first = state(index)
    edits = LabelEdits(index)
    edits.apply(edits.plan_edit(["item0", "item1"], "one"), create=True)
    edits.apply(edits.plan_edit(["item0", "item1"], "two"), create=True)
    index.relabel("item5", None)
    index.remove("item2").add(["new text"], [["one"]], ["item3"], replace=True)
    edits.apply(edits.plan_replace("image", "photo"), create=True)
    numbers = [entry.number for entry in index.history(50)]
    random.Random(seed).shuffle(numbers)
    for number in numbers:
        made = index.undo(number)
        assert (made.entry.number, made.kept) == (number, {})
    assert state(index) == first


def test_an_undo_says_what_stays_and_never_done_for_nothing(index):
    edits = LabelEdits(index)
    ids = ["item0", "item1", "item2"]
    made = edits.apply(edits.plan_edit(ids, "x"), create=True, who="anna")
    index.relabel("item1", [label for label in index.item("item1").labels if label != "x"])
    index.remove("item2")
    undone = index.undo(made.number, who="ben")
    assert (undone.restored, undone.kept) == (1, {2: 1, 3: 1})
    assert undone.said == (
        "Undone: Add x to 3 items. 1 is as before; 2 were changed since by changes 2, 3 and stay."
    )
    assert index.history(1)[0].who == "ben"
    assert [entry.undone for entry in index.history(10)] == [False, False, False, True]
    for number, words in ((made.number, "it was undone before, by 2, 3, 4"), (99, "not in the")):
        with pytest.raises(InvalidInput, match=words):
            index.undo(number)
    before = index.store.number
    with pytest.raises(InvalidInput, match="what it made was changed since, by 5"):
        index.remove("item1").undo(2)
    assert index.store.number == before + 1
    while any(not one.undone and not one.undoes for one in index.history(50)):
        index.undo()
    with pytest.raises(InvalidInput, match="nothing to undo"):
        index.undo()
    with (
        SemanticIndex.load(index.path) as reader,
        pytest.raises(Mismatch, match="write=True"),
    ):
        reader.undo(1)


def test_values_of_an_item_that_is_gone_are_not_put_back(index):
    """It has no value now, as after the change, and none can be given to it."""
    item = next(one for one in index.items() if "shelf" in one.metadata)
    index.add([item.text], [item.labels], [item.id], replace=True).remove(item.id)
    before = index.store.number
    with pytest.raises(InvalidInput, match="changed since, by 2"):
        index.undo(1)
    assert index.store.number == before
    index.undo(2)
    assert index.undo(1).restored == 1
    assert index.item(item.id) == item


def test_a_new_name_breaks_nothing(index):
    edits, searches = LabelEdits(index), SavedSearches(index)
    searches.save("mine", "q=chess&label=image&without=game*")
    teacher = Teacher(index, "image", items=["item0"])
    edits.feedback("item1", rejected=["image"])
    before = index.labels["image"]
    predicted = {tag.label: tag.probability for tag in index.tag("crop a photo", 9)}
    edits.apply(edits.plan_replace("image", "photo"), create=True)
    assert (index.labels["photo"], "image" in index.labels) == (before, False)
    now = {tag.label: tag.probability for tag in index.tag("crop a photo", 9)}
    assert now.pop("photo") == predicted.pop("image")
    assert now == predicted
    assert searches.all() == {"mine": "q=chess&label=photo&without=game%2A"}
    assert [one.label for one in Teacher.lessons(index)] == ["photo"]
    assert teacher.label == "photo"
    assert teacher.answers()["item0"] == "yes"
    assert teacher.plan().new_labels == ()
    assert "photo" not in {tag.label for tag in index.tag(items="item1", k=20)}
    edits.apply(edits.plan_replace(["photo"], "sound"))
    assert searches.all() == {"mine": "q=chess&label=sound&without=game%2A"}
    index.undo()
    index.undo()
    assert index.labels["image"] == before
    assert searches.all() == {"mine": "q=chess&label=image&without=game%2A"}
    # The name may be taken meanwhile.
    made = edits.apply(edits.plan_replace("image", "photo"), create=True)
    index.relabel("item0", ["image"])
    with pytest.raises(InvalidInput, match="changed since"):
        index.undo(made.number)


def test_labels_that_exchanged_their_names_get_them_back(index):
    edits = LabelEdits(index)
    first = edits.apply(edits.plan_replace("image", "photo"), create=True)
    undone = index.undo(first.number)
    index.relabel("item0", ["photo"])
    index.relabel("item0", [])
    # Nothing has the name "photo", which is that of another label now.
    redone = index.undo(undone.number)
    index.relabel("item0", ["image"])
    labels = index.labels
    assert index.undo(redone.number).kept == {}
    assert index.labels["image"] == labels["photo"]
    assert index.undo().entry.action == "relabel"


def test_the_corrected_file_is_what_differs_from_what_was_read(index):
    """The rows of the review, each of which contradicted the index."""
    edits = LabelEdits(index)
    read = {item.id: set(item.labels or ()) for item in index.items()}
    edits.apply(edits.plan_edit("item1", "wrongone"), create=True)
    index.add([index.item("item1").text], [["game"]], ["item1"], replace=True)
    own = index.item("item2").labels
    edits.apply(edits.plan_edit("item2", (), own[0]))
    index.relabel("item2", own)
    edits.apply(edits.plan_edit("item3", "x"), create=True)
    text = index.item("item3").text
    index.remove("item3").add([text], [["y"]], ["item3"])
    index.remove("item4")
    index.add(["new"], [["z"]], ["new"])
    edits.apply(edits.plan_replace("image", "photo"), create=True)
    expected = {}
    for item in index.items():
        now = set(item.labels or ())
        if item.id in read and now != read[item.id]:
            gone = dict.fromkeys(read[item.id] - now, False)
            expected[item.id] = gone | dict.fromkeys(now - read[item.id], True)
    assert edits.changes() == expected
    assert "item2" not in expected or "photo" in expected["item2"]
    assert edits.changes()["item3"]["y"]
    for entry in index.history(50):
        index.undo(entry.number)
    assert edits.changes() == {}


def test_values_that_differ_and_items_that_went_are_said(index):
    edits = LabelEdits(index)
    (one, two, *_) = [item for item in index.items() if "shelf" in item.metadata]
    value = one.metadata["shelf"]
    MetadataEdits(index).replace("shelf", {value: "a new one"})
    same = {item.id for item in index.items() if item.metadata.get("shelf") == "a new one"}
    assert edits.values() == {name: {"shelf": (value, "a new one")} for name in same}
    index.remove([one.id, two.id])
    index.add([one.text], [one.labels], [one.id], metadata=[one.metadata])
    assert one.id not in edits.values()
    MetadataEdits(index).replace("shelf", {value: "another"})
    assert edits.values()[one.id] == {"shelf": (value, "another")}
    assert edits.went() == ([two.id], [one.id])
    for entry in index.history(50):
        if not entry.undone:
            index.undo(entry.number)
    assert (edits.values(), edits.went()[0]) == ({}, [])


def test_a_rejected_label_is_not_predicted_in_the_index(index):
    (first, *_) = index.tag(items="item0", k=3)
    assert len(index.tag(items="item0", k=3)) == 3
    LabelEdits(index).feedback("item0", rejected=[first.label])
    found = index.tag(items=["item0", "item1"], k=3)
    assert first.label not in {tag.label for tag in found[0]}
    # Another takes its place.
    assert len(found[0]) == min(3, len(index.labels) - 1)
    with SemanticIndex.load(index.path) as read:
        assert astuple(read.tag(items="item0")[0]) == pytest.approx(astuple(found[0][0]), abs=1e-5)
    # An answer of a lesson says the same.
    Teacher(index, found[1][0].label, items=["item2"]).answer("item1", "no")
    assert found[1][0].label not in {tag.label for tag in index.tag(items="item1")}


def test_notes_change_no_revision_and_are_seen_by_readers(index):
    with SemanticIndex.load(index.path) as reader:
        revision = index.store.revision
        LabelEdits(index).feedback("item0", index.item("item0").labels)
        Teacher(index, "strategy", items=["item1"])
        assert index.store.revision == revision
        assert not reader.stale()
        assert [one.label for one in Teacher.lessons(reader)] == ["strategy"]
        assert [one.answer for one in LabelEdits(reader).decisions()][-1] == "yes"


def test_the_history_stays_when_an_index_is_saved_or_fitted_again(index):
    edits, path = LabelEdits(index), index.path
    edits.feedback("item0", rejected=["game"], who="anna")
    edits.apply(edits.plan_edit("item1", "x"), create=True)
    index.save()
    assert len(index.history()) == 2
    decided = [(one.item, one.label, one.answer) for one in edits.decisions()]
    texts, labels, ids, _ = corpus(24)
    index.close()
    SemanticIndex(estimator=MLSI(3)).fit(texts[::-1], labels[::-1], ids[::-1]).save(path)
    with SemanticIndex.load(path, write=True) as again:
        assert [one.action for one in again.history()] == ["read", "edit", "feedback"]
        made = LabelEdits(again).decisions()
        assert [(one.item, one.label, one.answer) for one in made if one.answer] == decided[:1]
        # What was read again has no changes.
        assert LabelEdits(again).changes() == {}
        again.undo(1)
        assert LabelEdits(again).decisions() == []


def test_an_item_that_was_removed_comes_back_with_its_vector(tmp_path):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((30, 6))
    labels = [["a"] if row[0] > 0 else ["b"] for row in vectors]
    texts = ["same"] * 30
    SemanticIndex(estimator=MLSI(3)).fit(texts, labels, vectors=vectors).save(tmp_path / "i")
    with SemanticIndex.load(tmp_path / "i", write=True) as index:
        before = index.vectors(["3", "4"])
        index.add(["same"], [["a"]], ["4"], vectors=-vectors[4:5], replace=True)
        index.remove("3")
        index.undo(1)
        index.undo(2)
        np.testing.assert_array_equal(index.vectors(["3", "4"]), before)


def test_a_changed_log_is_damage(index):
    index.relabel("item0", ["x"])
    path = index.path
    index.close()
    (file,) = path.glob("generation-*/items.sqlite")
    for table, what in (("history", "an entry of the history"), ("changes", "a change of the")):
        with closing(sqlite3.connect(file)) as database:
            column = "who" if table == "history" else "item"
            ((before,),) = database.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchall()
            database.execute(f"UPDATE {table} SET {column} = 'other' WHERE number = 1")
            database.commit()
            with pytest.raises(InvalidFile, match=what):
                SemanticIndex.load(path)
            database.execute(f"UPDATE {table} SET {column} = ? WHERE number = 1", [before])
            database.commit()


def older(path, decisions, events):
    """Make an index one of format 6, with some decisions and events."""
    (file,) = path.glob("generation-*/items.sqlite")
    with closing(sqlite3.connect(file)) as database:
        database.execute("DROP TABLE history")
        database.execute("DROP TABLE changes")
        for table in (_OLDER[4], _OLDER[6]):
            database.execute(table)
        for name, rows in (("decisions", decisions), ("events", events)):
            for row in rows:
                marks = ", ".join("?" * (len(row) + 1))
                database.execute(f"INSERT INTO {name} VALUES ({marks})", _hashed(row))
        database.commit()
    manifest = path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"version": 7', '"version": 6', 1))


def test_decisions_answers_and_searches_of_an_older_index_are_taken_along(index):
    path = index.path
    index.relabel("item0", ["sound"])
    index.close()
    day = "2026-01-01T00:00:0{}Z".format
    older(
        path,
        [
            (1, day(1), "item0", "game", "wrong", "accept", 1, 0, "anna", "review"),
            (2, day(2), "item1", "image", "missing", "reject", 0, 0, "", "feedback"),
            (3, day(3), "item2", "image", "missing", "accept", 0, 1, "", "edit"),
        ],
        [
            (
                "lesson chess",
                1,
                day(4),
                "ben",
                "start",
                json.dumps({"query": "q", "within": "game"}),
            ),
            ("lesson chess", 2, day(5), "ben", "yes", "item3"),
            ("lesson chess", 3, day(6), "ben", "no", "item4"),
            ("lesson chess", 4, day(7), "ben", "undo", "3"),
            ("searches", 1, day(8), "", "save", json.dumps(["mine", "label=game"])),
        ],
    )
    past = read_history(path)
    assert [by.action for _, by, _ in past.groups] == [
        *("review", "feedback", "answer", "answer", "search")
    ]
    done = run("fit", path, "--dimensions", 3)
    assert done.exit_code == 0, done.output
    with SemanticIndex.load(path, write=True, verify=True) as again:
        assert SavedSearches(again).all() == {"mine": "label=game"}
        assert Teacher(again, "chess").answers() == {"item3": "yes"}
        assert Teacher(again, "chess").within == "game"
        assert LabelEdits(again).changes() == {"item0": {"game": False}}
        assert {(one.item, one.label, one.answer) for one in LabelEdits(again).decisions()} == {
            ("item0", "game", "no"),
            ("item1", "image", "no"),
            ("item3", "chess", "yes"),
        }
        again.undo(1)
        assert again.item("item0").labels == ("game", "sound")


def test_an_entry_costs_little(index):
    """An entry of a change of one item, and one of ten thousand."""
    database = index.store._database

    def seconds(count):
        with database.change(revised=False) as cursor:
            begun = time.thread_time()
            rows = ((f"item{n}", "label 1", "0", "1") for n in range(count))
            database.log(cursor, By("anna"), rows)
            return time.thread_time() - begun

    assert min(seconds(1) for _ in range(20)) < 0.001
    assert min(seconds(10_000) for _ in range(3)) < 1.0


def test_an_undo_that_puts_fields_into_another_order_is_undone(index):
    """What came back is compared by its values, in whichever order they are."""
    first = state(index)
    index.remove("item5")
    back = index.undo()
    made = index.add(["chess"], [[]], ["item5"], replace=True).history(1)[0]
    index.undo(made.number)
    assert not index.undo(back.number).kept
    assert "item5" not in index
    index.undo()
    assert state(index) == first


def test_what_is_computed_from_items_stays_when_labels_change(index):
    """And no result keeps a store that was replaced."""
    index.browse("chess").label_counts()
    fields, old = index.store.fields(), weakref.ref(index.store)
    gc.disable()
    try:
        index.relabel("item0", ["other"])
        assert index.store.fields() is fields
        assert old() is None
        index.add(["chess"], [["game"]], ["item0"], metadata=[{"new": 1}], replace=True)
        assert "new" in index.store.fields()
    finally:
        gc.enable()
