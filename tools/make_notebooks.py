"""Make notebooks of the scripts in docs/notebooks, which the tests run.

``python tools/make_notebooks.py`` writes ``NAME.ipynb`` next to every ``NAME.py``. In a script,
``# %% [markdown]`` begins a cell of text, whose lines are comments, and ``# %%`` a cell of code:
the form that Jupytext, VS Code and others read. Only the standard library is needed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def cells(text: str) -> list[tuple[str, str]]:
    """Pairs of the kind of a cell, markdown or code, and its source."""
    found = []
    for part in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        mark, _, source = part.partition("\n")
        if mark.strip() == "[markdown]":
            found.append(("markdown", re.sub(r"^# ?", "", source.strip(), flags=re.MULTILINE)))
        else:
            found.append(("code", source.strip()))
    return found


def notebook(text: str) -> dict[str, Any]:
    """A notebook of format 4.5, without outputs."""
    made = []
    for number, (kind, source) in enumerate(cells(text)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell["source"] = source.splitlines(keepends=True)
        if kind == "code":
            cell.update(execution_count=None, outputs=[])
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def main() -> None:
    for path in sorted(FOLDER.glob("*.py")):
        made = json.dumps(notebook(path.read_text(encoding="utf-8")), indent=1, ensure_ascii=False)
        path.with_suffix(".ipynb").write_text(made + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
