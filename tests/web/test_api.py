"""The interface for other programs: tokens, tags, items, feedback, vectors, bad input, races."""

import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from _support.explorer import client_of, command
from _support.topics import planted_index

pytest.importorskip("starlette", reason="install labelspan[app]")
from labelspan import SemanticIndex
from labelspan.corpus import Concept, LabelVocabulary
from labelspan.errors import InvalidFile, InvalidParameter, MissingData
from labelspan.web import Served, serve
from labelspan.web.access import read_token
from labelspan.web.endpoints import ENDPOINTS

TOKEN = "0123456789abcdef0123456789"
BODIES = {
    "tag": {"text": "chess"},
    "embed": {"texts": ["chess"]},
    "put_items": {"items": [{"id": "new", "text": "chess"}]},
    "feedback": {"item": "item2", "accepted": ["game"]},
}


@pytest.fixture
def folder(tmp_path):
    planted_index().save(tmp_path / "index")
    return tmp_path / "index"


@contextmanager
def program(path, *, edit=True, token=TOKEN, sent=TOKEN):
    """A function that sends JSON to the interface, and what is served."""
    served = Served(path, edit=edit)
    with client_of(served, token=token) as client:
        headers = {} if sent is None else {"authorization": f"Bearer {sent}"}

        def send(name, body=None, method="POST", **more):
            given = {**headers, **more}
            if body is None:
                return client.request(method, f"/api/1/{name}", headers=given)
            return client.request(method, f"/api/1/{name}", json=body, headers=given)

        send.client = client
        yield send, served


def every(send):
    for endpoint in ENDPOINTS:
        if endpoint.access != "token":
            continue
        name = endpoint.path.removeprefix("/api/1/").replace("{id:path}", "item0")
        name += "?id=item1" if endpoint.name == "similar" else ""
        yield endpoint, send(name, BODIES.get(endpoint.name), endpoint.method)


@pytest.mark.parametrize("sent", [None, "wrong", TOKEN[:-1]])
def test_without_the_token_everything_is_refused(folder, sent):
    with program(folder, sent=sent) as (send, served):
        for _, answer in every(send):
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "Bearer TOKEN" in answer.json()["detail"]
        assert len(served.editing.review.index) == len(planted_index())
        basic = send("tag", BODIES["tag"], authorization=f"Basic {TOKEN}")
        assert basic.status_code == 401


def test_a_server_without_a_token_refuses_any(folder):
    with program(folder, token="", sent="") as (send, _):
        assert {answer.status_code for _, answer in every(send)} == {403}


def test_without_edit_nothing_is_changed(folder):
    with program(folder, edit=False) as (send, _):
        for endpoint, answer in every(send):
            assert answer.status_code == (403 if endpoint.writes else 200), endpoint.name


def test_tags_are_those_of_the_index(folder):
    with program(folder, edit=False) as (send, served), served.held() as snapshot:
        index = snapshot.index
        texts = ["play a chess game", "crop the photo", ""]
        found = send("tag", {"texts": texts, "k": 3, "why": True}).json()["results"]
        for text, row, wanted in zip(texts, found, index.tag(texts, 3), strict=True):
            assert [(one["label"], one["chosen"]) for one in row] == [
                (tag.label, tag.chosen) for tag in wanted
            ]
            for one, tag in zip(row, wanted, strict=True):
                assert one["probability"] == pytest.approx(tag.probability, abs=5e-5)
                why = index.explain_tag(tag.label, text)
                assert [word["word"] for word in one["why"]["words"]] == [
                    word.word for word in why.words
                ]
                assert [near["id"] for near in one["why"]["neighbours"]] == [
                    vote.id for vote in why.votes
                ]
        one = send("tag", {"text": texts[0], "k": 3}).json()["results"]
        assert [tag["label"] for tag in one[0]] == [tag["label"] for tag in found[0]]
        assert one[0][0]["why"] is None
        vectors = send("embed", {"texts": texts}).json()
        np.testing.assert_allclose(vectors["vectors"], index.embed(texts), atol=1e-6)
        assert vectors["dimensions"] == index.n_dimensions


