"""One thread per worker, a saved index, and whether the slow tests run."""

import os
import shutil
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


SLOW = Path(__file__).with_name("slow.txt")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests of slow.txt, too")


def pytest_collection_modifyitems(config, items):
    """Leave slow tests out unless they are asked for, or named on the command line."""
    if config.getoption("--slow") or any("::" in argument for argument in config.args):
        return
    slow = set(SLOW.read_text(encoding="utf-8").split())

    def is_slow(item):
        name = item.nodeid.partition("[")[0]
        return name in slow or name.partition("::")[0] in slow

    if left_out := [item for item in items if is_slow(item)]:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not is_slow(item)]


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
