"""Lists, the report on labels and the audit: paging, sorting, links and downloads."""

import asyncio
import csv
import io
import json
import threading
import time

import numpy as np
import pytest
from _support.explorer import WORDS, Page, explore, make_index, read_points, request_scope

pytest.importorskip("starlette.testclient", reason="install labelspan[test]")

from labelspan import LSI, SemanticIndex
from labelspan.corpus import Concept, LabelVocabulary
from labelspan.web import Served, make_app, snapshot
from labelspan.web.map_points import POINTS

GAME, SOUND, IMAGE = sorted(WORDS)
COUNT = 130


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("lists") / "index"
    make_index(path, COUNT)
    return path


def links(client, path, **asked):
    page = Page(client.get(path, params=asked).text)
    return [a["href"] for a in page.all("a")]


def downloaded(client, **asked):
    lines = client.get("/search.jsonl", params=asked).text.splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(("show", "pages"), [("cards", 7), ("table", 3)])
def test_pages_hold_every_item_once(client, index, show, pages):
    seen = []
    for page in range(1, pages + 1):
        asked = {"page": page, "sort": "-id", "show": show}
        given = client.get("/search.json", params=asked).json()
        assert (given["count"], given["pages"]) == (COUNT, pages)
        seen += [hit["id"] for hit in given["hits"]]
    assert seen == sorted(index.ids, reverse=True)
    assert client.get("/search", params={"page": pages + 1, "show": show}).status_code == 404
    follow = links(client, "/search", page=2, sort="-id")
    assert "/search?sort=-id" in follow
    assert "/search?sort=-id&page=3" in follow


def test_counts_are_of_all_that_match_and_links_narrow_them(client, index):
    given = client.get("/search.json", params={"label": SOUND}).json()
    assert given["count"] == index.labels[SOUND] > len(given["hits"])
    labels = {name: n for one in given["groups"] for name, n in one["labels"].items()}
    both = [item for item in index.items() if {SOUND, GAME} <= set(item.labels or ())]
    assert labels[GAME] == len(both)
    for wanted, count in (("label", len(both)), ("without", given["count"] - len(both))):
        name = next(
            href
            for href in links(client, "/search", label=SOUND)
            if href.startswith("/search?") and f"{wanted}=game" in href
        )
        assert f"{count} item" in Page(client.get(name).text).text
    facets = {one["field"]: one for one in given["facets"]}
    own = [item.metadata for item in index.items() if SOUND in (item.labels or ())]
    assert facets["free"]["values"]["true"] == sum(table["free"] for table in own)
    # Each bin of a histogram is a range with that number of items.
    for bin in facets["number"]["bins"]:
        inside = [n for n in own if float(bin["low"]) <= n["number"] <= float(bin["high"])]
        assert bin["count"] == len(inside)
        asked = {"label": SOUND, "range": f"number:{bin['low']}..{bin['high']}"}
        assert client.get("/search.json", params=asked).json()["count"] == len(inside)
    some = client.get("/search.json", params={"range": "number:100..", "label": SOUND}).json()
    assert some["count"] == sum(table["number"] >= 100 for table in own)
    for wrong, status in (("number:a..b", 400), ("free:1..2", 404), ("number:e..1", 400)):
        assert client.get("/search", params={"range": wrong}).status_code == status


@pytest.mark.parametrize(
    "asked", [{}, {"label": [IMAGE], "sort": "title"}, {"q": "chess", "without": [SOUND]}]
)
def test_downloads_hold_all_that_match_in_order(client, index, asked):
    given = client.get("/search.json", params=asked).json()
    table = client.get("/search.csv", params=asked)
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert table.headers["content-disposition"] == 'attachment; filename="items.csv"'
    rows = list(csv.DictReader(io.StringIO(table.content.decode(), newline="")))
    items = downloaded(client, **asked)
    assert len(rows) == len(items) == given["count"] > 0
    assert [row["id"] for row in rows] == [item["id"] for item in items]
    listed = client.get("/search/ids.json", params=asked).json()["ids"]
    assert listed == [item["id"] for item in items]
    pages = [
        client.get("/search.json", params=asked | {"page": n + 1}).json()["hits"]
        for n in range(given["pages"])
    ]
    assert [hit["id"] for page in pages for hit in page] == listed
    for row, item in zip(rows, items, strict=True):
        assert item["text"] == index.item(item["id"]).text
        assert row["labels"] == "|".join(item["labels"] or ())
        assert row["year"] == str(item["metadata"]["year"])
        assert row["score"] == ("" if item["score"] is None else str(item["score"]))
    assert client.get("/search.csv", params={"page": 2}).status_code == 400
    assert client.get("/search.csv", params={"label": "nothing"}).status_code == 404
    assert client.head("/search.csv").status_code == 200


