"""The explorer in a browser: Debian's chromium, headless, driven by Playwright."""

import io
import json
import re
import time
import urllib.request
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from _support.chromium import CHROMIUM
from _support.explorer import ODD, WORDS, command

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="install labelspan[app]")
imread = pytest.importorskip("matplotlib.image", reason="install labelspan[plot]").imread
pytest.importorskip("playwright.sync_api", reason="install labelspan[e2e]")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

IMAGE = sorted(WORDS)[2]


@pytest.fixture(scope="module")
def address(folder):
    """The command, serving a small index whose map is drawn."""
    with command(folder) as process:
        where = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())[0]
        end = time.monotonic() + 180
        while time.monotonic() < end:
            with urllib.request.urlopen(f"{where}/map.json") as answer:
                if json.load(answer)["state"] == "ready":
                    break
            time.sleep(0.1)
        yield where


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
        """(id) => {
          const { scatter, data } = corpusMap;
          const box = document.getElementById("map").getBoundingClientRect();
          const [x, y] = scatter.place(data.ids.indexOf(id));
          return [box.x + 1 + x, box.y + 1 + y];
        }""",
        name,
    )


def said(page, text):
    """Wait until the map says something; a string to be evaluated is not allowed there."""
    page.locator("#said", has_text=text).wait_for()


def drag(page, corners):
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=4)
    page.mouse.up()


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
    for near in ("Nearest by text", "Nearest by labels"):
        section = page.locator("section", has=page.get_by_role("heading", name=near))
        assert section.locator(".hit").count() == 10
    link = page.get_by_role("link", name="Show on the map").get_attribute("href")
    assert link.startswith("/map?item=")


def test_next_and_previous_follow_the_list_that_one_came_from(open_page):
    page = open_page()
    page.goto("/search?q=chess&sort=title")
    ids = page.evaluate("fetch('/search/ids.json?q=chess&sort=title').then((a) => a.json())")["ids"]
    page.locator(".hit h3 a").nth(1).click()
    turn, title = page.locator("#turn"), page.locator("article .id")
    for step, at in (("", 1), ("Next", 2), ("Previous", 1), ("Previous", 0)):
        if step:
            turn.get_by_role("link", name=step).click()
        page.locator("#turn", has_text=f"{at + 1} of {len(ids)}").wait_for()
        assert title.inner_text().strip() == ids[at].strip()
    assert turn.get_by_role("link", name="Previous").count() == 0
    turn.get_by_role("link", name="Back to the list").click()
    page.wait_for_url("**/search?q=chess&sort=title")
    # A value of the item is a filter of the list; the item then belongs to that list.
    page.locator(".hit h3 a").first.click()
    page.locator(".metadata a").first.click()
    page.wait_for_url("**/search?meta=*")
    assert page.locator(".hit").count() > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_of_the_map_are_saved(open_page, scheme):
    page = open_page()
    show_map(page)
    page.get_by_role("button", name="Save picture").click()
    page.get_by_label("Title").fill("Games <and> sounds")
    page.get_by_label("Colours", exact=True).select_option(scheme)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save PNG").click()
    picture = imread(saved.value.path())
    assert picture.shape[:2] == (800, 1200)
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 3, "it is not empty"
    page.emulate_media(color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.querySelector('#map')).backgroundColor")
    wanted = [int(part) / 255 for part in re.findall(r"\d+", ground)]
    np.testing.assert_allclose(picture[0, 0, :3], wanted, atol=1e-6)
    assert (picture[0, 0, :3].mean() > 0.5) == (scheme == "light")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save SVG").click()
    root = ElementTree.parse(saved.value.path()).getroot()
    space = "{http://www.w3.org/2000/svg}"
    paths = root.findall(f".//{space}path")
    assert sum(path.get("d").count("m") for path in paths) == 60
    texts = [text.text for text in root.findall(f".//{space}text")]
    assert "Games <and> sounds" in texts
    assert set(texts) & {*WORDS}
    # The legend says what the colours mean, and how many items have them.
    assert any(text.startswith("game ") and text.split()[-1].isdigit() for text in texts)


