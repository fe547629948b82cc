"""Lists, the report on labels and the audit: paging, sorting, links and downloads."""

import asyncio
import csv
import io
import threading

import numpy as np
import pytest
from _support.explorer import ODD, WORDS, Page, explore, make_attacks, make_index, read_points

pytest.importorskip("starlette.testclient", reason="install labelspan[test]")

from labelspan import SemanticIndex
from labelspan.web import Served, answers, item_list, make_app
from labelspan.web.fragments import first_chips
from labelspan.web.openapi import POINTS

GAME, SOUND, IMAGE = sorted(WORDS)
COUNT = 130


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("lists") / "index"
    make_index(path, COUNT)
    return path


@pytest.fixture(scope="module")
def client(folder):
    with explore(folder, drawn=True) as client:
        yield client


@pytest.fixture(scope="module")
def index(folder):
    return SemanticIndex.load(folder)


def links(client, path, **asked):
    page = Page(client.get(path, params=asked).text)
    return [a["href"] for a in page.all("a")]


def test_pages_hold_every_item_once(client, index):
    seen, page = [], 1
    while True:
        given = client.get("/list.json", params={"page": page, "sort": "-id"}).json()
        seen += [row["id"] for row in given["rows"]]
        if page == given["pages"]:
            break
        page += 1
    assert page == 3
    assert given["count"] == COUNT
    assert seen == sorted(index.ids, reverse=True)
    assert client.get("/list", params={"page": page + 1}).status_code == 404
    follow = links(client, "/list", page=2, sort="-id")
    assert "/list?sort=-id" in follow
    assert "/list?sort=-id&page=3" in follow


def test_counts_are_of_all_that_match_and_links_narrow_them(client, index):
    given = client.get("/list.json", params={"label": SOUND}).json()
    assert given["count"] == index.labels[SOUND] > len(given["rows"])
    labels = {one["label"]: one["count"] for group in given["groups"] for one in group["labels"]}
    both = [item for item in index.items() if {SOUND, GAME} <= set(item.labels or ())]
    assert labels[GAME] == len(both)
    for wanted, count in (("label", len(both)), ("without", given["count"] - len(both))):
        name = next(
            href
            for href in links(client, "/list", label=SOUND)
            if href.startswith("/list?") and f"{wanted}=game" in href
        )
        page = Page(client.get(name).text)
        assert f"{count} item" in page.text
    years = {one["value"]: one["count"] for key in given["keys"] for one in key["values"]}
    expected = [item.metadata["year"] for item in index.items() if SOUND in (item.labels or ())]
    assert years["2003"] == expected.count(2003)


def test_a_row_has_what_the_item_has(client, index):
    given = client.get("/list.json", params={"q": "chess"}).json()
    assert given["columns"] == ["free", "year"]
    for row in given["rows"]:
        item = index.item(row["id"])
        assert row["title"] == item.title
        assert row["labels"] == (None if item.labels is None else list(item.labels))
        assert row["values"] == [
            "true" if item.metadata["free"] else "false",
            str(item.metadata["year"]),
        ]
    scores = [row["score"] for row in given["rows"]]
    assert scores == sorted(scores, reverse=True)
    assert all(row["score"] is None for row in client.get("/list.json").json()["rows"])


@pytest.mark.parametrize(
    "asked", [{}, {"label": [IMAGE], "sort": "title"}, {"q": "chess", "without": [SOUND]}]
)
def test_downloads_hold_all_that_match_in_order(client, asked):
    count = client.get("/list.json", params=asked).json()["count"]
    table = client.get("/list.csv", params=asked)
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert table.headers["content-disposition"] == 'attachment; filename="items.csv"'
    rows = list(csv.DictReader(io.StringIO(table.content.decode(), newline="")))
    items = client.get("/list/items.json", params=asked).json()["items"]
    assert len(rows) == len(items) == count > 0
    assert [row["id"] for row in rows] == [item["id"] for item in items]
    first = client.get("/list.json", params=asked).json()["rows"]
    assert [item["id"] for item in items[: len(first)]] == [row["id"] for row in first]
    for row, item in zip(rows, items, strict=True):
        assert row["labels"] == "|".join(item["labels"] or ())
        assert row["year"] == str(item["metadata"]["year"])
        assert row["score"] == ("" if item["score"] is None else str(item["score"]))
    assert client.get("/list.csv", params={"page": 2}).status_code == 400
    assert client.get("/list.csv", params={"label": "nothing"}).status_code == 404
    assert client.head("/list.csv").status_code == 200


