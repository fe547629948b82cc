"""Jobs of those who look after labels, in a browser: review, narrow down, relabel; and kills."""

import csv
import io
import json
import shutil
import sys

import pytest
from _support.chromium import CHROMIUM
from _support.commands import run
from _support.topics import corpus, planted_index
from _support.windows import dying, opened, said, serving

from labelspan import MLSI, SemanticIndex

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="install labelspan[app]")
pytest.importorskip("playwright.sync_api", reason="install labelspan[e2e]")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL"),
]


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Many items, of which every eighth has a label that is wrong."""
    texts, labels, ids, metadata = corpus(240)
    for n in range(0, 240, 8):
        labels[n] = sorted({"game", "sound", "image"} - {*labels[n]}) or ["game"]
    for number, table in enumerate(metadata):
        table["number"] = number
    path = tmp_path_factory.mktemp("planted") / "index"
    SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids, metadata=metadata).save(path).close()
    return path


@pytest.fixture
def folder(planted, tmp_path):
    return shutil.copytree(planted, tmp_path / "index")


def exported(folder):
    return [json.loads(line) for line in run("review", folder, "--export", "-").stdout.splitlines()]


def test_twenty_findings_are_reviewed_by_keys_and_none_is_lost(browser, folder):
    keys = ["y", "n", "ArrowRight", "ArrowLeft", "s"] * 4
    with serving(folder) as address, opened(browser, address, "/review") as page:
        waiting = page.locator("#queue li[data-key]")
        wanted = waiting.evaluate_all("all => all.map((one) => one.dataset.key)")[:20]
        assert len(wanted) == 20
        for key in keys:
            page.keyboard.press(key, delay=0)
            page.wait_for_timeout(50)
        # It is answered after all that were sent before.
        page.evaluate("() => Edit.post('/edit/labels.json', { items: [] })")
        history = page.request.get("/history.json?n=100").json()["decisions"]
        assert len(history) == 20
        rows = page.request.get("/review.json?kind=pairs").json()
        left = {row["key"] for row in rows["rows"]}
        assert not left & set(wanted)
        assert rows["progress"]["accepted"] == rows["progress"]["rejected"] == 8
        assert page.locator("#done").inner_text() == "16"
        assert all(one["who"] == "anna" for one in history)
        # Undo brings back the last one, which is asked about again.
        page.keyboard.press("u")
        page.wait_for_selector(f'#question[data-key="{wanted[-1]}"]')
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        page.keyboard.press("ArrowDown")
        page.wait_for_function(
            "key => document.querySelector('#question').dataset.key !== key", arg=wanted[-1]
        )
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    made = exported(folder)
    assert [one["answer"] for one in made].count("yes") == 8


def test_undo_in_one_of_two_windows_undoes_its_own_decision(browser, folder):
    with serving(folder) as address, opened(browser, address) as first:
        second = first.context.new_page()
        for window in (first, second):
            window.goto("/review")
            window.wait_for_selector("#question[data-key]")

        def press(window, key):
            window.bring_to_front()
            shown = window.locator("#question").get_attribute("data-key")
            window.keyboard.press(key)
            window.wait_for_function(
                "key => document.querySelector('#question').dataset.key !== key", arg=shown
            )
            return shown

        item = first.locator("#queue li.on .of").inner_text()
        assert item in first.locator("#proposal").inner_text()
        own = press(first, "n")
        press(second, "ArrowDown")
        other = press(second, "n")
        press(first, "u")
        said(first, "Undone", "#decided")
        waiting = first.request.get("/review.json?kind=pairs").json()["rows"]
        assert own in {row["key"] for row in waiting}
        assert other not in {row["key"] for row in waiting}


def test_narrow_down_draw_a_line_export_and_share(browser, folder):
    with serving(folder) as address, opened(browser, address) as page:
        page.goto("/search?q=music")
        page.locator("#narrow-down .in", has_text="sound").first.press("Enter")
        page.wait_for_url("**label=sound*")
        first = page.get_by_label("number, from")
        first.fill("20")
        page.get_by_label("number, to").fill("199")
        page.keyboard.press("Enter")
        page.wait_for_url("**range=number*")
        count = int(page.locator(".summary strong").inner_text().split()[0])
        page.get_by_role("link", name="on the map").press("Enter")
        page.wait_for_selector("#map[data-drawn]")
        said(page, f"{count} of ", "#said")
        # A box around the left half of the map, within the filters.
        box = page.locator("#map").bounding_box()
        page.get_by_role("button", name="Box").press("Enter")
        page.mouse.move(box["x"] + 4, box["y"] + 4)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 4, steps=4)
        page.mouse.up()
        page.wait_for_url("**lasso=*")
        inside = page.locator("#results tr[data-id]").evaluate_all(
            "all => all.map((a) => a.dataset.id)"
        )
        assert 0 < len(inside) <= count
        page.get_by_role("link", name="As a list").press("Enter")
        page.wait_for_url("**/search?*lasso=*")
        shared = page.url
        assert all(part in shared for part in ("q=music", "label=sound", "range=", "lasso="))
        with page.expect_download() as saved:
            page.get_by_role("link", name="CSV").press("Enter")
        with open(saved.value.path(), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(io.StringIO(file.read(), newline="")))
        assert {row["id"] for row in rows} == set(inside)
        assert all(20 <= int(row["number"]) <= 199 for row in rows)
        # Without the line there are the others again.
        page.goto(shared.replace("/search?", "/map?"))
        said(page, " of ", "#said")
        page.get_by_role("button", name="inside the line").click()
        page.wait_for_url(lambda url: "lasso" not in url)
        said(page, f"{count} of ", "#said")
        # Who gets the address sees the same, also without the right to change anything.
        other = browser.new_context()
        seen = other.new_page()
        seen.goto(shared)
        assert seen.locator(".summary strong").inner_text().split()[0] == str(len(inside))
        assert seen.locator(".pick").count() == 0
        other.close()
        # A drag over a histogram is a range as well.
        page.goto("/search")
        bars = page.locator(".range[data-field=number] .bars").bounding_box()
        page.mouse.move(bars["x"] + 2, bars["y"] + 10)
        page.mouse.down()
        page.mouse.move(bars["x"] + bars["width"] / 2 - 2, bars["y"] + 10, steps=3)
        page.mouse.up()
        page.wait_for_url("**range=number%3A0..*")


def test_ten_items_are_relabelled_at_once_and_undone(browser, folder):
    with serving(folder) as address, opened(browser, address) as page:
        page.goto("/search?label=game")
        page.wait_for_selector(".pick")
        names = page.locator(".hit").evaluate_all("all => all.map((one) => one.dataset.id)")[:10]
        before = page.request.get("/labels.json").json()["labels"]
        # By keyboard: the first, and with shift all up to the tenth.
        page.locator(".pick").first.press("Space")
        page.locator(".pick").nth(9).click(modifiers=["Shift"])
        assert "10 items selected" in page.locator(".edit-bar").inner_text()
        box = page.get_by_label("Label to add or remove")
        box.press_sequentially("brand new")
        box.press("Enter")
        said(page, "press again to create it", ".edit-said")
        assert page.request.get("/labels.json").json()["labels"] == before, "not at the first press"
        box.press("Enter")
        page.locator("main").get_by_role("button", name="Undo").wait_for()
        assert page.locator(".hit").nth(3).locator(".chips", has_text="brand new").count() == 1
        found = page.request.get("/search.json?label=brand+new").json()
        assert sorted(hit["id"] for hit in found["hits"]) == sorted(names)
        page.locator("main").get_by_role("button", name="Undo").press("Enter")
        page.wait_for_function(
            "() => !document.querySelector('.hits').textContent.includes('brand new')"
        )
        assert page.request.get("/labels.json").json()["labels"] == before
        # The same from a line on the map, and from the page of an item.
        page.goto("/map?label=game&range=number:0..40")
        page.wait_for_selector("#map[data-drawn]")
        chosen = int(page.locator("#said").inner_text().split()[0])
        page.get_by_label("Label to add or remove").fill("image")
        page.keyboard.press("Enter")
        page.locator(".edit-said", has_text="image").wait_for()
        asked = "/search.json?label=game&label=image&range=number:0..40"
        assert page.request.get(asked).json()["count"] == chosen
        page.goto(f"/item?id={names[0]}")
        page.get_by_role("button", name="Remove game").press("Enter")
        page.locator("#own-labels .edit-said", has_text="game").wait_for()
        assert "game" not in page.request.get(f"/item.json?id={names[0]}").json()["labels"]
        # A label is renamed after a preview, and all of it is undone from the history.
        page.goto("/label?name=sound")
        page.get_by_label("New name").fill("music")
        page.keyboard.press("Enter")
        apply = page.get_by_role("button", name="Change ")
        apply.wait_for()
        assert "music" not in page.request.get("/labels.json").json()["labels"]
        apply.press("Enter")
        page.wait_for_url("**/label?name=music")
        page.goto("/history")
        last = page.locator("#strip").get_by_role("button", name="Undo")
        last.wait_for()
        while last.is_enabled():
            text = last.get_attribute("title")
            last.press("Enter")
            page.wait_for_selector(
                f"#strip .edit-said:has-text('{text.replace('Undo', 'Undone')}')"
            )
        assert page.request.get("/labels.json").json()["labels"] == before


def test_a_selection_lasts_over_pages_and_a_rename_over_a_reload(browser, tmp_path):
    close_folder(tmp_path)
    with serving(tmp_path / "close") as address, opened(browser, address) as page:
        strip = page.locator("#strip")

        def reads(text):
            strip.get_by_text(text).first.wait_for()

        page.goto("/search?q=zebra")
        page.locator(".pick").nth(2).check()
        page.get_by_role("link", name="Next").click()
        page.locator(".edit-bar", has_text="1 item selected, all on other pages").wait_for()
        page.locator(".pick").first.check()
        page.locator(".edit-bar", has_text="2 items selected, 1 on other pages").wait_for()
        page.get_by_label("Label to add or remove").fill("striped")
        page.keyboard.press("Enter")
        said(page, "press again to create it", ".edit-said")
        page.keyboard.press("Enter")
        reads("2 changes")
        # A saved search and the page of a label follow a new name.
        page.goto("/search?label=sound")
        page.get_by_label("Name of this search").fill("heard")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="heard").wait_for()
        page.goto("/label?name=sound")
        page.get_by_label("New name").fill("music")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Change ").press("Enter")
        page.wait_for_url("**/label?name=music")
        reads("Rename sound to music.")
        page.goto("/search")
        page.get_by_role("link", name="heard").click()
        page.wait_for_url("**/search?label=music")
        assert page.locator(".hit").count() > 5
        # After the page was loaded again, the last change is undone, and said as everywhere.
        page.goto("/label?name=music")
        page.reload()
        strip.get_by_role("button", name="Undo").press("Enter")
        page.wait_for_url("**/label?name=sound")
        reads("Undone: Rename sound to music.")
        page.goto("/changes")
        assert page.locator("table.changes tbody tr").count() == 2
        assert page.locator("ins").all_inner_texts() == ["striped", "striped"]
        page.locator("table.changes").get_by_role("button", name="Undo").first.press("Enter")
        reads("Undone: Add striped to 2 items.")
        reads("0 changes")


def close_folder(tmp_path):
    """Items of which some match the words of a query, and others are only close to them."""
    texts, labels, ids, metadata = corpus(120)
    for n in range(0, 120, 8):
        labels[n] = sorted({"game", "sound", "image"} - {*labels[n]}) or ["game"]
    for n in range(70):
        texts[n] += " zebra"
    index = SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids, metadata=metadata)
    return index.save(tmp_path / "close")


def test_a_bulk_edit_on_page_three_changes_what_is_ticked(browser, tmp_path):
    folder = tmp_path / "close"
    close_folder(tmp_path)
    with serving(folder) as address, opened(browser, address) as page:
        page.goto("/search?q=zebra&page=3")
        page.wait_for_selector(".pick")
        matching = set(page.request.get("/search/ids.json?q=zebra").json()["ids"])
        assert len(matching) == 70
        assert page.locator(".summary strong").inner_text() == "70 items"
        assert "Page 3 of 4" in page.locator(".pager").inner_text()
        page.get_by_label("Select all on this page").check()
        assert "20 items selected" in page.locator(".edit-bar").inner_text()
        page.get_by_role("button", name="Select all 70 items that match").press("Enter")
        page.locator(".edit-bar", has_text="70 items selected").wait_for()
        here = page.locator(".hit:has(.pick:checked)").evaluate_all(
            "all => all.map((one) => one.dataset.id)"
        )
        assert len(here) == 20
        assert set(here) <= matching, "what is ticked is selected"
        # One less: nothing else is unselected.
        page.locator(".pick").first.uncheck()
        page.locator(".edit-bar", has_text="69 items selected").wait_for()
        box = page.get_by_label("Label to add or remove")
        box.fill("striped")
        box.press("Enter")
        said(page, "press again to create it", ".edit-said")
        box.press("Enter")
        page.locator("main").get_by_role("button", name="Undo").wait_for()
        page.locator(".hit", has_text="striped").nth(18).wait_for()
        assert page.locator(".hit", has_text="striped").count() == 19
        stored = page.request.get("/search/ids.json?label=striped").json()["ids"]
        assert set(stored) == matching - {here[0]}
        page.locator("main").get_by_role("button", name="Undo").press("Enter")
        said(page, "Undone: Add striped to 69 items.", ".edit-said")
        page.wait_for_function(
            "() => !document.querySelector('.hits').textContent.includes('striped')"
        )
        assert page.request.get("/labels.json?q=striped").json()["count"] == 0


def own(page):
    return page.locator("#own-labels .editable a").all_inner_texts()


def test_two_windows_show_what_is_stored(browser, folder):
    with serving(folder) as address, opened(browser, address) as page:
        name = page.request.get("/search/ids.json?label=game&without=image").json()["ids"][0]
        stored = lambda: page.request.get(f"/item.json?id={name}").json()["labels"]  # noqa: E731
        first, second = page, page.context.new_page()
        for window in (first, second):
            window.goto(f"/item?id={name}")
            window.wait_for_selector("#own-labels .editable")

        def add(window, label):
            window.bring_to_front()
            window.get_by_label("Label to add").fill(label)
            window.keyboard.press("Enter")
            window.locator("#own-labels .edit-said span").first.wait_for()

        # The same label twice: it stays where it is.
        add(first, "image")
        add(second, "image")
        said(second, "Nothing to change.", "#own-labels .edit-said")
        for window in (first, second):
            window.bring_to_front()
            window.wait_for_function("() => document.querySelectorAll('.editable').length >= 2")
            assert own(window) == stored()
        assert "image" in stored()
        # The same label is removed in both: the others stay.
        second.evaluate(
            "() => { window.old = document.querySelector('[aria-label=\"Remove image\"]'); }"
        )
        first.bring_to_front()
        first.get_by_role("button", name="Remove image").click()
        said(first, "Remove image from 1 item.", "#own-labels .edit-said")
        assert own(first) == stored() == [one for one in stored() if one != "image"]
        second.bring_to_front()
        second.evaluate("() => window.old.click()")
        second.get_by_role("button", name="Remove image").wait_for(state="detached")
        said(second, "Nothing to change.", "#own-labels .edit-said")
        assert own(second) == stored()
        assert stored(), "not 'no labels'"
        # The first undoes what it did, and both follow.
        first.bring_to_front()
        first.locator("main").get_by_role("button", name="Undo").click()
        said(first, "Undone: Remove image from 1 item.", "#own-labels .edit-said")
        assert own(first) == stored()
        assert "image" in stored()
        second.bring_to_front()
        second.get_by_role("button", name="Remove image").wait_for()
        assert own(second) == stored()


def test_a_label_spelt_nearly_like_another_is_asked_about(browser, folder):
    with serving(folder) as address, opened(browser, address) as page:
        before = page.request.get("/labels.json").json()["labels"]
        page.goto("/label?name=sound")
        page.get_by_label("New name").fill("Games")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Rename it to “Games” all the same").wait_for()
        said(page, "spelt nearly like 'game'", ".edit-said")
        assert page.request.get("/labels.json").json()["labels"] == before
        page.get_by_role("button", name="Merge into “game” …").press("Enter")
        said(page, "Merge sound into game", ".edit-said")
        page.get_by_role("button", name="Cancel").click()
        name = page.request.get("/search/ids.json?without=game").json()["ids"][0]
        page.goto(f"/item?id={name}")
        box = page.get_by_label("Label to add")
        box.fill("Game")
        box.press("Enter")
        said(page, "spelt nearly like 'game'", "#own-labels .edit-said")
        page.get_by_role("button", name="Use “game”").click()
        page.get_by_role("button", name="Remove game").wait_for()
        labels = page.request.get("/labels.json").json()["labels"]
        assert set(labels) == set(before)
        assert labels["game"] == before["game"] + 1


def test_a_label_is_taught_by_keys_and_an_answer_undone(browser, folder):
    with serving(folder) as address, opened(browser, address) as page:

        def asked():
            return page.locator("#question").get_attribute("data-id")

        def stored():
            rows = page.request.get("/teach/answers.csv?label=tunes").text().splitlines()
            return [(row["item"], row["decision"]) for row in csv.DictReader(rows)]

        page.goto("/teach?label=tunes&q=music")
        page.get_by_role("button", name="Start").press("Enter")
        page.wait_for_selector("#lesson:not([hidden]) #evidence > div")
        said(page, "0 yes, 0 no.", "#state")
        assert page.locator("main").get_by_role("button", name="Undo").is_disabled()
        given = []
        for key, answer, state in (
            ("y", "include", "1 yes, 0 no."),
            ("y", "include", "2 yes, 0 no."),
            ("n", "exclude", "2 yes, 1 no."),
        ):
            given.append((asked(), answer))
            page.keyboard.press(key)
            said(page, state, "#state")
        assert len({item for item, _ in given}) == 3, "each is another item"
        assert asked() not in {item for item, _ in given}
        assert stored() == given
        page.keyboard.press("u")
        said(page, "2 yes, 0 no.", "#state")
        page.wait_for_selector(f'#question[data-id="{given[2][0]}"]')
        # What was answered is there again after loading the page, and no label has changed.
        page.reload()
        page.wait_for_selector("#lesson:not([hidden]) #evidence > div")
        said(page, "2 yes, 0 no.", "#state")
        assert asked() == given[2][0]
        assert "tunes" not in page.request.get("/labels.json").json()["labels"]
        # An answer from before the page was loaded is undone as well.
        page.keyboard.press("u")
        said(page, "1 yes, 0 no.", "#state")
        page.wait_for_selector(f'#question[data-id="{given[1][0]}"]')


def test_kills_and_replaced_indexes_lose_nothing(browser, tmp_path):
    folder = tmp_path / "index"
    planted_index().save(folder)
    with dying(folder, "before") as (address, process):
        with opened(browser, address, "/review", complaints=[]) as page:
            key = page.locator("#question").get_attribute("data-key")
            page.keyboard.press("y")
            said(page, "Nothing was lost")
            assert page.locator("#question").get_attribute("data-key") == key, "it waits again"
        assert process.wait() == -9
    assert exported(folder) == []
    with dying(folder, "after") as (address, process):
        with opened(browser, address, "/review", complaints=[]) as page:
            page.keyboard.press("y")
            said(page, "Nothing was lost")
        assert process.wait() == -9
    (made,) = exported(folder)
    with SemanticIndex.load(folder) as index:
        # Decision and label are one transaction.
        assert (made["label"] in index.item(made["item"]).labels) == (made["answer"] == "yes")
    copy = shutil.copytree(folder, tmp_path / "copy")
    with serving(folder) as address, opened(browser, address, "/review", complaints=[]) as page:
        assert page.locator(f'[data-key="{key}"]').count() == 0
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
        left = page.locator("#question").get_attribute("data-key")
        for _ in range(3):
            page.keyboard.press("y")
        said(page, "was replaced")
        assert page.locator("#question").get_attribute("data-key") == left
    assert exported(folder) == [made]
