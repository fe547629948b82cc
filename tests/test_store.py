"""The folder of an index: whole or not at all, one writer, many readers, no code run."""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from test_index import corpus

from labelspan import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS, SemanticIndex
from labelspan.errors import (
    InvalidFile,
    InvalidInput,
    LabelspanError,
    Locked,
    Mismatch,
    MissingData,
)
from labelspan.index import items as items_module
from labelspan.index.manifest import read_manifest, write_manifest


def made(count=24, **params):
    texts, labels, ids, metadata = corpus(count)
    params = {"estimator": MLSI(5), **params}
    return SemanticIndex(**params).fit(texts, labels, ids, metadata=metadata)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store") / "index"
    made().save(folder)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    return Path(shutil.copytree(original, tmp_path / "index"))


def generation(folder):
    (found,) = folder.glob("generation-*")
    return found


def answers(index):
    queries = ["chess player", "paint a photo", ""]
    return index.search(queries), index.tag(queries), index.axes(2), index.labels, index.ids


# --- there and back -----------------------------------------------------------------------


def test_a_loaded_index_answers_as_the_saved_one(folder):
    saved, loaded = made(), SemanticIndex.load(folder)
    assert answers(loaded) == answers(saved)
    assert loaded.explain("chess", "item0") == saved.explain("chess", "item0")
    assert repr(loaded) == repr(saved)
    assert (loaded.vectorizer, loaded.folds) == ("tfidf", 3)
    assert loaded.estimator.get_params() == MLSI(5).get_params()
    assert not loaded.writable


def test_arrays_are_mapped_and_not_read(folder):
    loaded = SemanticIndex.load(folder)
    for array in (loaded._corpus._vectors._base, loaded._model.estimator.components_):
        assert not array.flags.writeable
        assert isinstance(array.base, np.memmap)


@pytest.mark.parametrize(
    "estimator",
    [LSI(4), CCA(2, alpha=1.0), OPLS(2, alpha=1.0), HSL(2, alpha=1.0), DLE(2), LPP(4), MLSI()],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_estimator_comes_back(estimator, tmp_path):
    saved = made(40, estimator=estimator).save(tmp_path / "i")
    loaded = SemanticIndex.load(tmp_path / "i")
    assert loaded.search("chess player") == saved.search("chess player")
    assert type(loaded.estimator) is type(estimator)


def test_lda_comes_back_for_one_label_an_item(tmp_path):
    texts, labels, _, _ = corpus(40)
    one = [own[:1] for own in labels]
    saved = SemanticIndex(estimator=LDA(alpha=1.0)).fit(texts, one).save(tmp_path / "i")
    assert SemanticIndex.load(tmp_path / "i").search("chess") == saved.search("chess")


@pytest.mark.parametrize(
    "vectorizer",
    [
        CountVectorizer(stop_words=["the", "a"], binary=True),
        HashingVectorizer(n_features=64, ngram_range=(1, 2)),
        TfidfVectorizer(use_idf=False, vocabulary=["chess", "photo", "music", "player"]),
        TfidfVectorizer(strip_accents="unicode", dtype=np.float32, norm="l1"),
    ],
    ids=["count", "hashing", "tf", "tfidf"],
)
def test_every_plain_vectoriser_comes_back(vectorizer, tmp_path):
    saved = made(vectorizer=vectorizer, estimator=MLSI(3)).save(tmp_path / "i")
    loaded = SemanticIndex.load(tmp_path / "i")
    assert loaded.search("chess player") == saved.search("chess player")
    assert loaded.vectorizer.get_params() == vectorizer.get_params()


def test_words_that_have_no_lower_case_come_back(tmp_path):
    texts = ["\U0001d400 chess", "photo \u03d2", "chess board", "photo camera"]
    saved = SemanticIndex().fit(texts, [["a"], ["b"], ["a"], ["b"]]).save(tmp_path / "i")
    assert SemanticIndex.load(tmp_path / "i").search("chess") == saved.search("chess")


def test_vectors_of_ones_own_come_back(tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 6))
    index = SemanticIndex(vectorizer=None, estimator=LSI(3)).fit([""] * 12, vectors=X)
    loaded = SemanticIndex.load(index.save(tmp_path / "i")._folder or tmp_path / "i")
    assert loaded.vectorizer is None
    assert loaded.search(X[2]) == index.search(X[2])


