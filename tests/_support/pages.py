"""Pages of documentation: run their code, compare what it prints, and write it in again.

Every ``python`` block of a page runs, in order, in one namespace. A block with prompts is a
doctest. After any other block, a ``text`` block is what the code prints. Above a block,
``<!-- needs: torch -->`` leaves it out where that is not installed, and ``<!-- not run: why -->``
always does.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_PARTS = ("*", "howto/*", "extend/*", "theory/*")

_BLOCK = re.compile(
    r"(?:<!-- (?P<mark>needs|not run): (?P<what>[^>]+?) -->\n+)?"
    r"(?P<fence>`{3,})python\n(?P<code>.*?)(?P=fence)\n"
    r"(?:\s*```text\n(?P<output>.*?)```)?",
    re.DOTALL,
)
_NUMBER = re.compile(r"(-?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)")


@dataclass(frozen=True)
class Block:
    """A block of code, and where the text is that it should print."""

    line: int
    code: str
    needs: str | None
    skipped: bool
    output: str | None
    span: tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    """What a page printed: pairs of a block and its text; and packages that were missing."""

    printed: list[tuple[Block, str]]
    missing: set[str]


def pages() -> list[str]:
    """Names of the pages whose code runs, from the root of the repository."""
    found = {path for part in _PARTS for path in DOCS.glob(f"{part}.md")}
    names = {path.relative_to(ROOT).as_posix() for path in found if "```python" in path.read_text()}
    return sorted({"README.md", *names})


def blocks(text: str) -> list[Block]:
    """Blocks of code in the order of the page."""
    found = []
    for match in _BLOCK.finditer(text):
        needs = match["what"] if match["mark"] == "needs" else None
        found.append(
            Block(
                line=text.count("\n", 0, match.start("code")),
                code=match["code"],
                needs=needs,
                skipped=match["mark"] == "not run",
                output=match["output"],
                span=match.span("output"),
            )
        )
    return found


def run(path: str | Path, text: str) -> Outcome:
    """Run a page; raise what its code raises, and AssertionError for a wrong doctest."""
    # A module that can be imported, for what is pickled on the page.
    module = sys.modules["page_of_the_docs"] = ModuleType("page_of_the_docs")
    names = vars(module)
    outcome = Outcome([], set())
    for block in blocks(text):
        if block.skipped:
            continue
        if block.needs is not None and find_spec(block.needs) is None:
            outcome.missing.add(block.needs)
        elif ">>>" in block.code:
            parser = doctest.DocTestParser()
            test = parser.get_doctest(block.code, names, str(path), str(path), block.line)
            told: list[str] = []
            flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
            runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
            runner.run(test, out=told.append, clear_globs=False)
            names.update(test.globs)
            assert not runner.failures, "".join(told)
        else:
            heard = io.StringIO()
            # Lines are counted from the page's first, so that a traceback names the place.
            code = compile("\n" * block.line + block.code, str(path), "exec")
            with contextlib.redirect_stdout(heard):
                exec(code, names)
            outcome.printed.append((block, heard.getvalue()))
    return outcome


def wrong_outputs(outcome: Outcome) -> list[str]:
    """Sentences about blocks that print something other than the page shows."""
    wrong = []
    for block, printed in outcome.printed:
        if block.output is None:
            if printed.strip():
                wrong.append(f"line {block.line}: prints what the page does not show:\n{printed}")
        elif not same(block.output, printed):
            wrong.append(f"line {block.line}: the page shows\n{block.output}and it is\n{printed}")
    return wrong


def same(shown: str, printed: str) -> bool:
    """Compare two outputs: spaces do not count, and fractions may differ by one in the last digit.

    Other machines and versions round differently; whole numbers and words have to agree. A line
    ``...`` on the page stands for any number of lines.
    """
    here, there = (
        [" ".join(line.split()) for line in text.splitlines()] for text in (shown, printed)
    )
    here, there = ([line for line in lines if line] for lines in (here, there))
    if "..." in here:
        cut = here.index("...")
        tail = here[cut + 1 :]
        if len(there) < cut + len(tail):
            return False
        there = [*there[:cut], *(there[len(there) - len(tail) :] if tail else [])]
        here = [*here[:cut], *tail]
    return len(here) == len(there) and all(map(_same_line, here, there))


def _same_line(shown: str, printed: str) -> bool:
    here, there = _NUMBER.split(shown), _NUMBER.split(printed)
    if len(here) != len(there):
        return False
    for place, (one, two) in enumerate(zip(here, there, strict=True)):
        if place % 2 == 0 or "." not in one:
            if one != two:
                return False
        else:
            digits = len(re.split("[eE]", one)[0].partition(".")[2])
            scale = 10.0 ** float([*re.split("[eE]", one), "0"][1])
            gap = abs(float(one.replace(",", "")) - float(two.replace(",", "")))
            if gap > 1.01 * scale * 10.0**-digits:
                return False
    return True


def refreshed(text: str, outcome: Outcome) -> str:
    """Write what was printed into the page; texts with ``...`` are left as they are."""
    for block, printed in sorted(outcome.printed, key=lambda pair: -pair[0].span[0]):
        if block.output is None or same(block.output, printed) or "\n...\n" in block.output:
            continue
        start, stop = block.span
        lines = "\n".join(line.rstrip() for line in printed.splitlines())
        text = f"{text[:start]}{lines}\n{text[stop:]}"
    return text
