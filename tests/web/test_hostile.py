"""The explorer under hostile requests and a hostile corpus, in this process."""

import json
import logging
import random
import re
from pathlib import Path

import pytest
from _support.explorer import (
    ATTACKS,
    ODD,
    Page,
    ask,
    check_refusal,
    explore,
    make_attacks,
)

from labelspan import SemanticIndex

pytest.importorskip("starlette.testclient", reason="install labelspan[test]")

from labelspan.web import Served, make_app, requests, server
from labelspan.web.endpoints import PAGES
from labelspan.web.render import as_json
from labelspan.web.requests import LONGEST_BODY

PATHS = [page.path for page in PAGES] + [page.json_path for page in PAGES]
FORM = [(b"content-type", b"application/x-www-form-urlencoded")]


@pytest.fixture(scope="module")
def served(folder):
    with Served(folder) as served:
        yield served


@pytest.fixture(scope="module")
def app(served):
    return make_app(served, watch=False)


# --- requests -------------------------------------------------------------------------------

# What breaks parsers: of percent signs, UTF-8, queries, paths, numbers, markup and logs.
PIECES = [
    *(b"%", b"%2", b"%zz", b"%00", b"%ff", b"%ed%a0%80", b"%f0%9f%99%82", b"%c0%ae", b"%u0041"),
    *(b"&", b"=", b";", b"?", b"#", b"+", b"%26", b"%3d", b"&&", b"==", b"[]", b"[0]=", b"%0d%0a"),
    *(b"/", b"//", b"../", b"..%2f", b"%2e%2e%2f", b"%252e%252e%252f", b"..\\", b"..%5c", b"%2f"),
    *(b"q=", b"id=", b"k=", b"page=", b"label=", b"range=", b"meta=", b"name=", b"text=", b"item="),
    *(b"0", b"1", b"-1", b"1e9", b"NaN", b"99999999999999999999", b"%D9%A3", b"0x10", b"1_0"),
    *(b"<script>", b"%3Cimg+src%3Dx+onerror%3Dalert(1)%3E", b"{{7*7}}", b"${7}", b"'", b'"'),
    *(b"chess", b"game", b"item6", b"manifest.json", b"%E2%80%AE", b"%EF%BF%BF", b"a" * 1200),
    *(b".json", b"__proto__", b"%1b[31m", b"\x80", b"\xff\xfe", b"\x00", b"%F4%90%80%80"),
]


def test_nonsense_gets_an_error_message_or_an_answer(app, folder, caplog):
    rng = random.Random(0)
    caplog.set_level(logging.ERROR)
    statuses = []
    for _ in range(300):
        target = rng.choice(PATHS).encode() if rng.random() < 0.9 else b"/"
        target += b"?" if rng.random() < 0.8 else b""
        target += b"".join(rng.choices(PIECES, k=rng.randint(1, 6)))
        method = rng.choices(["GET", "HEAD", "POST", "OPTIONS", "\x7f", "get"], [80, 8, 8, 2, 1, 1])
        body = [b"".join(rng.choices(PIECES, k=3))]
        status, headers, answer = ask(app, target, method=method[0], headers=FORM, body=body)
        statuses.append(status)
        if status != 200 and method[0] != "HEAD":
            check_refusal(status, headers, answer, str(folder))
        elif b"json" in headers[b"content-type"]:
            json.loads(answer or b"{}")
    assert {200, 400, 404, 405} <= set(statuses) <= {200, 400, 404, 405, 415}
    assert not caplog.records, "nothing failed inside"


QUERIES = [
    *("", "   ", "\t\n", "zzzz qqqq", "🙂" * 1000, "שלום עולם", "\u202etxet", "\u200b\ufeff"),
    *("\0", "a" * 1000, "chess " * 166, "ﷺ" * 1000, "e\u0301" * 300, "\U0010ffff"),
    *("' OR 1=1 --", "%s%n{0}", "*", '"', "a" + " " * 998 + "b"),
]


def test_any_text_can_be_searched_for_and_stays_what_it_was(folder):
    with explore(folder) as client:
        for query in QUERIES:
            answer = client.get("/search.json", params={"q": query})
            assert answer.status_code == 200
            page = client.get("/search", params={"q": query})
            assert page.status_code == 200
            box = next(a for a in Page(page.text).all("input") if a["name"] == "q")
            assert box["value"] == query
            tagged = client.post("/tag.json", data={"text": query})
            assert tagged.status_code == 200


@pytest.mark.parametrize(
    "path",
    [b"/static/" + way + b"app.py" for way in (b"../", b"%2e%2e/", b"%252e%252e/", b"..%2f")]
    + [b"/static/..\\app.py", b"/static/..%5c..%5capp.py", b"/static/%c0%ae%c0%ae/app.py"]
    + [b"/static//etc/passwd", b"//etc/passwd", b"/static/%00/etc/passwd", b"/static/style.css%00"]
    + [b"/static/....//app.py", b"/STATIC/style.css", b"file:///etc/passwd", b"/manifest.json"]
    + [b"/item/../manifest.json", b"/generation/../../manifest.json", b"http://evil.example/"],
)
def test_no_address_names_a_path(app, folder, path):
    status, headers, body = ask(app, path)
    assert status == 404
    check_refusal(status, headers, body, str(folder))


def test_ids_that_look_like_paths_are_names(folder):
    with explore(folder) as client:
        for name in ODD:
            assert client.get("/item.json", params={"id": name}).json()["id"] == name
        for name in ("../../etc/passwd", "/etc/passwd", "..\\manifest.json", "manifest.json"):
            assert client.get("/item.json", params={"id": name}).status_code == 404
        encoded = client.get("/item.json?id=..%252Fmanifest.json")
        assert encoded.status_code == 404, "decoded once, not twice"


