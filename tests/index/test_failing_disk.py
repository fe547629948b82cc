"""Saves that fail or are killed: the old index or the new, never between."""

import os
from pathlib import Path

import pytest
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


def test_an_add_without_room_leaves_the_index(folder):
    with SemanticIndex.load(folder, write=True) as index:
        before = answers(index)
        pages = index.store._database._connection.execute("PRAGMA page_count").fetchone()[0]
        index.store._database._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(InvalidFile, match="full; the index is as it was"):
            index.add(["chess " * 5000] * 3, ids=["a", "b", "c"])
        assert answers(index) == before
    assert answers(SemanticIndex.load(folder)) == before
