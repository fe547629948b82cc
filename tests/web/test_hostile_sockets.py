"""The explorer under hostile clients, on a socket: malformed requests and slow clients."""

import asyncio
import inspect
import json
import logging
import random
import re
import socket
import time

import pytest
from _support.explorer import check_refusal, listen, make_index, send

pytest.importorskip("uvicorn", reason="install labelspan[app]")
pytest.importorskip("starlette", reason="install labelspan[app]")

from labelspan.web import connection as connections
from labelspan.web import middleware, server
from labelspan.web.parameters import LONGEST_ADDRESS, LONGEST_BODY, MOST_CHUNKS

HOST = b"Host: localhost\r\n"
FORM = HOST + b"Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n"
LAST = HOST + b"Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sockets") / "index"
    make_index(path)
    return path


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
    b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 20_000 + LAST,
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
    status, headers, body = parsed(answer)
    assert status in {400, 413, 414, 431, 505}
    check_refusal(status, headers, body, str(folder))
    assert b"server" not in headers
    assert works(address)


def test_noise_does_no_harm(address, folder, caplog):
    rng = random.Random(2)
    caplog.set_level(logging.ERROR)
    good = b"POST /tag HTTP/1.1\r\n" + FORM + b"Content-Length: 6\r\n\r\ntext=a"
    for _ in range(120):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(data))
            data[place : place + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 3))
        answer = send(address, bytes(data) + b"\r\n\r\n")
        if answer:
            status, headers, body = parsed(answer)
            assert status in {200, 400, 404, 405, 413, 415, 505}, answer
            if status != 200:
                check_refusal(status, headers, body, str(folder))
    assert works(address)
    assert not caplog.records


