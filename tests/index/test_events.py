"""Events, for example answers of a lesson, are an ordered log in the database."""

import sqlite3
from pathlib import Path

import pytest

from labelspan import SemanticIndex
from labelspan.errors import InvalidFile
from labelspan.index.database import read_history

TEXTS = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
LABELS = [["game"], ["game", "net"], ["image"], ["image"]]
FIRST = ("2026-01-01T00:00:00Z", "anna", "yes", "0")
SECOND = ("2026-01-01T00:00:01Z", "", "no", "2")


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "index.labelspan"
    SemanticIndex().fit(TEXTS, LABELS).save(path)
    return path


def database(folder):
    return next(Path(folder).glob("generation-*/items.sqlite"))


def test_events_are_numbered_for_each_thing_and_change_no_revision(folder):
    with SemanticIndex.load(folder, write=True) as writer, SemanticIndex.load(folder) as reader:
        revision = writer.store.revision
        writer.store.record("game", [FIRST])
        writer.store.record("image", [SECOND])
        writer.store.record("game", [SECOND, FIRST])
        assert writer.store.events("game") == [
            ("game", 1, *FIRST),
            ("game", 2, *SECOND),
            ("game", 3, *FIRST),
        ]
        assert writer.store.events("game", after=2) == [("game", 3, *FIRST)]
        assert writer.store.revision == revision
        assert not reader.stale()
        # A reader sees them at once.
        assert reader.store.events("image") == [("image", 1, *SECOND)]


def test_events_stay_when_the_index_is_saved_or_fitted_again(folder):
    with SemanticIndex.load(folder, write=True) as index:
        index.store.record("game", [FIRST, SECOND])
        index.save()
        assert len(index.store.events()) == 2
    again = SemanticIndex().fit(TEXTS[::-1], LABELS[::-1])
    again.store.record("image", [FIRST])
    again.save(folder)
    with SemanticIndex.load(folder, write=True) as index:
        assert [one[1:] for one in index.store.events("game")] == [(1, *FIRST), (2, *SECOND)]
    assert [about for about, *_ in read_history(folder)[1]] == ["game", "game", "image"]


def test_a_changed_event_is_damage(folder):
    with SemanticIndex.load(folder, write=True) as index:
        index.store.record("game", [FIRST])
    with sqlite3.connect(database(folder)) as connection:
        connection.execute("UPDATE events SET event = 'no'")
    connection.close()
    with pytest.raises(InvalidFile, match="an event is not what was written"):
        SemanticIndex.load(folder)
