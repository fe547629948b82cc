"""Labels changed by a browser: edits, decisions, undo, history, corrected files, and who may."""

import io
import json
import re
import shutil
from contextlib import contextmanager

import pytest
from _support.explorer import BASE, Page, client_of, enter, explore, serve
from _support.topics import planted_index

pytest.importorskip("starlette", reason="install labelspan[app]")
from labelspan import LSI, SemanticIndex
from labelspan.errors import Locked
from labelspan.web import Served

POSTS = {
    "/edit/labels.json": {"items": ["item0"], "remove": ["sound"]},
    "/edit/replace.json": {"labels": ["game"], "by": "sound"},
    "/edit/decide.json": {"findings": [], "decision": "accept"},
    "/edit/undo.json": {},
    "/edit/links.json": {"add": [["item0", "item1"]]},
}
GETS = ("/edit/session.json", "/history.json")
GUARDED = ["/history", "/changes", "/changes/file"]


@pytest.fixture
def folder(tmp_path):
    planted_index().save(tmp_path / "index")
    return tmp_path / "index"


@contextmanager
def editing(path, **settings):
    """A client of an explorer for editing, what is served, and a function that decides."""
    served = serve(path, audited=True, edit=True, **settings)
    with client_of(served) as client:
        headers = enter(client, served)

        def post(path, **body):
            return client.post(f"/edit/{path}.json", json=body, headers=headers)

        yield client, served, post


def state(client, **asked):
    return client.get("/review.json", params=asked).json()


def test_without_edit_the_review_only_reads(folder):
    with explore(folder) as client:
        for address in (*GUARDED, *POSTS, *GETS, "/enter?token=x"):
            assert client.get(address).status_code == 404
            assert client.post(address, json={}).status_code == 404
        page = client.get("/review").text
        assert "edit.js" not in page
        assert "/static/review.js" not in page


def test_the_secret_of_the_address_becomes_a_cookie(folder):
    served = Served(folder, edit=True)
    with client_of(served) as client:
        for address in (*GUARDED, "/enter?token=x"):
            refused = client.get(address)
            assert refused.status_code == 403
            assert "labelspan serve" in refused.text
        entered = client.get(served.editing.access.address("/"), follow_redirects=False)
        assert entered.headers["location"] == "/"
        cookie = entered.headers["set-cookie"].lower()
        for part in ("httponly", "samesite=strict", "path=/"):
            assert part in cookie
        assert client.get("/history").status_code == 200
        for address in ("/review", "/history", "/item?id=item0"):
            text = client.get(address).text
            assert served.editing.access.address("").partition("=")[2] not in text
            assert served.editing.access.form_secret not in text


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
    with Served(folder) as served, served.lease() as snapshot:
        snapshot.make("audit")
        assert [one.items for one in snapshot.findings if one.kind == "wrong"].count((item,)) == 0


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
    with editing(folder, corpus=corpus, who="anna") as (client, _, post):
        assert "Nothing differs" in client.get("/changes").text
        assert client.get("/changes/file").content == before
        post("labels", items=[items[0].id, items[1].id], add=["brand new"], create=True)
        page = Page(client.get("/changes").text)
        assert "2 values differ from what was read from notes of mine.jsonl" in page.text
        assert client.get("/changes/check.json").json() == {"notes": [], "changed": [items[1].id]}
        # Only what changed is marked.
        assert re.findall(r"<ins>(.*?)</ins>", client.get("/changes").text) == ["brand new"] * 2
        rows = client.get("/changes.json").json()["rows"]
        assert {(row["id"], row["who"]) for row in rows} == {(one.id, "anna") for one in items[:2]}
        assert [row["before"] for row in rows] == [
            [[name, False] for name in one.labels] for one in items[:2]
        ]
        assert client.get("/edit/session.json").json()["bar"]["changes"] == 2
        for kind, head in (("csv", "id,title,text,labels"), ("decisions", "number,time,who")):
            assert client.get("/changes/file", params={"as": kind}).text.startswith(head)
        openpyxl = pytest.importorskip("openpyxl")
        book = io.BytesIO(client.get("/changes/file", params={"as": "xlsx"}).content)
        table = list(openpyxl.load_workbook(book).active.values)
        assert table[0][:4] == ("id", "title", "text", "labels")
        assert "brand new" in {row[0]: row[3] for row in table}[items[1].id]
        sent = client.get("/changes/file")
        name = sent.headers["content-disposition"]
        assert name == 'attachment; filename="notes_of_mine-corrected.jsonl"'
        told = [json.loads(line) for line in sent.text.splitlines()]
        assert "brand new" in told[0]["labels"]
        assert corpus.read_bytes() == before
    with editing(folder) as (client, _, _):
        # Without the file there are tables.
        assert "is not known here" in client.get("/changes/check.json").json()["notes"][0]
        assert "original" not in client.get("/changes.json").json()["formats"]
        assert client.get("/changes/file").status_code == 409
        assert "brand new" in client.get("/changes/file", params={"as": "csv"}).text


