"""The folder of an index: there and back, one writer, many readers, and saves that fail."""

import copy
import gc
import mmap
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from _support.closing import connections, is_open
from _support.stored import answers, answers_of, generation, made
from _support.topics import corpus

from labelspan import CCA, DLE, HSL, LPP, LSI, MLSI, OPLS, SemanticIndex
from labelspan.errors import InvalidFile, InvalidInput, Locked, Mismatch
from labelspan.index import database as items_module
from labelspan.solvers import Exact

# --- there and back -----------------------------------------------------------------------


def test_a_loaded_index_answers_as_the_saved_one(folder):
    saved = made()
    with SemanticIndex.load(folder) as loaded:
        assert answers(loaded) == answers(saved)
        assert loaded.explain("chess", "item0") == saved.explain("chess", "item0")
        assert repr(loaded) == repr(saved)
        assert loaded.space.get_params() == MLSI(5).get_params()
        # Arrays are mapped, and not read.
        for array in (loaded.store.vectors.base, loaded.model.space.weights):
            assert not array.flags.writeable
            while isinstance(array, np.ndarray):
                array = array.base  # noqa: PLW2901
            assert isinstance(array.obj, mmap.mmap)


@pytest.mark.parametrize(
    "estimator",
    [
        LSI(4),
        CCA(2, alpha=1.0),
        OPLS(2, alpha=1.0),
        HSL(2, alpha=1.0),
        DLE(2),
        LPP(4),
        MLSI(),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_estimator_comes_back(estimator, tmp_path):
    saved = made(40, estimator=estimator).save(tmp_path / "i")
    with SemanticIndex.load(tmp_path / "i") as loaded:
        assert loaded.search("chess player") == saved.search("chess player")
        assert type(loaded.space) is type(estimator)
        # Also where the space has its origin at the mean, a text without words is nowhere.
        assert loaded.search(["", "unheard"]) == [[], []]
        assert len(loaded.tag("chess")) == 3
        assert len(loaded.axes(2)) == loaded.space.n_components_
    assert not hasattr(estimator, "components_")


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy])
def test_an_index_is_saved_and_not_pickled(copied):
    """The message was that of a lock, or of a stemmer."""
    with pytest.raises(Mismatch, match=r"index\.save\(folder\).*SemanticIndex\.load\(folder\)"):
        copied(made())


def test_what_only_code_could_bring_back_is_refused(folder):
    before = answers_of(folder)
    for estimator in (type("Mine", (MLSI,), {})(3), MLSI(3, solver=Exact())):
        with pytest.raises(Mismatch, match="cannot be written without code"):
            made(estimator=estimator).save(folder)
    assert answers_of(folder) == before
    assert len(list(folder.glob("generation-*"))) == 1


# --- changing -----------------------------------------------------------------------------


def test_changes_are_on_disk_when_the_call_returns(folder):
    with SemanticIndex.load(folder, write=True) as index:
        index.add(["dice card", "radio"], [["game"], None], ["x", "y"], metadata=[{"a": 1}, None])
        index.remove(["item2", "x"]).add(["volume"], ids=["item3"], replace=True)
        with SemanticIndex.load(folder) as other:
            assert answers(other) == answers(index)
            assert other.item("item3").text == "volume"
            assert "x" not in other
            # Put in order: late rows join the array; rows keep their numbers.
            index.save()
            assert answers_of(folder) == answers(other)
        assert index.store.vectors.base.shape == (27, 5)
        # Numbers of rows are not used twice.
        index.add(["song"], ids=["y2"]).remove("y2").add(["song"], ids=["z"])
        assert index.store.row("z") == 28
        index.save()
    with SemanticIndex.load(folder, write=True) as again:
        assert (again.store.row("z"), len(again)) == (28, 25)
        # An index without items.
        again.remove(again.ids).save()
        again.add(["chess"], ids=["one"])
    with SemanticIndex.load(folder) as loaded:
        assert (loaded.ids, loaded.search("chess")[0].id) == (["one"], "one")
    made(8, estimator=MLSI(2)).save(folder)
    with SemanticIndex.load(folder) as loaded:
        assert len(loaded) == 8


