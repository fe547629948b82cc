"""What the explorer refuses, how it fails, and the index changing under it."""

import asyncio
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from explorer import BASE, make_index
from typer.testing import CliRunner

from labelspan import SemanticIndex
from labelspan.cli import app as command
from labelspan.errors import InvalidFile

testclient = pytest.importorskip("starlette.testclient", reason="install labelspan[test]")
uvicorn = pytest.importorskip("uvicorn", reason="install labelspan[app]")

from labelspan.web import Served, make_app, server  # noqa: E402
from labelspan.web.asked import (  # noqa: E402
    LONGEST_ADDRESS,
    LONGEST_BODY,
    LONGEST_QUERY,
    LONGEST_TEXT,
)
from labelspan.web.guard import Guard, read_all  # noqa: E402
from labelspan.web.openapi import POINTS  # noqa: E402
from labelspan.web.refusals import Refused  # noqa: E402
from labelspan.web.together import Together  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("guard") / "index"
    make_index(path)
    return path


@pytest.fixture(scope="module")
def client(folder):
    served = Served(folder)
    with served.lease() as snapshot:
        snapshot.draw_map()
    app = make_app(served, watch=False)
    with testclient.TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def own(folder, tmp_path):
    """A copy of the index, to be changed."""
    return shutil.copytree(folder, tmp_path / "index")


def exploring(path):
    served = Served(path)
    return served, testclient.TestClient(make_app(served, watch=False), base_url=BASE)


# --- headers and hosts ----------------------------------------------------------------------

ANSWERS = ["/", "/search.json?q=chess", "/map", POINTS, "/static/style.css", "/nowhere", "/item"]


@pytest.mark.parametrize("path", ANSWERS)
def test_every_answer_has_the_headers(client, path):
    headers = client.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == policy["form-action"] == "'self'"
    if path == "/map":
        # Bokeh's WebGL compiles functions, and its styles carry a word that is never the same.
        assert policy["script-src"] == "'self' 'unsafe-eval'"
        nonce = re.fullmatch(r"'self' 'nonce-([\w-]{20,})'", policy["style-src"])[1]
        assert nonce not in client.get(path).headers["content-security-policy"]
    else:
        assert policy["script-src"] == policy["style-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] == "no-cache"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LOCALHOST", "localhost.", "127.0.0.1:1", "[::1]:8000"]
)
def test_hosts_of_this_machine_are_answered(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost:80x", "[::1", "", "localhost:80:80"],
)
def test_other_hosts_are_refused(client, host):
    for path in ("/", "/index.json", "/static/style.css", POINTS):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == 400
        assert "--allow-host" in answer.text


def test_a_second_host_is_refused_and_further_names_can_be_allowed(client, folder):
    two = [("host", "localhost"), ("host", "evil.example")]
    assert client.get("/", headers=two).status_code == 400
    app = make_app(Served(folder), hosts={"shelf.example"}, watch=False)
    with testclient.TestClient(app, base_url="http://shelf.example") as other:
        assert other.get("/").status_code == 200
        assert other.get("/", headers={"host": "localhost"}).status_code == 400


# --- input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        ("/search?q=" + "a" * (LONGEST_QUERY + 1), 400, "q: at most 1,000 characters"),
        ("/search?q=" + "a" * LONGEST_ADDRESS, 414, "8,192 bytes"),
        ("/" + "a" * LONGEST_ADDRESS, 414, "8,192 bytes"),
        ("/search?q=%ff", 400, "percent-encoded UTF-8"),
        ("/search?q=%ed%a0%80", 400, "percent-encoded UTF-8"),
        ("/search?q=a&q=b", 400, "q: give it once, not 2 times"),
        ("/search?query=a", 400, "There is no parameter 'query' here; there are: q, label"),
        ("/search?q=a&k=0", 400, "k: a whole number from 1 to 100"),
        ("/search?q=a&k=101", 400, "k: a whole number from 1 to 100"),
        ("/search?q=a&k=1e1", 400, "k: a whole number"),
        ("/search?q=a&k=%D9%A3", 400, "k: a whole number"),
        ("/search?q=a&k=-1", 400, "k: a whole number"),
        ("/search?q=a&k=" + "9" * 5000, 400, "k: a whole number"),
        ("/search?" + "&".join(["label=game"] * 17), 400, "label: at most 16"),
        ("/search?" + "&".join(["label=game"] * 100), 400, "more than 64 fields"),
        ("/search?label=none", 404, "No item of this index has the label 'none'"),
        ("/search?q=a&without=none", 404, "No item of this index has the label 'none'"),
        ("/item", 400, "id: it is missing"),
        ("/item?id=", 404, "There is no item ''"),
        ("/item?id=%3Cb%3E", 404, "There is no item"),
        ("/item?id=item6%00", 404, "There is no item 'item6\\x00'"),
        ("/label?name=none", 404, "No item of this index has the label 'none'"),
        ("/map?item=none", 404, "There is no item 'none'"),
        ("/map?label=none", 404, "No item of this index has the label 'none'"),
        ("/why?id=none&q=a", 404, "There is no item 'none'"),
        ("/axes?page=2", 404, "page: there are pages 1 to 1"),
        ("/labels?page=9", 404, "page: there are pages 1 to 1"),
        ("/nowhere", 404, "There is no such page"),
        ("/search/", 404, "There is no such page"),
        ("/%2e%2e/%2e%2e/etc/passwd", 404, "There is no such page"),
    ],
)
def test_a_refusal_is_a_page_and_json(client, address, status, message):
    page = client.get(address)
    assert page.status_code == status
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    escaped = message.replace("'", "&#39;")
    assert escaped in page.text
    assert "<h1>" in page.text
    wanted = client.get(address, headers={"accept": "application/json"})
    assert wanted.status_code == status
    error = wanted.json()["error"]
    assert error["status"] == status
    assert message in error["message"]
    path, mark, query = address.partition("?")
    if mark:
        twin = client.get(f"{path}.json?{query}")
        assert (twin.status_code, twin.headers["content-type"]) == (status, "application/json")