def test_what_only_code_could_bring_back_is_refused(folder, tmp_path):
    before = answers(SemanticIndex.load(folder))
    wrong = [
        ({"vectorizer": CountVectorizer(tokenizer=str.split, token_pattern=None)}, "bring vectors"),
        ({"vectorizer": type("Mine", (CountVectorizer,), {})()}, "bring vectors"),
        ({"estimator": MLSI(3, kernel="rbf", gamma=0.1)}, "kernel='rbf' cannot be written"),
    ]
    for params, message in wrong:
        with pytest.raises(Mismatch, match=message):
            made(**params).save(folder)
    assert answers(SemanticIndex.load(folder)) == before
    assert len(list(folder.glob("generation-*"))) == 1


# --- changing -----------------------------------------------------------------------------


def test_changes_are_on_disk_when_the_call_returns(folder):
    with SemanticIndex.load(folder, write=True) as index:
        index.add(["dice card", "radio"], [["game"], None], ["x", "y"], metadata=[{"a": 1}, None])
        index.remove(["item2", "x"]).add(["volume"], ids=["item3"], replace=True)
        other = SemanticIndex.load(folder)
        assert answers(other) == answers(index)
        assert other.item("item3").text == "volume"
        assert "x" not in other
        # Put in order: rows that are gone go, late ones join the array.
        index.save()
        assert answers(SemanticIndex.load(folder)) == answers(other)
        assert index._corpus._vectors._base.shape == (len(index), 5)
        index.add(["song"], ids=["z"])
    again = SemanticIndex.load(folder)
    assert "z" in again
    assert len(again) == 25


def test_numbers_of_rows_are_not_used_twice(folder):
    with SemanticIndex.load(folder, write=True) as index:
        for _ in range(3):
            index.add(["song"], ids=["last"]).remove("last")
        index.add(["chess"], ids=["kept"])
        rows = index._corpus.catalogue.rows
        assert rows["kept"] == 27
    assert SemanticIndex.load(folder)._corpus.catalogue.rows == rows


def test_a_reader_is_for_reading(folder):
    reader = SemanticIndex.load(folder)
    texts, labels, ids, _ = corpus(6)
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
    assert answers(SemanticIndex.load(copy)) == answers(reader)


def test_a_reader_can_catch_up(folder):
    reader = SemanticIndex.load(folder)
    assert not reader.refresh()
    with SemanticIndex.load(folder, write=True) as writer:
        writer.add(["chess"], ids=["new"]).remove("item0")
        # Behind, but at one: what was removed is not given, what was added is not known.
        assert not {"new", "item0"} & {hit.id for hit in reader.search("chess", 30)}
        with pytest.raises(InvalidInput, match="removed by a writer; refresh"):
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
        assert len(SemanticIndex.load(folder)) == 24
    with SemanticIndex.load(folder, write=True) as index:
        index.add(["a"])


def test_a_writer_that_refits_keeps_the_old_until_it_saves(folder):
    texts, labels, ids, _ = corpus(30, seed=3)
    with SemanticIndex.load(folder, write=True) as index:
        index.fit(texts, labels, ids).add(["photo"], ids=["later"])
        assert len(SemanticIndex.load(folder)) == 24
        index.save()
        assert len(SemanticIndex.load(folder)) == 31


def test_a_slip_of_the_parser_is_not_damage(folder, monkeypatch):
    load = np.load

    def slips_once(path, **options):
        monkeypatch.setattr(np, "load", load)
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(np, "load", slips_once)
    assert len(SemanticIndex.load(folder)) == 24


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


def test_a_medium_that_cannot_be_written_can_be_read(folder, monkeypatch):
    before = answers(SemanticIndex.load(folder))
    for mark in generation(folder).glob("items.sqlite-*"):
        mark.unlink()
    monkeypatch.setattr(items_module.os, "access", lambda path, mode: False)
    assert answers(SemanticIndex.load(folder)) == before
    assert not list(generation(folder).glob("items.sqlite-*"))


# --- damage -------------------------------------------------------------------------------


def loaded_or_refused(folder):
    try:
        return answers(SemanticIndex.load(folder))
    except LabelspanError as error:
        return error