@pytest.mark.parametrize(
    "origin",
    [
        *(b"http://evil.example", b"null", b"", b"http://127.0.0.1.evil.example", b"//[", b"\xff"),
        *(b"http://localhost@evil.example", b"http://evil.example/localhost", b"localhost"),
    ],
)
def test_pages_of_other_origins_are_refused(app, origin):
    for method, target in (("GET", b"/index.json"), ("POST", b"/tag.json"), ("GET", b"/")):
        answer = ask(app, target, method=method, headers=[(b"origin", origin), *FORM])
        assert answer[0] == 403
        check_refusal(*answer)
        assert not any(name.startswith(b"access-control") for name in answer[1])


def test_a_body_has_one_length(app):
    both = [(b"content-length", b"6"), (b"transfer-encoding", b"chunked"), *FORM]
    answer = ask(app, b"/tag.json", method="POST", headers=both, body=[b"text=a"])
    assert (answer[0], answer[1][b"connection"]) == (400, b"close")
    check_refusal(*answer)
    for length in (b"9" * 5000, b"-1", b"+5", b"0x5", str(LONGEST_BODY + 1).encode()):
        headers = [(b"content-length", length), *FORM]
        answer = ask(app, b"/tag.json", method="POST", headers=headers, body=[b"text=a"])
        assert answer[0] == 413
        check_refusal(*answer)


def test_head_is_get_without_a_body(folder):
    with explore(folder, drawn=True) as client:
        for path in ("/", "/search.json?q=chess", "/map/points.bin", "/static/style.css"):
            plain = {"accept-encoding": "identity"}
            got, told = client.get(path, headers=plain), client.head(path, headers=plain)
            assert (told.status_code, told.content) == (200, b"")
            assert told.headers["content-length"] == got.headers["content-length"]


# --- a hostile corpus -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    path = tmp_path_factory.mktemp("attacked") / "index"
    make_attacks(path)
    return path


def test_a_hostile_corpus_puts_nothing_into_pages_or_headers(attacked):
    usual = None
    with explore(attacked, drawn=True) as client, SemanticIndex.load(attacked) as index:
        for name in ATTACKS:
            own = next(one for one in index.ids if one.startswith(name))
            asked = [
                ("/item", {"id": own}),
                ("/label", {"name": name}),
                ("/search", {"q": name}),
                ("/search", {"q": name, "label": [name]}),
                ("/why", {"q": f"chess {name}", "id": own}),
                ("/map", {"item": own, "label": name}),
                ("/labels", {"q": name[:20]}),
                ("/tag", {"text": name}),
            ]
            for path, parameters in asked:
                answer = client.get(path, params=parameters)
                assert answer.status_code == 200, (path, name)
                names = {key for key in answer.headers if key != "etag"}
                usual = usual or names
                assert names == usual, "no header of the corpus' making"
                read = Page(answer.text)
                assert not read.scripts.strip()
                tags = {tag for tag, _ in read.elements}
                assert not tags & {"img", "svg", "b", "iframe", "object", "base"}, (path, name)
                for tag, attributes in read.elements:
                    assert not any(key.startswith("on") for key in attributes), (tag, attributes)
                    for key in ("href", "src", "action"):
                        where = attributes.get(key, "/")
                        assert re.match(r"/(?!/)|#", where), where
                sources = [a["src"] for a in read.all("script")]
                assert all(source.startswith("/static/") for source in sources)
                endpoint = client.get(f"{path}.json", params=parameters)
                assert endpoint.headers["content-type"] == "application/json"
                assert endpoint.headers["x-content-type-options"] == "nosniff"
                json.loads(endpoint.text)


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        (float("nan"), "null"),
        (float("inf"), "null"),
        (-float("inf"), "null"),
        (1e308, "1e+308"),
        (5e-324, "5e-324"),
        (-0.0, "-0.0"),
        (2**70, str(2**70)),
        (0.1 + 0.2, "0.30000000000000004"),
    ],
)
def test_json_holds_only_numbers_that_json_has(value, sent):
    content = {"a": [value, {"b": (value, "NaN")}]}
    body = as_json(content).body.decode()

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    json.loads(body, parse_constant=refuse)
    assert body == f'{{"a": [{sent}, {{"b": [{sent}, "NaN"]}}]}}'


def test_the_docs_have_the_limits_that_hold():
    page = Path(__file__).parents[2] / "docs" / "howto" / "deploying.md"
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", page.read_text("utf-8"), re.MULTILINE)
    limits = {name: re.findall(r"\d+(?:,\d+)*", limit) for name, limit in rows}
    number = "{:,.0f}".format
    assert limits["connections"] == [number(server.MOST_CONNECTIONS)]
    assert limits["URL; headers"] == [
        number(requests.LONGEST_ADDRESS),
        number(requests._MOST_FIELDS),
        number(2 * requests.LONGEST_ADDRESS),
        number(server._SECONDS_FOR_HEADERS),
    ]
    assert limits["body"] == [
        number(requests.LONGEST_BODY / 2**10),
        "1",  # of the path /api/1/
        number(requests.LONGEST_JSON / 2**20),
        number(requests.SECONDS_FOR_A_BODY),
    ]
    assert limits["a query; an id or a label; a text to tag"] == [
        number(requests.LONGEST_QUERY),
        number(requests.LONGEST_NAME),
        number(requests.LONGEST_TEXT),
    ]
    assert limits["idle connection"] == [number(server._SECONDS_BETWEEN_REQUESTS)]
