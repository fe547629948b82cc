"""``labelspan serve``: refused, started and ended."""

import json
import re
import signal
import socket
import subprocess
import sys

import pytest
from _support.explorer import make_index
from typer.testing import CliRunner

from labelspan.cli import app as command

for needed in ("starlette", "uvicorn", "bokeh"):
    pytest.importorskip(needed, reason="install labelspan[app]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("command") / "index"
    make_index(path)
    return path


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
    assert "make one with `labelspan fit CORPUS --out" in result.stderr
    assert result.stderr.count("\n") == 1
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run(folder, "--port", taken.getsockname()[1])
    assert result.exit_code == 1
    assert (
        "cannot be listened on: Address already in use; choose another by --port" in result.stderr
    )
    assert run(folder, "--host", "no such host").exit_code == 1


def test_the_command_takes_the_index_that_fit_made_where_none_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("--port", 0)
    assert result.exit_code == 1
    assert "There is no index in 'index.labelspan'" in result.stderr
    for name in ("index.labelspan", "other"):
        make_index(tmp_path / name)
    asked = []
    monkeypatch.setattr("labelspan.web.serve", lambda index, **options: asked.append(index))
    assert run().exit_code == 0
    assert run("other").exit_code == 0
    assert list(map(str, asked)) == ["index.labelspan", "other"]


def test_the_command_serves_until_it_is_told_to_stop(folder):
    script = [sys.executable, "-c", "from labelspan.cli import app; app()"]
    process = subprocess.Popen(
        [*script, "serve", str(folder), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stderr.readline()
        assert re.fullmatch(r"Serving 60 items at http://127.0.0.1:\d+/ \(Ctrl-C ends it\)\n", line)
        port = int(re.search(r":(\d+)/", line)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
            request = b"GET /index.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            connection.sendall(request)
            with connection.makefile("rb") as answer:
                head, body = answer.read().split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert b"\nserver:" not in head.lower()
        assert json.loads(body)["items"] == 60
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=120)
        assert (process.returncode, rest) == (0, "")
    finally:
        process.kill()
        process.communicate()
