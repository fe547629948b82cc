"""The command under faults: no memory, a full disk, Ctrl-C, broken corpora."""

import gzip
import json
import os
import sys

import pytest
from _support.forks import forked
from _support.tagged import as_lines, as_table, rows
from typer.testing import CliRunner

from labelspan import SemanticIndex
from labelspan.cli import app

posix = pytest.mark.skipif(sys.platform != "linux", reason="needs fork, limits and /dev/full")

# Each command runs in a forked process: a process of its own, for the price of no import.
TOOLS = """
import json, os, resource, signal, sys, time
from pathlib import Path
from _support.tagged import as_lines, rows
from labelspan import MLSI, SemanticIndex
from labelspan.cli import app
import labelspan.cli.fit, sklearn.manifold

root = Path(sys.argv[1])
os.chdir(root)
Path("small.jsonl").write_text(as_lines(rows(24)))
Path("more.jsonl").write_text(as_lines(rows(40)[24:]))


def start(*args, setup=None, stdout=None):
    number = os.fork()
    if number:
        return number
    code = 99
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for name, place in (("out", 1), ("err", 2)):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            path = stdout if stdout and name == "out" else root.parent / name
            os.dup2(os.open(path, flags), place)
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


def finish(number):
    status = os.waitpid(number, 0)[1]
    assert os.WIFEXITED(status), status
    said = (root.parent / "err").read_text()
    assert "Traceback" not in said, said
    return os.WEXITSTATUS(status), (said.splitlines() or [""])[-1]


def reached(words):
    until = time.monotonic() + 60
    while words not in (root.parent / "err").read_text():
        assert time.monotonic() < until, words
        time.sleep(0.01)


def command(*args, **options):
    return finish(start(*args, **options))


def files():
    return sorted(str(path) for path in root.rglob("*") if "sqlite-" not in path.name)
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
assert command("fit", "small.jsonl", "-o", "index", "--dimensions", 3)[0] == 0
before = files()
found = {}
for more in (30, 60):
    def limited():
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (more << 20),) * 2)
    code, said = command("fit", "large.jsonl", "-o", "new", setup=limited)
    # OpenBLAS has a sentence of its own, and ends the process itself.
    assert code == 1 and said.startswith(
        ("There is not enough memory", "OpenBLAS error: Memory")
    ), (more, code, said)
    assert files() == before
    found[more] = said
more = 20
code, said = command("add", "large.jsonl", "-i", "index", "--replace", setup=limited)
assert code in (0, 1) and (code == 0 or said.startswith("There is not enough memory")), said
assert len(SemanticIndex.load("index")) == (24 if code else 3024)
print(len(found))
"""
)

ROOM = (
    TOOLS
    + """
assert command("fit", "small.jsonl", "-o", "index", "--dimensions", 3)[0] == 0
before = files()
count = 0


def limited(size):
    def setup():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return setup


for size in (0, 3000):
    for args in (
        ["fit", "small.jsonl", "-o", "new", "--dimensions", 3],
        ["fit", "small.jsonl", "-o", "index", "--dimensions", 2, "--force"],
        ["add", "more.jsonl", "-i", "index"],
    ):
        # The sentence itself must go somewhere: not to a file.
        told, tell = os.pipe()
        def setup(size=size, tell=tell):
            os.dup2(tell, 1)
            os.dup2(tell, 2)
            limited(size)()
        number = start(*args, setup=setup)
        os.close(tell)
        said = b""
        while chunk := os.read(told, 65536):
            said += chunk
        os.close(told)
        status = os.waitpid(number, 0)[1]
        lines = said.decode().splitlines()
        assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1, (size, args, status, lines)
        assert "cannot be written" in lines[-1] or "disk I/O error" in lines[-1], lines
        assert "file:" not in lines[-1], lines
        assert "Traceback" not in said.decode()
        left = [path for path in files() if path not in before]
        assert left == [], (size, args, left)
        with SemanticIndex.load("index") as index:
            assert len(index) == 24
        count += 1
# What is printed goes to a disk that is full.
for args in (
    ["info", "index"],
    ["info", "index", "--json"],
    ["search", "-i", "index", "chess"],
    ["search", "-i", "index", "chess", "--json"],
    ["tag", "-i", "index", "chess"],
    ["data", "list"],
    ["fit", "small.jsonl", "-o", "fresh", "--dimensions", 3, "--json"],
    ["--version"],
):
    code, said = command(*args, stdout="/dev/full")
    assert code == 1, (args, code, said)
    assert said == "The output cannot be written: No space left on device.", (args, said)
    count += 1
# Its work was done before.
assert len(SemanticIndex.load("fresh")) == 24
print(count)
"""
)

