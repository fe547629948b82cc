"""The command under hundreds of connections, and while its index is damaged, removed, replaced."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from _support.explorer import check_refusal, make_index, send

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="install labelspan[app]")

from labelspan.web.server import MOST_CONNECTIONS  # noqa: E402

LAST = b"Host: localhost\r\nConnection: close\r\n\r\n"
pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this looks into /proc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("process") / "index"
    # Enough items for a file of vectors that has several pages.
    make_index(path, count=2000)
    return path


class Server:
    """The command as a process of its own."""

    def __init__(self, folder, log):
        command = [sys.executable, "-c", "from labelspan.cli import app; app()"]
        self.log = log
        with log.open("w") as said:
            self.process = subprocess.Popen(
                [*command, "serve", str(folder), "--port", "0"], stderr=said
            )
        end = time.monotonic() + 300
        while not (found := re.search(r"127\.0\.0\.1:(\d+)", log.read_text())):
            assert time.monotonic() < end
            assert self.process.poll() is None, log.read_text()
            time.sleep(0.05)
        self.address = ("127.0.0.1", int(found[1]))

    def get(self, target):
        """Status, headers and body of an answer."""
        answer = send(self.address, b"GET " + target.encode() + b" HTTP/1.1\r\n" + LAST)
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        return int(first.split()[1]), dict(line.split(b": ", 1) for line in lines), body

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def status(self, name):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", text)[1])


@contextmanager
def serving(folder, tmp_path):
    server = Server(folder, tmp_path / "log")
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait()


def wait_for(what, seconds=180):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)


def answered(connection):
    """The status of the next answer on a connection; 0 where it was closed without one."""
    found = b""
    try:
        while b"\r\n\r\n" not in found:
            part = connection.recv(1 << 16)
            if not part:
                return 0
            found += part
        head, _, body = found.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head)[1])
        while len(body) < length:
            body += connection.recv(1 << 16)
    except ConnectionResetError:
        return 0
    return int(found.split()[1])


def test_hundreds_of_connections(tmp_path):
    import resource

    count = MOST_CONNECTIONS - 24
    make_index(tmp_path / "index")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4 * MOST_CONNECTIONS:
        pytest.skip("too few files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * MOST_CONNECTIONS), hard))
    with serving(tmp_path / "index", tmp_path) as server, ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        assert server.get("/search.json?q=chess")[0] == 200
        wait_for(lambda: json.loads(server.get("/map.json")[2])["state"] == "ready", 60)
        files, memory = server.files(), server.status("VmRSS")

        def connect():
            connection = socket.create_connection(server.address, timeout=60)
            return held.enter_context(connection)

        # Hundreds that say nothing: others are answered.
        idle = [connect() for _ in range(count)]
        assert server.get("/search.json?q=chess")[0] == 200
        # All of them ask at once: each gets its answer, or a 503.
        for one in idle:
            one.sendall(b"GET /search.json?q=chess&page=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        statuses = [answered(one) for one in idle]
        assert set(statuses) <= {200, 503}
        assert statuses.count(200) >= 256
        # More than there is room for take the places of those that ask for nothing.
        more = [connect() for _ in range(100)]
        assert server.get("/search.json?q=chess")[0] == 200
        assert server.files() < files + MOST_CONNECTIONS + 8
        assert server.status("Threads") < 16 + 10
        assert server.status("VmRSS") < memory + 200_000, "kilobytes"
        for one in (*idle, *more):
            one.close()
        wait_for(lambda: server.files() <= files + 2)
        assert server.get("/search.json?q=chess")[0] == 200
        assert server.process.poll() is None
        assert "Traceback" not in server.log.read_text()


def spoil(path, how):
    data = path.read_bytes()
    match how:
        case "cut":
            os.truncate(path, min(100, len(data) // 2))
        case "noise":
            with path.open("r+b") as file:
                file.write(b"\xa5" * len(data))
        case "gone":
            path.unlink()


ASKED = ["/index.json", "/search.json?q=chess", "/item.json?id=item6", "/label.json?name=game"]
ASKED += ["/tag.json?text=chess", "/why.json?id=item6&q=chess", "/axis.json", "/search?q=photo"]


@pytest.mark.parametrize("how", ["cut", "noise", "gone"])
def test_an_index_that_is_damaged_under_it_ends_nothing(folder, tmp_path, how):
    own = shutil.copytree(folder, tmp_path / "index")
    with serving(own, tmp_path) as server:
        for target in ASKED:
            assert server.get(target)[0] == 200
        files = [path for path in sorted(own.rglob("*")) if path.is_file()]
        assert len(files) > 8
        for path in files:
            # Readers of SQLite map this one; it is not part of an index, and is made again.
            if not path.name.endswith("-shm"):
                spoil(path, how)
        for target in ASKED * 2:
            status, headers, body = server.get(target)
            if status != 200:
                assert status == 503, body
                check_refusal(status, headers, body, str(tmp_path))
        assert server.process.poll() is None
        if how == "noise":
            # A good index in the place of the damaged one is taken over.
            shutil.rmtree(own)
            make_index(own, count=30)
            wait_for(lambda: json.loads(server.get("/index.json")[2])["items"] == 30)
            assert server.get("/item.json?id=item6")[0] == 200
