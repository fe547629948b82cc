"""``labelspan serve``: refused, started and ended."""

import json
import re
import signal
import socket

import pytest
from _support.explorer import command
from typer.testing import CliRunner

from labelspan import SemanticIndex
from labelspan.cli import app

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="install labelspan[app]")


def run(*args):
    return CliRunner().invoke(app, ["serve", *map(str, args)])


def test_the_command_reports_bad_arguments(folder, tmp_path):
    result = run(tmp_path / "none", "--port", 0)
    assert result.exit_code == 1
    assert "There is no index in" in result.stderr
    assert "make one with `labelspan fit CORPUS --out" in result.stderr
    assert result.stderr.count("\n") == 1
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run(folder, "--port", taken.getsockname()[1])
    assert result.exit_code == 1
    assert (
        "cannot be listened on: Address already in use; choose another by --port" in result.stderr
    )
    assert run(folder, "--host", "no such host").exit_code == 1


def items_at(port):
    """The number of items that the explorer tells on a new connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=600) as connection:
        request = b"GET /index.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            return json.loads(answer.read().split(b"\r\n\r\n", 1)[1])["items"]


def test_an_index_that_another_process_writes_to_is_read(folder, tmp_path):
    for options, told in (((), "Another process is writing"), (("--read-only",), "")):
        with SemanticIndex.load(folder, write=True), command(folder, *options) as process:
            line = process.stderr.readline()
            assert "token" not in line
            port = int(re.search(r":(\d+)/", line)[1])
            assert items_at(port) == 60
            if told:
                assert process.stderr.readline().startswith(told)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=120)[1] == ""


def test_the_command_serves_until_it_is_told_to_stop(folder):
    with command(folder) as process:
        line = process.stderr.readline()
        told = r"Serving 60 items at http://127.0.0.1:\d+/enter\?token=\S+ \(Ctrl-C ends it\)\n"
        assert re.fullmatch(told, line)
        assert items_at(int(re.search(r":(\d+)/", line)[1])) == 60
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=120)
        assert (process.returncode, rest) == (0, "")
