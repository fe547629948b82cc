"""SIGKILL at every step of a save, and every way of writing under kills and other faults."""

import sys

import pytest
from _support.forks import forked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

# Children are forked, so that each is a process of its own and costs no import. In a child a
# hook is told of every file that Python opens, renames or removes below a folder; before the
# n-th of them the child kills itself. What a save imports late, the parent imports: it saves once,
# elsewhere.
SAVES = """
import os, shutil, signal, sys
from pathlib import Path
from _support.hostile import THOROUGH
from _support.stored import answers, made
from labelspan import MLSI, SemanticIndex
from labelspan.errors import MissingData

EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}
root = Path(sys.argv[1])
out = root / "index"


def watched(step):
    count = 0

    def hook(event, args):
        nonlocal count
        if event in EVENTS and args and str(args[0]).startswith(str(out)):
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def child(task, step):
    "Run a task in a process that is killed; gives whether it was killed before its end."
    number = os.fork()
    if number == 0:
        code = 1
        try:
            watched(step)
            task()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(number, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return os.WIFSIGNALED(status)


def state():
    "What the folder holds: the answers of its index, or nothing."
    try:
        with SemanticIndex.load(out) as index:
            return answers(index)
    except MissingData:
        return None


small, large = made(8, estimator=MLSI(2)), made(14, estimator=MLSI(3))
small.save(root / "elsewhere")
states = [None, answers(small), answers(large)]
seen, kills = set(), 0
for old, new, index in ((0, 1, small), (1, 2, large)):
    step = 0
    while True:
        step += 1 if THOROUGH else 5
        killed = child(lambda: index.save(out), step=step)
        found = states.index(state())
        assert found in (old, new), (old, step)
        if not killed:
            assert found == new
            break
        kills += 1
        seen.add((old, found))
        # What was left does not bar the next one, who takes it away.
        if found == new or old == 0:
            shutil.rmtree(out, ignore_errors=True)
            old and small.save(out)
    with SemanticIndex.load(out) as index:
        left = {"lock", "manifest.json", index.state.partition(",")[0]}
    assert set(os.listdir(out)) == left, os.listdir(out)
assert {(0, 0), (1, 1), (1, 2)} <= seen, seen
print(kills)
"""

# Ways of writing that end in a transaction or in a new file, at random moments; then damaged files,
# a full disk and a folder that cannot be written to. The benchmark of that name does this hundreds
# of times, for fits and streams too.
COMMANDS = """
import tempfile
from pathlib import Path
from benchmarks.kills import Kills

# Not a folder of pytest, which another user, for whom files can be read only, cannot enter.
folder = tempfile.TemporaryDirectory()
work = Kills(Path(folder.name), seed=1, count=40)
seen = work.rounds(10, ["add", "relabel", "remove", "review", "write-back"])
print(sum(seen.values()))
damaged, full, kept = work.damage(24), work.full(10), work.read_only()
assert damaged["refused"] > 12, damaged
print(sum(damaged.values()), sum(full.values()), sum(kept.values()))
assert {how for _, how in kept} == {"refused"}, kept
"""


def numbers(script, folder):
    done = forked(script, folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return [int(word) for word in done.stdout.split()]


def test_a_save_killed_at_any_step(tmp_path):
    (kills,) = numbers(SAVES, tmp_path)
    assert kills > 12


def test_the_commands_killed_at_many_moments_and_under_faults(tmp_path):
    assert numbers(COMMANDS, tmp_path) == [10, 24, 10, 10]
