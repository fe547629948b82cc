"""Three jobs in a browser, from the first command to the last file, each with a second start."""

import csv
import io
import json
import re
from contextlib import contextmanager

import pytest
from _support.chromium import CHROMIUM
from _support.explorer import command
from _support.windows import said

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="install labelspan[app]")
pytest.importorskip("playwright.sync_api", reason="install labelspan[e2e]")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

TOPICS = {"game": "chess board player dice", "music": "audio song radio tune"}
ROWS = [
    (
        f"s{n}{topic[0]}",
        f"{words} number {n}",
        f"{topic}{';new' if n % 5 == 0 else ''}",
        2000 + n % 7,
    )
    for n in range(20)
    for topic, words in TOPICS.items()
]


def written(head, rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *rows])
    return out.getvalue()


def table(text):
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


class Job:
    """Starts of one command in a folder, empty at first, and what the browser complains of."""

    def __init__(self, browser, folder):
        self.browser, self.folder, self.complaints = browser, folder, []

    @contextmanager
    def started(self, width=1366, height=850):
        with command(None, cwd=self.folder) as process:
            where = re.search(r"http://\S+", process.stderr.readline())[0]
            size = {"width": width, "height": height}
            base = where.partition("/enter")[0]
            context = self.browser.new_context(viewport=size, base_url=base)
            context.on("console", lambda message: self.complaints.append(message.text))
            context.set_default_timeout(120_000)
            page = context.new_page()
            page.goto(where)
            yield page
            context.close()


@pytest.fixture
def job(browser, tmp_path):
    (tmp_path / "empty").mkdir()
    return Job(browser, tmp_path / "empty")


def drop(page, name, text):
    given = page.evaluate_handle(
        "([name, text]) => { const all = new DataTransfer();"
        " all.items.add(new File([text], name)); return all; }",
        [name, text],
    )
    page.locator("#drop").dispatch_event("drop", {"dataTransfer": given})
    page.locator("#read:not([hidden])").wait_for()


def make_index(page):
    page.get_by_role("button", name="Make the index").press("Enter")
    page.wait_for_url("**/map")
    page.wait_for_selector("#map[data-drawn]")


def saved(page, act):
    with page.expect_download() as file:
        act()
    return file.value.path()


def corrected(page, name):
    page.locator("#strip summary").click()
    link = page.locator("#strip").get_by_role("link", name=name)
    return saved(page, link.click).read_text(encoding="utf-8")


def test_a_librarian_drops_a_file_and_downloads_the_corrected_one(job):
    content = written(("id", "text", "tags", "year"), ROWS)
    with job.started(390, 800) as page:
        drop(page, "programs.csv", content)
        page.locator("#counts", has_text="40 items").wait_for()
        assert page.locator("#fields select").first.input_value() == "text"
        page.get_by_label("Use of year").select_option("labels")
        page.locator("#counts", has_text="10 different labels").wait_for()
        page.get_by_label("Use of year").select_option("other")
        page.locator("#counts", has_text="3 different labels").wait_for()
        make_index(page)
        assert page.evaluate("corpusMap.data.ids.length") == 40
        # What the file could not hold is refused where it is typed.
        page.locator("#strip", has_text="0 changes").wait_for()
        name = page.request.get("/search/ids.json?label=new").json()["ids"][0]
        page.goto(f"/item?id={name}")
        page.get_by_label("Label to add").fill("a;b")
        page.keyboard.press("Enter")
        page.locator("#own-labels .error", has_text="separates the labels").wait_for()
        page.get_by_role("button", name="Remove new").press("Enter")
        page.locator("#strip", has_text="1 change").wait_for()
        first = corrected(page, "as the original")
    # The next start of the same command has the file, and the change, again.
    with job.started(390, 800) as page:
        page.locator("#strip", has_text="1 change").wait_for()
        assert corrected(page, "as the original") == first
        assert corrected(page, "CSV").startswith("id,title,text,labels")
    lines = zip(content.splitlines(), first.splitlines(), strict=True)
    changed = [pair for pair in lines if len({*pair}) > 1]
    assert [(old.replace(";new", ""), old.split(",")[0]) for old, _ in changed] == [
        (new, name) for _, new in changed
    ]
    # Of the label that was refused.
    assert [one for one in job.complaints if "400" not in one] == []
    assert json.loads((job.folder / "index.labelspan" / "manifest.json").read_text())