def test_a_download_of_nothing_is_valid(client):
    asked = {"q": "zzz"}
    assert client.get("/list/items.json", params=asked).json() == {"items": []}
    assert client.get("/list.csv", params=asked).text == "id,title,score,labels,free,year\r\n"


def test_hostile_texts_are_downloaded_unchanged(tmp_path):
    make_attacks(tmp_path / "index")
    with explore(tmp_path / "index") as client:
        items = client.get("/list/items.json").json()["items"]
        rows = list(
            csv.DictReader(io.StringIO(client.get("/list.csv").content.decode(), newline=""))
        )
        assert [row["id"] for row in rows] == [item["id"] for item in items]
        page = Page(client.get("/list").text)
        assert not page.scripts.strip()


def test_a_download_ends_when_its_client_goes_away(folder, monkeypatch):
    monkeypatch.setattr("labelspan.index.listing._ITEMS_AT_ONCE", 10)
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

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": "/list.csv",
            "raw_path": b"/list.csv",
            "root_path": "",
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1")],
        }
        await app(scope, receive, send)

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
        items = client.get("/list/items.json", params={"lasso": lasso}).json()["items"]
        assert [item["id"] for item in items] == [points["ids"][n] for n in given["points"]]
    for wrong in ("1.2_3.4", "a.b_c.d_e.f", "1.1_2.2_3.3_"):
        assert client.get("/list", params={"lasso": wrong}).status_code == 400


def test_matches_are_positions_of_points(client):
    ids = read_points(client.get(POINTS).content)[0]["ids"]
    for asked in ({"q": "chess"}, {"label": [IMAGE]}, {"meta": ["year=2001"]}):
        given = client.get("/map/matches.json", params=asked).json()
        items = client.get("/list/items.json", params=asked | {"sort": ""}).json()["items"]
        assert {ids[n] for n in given["points"]} == {item["id"] for item in items}
        assert given["count"] == len(items) > 0


def test_a_lasso_waits_for_the_map(folder):
    with explore(folder) as client:
        waiting = client.get("/list", params={"lasso": "0.0_1.0_1.1"})
        assert (waiting.status_code, waiting.headers["retry-after"]) == (503, "2")


# --- labels and findings --------------------------------------------------------------------


def test_the_report_is_that_of_the_index(client, index):
    rows = client.get("/report.json").json()["rows"]
    known = {one.label: one for one in index.label_report()}
    assert {row["label"] for row in rows} == known.keys()
    for row in rows:
        one = known[row["label"]]
        assert (row["support"], row["chosen"]) == (one.support, one.chosen)
        assert row["recall"] == pytest.approx(one.recall, abs=1e-4)
        assert (row["threshold"] is None) == one.never
    for name in ("label", "support", "precision", "threshold"):
        once = client.get("/report.json", params={"sort": name}).json()["rows"]
        back = client.get("/report.json", params={"sort": f"-{name}"}).json()["rows"]
        values = [row[name] for row in once if row[name] is not None]
        assert values == sorted(values, reverse=name == "support")
        assert {row["label"] for row in back} == {row["label"] for row in once}
    assert client.get("/report", params={"sort": "colour"}).status_code == 404
    table = list(csv.DictReader(io.StringIO(client.get("/report.csv").text)))
    assert [row["label"] for row in table] == [row["label"] for row in rows]