def test_every_file_is_guarded_against_flips_and_cuts(folder, tmp_path):
    before = answers(SemanticIndex.load(folder))
    files = [folder / "manifest.json", *generation(folder).glob("*")]
    files = [f for f in files if not f.name.startswith("items.sqlite-")]
    assert len(files) > 12
    rng = np.random.default_rng(0)
    for file in files:
        content = file.read_bytes()
        damaged = [content[: len(content) // 2], b"", content + b"\0"]
        for place in [0, 40, *rng.integers(len(content), size=6)]:
            flipped = bytearray(content)
            flipped[min(place, len(content) - 1)] ^= 1 << int(rng.integers(8))
            damaged.append(bytes(flipped))
        for version in damaged:
            file.write_bytes(version)
            for log in generation(folder).glob("items.sqlite-*"):
                log.unlink()
            found = loaded_or_refused(folder)
            if isinstance(found, LabelspanError):
                assert isinstance(found, InvalidFile)
                assert "\n" not in str(found)
            else:
                # SQLite has room that nobody reads.
                assert file.suffix == ".sqlite"
                assert found == before
        file.write_bytes(content)
    assert answers(SemanticIndex.load(folder)) == before


def test_a_missing_file_is_named(folder):
    for file in sorted(generation(folder).iterdir()):
        if not file.name.startswith("items.sqlite-"):
            aside = file.rename(folder.parent / "aside")
            with pytest.raises(InvalidFile, match=file.name):
                SemanticIndex.load(folder)
            aside.rename(file)
    with pytest.raises(MissingData, match="There is no index in"):
        SemanticIndex.load(folder.parent / "nowhere")
    with pytest.raises(MissingData, match="There is no index in"):
        SemanticIndex.load(folder.parent, write=True)
    assert not (folder.parent / "lock").exists()


def test_items_of_another_index_are_not_taken(folder, tmp_path):
    made(12).save(tmp_path / "other")
    shutil.copy(generation(tmp_path / "other") / "items.sqlite", generation(folder))
    with pytest.raises(InvalidFile, match="belongs to another index"):
        SemanticIndex.load(folder)


def test_an_item_that_vanished_is_missed(folder):
    with sqlite3.connect(generation(folder) / "items.sqlite") as database:
        database.execute("DELETE FROM items WHERE row = 3")
    database.close()
    with pytest.raises(InvalidFile, match="items are missing"):
        SemanticIndex.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        "text = 'other'",
        "labels = '[]'",
        "labels = NULL",
        "metadata = '{}'",
        "id = 'other'",
        "vector = zeroblob(20)",
        "row = 99",
    ],
)
def test_an_item_that_was_changed_is_noticed(folder, change):
    with sqlite3.connect(generation(folder) / "items.sqlite") as database:
        database.execute(f"UPDATE items SET {change} WHERE row = 3")
    database.close()
    with pytest.raises(InvalidFile, match=r"the item in row .* is not what was written"):
        SemanticIndex.load(folder)


@pytest.mark.parametrize(
    "change", ["labels = 'x'", "metadata = 'x'", "vector = zeroblob(7)", "row = 99"]
)
def test_what_cannot_be_read_is_noticed_unverified(folder, change):
    with sqlite3.connect(generation(folder) / "items.sqlite") as database:
        database.execute(f"UPDATE items SET {change} WHERE row = 3")
    database.close()
    with pytest.raises(InvalidFile, match=r"items\.sqlite"):
        SemanticIndex.load(folder, verify=False)


def edited(folder, change):
    content = read_manifest(folder)
    change(content)
    write_manifest(folder, content)


