"""Write results/walks.md: three readers follow the pages in a new environment.

    python tools/walks.py

Makes a virtual environment per reader in a temporary folder, installs a clone of the last commit
there and runs, in an empty folder, what the pages say. It needs a package index for pip and the
data sets of the papers in $LABELSPAN_DATA or online, and takes about ten minutes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "results" / "walks.md"
MOST = 16
HEAD = """# Three readers follow the pages

What three readers type, from the pages that they would read, each in a new virtual environment and
an empty folder with a clone of the repository, and what it prints. Long outputs are shortened in
the middle, the output of git and pip is reduced to its result, and the data sets of the papers are
on the machine already. `papers.csv` is the corpus of the demo. `python tools/walks.py` writes this
page; this is the package at commit COMMIT.
"""
# The file that the data scientist has: the corpus of the demo, as a spreadsheet program saves it.
CSV = """
import csv
from labelspan.datasets import load_debtags
corpus = load_debtags()
with open("papers.csv", "w", newline="") as out:
    rows = csv.writer(out)
    rows.writerow(["id", "text", "labels"])
    for text, labels, name in zip(corpus.texts, corpus.labels, corpus.ids):
        rows.writerow([name, text, "; ".join(labels)])
"""
# What a browser asks first, then the server is stopped.
SERVE = (
    "labelspan serve --port 8613 & curl -s --retry 20 --retry-delay 2 --retry-connrefused"
    " -o page.html -w '%{http_code}, %{size_download} bytes\\n' http://127.0.0.1:8613/; kill $!"
)
CLONE = "git clone -q REPOSITORY labelspan"
WALKS = {
    "A data scientist with a CSV file": (
        "README",
        (
            CLONE,
            "cd labelspan && pip install . && labelspan demo",
            "python:README.md:0",
            'cd labelspan && pip install ".[app]"',
            "csv",
            "labelspan fit papers.csv",
            'labelspan search "edit audio files"',
            'labelspan tag "a small chess program for the terminal"',
            "labelspan audit",
            SERVE,
        ),
    ),
    "A researcher with the papers": (
        "From the papers to the code, Evidence",
        (
            CLONE,
            "cd labelspan && pip install .",
            *(f"python:docs/theory/papers-to-code.md:{number}" for number in range(4)),
            "labelspan data list",
            "labelspan reproduce wang2010 --table 3 --quick --out try",
            "cd labelspan && pip install '.[plot]'",
            "labelspan reproduce wang2010 --table 3 --quick --out try",
            "ls try",
        ),
    ),
    "An engineer who adds a method": (
        "Extend, Add your own factor",
        (
            CLONE,
            "cd labelspan && pip install -e '.[test]'",
            *(f"python:docs/extend/factor.md:{number}" for number in (0, 1, 2)),
            "file:test_rare_labels.py:docs/extend/factor.md:0,1,3",
            "python -m pytest -q test_rare_labels.py",
            "cd labelspan && python -m pytest -q tests/test_layers.py tests/test_structure.py",
        ),
    ),
}


def blocks(page: str) -> list[str]:
    """Return the Python examples of a page."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def run(command: list[str] | str, folder: Path, bin_folder: Path) -> str:
    """Run a command where the new environment comes first; return what it prints."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"COLUMNS": "100", "NO_COLOR": "1"}
    environment["PATH"] = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=folder,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    lines = [line.rstrip() for line in done.stdout.replace("\r", "\n").splitlines()]
    if isinstance(command, str) and "pip install" in command:
        at = [n for n, line in enumerate(lines) if line.startswith(("Successfully", "ERROR"))]
        lines = [lines[n] for n in at] + lines[at[-1] + 1 :] if at else lines
    if len(lines) > MOST:
        lines = [*lines[: MOST // 2], "[...]", *lines[-(MOST // 2) :]]
    shown = "\n".join(lines)
    for path, name in ((folder, "FOLDER"), (folder.parent, "PARENT"), (ROOT, "REPOSITORY")):
        shown = shown.replace(str(path), name)
    shown = re.sub(r" (after|in) [\d.]+ ?s\b", "", shown)
    return shown + (f"\n(exit status {done.returncode})" if done.returncode else "")


def walk(steps: tuple[str, ...], folder: Path, bin_folder: Path) -> str:
    """Return the transcript of one reader, and the commands that failed."""
    python, parts, failed, session = str(bin_folder / "python"), [], [], ""
    for step in steps:
        if step == "csv":
            run([python, "-c", CSV], folder, bin_folder)
            continue
        kind, *rest = step.split(":")
        if kind == "file":
            name, page, numbers = rest
            code = "\n\n".join(blocks(page)[int(number)] for number in numbers.split(","))
            (folder / name).write_text(code, encoding="utf-8")
            parts.append(f"The first, second and fourth example of the page go into `{name}`.")
            continue
        if kind == "python":
            code = blocks(rest[0])[int(rest[1])]
            # A reader's session goes on: what was defined before is there.
            before = (
                "import contextlib, io\n"
                f"with contextlib.redirect_stdout(io.StringIO()):\n exec({session!r})\n"
            )
            printed = run([python, "-c", before + code], folder, bin_folder)
            session += code
            typed = f"example {int(rest[1]) + 1} of {rest[0]}"
            parts.append(f"```python\n{code}```\n\n```text\n{printed or '(nothing)'}\n```")
        else:
            printed = run(step.replace("REPOSITORY", str(ROOT)), folder, bin_folder)
            typed = step
            parts.append(f"```text\n$ {step}\n{printed}".rstrip() + "\n```")
        if "(exit status" in printed:
            failed.append(f"`{typed}`")
    stopped = ", ".join(failed) or "nowhere"
    return f"Stopped at: {stopped}.\n\n" + "\n\n".join(parts)


def main() -> None:
    """Walk and write the page."""
    parts = []
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True)
    for reader, (pages, steps) in WALKS.items():
        with tempfile.TemporaryDirectory() as name:
            folder, env = Path(name) / "work", Path(name) / "env"
            folder.mkdir()
            subprocess.run([sys.executable, "-m", "venv", str(env)], check=True)
            text = walk(steps, folder, env / "bin")
        parts.append(f"\n## {reader}\n\nPages: {pages}. {text}\n")
        PAGE.write_text(HEAD.replace("COMMIT", commit.strip()) + "".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