def test_the_audit_is_computed_once_while_others_are_answered(folder, monkeypatch):
    """The thread waits for an event of this test, not for a duration."""
    go, begun, calls = threading.Event(), threading.Event(), []
    audit = SemanticIndex.audit

    def slow(self, n=20):
        calls.append(n)
        begun.set()
        assert go.wait(60)
        return audit(self, n)

    monkeypatch.setattr(SemanticIndex, "audit", slow)
    with explore(folder) as client:
        assert client.get("/audit.json").json()["state"] == "computing"
        assert begun.wait(60)
        page = client.get("/audit")
        assert "being audited" in page.text
        assert client.get("/audit.csv").status_code == 503
        assert client.get("/list", params={"finding": "wrong"}).status_code == 503
        assert client.get("/search?q=chess").status_code == 200
        go.set()
        for thread in threading.enumerate():
            if thread.name == "audit":
                thread.join(60)
        given = client.get("/audit.json").json()
        assert given["state"] == "ready"
        assert len(calls) == 1
        assert given["count"] == sum(one["count"] for one in given["kinds"])
        kind = given["kinds"][0]
        own = client.get("/audit.json", params={"kind": kind["kind"]}).json()
        assert own["count"] == kind["count"]
        table = list(csv.DictReader(io.StringIO(client.get("/audit.csv").text)))
        assert len(table) == given["count"]
        assert client.get("/audit", params={"kind": "colour"}).status_code == 404
        # The items of a kind are a list, with counts over all of them.
        ids = {name for row in table if row["kind"] == "wrong" for name in row["items"].split("|")}
        asked = {"finding": "wrong"}
        listed = client.get("/list/items.json", params=asked).json()["items"]
        assert {item["id"] for item in listed} == ids
        assert client.get("/list.json", params=asked).json()["count"] == len(ids) > 0
        assert client.get("/map/matches.json", params=asked).json()["count"] == len(ids)
        assert "/list?finding=wrong" in links(client, "/audit", kind="wrong")
        assert client.get("/list", params={"finding": "colour"}).status_code == 404


@pytest.mark.parametrize("most", [1, 10_000])
def test_findings_that_were_cut_off_are_called_the_clearest(folder, monkeypatch, most):
    monkeypatch.setattr(answers, "FINDINGS_OF_A_KIND", most)
    served = Served(folder)
    with served.lease() as snapshot:
        snapshot.compute_audit()
        said = [one["what"] for one in answers._attention(snapshot) if "audit" in one["address"]]
    assert said
    assert all(("the clearest" in what) == (most == 1) for what in said)


def test_an_audit_that_fails_is_reported(folder, monkeypatch, caplog):
    def fail(self, n=20):
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(SemanticIndex, "audit", fail)
    served = Served(folder)
    with served.lease() as snapshot:
        snapshot.compute_audit()
        assert snapshot.audit_state == "failed"
    assert "a secret" in caplog.text
    served.close()


def test_four_labels_are_shown_and_the_others_unfold():
    names = [f"n{number}" for number in range(12)]
    page = Page(str(first_chips(names)))
    assert page.text.startswith("n0n1n2n3+8n4")
    assert len(page.all("details")) == 1
    assert not Page(str(first_chips(names[:5]))).all("details"), "one more is shown as it is"


def test_odd_names_are_linked(client):
    hrefs = links(client, "/list", sort="id")
    hrefs += links(client, "/list", sort="id", page=2) + links(client, "/list", sort="id", page=3)
    items = [href for href in hrefs if href.startswith("/item?")]
    assert len(items) == COUNT
    wanted = {f"/item?id={name}" for name in ("item.json", "..%2Fmanifest.json")}
    assert wanted <= set(items)
    assert item_list.COLUMNS == ["id", "title", "score", "labels"]
    assert len(ODD) == 6
