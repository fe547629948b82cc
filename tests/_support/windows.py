"""The explorer for editing, and windows of a browser that is let in."""

import re
from contextlib import contextmanager
from urllib.parse import urlsplit

from _support.explorer import command, running

from labelspan.web import Served

# Serves, and kills itself before a decision is committed, or right after it; mock.patch raises an
# error if the method does not exist.
SERVE = """
import os, signal, sys
from unittest import mock
from labelspan.cli import app
from labelspan.index.database import ItemDatabase

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

methods = {"before": "log", "after": "merge_log"}
with mock.patch.object(ItemDatabase, methods[sys.argv.pop(1)], die):
    app()
"""


@contextmanager
def serving(folder):
    """Serve for editing, in this process; gives the address that lets a browser in."""
    served = Served(folder, edit=True, who="anna")
    with running(served, watch=True) as (host, port):
        yield served.editing.access.address(f"http://{host}:{port}")


@contextmanager
def dying(folder, where):
    """The command, which kills itself at some point; gives the address, and the process."""
    options = ("--as", "anna")
    with command(folder, *options, script=SERVE, given=[where]) as process:
        yield re.search(r"http://\S+", process.stderr.readline())[0], process


@contextmanager
def opened(browser, address, at=None, *, complaints=None):
    """A page of a browser that was let in; nothing is asked of others, and nothing fails."""
    found, hosts = [] if complaints is None else complaints, set()
    context = browser.new_context(base_url=address.partition("/enter")[0])
    context.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    context.on(
        "console", lambda said: found.append(said.text) if said.type in {"error", "warning"} else 0
    )
    context.on("weberror", lambda error: found.append(error.error.stack or str(error.error)))
    context.set_default_timeout(60_000)
    assert context.request.get(address, max_redirects=0).headers["location"] == "/"
    page = context.new_page()
    if at is not None:
        page.goto(at)
    if at == "/review":
        page.wait_for_selector("#question:not([hidden]) #evidence > div")
    yield page
    context.close()
    assert hosts == {"127.0.0.1"}
    if complaints is None:
        assert found == []


def said(page, text, where="#decided"):
    page.locator(where, has_text=text).wait_for()
