"""One thread per worker, a saved index, and which of the slow tests run."""

import os
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


SLOW = Path(__file__).with_name("slow.txt")


def pytest_addoption(parser):
    parser.addoption(
        "--slow",
        choices=["none", "tenth", "all"],
        default="none",
        help="tests of slow.txt: none, a tenth that the commit chooses, or all",
    )


def pytest_collection_modifyitems(config, items):
    """Leave slow tests out unless they are asked for, or named on the command line."""
    share = config.getoption("--slow")
    if share == "all" or any("::" in argument for argument in config.args):
        return
    slow = set(SLOW.read_text(encoding="utf-8").split())
    commit = _commit() if share == "tenth" else ""
    left_out = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name in slow or name.partition("::")[0] in slow:
            chosen = share == "tenth" and zlib.crc32(f"{commit} {item.nodeid}".encode()) % 10 == 0
            if not chosen:
                left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        left = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in left]


def _commit():
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=SLOW.parent, capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


@pytest.fixture(scope="session")
def original(tmp_path_factory):
    """A saved index, not to be changed."""
    from _support.stored import made

    folder = tmp_path_factory.mktemp("store") / "index"
    made().save(folder)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(original, tmp_path / "index"))


@pytest.fixture(scope="session")
def original_small(tmp_path_factory):
    """The smallest index, not to be changed."""
    from _support.hostile import tiny

    return tiny(tmp_path_factory.mktemp("hostile") / "index")


@pytest.fixture
def small(original_small, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(original_small, tmp_path / "index"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
