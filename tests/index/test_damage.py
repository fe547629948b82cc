"""A damaged or hostile folder: as before, or one clear sentence; no code run, no memory taken."""

import copy
import json
import os
import shutil
import sys

import numpy as np
import pytest
from _support.forks import forked
from _support.hostile import altered, aside, attempt, changed, files, refused, sample
from _support.stored import answers, generation, made, rewritten
from _support.topics import corpus

from labelspan import MLSI, SemanticIndex
from labelspan.errors import InvalidFile, MissingData
from labelspan.index.folder import read_manifest, write_manifest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGALRM and pipes")

# Nobody reads the room that SQLite leaves in its pages.
LOOSE = "items.sqlite"


@pytest.fixture
def before(small):
    return attempt(small)


# --- every file -----------------------------------------------------------------------------


def test_flipped_bytes(small, before):
    """Every file is verified; what SQLite does not use may be anything."""
    rng = np.random.default_rng(0)
    cases = [(name, n) for name, path in files(small).items() for n in range(path.stat().st_size)]
    heads = [(name, n) for name, n in cases if n < 128]
    for name, place in sample(cases, 60) + sample(heads, 30):
        path = files(small)[name]
        content = bytearray(path.read_bytes())
        content[place] ^= 1 << int(rng.integers(8))
        with changed(path, bytes(content)):
            found = attempt(small)
        assert isinstance(found, str) or (name == LOOSE and found == before), (name, place)
    assert attempt(small) == before