@pytest.mark.parametrize(
    ("kind", "body", "status", "message"),
    [
        ("application/json", b"{", 400, "cannot be read as JSON"),
        ("application/json", b"\xff", 400, "cannot be read as JSON"),
        ("application/json", b"[" * 100_000, 400, "cannot be read as JSON"),
        ("application/json", b"[]", 400, "must be a JSON object"),
        ("application/json", b'{"text": 1}', 400, "text: a text is needed"),
        ("application/json", b'{"text": ["a", "b"]}', 400, "text: give it once"),
        ("application/json", b'{"text": "a", "k": true}', 400, "k: a whole number"),
        ("application/json", b'{"text": "a", "k": 1.0}', 400, "k: a whole number"),
        ("application/json", b'{"text": "\\ud800"}', 400, "surrogates"),
        ("application/json", b'{"\\ud800": "a"}', 400, "There is no parameter"),
        ("application/json; charset=utf-16", b"{}", 415, "UTF-8"),
        ("application/x-www-form-urlencoded", b"text=%ff", 400, "The form must be"),
        ("application/x-www-form-urlencoded", b"text=\xff", 400, "The form must be"),
        ("application/x-www-form-urlencoded", b"file=a", 400, "There is no parameter 'file'"),
        ("multipart/form-data; boundary=x", b"--x--", 415, "must be application/json"),
        ("text/plain", b"text=a", 415, "must be application/json"),
        ("", b"text=a", 415, "must be application/json"),
    ],
)
def test_bodies_that_are_refused(client, kind, body, status, message):
    for path in ("/tag", "/tag.json"):
        answer = client.post(path, content=body, headers={"content-type": kind})
        assert answer.status_code == status
        assert message in answer.text.replace("&#39;", "'")