def test_an_answer_that_has_begun_is_not_begun_again(address, caplog):
    caplog.set_level(logging.WARNING)
    head = b"PUT /tag HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(address, timeout=120) as connection:
        connection.sendall(head)
        assert connection.recv(100).startswith(b"HTTP/1.1 405")
        connection.sendall(b"not a chunk\r\n")
        assert left(connection)
    assert works(address)
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_upgrades_are_ignored(address, caplog):
    upgrade = (
        b"Upgrade: websocket\r\nConnection: Upgrade, close\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    answer = send(address, b"GET /index.json HTTP/1.1\r\n" + HOST + upgrade)
    assert parsed(answer)[0] == 200
    assert parsed(send(address, b"CONNECT localhost:80 HTTP/1.1\r\n" + LAST))[0] == 404
    assert parsed(send(address, b"OPTIONS * HTTP/1.1\r\n" + LAST))[0] == 404
    assert not caplog.records


def test_many_requests_at_once_on_one_connection_are_answered_in_turn(address):
    one = b"GET /search.json?q=chess&k=1 HTTP/1.1\r\n" + HOST + b"\r\n"
    answer = send(address, one * 200 + b"GET /nowhere HTTP/1.1\r\n" + LAST)
    assert answer.count(b"HTTP/1.1 200 OK") == 200
    assert answer.count(b"HTTP/1.1 404 Not Found") == 1


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


def test_a_body_may_have_a_limited_number_of_chunks(address, folder):
    head = b"POST /tag.json HTTP/1.1\r\n" + FORM + b"Transfer-Encoding: chunked\r\n\r\n"
    most = MOST_CHUNKS
    text = b"5\r\ntext=\r\n" + b"1\r\na\r\n" * (most - 1) + b"0\r\n\r\n"
    assert parsed(send(address, head + text))[0] == 200
    # 200,000 bytes are fewer than a body may have.
    status, headers, body = parsed(send(address, head + b"1\r\n \r\n" * 200_000 + b"0\r\n\r\n"))
    assert status == 413
    check_refusal(status, headers, body, str(folder))
    assert f"at most {most:,} chunks" in json.loads(body)["error"]["message"]
    assert headers[b"connection"] == b"close"
    assert works(address)


def test_chunks_of_a_body_that_is_not_read_are_counted_too(address):
    head = b"GET /index.json HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    chunks = b"1\r\n \r\n" * 200_000 + b"0\r\n\r\n"
    answer = send(address, head + chunks + b"GET /index.json HTTP/1.1\r\n" + LAST)
    assert answer.count(b"HTTP/1.1 ") <= 1, "the connection is closed before the second request"
    assert works(address)


def test_a_client_that_closes_its_sending_side_gets_its_answer(address):
    one = b"GET /search.json?q=chess HTTP/1.1\r\n" + HOST + b"\r\n"
    posted = b"POST /tag.json HTTP/1.1\r\n" + FORM.replace(b"Connection: close\r\n", b"")
    posted += b"Content-Length: 10\r\n\r\ntext=chess"
    for data, count in ((one, 1), (posted, 1), (one * 5 + posted, 6)):
        with socket.create_connection(address, timeout=120) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while part := connection.recv(1 << 16):
                answer += part
        assert answer.count(b"HTTP/1.1 200 OK") == count
        assert json.loads(answer.rpartition(b"\r\n\r\n")[2]), "the last answer is complete"


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


# --- slow clients ---------------------------------------------------------------------------


@pytest.fixture
def hasty(folder, monkeypatch):
    monkeypatch.setattr(connections, "SECONDS_FOR_HEADERS", 0.5)
    monkeypatch.setattr(connections, "SECONDS_TO_TAKE", 0.5)
    monkeypatch.setattr(middleware.read_all, "__defaults__", (0.5,))
    # Longer than any test: what ends a connection here is not the pause between two requests.
    monkeypatch.setattr(server, "_SECONDS_BETWEEN_REQUESTS", 1000)
    with listen(folder) as address:
        yield address


def drip(connection, data, pause=0.1):
    """Send byte after byte until all are sent, or nobody takes them; gives how many were."""
    for number in range(len(data)):
        try:
            connection.sendall(data[number : number + 1])
        except OSError:
            return number
        time.sleep(pause)
    return len(data)


def test_slow_headers_are_not_waited_for(hasty):
    with socket.create_connection(hasty, timeout=120) as connection:
        head = b"GET /index.json HTTP/1.1\r\n" + b"X-Slow: 1\r\n" * 100 + LAST
        assert drip(connection, head) < len(head)
        assert left(connection)
    assert works(hasty)


def test_silent_clients_are_disconnected(hasty):
    with socket.create_connection(hasty, timeout=120) as connection:
        assert left(connection)
    with socket.create_connection(hasty, timeout=120) as connection:
        connection.sendall(b"GET /index.json HTTP/1.1\r\n" + HOST + b"\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        # The timeout holds for the second request, too.
        connection.sendall(b"GET /index.json HTTP/1.1\r\n")
        assert left(connection)


def test_a_slow_body_is_not_waited_for(hasty):
    head = b"POST /tag.json HTTP/1.1\r\n" + FORM + b"Content-Length: 5000\r\n\r\n"
    with socket.create_connection(hasty, timeout=120) as connection:
        connection.sendall(head)
        drip(connection, b"text=" + b"a" * 5)
        status, headers, body = parsed(connection.recv(1 << 16))
        assert status == 408
        check_refusal(status, headers, body)
        assert left(connection)


def test_a_body_that_is_not_needed_may_not_arrive_slowly_for_ever(hasty):
    head = b"GET /index.json HTTP/1.1\r\n" + FORM + b"Transfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(hasty, timeout=120) as connection:
        connection.sendall(head)
        body = b"1\r\na\r\n" * 200
        assert drip(connection, body) < len(body)
        assert left(connection)


@pytest.mark.parametrize("end", [b"", b"Connection: close\r\n"])
def test_an_answer_that_is_not_taken_is_dropped(hasty, end):
    big = b"GET /static/bokeh/bokeh.min.js HTTP/1.1\r\n" + HOST
    with socket.socket() as connection:
        # Little room at this end, so that the server's own buffers fill.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(120)
        connection.connect(hasty)
        connection.sendall((big + b"\r\n") * 8 + big + end + b"\r\n")
        time.sleep(2)
        assert works(hasty)
        taken = 0
        try:
            while part := connection.recv(1 << 20):
                taken += len(part)
        except ConnectionResetError:
            pass
    assert taken < 8_000_000, "all was sent, to one who did not read"


def test_a_slow_reader_who_reads_gets_everything(hasty, monkeypatch):
    # Longer than a pause of this reader even on a busy machine, shorter than all of them.
    monkeypatch.setattr(connections, "SECONDS_TO_TAKE", 3.0)
    whole = parsed(send(hasty, b"GET /static/bokeh/bokeh.min.js HTTP/1.1\r\n" + LAST))[2]
    assert len(whole) > 500_000
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.settimeout(120)
        connection.connect(hasty)
        connection.sendall(b"GET /static/bokeh/bokeh.min.js HTTP/1.1\r\n" + LAST)
        taken = b""
        while part := connection.recv(50_000):
            taken += part
            time.sleep(0.05)
    assert parsed(taken)[2] == whole


# --- room -----------------------------------------------------------------------------------


def test_idle_connections_make_room(folder, monkeypatch):
    # Only the lack of room ends them here, however long the test takes.
    monkeypatch.setattr(connections, "SECONDS_FOR_HEADERS", 3600.0)
    with listen(folder, most=20) as address:
        idle = [socket.create_connection(address, timeout=120) for _ in range(60)]
        try:
            assert works(address)
            assert left(idle[0])
            assert all(left(one) for one in idle[:38]), "the oldest were let go"
            assert sum(left(one, 0.05) for one in idle) <= 45
            idle[-1].settimeout(120)
            idle[-1].sendall(b"GET /index.json HTTP/1.1\r\n" + LAST)
            assert idle[-1].recv(100).startswith(b"HTTP/1.1 200")
        finally:
            for one in idle:
                one.close()


def test_slow_bodies_and_readers_make_room_too(folder):
    head = b"POST /tag.json HTTP/1.1\r\n" + FORM + b"Content-Length: 5000\r\n\r\n"
    with listen(folder, most=20) as address:
        slow = [socket.create_connection(address, timeout=120) for _ in range(20)]
        try:
            for one in slow:
                one.sendall(head)
            time.sleep(0.3)
            assert works(address)
            assert left(slow[0])
        finally:
            for one in slow:
                one.close()


def test_if_all_are_being_answered_the_next_gets_an_error(folder, monkeypatch):
    monkeypatch.setattr(connections.Connection, "_waits", False)
    with listen(folder, most=3) as address:
        held = [socket.create_connection(address, timeout=120) for _ in range(3)]
        try:
            time.sleep(0.2)
            status, headers, body = parsed(send(address, b"GET /index.json HTTP/1.1\r\n" + LAST))
            assert (status, headers[b"retry-after"]) == (503, b"1")
            check_refusal(status, headers, body)
        finally:
            for one in held:
                one.close()
        time.sleep(0.2)
        assert works(address)


# --- uvicorn --------------------------------------------------------------------------------


def test_uvicorn_has_what_the_connection_relies_on(folder):
    """Fails when a new uvicorn renames or drops what ``web/connection.py`` extends or reads."""
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
    from uvicorn.server import ServerState

    from labelspan.web.server import configure

    own = {
        name
        for name, value in vars(connections.Connection).items()
        if callable(value) and hasattr(H11Protocol, name) and not name.startswith("__")
    }
    assert own == {
        *("connection_made", "connection_lost", "data_received", "eof_received"),
        *("pause_writing", "resume_writing", "on_response_complete"),
        *("send_400_response", "_unsupported_upgrade_warning"),
    }

    async def no_app(scope, receive, send):
        raise AssertionError("nothing is sent")

    async def look():
        config = configure(no_app)
        assert isinstance(config, uvicorn.Config)
        return connections.Connection(config, ServerState(), {})

    made = asyncio.run(look())
    for name in ("app", "config", "conn", "connections", "cycle", "flow", "loop", "transport"):
        assert hasattr(made, name), name
    assert made.limit_concurrency is None
    # uvicorn parses with the parser that counts chunks.
    assert isinstance(made.conn, h11.Connection)
    assert "self.conn.next_event()" in inspect.getsource(H11Protocol.handle_events)
    for called in ("send_400_response", "on_response_complete", "_unsupported_upgrade_warning"):
        assert inspect.getsource(H11Protocol).count(f"self.{called}") == 1, called
    state = set(re.findall(r"self\.(\w+)", inspect.getsource(RequestResponseCycle.__init__)))
    assert {"disconnected", "message_event", "more_body", "response_complete"} <= state
