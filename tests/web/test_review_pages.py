"""The review in the explorer: who may change labels, deciding, undoing, bulk, exports."""

import csv
import io
import json
import re
from contextlib import contextmanager
from itertools import pairwise

import pytest
from _support.explorer import BASE, Page, make_attacks
from _support.topics import planted_index

pytest.importorskip("starlette", reason="install labelspan[app]")
from starlette.testclient import TestClient

from labelspan import LSI, SemanticIndex
from labelspan.errors import Locked, Mismatch
from labelspan.web import Served, make_app

ADDRESSES = [
    "/review",
    "/review.json",
    "/review/enter?token=x",
    "/review/decide",
    "/review/undo",
    "/review/order",
    "/review/decisions.csv",
    "/review/decisions.jsonl",
]
HERE = {"origin": BASE}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "index"
    planted_index().save(path)
    return path


@contextmanager
def editing(path, *, entered=True, drawn=True):
    """A client of an explorer for editing, with its queue made, and what is served."""
    served = Served(path, edit=True)
    if drawn:
        served.editing.order()
    app = make_app(served, watch=False)
    settings = {"raise_server_exceptions": False, "follow_redirects": False}
    with TestClient(app, base_url=BASE, **settings) as client:
        if entered:
            assert client.get(served.editing.address("")).status_code == 303
        yield client, served


def form_of(client, address="/review"):
    """The hidden fields of the first form that decides."""
    page = Page(client.get(address).text)
    secret = next(one["value"] for one in page.all("input") if one.get("name") == "secret")
    return {"secret": secret}


def decide(client, decision, keys, **more):
    fields = {**form_of(client), "decision": decision, "pair": keys, **more}
    return client.post("/review/decide", data=fields, headers=HERE)


def state(client, **asked):
    return client.get("/review.json", params=asked).json()


def test_a_long_text_is_scrolled_by_keyboard(folder):
    with editing(folder) as (client, _):
        page = Page(client.get("/review").text)
    text = next(one for one in page.all("div") if one.get("class") == "text")
    assert text["tabindex"] == "0"
    assert text["aria-label"]


def test_without_edit_no_address_writes(folder):
    with TestClient(make_app(Served(folder), watch=False), base_url=BASE) as client:
        for address in ADDRESSES:
            assert client.get(address).status_code == 404
            assert client.post(address, headers=HERE).status_code == 404
        assert "/review" not in client.get("/").text


def test_the_secret_of_the_address_becomes_a_cookie(folder):
    with editing(folder, entered=False) as (client, served):
        for address in set(ADDRESSES) - {"/review/decide", "/review/undo", "/review/order"}:
            refused = client.get(address)
            assert refused.status_code == 403
            assert "labelspan serve --edit" in refused.text
        entered = client.get(served.editing.address("/"))
        assert entered.headers["location"] == "/review"
        cookie = entered.headers["set-cookie"].lower()
        for part in ("httponly", "samesite=strict", "path=/"):
            assert part in cookie
        page = client.get("/review")
        assert page.status_code == 200
        assert page.headers["cache-control"] == "no-store"
        assert served.editing.address("").partition("=")[2] not in page.text
        assert 'href="/review"' in client.get("/labels").text


def test_what_does_not_come_from_a_page_of_this_server_is_refused(folder):
    with editing(folder) as (client, served):
        key = state(client)["current"]["key"]
        fields = {**form_of(client), "decision": "accept", "pair": key}

        def post(headers, **changes):
            return client.post("/review/decide", data={**fields, **changes}, headers=headers)

        origins = ["http://evil.example", "http://127.0.0.1:8001", "https://127.0.0.1", "null", ""]
        for origin in origins:
            assert post({"origin": origin}).status_code == 403, origin
        for site in ("cross-site", "same-site", "none"):
            assert post({**HERE, "sec-fetch-site": site}).status_code == 403
            assert post({"sec-fetch-site": site}).status_code == 403
        assert post({}).status_code == 403
        assert post(HERE, secret="guessed").status_code == 403
        assert client.post("/review/undo", data={"page": 1}, headers=HERE).status_code == 400
        assert client.get("/review/decide").status_code == 405
        assert post({**HERE, "content-type": "text/plain"}).status_code == 415
        assert post(HERE, decision="perhaps").status_code == 400
        assert post(HERE, pair="x").status_code == 400
        assert post({**HERE, "host": "evil.example"}).status_code == 400
        cookies = dict(client.cookies)
        client.cookies.clear()
        assert post(HERE).status_code == 403
        client.cookies.set(next(iter(cookies)), "guessed")
        assert post(HERE).status_code == 403
        assert served.editing.review.decisions() == []
        client.cookies.clear()
        client.get(served.editing.address(""))
        assert post({"sec-fetch-site": "same-origin"}).status_code == 303
        assert len(served.editing.review.decisions()) == 1


