"""Every connection and file that an index opens is closed: used, failed or replaced."""

import gc
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from _support.hostile import altered, changed
from _support.stored import answers, generation, made
from _support.streams import Corpus
from _support.topics import corpus

from labelspan import MLSI, SemanticIndex
from labelspan.curation import Review
from labelspan.errors import InvalidFile, InvalidInput, LabelspanError, Locked, Mismatch, Replaced
from labelspan.index.database import IndexItems, read_history
from labelspan.index.fitting import FitOptions, fit_stream
from labelspan.web import Served

FILES = ("vectors", "tagger", "words", "space")


def is_open(connection):
    try:
        connection.total_changes  # noqa: B018 - it fails if the connection is closed
    except sqlite3.ProgrammingError:
        return False
    return True


def descriptors():
    """What the process has open, by the names of the files."""
    gc.collect()
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(found)


@pytest.fixture
def opened(monkeypatch):
    """All connections of a test: held here, so that none is closed by being forgotten."""
    connect, found = sqlite3.connect, []

    def recorded(*args, **options):
        found.append(connect(*args, **options))
        return found[-1]

    monkeypatch.setattr(sqlite3, "connect", recorded)
    # What other tests have left in memory is not looked through again at every collection.
    gc.collect()
    gc.freeze()
    yield found
    gc.unfreeze()


def read(folder):
    with SemanticIndex.load(folder) as index:
        answers(index)
    return index


def read_into_memory(folder):
    index = SemanticIndex.load(folder, mapped=False, verify=True)
    index.close()
    index.close()
    return index


def write(folder):
    with SemanticIndex.load(folder, write=True) as index:
        index.add(["chess"], [["game"]], ["new"]).relabel("new", ["image"]).remove("item0")
        index.save().add(["dice"])
    return index


def error_inside(folder):
    with pytest.raises(Mismatch), SemanticIndex.load(folder) as index:
        index.remove("item0")
    return index


def damaged_files(folder):
    for name in FILES:
        path = generation(folder) / f"{name}.arrays"
        content = bytearray(path.read_bytes())
        content[-40] ^= 1
        for write in (False, True):
            with changed(path, bytes(content)), pytest.raises(InvalidFile):
                SemanticIndex.load(folder, write=write, verify=True)


def damaged_items(folder):
    for number, statement in enumerate(
        ["DELETE FROM item_labels", "UPDATE items SET text = ''", "DROP TABLE about"]
    ):
        copy = Path(shutil.copytree(folder, folder.parent / f"damaged{number}"))
        altered(copy, statement)
        for write in (False, True):
            with pytest.raises(InvalidFile):
                SemanticIndex.load(copy, write=write)
        with pytest.raises(InvalidFile):
            list(IndexItems(copy).items())
    for content in (b"", b"no database", bytes(5000)):
        with changed(generation(folder) / "items.sqlite", content), pytest.raises(InvalidFile):
            SemanticIndex.load(folder)


def unsuitable_encoder(folder):
    with pytest.raises(Mismatch):
        SemanticIndex.load(folder, encoder=lambda texts: np.zeros((len(texts), 3)))


def second_writer(folder):
    with SemanticIndex.load(folder, write=True):
        with pytest.raises(Locked):
            SemanticIndex.load(folder, write=True)
        with pytest.raises(Locked):
            made(8).save(folder)


def failed_saves(folder):
    index = made(8, estimator=type("Mine", (MLSI,), {})(3))
    for path in (folder, folder.parent / "new"):
        with pytest.raises(Mismatch):
            index.save(path)
    (folder.parent / "thesis.tex").write_text("years of work")
    with pytest.raises(InvalidInput):
        index.save(folder.parent)
    with SemanticIndex.load(folder, write=True) as writer:
        altered(folder, "UPDATE items SET text = '' WHERE row = 3")
        with pytest.raises(InvalidFile):
            writer.items()
        with pytest.raises(InvalidFile):
            writer.save()


def failed_changes(folder):
    with SemanticIndex.load(folder, write=True) as index:
        for change in (
            lambda: index.add(["a"], ids=["item0"]),
            lambda: index.remove("nothing"),
            lambda: index.relabel("item0", [""]),
        ):
            with pytest.raises(LabelspanError):
                change()


def replaced_by_a_save(folder):
    with SemanticIndex.load(folder) as reader:
        made(8).save(folder)
        assert reader.refresh()
        made(9).save(folder)
        assert reader.refresh()
        assert len(reader) == 9
    return reader


def replaced_by_a_fit(folder):
    texts, labels, ids, _ = corpus(8)
    with made() as index:
        index.fit(texts, labels, ids)
        with pytest.raises(InvalidInput):
            index.fit(["a"])
        assert len(index) == 8
    return index


def replaced_by_hand(folder):
    with SemanticIndex.load(folder, write=True) as index:
        other = shutil.copytree(folder, folder.parent / "other")
        shutil.rmtree(folder)
        Path(other).rename(folder)
        with pytest.raises(Replaced):
            index.add(["a"])
    return index


def streamed(folder):
    out = folder.parent / "streamed"
    items = made(60).items()
    options = FitOptions(MLSI(3), "en")
    fit_stream(Corpus(items), out, options)
    with pytest.raises(InvalidInput):
        fit_stream(Corpus(items[:1]), folder.parent / "few", options)
    with pytest.raises(InvalidFile):
        fit_stream(Corpus([*items, items[0]]), out, options)
    # An index from its own items.
    fit_stream(IndexItems(out), out, options)


def parts_read(folder):
    items = IndexItems(folder)
    with closing(items.items()) as every:
        next(every)
    assert items.vocabulary() is None
    assert read_history(folder) == ([], [])


def reviewed(folder):
    with SemanticIndex.load(folder, write=True) as index:
        review = Review(index)
        review.feedback("item0", rejected=["game"])
        review.undo()
    return index


def served(folder):
    with Served(folder) as server:
        with server.lease():
            with SemanticIndex.load(folder, write=True) as writer:
                writer.remove("item0")
            assert server.look_again()
        with server.lease() as snapshot:
            assert "item0" not in snapshot.index
        made(8).save(folder)
        assert server.look_again()
        path = generation(folder) / "words.arrays"
        with SemanticIndex.load(folder, write=True) as writer:
            writer.remove("item0")
        with changed(path, b""):
            assert not server.look_again()
    with Served(folder, edit=True) as editor:
        editor.close()
    return server, editor


def not_served(folder):
    with pytest.raises(LabelspanError):
        Served(folder.parent)
    with SemanticIndex.load(folder, write=True), pytest.raises(Locked):
        Served(folder, edit=True)


WAYS = [
    read,
    read_into_memory,
    write,
    error_inside,
    damaged_files,
    damaged_items,
    unsuitable_encoder,
    second_writer,
    failed_saves,
    failed_changes,
    replaced_by_a_save,
    replaced_by_a_fit,
    replaced_by_hand,
    streamed,
    parts_read,
    reviewed,
    served,
    not_served,
]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to list open files")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_nothing_stays_open(way, folder, opened):
    before = descriptors()
    # Held: what was used is closed, not only forgotten.
    kept = way(folder)
    gc.collect()
    assert not list(filter(is_open, opened))
    assert opened
    assert descriptors() == before
    del kept


def test_an_index_in_memory_needs_no_close(opened):
    index = made(8)
    assert any(map(is_open, opened))
    del index
    gc.collect()
    assert not any(map(is_open, opened))
