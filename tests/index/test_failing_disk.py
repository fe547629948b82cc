"""Saves that fail or are killed: the old index or the new, never between."""

import os
import sys
from pathlib import Path

import pytest
from _support.forks import forked
from _support.stored import answers, made

from labelspan import SemanticIndex
from labelspan.errors import InvalidFile, InvalidInput
from labelspan.index import store as items_module


def test_a_folder_with_other_files_is_not_changed(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(
        InvalidInput, match=r"holds other files, for example 'thesis\.tex'; give a new folder"
    ):
        made().save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(InvalidFile, match="cannot be written"):
        made().save(tmp_path / "thesis.tex")
    with pytest.raises(InvalidInput, match="has no folder yet; give one"):
        made().save()


@pytest.mark.parametrize("failing", ["vectors", "tagger.arrays", "items.sqlite", "manifest.json"])
def test_a_save_that_fails_leaves_the_old_index(folder, failing, monkeypatch):
    before = answers(SemanticIndex.load(folder))
    bigger = made(40)
    if failing == "items.sqlite":
        real = items_module._connect

        def connect(where, *options):
            connection = real(where, *options)
            if "generation" in str(where):
                connection.execute("PRAGMA max_page_count = 2")
            return connection

        monkeypatch.setattr(items_module, "_connect", connect)
    else:
        real = os.fsync

        def fsync(handle):
            name = os.readlink(f"/proc/self/fd/{handle}")
            if failing in name and Path(name).is_file():
                raise OSError(28, "No space left on device")
            real(handle)

        if not Path("/proc/self/fd").is_dir():
            pytest.skip("needs /proc to tell files apart")
        monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(InvalidFile, match=r"cannot be written: .*(No space left|full)"):
        bigger.save(folder)
    monkeypatch.undo()
    assert answers(SemanticIndex.load(folder)) == before
    assert len(list(folder.glob("generation-*"))) == 1
    assert sorted(p.name for p in folder.iterdir() if p.is_file()) == ["lock", "manifest.json"]
    assert answers(SemanticIndex.load(bigger.save(folder) and folder)) == answers(bigger)


def test_at_every_step_of_a_save_the_old_index_is_there(folder, monkeypatch):
    before, bigger, steps = answers(SemanticIndex.load(folder)), made(40), []
    real = Path.replace

    def replace(self, target):
        steps.append(Path(target).name)
        assert answers(SemanticIndex.load(folder)) == before
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    bigger.save(folder)
    assert steps[-1] == "manifest.json"
    assert len(steps) == 6
    monkeypatch.undo()
    assert answers(SemanticIndex.load(folder)) == answers(bigger)


def test_an_add_without_room_leaves_the_index(folder):
    with SemanticIndex.load(folder, write=True) as index:
        before = answers(index)
        pages = index.store._database._connection.execute("PRAGMA page_count").fetchone()[0]
        index.store._database._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(InvalidFile, match="full; the index is as it was"):
            index.add(["chess " * 5000] * 3, ids=["a", "b", "c"])
        assert answers(index) == before
    assert answers(SemanticIndex.load(folder)) == before


LIMITED = """
import resource, signal, sys
from _support.stored import answers, made
from labelspan import SemanticIndex
from labelspan.errors import LabelspanError
folder = sys.argv[1]
# Closed, so that no file of a reader is left that a full disk would not have room for.
with SemanticIndex.load(folder) as index:
    before = answers(index)
bigger = made(200)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for limit in (100, 5_000, 20_000, 40_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        bigger.save(folder)
    except LabelspanError as error:
        assert "cannot be written" in str(error), error
    else:
        raise SystemExit(f"saved within {limit} bytes a file")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with SemanticIndex.load(folder) as index:
        assert answers(index) == before
print("intact")
"""

KILLED = """
import os, random, signal, sys, time
from _support.stored import made
from labelspan import SemanticIndex
from labelspan.errors import Locked
folder, rounds = sys.argv[1], int(sys.argv[2])
small, large = made(12), made(30)
small.save(folder)


def work(tell):
    n = 0
    while True:
        for base in (small, large):
            base.save(folder)
            os.write(tell, b".")
            with SemanticIndex.load(folder, write=True) as index:
                os.write(tell, b".")
                for _ in range(3):
                    n += 1
                    index.add(["chess", "photo", "radio"], ids=[f"{n}.{i}" for i in range(3)])
                    os.write(tell, b".")
                    if n % 2:
                        index.remove([f"{n}.{i}" for i in range(3)])
                index.save()
                os.write(tell, b".")


def hold(tell):
    with SemanticIndex.load(folder, write=True):
        os.write(tell, b".")
        time.sleep(60)


def start(task):
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            task(tell)
        finally:
            os._exit(1)
    return child, told


def kill(child):
    os.kill(child, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


child, told = start(hold)
os.read(told, 1)
try:
    SemanticIndex.load(folder, write=True)
    raise SystemExit("two writers")
except Locked:
    assert len(SemanticIndex.load(folder)) == 12
kill(child)

random.seed(0)
seen = set()
for _ in range(rounds):
    child, told = start(work)
    for _ in range(random.randrange(10)):
        os.read(told, 1)
    time.sleep(random.uniform(0, 0.03))
    kill(child)
    with SemanticIndex.load(folder, write=True) as index:
        own = [name for name in index.ids if name.startswith("item")]
        late = sorted(name for name in index.ids if "." in name)
        assert len(own) in (12, 30) and len(own) + len(late) == len(index)
        groups = {name.split(".")[0] for name in late}
        assert late == sorted(f"{g}.{i}" for g in groups for i in range(3)), late
        assert {h.id for h in index.search("chess", 99)} <= set(index.ids)
        seen.add((len(own), len(groups)))
print(len(seen))
small.save(folder)
left = {"lock", "manifest.json", SemanticIndex.load(folder).state.partition(",")[0]}
print(set(os.listdir(folder)) == left)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
def test_a_full_disk_leaves_the_old_index(folder):
    ran = forked(LIMITED, folder)
    assert ran.stdout == "intact\n", ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_a_kill_leaves_the_old_or_the_new(tmp_path):
    ran = forked(KILLED, tmp_path / "index", 12)
    assert ran.returncode == 0, ran.stderr
    states, clean = ran.stdout.split()
    # Killed at different moments, or the test would show nothing.
    assert int(states) > 2
    assert clean == "True"
