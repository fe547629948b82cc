"""Write results/walks.md: three readers follow the pages in a new environment.

    python tools/walks.py

Makes a virtual environment in a temporary folder, installs the package there and runs, in an empty
folder, what the pages say; needs a package index for pip, and the data sets of the papers in
$LABELSPAN_DATA or online. It takes some ten minutes.
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
HEAD = """# Three readers, as the pages say

What three readers type, from the pages that they would read, in a new virtual environment and an
empty folder; long outputs are shortened in the middle, and times are left out.
`python tools/walks.py` makes this page.
"""
# Files that the readers are supposed to have.
CORPUS = """
import json
from labelspan.datasets import load_debtags
corpus = load_debtags()
with open("papers.jsonl", "w") as out:
    for text, labels, name in zip(corpus.texts, corpus.labels, corpus.ids):
        print(json.dumps({"id": name, "text": text, "labels": list(labels)}), file=out)
"""
README = "README.md"
WALKS = {
    "A data scientist with ten minutes": (
        "README",
        ("pip install .", "labelspan demo", f"python:{README}:0"),
        ("labelspan fit papers.jsonl", 'labelspan search "edit audio files"'),
        ('labelspan tag "a small chess program for the terminal"',),
    ),
    "A researcher who writes a paper": (
        "Evidence, Versions and citing",
        ("labelspan data list", "labelspan reproduce wang2010 --table 3 --quick --out try"),
        ("pip install '.[plot]'", "labelspan reproduce wang2010 --table 3 --quick --out try"),
        ("ls try",),
    ),
    "An engineer with 50 million documents": (
        "Large data, Deploying",
        ("labelspan fit papers.jsonl --stream --out large.labelspan",),
        ("labelspan info large.labelspan",),
        ('labelspan search -i large.labelspan "edit audio files" -n 3',),
        ("python:docs/howto/deploying.md:0", "python:docs/howto/deploying.md:1"),
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
    if isinstance(command, str) and command.startswith("pip "):
        lines = [line for line in lines if line.startswith(("Successfully", "ERROR"))]
    if len(lines) > MOST:
        lines = [*lines[: MOST // 2], "[...]", *lines[-(MOST // 2) :]]
    shown = "\n".join(lines).replace(str(folder), "FOLDER").replace(str(ROOT), "CLONE")
    shown = re.sub(r" after \d+ s\.", ".", shown)
    return shown + (f"\n(exit status {done.returncode})" if done.returncode else "")


def walk(steps: list[str], folder: Path, bin_folder: Path) -> str:
    """Return the transcript of one reader."""
    python, told, written = str(bin_folder / "python"), [], ""
    for step in steps:
        if step.startswith("python:"):
            _, page, number = step.split(":")
            code = blocks(page)[int(number)]
            # A reader's session goes on: what was defined before is there.
            before = (
                "import contextlib, io\n"
                f"with contextlib.redirect_stdout(io.StringIO()):\n exec({written!r})\n"
            )
            printed = run([python, "-c", before + code], folder, bin_folder)
            written += code
            told.append(f"```python\n{code}```\n\n```text\n{printed}\n```")
            continue
        # Readers install from their clone.
        actual = re.sub(r"^pip install '?\.([^']*)'?$", rf"pip install '{ROOT}\1'", step)
        told.append(f"```text\n$ {step}\n{run(actual, folder, bin_folder)}\n```")
    return "\n\n".join(told)


def main() -> None:
    """Walk and write the page."""
    with tempfile.TemporaryDirectory() as name:
        folder, env = Path(name) / "work", Path(name) / "env"
        folder.mkdir()
        subprocess.run([sys.executable, "-m", "venv", str(env)], check=True)
        parts = []
        for reader, (pages, *groups) in WALKS.items():
            steps = [step for group in groups for step in group]
            if "labelspan fit papers.jsonl" in steps:
                at = steps.index("labelspan fit papers.jsonl")
                first = walk(steps[:at], folder, env / "bin")
                run([str(env / "bin" / "python"), "-c", CORPUS], folder, env / "bin")
                text = first + "\n\n" + walk(steps[at:], folder, env / "bin")
            else:
                text = walk(steps, folder, env / "bin")
            parts.append(f"\n## {reader}\n\nPages: {pages}.\n\n{text}\n")
            PAGE.write_text(HEAD + "".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