def test_texts_and_bodies_have_limits(client):
    text = "chess " * (LONGEST_TEXT // 6)
    assert client.post("/tag.json", json={"text": text}).status_code == 200
    longer = client.post("/tag.json", json={"text": "a" * (LONGEST_TEXT + 1)})
    assert longer.status_code == 400
    assert "text: at most 50,000 characters" in longer.text
    body = b"text=" + b"a" * LONGEST_BODY
    kind = {"content-type": "application/x-www-form-urlencoded"}
    told = client.post("/tag", content=body, headers=kind)
    assert told.status_code == 413
    assert "A body may have 262,144 bytes" in told.text
    assert told.headers["connection"] == "close"
    # Without its length being told, as many are read as may come, and no more.
    parts = (body[start : start + 4096] for start in range(0, len(body), 4096))
    assert client.post("/tag.json", content=parts, headers=kind).status_code == 413


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(client, method):
    for path in ("/search", "/tag.json", "/static/app.js"):
        answer = client.request(method, path)
        assert answer.status_code == 405
        assert "GET" in answer.headers["allow"]
    assert client.post("/search", data={"q": "a"}).status_code == 405
    assert client.head("/search?q=a").status_code == 200


def test_only_known_files_are_served(client):
    for path in (
        "/static/",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/bokeh/../../bokeh/bokeh.js",
        "/static/bokeh/bokeh.js",
        "/static/style.css/",
        "/static/..%5capp.py",
    ):
        assert client.get(path).status_code == 404, path
    script = client.get("/static/bokeh/bokeh.min.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert b"Bokeh" in script.content[:2000]


def test_a_body_that_does_not_come_is_not_waited_for():
    async def never():
        await asyncio.sleep(60)

    async def leaves():
        return {"type": "http.disconnect"}

    with pytest.raises(Refused, match=r"did not come within 0\.05 seconds") as slow:
        asyncio.run(read_all(never, 0.05))
    assert slow.value.status == 408
    with pytest.raises(Refused, match="ended before"):
        asyncio.run(read_all(leaves, 1))


def test_too_many_at_once_are_told_to_come_again(folder):
    app = make_app(Served(folder), watch=False)
    busy = Guard(app, {"127.0.0.1"}, most=0)
    with testclient.TestClient(busy, base_url=BASE) as client:
        answer = client.get("/index.json")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


# --- failures -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/search?q=chess", "/search.json?q=chess"])
def test_a_failure_says_nothing_of_the_inside(client, monkeypatch, caplog, path):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("a secret in /some/path")

    monkeypatch.setattr(SemanticIndex, "search", fail)
    answer = client.get(path)
    assert answer.status_code == 500
    assert "The server failed at this" in answer.text
    for word in ("secret", "/some/path", "Traceback", "ZeroDivision", "labelspan/"):
        assert word not in answer.text
    assert "a secret in /some/path" in caplog.text
    monkeypatch.undo()
    assert client.get(path).status_code == 200


def test_an_index_that_cannot_be_read_names_no_file(client, monkeypatch, caplog):
    def fail(*args, **kwargs):
        raise InvalidFile("/some/path/items.sqlite is damaged")

    monkeypatch.setattr(SemanticIndex, "item", fail)
    answer = client.get("/item", params={"id": "item6"})
    assert answer.status_code == 503
    assert "/some/path" not in answer.text
    assert "/some/path" in caplog.text


# --- many at once ---------------------------------------------------------------------------


def test_those_who_wait_are_answered_together():
    calls, go = [], threading.Event()

    def answer(questions):
        calls.append(len(questions))
        go.wait(5)
        if 13 in questions:
            raise ValueError("thirteen")
        return [question * 2 for question in questions]

    together = Together(answer)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(together.ask, 1)
        while not calls:
            time.sleep(0.001)
        others = [pool.submit(together.ask, number) for number in range(2, 8)]
        while len(together._waiting) < 6:
            time.sleep(0.001)
        go.set()
        assert first.result() == 2
        assert [one.result() for one in others] == [4, 6, 8, 10, 12, 14]
    assert calls == [1, 6]
    with pytest.raises(ValueError, match="thirteen"):
        together.ask(13)


def test_concurrent_searches_are_those_of_one(folder):
    index = SemanticIndex.load(folder)
    queries = [("chess", 3), ("music radio", 7), ("photo", 1), ("zzz", 5), ("player", 100)] * 8
    served = Served(folder)
    with served.lease() as snapshot, ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda asked: snapshot.search(*asked), queries))
    for (text, k), hits in zip(queries, found, strict=True):
        alone = index.search(text, k)
        assert [hit.id for hit in hits] == [hit.id for hit in alone]
        assert [h.score for h in hits] == pytest.approx([h.score for h in alone], abs=1e-6)
    served.close()


# --- the index changes ----------------------------------------------------------------------


def test_items_that_a_writer_adds_are_found(own):
    served, client = exploring(own)
    with client:
        assert served.look_again() is False
        with SemanticIndex.load(own, write=True) as writer:
            writer.add(["chess chess chess"], [["game"]], ["new"])
        assert client.get("/item?id=new").status_code == 404
        with served.lease() as before:
            assert served.look_again() is True
            # Who holds the old one can go on with it.
            assert before.index.search("chess", 1)
            assert "new" not in before.index
        assert client.get("/item?id=new").status_code == 200
        assert served.look_again() is False


def test_an_index_in_place_of_another_is_served(own):
    served, client = exploring(own)
    with client:
        make_index(own, count=30)
        assert client.get("/index.json").json()["items"] == 60
        assert served.look_again() is True
        assert client.get("/index.json").json()["items"] == 30


