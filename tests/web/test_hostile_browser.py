"""A hostile corpus in a browser: nothing of it is run, on any page."""

from urllib.parse import quote_plus

import pytest
from _support.chromium import CHROMIUM, launch
from _support.explorer import ATTACKS, listen, make_attacks

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="install labelspan[app]")
playwright = pytest.importorskip("playwright.sync_api", reason="install labelspan[e2e]")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


def test_nothing_in_a_corpus_is_run(tmp_path):
    make_attacks(tmp_path / "index")
    seen, asked = [], []
    with (
        listen(tmp_path / "index", drawn=True) as (host, port),
        playwright.sync_playwright() as play,
    ):
        browser = launch(play)
        context = browser.new_context(base_url=f"http://{host}:{port}")
        context.set_default_timeout(120_000)
        context.on("dialog", lambda dialog: (seen.append(dialog.message), dialog.dismiss()))
        context.on("weberror", lambda error: seen.append(str(error.error)))
        # What the content security policy had to stop would be said here.
        context.on("console", lambda said: seen.append(said.text) if said.type == "error" else None)
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        for number, name in enumerate(ATTACKS):
            value = quote_plus(name)
            own = quote_plus(f"{name}{number}")
            for path in (
                f"/search?q={value}&label={value}",
                f"/item?id={own}",
                f"/label?name={value}",
                f"/why?id={own}&q=chess",
                f"/tag?text={value}",
            ):
                assert page.goto(path).status == 200, path
        for name in (ATTACKS[1], "__proto__", ATTACKS[10]):
            page.goto(f"/map?colour={quote_plus(name)}")
            page.wait_for_selector("#map[data-drawn]", timeout=180_000)
            assert page.locator("#legend bdi").first.inner_text() == name
            page.locator("#map").focus()
            page.keyboard.press("Enter")
            page.wait_for_selector("#results tbody tr")
        page.goto("/search?q=chess")
        page.locator("a.why").first.click()
        page.locator(".hit").first.locator(".explained").wait_for()
        assert context.cookies() == []
        browser.close()
    assert seen == []
    assert all(url.startswith((f"http://{host}:{port}/", "data:", "blob:")) for url in asked)