STOPPED = (
    TOOLS
    + """
import random
random.seed(1)
count = stops = 0
with open("large.jsonl", "w") as file:
    for n, item in enumerate(rows(300) * 3):
        file.write(json.dumps({**item, "id": str(n)}) + "\\n")
assert command("fit", "small.jsonl", "-o", "index", "--dimensions", 3)[0] == 0
before = files()
for args in (
    ["fit", "large.jsonl", "-o", "new"],
    ["fit", "large.jsonl", "-o", "index", "--force"],
):
    for delay in (0.05, random.uniform(0.1, 1.0)):
        (root.parent / "err").write_text("")
        number = start(*args)
        reached("large.jsonl: jsonl")
        time.sleep(delay)
        os.kill(number, signal.SIGINT)
        code, said = finish(number)
        count += 1
        with SemanticIndex.load("index") as index:
            assert len(index) in (24, 900)
        if code == 0:
            continue
        stops += 1
        assert code == 130, (args, code, said)
        assert said == "Stopped; nothing half-written is left.", said
        assert [p for p in files() if p not in before and "generation" not in p] == [], files()
# Ctrl-C is the usual end of a server, and not an error.
number = start("serve", "index", "--port", 0)
reached("Serving")
os.kill(number, signal.SIGINT)
code, said = finish(number)
assert code == 0 and "Serving" in said, (code, said)
assert stops, count
print(count + 1)
"""
)


@posix
@pytest.mark.parametrize(("script", "count"), [(MEMORY, 2), (ROOM, 14), (STOPPED, 5)])
def test_without_memory_or_room_and_after_ctrl_c(script, count, tmp_path):
    pytest.importorskip("uvicorn")
    (tmp_path / "here").mkdir()
    done = forked(script, tmp_path / "here")
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) == count


# --- corpora ------------------------------------------------------------------------------


def invoked(*args):
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done


def changed(**entries):
    items = rows(12)
    items[3].update(entries)
    return as_lines(items).encode()


PACKED = gzip.compress(as_lines(rows(12)).encode())
FLIPPED = PACKED[:-6] + bytes([PACKED[-6] ^ 1]) + PACKED[-5:]
REFUSED = {
    "half a character in a key": (
        "a.jsonl",
        changed(**{"no\ud800te": 1}),
        "item 'item3': metadata[0] has an unpaired surrogate",
    ),
    "a broken line": ("a.jsonl", as_lines(rows(3)).encode()[:-9], "line 3: this is not JSON"),
    "a deep line": ("a.jsonl", b'{"text": ' + b"[" * 100_000, "line 1: this is not JSON"),
    "packed, cut": ("a.jsonl.gz", PACKED[: len(PACKED) // 2], "is damaged"),
    "packed, flipped": ("a.jsonl.gz", FLIPPED, "is damaged"),
    "packed nothing": ("a.jsonl.gz", gzip.compress(b""), "holds no items"),
    "only nulls": ("a.csv", bytes(1000), "UTF-16"),
    "noise as csv": ("a.csv", bytes(range(128, 256)) * 9, "is not UTF-8"),
    "no parquet": ("a.parquet", b"PAR1" + bytes(range(256)) + b"PAR1", "parquet"),
}


REPAIRED = {
    "half a character in a text": ("a.jsonl", changed(body="\ud800")),
    "half a character in metadata": ("a.jsonl", changed(note="\ud800")),
    "half a character in a label": ("a.jsonl", changed(tags=["\ud800"])),
    "half a character in an id": ("a.jsonl", changed(id="\ud800")),
    "utf-16": ("a.csv", as_table(rows(12)).encode("utf-16")),
}


@pytest.mark.parametrize("name", [*REPAIRED, *REFUSED])
def test_corpora_that_are_repaired_or_refused(name, tmp_path):
    file, content, *message = {**REPAIRED, **REFUSED}[name]
    (tmp_path / file).write_bytes(content)
    done = invoked("fit", tmp_path / file, "-o", tmp_path / "index", "--dimensions", 2)
    if message:
        assert done.exit_code == 1
        assert message[0] in done.stderr.splitlines()[-1]
        assert not (tmp_path / "index").exists()
    else:
        assert done.exit_code == 0, done.output
        with SemanticIndex.load(tmp_path / "index") as index:
            assert len(index) == 12


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and links")
def test_a_folder_with_pipes_and_links_to_nowhere(tmp_path):
    for number, text in enumerate(["chess board", "photo camera", "chess player"]):
        (tmp_path / f"{number}.txt").write_text(text)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to("missing")
    (tmp_path / "itself").symlink_to("itself")
    (tmp_path / "above").symlink_to("..")
    out = tmp_path.parent / f"{tmp_path.name}.index"
    done = invoked("fit", tmp_path, "-o", out, "--method", "lsi", "--labels", "", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["items"] == 3


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_a_device_without_end_is_not_read(tmp_path):
    done = invoked("fit", "/dev/zero", "-o", tmp_path / "index")
    assert done.exit_code == 1
    assert "/dev/zero is a device, which may never end" in done.stderr
