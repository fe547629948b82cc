"""The code on the pages runs: every ``python`` block of a page, in order, in one namespace.

A block with prompts is a doctest, any other is run and speaks by its asserts. Above a block,
``<!-- needs: torch -->`` leaves it out where that is not installed, and ``<!-- not run: why -->``
always does.
"""

import doctest
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for part in ("howto/*", "extend/*", "theory/*", "tutorial")
    for path in DOCS.glob(f"{part}.md")
)
BLOCK = re.compile(
    r"(?:<!-- (?P<mark>needs|not run): (?P<what>[^>]+?) -->\n+)?```python\n(?P<code>.*?)```",
    re.DOTALL,
)


class Block(NamedTuple):
    line: int
    code: str
    needs: str | None
    skipped: bool


def blocks(text):
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("code"))
        needs = found["what"] if found["mark"] == "needs" else None
        yield Block(line, found["code"], needs, found["mark"] == "not run")


def run(path, text):
    """Run a page; gives what was left out because something is not installed."""
    # A module that can be imported, for what is pickled on the page.
    module = sys.modules["page_of_the_docs"] = ModuleType("page_of_the_docs")
    names, missing = vars(module), set()
    for block in blocks(text):
        if block.skipped:
            continue
        if block.needs is not None and find_spec(block.needs) is None:
            missing.add(block.needs)
        elif ">>>" in block.code:
            parser = doctest.DocTestParser()
            test = parser.get_doctest(block.code, names, str(path), str(path), block.line)
            told = []
            flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
            runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
            runner.run(test, out=told.append, clear_globs=False)
            names.update(test.globs)
            assert not runner.failures, "".join(told)
        else:
            # Lines are counted from the page's first, so that a traceback names the place.
            exec(compile("\n" * block.line + block.code, str(path), "exec"), names)
    return missing


@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = DOCS / page
    missing = run(path, path.read_text(encoding="utf-8"))
    if missing:
        pytest.skip(f"blocks that need {', '.join(sorted(missing))} were left out; the others ran")


def test_there_are_pages():
    assert {"extend/factor.md", "extend/solver.md", "extend/operator.md"} <= set(PAGES)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nassert 1 == 2\n```", AssertionError),
        ("```python\n>>> 1 + 1\n3\n```", AssertionError),
        ("```python\nx = 1\n```\nand\n```python\nassert x == 2\n```", AssertionError),
        ("<!-- needs: json -->\n```python\n1 / 0\n```", ZeroDivisionError),
    ],
)
def test_a_page_that_does_not_hold_is_seen(text, error):
    with pytest.raises(error):
        run("page.md", text)


def test_marks_leave_blocks_out():
    assert run("page.md", "<!-- not run: a cluster -->\n\n```python\n1 / 0\n```") == set()
    text = "<!-- needs: no_such_package -->\n```python\n1 / 0\n```\n```python\n>>> 1\n1\n```"
    assert run("page.md", text) == {"no_such_package"}
