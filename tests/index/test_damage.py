"""A damaged or hostile folder: as before, or one clear sentence; no code run, no memory taken."""

import copy
import json
import os
import shutil
import sys

import numpy as np
import pytest
from _support.hostile import altered, aside, attempt, changed, files, refused, sample
from _support.stored import generation, rewritten
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


def flipped(folder, count, heads, seed):
    """Some files with one bit changed somewhere, and the names of these files."""
    rng = np.random.default_rng(seed)
    cases = [(path, n) for path in files(folder).values() for n in range(path.stat().st_size)]
    first = [(path, n) for path, n in cases if n < 128]
    for path, place in sample(cases, count) + sample(first, heads):
        content = bytearray(path.read_bytes())
        content[place] ^= 1 << int(rng.integers(8))
        with changed(path, bytes(content)):
            yield path.name


def test_every_bit_is_verified_or_does_no_harm(small, before, monkeypatch):
    for name in flipped(small, 60, 30, 0):
        found = attempt(small)
        assert isinstance(found, str) or (name == LOOSE and found == before), name
    # Only sizes and shapes are checked: the result is an answer or an error of labelspan.
    monkeypatch.setattr("labelspan.index.folder._SMALL", 0)
    monkeypatch.setattr("labelspan.index.store._SMALL_DATABASE", 0)
    for _ in flipped(small, 50, 0, 2):
        attempt(small, verify=False)
    assert attempt(small, verify=False) == before