def test_lists_are_those_of_the_index_page_by_page(folder):
    with program(folder, edit=False) as (send, served), served.held() as snapshot:
        index = snapshot.index

        def get(name, **given):
            return send(f"{name}?{urlencode(given, doseq=True)}", method="GET").json()

        # A search, a list by labels only, and paging through all items.
        found = get("search", q="chess", k=5)
        assert [one["id"] for one in found["items"]] == [
            hit.id for hit in index.browse("chess").page(1, 5)
        ]
        one, other = list(index.labels)[:2]
        listed = get("search", label=[one], without=[other], k=100)
        assert {hit["id"] for hit in listed["items"]} == {
            item.id for item in index.items() if one in item.labels and other not in item.labels
        }
        first = get("search", k=40)
        pages = [get("search", k=40, page=n + 1)["items"] for n in range(first["pages"])]
        assert [one["id"] for page in pages for one in page] == index.ids
        assert first["count"] == len(index)
        near = [get("similar", id="item3", k=2, page=n)["items"] for n in (1, 2)]
        assert [one["id"] for page in near for one in page] == [
            hit.id for hit in index.search(None, 4, items="item3")
        ]
        labels = get("labels")["labels"]
        assert {one["label"]: one["items"] for one in labels} == index.labels
        assert get("labels", q="gam")["labels"] == [one for one in labels if one["label"] == "game"]
        item = get("items/item3", start=2, n=5)
        text = index.item("item3").text
        assert (item["text"], item["length"]) == (text[2:7], len(text))
        assert get("items/item3")["text"] == text
        assert send("search?page=99", method="GET").status_code == 404
        assert send("search?k=101", method="GET").status_code == 400


def test_uris_of_a_vocabulary_name_labels(tmp_path):
    names = {"http://example.org/1": Concept("game"), "http://example.org/2": Concept("image")}
    planted_index().use_vocabulary(LabelVocabulary(names)).save(tmp_path / "index")
    with program(tmp_path / "index") as (send, served):
        index = served.editing.review.index
        uri = next(iter(names))
        tag = send("tag", {"text": "play a chess game", "k": 1}).json()["results"][0][0]
        assert (tag["label"], tag["uri"]) == ("game", uri)
        listed = send(f"search?label={uri}", method="GET").json()
        assert listed["count"] == index.labels["game"]
        item = {"id": "new", "text": "a match of chess", "labels": [uri]}
        assert send("items", {"items": [item]}).json()["added"] == 1
        assert index.item("new").labels == ("game",)
        shown = send("items/new", method="GET").json()["labels"]
        assert shown == [{"label": "game", "uri": uri, "items": index.labels["game"]}]
        send("feedback", {"item": "new", "rejected": [uri]})
        assert index.item("new").labels == ()


def test_pages_of_an_allowed_origin_may_use_the_interface_only(folder):
    origin = "moz-extension://0a1b"
    with Served(folder) as served:
        client = client_of(served, token=TOKEN, origins=[origin])
        asked = {
            "origin": origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, content-type",
        }
        said = client.options("/api/1/tag", headers=asked)
        assert (said.status_code, said.headers["access-control-allow-origin"]) == (200, origin)
        headers = {"origin": origin, "authorization": f"Bearer {TOKEN}"}
        made = client.post("/api/1/tag", json={"text": "chess"}, headers=headers)
        assert (made.status_code, made.headers["access-control-allow-origin"]) == (200, origin)
        # An error can be read, too.
        wrong = client.post("/api/1/tag", json={"text": "chess"}, headers={"origin": origin})
        assert (wrong.status_code, wrong.headers["access-control-allow-origin"]) == (401, origin)
        assert wrong.headers["content-type"] == "application/problem+json"
        assert client.get("/search.json", headers=headers).status_code == 403
        other = client.post("/api/1/tag", json={}, headers={**headers, "origin": "https://b.org"})
        assert other.status_code == 403
        assert "access-control-allow-origin" not in other.headers
    for given in ("example.org", "https://example.org/path", "*"):
        with pytest.raises(InvalidParameter, match="scheme and a host"):
            serve(folder, allow_origins=[given])


