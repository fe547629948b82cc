"""Text of items does not control the terminal that it is printed to."""

import json
import shutil
from itertools import accumulate

import pytest
from _support.commands import run

from labelspan import MLSI, SemanticIndex
from labelspan.cli.fit import _SHARES
from labelspan.cli.shared import PlainConsole, _Pace, printable

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


@pytest.mark.parametrize(
    "lasts", [(12, 5, 3, 35, 45), (20, 2, 2, 20, 30), (4, 1, 0.2, 32, 62), (100, 60, 5, 200, 200)]
)
def test_the_bar_of_a_fit_moves_and_its_estimate_is_within_a_factor_of_two(lasts):
    pace, ends, total = _Pace(_SHARES, 0.0), list(accumulate(lasts)), sum(lasts)
    shown, left = [], []
    for moment in range(int(10 * total)):
        now = moment / 10
        pace.reach(sum(end <= now for end in ends), now)
        shown.append(pace.fraction(now))
        left.append(pace.left(now))
    # It never goes back, and every two seconds it moves.
    moved = [after - before for before, after in zip(shown, shown[20:], strict=False)]
    assert min(moved) > 0
    assert shown[0] < 0.01 < shown[-1] <= 1
    first = int(10 * ends[0]) + 1
    wanted = [total - moment / 10 for moment in range(len(left))]
    assert all(one is None for one in left[: first - 1])
    near = [one / right for one, right in zip(left, wanted, strict=True) if one and right > 5]
    assert 0.3 < near[0] < 3.5


def test_flags_have_no_type_in_the_help():
    for command in ([], ["fit"], ["data"], ["search"]):
        assert "<bool>" not in run(*command, "--help").stdout
