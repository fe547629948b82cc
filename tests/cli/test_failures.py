"""How a command starts and fails: closed streams, odd terminals, Ctrl-C at any moment."""

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest
from _support.commands import run
from _support.tagged import as_lines, rows

from labelspan.errors import InvalidInput


def process(code, *args, shell=""):
    """Run Python code as a process; ``shell`` redirects its streams."""
    line = ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-c", code, *args]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=600)


COMMAND = "from labelspan.cli import main; main()"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    (folder / "corpus.jsonl").write_text(as_lines(rows(24)))
    result = run("fit", folder / "corpus.jsonl", "-o", folder / "index", "--dimensions", 3)
    assert result.exit_code == 0, result.output
    return folder / "index"


# --- standard input -----------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes streams")
@pytest.mark.parametrize("name", ["fit", "add", "search", "tag", "evaluate"])
def test_standard_input_that_is_closed(name, saved, here):
    index = ["-i", str(saved)] if name in ("add", "search", "tag") else []
    done = process(COMMAND, name, "-", *index, shell="<&-")
    assert done.returncode == 1
    assert done.stderr == ("Standard input is closed; give a file, or pipe data to the command.\n")
    assert list(here.iterdir()) == []


# --- what is imported ---------------------------------------------------------------------

# The commands of one process, which has imported what all of them import; each runs in a fork of
# it, so that it does not see what another one imported.
IMPORTED = """
import json, os, sys
from labelspan.cli.commands import app
for args in json.loads(sys.argv[1]):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 0
        try:
            app(args)
        except SystemExit as end:
            code = end.code
        finally:
            heavy = [name for name in ("numpy", "scipy", "sklearn") if name in sys.modules]
            print(json.dumps([args, code, heavy]), flush=True)
            os._exit(0)
    os.waitpid(child, 0)
"""

REFUSED = [
    ["serch", "chess"],
    ["search", "chess", "-i", "nowhere"],
    ["tag", "chess", "-i", "nowhere"],
    ["tag"],
    ["info", "nowhere"],
    ["map", "nowhere"],
    ["map", "nowhere", "-o", "map.gif"],
    ["serve", "nowhere"],
    ["search", "chess", "--where", "year"],
    ["search", "-n", "0"],
    ["fit", "nothing.csv"],
    ["fit", "here.csv", "--vocabulary", "nothing.tsv"],
    ["fit", "here.csv", "--out", "made"],
    ["add", "here.csv", "-i", "nowhere"],
    ["tag", "--corpus", "nothing.csv"],
    ["evaluate", "nothing.csv"],
    ["evaluate", "here.csv", "--queries", "nothing.jsonl"],
]


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_errors_do_not_wait_for_the_numerical_libraries(here):
    (here / "here.csv").write_text("text,labels\n")
    (here / "made").mkdir()
    (here / "made" / "manifest.json").write_text("{}")
    done = process(IMPORTED, json.dumps([["--version"], *REFUSED]))
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert [args for args, _, _ in told] == [["--version"], *REFUSED], done.stderr
    assert [(args, heavy) for args, _, heavy in told if heavy] == []
    assert [args for args, code, _ in told if not code] == [["--version"]]


# --- Ctrl-C -------------------------------------------------------------------------------

INTERRUPTED = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
from labelspan.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("name", ["typer", "numpy"])
def test_ctrl_c_while_modules_are_imported(name, saved):
    done = process(INTERRUPTED.format(name=name), "search", "-i", str(saved), "chess")
    assert done.stderr == "Stopped; nothing half-written is left.\n"
    assert done.returncode == 130


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_while_the_server_starts(saved, monkeypatch):
    uvicorn = pytest.importorskip("uvicorn")
    real = uvicorn.Config.get_loop_factory
    before = signal.getsignal(signal.SIGINT)

    def interrupted(self):
        # After "Serving" is printed, and before the event loop handles signals.
        os.kill(os.getpid(), signal.SIGINT)
        return real(self)

    monkeypatch.setattr(uvicorn.Config, "get_loop_factory", interrupted)
    result = run("serve", saved, "--port", 0)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("Serving 24 items at")
    assert result.stderr.count("\n") == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_in_a_reproduction_says_what_is_kept(here, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("labelspan.papers.reproduction.reproduce", stop)
    result = run("reproduce", "--out", "part")
    assert result.exit_code == 130
    told = "Stopped; finished results are in part, and the same command continues.\n"
    assert result.stderr.endswith(told)


@pytest.mark.parametrize(
    "error", [None, MemoryError(), OSError(28, "No space left on device", "x")]
)
def test_a_program_reads_why_a_fit_failed_from_a_line_of_json(here, monkeypatch, error):
    """Not from a sentence, which may look like a note, or have several lines."""
    (here / "a.csv").write_text("id,text,tags\na,words,x;y\nb,more words,y\n")

    refused = InvalidInput("Note: no\n  text")
    refused.choices = {"text": {"a": "b"}}

    def fail(*args, **options):
        raise error or refused

    monkeypatch.setattr("labelspan.index.fitting.fit_stream", fail)
    told = run("fit", "a.csv", "--json", "--json-steps")
    assert told.exit_code == 1
    plain = run("fit", "a.csv", "--json").stderr
    found = json.loads(told.stderr.splitlines()[-1])
    assert plain.endswith(f"{found['failed']}\n")
    assert found["choices"] == ({} if error else {"text": {"a": "b"}})


# --- evaluate -----------------------------------------------------------------------------


def test_the_recommended_command_reads_the_corpus_the_same_way(here):
    lines = [{"name": r["body"], "kinds": ", ".join(r["tags"]), "key": r["id"]} for r in rows(40)]
    (here / "my corpus.jsonl").write_text(as_lines(lines))
    options = ["--text", "name", "--labels", "kinds", "--separator", ",", "--ids", "key"]
    options += ["--empty-is-none", "--format", "jsonl"]
    result = run("evaluate", "my corpus.jsonl", *options, "--dimensions", 2)
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("  labelspan fit")]
    assert "'my corpus.jsonl' --text name --labels kinds" in line
    assert run(*shlex.split(line)[1:]).exit_code == 0
