"""The explorer without an index: a file is dropped, read, and fitted."""

import asyncio
import os
import signal
import subprocess
import threading
import time
from functools import partial

import pytest
from _support.explorer import BASE, client_of, enter

pytest.importorskip("starlette", reason="install labelspan[app]")
pytest.importorskip("uvicorn", reason="install labelspan[app]")
from starlette.testclient import TestClient

from labelspan.web import Served
from labelspan.web.file_fit import FileFit
from labelspan.web.middleware import LOOPBACK
from labelspan.web.requests import LONGEST_UPLOAD
from labelspan.web.start_app import StartApp

TOPICS = {"game": "chess board player dice", "music": "audio song radio tune"}
ROWS = [
    f"s{n},{words} number {n},{topic}{';new' if n % 5 == 0 else ''},{2000 + n % 7}"
    for n in range(20)
    for topic, words in TOPICS.items()
]
TABLE = "id,text,tags,year\n" + "\n".join(
    row.replace("s", f"s{n}", 1) for n, row in enumerate(ROWS)
)


@pytest.fixture
def started(tmp_path):
    """A client that may use the page, the headers of its requests, and the folder of the index."""
    out = tmp_path / "index.labelspan"
    app = StartApp(out, partial(Served, out), edit=True, hosts=LOOPBACK)
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        client.get(app.access.address(""))
        secret = client.get("/start.json").json()["secret"]
        yield client, {"x-labelspan-secret": secret, "origin": BASE}, out


def drop(client, headers, name, content):
    headers = {**headers, "content-type": "application/octet-stream"}
    return client.post("/start/file", params={"name": name}, content=content, headers=headers)


def settled(client, *states):
    end = time.monotonic() + 120
    while (now := client.get("/start.json").json())["state"] not in states:
        assert time.monotonic() < end, now
        time.sleep(0.05)
    return now


def test_only_a_page_of_this_server_may_send_a_file(started):
    client, headers, _ = started
    for other in (
        {"x-labelspan-secret": "x"},
        {"origin": "http://localhost:1"},
        {"origin": "null"},
    ):
        assert drop(client, {**headers, **other}, "a.csv", TABLE).status_code == 403
        given = {"json": {}, "headers": {**headers, **other}}
        assert client.post("/start/fit.json", **given).status_code == 403
    assert (
        drop(client, {"x-labelspan-secret": headers["x-labelspan-secret"]}, "a", "").status_code
        == 403
    )
    plain = {**headers, "content-type": "text/plain"}
    assert client.post("/start/file?name=a", content="x", headers=plain).status_code == 415
    large = {**headers, "content-length": str(LONGEST_UPLOAD + 1)}
    assert drop(client, large, "a.csv", "x").status_code == 413
    assert client.post("/start/fit.json", json={}, headers=headers).status_code == 409
    assert client.get("/start.json").json()["state"] == "empty"
    client.cookies.clear()
    for address in ("/", "/start.json", "/enter?token=x"):
        assert client.get(address).status_code == 403
    assert drop(client, headers, "a.csv", TABLE).status_code == 403


def test_a_file_that_cannot_be_read_is_refused_and_forgotten(started):
    client, headers, out = started
    assert (
        drop(client, headers, "../a/b<i>.png", b"\x89PNG\r\n\x1a\n" + bytes(100)).status_code == 200
    )
    now = settled(client, "empty", "read")
    assert now["state"] == "empty"
    assert "b_i_.png" in now["message"]
    assert os.sep not in now["message"]
    assert not out.exists()