def test_items_come_change_and_go(folder):
    name = "a/b c?\u00fc"
    with program(folder) as (send, served):
        index = served.editing.review.index
        size = len(index)
        item = {"id": name, "text": "a quokka", "labels": ["marsupial"], "metadata": {"n": 1}}
        refused = send("items", {"items": [item]})
        assert refused.status_code == 409
        assert '"create": true' in refused.json()["detail"]
        assert len(index) == size
        for near in ("Game", "imagge"):
            wrong = {"items": [item | {"labels": [near]}], "create": True}
            asked = send("items", wrong)
            assert asked.status_code == 409
            assert "spelt nearly like" in asked.json()["detail"]
            body = {"item": "item0", "accepted": [near], "create": True}
            assert send("feedback", body).status_code == 409
        assert len(index) == size
        assert send("items", wrong | {"similar": True}).json()["added"] == 1
        assert send("items/a%2Fb%20c%3F%C3%BC", method="DELETE").json()["removed"] == 1
        made = send("items", {"items": [item], "create": True}).json()
        assert (made["added"], made["changed"], made["items"]) == (1, 0, size + 1)
        assert index.search("quokka")[0].id == name
        # What is not given stays.
        made = send("items", {"items": [{"id": name, "text": "a wallaby"}]}).json()
        assert (made["added"], made["changed"], made["items"]) == (0, 1, size + 1)
        found = index.item(name)
        assert (found.text, found.labels, found.metadata) == ("a wallaby", ("marsupial",), {"n": 1})
        assert index.search("quokka") == []
        gone = send("items/a%2Fb%20c%3F%C3%BC", method="DELETE")
        assert gone.json()["removed"] == 1
        assert send("items/a%2Fb%20c%3F%C3%BC", method="DELETE").status_code == 404
        assert name not in index
    with SemanticIndex.load(folder, verify=True) as index:
        assert len(index) == size


def test_feedback_is_a_decision_and_is_learned_at_once(folder):
    with program(folder) as (send, served):
        review = served.editing.review
        text = "quokka quokka wallaby"
        send("items", {"items": [{"id": f"q{n}", "text": f"{text} {n}"} for n in range(4)]})
        for n in range(4):
            body = {"item": f"q{n}", "accepted": ["marsupial"], "create": True, "who": "karakeep"}
            assert send("feedback", body).json()["labels"] == ["marsupial"]
        best = send("tag", {"text": text}).json()["results"][0][0]
        assert best["label"] == "marsupial"
        body = {"item": "q0", "accepted": ["marsupial"], "rejected": ["game"]}
        said = send("feedback", body).json()["decision"]
        assert said["said"] == "Answer 2 labels of q0."
        assert (said["who"], said["action"], said["items"]) == ("api", "feedback", 1)
        body = {"item": "q0", "rejected": ["marsupial"]}
        assert send("feedback", body).json()["labels"] == []
        with served.lease() as snapshot:
            tags = snapshot.index.tag(items=["q0", "q1"])
            found = [{tag.label for tag in own} for own in tags]
            assert ["marsupial" in own for own in found] == [False, True], "it was rejected"
        review.index.undo()
        assert review.index.item("q0").labels == ("marsupial",)
        # A decision is not asked about in a review.
        assert ("q0", "game") not in {(f.items[0], f.labels[0]) for f in review.order().waiting()}
        send("items/q0", method="DELETE")
        assert all(one.items[0] != "q0" for one in review.waiting())


