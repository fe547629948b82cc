"""A damaged or hostile folder: one clear sentence, no code run, no memory taken."""

import shutil
import sqlite3
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from _support.stored import edited, generation, made, replaced

from labelspan import SemanticIndex
from labelspan.errors import InvalidFile, MissingData
from labelspan.index.folder import read_manifest


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


def test_a_missing_item_is_noticed(folder):
    with sqlite3.connect(generation(folder) / "items.sqlite") as database:
        database.execute("DELETE FROM items WHERE row = 3")
    database.close()
    with pytest.raises(InvalidFile, match="items are missing"):
        SemanticIndex.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        "text = 'other'",
        "metadata = '{}'",
        "id = 'other'",
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
    ("change", "message"),
    [
        ("UPDATE item_labels SET counts = zeroblob(96)", "a block of labels is not what was"),
        ("UPDATE item_labels SET numbers = x''", "a block of labels is not what was"),
        ("DELETE FROM item_labels", "labels do not fit the items"),
        ("DELETE FROM labels WHERE number = 1", "a label is missing"),
        ("DELETE FROM labels", "labels do not fit the items"),
        ("INSERT INTO removed VALUES (99)", "Removed rows do not fit"),
        ("INSERT INTO removed VALUES (3)", "items are missing"),
        ("UPDATE about SET value = 25 WHERE name = 'next'", "damaged"),
        ("UPDATE about SET value = 'x' WHERE name = 'next'", "has no 'next'"),
        ("INSERT INTO segments VALUES (24, 'vectors', x'00', x'00')", "a segment is not what"),
        ("CREATE TRIGGER t AFTER INSERT ON items BEGIN SELECT 1; END", "tables are not those"),
    ],
)
def test_a_changed_database_is_refused(folder, change, message):
    with sqlite3.connect(generation(folder) / "items.sqlite") as database:
        database.execute(change)
    database.close()
    with pytest.raises(InvalidFile, match=message):
        SemanticIndex.load(folder)


def test_a_large_index_is_verified_when_asked(folder, monkeypatch):
    monkeypatch.setattr("labelspan.index.saved._SMALL_DATABASE", 0)
    monkeypatch.setattr("labelspan.index.files._SMALL", 0)
    path = generation(folder) / "vectors.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    SemanticIndex.load(folder).close()
    with pytest.raises(InvalidFile, match=r"vectors\.npy is damaged"):
        SemanticIndex.load(folder, verify=True)
    content[-1] ^= 1
    path.write_bytes(content)
    with sqlite3.connect(generation(folder) / "items.sqlite") as database:
        database.execute("UPDATE items SET text = 'other' WHERE row = 3")
    database.close()
    with SemanticIndex.load(folder) as index:
        assert index.item("item2").text
        with pytest.raises(InvalidFile, match="row 3 is not what was written"):
            index.item("item3")
    with pytest.raises(InvalidFile, match="row 3 is not what was written"):
        SemanticIndex.load(folder, verify=True)


def test_another_format_says_what_to_do(folder):
    path = folder / "manifest.json"
    written = path.read_text()
    for version, remedy in ((7, "install a newer labelspan"), (2, "labelspan fit ")):
        path.write_text(written.replace('"version": 5', f'"version": {version}', 1))
        with pytest.raises(
            InvalidFile,
            match=f"format {version}, and this labelspan reads format 5; .*{remedy}",
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
    with pytest.raises(InvalidFile, match="not a folder of this index; it is not opened"):
        SemanticIndex.load(folder)


@pytest.mark.parametrize("name", ["../secret.json", "/etc/passwd", "a/b.npy", "x.pkl"])
def test_files_that_lie_outside_are_not_opened(folder, name):
    edited(folder, lambda content: content["files"].update({name: {}}))
    with pytest.raises(InvalidFile, match="not a file of this index; it is not opened"):
        SemanticIndex.load(folder)


def test_links_are_not_followed(folder, tmp_path):
    inner = generation(folder)
    moved = inner.rename(tmp_path / "moved")
    inner.symlink_to(moved)
    with pytest.raises(InvalidFile, match="it is not opened"):
        SemanticIndex.load(folder)
    inner.unlink()
    moved.rename(inner)
    words = (inner / "features_words.npy").rename(tmp_path / "features_words.npy")
    (inner / "features_words.npy").symlink_to(words)
    with pytest.raises(InvalidFile, match="it is not opened"):
        SemanticIndex.load(folder)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([10**12, 5], "does not fit an array of shape"),
        ([2**40, 2**40], "does not fit an array of shape"),
        ([24, 4], "not the array that the manifest describes"),
        ([24, 5, 1], "not the array that the manifest describes"),
        ([0, 5], "does not fit|do not fit|are missing"),
        *(
            (wrong, "no valid shape and type")
            for wrong in ([-1, 5], [24.0, 5], "24", None, [[24], 5])
        ),
    ],
)
def test_impossible_sizes_are_refused_before_memory_is_allocated(folder, shape, message):
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
    with pytest.raises(InvalidFile, match="no valid shape and type"):
        SemanticIndex.load(folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("estimator", {"class": "Popen"}),
        ("estimator", {"class": "SemanticIndex"}),
        ("estimator", {"params": {"n_components": -4}}),
        ("estimator", {"params": {"command": "ls"}}),
        ("features", {"kind": "pickle"}),
        ("text", {"segments": -1}),
        ("text", {"language": "klingon"}),
    ],
)
def test_classes_and_parameters_come_from_a_fixed_list(folder, part, change):
    edited(folder, lambda content: content[part].update(change))
    with pytest.raises(InvalidFile, match=r"^manifest\.json|fit together"):
        SemanticIndex.load(folder).space.fit([[1.0]])


@pytest.mark.parametrize("name", ["transform", "__class__", "_check_params", "os.system_"])
def test_results_of_a_strange_name_are_not_set(folder, name):
    edited(folder, lambda content: content["estimator"]["values"].update({name: 1}))
    with pytest.raises(InvalidFile, match="attributes with unexpected names"):
        SemanticIndex.load(folder).space.fit([[1.0]])
    edited(folder, lambda content: content["estimator"]["values"].pop(name))
    edited(folder, lambda content: content["estimator"]["arrays"].update(estimator_mean=name))
    with pytest.raises(InvalidFile, match="attributes with unexpected names"):
        SemanticIndex.load(folder).space.fit([[1.0]])


def test_parts_that_do_not_fit_are_refused(folder, tmp_path):
    texts = ["chess", "dice", "song", "tune"]
    SemanticIndex().fit(texts, [["a"], ["b"], ["c"], ["d"]]).save(tmp_path / "other")
    other = generation(tmp_path / "other") / "tagger_thresholds.npy"
    part = read_manifest(tmp_path / "other")["files"]["tagger_thresholds.npy"]
    shutil.copy(other, generation(folder))
    edited(folder, lambda content: content["files"].update({"tagger_thresholds.npy": part}))
    with pytest.raises(InvalidFile, match="do not fit together"):
        SemanticIndex.load(folder).tag("chess")
