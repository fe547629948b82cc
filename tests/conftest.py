"""One thread a worker, for libraries that spin would starve each other; and a saved index."""

import os
import shutil
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


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
