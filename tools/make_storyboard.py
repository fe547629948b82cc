"""Make the storyboard: what a terminal shows in the first three minutes, as SVG pictures.

``python tools/make_storyboard.py`` runs the commands on the corpus that comes with the package and
writes ``docs/images/storyboard-N.svg`` and ``docs/storyboard.md``. No browser and no service is
needed: the pictures are rich's own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
WIDTH, MOST_LINES = 100, 26

# A title, what the reader should see, and the command.
SCENES = (
    ("0:00 Try it", "One command fits an index, evaluates it and searches it.", "demo"),
    (
        "0:50 Search by meaning",
        "The query shares few words with the answers; `--explain` gives the reasons.",
        "search -i demo.labelspan --explain -n 3 draw molecules",
    ),
    (
        "1:20 Tag a text",
        "Every tag has a probability and a threshold of its own.",
        'tag -i demo.labelspan "Command line tool that converts images between formats"',
    ),
    ("1:50 Read the axes", "Words and tags at both ends of a dimension.", "axes demo.labelspan"),
    ("2:20 Look inside", "What an index holds.", "info demo.labelspan"),
)


def main() -> None:
    page = [
        "# Storyboard",
        "",
        "Three minutes with labelspan, as a terminal shows them.",
        "Made by `python tools/make_storyboard.py`.",
        "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for number, (title, said, command) in enumerate(SCENES, start=1):
            name = f"storyboard-{number}.svg"
            shown = run(command, Path(folder))
            (DOCS / "images" / name).write_text(picture(command, shown), encoding="utf-8")
            page += [f"## {title}", "", said, "", f"![labelspan {command}](images/{name})", ""]
    page += [
        "## 2:40 In a browser",
        "",
        "`labelspan serve demo.labelspan --open` shows search, tags, axes and a map;",
        "a lasso says what the chosen items share.",
        "",
        "![A map of the corpus](images/explorer-map.png)",
        "",
        "Next: the [tutorial](tutorial.md).",
    ]
    (DOCS / "storyboard.md").write_text("\n".join(page) + "\n", encoding="utf-8")


def run(command: str, folder: Path) -> str:
    """What a command prints to a terminal of our width, with its colours."""
    line = f'"{sys.executable}" -c "from labelspan.cli import main; main()" {command}'
    size = {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color", "LINES": "40"}
    done = subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env=os.environ | size,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.rstrip().splitlines()
    return "\n".join([*lines[:MOST_LINES], *(["..."] if len(lines) > MOST_LINES else [])])


def picture(command: str, shown: str) -> str:
    """A terminal with a command and its output, as SVG, with the fonts of the reader's machine."""
    from rich.console import Console  # noqa: PLC0415 - heavy
    from rich.text import Text  # noqa: PLC0415

    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(Text(f"$ labelspan {command}", style="bold"))
    console.print(Text.from_ansi(shown))
    svg = console.export_svg(title="labelspan", unique_id="storyboard")
    # rich names fonts of another host; pages fetch nothing.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    main()
