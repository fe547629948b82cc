"""Hostile tables of items, and irregular files: rejected without reading or waiting."""

import os
import sqlite3
import sys

import pytest
from _support.hostile import altered, aside, attempt, refused
from _support.stored import edited, generation, replaced

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGALRM and pipes")


# --- the table of items -------------------------------------------------------------------


ENDLESS = (
    "CREATE VIEW items AS WITH RECURSIVE n(row) AS (SELECT 0 UNION ALL SELECT row + 1 FROM n) "
    "SELECT row, 'i' || row AS id, '' AS text, '{}' AS metadata, x'00' AS hash FROM n"
)
TABLES = {
    "a view without end": ["ALTER TABLE items RENAME TO old", ENDLESS],
    "a trigger": ["CREATE TRIGGER t AFTER DELETE ON items BEGIN DELETE FROM items; END"],
    "another table": ["CREATE TABLE more (a)"],
    "no table": ["DROP TABLE about"],
    "a column more": ["ALTER TABLE items ADD COLUMN more"],
    "a column that is made": [
        "ALTER TABLE items ADD COLUMN more AS (hex(zeroblob(100000000))) VIRTUAL"
    ],
    "no next row": ["DELETE FROM about WHERE name = 'next'"],
    "trillions of rows": ["UPDATE about SET value = 1 << 40 WHERE name = 'next'"],
    "a row beyond": ["UPDATE about SET value = 1 << 62 WHERE name = 'next'"],
    "a row below": ["UPDATE items SET row = -1 WHERE row = 3"],
    "words for numbers": ["UPDATE about SET value = 'many' WHERE name = 'next'"],
    "a key of another kind": ["UPDATE about SET value = x'00' WHERE name = 'key'"],
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("verify", [True, False])
def test_tables_that_are_not_ours(name, verify, small):
    altered(small, *TABLES[name])
    refused(small, "items.sqlite", verify=verify, seconds=10)
    refused(small, "items.sqlite", verify=verify, seconds=10, write=True)


@pytest.mark.parametrize(
    "change",
    [
        "metadata = '[]'",
        "metadata = '3'",
        "metadata = '{\"a\": []}'",
        "metadata = x'ff'",
        "text = x'ff00'",
        "text = CAST(x'ff' AS TEXT)",
        "text = zeroblob(100000000)",
        "id = x'41'",
    ],
)
def test_items_of_other_kinds(change, small):
    altered(small, f"UPDATE items SET {change} WHERE row = 3")
    refused(small, "items.sqlite", verify=False)
    refused(small, "items.sqlite")


@pytest.mark.parametrize("column", ["counts", "numbers"])
@pytest.mark.parametrize("value", ["'text'", "x'00'", "zeroblob(32)", "NULL", "3"])
def test_labels_of_other_kinds(column, value, small):
    try:
        altered(small, f"UPDATE item_labels SET {column} = {value}")
    except sqlite3.IntegrityError:
        return
    refused(small, "items.sqlite", verify=False)


# --- links, pipes and devices -------------------------------------------------------------


def pipe(path):
    os.mkfifo(path)


def link_to_zeros(path):
    path.symlink_to("/dev/zero")


def link_to_itself(path):
    path.symlink_to(path.name)


def link_to_the_file(path):
    path.symlink_to("aside")


def folder_instead(path):
    path.mkdir()


INSTEAD = [pipe, link_to_zeros, link_to_itself, link_to_the_file, folder_instead]


@pytest.mark.parametrize("instead", INSTEAD, ids=lambda make: make.__name__)
def test_what_is_not_a_plain_file_is_not_opened(instead, small):
    before = attempt(small)
    inner = generation(small)
    for path in (small / "manifest.json", *sorted(inner.iterdir())):
        if path.name.startswith("items.sqlite-"):
            continue
        with aside(path):
            instead(path)
            refused(small, seconds=5)
    if instead is not folder_instead:
        with aside(inner):
            instead(inner)
            refused(small, seconds=5)
    for name in ("items.sqlite-wal", "items.sqlite-shm", "items.sqlite-journal"):
        (inner / "aside").write_bytes(b"")
        (inner / name).unlink(missing_ok=True)
        instead(inner / name)
        refused(small, "items.sqlite-", seconds=5)
        refused(small, "items.sqlite-", seconds=5, write=True)
        (inner / name).rmdir() if (inner / name).is_dir() else (inner / name).unlink()
        (inner / "aside").unlink()
    assert attempt(small) == before
    (small / "lock").unlink()
    instead(small / "lock")
    refused(small, "lock", seconds=5, write=True)
    assert attempt(small) == before


def test_an_empty_file_that_is_a_pipe(small):
    """Its size is right; reading it would wait for ever."""
    path = generation(small) / "vectors.npy"
    replaced(small, "vectors.npy", b"")
    edited(small, lambda content: content["files"]["vectors.npy"].update(shape=[0, 2]))
    path.unlink()
    os.mkfifo(path)
    refused(small, "not a regular file", seconds=5)


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
