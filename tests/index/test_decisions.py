"""The log of decisions: torn lines, damage, kills, undo; and what a review does with it."""

import csv
import io
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from _support.forks import forked
from _support.topics import corpus, planted, planted_index

from labelspan import LSI, SemanticIndex
from labelspan.errors import InvalidFile, InvalidInput, InvalidParameter, Mismatch
from labelspan.index import Review
from labelspan.index.decisions import DECISIONS_FILE, DecisionLog, as_lines, as_table
from labelspan.index.review_queue import finding_key

ONE = ("wrong", "item1", "game", True)
TWO = ("missing", "item2", "sound ü", False)


def summary(log):
    return [(one.item, one.label, one.decision) for one in log.decisions()]


@pytest.fixture
def folder(tmp_path):
    log = DecisionLog(tmp_path, write=True)
    log.add("accept", [ONE])
    log.applied()
    log.add("reject", [TWO])
    return tmp_path


@pytest.fixture(scope="module")
def original_planted(tmp_path_factory):
    """A saved index, not to be changed."""
    path = tmp_path_factory.mktemp("planted") / "index.labelspan"
    planted_index().save(path)
    return path


@pytest.fixture
def saved(original_planted, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(original_planted, tmp_path / "index.labelspan"))


def test_decisions_are_read_again(folder):
    log = DecisionLog(folder)
    assert summary(log) == [("item1", "game", "accept"), ("item2", "sound ü", "reject")]
    assert log.changes() == {"item1": {"game": False}}
    assert not log.recovered
    assert all(one.time.endswith("Z") for one in log.decisions())
    with pytest.raises(InvalidInput, match="opened for reading"):
        log.add("skip", [ONE])


def test_undo_goes_back_one_by_one(folder):
    log = DecisionLog(folder, write=True)
    log.add("skip", [("wrong", "item3", "game", True), ("wrong", "item4", "game", True)])
    assert [len(log.undo()) for _ in range(4)] == [2, 1, 1, 0]
    assert summary(DecisionLog(folder)) == summary(log) == []
    log.add("reject", [ONE])
    assert summary(DecisionLog(folder)) == [("item1", "game", "reject")]


def test_every_torn_last_line_is_recovered(folder):
    path = folder / DECISIONS_FILE
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start + 1, len(whole)):
        path.write_bytes(whole[:end])
        log = DecisionLog(folder)
        assert log.recovered
        assert summary(log) == [("item1", "game", "accept")]
    # The last state is torn; the next line takes its place.
    DecisionLog(folder, write=True).add("reject", [TWO])
    assert path.read_bytes().count(b"\n") == 3
    assert summary(DecisionLog(folder)) == [
        ("item1", "game", "accept"),
        ("item2", "sound ü", "reject"),
    ]
    path.write_bytes(whole + bytes(40))
    assert DecisionLog(folder).recovered


def test_damage_elsewhere_is_an_error(folder):
    path = folder / DECISIONS_FILE
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    damaged = [
        whole.replace(b"item1", b"item9"),
        b"".join(lines[1:]),
        lines[0] + lines[2] + lines[1],
        b"\n" + whole,
    ]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(InvalidFile, match="is damaged"):
            DecisionLog(folder)
    path.unlink()
    path.symlink_to(folder / "elsewhere")
    with pytest.raises(InvalidFile, match="not a regular file"):
        DecisionLog(folder)


def test_a_full_disk_loses_nothing(folder, monkeypatch):
    log = DecisionLog(folder, write=True)
    before = (folder / DECISIONS_FILE).read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(InvalidFile, match="No space left"):
            log.add("accept", [ONE])
    assert (folder / DECISIONS_FILE).read_bytes() == before
    log.add("skip", [ONE])
    assert summary(DecisionLog(folder))[-1] == ("item1", "game", "skip")


def test_exports_hold_what_was_decided(folder):
    found = DecisionLog(folder).decisions()
    rows = list(csv.DictReader(io.StringIO(as_table(found))))
    lines = [json.loads(line) for line in as_lines(found).splitlines()]
    assert [row["label"] for row in rows] == ["game", "sound ü"]
    assert [list(row) for row in rows] == [list(line) for line in lines]
    assert lines[0]["decision"] == "accept"


# --- a review -------------------------------------------------------------------------------