def test_cut_missing_and_exchanged_files(small, before, tmp_path):
    found = files(small)
    for name, path in found.items():
        content = path.read_bytes()
        for cut in (0, 1, 20, len(content) // 2):
            with changed(path, content[:cut]):
                refused(small)
                refused(small, write=True)
        for other in (content[:-1], content + b"\0", content + content):
            with changed(path, other):
                said = attempt(small)
            assert isinstance(said, str) or (name == LOOSE and said == before)
        with changed(path, b"\x80\x04cposix\nsystem\n" + bytes(64)):
            refused(small, name)
        with aside(path):
            said = refused(small)
        assert name in said or "There is no index" in said
        for other in found.values():
            if other != path:
                with changed(path, other.read_bytes()):
                    refused(small)
    # Parts of another index.
    texts, labels, ids, metadata = corpus(8, seed=1)
    other = SemanticIndex(estimator=MLSI(2)).fit(texts, labels, ids, metadata=metadata)
    foreign = files(other.save(tmp_path / "other") and tmp_path / "other")
    for name, path in found.items():
        with changed(path, foreign[name].read_bytes()):
            refused(small)
    with aside(generation(small)):
        refused(small, "generation-")
    assert attempt(small) == before


def test_other_files_do_no_harm(small, before):
    inner = generation(small)
    for name in ("more.arrays", ".vectors.arrays.0a1b2c3d", "code.py"):
        (inner / name).write_bytes(b"import os")
    for folder in (inner / "sub", small / "generation-00000000", small / "__init__.py"):
        folder.mkdir()
    assert attempt(small) == before
    with pytest.raises(MissingData, match="There is no index in"):
        SemanticIndex.load(small.parent / "nowhere")
    with pytest.raises(MissingData, match="There is no index in"):
        SemanticIndex.load(small.parent, write=True)
    assert not (small.parent / "lock").exists()


def test_unverified_damage_never_crashes(small, before, monkeypatch):
    """Only sizes and shapes are checked: the result is an answer or an error of labelspan."""
    monkeypatch.setattr("labelspan.index.folder._SMALL", 0)
    monkeypatch.setattr("labelspan.index.store._SMALL_DATABASE", 0)
    rng = np.random.default_rng(2)
    cases = [(n, p) for n, path in files(small).items() for p in range(path.stat().st_size)]
    for name, place in sample(cases, 50):
        path = files(small)[name]
        content = bytearray(path.read_bytes())
        content[place] = int(rng.integers(256))
        with changed(path, bytes(content)):
            attempt(small, verify=False)
    assert attempt(small, verify=False) == before


def test_a_large_index_is_verified_when_asked(folder, monkeypatch):
    monkeypatch.setattr("labelspan.index.store._SMALL_DATABASE", 0)
    monkeypatch.setattr("labelspan.index.folder._SMALL", 0)
    for name in ("vectors", "tagger"):
        path = generation(folder) / f"{name}.arrays"
        content = bytearray(path.read_bytes())
        content[-40] ^= 1
        with changed(path, bytes(content)):
            SemanticIndex.load(folder).close()
            with pytest.raises(InvalidFile, match=rf"{name}\.arrays is damaged"):
                SemanticIndex.load(folder, verify=True)
    altered(folder, "UPDATE items SET text = 'other' WHERE row = 3")
    with SemanticIndex.load(folder) as index:
        assert index.item("item2").text
        with pytest.raises(InvalidFile, match="row 3 is not what was written"):
            index.item("item3")
    with pytest.raises(InvalidFile, match="row 3 is not what was written"):
        SemanticIndex.load(folder, verify=True)


# --- the manifest ---------------------------------------------------------------------------

NASTY = [
    None, True, -1, 10**12, 10**30, 1.5, float("nan"), "", "x", "../x", "/etc/passwd", "\0",
    "a" * 5000, "é\u202e\n", [], ["x"], {}, {"a": 1}, json.loads("[" * 400 + "]" * 400),
]  # fmt: skip


def places(value, path=()):
    """The way to every entry of a manifest."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in inner:
        yield (*path, key)
        if isinstance(entry, dict | list):
            yield from places(entry, (*path, key))


def test_any_value_in_any_place_of_the_manifest(small, before):
    whole = read_manifest(small)
    every = [(path, value) for path in places(whole) for value in NASTY]
    loaded, chosen = 0, sample(every, 70)
    for path, value in chosen + [(path, ...) for path in sample(places(whole), 15)]:
        content = copy.deepcopy(whole)
        inner = content
        for key in path[:-1]:
            inner = inner[key]
        if value is ...:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        write_manifest(small, content)
        # What is not needed may be anything; nothing but an answer or a sentence comes of it.
        loaded += not isinstance(attempt(small), str)
    assert loaded < len(chosen) / 2
    write_manifest(small, whole)
    assert attempt(small) == before


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '{"format": "zip", "version": 1}', "[" * 100_000, '{"a": 1, "a": 1}']
)
def test_a_foreign_manifest_is_refused(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(InvalidFile, match=r"manifest\.json"):
        SemanticIndex.load(folder)


def test_another_format_says_what_to_do(folder):
    path = folder / "manifest.json"
    written = path.read_text()
    for version, remedy in ((7, "install a newer labelspan"), (2, "labelspan fit ")):
        path.write_text(written.replace('"version": 5', f'"version": {version}', 1))
        with pytest.raises(
            InvalidFile, match=f"format {version}, and this labelspan reads format 5; .*{remedy}"
        ):
            SemanticIndex.load(folder)


# What a manifest says in one place, and what is wrong with it.
OUTSIDE = "of this index; it is not opened"
LISTED = r"^manifest\.json|damaged"
SAID = [
    *[
        (("generation",), place, f"not a folder {OUTSIDE}")
        for place in ("../outside", "/tmp", ".", "", "generation-00000000/../x")
    ],
    *[
        (("files", name), {}, f"not a file {OUTSIDE}")
        for name in ("../secret.arrays", "/etc/passwd", "a/b.arrays", "x.pkl")
    ],
    (("estimator", "class"), "Popen", LISTED),
    (("estimator", "class"), "SemanticIndex", LISTED),
    (("estimator", "params"), {"n_components": -4}, LISTED),
    (("estimator", "params"), {"command": "ls"}, LISTED),
    *[
        (("estimator", "values"), {name: value}, LISTED)
        for name, value in (("n_components_", 2.0), ("transform", 1), ("__class__", 1), ("_a", 3))
    ],
    (("features",), "pickle", LISTED),
    (("text", "segments"), -1, LISTED),
    (("text", "language"), "klingon", LISTED),
]


def test_paths_classes_and_parameters_come_from_a_fixed_list(small):
    whole = read_manifest(small)
    for (*outer, last), value, message in SAID:
        content = copy.deepcopy(whole)
        (content[outer[0]] if outer else content)[last] = value
        write_manifest(small, content)
        with pytest.raises(InvalidFile, match=message):
            SemanticIndex.load(small).space.fit([[1.0]])


# --- arrays that a manifest vouches for -----------------------------------------------------

WORDS = [b"", b"chess", b"\xff\n", b"a\na\n", b"\n" * 9, b"a\n" * 10**5]
PARTS = [
    *[("features", {"words": np.frombuffer(text, dtype="u1")}) for text in WORDS],
    *[("words", {"vocabulary_words": np.frombuffer(text, dtype="u1")}) for text in WORDS],
    ("words", {"segment0_tokens": None}),
    ("words", {"segment0_posting_rows": np.full(3, 10**6, dtype="i4")}),
    ("vectors", {"vectors": np.zeros((0, 2), dtype="f4")}),
    ("vectors", {"vectors": np.zeros((8, 2))}),
    ("vectors", {"vectors": np.zeros((8, 3), dtype="f4")}),
    ("vectors", {"vectors": np.zeros((10**6, 2), dtype="f4")}),
    ("vectors", {"vectors": None}),
    ("space", {"weights": np.zeros((3, 2))}),
    ("space", {"offset": np.zeros(3)}),
    ("space", {"estimator_eigenvalues_": None}),
    ("space", {"estimator_transform": np.zeros(3)}),
    ("tagger", {"thresholds": np.zeros(99, dtype="f4")}),
    ("tagger", {"left_out_columns": np.full((8, 2), 100, dtype="i4")}),
    ("tagger", {"left_out_own": np.full(3, 0.5, dtype="f4")}),
    ("tagger", {"numbers": None}),
    *[
        ("tagger", {"labels": np.frombuffer(text, dtype="u1")})
        for text in (b"", b"3", b'"chess"', b"[1]", b'["a", "a"]', b"[]", b"[" * 9000)
    ],
]


@pytest.mark.parametrize(("name", "change"), PARTS)
def test_arrays_that_do_not_fit_are_refused(name, change, small):
    rewritten(small, name, **change)
    refused(small)


# --- the table of items -----------------------------------------------------------------------

ENDLESS = (
    "CREATE VIEW items AS WITH RECURSIVE n(row) AS (SELECT 0 UNION ALL SELECT row + 1 FROM n) "
    "SELECT row, 'i' || row AS id, '' AS text, '{}' AS metadata, x'00' AS hash FROM n"
)
TABLES = [
    (["ALTER TABLE items RENAME TO old", ENDLESS], "tables are not those"),
    (["CREATE TRIGGER t AFTER DELETE ON items BEGIN DELETE FROM items; END"], "tables are not"),
    (["CREATE TABLE more (a)"], "tables are not those"),
    (["DROP TABLE about"], "tables are not those"),
    (["ALTER TABLE items ADD COLUMN more AS (hex(zeroblob(100000000))) VIRTUAL"], "tables are not"),
    (["DELETE FROM about WHERE name = 'key'"], "belongs to another index"),
    *[
        ([f"UPDATE about SET {change}"], "'key' is not what was written")
        for change in ("value = x'00'", "value = 1 << 62", "hash = 'many'", "hash = NULL")
    ],
    (["UPDATE items SET row = 1 << 62 WHERE row = 7"], "damaged"),
    (["UPDATE items SET row = -1 WHERE row = 3"], "damaged"),
    (["DELETE FROM items WHERE row = 3"], "items are missing"),
    *[
        ([f"UPDATE items SET {change} WHERE row = 3"], "is not what was written|cannot be read")
        for change in (
            "text = 'other'",
            "id = 'other'",
            "row = 99",
            "metadata = '[]'",
            "metadata = '{\"a\": []}'",
            "metadata = x'ff'",
            "text = x'ff00'",
            "text = CAST(x'ff' AS TEXT)",
            "text = zeroblob(100000000)",
        )
    ],
    *[
        ([f"UPDATE item_labels SET {change}"], "a block of labels is not what was|cannot be read")
        for change in ("counts = zeroblob(96)", "numbers = x''", "counts = 'text'", "numbers = 3")
    ],
    (["DELETE FROM item_labels"], "labels do not fit the items"),
    *[
        ([f"UPDATE about SET {change} WHERE name = 'labels'"], "'labels' is not what was written")
        for change in ("value = '[]'", "value = 3", "hash = x'00'")
    ],
    (["DELETE FROM about WHERE name = 'labels'"], "cannot be read as JSON"),
    (["INSERT INTO removed VALUES (99)"], "labels do not fit the items"),
    (["INSERT INTO removed VALUES (-1)"], "items are missing"),
    (["INSERT INTO removed VALUES (3)"], "items are missing"),
    (["INSERT INTO added VALUES (8, x'00', x'00')"], "a part of the added vectors is not what"),
    (["INSERT INTO decisions VALUES (1,'','','','','',0,0,'','',x'00')"], "a decision is not what"),
]


@pytest.mark.parametrize(("statements", "message"), TABLES)
def test_a_changed_database_is_refused(small, statements, message):
    altered(small, *statements)
    for write in (False, True):
        with pytest.raises(InvalidFile, match=message):
            SemanticIndex.load(small, write=write, verify=True)


def test_added_vectors_are_guarded(small):
    with SemanticIndex.load(small, write=True) as index:
        index.add(["chess", "photo"], ids=["x", "y"]).remove("x")
    for change in ("SET vectors = zeroblob(16)", "SET first = 9", "SET vectors = x'00'"):
        with aside(generation(small) / LOOSE):
            shutil.copy(generation(small) / "aside", generation(small) / LOOSE)
            altered(small, f"UPDATE added {change}")
            refused(small, "is damaged")
    with SemanticIndex.load(small) as index:
        assert "y" in index


# --- links, pipes and devices ---------------------------------------------------------------


INSTEAD = {
    "a pipe": os.mkfifo,
    "a link to zeros": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to the file": lambda path: path.symlink_to("aside"),
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("instead", INSTEAD)
def test_what_is_not_a_plain_file_is_not_opened(instead, small, before):
    make = INSTEAD[instead]
    inner = generation(small)
    for path in files(small).values():
        with aside(path):
            make(path)
            refused(small, seconds=5)
    if instead != "a folder":
        with aside(inner):
            make(inner)
            refused(small, seconds=5)
    for name in ("items.sqlite-wal", "items.sqlite-shm", "items.sqlite-journal"):
        (inner / "aside").write_bytes(b"")
        (inner / name).unlink(missing_ok=True)
        make(inner / name)
        refused(small, "items.sqlite-", seconds=5)
        refused(small, "items.sqlite-", seconds=5, write=True)
        (inner / name).rmdir() if (inner / name).is_dir() else (inner / name).unlink()
        (inner / "aside").unlink()
    assert attempt(small) == before
    (small / "lock").unlink()
    make(small / "lock")
    refused(small, "lock", seconds=5, write=True)
    assert attempt(small) == before


def test_a_journal_does_not_reach_other_files(small, tmp_path):
    """SQLite would delete what a journal of several files names."""
    precious = tmp_path / "precious"
    precious.write_text("kept")
    name = str(precious).encode()
    tail = name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    start = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    body = start + bytes(504) + (0).to_bytes(4, "big") + tail + start
    (generation(small) / "items.sqlite-journal").write_bytes(body)
    refused(small, "does not belong to an index")
    refused(small, "does not belong to an index", write=True)
    (small / "lock").write_bytes(b"SQLite format 3\0" + bytes(4080))
    (generation(small) / "items.sqlite-journal").unlink()
    refused(small, "it is not empty", write=True)
    assert precious.read_text() == "kept"


# --- sizes that promise terabytes -------------------------------------------------------------

LARGE = """
import resource, sys
from pathlib import Path
from _support.hostile import altered, attempt, refused, tiny
from _support.stored import crafted, edited, generation, replaced

small = tiny(Path(sys.argv[1]))
attempt(small)
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limit = used + (200 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
whole = (small / "manifest.json").read_bytes()
count = 0


def check(match=""):
    global count
    for verify in (True, False):
        refused(small, match, verify=verify, seconds=20)
    (small / "manifest.json").write_bytes(whole)
    count += 1


for path in sorted(generation(small).glob("*.arrays")):
    old = path.read_bytes()
    for shape in ([10**12, 2], [8, 10**12], [10**20], [0, 2**62, 2**62], [0] * 70, [0, 10**30]):
        for kind in ("<f4", "|V1000000000000"):
            replaced(small, path.name, crafted({"arrays": {"x": [kind, shape]}, "about": {}}))
            check(path.name)
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    def grown(content):
        content["files"][path.name].update(bytes=1 << 40)
    edited(small, grown)
    check()
    path.write_bytes(old)
with (small / "manifest.json").open("r+b") as file:
    file.truncate(1 << 40)
check("is too large")
altered(small, "UPDATE items SET row = 1 << 50 WHERE row = 7")
check("items.sqlite")
print(count)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="address-space limits are Linux's")
def test_sizes_that_promise_terabytes_take_no_memory(tmp_path):
    done = forked(LARGE, tmp_path / "index")
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) > 60


def test_an_index_without_items_comes_back(folder):
    with SemanticIndex.load(folder, write=True) as index:
        index.remove(index.ids).save()
        index.add(["chess"], ids=["one"])
    loaded = SemanticIndex.load(folder)
    assert loaded.ids == ["one"]
    assert loaded.search("chess")[0].id == "one"
    assert made(8, estimator=MLSI(2)).save(folder) is not None
    assert len(answers(SemanticIndex.load(folder))[-1]) == 8
