"""Folders that somebody has tampered with, and what must come of loading them."""

import os
import random
import shutil
import signal
import sqlite3
from contextlib import closing, contextmanager

from _support.stored import answers, generation, made

from labelspan import MLSI, SemanticIndex
from labelspan.errors import LabelspanError

# Every byte and every place of the manifest; otherwise as many as a minute has room for.
THOROUGH = os.environ.get("LABELSPAN_FUZZ") == "all"
_LONGEST_SENTENCE = 500


def tiny(folder):
    """A small index, so that all of its bytes can be tried."""
    made(8, estimator=MLSI(2)).save(folder)
    return folder


def files(folder):
    """All files that count, by name."""
    found = [folder / "manifest.json", *sorted(generation(folder).iterdir())]
    return {path.name: path for path in found if not path.name.startswith("items.sqlite-")}


def sample(cases, count, seed=0):
    """All cases, or a random sample of them, always the same."""
    cases = list(cases)
    return cases if THOROUGH or len(cases) <= count else random.Random(seed).sample(cases, count)


@contextmanager
def time_limit(seconds):
    """Fail where something blocks or goes on for ever."""

    def late(*_):
        raise TimeoutError("it took too long")

    old = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def attempt(folder, *, verify=True, write=False, seconds=120):
    """What the index answers, or the sentence by which it was refused; nothing else."""
    for name in ("-wal", "-shm"):
        for path in folder.glob(f"generation-*/items.sqlite{name}"):
            if path.is_file() and not path.is_symlink():
                path.unlink()
    try:
        with (
            time_limit(seconds),
            SemanticIndex.load(folder, verify=verify, write=write) as index,
        ):
            return answers(index)
    except LabelspanError as error:
        return sentence(error)


def sentence(error):
    """The text of an error, which must be one sentence, short enough to read."""
    said = str(error)
    assert "\n" not in said
    assert 20 < len(said) < _LONGEST_SENTENCE, said
    assert said.endswith((".", "?")), said
    assert ": None" not in said, said
    return said


def refused(folder, match="", **options):
    """See that an index is refused, in words that hold ``match``; gives them."""
    found = attempt(folder, **options)
    assert isinstance(found, str), "it was loaded"
    assert match in found, found
    return found


@contextmanager
def changed(path, content):
    """A file with another content, for a while."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


@contextmanager
def aside(path):
    """A file or folder that is not there, for a while; what is put in its place goes."""
    kept = path.with_name("aside")
    path.rename(kept)
    try:
        yield
    finally:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        kept.rename(path)


def altered(folder, statements):
    """Change the table of items by SQL."""
    with closing(sqlite3.connect(generation(folder) / "items.sqlite")) as database:
        database.executescript(statements)