def test_an_analyst_colours_filters_selects_and_saves_a_picture_and_a_table(job):
    with job.started() as page:
        drop(page, "programs.csv", written(("id", "text", "tags", "year"), ROWS))
        make_index(page)
        page.select_option("#colour", "myear")
        page.wait_for_url("**colour_meta=year*")
        bars = page.locator("#facets")
        bars.locator("section[aria-label=Labels] .in", has_text="music").press("Enter")
        said(page, "20 of 40 items", "#said")
        year = bars.locator("section[aria-label=year] .in").first
        size = int(year.locator(".count").inner_text())
        chosen = int(year.inner_text().split()[0])
        year.press("Enter")
        said(page, f"{size} of 40 items", "#said")
        # All of the map, by a box: what is selected stays what the bars have left.
        page.get_by_role("button", name="Box").press("Enter")
        box = page.locator("#map").bounding_box()
        page.mouse.move(box["x"] + 4, box["y"] + 4)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4, steps=4)
        page.mouse.up()
        page.wait_for_url("**lasso=*")
        said(page, f"{size} of 40 items", "#said")
        page.get_by_label("Label to add or remove").fill("picked")
        for _ in range(2):  # It is new: the second press creates it.
            page.keyboard.press("Enter")
            page.locator("#panel .edit-said:not(:empty)").wait_for()
        page.locator("#strip", has_text=f"{size} changes").wait_for()
        page.get_by_role("button", name="Save picture").click()
        page.get_by_label("Title").fill("Music of a year")
        png = saved(page, page.get_by_role("button", name="Save PNG").click)
        assert png.read_bytes().startswith(b"\x89PNG")
        svg = saved(page, page.get_by_role("button", name="Save SVG").click).read_text("utf-8")
        assert "Music of a year" in svg
        page.keyboard.press("Escape")
        shared = page.url.partition("/map")[2]
        page.get_by_role("link", name="As a list").press("Enter")
        page.wait_for_url("**/search?*lasso=*")
        csv_link = page.locator(".summary").get_by_role("link", name="CSV")
        rows = table(saved(page, csv_link.click).read_text(encoding="utf-8"))
    wanted = {one[0] for one in ROWS if one[2].startswith("music") and one[3] == chosen}
    assert {row["id"] for row in rows} == wanted
    assert len(wanted) == size
    assert all("picked" in row["labels"].split("|") for row in rows)
    # The address that was shared shows the same after another start.
    with job.started() as page:
        page.goto(f"/map{shared}")
        said(page, f"{size} of 40 items", "#said")
        ids = page.locator("#results tr[data-id]").evaluate_all(
            "all => all.map((a) => a.dataset.id)"
        )
        assert {*ids} == wanted
    assert job.complaints == []


def begin(page, label):
    page.goto(f"/teach?label={label}&q=song")
    page.get_by_role("button", name="Start").press("Enter")
    page.wait_for_selector("#lesson:not([hidden]) #evidence > div")


def asked(page):
    return page.locator("#question").get_attribute("data-id")


def press(page, key):
    before = asked(page)
    page.keyboard.press(key)
    page.wait_for_selector(f'#question:not([data-id="{before}"])')


