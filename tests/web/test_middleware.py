"""What the explorer refuses: hosts, input, bodies, methods and files."""

import pytest

testclient = pytest.importorskip("starlette.testclient", reason="install labelspan[test]")

from labelspan.web import Served, make_app  # noqa: E402
from labelspan.web.map_points import POINTS  # noqa: E402
from labelspan.web.requests import (  # noqa: E402
    LONGEST_ADDRESS,
    LONGEST_BODY,
    LONGEST_QUERY,
    LONGEST_TEXT,
)

# --- headers and hosts ----------------------------------------------------------------------

ANSWERS = ["/", "/search.json?q=chess", "/map", POINTS, "/static/style.css", "/nowhere", "/item"]


@pytest.mark.parametrize("path", ANSWERS)
def test_every_answer_has_the_headers(client, path):
    headers = client.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == policy["form-action"] == "'self'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] == "no-cache"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost:80x", "[::1", "", "localhost:80:80"],
)
def test_other_hosts_are_refused(client, host):
    for path in ("/", "/index.json", "/static/style.css", POINTS):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == 400
        assert "--allow-host" in answer.text


def test_hosts_of_this_machine_are_answered_and_others_can_be_allowed(client, folder):
    for host in ("localhost", "LOCALHOST", "localhost.", "127.0.0.1:1", "[::1]:8000"):
        assert client.get("/", headers={"host": host}).status_code == 200
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
        (
            "/search?q=" + "a" * (LONGEST_QUERY + 1),
            400,
            "q: String should have at most 1000",
        ),
        ("/search?q=" + "a" * LONGEST_ADDRESS, 414, "61,440 bytes"),
        ("/" + "a" * LONGEST_ADDRESS, 414, "61,440 bytes"),
        ("/search?q=%ff", 400, "percent-encoded UTF-8"),
        ("/search?q=%ed%a0%80", 400, "percent-encoded UTF-8"),
        ("/search?q=a&q=b", 400, "q: give it once, not 2 times"),
        ("/search?query=a", 400, "There is no parameter 'query' here; there are: q, balance"),
        ("/item?id=a&k=0", 400, "k: Input should be greater than or equal to 1"),
        ("/item?id=a&k=101", 400, "k: Input should be less than or equal to 100"),
        ("/item?id=a&k=1e1", 400, "k: Input should be a whole number"),
        ("/item?id=a&k=%D9%A3", 400, "k: Input should be a whole number"),
        ("/item?id=a&k=-1", 400, "k: Input should be greater than or equal to 1"),
        ("/item?id=a&k=" + "9" * 5000, 400, "k: Input should be a whole number"),
        ("/search?" + "&".join(["label=game"] * 17), 400, "label: Tuple should have at most 16"),
        ("/search?" + "&".join(["label=game"] * 200), 400, "more than 128 fields"),
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
        ("/axis?number=8", 404, "number: there are axes 0 to 7"),
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
    error = wanted.json()
    assert error["status"] == status
    assert message in error["detail"]
    path, mark, query = address.partition("?")
    if mark:
        endpoint = client.get(f"{path}.json?{query}")
        assert (endpoint.status_code, endpoint.headers["content-type"]) == (
            status,
            "application/problem+json",
        )


@pytest.mark.parametrize(
    ("kind", "body", "status", "message"),
    [
        ("application/x-www-form-urlencoded", b"text=%ff", 400, "The form must be"),
        ("application/x-www-form-urlencoded", b"text=\xff", 400, "The form must be"),
        ("application/x-www-form-urlencoded", b"file=a", 400, "There is no parameter 'file'"),
        ("multipart/form-data; boundary=x", b"--x--", 415, "must be application/x-www-form"),
        ("text/plain", b"text=a", 415, "must be application/x-www-form-urlencoded"),
        ("", b"text=a", 415, "must be application/x-www-form-urlencoded"),
    ],
)
def test_bodies_that_are_refused(client, kind, body, status, message):
    for path in ("/tag", "/tag.json"):
        answer = client.post(path, content=body, headers={"content-type": kind})
        assert answer.status_code == status
        assert message in answer.text.replace("&#39;", "'")


def test_texts_and_bodies_have_limits(client):
    text = "chess " * (LONGEST_TEXT // 6)
    assert client.post("/tag.json", data={"text": text}).status_code == 200
    longer = client.post("/tag.json", data={"text": "a" * (LONGEST_TEXT + 1)})
    assert longer.status_code == 400
    assert "text: String should have at most 50000 characters" in longer.text
    body = b"text=" + b"a" * LONGEST_BODY
    kind = {"content-type": "application/x-www-form-urlencoded"}
    told = client.post("/tag", content=body, headers=kind)
    assert told.status_code == 413
    assert "A body may have at most 262,144 bytes" in told.text
    assert told.headers["connection"] == "close"
    # Without a length, no more than the limit is read.
    parts = (body[start : start + 4096] for start in range(0, len(body), 4096))
    assert client.post("/tag.json", content=parts, headers=kind).status_code == 413


@pytest.mark.parametrize("method", ["PUT", "OPTIONS"])
def test_other_methods_are_refused(client, method):
    for path in ("/search", "/tag.json", "/static/app.js"):
        answer = client.request(method, path)
        assert answer.status_code == 405
        assert "GET" in answer.headers["allow"]
    assert client.post("/search", data={"q": "a"}).status_code == 405
    assert client.head("/search?q=a").status_code == 200
