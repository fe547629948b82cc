"""The explorer under hostile clients, on a socket: malformed requests and slow bodies."""

import json
import random
import socket
import time
from contextlib import ExitStack
from functools import partial

import pytest
from _support.explorer import check_refusal, listen, send

pytest.importorskip("uvicorn", reason="install labelspan[app]")
pytest.importorskip("starlette", reason="install labelspan[app]")

from labelspan.web import requests
from labelspan.web.requests import LONGEST_ADDRESS, LONGEST_BODY

HOST = b"Host: localhost\r\n"
FORM = HOST + b"Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n"
LAST = HOST + b"Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def address(folder):
    with listen(folder) as address:
        yield address


def parsed(answer):
    """Status, headers and body of the first answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    headers = dict(line.lower().split(b": ", 1) for line in lines)
    return int(first.split()[1]), headers, body[: int(headers[b"content-length"])]


def works(address):
    """Whether a request like any other is answered."""
    status, _, body = parsed(send(address, b"GET /index.json HTTP/1.1\r\n" + LAST))
    return status == 200 and json.loads(body)["items"] == 60


def left(connection, seconds=120):
    """Whether the server leaves a connection, whatever it sends before."""
    connection.settimeout(seconds)
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


# --- malformed requests ---------------------------------------------------------------------

MALFORMED = [
    b"\r\n\r\n\x00\x00\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET /\r\n\r\n",
    b"GET / HTTP/9.9\r\n" + LAST,
    b"GET / HTP/1.1\r\n" + LAST,
    b"GET /\x00 HTTP/1.1\r\n" + LAST,
    b"GET /\xff HTTP/1.1\r\n" + LAST,
    b"GET /a b HTTP/1.1\r\n" + LAST,
    b"G\x01T / HTTP/1.1\r\n" + LAST,
    b" GET / HTTP/1.1\r\n" + LAST,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost\r\n\r\n",
    b"GET / HTTP/1.1\r\n: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHo st: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: a\x00b\r\n" + LAST,
    b"GET / HTTP/1.1\r\nX: " + b"a" * (3 * LONGEST_ADDRESS) + b"\r\n" + LAST,
    b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 25_000 + LAST,
    b"GET /" + b"a" * (3 * LONGEST_ADDRESS) + b" HTTP/1.1\r\n" + LAST,
    b"a" * 200_000,
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"POST /tag HTTP/1.1\r\n" + FORM + b"Content-Length: -5\r\n\r\ntext=a",
    b"POST /tag HTTP/1.1\r\n" + FORM + b"Content-Length: 5, 6\r\n\r\ntext=a",
    b"POST /tag HTTP/1.1\r\n" + FORM + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\ntext=a",
    b"POST /tag HTTP/1.1\r\n" + FORM + b"Content-Length: 0x6\r\n\r\ntext=a",
    b"POST /tag HTTP/1.1\r\n" + FORM + b"Content-Length: " + b"9" * 30 + b"\r\n\r\ntext=a",
    b"POST /tag HTTP/1.1\r\n" + FORM + b"Transfer-Encoding: gzip\r\n\r\ntext=a",
    b"POST /tag HTTP/1.1\r\n" + FORM + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    b"POST /tag HTTP/1.1\r\n" + FORM + b"Transfer-Encoding: chunked\r\n\r\nzz\r\ntext=a\r\n",
    b"POST /tag HTTP/1.1\r\n" + FORM + b"Transfer-Encoding: chunked\r\n\r\n-1\r\ntext=a\r\n",
    b"POST /tag HTTP/1.1\r\n" + FORM + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n",
    b"POST /tag HTTP/1.1\r\n"
    + FORM
    + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ntext=a\r\n0\r\n\r\n",
]


@pytest.mark.parametrize("data", MALFORMED, ids=lambda data: repr(data[:30]))
def test_malformed_requests_get_an_error(address, folder, data):
    answer = send(address, data)
    # What is not HTTP is answered by the server below the explorer, in plain text.
    assert answer.split(b" ", 2)[1] in {b"400", b"413", b"414", b"431", b"505"}
    assert str(folder).encode() not in answer
    assert b"\r\nserver:" not in answer
    assert works(address)


def test_noise_does_no_harm(address, folder):
    rng = random.Random(2)
    good = b"POST /tag HTTP/1.1\r\n" + FORM + b"Content-Length: 6\r\n\r\ntext=a"
    for _ in range(120):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(data))
            data[place : place + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 3))
        answer = send(address, bytes(data) + b"\r\n\r\n")
        if answer:
            status = int(answer.split(b" ", 2)[1])
            assert status in {200, 400, 404, 405, 413, 415, 505}, answer
            assert str(folder).encode() not in answer
    assert works(address)


def test_an_answer_that_has_begun_is_not_begun_again(address):
    head = b"PUT /tag HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(address, timeout=120) as connection:
        connection.sendall(head)
        assert connection.recv(100).startswith(b"HTTP/1.1 405")
        connection.sendall(b"not a chunk\r\n")
        assert left(connection)
    assert works(address)


# --- bodies ---------------------------------------------------------------------------------


def test_large_bodies_are_not_read(address):
    told = FORM + b"Content-Length: %d\r\n\r\n" % (LONGEST_BODY + 1)
    for path in (b"/tag", b"/tag.json", b"/nowhere", b"/search"):
        with socket.create_connection(address, timeout=120) as connection:
            connection.sendall(b"POST " + path + b" HTTP/1.1\r\n" + told)
            assert connection.recv(100).startswith(b"HTTP/1.1 413")
            assert left(connection)
    continued = FORM + b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"
    assert parsed(send(address, b"POST /tag HTTP/1.1\r\n" + continued))[0] == 413


def test_chunks_without_end_are_not_read_to_the_end(address):
    head = b"POST /tag.json HTTP/1.1\r\n" + FORM + b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"a" * 65536 + b"\r\n"
    with socket.create_connection(address, timeout=120) as connection:
        connection.sendall(head)
        sent = 0
        try:
            while sent < 100:
                connection.sendall(chunk)
                sent += 1
        except OSError:
            pass
        assert sent < 100, "six megabytes were taken"
    assert works(address)


@pytest.mark.parametrize("method", [b"GET /index.json", b"POST /search", b"POST /nowhere"])
def test_bodies_that_are_not_needed_are_discarded(address, method):
    body = b"a" * 100_000
    first = method + b" HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\n" + body
    answer = send(address, first + b"GET /index.json HTTP/1.1\r\n" + LAST)
    assert answer.count(b"HTTP/1.1 ") == 2
    assert b"\r\nHTTP/1.1 200 OK" in answer or b"}HTTP/1.1 200 OK" in answer or b">HTTP" in answer


def test_a_length_that_lies(address):
    head = b"POST /tag.json HTTP/1.1\r\n" + FORM.replace(b"Connection: close\r\n", b"")
    with socket.create_connection(address, timeout=120) as connection:
        connection.sendall(head + b"Content-Length: 50\r\n\r\ntext=a")
        connection.shutdown(socket.SHUT_WR)
        assert left(connection), "who ends before the body does is not waited for"
    answer = send(address, head + b"Content-Length: 6\r\n\r\ntext=a\x00junk\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 400" in answer, "what follows is not a request"
    assert works(address)


# --- slow bodies ----------------------------------------------------------------------------


def test_a_slow_body_is_not_waited_for(folder, monkeypatch):
    monkeypatch.setattr(requests.read_all, "__defaults__", (0.5, requests.LONGEST_BODY))
    head = b"POST /tag.json HTTP/1.1\r\n" + FORM + b"Content-Length: 5000\r\n\r\n"
    with listen(folder) as address, socket.create_connection(address, timeout=120) as connection:
        connection.sendall(head)
        connection.sendall(b"text=a")
        # The answer may come in pieces; then the connection is closed.
        status, headers, body = parsed(b"".join(iter(partial(connection.recv, 1 << 16), b"")))
        assert status == 408
        check_refusal(status, headers, body)
        assert left(connection)


# --- slow headers ---------------------------------------------------------------------------

UNFINISHED = [b"", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "]


def test_headers_that_do_not_end_are_not_waited_for(folder):
    with listen(folder, header_seconds=1.0) as address:
        with ExitStack() as opened:
            begun = [
                opened.enter_context(socket.create_connection(address, timeout=120))
                for _ in (*UNFINISHED, "second")
            ]
            # Neither is the second request on a connection.
            begun[-1].sendall(b"GET /index.json HTTP/1.1\r\n" + HOST + b"\r\n")
            assert begun[-1].recv(100).startswith(b"HTTP/1.1 200")
            for connection, data in zip(begun, (*UNFINISHED, UNFINISHED[-1]), strict=True):
                connection.sendall(data)
            assert all(map(left, begun))
        assert works(address)


def test_a_header_a_second_does_not_keep_a_connection(folder):
    with listen(folder, header_seconds=1.5) as address:
        with socket.create_connection(address, timeout=120) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n")
            closed = False
            for number in range(600):
                try:
                    connection.sendall(b"X-%d: a\r\n" % number)
                except OSError:
                    closed = True
                    break
                time.sleep(0.1)
            assert closed
        assert works(address)


def test_many_slow_connections_do_not_keep_others_out(folder):
    with listen(folder, header_seconds=300.0) as address, ExitStack() as opened:
        for number in range(600):
            connection = opened.enter_context(socket.create_connection(address, timeout=120))
            connection.sendall(UNFINISHED[number % 4])
        for _ in range(5):
            assert works(address)


def test_a_request_that_is_answered_is_not_ended_by_others(folder):
    """The body of a request is waited for, whoever else comes."""
    body = b"text=chess"
    head = b"POST /tag.json HTTP/1.1\r\n" + FORM + b"Content-Length: %d\r\n\r\n" % len(body)
    with listen(folder, header_seconds=300.0) as address, ExitStack() as opened:
        asking = opened.enter_context(socket.create_connection(address, timeout=120))
        asking.sendall(head)
        for _ in range(600):
            opened.enter_context(socket.create_connection(address, timeout=120))
        assert works(address)
        asking.sendall(body)
        assert asking.recv(100).startswith(b"HTTP/1.1 200")
