"""What a test opens of a saved index is closed at its end."""

import os
import sqlite3
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest import mock

DESCRIPTORS = Path("/proc/self/fd")


def is_open(connection):
    try:
        connection.total_changes  # noqa: B018 - it fails if the connection is closed
    except sqlite3.ProgrammingError:
        return False
    return True


def locks():
    """Locks of writers that the process holds, and how often."""
    found = []
    for number in os.listdir(DESCRIPTORS) if DESCRIPTORS.is_dir() else ():
        with suppress(FileNotFoundError):
            found.append(os.readlink(DESCRIPTORS / number))
    return Counter(one for one in found if one.endswith("/lock"))


@contextmanager
def connections():
    """Hold all connections that are made, so that none is closed only by being forgotten."""
    connect, opened = sqlite3.connect, []

    def recorded(name, *args, **options):
        opened.append((str(name), connect(name, *args, **options)))
        return opened[-1][1]

    with mock.patch.object(sqlite3, "connect", recorded):
        yield opened


@contextmanager
def nothing_stays_open():
    """See that connections to files are closed, and locks given back."""
    before = locks()
    with connections() as opened:
        yield
    left = [name for name, one in opened if name not in ("", ":memory:") and is_open(one)]
    for _, one in opened:
        one.close()
    left += locks() - before
    assert not left, left