def test_items_only_close_in_meaning_are_a_list_of_their_own(client):
    asked = {"q": "chess board", "match": "close"}
    first = client.get("/search.json", params={"q": "chess board"}).json()
    pages = range(1, first["pages"] + 1)
    shown = [
        client.get("/search.json", params={"q": "chess board", "page": n}).json() for n in pages
    ]
    assert all(not one["close"] for one in shown[:-1])
    assert not any(hit["weak"] for one in shown for hit in one["hits"])
    close = client.get("/search.json", params=asked).json()
    assert close["count"] == first["close_count"] == shown[-1]["close_count"] > 0
    assert shown[-1]["close"] == close["hits"]
    assert close["close_count"] == 0
    ids = client.get("/search/ids.json", params=asked).json()["ids"]
    assert len(ids) == close["count"]
    assert [item["id"] for item in downloaded(client, **asked)] == ids
    matching = client.get("/search/ids.json", params={"q": "chess board"}).json()["ids"]
    assert not set(ids) & set(matching)
    page = client.get("/search", params={"q": "chess board", "page": first["pages"]}).text
    assert "Only close in meaning" in page
    assert "only close in meaning" in client.get("/search", params=asked).text
    # A filter that leaves none is an empty list.
    none = client.get("/search.json", params=asked | {"range": "number:1000..2000"})
    assert none.json()["count"] == 0


def test_cells_are_harmless_and_columns_have_one_name_each(tmp_path):
    texts = ["=1+1", "+chess", "-chess", "@chess board", "chess\0game", "chess"]
    metadata = [{"title": f"Title {n}", "text": "-1", "n": -n, "id": "own"} for n in range(6)]
    labels = [["=x"], ["\u202eturned"], ["<b>"], ["x" * 300], ["a"], ["a"]]
    index = SemanticIndex(estimator=LSI(2)).fit(texts, labels, metadata=metadata)
    index.save(tmp_path / "index")
    with explore(tmp_path / "index") as client:
        cells = list(
            csv.reader(io.StringIO(client.get("/search.csv").content.decode(), newline=""))
        )
        assert cells[0] == ["id", "title", "text", "score", "labels", "meta.id", "n", "meta.text"]
        assert [row[1] for row in cells[1:]] == [f"Title {n}" for n in range(6)]
        assert [row[2] for row in cells[1:5]] == ["'=1+1", "'+chess", "'-chess", "'@chess board"]
        assert cells[5][2] == "chess\ufffdgame"
        assert [row[6] for row in cells[1:]] == [str(-n) for n in range(6)], "numbers stay numbers"
        assert cells[1][4] == "'=x"
        assert cells[1][7] == "'-1"
        shown = Page(client.get("/search").text)
        assert "<b>" in shown.text, "a label may have brackets"
        assert "x" * 81 not in shown.text, "a long label is cut"


