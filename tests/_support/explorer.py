"""A small index with awkward names, its server, and reading of pages, for tests of the explorer."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from urllib.parse import unquote

import numpy as np

from labelspan import MLSI, SemanticIndex

WORDS = {
    "game": ["chess", "board", "player", "level", "score", "puzzle", "dice", "card"],
    "sound & music": ["audio", "music", "player", "mixer", "song", "volume", "tune", "radio"],
    'works-with::<"image">': ["photo", "picture", "pixel", "colour", "crop", "camera", "paint"],
}
ODD = ["a/b?c=d&e", "item.json", "../manifest.json", "quote\"'><b>", "ключ ü 🙂", "  spaced  "]
BASE = "http://127.0.0.1:8000"
ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</textarea></select></title><script>alert(1)</script>",
    "javascript:alert(1)",
    "{{ 7 * 7 }} {% raw %} ${7} <%= 7 %>",
    "a\r\nSet-Cookie: stolen=1\r\n\r\n<b>",
    "\u202egnp.exe\u2066 \x1b[31m \x07",
    "__proto__",
    "constructor",
    "$$\\href{javascript:alert(1)}{x}$$",
    "<!--",
    "]]><!doctype>",
    "&lt;b&gt; &amp; &#0;",
    "x" * 900,
]


def make_index(folder=None, count=60):
    """Items of three topics; the first ones have odd ids, some no text or no known labels."""
    rng = np.random.default_rng(0)
    topics = sorted(WORDS)
    texts, labels = [], []
    for number in range(count):
        own = [topics[number % 3]] + ([topics[(number + 1) % 3]] if number % 4 == 0 else [])
        words = np.concatenate([rng.choice(WORDS[topic], 5) for topic in own])
        texts.append(" ".join(words))
        labels.append(sorted(own))
    texts[7] = "<script>alert(1)</script> chess board"
    texts[8] = ""
    texts[9] = "first line of music\n\nsecond line about audio & radio"
    labels[10], labels[11] = None, []
    ids = ODD + [f"item{number}" for number in range(len(ODD), count)]
    metadata = [
        {"year": 2000 + number % 5, "free": number % 2 == 0, "number": number}
        for number in range(count)
    ]
    index = SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids, metadata=metadata)
    return index if folder is None else index.save(folder)


def make_attacks(folder):
    """An index whose ids, texts, labels and metadata all attack who looks at them."""
    count = 4 * len(ATTACKS)
    rows = [ATTACKS[number % len(ATTACKS)] for number in range(count)]
    texts = [f"{row} {row.lower()} chess\n{row}" for row in rows]
    labels = [[row, "game"][: 1 + number % 2] for number, row in enumerate(rows)]
    ids = [f"{row}{number}" for number, row in enumerate(rows)]
    metadata = [{row: row, "n": 1e308, "tiny": 5e-324, "whole": 2**70} for row in rows]
    index = SemanticIndex(estimator=MLSI(6)).fit(texts, labels, ids, metadata=metadata)
    return index.save(folder)


def read_points(data):
    """What the bytes of a map hold: the JSON object, and arrays by their names."""
    assert data[:4] == b"LSM1"
    size = int.from_bytes(data[4:8], "little")
    head = json.loads(data[8 : 8 + size])
    arrays, at = {}, 8 + size
    for name, kind, length in head["arrays"]:
        arrays[name] = np.frombuffer(data, kind, length, at)
        at += -(-arrays[name].nbytes // 4) * 4
    assert at == len(data)
    return head, arrays


def serve(path, *, drawn=False, audited=False, **settings):
    """What is served of an index, with what the background makes if that is asked for."""
    from labelspan.web import Served

    served = Served(path, **settings)
    with served.lease() as snapshot:
        if drawn:
            snapshot.make("map")
        if audited:
            snapshot.make("audit")
    return served


def client_of(served, **settings):
    """A client of what is served, in this process; nothing happens in the background."""
    from starlette.testclient import TestClient

    from labelspan.web import make_app

    app = make_app(served, watch=False, **settings)
    return TestClient(app, base_url=BASE, raise_server_exceptions=False)


def enter(client, served):
    """Let a client in by the printed address; return the headers of what changes labels."""
    entered = client.get(served.editing.access.address(""), follow_redirects=False)
    assert entered.status_code == 303
    return {"origin": BASE, "x-labelspan-secret": client.get("/edit/session.json").json()["secret"]}


@contextmanager
def explore(path, *, drawn=False, audited=False, **settings):
    """A client of the explorer of an index, in this process; nothing happens in the background."""
    with client_of(serve(path, drawn=drawn, audited=audited), **settings) as client:
        yield client


@contextmanager
def listen(path, *, drawn=False, **settings):
    """The explorer of an index on a socket, by a thread of this process; gives its address."""
    with running(serve(path, drawn=drawn), **settings) as address:
        yield address


@contextmanager
def running(served, *, watch=False, **settings):
    """Serve an index on a free port, by a thread of this process; gives its address."""
    import uvicorn

    from labelspan.web import make_app
    from labelspan.web.server import configure

    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        server = uvicorn.Server(configure(make_app(served, watch=watch), **settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def command(folder, *options, script="from labelspan.cli import app; app()", given=(), cwd=None):
    """The command as a process that serves a folder on a free port; it is killed at the end."""
    named = () if folder is None else (str(folder),)
    arguments = [*given, "serve", *named, "--port", "0", *options]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stderr=subprocess.PIPE, text=True, cwd=cwd
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def send(address, data, *, patience=120):
    """All that a server says to some bytes, until it closes their connection."""
    found = b""
    with socket.create_connection(address, timeout=patience) as connection:
        # What is refused early may not be taken to its end.
        with suppress(ConnectionError):
            connection.sendall(data)
        with suppress(ConnectionError):
            while part := connection.recv(1 << 16):
                found += part
    return found


def request_scope(target, method="GET", headers=()):
    """What an application is told of a request."""
    path, _, query = target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        # As in uvicorn: what is not UTF-8 is replaced.
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "root_path": "",
        "query_string": query,
        "headers": [(b"host", b"127.0.0.1"), *headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }


def ask(app, target, *, method="GET", headers=(), body=(b"",)):
    """Status, headers and body of an answer to a request that no client would send."""
    parts, sent = list(body), []

    async def receive():
        part = parts.pop(0) if parts else b""
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def hear(message):
        sent.append(message)

    asyncio.run(app(request_scope(target, method, headers), receive, hear))
    start = sent[0]
    return start["status"], dict(start["headers"]), b"".join(m.get("body", b"") for m in sent[1:])


INSIDE = [
    "Traceback",
    'File "',
    ".py",
    "labelspan/",
    "labelspan.",
    "site-packages",
    "sqlite",
    "numpy",
]


def check_refusal(status, headers, body, *inside):
    """A refusal is a short sentence, as JSON or as a page, and says nothing of the inside."""
    assert 400 <= status < 500 or status in {503, 505}, (status, body)
    text = body.decode()
    if headers[b"content-type"] == b"application/problem+json":
        error = json.loads(text)
        assert error["status"] == status
        message = error["detail"]
    else:
        assert headers[b"content-type"] == b"text/html; charset=utf-8"
        page = Page(text)
        assert f"Status {status}" in page.text
        message = page.text
    assert 10 < len(message) < 600, message
    for word in (*INSIDE, *inside):
        assert word not in text.replace("manifest.json", ""), (word, text)
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"content-security-policy"].startswith(b"default-src 'none'")


class Page(HTMLParser):
    """What a page holds: elements with attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.elements = []
        self.text = ""
        self.scripts = ""
        self._in_script = False
        self.feed(html)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._in_script = tag in {"script", "style"}

    def handle_endtag(self, tag):
        self._in_script = False

    def handle_data(self, data):
        if self._in_script:
            self.scripts += data
        else:
            self.text += data

    def all(self, *tags):
        """The attributes of all elements of some names."""
        return [attributes for tag, attributes in self.elements if tag in tags]

    @property
    def values(self):
        """All values of attributes."""
        return [v for _, attributes in self.elements for v in attributes.values() if v]
