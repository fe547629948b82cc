"""The log of a killed writer: merged after each change, and missed if it is damaged."""

import os
import random
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from _support.forks import forked
from _support.stored import generation

from labelspan import SemanticIndex
from labelspan.curation import LabelEdits, Teacher
from labelspan.errors import InvalidFile
from labelspan.index.database import read_history

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals that kill")

# Changes of every kind by a process that is killed right after the last of them; with "reader",
# somebody reads all the time, so that the log is not merged.
WRITER = """
import os, signal, sqlite3, sys
from pathlib import Path
from labelspan import SemanticIndex
from labelspan.curation import Review, Teacher

folder, reading = Path(sys.argv[1]), sys.argv[2] == "reader"
index = SemanticIndex.load(folder, write=True)
if reading:
    (items,) = folder.glob("generation-*/items.sqlite")
    other = sqlite3.connect(items)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM items").fetchone()
for n in range(5):
    index.add(["chess " * 200], [["game"]], [f"new{n}"])
index.relabel("item1", ["late"]).remove("item2")
Review(index).feedback("item3", ["late"])
Teacher(index, "chess", items=["item4"])
print("done", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def written(folder, how):
    """Let a writer change an index and be killed; return the size of the log that it leaves."""
    done = forked(WRITER, folder, how)
    assert done.stdout == "done\n", done.stderr
    return (generation(folder) / "items.sqlite-wal").stat().st_size


def state(folder):
    with SemanticIndex.load(folder) as index:
        items = {item.id: item.labels for item in index.items()}
        answers = [one for one in LabelEdits(index).decisions() if one.action == "feedback"]
        return items, index.labels, answers, Teacher.lessons(index)


def check_all_there(folder):
    items, labels, decisions, lessons = state(folder)
    assert {f"new{n}" for n in range(5)} < items.keys()
    assert "item2" not in items
    assert items["item1"] == ("late",)
    assert labels["late"] == 2
    assert len(decisions) == len(lessons) == 1


def test_a_log_is_merged_after_each_change(folder):
    assert written(folder, "single") == 0
    (generation(folder) / "items.sqlite-wal").unlink()
    check_all_there(folder)
    assert not (generation(folder) / "log.json").exists()


def test_an_intact_log_is_read_and_merged_by_the_next_writer(folder):
    assert written(folder, "reader") > 0
    check_all_there(folder)
    assert len(read_history(folder).groups) == 9
    with SemanticIndex.load(folder, write=True) as index:
        index.remove("new0").add(["chess"], ids=["new0"])
        assert (generation(folder) / "items.sqlite-wal").stat().st_size == 0
        assert not (generation(folder) / "log.json").exists()
    check_all_there(folder)


def damaged(log, rng):
    """Yield a log with one bit changed, cut, filled with zeros, and gone."""
    content = log.read_bytes()
    for _ in range(60):
        wrong = bytearray(content)
        wrong[rng.randrange(len(wrong))] ^= 1 << rng.randrange(8)
        yield bytes(wrong)
    for _ in range(20):
        yield content[: rng.randrange(len(content))]
    yield bytes(len(content))
    yield None


def test_a_damaged_log_is_reported(folder, tmp_path):
    assert written(folder, "reader") > 0
    name = "items.sqlite-wal"
    refused = 0
    for content in damaged(generation(folder) / name, random.Random(0)):
        copy = shutil.copytree(folder, tmp_path / "copy")
        log = generation(copy) / name
        log.unlink() if content is None else log.write_bytes(content)
        (generation(copy) / "items.sqlite-shm").unlink(missing_ok=True)
        try:
            # A bit in a frame that a later one replaces does no harm.
            check_all_there(copy)
        except InvalidFile:
            refused += 1
            with pytest.raises(InvalidFile):
                SemanticIndex.load(copy, write=True)
        shutil.rmtree(copy)
    assert refused > 40


def test_the_way_out_is_said(folder):
    written(folder, "reader")
    (generation(folder) / "items.sqlite-wal").unlink()
    (generation(folder) / "items.sqlite-shm").unlink(missing_ok=True)
    for write in (False, True):
        with pytest.raises(InvalidFile, match=r"changes are missing.*or remove log\.json to do"):
            SemanticIndex.load(folder, write=write)
    note = generation(folder) / "log.json"
    for content in (b"", b"[1]", b"{}", b'["a", 1]', b"[1, 2, 3]"):
        note.write_bytes(content)
        with pytest.raises(InvalidFile):
            SemanticIndex.load(folder)
    note.unlink()
    assert "new0" not in state(folder)[0]


def test_labels_of_removed_rows_are_refused(folder):
    """They would be counted without an item."""
    with SemanticIndex.load(folder, write=True) as index:
        index.remove("item3")
        table = index.store.labels.changed({3: ("game",)})
        with index.store._database.change() as cursor:
            index.store._database.put_labels(cursor, table, [3])
    with pytest.raises(InvalidFile, match="do not fit the items"):
        SemanticIndex.load(folder)


def test_readers_are_not_held_up(folder):
    """A change does not wait for a reader who reads for long."""
    with (
        SemanticIndex.load(folder, write=True) as index,
        closing(sqlite3.connect(generation(folder) / "items.sqlite")) as other,
    ):
        rows = other.execute("SELECT * FROM items UNION ALL SELECT * FROM items ORDER BY text")
        first = next(rows)
        index.relabel("item0", ["other"])
        assert (generation(folder) / "log.json").exists()
        assert [first, *rows]
        index.relabel("item1", ["other"])
        assert not (generation(folder) / "log.json").exists()
    assert os.listdir(folder)


# One change of each door by a process that kills itself before the n-th statement of the database.
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_history import doors, state
from labelspan import MLSI, SemanticIndex
from _support.hostile import THOROUGH
from _support.topics import corpus

root = Path(sys.argv[2])
texts, labels, ids, metadata = corpus(24)
SemanticIndex(estimator=MLSI(4)).fit(texts, labels, ids, metadata=metadata).save(root / "now")


def changed(door, step):
    "Make the change in a process of its own; return whether it was killed."
    number = os.fork()
    if number == 0:
        code, left = 1, step
        try:
            with SemanticIndex.load(root / "now", write=True) as index:
                change = list(doors(index))[door][1]

                def count(statement):
                    nonlocal left
                    left -= 1
                    if not left:
                        os.kill(os.getpid(), signal.SIGKILL)

                index.store._database._connection.set_trace_callback(count)
                change()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(number, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, (door, step, status)
    return os.WIFSIGNALED(status)


def told(folder):
    with SemanticIndex.load(folder, verify=True) as index:
        assert len(index.history(100)) == index.store.number
        return state(index), index.store.number


kills = whole = 0
with SemanticIndex.load(root / "now") as index:
    count = len(list(doors(index)))
for door in range(count):
    shutil.copytree(root / "now", root / "before")
    before, number = told(root / "before")
    step = 1
    while changed(door, step):
        kills += 1
        found, last = told(root / "now")
        assert (found == before) == (last == number), (door, step)
        if last > number:
            # It is there as a whole, and is undone as one.
            whole += 1
            with SemanticIndex.load(root / "now", write=True) as index:
                for one in range(last, number, -1):
                    index.undo(one)
                assert state(index) == before, (door, step)
        shutil.rmtree(root / "now")
        shutil.copytree(root / "before", root / "now")
        step += 1 if THOROUGH else 9
    assert told(root / "now")[1] > number
    shutil.rmtree(root / "before")
print(kills, whole)
"""


def test_a_change_by_any_door_is_whole_or_not_there(tmp_path):
    done = forked(KILLED, Path(__file__).parent, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    kills, whole = map(int, done.stdout.split())
    assert kills > 30
    assert 0 < whole < kills
