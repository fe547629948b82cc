"""Lessons: what was answered when a label was taught is an ordered log in the database."""

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


def test_events_are_numbered_for_each_label_and_change_no_revision(folder):
    with SemanticIndex.load(folder, write=True) as writer, SemanticIndex.load(folder) as reader:
        revision = writer.store.revision
        writer.store.record_lesson("game", [FIRST])
        writer.store.record_lesson("image", [SECOND])
        writer.store.record_lesson("game", [SECOND, FIRST])
        assert writer.store.lessons("game") == [
            ("game", 1, *FIRST),
            ("game", 2, *SECOND),
            ("game", 3, *FIRST),
        ]
        assert writer.store.lessons("game", after=2) == [("game", 3, *FIRST)]
        assert writer.store.revision == revision
        assert not reader.stale()
        # A reader sees them at once.
        assert reader.store.lessons("image") == [("image", 1, *SECOND)]


def test_lessons_stay_when_the_index_is_saved_or_fitted_again(folder):
    with SemanticIndex.load(folder, write=True) as index:
        index.store.record_lesson("game", [FIRST, SECOND])
        index.save()
        assert len(index.store.lessons()) == 2
    SemanticIndex().fit(TEXTS[::-1], LABELS[::-1]).save(folder)
    with SemanticIndex.load(folder, write=True) as index:
        assert [one[1:] for one in index.store.lessons("game")] == [(1, *FIRST), (2, *SECOND)]
    assert len(read_history(folder)[1]) == 2


def test_a_changed_answer_is_damage(folder):
    with SemanticIndex.load(folder, write=True) as index:
        index.store.record_lesson("game", [FIRST])
    with sqlite3.connect(database(folder)) as connection:
        connection.execute("UPDATE lessons SET event = 'no'")
    connection.close()
    with pytest.raises(InvalidFile, match="an answer is not what was written"):
        SemanticIndex.load(folder)


def test_format_5_had_no_lessons_and_is_fitted_again(folder):
    with sqlite3.connect(database(folder)) as connection:
        connection.execute("DROP TABLE lessons")
    connection.close()
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"version": 6', '"version": 5', 1))
    with pytest.raises(InvalidFile, match="labelspan fit"):
        SemanticIndex.load(folder)
    assert read_history(folder)[1] == []
    SemanticIndex().fit(TEXTS, LABELS).save(folder)
    with SemanticIndex.load(folder) as index:
        assert index.store.lessons() == []