def test_a_reader_cannot_write(folder):
    texts, labels, ids, _ = corpus(6)
    with SemanticIndex.load(folder) as reader:
        for change in (
            lambda: reader.add(["a"]),
            lambda: reader.remove("item0"),
            lambda: reader.fit(texts, labels, ids),
            reader.save,
            lambda: reader.save(folder),
        ):
            with pytest.raises(Mismatch, match="loaded for reading; load it with write=True"):
                change()
        copy = folder.parent / "copy"
        reader.save(copy)
        assert answers_of(copy) == answers(reader)


def test_a_reader_can_refresh(folder):
    with SemanticIndex.load(folder) as reader, SemanticIndex.load(folder, write=True) as writer:
        assert not reader.refresh()
        writer.add(["chess"], ids=["new"]).remove("item0")
        # Behind, but at one: what was removed is not given, what was added is not known.
        assert not {"new", "item0"} & {hit.id for hit in reader.search("chess", 30)}
        with pytest.raises(InvalidInput, match="refresh it"):
            reader.item("item0")
        assert reader.refresh()
        assert answers(reader) == answers(writer)
        writer.save()
        assert answers(reader) == answers(writer)
        assert reader.refresh()
        assert not reader.refresh()


def test_one_writer_at_a_time(folder):
    with SemanticIndex.load(folder, write=True):
        with pytest.raises(Locked, match=r"Another writer has the index in .* open"):
            SemanticIndex.load(folder, write=True)
        with pytest.raises(Locked):
            made().save(folder)
        with SemanticIndex.load(folder) as reader:
            assert len(reader) == 24
    with SemanticIndex.load(folder, write=True) as index:
        index.add(["a"])


def test_readers_do_not_notice_saves(folder):
    index, stop, failures, loads = made(), threading.Event(), [], []

    def read():
        while not stop.is_set():
            try:
                with SemanticIndex.load(folder) as reader:
                    loads.append(len(reader.search("chess", 50)))
            except BaseException as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(8):
        index.save(folder)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(loads) > 2
    assert len(set(loads)) == 1


def test_a_read_only_folder_can_be_read(folder, monkeypatch):
    before = answers_of(folder)
    for mark in generation(folder).glob("items.sqlite-*"):
        mark.unlink()
    monkeypatch.setattr(items_module.os, "access", lambda path, mode: False)
    assert answers_of(folder) == before
    assert not list(generation(folder).glob("items.sqlite-*"))


# --- saves and changes that fail ----------------------------------------------------------


def test_a_folder_with_other_files_is_not_changed(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for path, error, message in (
        (
            tmp_path,
            InvalidInput,
            r"holds other files, for example 'thesis\.tex'; give a new folder",
        ),
        (tmp_path / "thesis.tex", InvalidFile, "cannot be written"),
        (None, InvalidInput, "has no folder yet; give one"),
    ):
        with pytest.raises(error, match=message):
            made().save(path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("failing", ["vectors", "tagger.arrays", "items.sqlite", "manifest.json"])
def test_a_save_that_fails_leaves_the_old_index(folder, failing, monkeypatch):
    before = answers_of(folder)
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
    assert answers_of(folder) == before
    assert len(list(folder.glob("generation-*"))) == 1
    assert sorted(p.name for p in folder.iterdir() if p.is_file()) == ["lock", "manifest.json"]
    assert answers_of(bigger.save(folder) and folder) == answers(bigger)


def test_an_index_in_memory_needs_no_close():
    with connections() as opened:
        index = made(8)
        assert any(is_open(one) for _, one in opened)
        del index
        gc.collect()
        assert not any(is_open(one) for _, one in opened)


def test_an_add_without_room_leaves_the_index(folder):
    with SemanticIndex.load(folder, write=True) as index:
        before = answers(index)
        connection = index.store._database._connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(InvalidFile, match="full; the index is as it was"):
            index.add(["chess " * 5000] * 3, ids=["a", "b", "c"])
        assert answers(index) == before
    assert answers_of(folder) == before