def test_decide_undo_and_see_it_everywhere(folder):
    with editing(folder) as (client, _):
        first = state(client, kind="wrong")["current"]
        assert 0 <= first["probability"] < 0.5
        assert first["words"]
        assert first["neighbours"]
        label, item = first["label"], first["item"]
        before = client.get("/label.json", params={"name": label}).json()["count"]
        answer = decide(client, "accept", first["key"], kind="wrong", label=label, page=1)
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/review?label={label}&kind=wrong&did=decided"
        page = client.get(answer.headers["location"])
        assert f"Removed: {label} of {item}." in page.text
        assert label not in client.get("/item.json", params={"id": item}).json()["labels"]
        assert client.get("/label.json", params={"name": label}).json()["count"] == before - 1
        listed = client.get("/list.json", params={"label": label}).json()
        assert listed["count"] == before - 1
        after = state(client)
        assert after["progress"]["accepted"] == 1
        assert after["last"][0]["said"] == "Removed"
        # A second page that still shows the finding changes nothing.
        assert decide(client, "reject", first["key"]).headers["location"] == "/review?did=gone"
        undone = client.post("/review/undo", data=form_of(client), headers=HERE)
        assert undone.headers["location"] == "/review?did=undone"
        assert label in client.get("/item.json", params={"id": item}).json()["labels"]
        assert state(client, kind="wrong")["current"]["key"] == first["key"]
        again = client.post("/review/undo", data=form_of(client), headers=HERE)
        assert again.headers["location"] == "/review?did=nothing"


def test_filters_bulk_and_exports(folder):
    with editing(folder) as (client, _):
        every = state(client)
        assert every["count"] == len(every["rows"]) == every["progress"]["waiting"]
        assert {row["kind"] for row in every["rows"]} == {"wrong", "missing"}
        for one in every["labels"]:
            assert state(client, label=one["label"])["count"] == one["count"]
        second = every["rows"][1]
        assert state(client, at=second["key"])["current"]["item"] == second["item"]
        keys = [row["key"] for row in every["rows"][:3]]
        decide(client, "skip", keys)
        assert "3 decisions were kept" in client.get("/review?did=decided").text
        assert [row["key"] for row in state(client, show="skipped")["rows"]] == keys
        decide(client, "reject", keys[:2], show="skipped")
        table = client.get("/review/decisions.csv")
        assert table.headers["content-disposition"] == 'attachment; filename="decisions.csv"'
        rows = list(csv.DictReader(io.StringIO(table.text)))
        lines = client.get("/review/decisions.jsonl").text.splitlines()
        assert [row["decision"] for row in rows] == ["skip", "reject", "reject"]
        assert [json.loads(line)["item"] for line in lines] == [row["item"] for row in rows]
        assert decide(client, "", keys).headers["location"] == "/review?did=nothing"
        assert state(client, page=99)["page"] == 1
        assert client.get("/review", params={"kind": "odd"}).status_code == 400
        assert "Nothing is waiting" in client.get("/review", params={"label": "none"}).text


def test_the_queue_is_made_on_request_and_again(folder):
    with editing(folder, drawn=False) as (client, served):
        made = served.editing
        made.start = lambda: None
        assert state(client)["state"] == "none"
        assert "Look again" in client.get("/review").text
        made.order()
        assert state(client)["state"] == "ready"
        made.start_again()
        assert made.state == "none"
        made.review.order = None
        made.order()
        assert "could not be found" in client.get("/review").text


def test_every_field_has_a_name_and_every_id_is_unique(folder):
    with editing(folder) as (client, _):
        page = Page(client.get("/review").text)
    ids = [one["id"] for _, one in page.elements if "id" in one]
    assert len(ids) == len(set(ids))
    named = {one["for"] for one in page.all("label") if "for" in one}
    fields = [one for one in page.all("input", "select") if one.get("type") != "hidden"]
    assert {one["id"] for one in fields} <= named | {"every", "header-q"}
    assert page.scripts == ""
    heads = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert heads[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(heads))


def test_hostile_content_stays_text(tmp_path):
    make_attacks(tmp_path / "index")
    with editing(tmp_path / "index") as (client, _):
        found = state(client)
        for row in found["rows"][:4]:
            page = Page(client.get("/review", params={"at": row["key"]}).text)
            assert page.scripts == ""
            assert not [value for value in page.values if value.startswith("javascript:")]
            assert not any(name.startswith("on") for _, one in page.elements for name in one)


def test_an_index_that_cannot_be_edited_is_refused(folder, tmp_path):
    with SemanticIndex.load(folder, write=True), pytest.raises(Locked):
        Served(folder, edit=True)
    bare = tmp_path / "bare"
    SemanticIndex(estimator=LSI(2)).fit(["a chess game", "edit photos", "chess"]).save(bare)
    with pytest.raises(Mismatch, match="without labels"):
        Served(bare, edit=True)
    # Nothing holds the lock.
    SemanticIndex.load(bare, write=True).close()