def test_cut_missing_and_exchanged_files(small, before, tmp_path):
    texts, labels, ids, metadata = corpus(8, seed=1)
    other = SemanticIndex(estimator=MLSI(2)).fit(texts, labels, ids, metadata=metadata)
    foreign = files(other.save(tmp_path / "other") and tmp_path / "other")
    found = files(small)
    for name, path in found.items():
        content = path.read_bytes()
        for more in (content[:-1], content + b"\0", content + content):
            with changed(path, more):
                said = attempt(small)
            assert isinstance(said, str) or (name == LOOSE and said == before)
        cuts = [content[:cut] for cut in (0, 1, 20, len(content) // 2)]
        others = [one.read_bytes() for one in (*found.values(), foreign[name]) if one != path]
        for wrong in (*cuts, *others, b"\x80\x04cposix\nsystem\n" + bytes(64)):
            with changed(path, wrong):
                refused(small)
                refused(small, write=True)
        with aside(path):
            said = refused(small)
        assert name in said or "There is no index" in said
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
    for folder, write in ((small.parent / "nowhere", False), (small.parent, True)):
        with pytest.raises(MissingData, match="There is no index in"):
            SemanticIndex.load(folder, write=write)
    assert not (small.parent / "lock").exists()


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
    None, True, -1, 10**30, 1.5, float("nan"), "", "../x", "/etc/passwd", "\0", "a" * 5000,
    "é\u202e\n", [], ["x"], {}, {"a": 1}, json.loads("[" * 400 + "]" * 400),
]  # fmt: skip


def places(value, path=()):
    """The way to every entry of a manifest."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in inner:
        yield (*path, key)
        if isinstance(entry, dict | list):
            yield from places(entry, (*path, key))


def put(folder, whole, path, value):
    """Write a manifest with another value in one place; ``...`` removes it."""
    content = copy.deepcopy(whole)
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    write_manifest(folder, content)


def test_any_value_in_any_place_of_the_manifest(small, before):
    whole = read_manifest(small)
    every = [(path, value) for path in places(whole) for value in (*NASTY, ...)]
    loaded, chosen = 0, sample(every, 85)
    for path, value in chosen:
        put(small, whole, path, value)
        # What is not needed may be anything; nothing but an answer or a sentence comes of it.
        loaded += not isinstance(attempt(small), str)
    assert loaded < len(chosen) / 2
    write_manifest(small, whole)
    assert attempt(small) == before


def test_a_foreign_manifest_is_refused(folder):
    path = folder / "manifest.json"
    written = path.read_text()
    for text in ("", "{", "[1]", '{"format": "zip", "version": 1}', "[" * 100_000):
        path.write_text(text)
        with pytest.raises(InvalidFile, match=r"manifest\.json"):
            SemanticIndex.load(folder)
    for version, remedy in ((8, "install a newer labelspan"), (5, "labelspan fit ")):
        path.write_text(written.replace('"version": 7', f'"version": {version}', 1))
        expected = f"format {version}, and this labelspan reads format 7; .*{remedy}"
        with pytest.raises(InvalidFile, match=expected):
            SemanticIndex.load(folder)


# What a manifest says in one place, and what is wrong with it.
OUTSIDE = "of this index; it is not opened"
SAID = [
    *[
        (("generation",), place, f"not a folder {OUTSIDE}")
        for place in ("../outside", "/tmp", ".", "", "generation-00000000/../x")
    ],
    *[
        (("files", name), {}, f"not a file {OUTSIDE}")
        for name in ("../secret.arrays", "/etc/passwd", "a/b.arrays", "x.pkl")
    ],
    *[
        (path, value, r"^manifest\.json|damaged")
        for path, value in (
            (("estimator", "class"), "Popen"),
            (("estimator", "class"), "SemanticIndex"),
            (("estimator", "params"), {"n_components": -4}),
            (("estimator", "params"), {"command": "ls"}),
            (("estimator", "values", "n_components_"), 2.0),
            (("estimator", "values", "transform"), 1),
            (("estimator", "values", "__class__"), 1),
            (("features",), "pickle"),
            (("text", "segments"), -1),
            (("text", "language"), "klingon"),
        )
    ],
]


def test_paths_classes_and_parameters_come_from_a_fixed_list(small):
    whole = read_manifest(small)
    for path, value, message in SAID:
        put(small, whole, path, value)
        with (
            pytest.raises(InvalidFile, match=message),
            SemanticIndex.load(small) as index,
        ):
            index.space.fit([[1.0]])


# --- arrays that a manifest vouches for -----------------------------------------------------

WORDS = [np.frombuffer(text, dtype="u1") for text in (b"", b"chess", b"\xff\n", b"a\na\n")]
LISTS = [
    np.frombuffer(text, dtype="u1") for text in (b"", b"3", b"[1]", b'["a", "a"]', b"[" * 9000)
]
PARTS = [
    *[("features", "words", words) for words in WORDS],
    *[("words", "vocabulary_words", words) for words in WORDS],
    ("words", "segment0_tokens", None),
    ("words", "segment0_posting_rows", np.full(3, 10**6, dtype="i4")),
    ("vectors", "vectors", np.zeros((0, 2), dtype="f4")),
    ("vectors", "vectors", np.zeros((8, 2))),
    ("vectors", "vectors", np.zeros((8, 3), dtype="f4")),
    ("vectors", "vectors", np.zeros((10**6, 2), dtype="f4")),
    ("vectors", "vectors", None),
    ("space", "weights", np.zeros((3, 2))),
    ("space", "offset", np.zeros(3)),
    ("space", "estimator_eigenvalues_", None),
    ("space", "estimator_transform", np.zeros(3)),
    ("tagger", "directions", np.zeros((99, 2), dtype="f2")),
    ("tagger", "targets_columns", np.full(8, 100, dtype="i4")),
    ("tagger", "levels", np.array([[1.0, 0.0], [0.0, 1.0]])),
    ("tagger", "numbers", None),
    *[("tagger", "labels", labels) for labels in LISTS],
]


def test_arrays_that_do_not_fit_are_refused(small, tmp_path):
    for number, (name, part, array) in enumerate(PARTS):
        folder = shutil.copytree(small, tmp_path / str(number))
        rewritten(folder, name, **{part: array})
        refused(folder)


# --- the table of items -----------------------------------------------------------------------

ENDLESS = (
    "CREATE VIEW items AS WITH RECURSIVE n(row) AS (SELECT 0 UNION ALL SELECT row + 1 FROM n) "
    "SELECT row, 'i' || row AS id, '' AS text, '{}' AS metadata, x'00' AS hash FROM n"
)
WRITTEN = "is not what was written"
# Statements, and what is said of the database after them.
TABLES = {
    "tables are not those": [
        f"ALTER TABLE items RENAME TO old; {ENDLESS}",
        "CREATE TRIGGER t AFTER DELETE ON items BEGIN DELETE FROM items; END",
        "DROP TABLE about",
        "ALTER TABLE items ADD COLUMN more AS (hex(zeroblob(100000000))) VIRTUAL",
    ],
    "belongs to another index": ["DELETE FROM about WHERE name = 'key'"],
    f"'key' {WRITTEN}": ["UPDATE about SET value = x'00'", "UPDATE about SET hash = NULL"],
    f"'labels' {WRITTEN}": ["UPDATE about SET value = '[]' WHERE name = 'labels'"],
    "cannot be read as JSON": ["DELETE FROM about WHERE name = 'labels'"],
    "labels do not fit the items": [
        "DELETE FROM item_labels",
        "INSERT INTO removed VALUES (99)",
    ],
    "items are missing": [
        "DELETE FROM items WHERE row = 3",
        "UPDATE items SET row = -1 WHERE row = 3",
        "INSERT INTO removed VALUES (3)",
        "INSERT INTO removed VALUES (-1)",
    ],
    f"the item in row .* {WRITTEN}|cannot be read": [
        f"UPDATE items SET {change} WHERE row = 3"
        for change in (
            "row = 1 << 62",
            "text = 'other'",
            "id = 'other'",
            "metadata = '[]'",
            "metadata = x'ff'",
            "text = CAST(x'ff' AS TEXT)",
            "text = zeroblob(100000000)",
        )
    ],
    f"a block of labels {WRITTEN}": [
        "UPDATE item_labels SET counts = zeroblob(96)",
        "UPDATE item_labels SET counts = 'text', numbers = 3",
    ],
    f"a part of the added vectors {WRITTEN}": ["INSERT INTO added VALUES (8, x'00', x'00')"],
    f"an entry of the history {WRITTEN}": ["INSERT INTO history VALUES (1,'','','',0,x'00')"],
    f"a change of the history {WRITTEN}": ["INSERT INTO changes VALUES (1,1,'','','','',x'00')"],
}


@pytest.mark.parametrize("message", TABLES)
def test_a_changed_database_is_refused(message, small, tmp_path):
    for number, statements in enumerate(TABLES[message]):
        folder = shutil.copytree(small, tmp_path / str(number))
        altered(folder, statements)
        for write in (False, True):
            with pytest.raises(InvalidFile, match=message):
                SemanticIndex.load(folder, write=write, verify=True)


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
    make, inner = INSTEAD[instead], generation(small)
    for path in (*files(small).values(), *([inner] if instead != "a folder" else [])):
        with aside(path):
            make(path)
            refused(small, seconds=5)
    for end in ("-wal", "-shm", "-journal"):
        path = inner / f"items.sqlite{end}"
        path.write_bytes(b"")
        with aside(path):
            make(path)
            refused(small, path.name, seconds=5)
            refused(small, path.name, seconds=5, write=True)
        path.unlink()
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