def test_a_later_format_says_which(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 7', 1))
    with pytest.raises(
        InvalidFile, match="format 7, and this labelspan reads formats up to 1; install a newer"
    ):
        SemanticIndex.load(folder)


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "null", '{"format": "zip", "version": 1}', "[" * 100_000, '{"a": NaN}']
)
def test_a_foreign_manifest_is_refused(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(InvalidFile, match=r"manifest\.json"):
        SemanticIndex.load(folder)


@pytest.mark.parametrize("name", ["generation", "files", "estimator", "settings", "class", "key"])
@pytest.mark.parametrize("value", [None, 3, "x"])
def test_a_missing_field_is_named(folder, name, value):
    edited(folder, lambda content: content.update({name: value}))
    with pytest.raises(InvalidFile):
        SemanticIndex.load(folder)
    if name != "generation":
        edited(folder, lambda content: content.pop(name))
        with pytest.raises(InvalidFile, match=name):
            SemanticIndex.load(folder)


@pytest.mark.parametrize("place", ["../outside", "/tmp", ".", "", "generation-00000000/../x"])
def test_paths_that_lead_outside_are_not_followed(folder, place):
    edited(folder, lambda content: content.update(generation=place))
    with pytest.raises(InvalidFile, match="no folder of this index; it is not opened"):
        SemanticIndex.load(folder)


@pytest.mark.parametrize("name", ["../secret.json", "/etc/passwd", "a/b.npy", "x.pkl"])
def test_files_that_lie_outside_are_not_opened(folder, name):
    edited(folder, lambda content: content["files"].update({name: {}}))
    with pytest.raises(InvalidFile, match="no file of this index; it is not opened"):
        SemanticIndex.load(folder)


def test_links_are_not_followed(folder, tmp_path):
    inner = generation(folder)
    moved = inner.rename(tmp_path / "moved")
    inner.symlink_to(moved)
    with pytest.raises(InvalidFile, match="it is not opened"):
        SemanticIndex.load(folder)
    inner.unlink()
    moved.rename(inner)
    words = (inner / "words.json").rename(tmp_path / "words.json")
    (inner / "words.json").symlink_to(words)
    with pytest.raises(InvalidFile, match="it is not opened"):
        SemanticIndex.load(folder)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([10**12, 5], "too short for an array of shape"),
        ([2**40, 2**40], "too short for an array of shape"),
        ([24, 4], "not the array that the manifest describes"),
        ([24, 5, 1], "not the array that the manifest describes"),
        ([0, 5], "do not fit together|has no vector"),
        *((wrong, "no shape and type") for wrong in ([-1, 5], [24.0, 5], "24", None, [[24], 5])),
    ],
)
def test_sizes_that_cannot_be_are_refused_before_memory_is_taken(folder, shape, message):
    edited(folder, lambda content: content["files"]["vectors.npy"].update(shape=shape))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match=message):
            SemanticIndex.load(folder)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_an_index_without_items_comes_back(folder):
    with SemanticIndex.load(folder, write=True) as index:
        index.remove(index.ids).save()
        index.add(["chess"], ids=["one"])
    loaded = SemanticIndex.load(folder)
    assert loaded.ids == ["one"]
    assert loaded.search("chess")[0].id == "one"


def replaced(folder, name, content):
    """A file with another content, and a manifest that vouches for it."""
    (generation(folder) / name).write_bytes(content)
    part = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    edited(folder, lambda manifest: manifest["files"][name].update(part))


def test_a_header_that_promises_terabytes_is_refused(folder):
    old = (generation(folder) / "vectors.npy").read_bytes()
    for shape in (b"(24000000000, 5)", b"(24, 50000)", b"(24, 5", b"(24, -5)", b"(" * 40):
        header = old[:128].replace(b"(24, 5)", shape)[:127].rstrip(b"\n").ljust(127) + b"\n"
        replaced(folder, "vectors.npy", header + old[128:])
        with pytest.raises(InvalidFile, match=r"vectors\.npy"):
            SemanticIndex.load(folder)


def test_no_code_in_an_array_is_run(folder, tmp_path):
    class Payload:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "ran",))

    file = tmp_path / "bad.npy"
    np.save(file, np.array([Payload()] * 9, dtype=object), allow_pickle=True)
    (tmp_path / "ran").unlink(missing_ok=True)
    replaced(folder, "vectors.npy", file.read_bytes())
    edited(folder, lambda content: content["files"]["vectors.npy"].update(shape=[9], dtype="<f4"))
    with pytest.raises(InvalidFile, match=r"vectors\.npy is damaged"):
        SemanticIndex.load(folder)
    edited(folder, lambda content: content["files"]["vectors.npy"].update(dtype="|O"))
    with pytest.raises(InvalidFile, match="no shape and type that could be read"):
        SemanticIndex.load(folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("estimator", {"class": "Popen"}),
        ("estimator", {"class": "SemanticIndex"}),
        ("estimator", {"params": {"n_components": -4}}),
        ("estimator", {"params": {"command": "ls"}}),
        ("vectorizer", {"class": "FunctionTransformer"}),
        ("vectorizer", {"params": {"tokenizer": "os.system"}}),
        ("vectorizer", {"params": []}),
    ],
)
def test_classes_and_parameters_come_from_a_fixed_list(folder, part, change):
    edited(folder, lambda content: content[part].update(change))
    with pytest.raises(InvalidFile, match=r"^manifest\.json|fit together"):
        SemanticIndex.load(folder)


