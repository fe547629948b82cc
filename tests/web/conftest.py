"""A browser for the tests that need one."""

import pytest
from _support.chromium import launch


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="install labelspan[e2e]")
    with playwright.sync_playwright() as play:
        started = launch(play)
        yield started
        started.close()
