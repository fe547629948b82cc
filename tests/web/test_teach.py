"""Teach in the explorer: who may, two clients, and what is stored."""

import csv
import io
import shutil
import threading

import pytest
from _support.explorer import client_of, enter, explore, make_index

from labelspan import SemanticIndex
from labelspan.curation import Teacher

pytest.importorskip("starlette", reason="install labelspan[app]")
from labelspan.web import Served


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("teach") / "index"
    make_index(path)
    return path


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "index")


@pytest.fixture
def served(folder):
    return Served(folder, edit=True, who="anna")


@pytest.fixture
def client(served):
    with client_of(served) as client:
        client.headers.update(enter(client, served))
        yield client


def post(client, what, **body):
    return client.post(f"/edit/teach/{what}.json", json={"label": "new", **body})


def started(client):
    ids = client.get("/search.json").json()["hits"]
    found = post(client, "start", items=[ids[0]["id"], ids[1]["id"]])
    assert found.status_code == 200, found.text
    return found.json()


def test_a_lesson_from_start_to_undo(client, served):
    state = started(client)
    assert (state["progress"]["yes"], state["progress"]["no"]) == (2, 0)
    first = state["questions"][0]
    assert {"title", "text", "labels", "metadata", "words"} <= first.keys()
    shown = state["questions"][1]["id"]
    body = {"answer": "no", "shown": shown}
    after = post(client, "answer", item=first["id"], who="ben", window="one", **body).json()
    done = after["progress"]
    assert (done["yes"], done["no"], after["keep"]) == (2, 1, True)
    assert not {one["id"] for one in after["questions"]} & {first["id"], shown}
    # Another window that shows the same item is asked about others.
    other = post(client, "answer", item=first["id"], window="two", **body).json()
    assert not other["keep"]
    assert not {one["id"] for one in other["questions"]} & {first["id"], shown}
    back = post(client, "undo", item=first["id"]).json()
    assert back["progress"]["no"] == 1, "the answer before it counts again"
    back = post(client, "undo", item=first["id"]).json()
    assert back["progress"]["no"] == 0
    assert back["questions"][0]["id"] == first["id"]
    assert post(client, "undo", item=first["id"]).status_code == 409
    post(client, "answer", item=first["id"], answer="yes")
    plan = post(client, "apply", form="add", preview=True).json()
    assert plan["said"] == "Add new to 3 items."
    assert "new" not in served.editing.review.index.labels
    made = post(client, "apply", form="add").json()
    assert served.editing.review.index.labels["new"] == 3
    assert client.get("/label.json", params={"name": "new"}).json()["count"] == 3
    client.post("/edit/undo.json", json={"number": made["decision"]["number"]})
    assert "new" not in served.editing.review.index.labels
    rows = list(csv.DictReader(io.StringIO(client.get("/teach/answers.csv?label=new").text)))
    assert [row["who"] for row in rows] == ["anna", "anna", "ben", "anna", "anna"]


def test_the_page_and_the_map_show_a_lesson(client):
    state = started(client)
    page = client.get("/teach", params={"label": "new"}).text
    assert state["questions"][0]["title"] in page
    assert 'href="/teach?label=new"' in client.get("/teach").text
    found = client.get("/teach/map.json", params={"label": "new"}).json()
    assert (len(found["yes"]), found["likely"]) == (2, {})
    # Before there are answers of both kinds no probability is known.
    assert state["questions"][0]["probability"] is None
    assert "% likely" not in page
    for one in state["questions"][:4]:
        post(client, "answer", item=one["id"], answer="no")
    found = client.get("/teach/map.json", params={"label": "new"}).json()
    shades = list(found["likely"].values())
    assert shades[0] == 1
    assert shades == sorted(shades, reverse=True)
    assert 20 <= len(shades) < len(client.get("/search/ids.json").json()["ids"])
    assert client.get("/teach/map.json", params={"label": "nothing"}).status_code == 404
    assert client.get("/teach", params={"label": "nothing"}).status_code == 200


def test_two_clients_lose_no_answer(client, served):
    state = started(client)
    ids = [one["id"] for one in client.get("/search.json").json()["hits"]][2:]
    failures = []

    def work(part, who):
        for item in part:
            found = post(client, "answer", item=item, answer="no", who=who)
            failures.extend([] if found.status_code == 200 else [found.text])

    threads = [
        threading.Thread(target=work, args=(ids[at::2], who)) for at, who in ((0, "a"), (1, "b"))
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    teacher = Teacher(served.editing.review.index, "new")
    assert sum(one == "no" for one in teacher.answers().values()) == len(ids)
    assert {one.who for one in teacher.log()} == {"anna", "a", "b"}
    assert state["progress"]["yes"] == 2


def test_only_those_who_were_let_in_can_answer(client, folder, served):
    started(client)
    good = dict(client.headers)
    for left_out in ("x-labelspan-secret", "origin"):
        del client.headers[left_out]
        assert post(client, "answer", item="x", answer="no").status_code == 403
        client.headers.update(good)
    other = {"origin": "http://127.0.0.1:9"}
    body = {"label": "new", "item": "x", "answer": "no"}
    assert client.post("/edit/teach/answer.json", json=body, headers=other).status_code == 403
    assert post(client, "answer", item="x", answer="perhaps").status_code == 400
    assert post(client, "answer", item="x", answer="no").status_code == 404
    assert post(client, "start", label="").status_code == 400
    client.cookies.clear()
    assert post(client, "answer", item="x", answer="no").status_code == 403
    assert client.get("/teach/answers.csv?label=new").status_code == 403


def test_without_editing_lessons_can_be_read(folder):
    with SemanticIndex.load(folder, write=True) as index:
        Teacher(index, "new", items=index.ids[:2])
    with explore(folder) as reader:
        assert "labelspan serve" in reader.get("/teach").text
        found = reader.get("/teach.json", params={"label": "new"}).json()
        assert found["lesson"]["progress"]["yes"] == 2
        assert "Next items" in reader.get("/teach", params={"label": "new"}).text
        assert reader.post("/edit/teach/answer.json", json={}).status_code in (404, 405)
