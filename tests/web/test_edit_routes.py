"""Labels changed by a browser: edits, previews, undo, history, and who may."""

import json
import shutil
from contextlib import contextmanager

import pytest
from _support.explorer import BASE
from _support.topics import planted_index

pytest.importorskip("starlette", reason="install labelspan[app]")
from starlette.testclient import TestClient

from labelspan import SemanticIndex
from labelspan.web import Served, make_app

POSTS = {
    "/edit/labels.json": {"items": ["item0"], "remove": ["sound"]},
    "/edit/replace.json": {"labels": ["game"], "by": "sound"},
    "/edit/decide.json": {"findings": [], "decision": "accept"},
    "/edit/undo.json": {},
}
GETS = ("/edit/session.json", "/edit/history.json")


@pytest.fixture
def folder(tmp_path):
    planted_index().save(tmp_path / "index")
    return tmp_path / "index"


@contextmanager
def editing(path):
    """A client that was let in, with what it sends with every change."""
    served = Served(path, edit=True, who="anna")
    with served.lease() as snapshot:
        snapshot.compute_audit()
    app = make_app(served, watch=False)
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        client.get(served.editing.address(""), follow_redirects=False)
        secret = client.get("/edit/session.json").json()["secret"]
        yield client, {"origin": BASE, "x-labelspan-secret": secret}, served


def test_without_edit_nothing_is_there(folder):
    with TestClient(make_app(Served(folder), watch=False), base_url=BASE) as client:
        for address in (*POSTS, *GETS):
            assert client.get(address).status_code == 404
            assert client.post(address, json={}).status_code == 404


@pytest.mark.parametrize("address", POSTS)
def test_only_pages_of_this_server_change_labels(folder, address):
    with editing(folder) as (client, headers, served):

        def post(headers, body=POSTS[address], **more):
            return client.post(address, json=body, headers=headers, **more).status_code

        assert client.get("/edit/session.json").headers["cache-control"] == "no-store"
        assert post({}) == 403
        assert post({**headers, "origin": "http://evil.example"}) == 403
        assert post({**headers, "x-labelspan-secret": "guessed"}) == 403
        assert post({"origin": BASE}) == 403
        assert post({**headers, "sec-fetch-site": "cross-site"}) == 403
        assert client.get(address).status_code == 405
        form = client.post(address, data={"items": "item0"}, headers=headers)
        assert form.status_code == 415
        cookies = dict(client.cookies)
        client.cookies.clear()
        assert post(headers) == 403
        for get in GETS:
            assert client.get(get).status_code == 403
        assert served.editing.review.history() == []
        client.cookies.update(cookies)
        assert post(headers) == 200


def test_ten_items_are_changed_at_once_and_undone(folder):
    with editing(folder) as (client, headers, served):
        index = served.editing.review.index
        ids = index.ids[:10]
        before = {item.id: list(item.labels) for item in index.items()}
        body = {"items": ids, "add": ["new one"], "remove": ["game"], "who": "ben"}

        def post(path, **more):
            return client.post(f"/edit/{path}.json", json=more, headers=headers)

        seen = post("labels", **body, preview=True).json()
        assert (seen["items"], seen["decision"], seen["new_labels"]) == (10, None, ["new one"])
        refused = post("labels", **body)
        assert refused.status_code == 409
        assert "to be created" in refused.json()["error"]["message"]
        assert {item.id: list(item.labels) for item in index.items()} == before
        made = post("labels", **body, create=True).json()
        assert made["items"] == 10
        assert made["labels"][ids[0]] == sorted({*before[ids[0]], "new one"} - {"game"})
        assert made["decision"]["who"] == "ben"
        # What is shown follows at once.
        assert "new one" in client.get("/labels.json").text
        renamed = post("replace", labels=["new one"], by="newer", create=True).json()["decision"]
        assert (renamed["action"], renamed["who"], renamed["items"]) == ("rename", "anna", 10)
        number = made["decision"]["number"]
        blocked = post("undo", number=number)
        assert blocked.status_code == 409
        assert "undo that one first" in blocked.json()["error"]["message"]
        assert post("undo").json()["decision"]["undone"]
        assert post("undo", number=number).json()["items"] == 10
        assert {item.id: list(item.labels) for item in index.items()} == before
        assert post("undo").json()["decision"] is None
        page = client.get("/edit/history.json", params={"n": 1}).json()
        assert [one["action"] for one in page["decisions"]] == ["rename"]
        rest = client.get("/edit/history.json", params={"before": page["next"]}).json()
        assert [(one["action"], one["undone"]) for one in rest["decisions"]] == [("edit", True)]
        assert rest["next"] is None


WRONG = [
    ("labels", {"items": ["item0", "nobody"], "add": ["sound"]}, 404, "no item 'nobody'"),
    ("labels", {"items": ["item0"], "remove": ["sond"]}, 400, "did you mean 'sound'"),
    ("labels", {"items": ["item0"], "add": ["x" * 4001]}, 400, "add[0]: at most 4,000"),
    ("labels", {"items": ["item0"], "add": "sound"}, 400, "add: this must be of JSON type"),
    ("labels", {"items": ["item0"], "ad": []}, 400, "there is no 'ad' here"),
    ("labels", {"add": ["sound"]}, 400, "'items' is missing"),
    ("labels", {"items": ["item0"], "add": ["\ud800"]}, 400, "surrogates"),
    ("labels", {"items": ["item0"], "add": [""]}, 400, "non-empty"),
    ("labels", {"items": ["item0"], "preview": 1}, 400, "preview: this must be of JSON type"),
    ("labels", [], 400, "The body: this must be of JSON type object"),
    ("replace", {"labels": ["sond"], "by": None}, 400, "did you mean 'sound'"),
    ("replace", {"labels": ["sound"]}, 400, "'by' is missing"),
    ("decide", {"findings": [], "decision": "perhaps"}, 400, "choose one of"),
    ("undo", {"number": -1}, 400, "number: this must be a number from 0"),
    ("undo", {"number": 7}, 409, "there is none"),
]


def test_bad_bodies_change_nothing(folder):
    with editing(folder) as (client, headers, served):
        before = served.editing.review.index.items()
        given = {**headers, "content-type": "application/json"}
        for path, body, status, message in WRONG:
            content = json.dumps(body)
            answer = client.post(f"/edit/{path}.json", content=content, headers=given)
            assert answer.status_code == status
            assert message in answer.json()["error"]["message"]
        large = b'{"items": ["' + b"x" * (1 << 23) + b'"]}'
        assert client.post("/edit/labels.json", content=large, headers=given).status_code == 413
        assert served.editing.review.index.items() == before
        assert served.editing.review.history() == []


def test_decisions_under_a_replaced_index_are_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    with editing(folder) as (client, headers, served):
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
        for address, body in POSTS.items():
            if address not in ("/edit/undo.json", "/edit/decide.json"):
                answer = client.post(address, json=body, headers=headers)
                assert answer.status_code == 409, answer.text
                assert "was replaced" in answer.json()["error"]["message"]
                assert str(folder) not in answer.text
        key = client.get("/review.json").json()["rows"][0]["key"]
        body = {"findings": [key], "decision": "accept"}
        assert client.post("/edit/decide.json", json=body, headers=headers).status_code == 409
        assert served.editing.review.history() == []
    with SemanticIndex.load(folder, verify=True) as index:
        assert index.store.decisions() == []