def screen_two(page):
    """Exclude one with a note and a reason, another in own words, and change the first."""
    row = page.locator(f'#decisions tr[data-id="{asked(page)}"]')
    page.keyboard.press("m")
    page.keyboard.type("see page 3")
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    said(page, "0 yes, 1 no.", "#state")
    said(page, "Excluded, other population", "#decided")
    page.get_by_label("Exclude, because of: own words").fill("a film")
    page.keyboard.press("Enter")
    said(page, "0 yes, 2 no.", "#state")
    row.wait_for()
    assert row.locator("input").nth(1).input_value() == "see page 3"
    row.locator("select").select_option("yes")
    said(page, "1 yes, 1 no.", "#state")
    page.get_by_label("Find", exact=True).select_option("80")
    page.keyboard.press("h")
    assert "plain" in page.locator("#lesson").get_attribute("class")
    return row


def name_oneself(page, name):
    page.locator("#who input").fill(name)
    page.keyboard.press("Enter")


def screen_until_enough(page):
    """Answer by what is right until the target is reached."""
    for count in range(3, 41):
        if page.locator("#state.enough").count():
            return
        press(page, "y" if asked(page).endswith("m") else "n")
        page.locator("#state", has_text=re.compile(rf"^{_total(count)}")).wait_for()


def _total(count):
    return "(" + "|".join(f"{n} yes, {count - n} no" for n in range(count + 1)) + ")"


def decided(text):
    return {row["item"]: row["decision"] for row in table(text) if row["undone"] != "True"}


def test_a_researcher_screens_with_another_stops_and_takes_the_decisions_along(job):
    papers = [(name, text.replace("number", "study"), "") for name, text, _, _ in ROWS]
    with job.started() as page:
        # A file without labels can be taught.
        drop(page, "papers.csv", written(("id", "abstract", "doi"), papers))
        make_index(page)
        begin(page, "included")
        row = screen_two(page)
        # Somebody else reads the same without seeing what was answered.
        name_oneself(page, "ben")
        page.locator("#blind").check()
        page.locator("#proposal .score", has_text="likely").wait_for(state="detached")
        press(page, "n")
        press(page, "n")
        page.get_by_role("button", name="Conflicts (1)").click()
        row.get_by_text("(anna: Include").or_(row.get_by_text("ben: Exclude")).first.wait_for()
    # The next start goes on where the last one ended, until enough is found.
    with job.started() as page:
        page.goto("/teach?label=included")
        page.wait_for_selector("#lesson:not([hidden]) #evidence > div")
        assert page.locator("#target").input_value() == "80"
        screen_until_enough(page)
        said(page, "Enough: at least 80% are found.", "#state")
        files = {
            name: saved(page, page.get_by_role("link", name=name, exact=True).click)
            for name in ("CSV", "RIS")
        }
        files = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
        known = decided(files["CSV"])
        assert sum(item.endswith("m") for item, one in known.items() if one == "include") >= 16
        assert len(known) < 40, "not all had to be read"
        rows = table(files["CSV"])
        assert all(one["title"] and one["time"] for one in rows)
        assert "see page 3" in {one["note"] for one in rows}
        assert "a film" in {one["reason"] for one in rows}
        assert "N1  - Decision: exclude" in files["RIS"]
        # The answers become labels, which the corrected file has.
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("button", name="Change labels").click()
        page.locator("#apply-said", has_text="included").wait_for()
        marked = [one for one in table(corrected(page, "CSV")) if one["labels"] == "included"]
        wanted = {item for item, one in known.items() if one == "include"}
        assert {one["id"] for one in marked} == wanted
        # Another lesson takes over the decisions of either file.
        for name, content in files.items():
            begin(page, f"again-{name}")
            file = {"name": f"decisions.{name.lower()}", "mimeType": "text/plain"}
            page.locator("#taken").set_input_files({**file, "buffer": content.encode()})
            said(page, "decisions taken over.", "#desk-said")
            kept = page.request.get(f"/teach/answers.csv?label=again-{name}").text()
            assert decided(kept) == known
    assert job.complaints == []