def test_an_index_without_labels_is_edited_and_taught(tmp_path):
    topics = ("chess board player dice", "audio song radio tune")
    texts = [f"{words} number {n}" for n in range(20) for words in topics]
    SemanticIndex(estimator=LSI(4)).fit(texts).save(tmp_path / "bare")
    with editing(tmp_path / "bare") as (client, _, send):

        def post(*path, **body):
            return send(*path, **body).json()

        for address in ("/", "/search", "/labels", "/review", "/teach", "/changes"):
            page = client.get(address)
            assert page.status_code == 200, address
            assert 'href="/tag"' not in page.text
        assert client.get("/edit/session.json").json()["bar"]["review"] is None
        assert (
            post("labels", items=["0"], add=["game"], create=True)["said"] == "Add game to 1 item."
        )
        state = post("teach/start", label="music", items=["1", "3"])
        for _ in range(6):
            one = state["questions"][0]["id"]
            state = post(
                "teach/answer", label="music", item=one, answer=["no", "yes"][int(one) % 2]
            )
        assert post("teach/apply", label="music", form="add")["items"] > 2
        assert client.get("/label", params={"name": "music"}).status_code == 200
        table = client.get("/changes/file", params={"as": "csv"}).text
        assert ",music" in table
        post("undo")
    with SemanticIndex.load(tmp_path / "bare") as index:
        assert index.labels == {"game": 1}


def test_an_index_that_another_writes_to_is_refused(folder):
    with SemanticIndex.load(folder, write=True), pytest.raises(Locked):
        Served(folder, edit=True)


@pytest.mark.parametrize("address", POSTS)
def test_only_pages_of_this_server_change_labels(folder, address):
    with editing(folder) as (client, served, _):
        headers = enter(client, served)

        def post(headers, body=POSTS[address]):
            return client.post(address, json=body, headers=headers).status_code

        assert client.get("/edit/session.json").headers["cache-control"] == "no-store"
        assert post({}) == 403
        assert post({**headers, "origin": "http://evil.example"}) == 403
        # A page of another scheme is another origin; a browser says which is the same.
        assert post({**headers, "origin": BASE.replace("http:", "https:")}) == 403
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
        assert served.editing.review.index.history() == []
        client.cookies.update(cookies)
        # There is nothing to undo.
        assert post(headers) == (409 if address == "/edit/undo.json" else 200)


