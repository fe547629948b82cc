"""Similar names that are merged, and saved searches: the addresses, and a browser."""

import pytest
from _support.chromium import CHROMIUM
from _support.explorer import explore
from _support.windows import opened, said, serving

from labelspan import MLSI, SemanticIndex
from labelspan.curation import SavedSearches

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture
def folder(tmp_path):
    texts = [f"{word} number {n}" for n, word in enumerate(["chess", "photo", "music"] * 10)]
    labels = [["Games"], ["Photos"], ["Sound", "games"]] * 10
    tables = [{"by": ["Ann Smith", "Smith, Ann", "Bo"][n % 3], "n": n} for n in range(30)]
    index = SemanticIndex(estimator=MLSI(4)).fit(texts, labels, metadata=tables)
    index.save(tmp_path / "index")
    return tmp_path / "index"


def test_similar_names_are_merged_after_a_preview_and_undone(browser, folder):
    with serving(folder) as address, opened(browser, address) as page:
        counts = lambda: page.request.get("/labels.json").json()["labels"]  # noqa: E731
        before = counts()
        page.goto("/values")
        page.get_by_role("button", name="Merge what is selected …").click()
        said(page, "Select names that are the same", ".edit-said")
        page.get_by_label("Merge games", exact=True).check()
        page.get_by_label("Merge Games", exact=True).check()
        page.get_by_label("New name").fill("Games")
        page.get_by_role("button", name="Merge what is selected …").click()
        said(page, "Merge “games” into “Games”.", ".edit-said")
        assert counts() == before
        page.get_by_role("button", name="Change 10 items").press("Enter")
        said(page, "Merge games into Games in 10 items.", ".edit-said")
        assert counts() == {"Games": 20, "Photos": 10, "Sound": 10}
        page.locator("main").get_by_role("button", name="Undo").click()
        page.wait_for_selector("fieldset .pick")
        assert counts() == before
        # Values of the metadata.
        page.get_by_label("Names of").select_option("by")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("button", name="Select all").click()
        page.get_by_role("button", name="Keep this name").nth(1).click()
        page.get_by_role("button", name="Merge what is selected …").click()
        page.get_by_role("button", name="Change 10 items").click()
        said(page, "Change by of 10 items.", ".edit-said")
        found = page.request.get("/search.json?meta=by%3DSmith%2C+Ann").json()
        assert found["count"] == 20
        page.goto("/history")
        page.locator(".history").get_by_role("button", name="Undo").first.click()
        page.wait_for_selector(".history .undone")
        assert page.request.get("/search.json?meta=by%3DSmith%2C+Ann").json()["count"] == 10


def test_a_search_is_saved_under_a_name_and_removed(browser, folder):
    complaints = []
    with serving(folder) as address, opened(browser, address, complaints=complaints) as page:
        page.goto("/search?q=chess&range=n:3..20&label=Games&show=table")
        page.get_by_label("Name of this search").fill("Some chess")
        page.get_by_role("button", name="Save this search").click()
        page.get_by_role("link", name="Some chess").wait_for()
        shown = page.request.get("/search.json?q=chess&range=n:3..20&label=Games").json()
        page.goto("/search")
        link = page.get_by_role("link", name="Some chess")
        assert link.get_attribute("href") == "/search?q=chess&label=Games&range=n%3A3..20"
        link.click()
        page.wait_for_url("**label=Games**")
        ids = page.locator(".hit").evaluate_all("all => all.map((one) => one.dataset.id)")
        assert ids == [one["id"] for one in shown["hits"]]
        page.get_by_role("button", name="Remove the saved search Some chess").click()
        page.get_by_role("link", name="Some chess").wait_for(state="detached")
        assert complaints == []
        page.wait_for_function("() => typeof Edit !== 'undefined'")
        refused = page.evaluate(
            "() => Edit.post('/edit/search.json', { name: 'x', query: 'colour=red' })"
            ".catch((error) => error.message)"
        )
        assert "no parameter 'colour'" in refused


def test_without_edit_names_and_searches_are_only_shown(folder):
    with SemanticIndex.load(folder, write=True) as index:
        SavedSearches(index).save("Some chess", "q=chess")
    with explore(folder) as client:
        assert client.get("/values.json").json()["groups"] == [{"Games": 10, "games": 10}]
        assert client.get("/values.json?field=n").status_code == 404
        assert "/search?q=chess" in client.get("/search").text
        assert client.post("/edit/search.json", json={}).status_code == 404
        assert client.post("/edit/values.json", json={}).status_code == 404
