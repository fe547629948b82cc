"""The reference is complete: names against pages, docstrings, and the command's help."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from labelspan.cli import app

DOCS = Path(__file__).parent.parent / "docs"
API = DOCS / "reference" / "api"
MODULES = [
    "labelspan",
    *(
        f"labelspan.{name}"
        for name in (
            "adapt",
            "checks",
            "corpus",
            "curation",
            "export",
            "datasets",
            "display",
            "errors",
            "estimators",
            "papers",
            "labels",
            "graph",
            "index",
            "metrics",
            "operators",
            "operators.cluster",
            "solvers",
            "web",
        )
    ),
]


def exported(module):
    return getattr(importlib.import_module(module), "__all__", [])


def is_code(thing):
    return inspect.isclass(thing) or inspect.isfunction(thing)


def documented(text):
    """Full names that a page documents: entries of autosummary, and data described in place."""
    found, module, inside = [], None, False
    for line in text.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.removeprefix(".. currentmodule:: ").strip()
        elif line.startswith(".. py:data:: "):
            found.append(f"{module}.{line.removeprefix('.. py:data:: ').strip()}")
        elif line.startswith(".. autosummary::"):
            inside = True
        elif inside and re.fullmatch(r"   \w+", line):
            found.append(f"{module}.{line.strip()}")
        elif line and not line.startswith("   "):
            inside = False
    return found


PAGES = {path.name: documented(path.read_text(encoding="utf-8")) for path in API.glob("*.md")}


def get(full):
    module, _, name = full.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_every_public_name_is_on_one_page():
    named = [name for names in PAGES.values() for name in names]
    assert len(named) == len(set(named)), "a name stands twice"
    # A class that two modules export has its page at one of them.
    things = [get(name) for name in named if is_code(get(name))]
    assert len(things) == len({id(thing) for thing in things}), "a thing stands twice"
    missing = []
    for module in MODULES:
        for name in exported(module):
            thing = getattr(importlib.import_module(module), name)
            there = any(thing is other for other in things)
            if not (there if is_code(thing) else f"{module}.{name}" in named):
                missing.append(f"{module}.{name}")
    assert missing == []


def test_no_page_names_what_is_gone():
    for page, names in PAGES.items():
        for full in names:
            module, _, name = full.rpartition(".")
            assert module in MODULES, f"{page}: {full}"
            assert name in exported(module), f"{page}: {full} is not public"


def test_every_page_is_listed():
    listed = (API / "index.md").read_text(encoding="utf-8").rpartition("{toctree}")[2]
    pages = {page.removesuffix(".md") for page in PAGES} - {"index"}
    assert pages <= set(listed.split())
    for module in MODULES:
        assert f"[{module}](" in (API / "index.md").read_text(encoding="utf-8")


PUBLIC = sorted(
    name
    for names in PAGES.values()
    for name in names
    # Errors are told apart by a sentence each, and drawn as a tree.
    if is_code(get(name)) and not (inspect.isclass(get(name)) and issubclass(get(name), Exception))
)


def named_tests(text):
    """Paths and functions of the tests that a page names."""
    return re.findall(r"`(tests/[\w/*]+\.py)(?:::(\w+))?`", text)


def missing_tests(text):
    root = DOCS.parent
    for path, function in named_tests(text):
        files = list(root.glob(path))
        if not files or (
            function and f"\ndef {function}(" not in files[0].read_text(encoding="utf-8")
        ):
            yield path, function


def test_tests_that_pages_name_exist():
    pages = {page: page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")}
    assert any(named_tests(text) for text in pages.values())
    assert {name: found for name, text in pages.items() if (found := [*missing_tests(text)])} == {}
    assert [*missing_tests("`tests/test_docs.py::test_that_is_not_there`")]


@pytest.mark.parametrize("full", PUBLIC)
def test_docstrings_have_their_sections(full):
    scraped = pytest.importorskip("numpydoc.docscrape", reason="numpydoc is not installed")
    thing = get(full)
    # A class may leave the fields that it inherits to its base.
    line = inspect.getmro(thing)[:-1] if inspect.isclass(thing) else [thing]
    said = [scraped.NumpyDocString(inspect.getdoc(one) or "") for one in line]
    assert ">>>" in "\n".join(said[0]["Examples"]), "no example"
    explained = {
        name
        for sections in said
        for parameter in (*sections["Parameters"], *sections["Attributes"])
        for name in parameter.name.replace("*", "").split(", ")
    }
    signature = inspect.signature(thing)
    open_ended = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    taken = {name for name, one in signature.parameters.items() if one.kind not in open_ended}
    taken.discard("self")  # of a function that classes take as a method
    assert taken <= explained, f"not explained: {taken - explained}"
    if inspect.isfunction(thing) and signature.return_annotation != "None":
        assert said[0]["Returns"] or said[0]["Yields"], "nothing is said of what it gives"


OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")

# --- the command --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def command():
    pytest.importorskip("sphinx", reason="sphinx is not installed")
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        yield importlib.import_module("command")
    finally:
        sys.path.remove(str(DOCS / "_ext"))


def help_of(path):
    """The help as a person sees it, wide enough that no line is broken."""
    words = path.split()[1:]
    result = CliRunner().invoke(
        app, [*words, "--help"], env={"COLUMNS": "400", "TERMINAL_WIDTH": "400", "NO_COLOR": "1"}
    )
    assert result.exit_code == 0
    return result.stdout


def sections(page):
    parts = re.split(r"^#{2,3} (labelspan.*)\n", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_page_has_every_command_of_the_help(command):
    found = sections(command.page())
    for path in ("labelspan", "labelspan data"):
        listed = re.findall(r"^│ (\w+)  ", help_of(path).partition("Commands")[2], re.MULTILINE)
        assert listed
        for name in listed:
            assert f"{path} {name}" in found


def test_the_page_says_what_the_help_says(command):
    found = sections(command.page())
    assert len(found) > 12
    for path, text in found.items():
        shown = help_of(path)
        options = set(OPTION.findall(shown))
        rows = [line for line in text.splitlines() if line.startswith("| `")]
        named = {name for row in rows for name in OPTION.findall(row.partition(" | ")[0])}
        assert named <= options, f"{path}: {named - options} are only on the page"
        listed = [line for line in shown.splitlines() if re.match(r"│ [ *]*--?[a-z]", line)]
        in_help = {name for line in listed for name in OPTION.findall(line[:50])}
        assert in_help - named <= {"--help"}, f"{path}: the page lacks {in_help - named}"
        for row in rows:
            said = re.split(r" \[(?:default|required|x|0)", row.partition(" | ")[2])[0]
            assert said.removesuffix(" |").replace(command.BAR, "|") in shown, f"{path}: {said}"


def test_the_page_of_the_command_is_filled(command):
    text = (DOCS / "reference" / "command.md").read_text(encoding="utf-8")
    assert text.count(command.MARK) == 1
