"""Pages and their states as axe-core sees them: WCAG 2.2 AA, wide and narrow, light and dark.

axe-core is not part of this project: LABELSPAN_AXE is the path of its axe.min.js, which
.ci/steps/25-scripts installs.
"""

import os
from pathlib import Path

import pytest
from _support.chromium import CHROMIUM
from _support.windows import opened, serving

from labelspan import MLSI, SemanticIndex

AXE = Path(os.environ.get("LABELSPAN_AXE") or "axe.min.js")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.skipif(not AXE.exists(), reason="LABELSPAN_AXE is not the path of axe.min.js"),
]
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PAGES = (
    "/",
    "/search?q=chess",
    "/search?show=table&label=game",
    "/item?id=s1",
    "/why?id=s1&q=chess",
    "/labels",
    "/label?name=game",
    "/values?field=by",
    "/review",
    "/tag?text=music",
    "/history",
    "/changes",
    "/axis",
    "/teach",
    "/item?id=none",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    words = {"game": "chess board dice", "sound": "music song audio", "image": "photo pixel crop"}
    topics = [list(words)[n % 3] for n in range(90)]
    index = SemanticIndex(estimator=MLSI(6)).fit(
        [f"{words[one]} number {n}" for n, one in enumerate(topics)],
        [[one] if n % 9 else ["game"] for n, one in enumerate(topics)],
        [f"s{n}" for n in range(90)],
        metadata=[{"by": ["Ann Smith", "Smith, Ann"][n % 2], "year": 1950 + n} for n in range(90)],
    )
    path = tmp_path_factory.mktemp("axe") / "index"
    index.save(path)
    return path


def findings(page):
    """What axe finds, after all transitions of colours have ended."""
    page.evaluate("() => Promise.all(document.getAnimations().map((one) => one.finished))")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "(values) => axe.run({ runOnly: { type: 'tag', values },"
        " rules: { 'target-size': { enabled: true } } })",
        TAGS,
    )
    return [
        f"{one['id']}: {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]
    ]


@pytest.mark.parametrize(("width", "scheme"), [(1366, "light"), (390, "dark")])
def test_axe_finds_nothing_on_any_page_or_state(browser, folder, width, scheme):
    complaints = {}
    with (
        serving(folder) as address,
        opened(browser, address, complaints=[]) as page,
    ):
        page.set_viewport_size({"width": width, "height": 700})
        page.emulate_media(color_scheme=scheme)

        def look(state):
            wide = page.evaluate("document.documentElement.scrollWidth")
            complaints[state] = findings(page) + ([f"{wide} pixels wide"] if wide > width else [])

        for path in PAGES:
            page.goto(path)
            page.evaluate("() => globalThis.Edit?.ready")
            look(path)
        page.goto("/search?q=chess")
        page.locator(".pick").first.check()
        page.get_by_label("Label to add or remove").fill("a new one")
        page.keyboard.press("Enter")
        page.locator(".edit-said", has_text="press again").wait_for()
        page.locator("a.why").first.click()
        page.locator(".explained").wait_for()
        look("editor and why")
        page.keyboard.press("Enter")
        page.locator("#strip").get_by_text("change").first.wait_for()
        page.goto("/changes")
        page.locator("#strip summary").click()
        look("changes and the menu of the bar")
        page.goto("/map")
        page.wait_for_selector("#map[data-drawn]")
        look("map")
        page.evaluate("() => corpusMap.show(0, true)")
        page.locator("#card").wait_for()
        look("card")
        page.get_by_role("button", name="Close").click()
        page.get_by_role("button", name="Lasso").click()
        box = page.locator("#map").bounding_box()
        page.mouse.move(box["x"] + 5, box["y"] + 5)
        page.mouse.down()
        for x, y in ((0.9, 0.1), (0.9, 0.9), (0.1, 0.9)):
            page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3)
        page.mouse.up()
        page.locator("#said", has_text=" of ").wait_for()
        page.get_by_text("Columns", exact=True).click()
        look("lasso")
        page.get_by_role("button", name="Save picture").click()
        look("picture")
        # A label of its own: the other case has begun a lesson in the same index.
        page.goto(f"/teach?label=tunes+{width}&q=music")
        page.get_by_role("button", name="Start").press("Enter")
        for key, state in (("y", "1 yes, 0 no"), ("n", "1 yes, 1 no"), ("y", "2 yes, 1 no")):
            page.wait_for_selector("#lesson:not([hidden]) #evidence > div")
            page.keyboard.press(key)
            page.locator("#state", has_text=state).wait_for()
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("button", name="Change labels").wait_for()
        look("teach")
    assert {state: found for state, found in complaints.items() if found} == {}
