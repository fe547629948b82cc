"""Words: messages name what exists, and pages, docstrings and messages are British."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from labelspan.cli import app

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "src" / "labelspan").rglob("*.py"))
PAGES = [
    *ROOT.glob("*.md"),
    *(path for path in (ROOT / "docs").rglob("*.md") if "generated" not in path.parts),
    *(ROOT / "results").glob("*.md"),
]
# Calls that show their text to somebody.
SHOWN = {"echo", "print", "warn", "prompt", "confirm", "fail", "Refused"}


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def messages(module):
    """Texts of exceptions and of what is printed."""
    for node in ast.walk(module):
        call = isinstance(node, ast.Call)
        name = getattr(node.func, "attr", getattr(node.func, "id", "")) if call else ""
        if isinstance(node, ast.Raise) or name in SHOWN:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield inner.value


# --- messages name what exists ------------------------------------------------------------


def options(command):
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for inner in getattr(command, "commands", {}).values():
        yield from options(inner)


@cache
def known():
    """Options of the command, and names of parameters and attributes in the package."""
    names = set()
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
    names.add("orient")  # of pandas, whose to_json a message names
    return {*options(get_command(app)), "--help", "--version", "--user"}, names | {
        "OMP_NUM_THREADS"
    }


def unknown(text):
    flags, names = known()
    found = {one for one in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text) if one not in flags}
    given = re.findall(r"(?<![\w.&?/-])([a-z_]+)=(?=[\w'\"\[({.-])", text)
    return found | {one for one in given if one not in names}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_messages_name_options_that_exist(path):
    assert {text: found for text in messages(tree(path)) if (found := unknown(text))} == {}


def test_an_option_that_does_not_exist_is_noticed():
    module = ast.parse("raise ValueError(f'{x}: use form=\"ridge\", nonsense=1 or --no-such')")
    assert [unknown(text) for text in messages(module) if "use" in text] == [
        {"nonsense", "--no-such"}
    ]


# --- spelling -----------------------------------------------------------------------------

AMERICAN = re.compile(
    r"(?<![\w.`'\"=/-])(?:\w*(?:analyz|color|behavior|favor|(?<!t)honor|neighbor|center|centimeter|fiber|"
    r"(?:un)?labeled\b|labeling\b|modeling|modeled|canceled|traveled|catalog\b|gray\b|defense|offense|"
    r"skeptic|fulfill\b)\w*|\w+(?:iz(?:e|es|ed|ing|er|ers|ation|ations)))\b(?![\w(=.`'\"_/-])",
    re.IGNORECASE,
)
# Also British, or the word that people search for.
FINE = {"size", "sizes", "sized", "sizing", "resize", "resized", "seize", "prize", "prizes"}
FINE |= {"oversized", "regularization", "tokenizer", "tokenizers"}


def american(text):
    return {word for word in AMERICAN.findall(text) if word.lower() not in FINE}


def prose(text):
    """A page without code, links and titles in italics."""
    text = re.sub(r"```.*?```|<!--.*?-->|\*\*", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`]*`|\]\([^)]*\)|https?://\S+|\*[^*]+\*", "", text)


def docstrings(module):
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = (ast.get_docstring(node) or "").partition("\nReferences\n")[0]
            text = re.sub(r"``.*?``|`[^`]*`|\{.*?\}", "", text, flags=re.DOTALL)
            for line in text.splitlines():
                if not re.match(r"\s*(>>>|\.\.\.|[\w, *]+ : )", line):
                    yield line


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_are_british(path):
    # Entries of earlier versions stay as they were.
    text = path.read_text(encoding="utf-8").partition("\n## 0.2.0")[0]
    assert american(prose(text)) == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_docstrings_are_british(path):
    assert {word for line in docstrings(tree(path)) for word in american(line)} == set()


def test_an_american_word_is_noticed():
    assert american("The normalized color of `neighbor` and center=1.") == {"normalized", "color"}
    assert american("Sizes of regularization, neighbours and analysed colours.") == set()