def test_ten_items_are_changed_at_once_and_undone(folder):
    with editing(folder, who="anna") as (client, served, post):
        index = served.editing.review.index
        ids = index.ids[:10]
        before = {item.id: list(item.labels) for item in index.items()}
        show = {"show": [ids[0], "item40", "nobody"]}
        body = {"items": ids, "add": ["new one"], "remove": ["game"], "who": "ben"}

        seen = post("labels", **body, preview=True).json()
        assert (seen["items"], seen["decision"], seen["new_labels"]) == (10, None, ["new one"])
        refused = post("labels", **body)
        assert refused.status_code == 409
        assert "or allow it" in refused.json()["detail"]
        assert {item.id: list(item.labels) for item in index.items()} == before
        made = post("labels", **body, **show, create=True).json()
        assert made["items"] == 10
        assert set(made["labels"]) == {ids[0], "item40"}, "also of items that are not changed"
        assert made["labels"]["item40"] == before["item40"]
        assert made["labels"][ids[0]] == sorted({*before[ids[0]], "new one"} - {"game"})
        assert made["decision"]["who"] == "ben"
        # What is shown follows at once.
        assert "new one" in client.get("/labels.json").text
        renamed = post("replace", labels=["new one"], by="newer", create=True).json()["decision"]
        assert (renamed["action"], renamed["who"], renamed["items"]) == ("rename", "anna", 10)
        number = made["decision"]["number"]
        undone = post("undo", **show).json()
        assert undone["decision"]["undone"]
        assert undone["said"] == "Undone: Rename new one to newer."
        assert "new one" in undone["labels"][ids[0]]
        again = post("undo", number=undone["number"], **show).json()
        assert again["said"] == "Undone: Undo: Rename new one to newer."
        assert "newer" in again["labels"][ids[0]]
        # In any order.
        done = post("undo", number=number, who="cleo").json()
        assert (done["items"], done["restored"], done["kept"]) == (10, 10, {})
        assert {item.id: list(item.labels) for item in index.items()} == before
        blocked = post("undo", number=number)
        assert blocked.status_code == 409
        assert "it was undone before" in blocked.json()["detail"]
        assert post("undo").status_code == 200
        assert post("undo").json()["detail"] == "There is nothing to undo."
        page = client.get("/history.json", params={"n": 2}).json()
        assert [(one["action"], one["undoes"]) for one in page["decisions"]] == [
            ("undo", renamed["number"]),
            ("undo", number),
        ]
        assert page["decisions"][1]["who"] == "cleo"
        rest = client.get("/history.json", params={"before": page["next"]}).json()
        assert [(one["action"], one["undone"]) for one in rest["decisions"]][-2:] == [
            ("rename", True),
            ("edit", True),
        ]
        assert rest["next"] is None
        cells = client.get("/history/changes.json", params={"number": number}).json()["changes"]
        named = [one for one in cells if one["field"] == "label new one"]
        assert [(one["item"], one["before"], one["after"]) for one in named] == [
            (name, False, True) for name in ids
        ]


def test_the_same_change_twice_answers_with_what_is_stored(folder):
    with editing(folder) as (_, served, post):
        body = {"items": ["item0"], "add": ["image"], "show": ["item0"]}
        for _ in range(2):
            answer = post("labels", **body).json()
            assert answer["labels"]["item0"] == list(
                served.editing.review.index.item("item0").labels
            )
            assert "image" in answer["labels"]["item0"]
        assert (answer["decision"], answer["said"]) == (None, "Nothing to change.")
        for _ in range(2):
            answer = post("labels", items=["item0"], remove=["game"], show=["item0"]).json()
            assert answer["labels"] == {"item0": ["image", "sound"]}
        # Without a change: what another window has stored.
        answer = post("labels", items=[], show=["item0", "item1"]).json()
        assert answer["labels"]["item0"] == ["image", "sound"]


NEAR = ["Game", "ga\u0301me", "games", "Sounds", "imagge", "imgae"]


@pytest.mark.parametrize("name", NEAR)
def test_a_new_label_that_is_spelt_nearly_like_another_is_asked_about(folder, name):
    with editing(folder) as (_, served, post):
        index = served.editing.review.index
        before = dict(index.labels)
        body = {"items": ["item0"], "add": [name]}
        plan = post("labels", **body, preview=True).json()
        (near,) = plan["similar"].values()
        assert near[0] in ("game", "sound", "image")
        assert f"nearly like '{near[0]}' ({before[near[0]]:,} items)" in plan["asked"]
        rename = {"labels": ["image" if near[0] == "game" else "game"], "by": name}
        for path, given in (("labels", body), ("replace", rename)):
            refused = post(path, **given, create=True)
            assert refused.status_code == 409, path
            assert "Correct it, or allow it" in refused.json()["detail"]
        assert dict(index.labels) == before
        made = post("replace", **rename, create=True, similar=True).json()
        assert made["decision"]["action"] == "rename"
        assert (
            post("labels", items=["item0"], add=["quite another"], preview=True).json()["similar"]
            == {}
        )