def test_a_damaged_index_is_not_taken_over(own, caplog):
    served, client = exploring(own)
    with client:
        manifest = (own / "manifest.json").read_bytes()
        (own / "manifest.json").write_bytes(manifest[:-20])
        assert served.look_again() is False
        assert served.look_again() is False
        assert caplog.text.count("the old one stays") == 1
        assert client.get("/search?q=chess").status_code == 200
        shutil.rmtree(own)
        assert served.look_again() is False
        assert client.get("/item?id=item6").status_code == 200


def test_the_background_draws_and_looks(own, monkeypatch):
    monkeypatch.setattr("labelspan.web.snapshot._SECONDS_BETWEEN_LOOKS", 0.02)
    app = make_app(Served(own))
    with testclient.TestClient(app, base_url=BASE) as client:

        def wait_for(what):
            end = time.monotonic() + 30
            while not what():
                assert time.monotonic() < end
                time.sleep(0.02)

        wait_for(lambda: client.get("/map.json").json()["state"] == "ready")
        with SemanticIndex.load(own, write=True) as writer:
            writer.add(["photo"], ids=["new"])
        wait_for(lambda: client.get("/item.json?id=new").status_code == 200)
        wait_for(lambda: "new" in client.get(POINTS).text)


# --- the command ----------------------------------------------------------------------------


def run(*args):
    return CliRunner().invoke(command, ["serve", *map(str, args)])


def test_the_command_without_its_packages_says_how_to_get_them(folder, monkeypatch):
    monkeypatch.setattr(sys.modules["labelspan.cli.serve"], "find_spec", lambda name: None)
    result = run(folder)
    assert result.exit_code == 1
    assert result.stderr == (
        "serve needs starlette, uvicorn, jinja2, bokeh; run pip install 'labelspan[app]'.\n"
    )


def test_the_command_refuses_in_one_sentence(folder, tmp_path):
    result = run(tmp_path / "none", "--port", 0)
    assert result.exit_code == 1
    assert "There is no index in" in result.stderr
    assert result.stderr.count("\n") == 1
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run(folder, "--port", taken.getsockname()[1])
    assert result.exit_code == 1
    assert (
        "cannot be listened on: Address already in use; choose another by --port" in result.stderr
    )
    assert run(folder, "--host", "no such host").exit_code == 1
    assert run().exit_code == 2


def test_the_command_serves_until_it_is_told_to_stop(folder):
    script = [sys.executable, "-c", "from labelspan.cli import app; app()"]
    process = subprocess.Popen(
        [*script, "serve", str(folder), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stderr.readline()
        assert re.fullmatch(r"Serving 60 items at http://127.0.0.1:\d+/ \(Ctrl-C ends it\)\n", line)
        port = int(re.search(r":(\d+)/", line)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            request = b"GET /index.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            connection.sendall(request)
            with connection.makefile("rb") as answer:
                head, body = answer.read().split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert b"\nserver:" not in head.lower()
        assert json.loads(body)["items"] == 60
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=20)
        assert (process.returncode, rest) == (0, "")
    finally:
        process.kill()
        process.communicate()


def test_a_client_that_does_not_finish_its_headers_is_left(folder, monkeypatch):
    monkeypatch.setattr(server, "_SECONDS_FOR_HEADERS", 0.2)
    served = Served(folder)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        make_app(served, watch=False),
        http=server.Patient,
        ws="none",
        lifespan="on",
        log_config=None,
        timeout_keep_alive=60,
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        request = b"GET /index.json HTTP/1.1\r\nHost: localhost\r\n"
        with socket.create_connection(listening.getsockname(), timeout=10) as slow:
            slow.sendall(request)
            assert slow.recv(100) == b"", "closed without an answer"
        with socket.create_connection(listening.getsockname(), timeout=10) as silent:
            assert silent.recv(100) == b""
        with socket.create_connection(listening.getsockname(), timeout=10) as fair:
            fair.sendall(request + b"\r\n")
            assert fair.recv(100).startswith(b"HTTP/1.1 200")
            # A first request does not make a second one free to dawdle.
            while not fair.recv(65536).endswith(b"}"):
                pass
            fair.sendall(request)
            assert fair.recv(100) == b""
        with socket.create_connection(listening.getsockname(), timeout=10) as nonsense:
            nonsense.sendall(b"\x16\x03\x01\r\n\r\n")
            assert nonsense.recv(1000).startswith(b"HTTP/1.1 400")
    finally:
        running.should_exit = True
        thread.join()
        listening.close()
