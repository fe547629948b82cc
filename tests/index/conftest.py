"""After every test, what it opened of a saved index is closed."""

import pytest
from _support.closing import nothing_stays_open


@pytest.fixture(autouse=True)
def closed():
    with nothing_stays_open():
        yield