def test_the_progress_is_that_of_the_review(folder):
    with editing(folder) as (client, _, post):
        before = state(client)["progress"]
        post("labels", items=["item30", "item31", "item32"], add=["brand new"], create=True)
        assert state(client)["progress"] == before, "an edit is not a decision of the review"
        key = state(client, kind="pairs")["rows"][0]["key"]
        shown = client.get("/finding.json", params={"key": key}).json()
        assert 0 < shown["base_rate"] < 1
        post("decide", findings=[key], decision="accept")
        after = state(client)["progress"]
        assert (after["accepted"], after["waiting"]) == (1, before["waiting"] - 1)


def test_a_label_that_is_renamed_is_not_compared_with_its_new_name(folder):
    with editing(folder) as (_, served, post):
        plan = post("replace", labels=["game"], by="Game", preview=True).json()
        assert plan["similar"] == {}
        assert post("replace", labels=["game"], by="Game", create=True).status_code == 200
        assert "Game" in served.editing.review.index.labels


WRONG = [
    ("labels", {"items": ["item0", "nobody"], "add": ["sound"]}, 404, "no item 'nobody'"),
    ("labels", {"items": ["item0"], "remove": ["sond"]}, 404, "did you mean 'sound'"),
    (
        "labels",
        {"items": ["item0"], "add": ["x" * 4001]},
        400,
        "add[0]: String should have at most",
    ),
    ("labels", {"items": ["item0"], "add": "sound"}, 400, "add: Input should be a valid array"),
    ("labels", {"items": ["item0"], "ad": []}, 400, "ad: Extra inputs are not permitted"),
    ("labels", {"add": ["sound"]}, 400, "items: Field required"),
    ("labels", {"items": ["item0"], "add": ["\ud800"]}, 400, "Invalid JSON"),
    ("labels", {"items": ["item0"], "add": [""]}, 400, "at least 1 character"),
    ("labels", {"items": ["item0"], "preview": 1}, 400, "preview: Input should be a valid boolean"),
    ("labels", [], 400, "The body: Input should be an object"),
    ("replace", {"labels": ["sond"], "by": None}, 404, "did you mean 'sound'"),
    ("replace", {"labels": ["sound"]}, 400, "by: Field required"),
    ("decide", {"findings": [], "decision": "perhaps"}, 400, "decision: Input should be 'accept'"),
    ("undo", {"number": -1}, 400, "number: Input should be greater than or equal to 0"),
    ("undo", {"number": 7}, 409, "not in the history"),
]


def test_bad_bodies_change_nothing(folder):
    with editing(folder) as (client, served, _):
        before = served.editing.review.index.items()
        given = enter(client, served) | {"content-type": "application/json"}
        for path, body, status, message in WRONG:
            content = json.dumps(body)
            answer = client.post(f"/edit/{path}.json", content=content, headers=given)
            assert answer.status_code == status
            assert message in answer.json()["detail"]
        large = b'{"items": ["' + b"x" * (1 << 23) + b'"]}'
        assert client.post("/edit/labels.json", content=large, headers=given).status_code == 413
        assert served.editing.review.index.items() == before
        assert served.editing.review.index.history() == []


def test_decisions_under_a_replaced_index_are_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    with editing(folder) as (client, served, _):
        headers = enter(client, served)
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
        for address, body in POSTS.items():
            if address not in ("/edit/undo.json", "/edit/decide.json"):
                answer = client.post(address, json=body, headers=headers)
                assert answer.status_code == 409, answer.text
                assert "was replaced" in answer.json()["detail"]
                assert str(folder) not in answer.text
        key = client.get("/review.json").json()["rows"][0]["key"]
        body = {"findings": [key], "decision": "accept"}
        assert client.post("/edit/decide.json", json=body, headers=headers).status_code == 409
        assert served.editing.review.index.history() == []
    with SemanticIndex.load(folder, verify=True) as index:
        assert index.history() == []
