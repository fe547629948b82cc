"""``labelspan serve``: refused, started and ended."""

import json
import os
import re
import signal
import socket
import sys
import time
from pathlib import Path

import pytest
from _support.explorer import command
from typer.testing import CliRunner

from labelspan.cli import app
from labelspan.errors import InvalidParameter

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="install labelspan[app]")

from labelspan.web import serve  # noqa: E402


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


def workers_of(process):
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    children = [int(one) for one in path.read_text().split()]
    # Python has a process of its own that looks after what workers share.
    return [one for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def wait_until(true, seconds=120):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_command_serves_until_it_is_told_to_stop(folder):
    with command(folder) as process:
        line = process.stderr.readline()
        assert re.fullmatch(r"Serving 60 items at http://127.0.0.1:\d+/ \(Ctrl-C ends it\)\n", line)
        assert items_at(int(re.search(r":(\d+)/", line)[1])) == 60
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=120)
        assert (process.returncode, rest) == (0, "")


several = pytest.mark.skipif(sys.platform != "linux", reason="workers are found in /proc")


@several
def test_several_processes_serve_are_started_again_and_end_together(folder):
    with command(folder, "--workers", "2") as process:
        line = process.stderr.readline()
        assert re.fullmatch(
            r"Serving 60 items at http://127.0.0.1:\d+/ by 2 processes \(Ctrl-C ends it\)\n", line
        )
        port = int(re.search(r":(\d+)/", line)[1])
        wait_until(lambda: len(workers_of(process)) == 2)
        assert {items_at(port) for _ in range(8)} == {60}
        result = run(folder, "--port", port, "--workers", 2)
        assert "Address already in use" in result.stderr
        killed, other = workers_of(process)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: killed not in workers_of(process) and len(workers_of(process)) == 2)
        assert {items_at(port) for _ in range(8)} == {60}
        now = workers_of(process)
        assert other in now
        process.send_signal(signal.SIGTERM)
        # The end of its output comes when the last process has closed it.
        _, rest = process.communicate(timeout=600)
        assert (process.returncode, rest) == (0, "")
        # The first process has waited for the others, so that nothing of them is left.
        assert not any(map(is_there, now))
        with pytest.raises(ConnectionRefusedError):
            items_at(port)


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@several
def test_workers_end_with_the_process_that_started_them(folder):
    with command(folder, "--workers", "2") as process:
        port = int(re.search(r":(\d+)/", process.stderr.readline())[1])
        wait_until(lambda: len(workers_of(process)) == 2)
        assert items_at(port) == 60
        workers = workers_of(process)
        process.kill()
        # The end of its output comes when the last process has closed it.
        process.communicate(timeout=120)
        wait_until(lambda: not any(map(is_there, workers)))


def test_workers_that_cannot_serve_are_refused(folder):
    result = run(folder, "--port", 0, "--workers", 2, "--edit")
    assert result.exit_code == 1
    assert result.stderr == (
        "serve: labels can only be changed by one process; omit --workers, or --edit.\n"
    )
    assert run(folder, "--workers", 0).exit_code == 2
    for wrong in (0, 1.5, True):
        with pytest.raises(InvalidParameter, match="workers must be a whole number"):
            serve(folder, workers=wrong)
