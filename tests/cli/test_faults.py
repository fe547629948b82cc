"""The command under faults: no memory, output that cannot be written, texts that are no Unicode.

Full disks and kills are in ``tests/index/test_hostile_kills.py``.
"""

import sys

import pytest
from _support.commands import run
from _support.forks import forked
from _support.tagged import as_lines, as_table, rows

from labelspan import SemanticIndex

# Each command runs in a forked process: a process of its own, for the price of no import.
TOOLS = """
import json, os, resource, sys
from pathlib import Path
from _support.tagged import as_lines, rows
from labelspan import SemanticIndex
from labelspan.cli import app
import labelspan.cli.fit, sklearn.manifold

root = Path(sys.argv[1])
os.chdir(root)
Path("small.jsonl").write_text(as_lines(rows(24)))


def command(*args, setup=None, stdout="/dev/null"):
    number = os.fork()
    if number == 0:
        code = 99
        try:
            for path, place in ((stdout, 1), (root.parent / "err", 2)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), place)
            if setup is not None:
                setup()
            app([str(arg) for arg in args])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 98
        except BaseException as error:
            os.write(2, repr(error).encode())
        finally:
            try:
                sys.stdout.flush()
            except OSError:
                code = 120
            os._exit(code)
    status = os.waitpid(number, 0)[1]
    assert os.WIFEXITED(status), status
    said = (root.parent / "err").read_text()
    assert "Traceback" not in said, said
    return os.WEXITSTATUS(status), (said.splitlines() or [""])[-1]


assert command("fit", "small.jsonl", "-o", "index", "--dimensions", 3)[0] == 0
"""

MEMORY = (
    TOOLS
    + """
import numpy as np
rng = np.random.default_rng(0)
words = np.array([f"w{n}" for n in range(30000)])
with open("large.jsonl", "w") as file:
    for n in range(3000):
        text = " ".join(words[rng.integers(30000, size=60)])
        file.write(json.dumps({"id": str(n), "text": text, "tags": [f"t{n % 40}"]}) + "\\n")
before = sorted(map(str, root.rglob("*")))


def limited(more):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (more << 20),) * 2)


for more in (30, 60):
    code, said = command("fit", "large.jsonl", "-o", "new", setup=lambda: limited(more))
    # OpenBLAS has a sentence of its own, and ends the process itself.
    assert code == 1 and said.startswith(
        ("There is not enough memory", "OpenBLAS error: Memory")
    ), (more, code, said)
    assert sorted(map(str, root.rglob("*"))) == before
code, said = command("add", "large.jsonl", "-i", "index", "--replace", setup=lambda: limited(20))
assert code in (0, 1) and (code == 0 or said.startswith("There is not enough memory")), said
assert len(SemanticIndex.load("index")) == (24 if code else 3024)
"""
)

FULL = (
    TOOLS
    + """
for args in (
    ["info", "index"],
    ["search", "-i", "index", "chess"],
    ["search", "-i", "index", "chess", "--json"],
    ["tag", "-i", "index", "chess"],
    ["fit", "small.jsonl", "-o", "fresh", "--dimensions", 3, "--json"],
    ["--version"],
):
    code, said = command(*args, stdout="/dev/full")
    assert (code, said) == (1, "The output cannot be written: No space left on device."), args
# Its work was done before.
assert len(SemanticIndex.load("fresh")) == 24
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork, limits and /dev/full")
@pytest.mark.parametrize("script", [MEMORY, FULL], ids=["memory", "full output"])
def test_without_memory_or_an_output(script, tmp_path):
    (tmp_path / "here").mkdir()
    done = forked(script, tmp_path / "here")
    assert done.returncode == 0, done.stderr[-3000:]


def changed(**entries):
    items = rows(12)
    items[3].update(entries)
    return as_lines(items).encode()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.jsonl", changed(body="\ud800")),
        ("a.jsonl", changed(note="\ud800")),
        ("a.jsonl", changed(tags=["\ud800"])),
        ("a.jsonl", changed(id="\ud800")),
        ("a.csv", as_table(rows(12)).encode("utf-16")),
    ],
    ids=["text", "metadata", "label", "id", "utf-16"],
)
def test_half_characters_are_repaired(file, content, here):
    (here / file).write_bytes(content)
    done = run("fit", file, "-o", "index", "--dimensions", 2)
    assert done.exit_code == 0, done.output
    with SemanticIndex.load("index") as index:
        assert len(index) == 12


def test_half_a_character_in_a_key_is_refused(here):
    (here / "a.jsonl").write_bytes(changed(**{"no\ud800te": 1}))
    done = run("fit", "a.jsonl", "-o", "index", "--dimensions", 2)
    assert done.exit_code == 1
    assert "item 'item3': metadata[0] has an unpaired surrogate" in done.stderr
    assert not (here / "index").exists()