WRONG = [
    (
        "tag",
        {"texts": ["x" * 50_001]},
        400,
        "texts[0]: String should have at most 50000 characters",
    ),
    ("tag", {"texts": ["x"] * 101}, 400, "texts: List should have at most 100 items"),
    ("tag", {}, 400, "either 'text' or 'texts'"),
    ("tag", {"text": "a", "texts": ["b"]}, 400, "either 'text' or 'texts'"),
    ("tag", {"text": "a", "k": 0}, 400, "k: Input should be greater than or equal to 1"),
    ("tag", {"texts": ["a"] * 11, "why": True}, 400, "at most 10 texts"),
    ("tag", {"text": None}, 400, "text: Input should be a valid string"),
    ("embed", {"texts": [1]}, 400, "texts[0]: Input should be a valid string"),
    ("items", {"items": [{"id": "x"}]}, 400, "items[0].text: Field required"),
    ("items", {"items": [{"id": "", "text": "x"}]}, 400, "at least 1 character"),
    ("items", {"items": [{"id": "x", "text": "a"}] * 2}, 409, "occurs twice"),
    ("items", {"items": [{"id": "x", "text": "a", "metadata": {"a": []}}]}, 400, "metadata.a"),
    ("feedback", {"item": "nobody", "accepted": ["game"]}, 404, "no item 'nobody'"),
    ("feedback", {"item": "item0"}, 400, "accepted or rejected"),
    ("feedback", {"item": "item0", "accepted": ["gme"]}, 409, "did you mean 'game'"),
    ("feedback", {"item": "item0", "accepted": ["game"], "rejected": ["game"]}, 409, "both"),
]


def test_bad_input_changes_nothing(folder):
    with program(folder) as (send, served):
        before = served.editing.review.index.items()
        for name, body, status, message in WRONG:
            answer = send(name, body)
            assert answer.status_code == status, answer.text
            assert message in answer.json()["detail"]
        assert served.editing.review.index.items() == before
        assert served.editing.review.index.history() == []


def test_bodies_that_are_not_json_are_refused(folder):
    with program(folder) as (send, _):
        for kind, content, status in (
            ("text/plain", b"{}", 415),
            ("application/json; charset=latin-1", b"{}", 415),
            ("application/json", b"{", 400),
            ("application/json", b"\xff", 400),
            ("application/json", b"[" * 100_000, 400),
            ("application/json", b" " * ((1 << 23) + 1), 413),
        ):
            headers = {"authorization": f"Bearer {TOKEN}", "content-type": kind}
            found = send.client.post("/api/1/tag", content=content, headers=headers)
            assert found.status_code == status


def test_token_files(tmp_path):
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    assert read_token(path) == TOKEN
    for content in (b"", b"short\n", b"two words are not a token", b"\xff" * 20, b"x" * 20_000):
        path.write_bytes(content)
        with pytest.raises(InvalidFile, match="one token of 16 ASCII characters"):
            read_token(path)
    with pytest.raises(MissingData, match="no file"):
        read_token(tmp_path / "nothing")
    with pytest.raises(InvalidFile, match="cannot be read"):
        read_token(tmp_path)


# --- the shell example of the documentation -------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs/howto/other-programs.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_shell_example_runs(tmp_path):
    shells = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = [one for one in shells if "curl" in one]
    texts = ["a chess game", "a chess club", "chess online", "edit a photo", "crop a photo"]
    SemanticIndex().fit(texts, [["game"]] * 3 + [["image"]] * 2).save(tmp_path / "notes.labelspan")
    (tmp_path / "token").write_text("for-this-test-only-0123456789\n")
    with command("notes.labelspan", "--token-file", "token", cwd=tmp_path) as server:
        port = re.search(r":(\d+)/", server.stderr.readline()).group(1)
        assert ":8000/" in example
        shell = ["bash", "-ec", example.replace(":8000/", f":{port}/")]
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, check=True, text=True)
        (found,) = json.loads(done.stdout)["results"]
        assert [one["label"] for one in found] == ["game"]
        (tmp_path / "token").write_text("another-token-0123456789\n")
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, check=True, text=True)
        assert json.loads(done.stdout)["status"] == 401
