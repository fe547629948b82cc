"""The whole review in a browser: keys, bulk, undo, without scripts, and kills in mid-decision."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from _support.chromium import CHROMIUM
from _support.commands import run
from _support.topics import planted, planted_index

from labelspan import SemanticIndex

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="install labelspan[app]")
pytest.importorskip("playwright.sync_api", reason="install labelspan[e2e]")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL"),
]

# Serves; and kills itself before a decision is committed, or right after it.
SERVE = """
import os, signal, sys
from labelspan.cli import app
from labelspan.index.store import ItemDatabase
from labelspan.index.store import ItemStore

where = sys.argv.pop(1)

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if where == "before":
    ItemDatabase.put_decisions = die
if where == "after":
    ItemStore._take = die
app()
"""


@contextmanager
def serving(folder, where="nowhere"):
    """The command, serving for editing; gives the address that lets a browser in, and it."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, where, "serve", str(folder), "--edit", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        process.stderr.readline()
        yield re.search(r"http://\S+", process.stderr.readline())[0], process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "index"
    planted_index().save(path)
    return path


@contextmanager
def opened(browser, address, *, complaints=None, **settings):
    """The review in a fresh browser; sees that nothing was asked of others, and nothing failed."""
    found, hosts = [] if complaints is None else complaints, set()
    context = browser.new_context(**settings)
    context.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    context.on(
        "console", lambda said: found.append(said.text) if said.type in {"error", "warning"} else 0
    )
    context.on("weberror", lambda error: found.append(str(error.error)))
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector('#review[data-state="ready"]')
    yield page
    context.close()
    assert hosts == {"127.0.0.1"}
    if complaints is None:
        assert found == []


def press(page, key, said):
    page.keyboard.press(key)
    page.wait_for_function(
        "words => document.getElementById('said')?.textContent.startsWith(words)", arg=said
    )


def labels_of(folder, item):
    with SemanticIndex.load(folder) as index:
        return index.item(item).labels


def test_review_by_keyboard(browser, folder):
    with serving(folder) as (address, process), opened(browser, address) as page:
        assert urlsplit(page.url).path == "/review"
        assert "token" not in page.url
        page.select_option("#of-kind", "wrong")
        page.locator(".review-filters button").click()
        page.wait_for_url("**/review?*kind=wrong*")
        total = page.locator(".queue li").count()
        first = page.locator(".question").get_attribute("data-key")
        item = page.locator(".question .of a").inner_text()
        press(page, "a", "Removed: ")
        assert page.locator(".question").get_attribute("data-key") != first
        assert page.evaluate("document.activeElement.id") == "question"
        assert page.locator(".queue li").count() == total - 1
        assert f"1 of {total} decided" in page.locator(".progress").inner_text()
        press(page, "r", "Kept: ")
        press(page, "s", "Skipped: ")
        press(page, "u", "The last decision was undone.")
        second = page.locator(".queue li").nth(1).get_attribute("data-key")
        page.keyboard.press("j")
        page.wait_for_selector(f'.question[data-key="{second}"]')
        page.keyboard.press("x")
        assert page.locator(".queue input:checked").count() == 1
        page.keyboard.press("k")
        page.wait_for_selector(f'.question:not([data-key="{second}"])')
        page.locator("#every").check()
        left = page.locator(".queue li").count()
        page.get_by_role("button", name="Accept selected").click()
        page.wait_for_function(
            "words => document.getElementById('said')?.textContent === words",
            arg=f"{left} decisions were kept.",
        )
        assert "Nothing is waiting" in page.locator("#review").inner_text()
        press(page, "u", "The last decision was undone.")
        # With the cookie, but not from the page and without its secret.
        undo = page.url.partition("/review")[0] + "/review/undo"
        assert page.context.request.post(undo, form={"secret": "guessed"}).status == 403
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        process.kill()
        process.wait()
    assert len([one for one in exported(folder) if one["decision"] == "accept"]) == 1
    with SemanticIndex.load(folder) as index:
        changed = [
            name
            for name, own in zip(*reversed(planted()[1:]), strict=True)
            if sorted(own) != sorted(index.item(name).labels)
        ]
    assert changed == [exported(folder)[0]["item"]]
    assert item


def exported(folder):
    return [json.loads(line) for line in run("review", folder, "--export", "-").stdout.splitlines()]


def test_kills_during_a_decision_lose_nothing(browser, folder, tmp_path):
    with serving(folder, "before") as (address, process):
        with opened(browser, address, complaints=[]) as page:
            press(page, "a", "The server did not answer")
        assert process.wait() == -9
    assert exported(folder) == []
    with serving(folder, "after") as (address, process):
        with opened(browser, address, complaints=[]) as page:
            key = page.locator(".question").get_attribute("data-key")
            press(page, "a", "The server did not answer")
        assert process.wait() == -9
    (made,) = exported(folder)
    # Decision and label are one transaction.
    assert (made["label"] in labels_of(folder, made["item"])) == (made["kind"] == "missing")
    with serving(folder) as (address, _), opened(browser, address) as page:
        assert page.locator(f'[data-key="{key}"]').count() == 0
        assert "1 of " in page.locator(".progress").inner_text()
    assert (made["label"] in labels_of(folder, made["item"])) == (made["kind"] == "missing")
    texts, labels, ids = planted()
    rows = zip(ids, texts, labels, strict=True)
    lines = [json.dumps({"id": name, "text": text, "tags": own}) for name, text, own in rows]
    corpus = tmp_path / "notes.jsonl"
    corpus.write_text("\n".join(lines))
    run("review", folder, "--apply", corpus, "--out", tmp_path / "copy.jsonl")
    after = [json.loads(line) for line in (tmp_path / "copy.jsonl").read_text().splitlines()]
    different = [row["id"] for row, own in zip(after, labels, strict=True) if row["tags"] != own]
    assert different == [made["item"]]


def test_the_forms_work_without_scripts(browser, folder):
    with serving(folder) as (address, _):
        # Until the queue is made, the page must be loaded again.
        with opened(browser, address):
            pass
        with opened(
            browser,
            address,
            java_script_enabled=False,
        ) as page:
            page.get_by_role("button", name="Skip", exact=False).first.click()
            assert page.locator("#said").inner_text().startswith("Skipped: ")
            page.get_by_role("button", name="Undo").click()
            assert page.locator("#said").inner_text() == "The last decision was undone."
            page.locator("a.look").nth(2).click()
            assert page.locator(".queue li").nth(2).get_attribute("class") == "on"
            for number in (0, 1):
                page.locator(".queue input").nth(number).check()
            page.get_by_role("button", name="Reject selected").click()
            assert page.locator("#said").inner_text() == "2 decisions were kept."
            assert not page.locator("#every").is_visible()
    assert [one["decision"] for one in exported(folder)] == ["reject", "reject"]
