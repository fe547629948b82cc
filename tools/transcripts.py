"""Write results/transcripts.md: each file of the corpora, from ``labelspan fit`` to a search.

    python tools/transcripts.py FOLDER [NAME ...]

FOLDER holds the files; with names, only the transcripts of these files are made again.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "results" / "transcripts.md"

# Options of fit, and what is searched for.
FILES = {
    "cacm.jsonl.gz": ("", "garbage collection in lisp"),
    "netflix_titles.csv.gz": ("", "chess prodigy"),
    "stackoverflow.tsv.gz": ("", "convert string to date"),
    "makupalat-train.tsv.gz": ("", "kansanrunouden arkisto"),
    "makupalat-test.tsv.gz": ("", "kirjastot"),
    "kirjastonhoitaja.tar.gz": ("", "runo äidille"),
}
HEAD = """# From a file to a search

Files of tagged texts as people have them, read as they are: what `labelspan fit` prints, and the
first results of a search. `python tools/transcripts.py FOLDER` makes this page.
"""


def run(line: str, folder: Path) -> str:
    """Run a command in a folder and return the line with all that it printed."""
    words = [sys.executable, "-c", "from labelspan.cli import main; main()", *shlex.split(line)[1:]]
    done = subprocess.run(
        words,
        cwd=folder,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
    )
    shown = "\n".join(part.rstrip() for part in done.stdout.splitlines())
    if done.returncode:
        raise SystemExit(f"{line} failed:\n{shown}")
    # Time depends on the machine.
    shown = re.sub(r" after \d+ s\.", ".", shown)
    return f"$ {line}\n{shown}\n"


def _kept() -> dict[str, str]:
    """Read the transcripts that the page has."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return dict(re.findall(r"\n## (\S+)\n\n```text\n(.*?)```\n", page, re.DOTALL))


def main() -> None:
    """Make the transcripts and write the page."""
    source, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or list(FILES)
    made = _kept()
    for name in names:
        options, query = FILES[name]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).symlink_to(source / name)
            fit = f"labelspan fit {name} {options}".strip()
            made[name] = run(fit, Path(folder)) + run(
                f"labelspan search {shlex.quote(query)} -n 3", Path(folder)
            )
        parts = [f"\n## {one}\n\n```text\n{made[one]}```\n" for one in FILES if one in made]
        PAGE.write_text(HEAD + "".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