def test_accepting_changes_labels_and_undoing_restores_them(saved):
    with SemanticIndex.load(saved, write=True) as index:
        review = Review(index)
        wrong = next(one for one in review.waiting(kind="wrong") if one.items == ("item0",))
        assert wrong.labels == ("sound",)
        before = index.item("item0").labels
        total = review.progress().total
        review.decide([wrong], "accept")
        assert "sound" not in index.item("item0").labels
        assert wrong not in review.waiting()
        progress = review.progress()
        assert (progress.decided, progress.total) == (1, total)
        assert review.changes() == {"item0": {"sound": False}}
        assert [one.item for one in review.undo()] == ["item0"]
        assert index.item("item0").labels == before
        assert wrong in review.waiting()
        missing = review.waiting(kind="missing")[0]
        review.decide([missing, wrong], "accept")
        assert missing.labels[0] in index.item(missing.items[0]).labels
        assert review.findings_of(review.undo()) == [missing, wrong]
        review.decide([missing], "skip")
        assert review.waiting(skipped=True) == [missing]
        assert review.find([finding_key(wrong), "other"]) == [wrong]
        assert review.explain(wrong).label == "sound"
    with SemanticIndex.load(saved, write=True) as index:
        assert [one.decision for one in Review(index).decisions()] == ["skip"]


def test_decisions_remain_after_a_save_and_a_new_order(saved):
    with SemanticIndex.load(saved, write=True) as index:
        review = Review(index)
        wrong = next(one for one in review.waiting() if one.items == ("item0",))
        review.decide([wrong], "accept")
        index.save()
        assert Review(index).order().progress().accepted == 1
        review.order()
        assert wrong.labels[0] not in [
            one.labels[0] for one in review.waiting() if one.items == ("item0",)
        ]
        review.undo()
        assert review.waiting()[0].items == ("item0",)
        assert "sound" in index.item("item0").labels
    texts, labels, ids, _ = corpus()
    SemanticIndex().fit(texts, labels, ids).save(saved)
    assert (saved / DECISIONS_FILE).exists()


def test_an_index_in_memory_keeps_decisions_in_memory():
    review = Review(planted_index())
    finding = review.waiting()[0]
    review.decide([finding], "reject")
    assert review.decisions()[0].item == finding.items[0]
    label, count = review.labels()[0]
    assert len(review.waiting(label=label)) == count


def test_what_cannot_be_reviewed_is_refused(saved):
    with SemanticIndex.load(saved) as index, pytest.raises(Mismatch, match="write=True"):
        Review(index)
    texts, *_ = corpus(12)
    with pytest.raises(Mismatch, match="without labels"):
        Review(SemanticIndex(estimator=LSI(3)).fit(texts))
    review = Review(planted_index())
    with pytest.raises(InvalidParameter, match="kind must be"):
        review.waiting(kind="junk")
    with pytest.raises(InvalidInput, match="A decision is one of"):
        review.decide(review.waiting()[:1], "perhaps")
    with pytest.raises(InvalidParameter, match="kinds must be"):
        review.index.audit(kinds=["odd"])


# For each folder a process that kills itself while the third line is written, or between the log
# and the index; they are forked from one, which imports only once.
KILLED = """
import os, signal, sys
from labelspan import SemanticIndex
from labelspan.index import Review, decisions

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def decide(folder, where, cut):
    index = SemanticIndex.load(folder, write=True)
    review = Review(index)
    first, second = [one for one in review.waiting(kind="wrong")][:2]
    review.decide([first], "accept")
    if where == "line":
        sync = os.fsync
        def torn(handle):
            os.truncate(handle, os.fstat(handle).st_size - cut)
            sync(handle)
            die()
        os.fsync = torn
    else:
        SemanticIndex.relabel = lambda *_: die()
        if where == "undo":
            review.undo()
    review.decide([second], "accept")

for argument in sys.argv[1:]:
    folder, where, cut = argument.split(",")
    number = os.fork()
    if number == 0:
        try:
            decide(folder, where, int(cut))
        finally:
            os._exit(1)
    status = os.waitpid(number, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (argument, status)
"""
KILLS = {("line", 1): 1, ("line", 30): 1, ("relabel", 0): 2, ("undo", 0): 0}


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_kill_during_a_decision(original_planted, tmp_path):
    folders = {kill: tmp_path / f"{kill[0]}{kill[1]}" for kill in KILLS}
    for folder in folders.values():
        shutil.copytree(original_planted, folder)
    arguments = [f"{folder},{where},{cut}" for (where, cut), folder in folders.items()]
    done = forked(KILLED, *arguments)
    assert done.returncode == 0, done.stderr
    _, labels, ids = planted()
    for kill, folder in folders.items():
        with SemanticIndex.load(folder, write=True) as index:
            review = Review(index)
            assert review.recovered, kill
            made = review.decisions()
            assert len(made) == KILLS[kill], kill
            # Labels and log agree: every change that is in the log has reached the index.
            for one in made:
                assert one.label not in index.item(one.item).labels
            changed = [
                name
                for name, own in zip(ids, labels, strict=True)
                if set(own) != set(index.item(name).labels)
            ]
            assert sorted(changed) == sorted({one.item for one in made})
            assert not Review(index).recovered
