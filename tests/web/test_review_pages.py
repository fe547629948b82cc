"""The review in the explorer: who may see and change what, evidence, corrected files."""

import json
from contextlib import contextmanager

import pytest
from _support.explorer import BASE, Page
from _support.topics import planted_index

pytest.importorskip("starlette", reason="install labelspan[app]")
from starlette.testclient import TestClient

from labelspan import LSI, SemanticIndex
from labelspan.errors import Locked, Mismatch
from labelspan.web import Served, make_app

GUARDED = ["/history", "/changes", "/changes/file"]


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "index"
    planted_index().save(path)
    return path


@contextmanager
def editing(path, *, entered=True, **settings):
    """A client of an explorer for editing, what is served, and a function that decides."""
    served = Served(path, edit=True, **settings)
    with served.lease() as snapshot:
        snapshot.compute_audit()
    app = make_app(served, watch=False)
    given = {"raise_server_exceptions": False, "follow_redirects": False}
    with TestClient(app, base_url=BASE, **given) as client:
        if entered:
            assert client.get(served.editing.address("")).status_code == 303

        def post(path, **body):
            secret = client.get("/edit/session.json").json()["secret"]
            headers = {"origin": BASE, "x-labelspan-secret": secret}
            return client.post(f"/edit/{path}.json", json=body, headers=headers)

        yield client, served, post


def state(client, **asked):
    return client.get("/review.json", params=asked).json()


def test_without_edit_the_review_only_reads(folder):
    with TestClient(make_app(Served(folder), watch=False), base_url=BASE) as client:
        for address in (*GUARDED, "/review/enter?token=x"):
            assert client.get(address).status_code == 404
        page = client.get("/review").text
        assert "edit.js" not in page
        assert "/static/review.js" not in page


def test_the_secret_of_the_address_becomes_a_cookie(folder):
    with editing(folder, entered=False) as (client, served, _):
        for address in (*GUARDED, "/review/enter?token=x"):
            refused = client.get(address)
            assert refused.status_code == 403
            assert "labelspan serve --edit" in refused.text
        entered = client.get(served.editing.address("/"))
        assert entered.headers["location"] == "/review"
        cookie = entered.headers["set-cookie"].lower()
        for part in ("httponly", "samesite=strict", "path=/"):
            assert part in cookie
        assert client.get("/history").status_code == 200
        for address in ("/review", "/history", "/item?id=item0"):
            text = client.get(address).text
            assert served.editing.address("").partition("=")[2] not in text
            assert served.editing.form_secret not in text


def test_decisions_are_seen_everywhere(folder):
    with editing(folder) as (client, _, post):
        row = state(client, kind="wrong")["rows"][0]
        told = client.get("/finding.json", params={"key": row["key"]}).json()
        assert 0 <= told["probability"] < 0.5
        assert told["words"]
        assert told["neighbours"]
        (label,), (item,) = row["labels"], row["items"]
        before = state(client)
        assert before["progress"]["waiting"] == sum(
            one["count"] for one in before["kinds"] if one["kind"] in ("wrong", "missing")
        )
        count = client.get("/search.json", params={"label": label}).json()["count"]
        assert post("decide", findings=[row["key"]], decision="accept").status_code == 200
        assert client.get("/search.json", params={"label": label}).json()["count"] == count - 1
        assert label not in client.get("/item.json", params={"id": item}).json()["labels"]
        after = state(client)
        assert after["progress"]["accepted"] == 1
        assert after["progress"]["waiting"] == before["progress"]["waiting"] - 1
        assert row["key"] not in [one["key"] for one in after["rows"]]
        post("undo")
        assert state(client)["rows"] == before["rows"]
    # One that only reads leaves out what was decided.
    with editing(folder) as (client, _, post):
        post("decide", findings=[row["key"]], decision="reject")
    served = Served(folder)
    with served.lease() as snapshot:
        snapshot.compute_audit()
        assert [one.items for one in snapshot.findings if one.kind == "wrong"].count((item,)) == 0
    served.close()


def test_skipped_and_filtered(folder):
    with editing(folder) as (client, _, post):
        every = state(client, kind="pairs")
        assert {row["kind"] for row in every["rows"]} == {"wrong", "missing"}
        for label, count in every["labels"].items():
            assert state(client, label=label, kind="pairs")["count"] == count
        keys = [row["key"] for row in every["rows"][:3]]
        post("decide", findings=keys, decision="skip")
        assert {row["key"] for row in state(client, show="skipped")["rows"]} == set(keys)
        post("decide", findings=keys[:2], decision="reject")
        assert {row["key"] for row in state(client, show="skipped")["rows"]} == set(keys[2:])
        assert client.get("/review", params={"kind": "odd"}).status_code == 404
        assert "nothing is left" in client.get("/review", params={"label": "none"}).text
        assert client.get("/finding", params={"key": "0" * 24}).status_code == 404


def test_the_corrected_file_is_shown_and_sent(folder, tmp_path):
    with SemanticIndex.load(folder) as index:
        items = index.items()
    corpus = tmp_path / "notes of mine.jsonl"
    lines = [{"id": one.id, "text": one.text, "labels": list(one.labels or ())} for one in items]
    changed = dict(lines[1], text="another text")
    corpus.write_text("".join(json.dumps(x) + "\n" for x in [lines[0], changed, *lines[2:]]))
    before = corpus.read_bytes()
    with editing(folder, corpus=corpus) as (client, _, post):
        assert "<strong>0 items</strong>" in client.get("/changes").text
        post("labels", items=[items[0].id, items[1].id], add=["brand new"], create=True)
        page = Page(client.get("/changes").text)
        assert "2 items of notes of mine.jsonl change: 2 labels added" in page.text
        assert "1 item has another text" in page.text
        assert "brand new" in page.text
        sent = client.get("/changes/file")
        name = sent.headers["content-disposition"]
        assert name == 'attachment; filename="notes_of_mine.jsonl"'
        told = [json.loads(line) for line in sent.text.splitlines()]
        assert "brand new" in told[0]["labels"]
        assert corpus.read_bytes() == before
    with editing(folder) as (client, _, _):
        assert "--corpus FILE" in client.get("/changes").text
        assert client.get("/changes/file").status_code == 404


def test_an_index_that_cannot_be_edited_is_refused(folder, tmp_path):
    with SemanticIndex.load(folder, write=True), pytest.raises(Locked):
        Served(folder, edit=True)
    bare = tmp_path / "bare"
    SemanticIndex(estimator=LSI(2)).fit(["a chess game", "edit photos", "chess"]).save(bare)
    with pytest.raises(Mismatch, match="without labels"):
        Served(bare, edit=True)
    # Nothing holds the lock.
    SemanticIndex.load(bare, write=True).close()
