"""Text of items does not control the terminal that it is printed to."""

import json
import shutil

import pytest
from _support.commands import run

from labelspan import MLSI, SemanticIndex
from labelspan.cli.shared import PlainConsole, printable

RED, TITLE, NEW = "\x1b[31m", "\x1b]0;owned\x07", "\x9b2J"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    texts = [f"chess {RED}game {TITLE}{n} {NEW}\nmore" for n in range(6)]
    texts += [f"edit {TITLE}photo {n}" for n in range(6)]
    labels = [[f"game{RED}"]] * 6 + [[f"image{NEW}"]] * 5 + [[f"game{RED}"]]
    ids = [f"id{n}{RED}" for n in range(12)]
    path = tmp_path_factory.mktemp("terminal") / "index"
    SemanticIndex(estimator=MLSI(2)).fit(texts, labels, ids).save(path)
    return path


COMMANDS = [
    ("search", "-i", None, "chess"),
    ("search", "-i", None, "chess", "--explain"),
    ("search", "-i", None, "--like", "no such item\x1b[31m"),
    ("tag", "-i", None, "chess game", "--all"),
    ("labels", None),
    ("labels", None, "--tree"),
    ("audit", None),
    ("info", None),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(map(str, command)))
def test_commands_print_no_control_characters(command, folder):
    done = run(*(folder if part is None else part for part in command))
    said = done.stdout + done.stderr
    assert said.strip()
    assert said == printable(said)


@pytest.mark.parametrize("command", ["fit", "add"])
def test_reading_a_corpus_prints_no_control_characters(command, folder, tmp_path):
    rows = [
        {"id": f"{n}{RED}", "text": f"chess {TITLE}{n}", "tags": [f"game{NEW}"], f"more{RED}": n}
        for n in range(6)
    ]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--dry-run"] if command == "fit" else ["-i", shutil.copytree(folder, tmp_path / "i")]
    done = run(command, tmp_path / "corpus.jsonl", *options)
    assert done.exit_code == 0, done.output
    assert done.output == printable(done.output)


def test_a_review_prints_no_control_characters(folder):
    done = run("review", "-i", folder, input="ynuq")
    assert done.exit_code == 0, done.output
    assert done.output == printable(done.output)


def test_styles_are_kept(capsys):
    console = PlainConsole(force_terminal=True, color_system="standard", highlight=False)
    console.print(f"[bold]a{RED}b[/bold]")
    assert capsys.readouterr().out == "\x1b[1ma\ufffd[31mb\x1b[0m\n"