def test_without_webgl_a_canvas_draws_the_same(open_page):
    page = open_page()
    page.add_init_script(
        "const real = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {"
        "  return kind === 'webgl2' ? null : real.call(this, kind, ...rest); };"
    )
    show_map(page)
    assert page.locator("#map").get_attribute("data-by") == "2d"
    by_hand = imread(io.BytesIO(page.locator("#map").screenshot()))[..., :3]
    other = open_page()
    show_map(other)
    assert other.locator("#map").get_attribute("data-by") == "webgl"
    by_gl = imread(io.BytesIO(other.locator("#map").screenshot()))[..., :3]
    # Edges of points differ in their shades.
    assert (abs(by_hand - by_gl) > 0.2).mean() < 0.005
    assert (abs(by_gl - by_gl[20, 20]) > 0.2).mean() > 0.005, "there is something to see"


def test_the_density_is_drawn_where_it_is_not_zoomed(open_page):
    page = open_page()
    show_map(page)
    drawn = """() => {
      const { ground } = corpusMap.scatter;
      const [width, height] = [ground.width, ground.height];
      const copy = Object.assign(document.createElement("canvas"), { width, height });
      const pen = copy.getContext("2d", { willReadFrequently: true });
      pen.drawImage(ground, 0, 0);
      const { data } = pen.getImageData(0, 0, width, height);
      return data.some((value, n) => n % 4 === 3 && value > 0);
    }"""
    assert not page.evaluate(drawn), "these points are few"
    page.evaluate(
        """() => {
          Scatter.MANY = 50;
          const { scatter } = corpusMap;
          scatter.paint(scatter.colours, scatter.order);
          scatter.draw();
        }"""
    )
    assert page.evaluate(drawn)
    page.evaluate("() => { corpusMap.scatter.look(0, 0, 4); corpusMap.scatter.draw(); }")
    assert not page.evaluate(drawn)


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
    # Its row opens, with what is nearest by text and by labels.
    row, card = page.locator("#results [data-id=item9]"), page.locator("#card")
    card.wait_for()
    assert row.get_by_role("button").get_attribute("aria-expanded") == "true"
    card.locator(".snippet", has_text="second line").wait_for()
    near = [
        card.locator("section, div", has=page.get_by_role("heading", name=name)).last
        for name in ("Nearest by text", "Nearest by labels")
    ]
    other = near[0].get_by_role("button").first
    assert near[1].get_by_role("button").count() == 5
    name = other.inner_text()
    other.click()
    page.locator("#results [aria-expanded=true]", has_text=name).wait_for()
    card.get_by_role("button", name="Close").click()
    assert not card.is_visible()
    page.get_by_role("button", name="Whole map").press("Enter")
    page.wait_for_timeout(300)
    # On a small screen the page was scrolled to the row.
    page.locator("#map").scroll_into_view_if_needed()
    page.mouse.click(*place_of(page, "item9"))
    card.get_by_role("link", name="Open").click()
    page.wait_for_url("**/item?id=item9")


def test_colours_and_keys_of_the_map(open_page):
    page = open_page()
    show_map(page, f"?item={ODD[4]}")
    assert page.locator("#results [aria-expanded=true]").count() == 1
    page.select_option("#colour", f"l{IMAGE}")
    assert page.locator("#legend bdi").first.inner_text() == IMAGE
    # The names on the map are those of the colours.
    page.evaluate("corpusMap.scatter.whole()")
    page.wait_for_timeout(200)
    assert page.evaluate("corpusMap.names()") == [IMAGE]
    colours = """(() => {
      const { colours, count } = corpusMap.scatter;
      const all = Array.from({ length: count }, (_, n) => colours.slice(4 * n, 4 * n + 3).join());
      return new Set(all).size;
    })()"""
    assert page.evaluate(colours) == 2
    page.select_option("#colour", "myear")
    assert page.evaluate(colours) == 5
    page.wait_for_url("**colour_meta=year*")
    page.locator("#map").focus()
    before = page.evaluate("corpusMap.scatter.zoom")
    page.keyboard.press("+")
    assert page.evaluate("corpusMap.scatter.zoom") == pytest.approx(before * 1.5)
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    said(page, "60 in view, of 60 items")
    page.keyboard.press("Enter")
    said(page, "60 items")