def test_what_may_help_is_offered_and_stays_chosen(started):
    client, headers, _ = started

    def read(**body):
        assert client.post("/start/read.json", json=body, headers=headers).status_code == 200
        return settled(client, "empty", "read")

    cells = [f"Größe{n};a b;{'xy'[n % 2]};{n}" for n in range(12)]
    content = "\n".join(["what;tags;kind;page", *cells])
    drop(client, headers, "a.csv", content.encode("cp1252"))
    now = settled(client, "empty", "read")
    assert (now["state"], now["report"]) == ("read", None)
    assert "Größe0" in now["choices"]["encoding"]["cp1252"]
    now = read(encoding="cp1252")
    assert now["choices"]["text"] == {"what": "Größe0", "tags": "a b", "kind": "x", "page": "0"}
    # A character that no command can have is refused, and nothing is stuck.
    wrong = {"text": ["a\0b"]}
    assert client.post("/start/read.json", json=wrong, headers=headers).status_code == 400
    now = read(text=["what"])
    assert now["choices"] == {}
    assert (now["report"]["encoding"], now["report"]["n_labels"]) == ("cp1252", 1)
    assert read(separator=" ")["report"]["n_labels"] == 2
    now = read(text=["what", "kind"])
    assert now["report"]["n_labels"] == 2
    assert now["command"].endswith("--text=what --text=kind '--separator= ' --encoding=cp1252")
    # Another file is read by what is in it.
    drop(client, headers, "b.csv", TABLE)
    assert settled(client, "empty", "read")["command"] == "labelspan fit b.csv"


def test_a_fit_that_is_cancelled_leaves_nothing(started):
    client, headers, out = started

    def post(name, **body):
        return client.post(f"/start/{name}.json", json=body, headers=headers)

    drop(client, headers, "programs.csv", TABLE)
    now = settled(client, "read")
    assert (now["report"]["n_items"], now["report"]["n_labels"]) == (40, 3)
    assert now["report"]["why_not_writable"] is None
    # What cannot be read as it is asked for leaves the file.
    post("read", labels=["nothing"])
    now = settled(client, "read")
    assert "nothing" in now["message"]
    assert now["report"] is None
    post("read", text=["text"], labels=["tags"], separator=";")
    now = settled(client, "read")
    assert now["command"] == "labelspan fit programs.csv --text=text --labels=tags '--separator=;'"
    assert post("fit").json()["state"] == "fitting"
    assert post("fit").status_code == 409
    assert drop(client, headers, "b.csv", TABLE).status_code == 409
    assert post("cancel").json()["state"] == "read"
    assert "Stopped" in client.get("/start.json").json()["message"]
    assert not out.exists()
    post("fit")
    now = settled(client, "read", "ready")
    assert now["state"] == "ready", now["message"]
    assert now["steps"][-1]["what"] == "done"
    assert client.get("/index.json").json()["items"] == 40
    assert client.get("/index.json").json()["name"] == "programs"
    # Who may use the page may change labels, and gets the file back, also after the next start.
    assert client.get("/changes/file").text == TABLE
    item = client.get("/search.json").json()["hits"][0]
    secret = client.get("/edit/session.json").json()["secret"]
    body = {"items": [item["id"]], "add": ["fun"], "create": True}
    headers["x-labelspan-secret"] = secret
    # A label that the file cannot hold is refused.
    wrong = client.post("/edit/labels.json", json={**body, "add": ["a;b"]}, headers=headers)
    assert (wrong.status_code, "separates the labels" in wrong.json()["detail"]) == (400, True)
    assert client.post("/edit/labels.json", json=body, headers=headers).status_code == 200
    client.__exit__()
    with Served(out, edit=True) as served, client_of(served) as again:
        enter(again, served)
        corrected = again.get("/changes/file").text.splitlines()
    before = TABLE.splitlines()
    assert [row for row in corrected if row not in before] == [
        row.replace(item["labels"][-1], f"{item['labels'][-1]};fun")
        for row in before
        if row.startswith(f"{item['id']},")
    ]


def test_a_process_that_does_not_notice_that_it_is_stopped_leaves_nothing(tmp_path, monkeypatch):
    def deaf(*args, **settings):
        return begin(*args, **settings, preexec_fn=partial(signal.signal, signal.SIGINT, ignored))

    async def parts():
        yield TABLE.encode()

    def ended():
        for thread in threading.enumerate():
            if thread.name == "fit":
                thread.join()
        return fit.state()

    begin, ignored = subprocess.Popen, signal.SIG_IGN
    monkeypatch.setattr(subprocess, "Popen", deaf)
    opened, out = [], tmp_path / "index.labelspan"
    fit = FileFit(out, lambda *given: opened.append(given), patience=120)
    asyncio.run(fit.receive("programs.csv", parts()))
    assert ended()["report"]["n_items"] == 40
    fit.fit()
    fit.cancel()
    assert (ended()["state"], opened, out.exists()) == ("read", [], False)
    assert "Stopped" in fit.state()["message"]
    fit.close()
