"""One audit for several processes."""

import json
import os
import subprocess
import sys
import tempfile
import threading

import pytest

pytest.importorskip("fcntl", reason="several processes serve on Linux and macOS")
pytest.importorskip("starlette", reason="install labelspan[test]")

from labelspan.index import Finding, LabelAudit
from labelspan.web.shared_audit import SharedAudit

AUDIT = LabelAudit(
    (
        Finding("wrong", 0.75, ("a", "b"), ("c",), "Why.", {"votes": 0.5, "all": [1.0]}, ("A", "")),
        Finding("junk", 1.0, (), ("TODO ä",), "It says nothing."),
    ),
    3,
    2,
)
# Says when it computes, waits for a line, and tells what it got.
WORKER = """
import sys
from labelspan.index import LabelAudit
from labelspan.web.shared_audit import SharedAudit
def make():
    print("computing", flush=True)
    sys.stdin.readline()
    return LabelAudit((), 7, 5)
print(SharedAudit(int(sys.argv[1])).get("first", make).n_items, flush=True)
"""


def never():
    raise AssertionError("it is kept")


@pytest.fixture
def file():
    with tempfile.TemporaryFile() as made:
        yield made


def test_an_audit_is_read_as_it_was_made(file):
    shared = SharedAudit(file.fileno())
    assert shared.get("first", lambda: AUDIT) == AUDIT
    assert SharedAudit(file.fileno()).get("first", never) == AUDIT
    other = LabelAudit((), 0, 0)
    assert shared.get("second", lambda: other) == other
    assert shared.get("second", never) == other
    assert shared.get("first", lambda: AUDIT) == AUDIT, "only the last one is kept"


def test_a_half_written_audit_is_computed_again(file):
    shared = SharedAudit(file.fileno())
    shared.get("first", lambda: AUDIT)
    os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size // 2)
    assert shared.get("first", lambda: AUDIT) == AUDIT
    assert json.loads(os.pread(file.fileno(), 1 << 20, 0))["state"] == "first"


def test_a_failure_leaves_nothing_behind(file):
    shared = SharedAudit(file.fileno())
    with pytest.raises(ZeroDivisionError):
        shared.get("first", lambda: 1 / 0)
    assert shared.get("first", lambda: AUDIT) == AUDIT


def start(file):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(file.fileno())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[file.fileno()],
        text=True,
    )


def test_of_two_processes_one_computes(file):
    with start(file) as first:
        assert first.stdout.readline() == "computing\n"
        with start(file) as second:
            first.communicate("go\n")
            assert second.communicate()[0] == "7\n", "it has not computed"


def test_when_the_one_that_computes_is_killed_another_does(file):
    found = []
    with start(file) as first:
        assert first.stdout.readline() == "computing\n"
        waiting = threading.Thread(
            target=lambda: found.append(SharedAudit(file.fileno()).get("first", lambda: AUDIT))
        )
        waiting.start()
        first.kill()
        waiting.join()
    assert found == [AUDIT]