@pytest.mark.parametrize("name", ["transform", "__class__", "_check_params", "os.system_"])
def test_results_of_a_strange_name_are_not_set(folder, name):
    edited(folder, lambda content: content["estimator"]["values"].update({name: 1}))
    with pytest.raises(InvalidFile, match="results of a strange name"):
        SemanticIndex.load(folder)
    edited(folder, lambda content: content["estimator"]["values"].pop(name))
    edited(folder, lambda content: content["estimator"]["arrays"].update(estimator_mean=name))
    with pytest.raises(InvalidFile, match="results of a strange name"):
        SemanticIndex.load(folder)


def test_parts_that_do_not_fit_are_refused(folder, tmp_path):
    made(estimator=MLSI(4)).save(tmp_path / "other")
    other = generation(tmp_path / "other") / "tagger_weights.npy"
    part = read_manifest(tmp_path / "other")["files"]["tagger_weights.npy"]
    shutil.copy(other, generation(folder))
    edited(folder, lambda content: content["files"].update({"tagger_weights.npy": part}))
    with pytest.raises(InvalidFile, match="do not fit together"):
        SemanticIndex.load(folder)


# --- failing saves ------------------------------------------------------------------------


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(
        InvalidInput, match=r"holds other files, say 'thesis\.tex'; give a new folder"
    ):
        made().save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(InvalidFile, match="cannot be written"):
        made().save(tmp_path / "thesis.tex")
    with pytest.raises(InvalidInput, match="has no folder yet; give one"):
        made().save()


@pytest.mark.parametrize("failing", ["vectors.npy", "labels.json", "items.sqlite", "manifest.json"])
def test_a_save_that_fails_leaves_the_old_index(folder, failing, monkeypatch):
    before = answers(SemanticIndex.load(folder))
    bigger = made(40)
    if failing == "items.sqlite":
        real = items_module._connect

        def connect(where):
            connection = real(where)
            if "generation" in where:
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
    assert len(steps) > 8
    monkeypatch.undo()
    assert answers(SemanticIndex.load(folder)) == answers(bigger)


def test_an_add_without_room_leaves_the_index(folder):
    with SemanticIndex.load(folder, write=True) as index:
        before = answers(index)
        pages = index._corpus._items._connection.execute("PRAGMA page_count").fetchone()[0]
        index._corpus._items._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(InvalidFile, match="full; the index is as it was"):
            index.add(["chess " * 5000] * 3, ids=["a", "b", "c"])
        assert answers(index) == before
    assert answers(SemanticIndex.load(folder)) == before


LIMITED = """
import resource, signal, sys
from test_store import answers, made
from labelspan import SemanticIndex
from labelspan.errors import LabelspanError
folder = sys.argv[1]
before = answers(SemanticIndex.load(folder))
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
    assert answers(SemanticIndex.load(folder)) == before
print("intact")
"""

KILLED = """
import os, random, signal, sys, time
from test_store import made
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
left = {"lock", "manifest.json", SemanticIndex.load(folder)._generation}
print(set(os.listdir(folder)) == left)
"""


def run(script, *arguments):
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        env=environment,
        timeout=120,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
def test_a_full_disk_leaves_the_old_index(folder):
    ran = run(LIMITED, folder)
    assert ran.stdout == "intact\n", ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_a_kill_leaves_the_old_or_the_new(tmp_path):
    ran = run(KILLED, tmp_path / "index", 12)
    assert ran.returncode == 0, ran.stderr
    states, clean = ran.stdout.split()
    # Killed at different moments, or the test would show nothing.
    assert int(states) > 2
    assert clean == "True"