def test_a_download_ends_when_its_client_goes_away(folder, monkeypatch):
    monkeypatch.setattr("labelspan.answers.lists.ITEMS_AT_ONCE", 10)
    served = Served(folder)
    app = make_app(served, watch=False)
    sent = []

    async def ask():
        gone = asyncio.Event()
        first = True

        async def receive():
            nonlocal first
            if first:
                first = False
                return {"type": "http.request", "body": b"", "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)
            if len(sent) == 3:
                gone.set()
                # The task that waits for this is next.
                for _ in range(5):
                    await asyncio.sleep(0)

        await app(request_scope(b"/search.csv"), receive, send)

    asyncio.run(ask())
    assert len(sent) < 1 + COUNT / 10
    with served.lease() as snapshot:
        assert snapshot.users == 1, "the index is let go of"
    served.close()


# --- the map --------------------------------------------------------------------------------


def test_a_lasso_is_a_polygon_in_the_address(client):
    points, arrays = read_points(client.get(POINTS).content)
    places = arrays["positions"].reshape(-1, 2)
    for name, corners in {
        "triangle": [(-32767, -32767), (32767, -32767), (0, 32767)],
        "concave": [(-30000, -30000), (30000, -30000), (0, 0), (30000, 30000), (-30000, 30000)],
    }.items():
        path = pytest.importorskip("matplotlib.path").Path(corners)
        inside = path.contains_points(places)
        lasso = "_".join(f"{a}.{b}" for a, b in corners)
        given = client.get("/map/matches.json", params={"lasso": lasso}).json()
        # Where a point is on the border, either may be right.
        assert len(set(given["points"]) ^ set(np.flatnonzero(inside))) <= 2, name
        items = downloaded(client, lasso=lasso)
        assert [item["id"] for item in items] == [points["ids"][n] for n in given["points"]]
    for wrong in ("1.2_3.4", "a.b_c.d_e.f", "1.1_2.2_3.3_"):
        assert client.get("/search", params={"lasso": wrong}).status_code == 400


# --- labels and findings --------------------------------------------------------------------


def test_pages_show_the_tree_and_its_facets(tmp_path):
    texts = ["hill fort", "ring fort", "stone grave", "old grave", "a ship"]
    labels = [["forts"], ["forts"], ["graves"], ["graves"], ["ships"]]
    words = {
        "1": Concept("sites"),
        "2": Concept("graves", ("burials",), ("sites",)),
        "3": Concept("forts", (), ("sites",)),
    }
    index = SemanticIndex().fit(texts, labels).use_vocabulary(LabelVocabulary(words))
    index.save(tmp_path / "index")
    with explore(tmp_path / "index") as client:
        page = client.get("/labels").text
        assert page.count('<ul class="tree">') == 2
        assert page.count("<li>") == page.count("</li>")
        assert page.count("<ul") == page.count("</ul>")
        assert "label=sites%2A" in page or "label=sites*" in page
        assert client.get("/labels.json?q=burial").json()["labels"] == {"graves": 2}
        found = client.get("/search.json", params={"label": "sites*"}).json()
        assert found["count"] == 4
        groups = {one["group"]: one for one in client.get("/search.json").json()["groups"]}
        assert (groups["sites"]["pattern"], groups["sites"]["count"]) == ("sites*", 4)
        assert groups["sites"]["labels"] == {"forts": 2, "graves": 2}
        assert groups[""]["labels"] == {"ships": 1}
        # Names below a group are shown whole; only what separates levels is left out elsewhere.
        assert "<bdi>graves</bdi>" in client.get("/search").text


def test_labels_have_the_report_of_the_index(client, index):
    found = client.get("/labels.json").json()
    known = {one.label: one for one in index.label_report()}
    assert found["labels"] == index.labels
    assert found["reports"].keys() == known.keys()
    for name, row in found["reports"].items():
        one = known[name]
        assert (row["support"], row["chosen"]) == (one.support, one.chosen)
        assert row["recall"] == pytest.approx(one.recall, abs=1e-4)
        assert row["never"] == one.never
    for name in ("label", "chosen", "precision", "threshold"):
        once = client.get("/labels.json", params={"sort": name}).json()["reports"]
        back = client.get("/labels.json", params={"sort": f"-{name}"}).json()["reports"]
        values = [row[name] for row in once.values() if name != "precision" or row["chosen"]]
        assert values == sorted(values, reverse=name == "chosen")
        assert [*back] != [*once]
    assert client.get("/labels", params={"sort": "colour"}).status_code == 404


def test_the_audit_is_computed_once_while_others_are_answered(folder, monkeypatch):
    """The thread waits for an event of this test, not for a duration."""
    go, begun, calls = threading.Event(), threading.Event(), []
    audit = snapshot.audit_labels

    def slow(index, n=20, *, kinds=None):
        calls.append(kinds)
        begun.set()
        assert go.wait(60)
        return audit(index, n, kinds=kinds)

    monkeypatch.setattr(snapshot, "audit_labels", slow)
    with explore(folder) as client:
        assert client.get("/review.json").json()["state"] == "computing"
        assert begun.wait(60)
        assert "Looking for labels" in client.get("/review").text
        assert client.get("/search", params={"finding": "wrong"}).status_code == 503
        assert client.get("/search?q=chess").status_code == 200
        go.set()
        end = time.monotonic() + 60
        while (given := client.get("/review.json").json())["state"] != "ready":
            assert time.monotonic() < end
            time.sleep(0.05)
        assert len({kind for kinds in calls for kind in kinds}) == sum(map(len, calls))
        # One number everywhere.
        assert given["count"] == sum(one["count"] for one in given["kinds"])
        home = {
            one["address"]: one["count"] for one in client.get("/index.json").json()["attention"]
        }
        for kind in given["kinds"]:
            own = client.get("/review.json", params={"kind": kind["kind"]}).json()
            assert own["count"] == kind["count"]
            assert home.get(f"/review?kind={kind['kind']}", kind["sure"]) == kind["sure"]
        assert client.get("/review", params={"kind": "colour"}).status_code == 404
        # The items of a kind are a list, with counts over all of them.
        wrong = client.get("/review.json", params={"kind": "wrong"}).json()["rows"]
        ids = {name for row in wrong for name in row["items"]}
        assert {item["id"] for item in downloaded(client, finding="wrong")} == ids
        asked = {"finding": "wrong"}
        assert client.get("/search.json", params=asked).json()["count"] == len(ids) > 0
        assert client.get("/map/matches.json", params=asked).json()["count"] == len(ids)
        assert "/search?finding=wrong" in links(client, "/review", kind="wrong")
        assert client.get("/search", params={"finding": "colour"}).status_code == 404
