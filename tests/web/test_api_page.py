"""The shell example of the page about other programs, against a real server."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from _support.explorer import command

from labelspan import SemanticIndex

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="install labelspan[app]")

PAGE = Path(__file__).parents[2] / "docs/howto/tags-for-another-program.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_shell_example_runs(tmp_path):
    *_, example = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    texts = ["a chess game", "a chess club", "chess online", "edit a photo", "crop a photo"]
    SemanticIndex().fit(texts, [["game"]] * 3 + [["image"]] * 2).save(tmp_path / "notes.labelspan")
    (tmp_path / "token").write_text("for-this-test-only-0123456789\n")
    with command("notes.labelspan", "--token-file", "token", cwd=tmp_path) as server:
        port = re.search(r":(\d+)/", server.stderr.readline()).group(1)
        assert ":8000/" in example
        shell = ["bash", "-ec", example.replace(":8000/", f":{port}/")]
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, check=True, text=True)
        (found,) = json.loads(done.stdout)["results"]
        assert [one["label"] for one in found] == ["game"]
        (tmp_path / "token").write_text("another-token-0123456789\n")
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, check=True, text=True)
        assert json.loads(done.stdout)["error"]["status"] == 401
