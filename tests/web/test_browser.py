"""The explorer in a browser: Debian's chromium, headless, driven by Playwright."""

import io
import json
import re
import subprocess
import sys
import time
import urllib.request
from urllib.parse import urlsplit

import pytest
from _support.chromium import CHROMIUM
from _support.explorer import ODD, WORDS, make_index

for needed in ("starlette", "uvicorn", "bokeh"):
    pytest.importorskip(needed, reason="install labelspan[app]")
imread = pytest.importorskip("matplotlib.image", reason="install labelspan[plot]").imread
pytest.importorskip("playwright.sync_api", reason="install labelspan[e2e]")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

IMAGE = sorted(WORDS)[2]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The command, serving a small index whose map is drawn."""
    folder = tmp_path_factory.mktemp("browser") / "index"
    make_index(folder)
    script = [sys.executable, "-c", "from labelspan.cli import app; app()"]
    process = subprocess.Popen(
        [*script, "serve", str(folder), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    try:
        where = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())[0]
        end = time.monotonic() + 180
        while time.monotonic() < end:
            with urllib.request.urlopen(f"{where}/map.json") as answer:
                if json.load(answer)["state"] == "ready":
                    break
            time.sleep(0.1)
        yield where
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture
def open_page(browser, address):
    """Opens pages, and sees at the end that nothing was asked of others and nothing failed."""
    contexts, requests, complaints = [], [], []

    def complain(message):
        if message.type in {"error", "warning"}:
            complaints.append(message.text)

    def start(**settings):
        settings = {"viewport": {"width": 900, "height": 620}} | settings
        context = browser.new_context(base_url=address, **settings)
        context.on("request", lambda request: requests.append(request.url))
        context.on("console", complain)
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.set_default_timeout(120_000)
        contexts.append(context)
        return context.new_page()

    yield start
    for context in contexts:
        context.close()
    assert requests
    hosts = {urlsplit(url).hostname for url in requests if not url.startswith(("data:", "blob:"))}
    assert hosts == {"127.0.0.1"}, "a request left this machine"
    # Among these would be what the content security policy refused.
    assert complaints == []


def show_map(page, query=""):
    page.goto(f"/map{query}")
    page.wait_for_selector("#map[data-drawn]", timeout=180_000)
    page.wait_for_timeout(300)
    return page.locator("#map").bounding_box()


def place_of(page, name):
    """Where on the screen a point lies."""
    return page.evaluate(
        """async (id) => {
          const points = await (await fetch("/map/points.json")).json();
          const row = points.ids.indexOf(id);
          const view = Bokeh.index.roots[0];
          const box = document.getElementById("map").getBoundingClientRect();
          const { x_scale, y_scale } = view.frame;
          const [x, y] = [points.x[row] / 32767, points.y[row] / 32767];
          return [box.x + x_scale.compute(x), box.y + y_scale.compute(y)];
        }""",
        name,
    )


def test_search_ask_why_and_open_an_item(open_page):
    page = open_page()
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("chess player")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=chess+player")
    first = page.locator(".hit").first
    assert first.locator("h3 mark").first.inner_text() in {"chess", "player"}
    assert "game" in first.locator(".chips").inner_text()
    why = first.locator("a.why")
    why.click()
    first.locator(".explained").wait_for()
    assert "Words in its text" in first.locator(".explained").inner_text()
    assert why.get_attribute("aria-expanded") == "true"
    why.press(" ")
    assert not first.locator(".explained").is_visible()
    name = first.get_attribute("data-id")
    first.locator("h3 a").first.click()
    page.wait_for_url("**/item?id=*")
    assert page.locator("article .id").inner_text().strip() == name.strip()
    assert page.locator(".hits .hit").count() == 10
    link = page.get_by_role("link", name="Show on the map").get_attribute("href")
    assert link.startswith("/map?item=")


def test_lasso_lists_items_and_their_labels(open_page):
    page = open_page()
    box = show_map(page)
    page.get_by_role("button", name="Lasso").click()
    assert page.locator("#lasso").get_attribute("aria-pressed") == "true"
    left, top = box["x"] + 3, box["y"] + 3
    right, bottom = box["x"] + box["width"] - 3, box["y"] + box["height"] - 3
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in [(right, top), (right, bottom), (left, bottom), (left, top + 5)]:
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    page.wait_for_function("document.getElementById('said').textContent === '60 items chosen.'")
    assert page.locator("#chosen ol li").count() == 60
    shared = page.locator("#chosen .chips").inner_text()
    assert all(name in shared for name in WORDS)
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#said").inner_text() == "Nothing is chosen."


def test_a_lasso_is_in_the_address_and_opens_as_a_table(open_page):
    page = open_page()
    box = show_map(page)
    page.get_by_role("button", name="Lasso").click()
    middle = box["x"] + box["width"] / 2
    left, top, bottom = box["x"] + 4, box["y"] + 4, box["y"] + box["height"] - 4
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in [(middle, top), (middle, bottom), (left, bottom), (left, top + 5)]:
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    page.wait_for_function("location.search.includes('lasso=')")
    told = page.locator("#said").inner_text()
    assert re.fullmatch(r"[1-5]?\d items chosen\.", told)
    chosen = page.locator("#chosen li[data-id]").evaluate_all("all => all.map((a) => a.dataset.id)")
    page.reload()
    page.wait_for_function("text => document.getElementById('said').textContent === text", arg=told)
    page.locator("#selection a").click()
    page.wait_for_url("**/list?lasso=*")
    shown = page.locator("table.items tbody tr")
    assert shown.count() == len(chosen)
    assert page.locator(".summary strong").inner_text() == told.removesuffix(" chosen.")


def test_results_of_a_search_are_shown_on_the_map(open_page):
    page = open_page()
    page.goto("/search?q=chess")
    page.get_by_role("link", name="on the map").click()
    page.wait_for_selector("#map[data-drawn]", timeout=40_000)
    page.wait_for_function("document.getElementById('said').textContent.endsWith('chosen.')")
    count = int(page.locator("#said").inner_text().split()[0])
    chosen = "Bokeh.index.roots[0].model.renderers[0].data_source.selected.indices.length"
    assert page.evaluate(chosen) == count > 3
    page.get_by_role("button", name="Zoom in").press("Enter")
    page.wait_for_function(
        "location.search.includes('view=') && location.search.includes('q=chess')"
    )
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("!location.search.includes('q=')")
    assert page.evaluate(chosen) == 0


def test_point_at_an_item_and_click_to_open_it(open_page):
    page = open_page()
    show_map(page)
    x, y = place_of(page, "item9")
    page.mouse.move(x - 40, y - 40)
    page.mouse.move(x, y, steps=3)
    page.locator("#tip").wait_for()
    assert page.locator("#tip").inner_text().splitlines()[0] == "first line of music"
    # After zooming another item is under the pointer, or none.
    page.get_by_role("button", name="Zoom in").press("Enter")
    page.locator("#tip").wait_for(state="hidden")
    page.get_by_role("button", name="Whole map").press("Enter")
    page.mouse.click(x, y)
    card = page.locator("#card")
    card.wait_for()
    assert card.locator("h2").inner_text() == "first line of music"
    card.locator(".snippet", has_text="second line").wait_for()
    card.get_by_role("button", name="Close").click()
    assert not card.is_visible()
    page.mouse.click(x, y)
    card.get_by_role("link", name="Open").click()
    page.wait_for_url("**/item?id=item9")


def test_points_of_earlier_views_leave_nothing_at_the_edge(open_page):
    page = open_page()
    show_map(page)
    look = """async ([row, width]) => {
      const x = (await (await fetch("/map/points.json")).json()).x.map((value) => value / 32767);
      Bokeh.index.roots[0].model.x_range.setv({ start: x[row] - width, end: x[row] + 1 + width });
    }"""
    for row in (5, 9, 20, 30):
        for width in (0, 9):
            page.evaluate(look, [row, width])
            page.wait_for_timeout(400)
            # A frame that is photographed has been painted.
            picture = imread(io.BytesIO(page.locator("#map").screenshot()))[12:-12, 1:3, :3]
        assert (abs(picture - picture[0, -1]) < 0.01).all()


def test_more_items_come_below_those_that_were_seen(open_page):
    page = open_page()
    page.goto("/search?q=music")
    tenth = page.locator(".hit").nth(9).get_attribute("data-id")
    page.get_by_role("link", name="More items").click()
    page.wait_for_url("**k=30#hit-11")
    box = page.locator(".hit").nth(10).bounding_box()
    assert 0 <= box["y"] < 300, "the first new item is at the top of the window"
    assert page.locator(".hit").nth(9).get_attribute("data-id") == tenth


def test_colours_keys_and_regions_of_the_map(open_page):
    page = open_page()
    show_map(page, f"?item={ODD[4]}")
    assert page.locator("#said").inner_text().endswith("is in the middle.")
    page.select_option("#colour", IMAGE)
    page.wait_for_function(
        "name => document.getElementById('legend').textContent.startsWith(name)", arg=IMAGE
    )
    colours = page.evaluate(
        "[...new Set(Bokeh.index.roots[0].model.renderers[0].data_source.data.colour)].length"
    )
    assert colours == 2
    width = "(() => { const r = Bokeh.index.roots[0].model.x_range; return r.end - r.start; })()"
    page.locator("#map").focus()
    before = page.evaluate(width)
    page.keyboard.press("+")
    assert page.evaluate(width) == pytest.approx(before / 1.5)
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    assert page.locator("#said").inner_text() == "60 items in view."
    page.keyboard.press("Escape")
    assert page.locator("#chosen").inner_text() == ""


def test_tag_a_text(open_page):
    page = open_page()
    page.goto("/tag")
    page.get_by_label("Your text").fill("crop a photo, paint a picture")
    page.get_by_role("button", name="Tag").click()
    rows = page.locator("table.tags tbody tr")
    assert rows.first.locator("td").first.inner_text() == IMAGE
    assert rows.count() == 3


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_dark_by_the_system_and_by_choice(open_page):
    light, dark = open_page(color_scheme="light"), open_page(color_scheme="dark")
    light.goto("/")
    dark.goto("/")
    paper, night = background(light), background(dark)
    assert paper != night
    button = light.get_by_role("button", name="Theme: auto")
    button.click()
    light.get_by_role("button", name="Theme: light").click()
    assert background(light) == night
    light.goto("/axes")
    assert background(light) == night, "the choice lasts"
    show_map(dark)
    drawn = dark.evaluate("Bokeh.index.roots[0].model.background_fill_color")
    dark.get_by_role("button", name="Theme: auto").click()
    dark.wait_for_function(
        "old => Bokeh.index.roots[0].model.background_fill_color !== old", arg=drawn
    )


def test_a_phone_shows_every_page_without_scrolling_sideways(open_page):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    item = "/item?id=" + ODD[0].replace("&", "%26").replace("?", "%3F")
    more = ("/list", "/list?q=chess&label=game", "/report", "/audit", "/compare?q=chess")
    paths = ("/", "/search?q=chess", item, "/labels", "/axes", "/tag", "/why?id=item6&q=chess")
    for path in (*paths, *more):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    box = show_map(page)
    assert box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.get_by_role("button", name="Zoom in").is_visible()


def test_the_keyboard_reaches_the_content_first(open_page):
    page = open_page()
    page.goto("/search?q=chess")
    page.keyboard.press("Tab")
    skip = page.locator("a.skip")
    assert skip.bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "q"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_pages_work_without_scripts(open_page):
    page = open_page(java_script_enabled=False)
    page.goto("/search?q=chess")
    page.locator("a.why").first.click()
    assert "was found" in page.locator("h1").inner_text()
    page.goto("/list")
    page.get_by_role("link", name="Title").click()
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Title")
    titles = page.locator("table.items tbody th a").all_inner_texts()
    assert titles == sorted(titles, key=str.casefold)
    page.goto("/tag")
    page.locator("#text").fill("music")
    page.locator("form.tagging button").click()
    assert page.locator("table.tags").is_visible()
    page.goto("/map")
    assert "needs JavaScript" in page.locator("#panel").inner_text()
    assert "Loading" not in page.locator("body").inner_text()
    assert not page.locator("#map-help").is_visible()