def test_results_are_ranked_sorted_and_ringed(open_page):
    page = open_page(viewport={"width": 1366, "height": 850})
    page.goto("/map?q=chess+player")
    said(page, "of 60 items")
    ids = page.evaluate("fetch('/search/ids.json?q=chess+player').then((a) => a.json())")["ids"]
    rows = page.locator("#results tbody tr[data-id]")
    shown = rows.evaluate_all("all => all.map((one) => one.dataset.id)")
    assert shown == ids, "the best match first, as in the list"
    # Results are there without scrolling.
    assert rows.nth(0).bounding_box()["y"] < 300
    assert rows.nth(5).bounding_box()["y"] < 700
    before = page.locator("#map").screenshot()
    rows.nth(2).hover()
    page.wait_for_timeout(200)
    assert page.locator("#map").screenshot() != before, "its point has a ring"
    page.get_by_text("Columns", exact=True).click()
    page.locator("#columns").get_by_label("number").check()
    page.get_by_role("button", name="number", exact=True).press("Enter")
    numbers = [int(one) for one in page.locator("#results td[data-name=number]").all_inner_texts()]
    assert numbers == sorted(numbers)
    page.get_by_role("button", name="number ▲").press("Enter")
    numbers = [int(one) for one in page.locator("#results td[data-name=number]").all_inner_texts()]
    assert numbers == sorted(numbers, reverse=True)
    # A bar filters the map, the table and the other bars.
    bar = page.locator("#facets section[aria-label=year] .in").first
    size = int(bar.locator(".count").inner_text())
    bar.press("Enter")
    page.wait_for_url("**meta=year*")
    said(page, f"{size} of 60 items")
    assert rows.count() == size
    page.reload()
    said(page, f"{size} of 60 items")
    assert page.locator("#results thead button", has_text="number").count() == 1


def test_a_wheel_and_two_fingers_zoom_where_they_are(open_page):
    page = open_page(has_touch=True)
    box = show_map(page)
    x, y = box["x"] + 100, box["y"] + 80
    at = "([x, y]) => corpusMap.scatter.toWorld(x, y)"
    before = page.evaluate(at, [99, 79])
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(200)
    assert page.evaluate("corpusMap.scatter.zoom") > 1.2
    assert page.evaluate(at, [99, 79]) == pytest.approx(before, abs=0.01)
    page.evaluate("corpusMap.scatter.whole()")
    touch = page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 20), ("touchMove", 40), ("touchMove", 80)):
        fingers = [{"x": x - apart, "y": y, "id": 1}, {"x": x + apart, "y": y, "id": 2}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(200)
    assert page.evaluate("corpusMap.scatter.zoom") == pytest.approx(4, rel=0.1)
    assert page.evaluate(at, [99, 79]) == pytest.approx(before, abs=0.02)


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
    light.goto("/axis")
    assert background(light) == night, "the choice lasts"
    show_map(dark)
    drawn = dark.evaluate("corpusMap.scatter.colours.join()")
    dark.get_by_role("button", name="Theme: auto").click()
    dark.wait_for_timeout(200)
    assert dark.evaluate("corpusMap.scatter.colours.join()") != drawn


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
    page.goto("/search?show=table")
    page.get_by_role("link", name="Title").click()
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Title")
    titles = page.locator("table.items tbody th a").all_inner_texts()
    assert titles == sorted(titles, key=str.casefold)
    page.goto("/tag")
    page.locator("#text").fill("music")
    page.locator("form.tagging button").click()
    assert page.locator("table.tags").is_visible()
    page.goto("/map")
    assert "needs JavaScript" in page.locator("main").inner_text()
    assert "Loading" not in page.locator("body").inner_text()
