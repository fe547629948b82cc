"""A small index, a client of its explorer, and a browser."""

import pytest
from _support.chromium import launch
from _support.explorer import explore, make_index

from labelspan import SemanticIndex


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """An index of 60 items, which no test changes."""
    path = tmp_path_factory.mktemp("explorer") / "index"
    make_index(path)
    return path


@pytest.fixture(scope="module")
def index(folder):
    with SemanticIndex.load(folder) as index:
        yield index


@pytest.fixture(scope="module")
def client(folder):
    with explore(folder, drawn=True) as client:
        yield client


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="install labelspan[e2e]")
    with playwright.sync_playwright() as play:
        started = launch(play)
        yield started
        started.close()
