"""The reference is complete: public names, their docstrings, estimators, the command's help."""

import importlib
import importlib.metadata
import inspect
import re
import sys
import warnings
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from typer.testing import CliRunner

import labelspan
from labelspan.cli import app

DOCS = Path(__file__).parent.parent / "docs"
API = DOCS / "reference" / "api"
SOURCE = DOCS.parent / "src" / "labelspan"
INTERNAL = ("answers", "cli", "evaluation", "models", "papers", "tagger", "text")


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
MODULES = re.findall(r"^\| \[(labelspan[\w.]*)\]\(", (API / "index.md").read_text("utf-8"), re.M)


def get(full):
    module, _, name = full.rpartition(".")
    return getattr(importlib.import_module(module), name)


def exported(module):
    return getattr(importlib.import_module(module), "__all__", [])


def test_every_public_name_is_on_one_page():
    packages = {f"labelspan.{path.parent.name}" for path in SOURCE.glob("*/__init__.py")}
    assert packages - {f"labelspan.{name}" for name in INTERNAL} <= set(MODULES)
    named = [name for names in PAGES.values() for name in names]
    assert len(named) == len(set(named)), "a name is documented twice"
    assert [name for name in named if name.rpartition(".")[0] not in MODULES] == []
    # A class that two modules export has its page at one of them.
    things = [get(name) for name in named if is_code(get(name))]
    assert len(things) == len({id(thing) for thing in things}), "an object is documented twice"
    public = [f"{module}.{name}" for module in MODULES for name in exported(module)]
    assert set(named) <= set(public), "a page documents a private name"
    missing = [
        name
        for name in public
        if not (any(get(name) is one for one in things) if is_code(get(name)) else name in named)
    ]
    assert missing == []


def test_every_page_is_listed():
    listed = (API / "index.md").read_text(encoding="utf-8").rpartition("{toctree}")[2]
    assert {page.removesuffix(".md") for page in PAGES} - {"index"} <= set(listed.split())


# --- docstrings ---------------------------------------------------------------------------

PUBLIC = sorted(
    name
    for names in PAGES.values()
    for name in names
    # Errors have one sentence each, and are shown as a tree.
    if is_code(get(name)) and not (inspect.isclass(get(name)) and issubclass(get(name), Exception))
)
# Checks of numpydoc.validate that hold for every public function, class and method.
CHECKS = {
    *("GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10"),  # blank lines, tabs, sections
    *("SS01", "SS02", "SS03", "SS04", "SS05", "SS06"),  # a summary: one line, a verb, a full stop
    *("PR02", "PR03", "PR04", "PR05", "PR07", "PR08", "PR09", "PR10"),  # parameters
    *("RT03", "RT04", "RT05"),  # what is returned
    *("SA02", "SA03", "SA04"),  # See Also
}
# And for functions and classes, which also have an example and related names.
COMPLETE = CHECKS | {"PR01", "RT01", "SA01", "EX01"}


def methods(full):
    thing = get(full)
    for name, found in vars(thing).items() if inspect.isclass(thing) else ():
        plain = getattr(found, "__func__", found)
        if not name.startswith("_") and inspect.isfunction(plain) and plain.__doc__:
            yield f"{full}.{name}"


def faults(full, checks):
    validate = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed").validate
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [f"{code} {text}" for code, text in validate(full)["errors"] if code in checks]


@pytest.mark.parametrize("full", PUBLIC)
def test_docstrings_are_complete(full):
    thing = get(full)
    # The fields of a data class or named tuple are its attributes; a protocol has none.
    attributes = getattr(thing, "__dataclass_fields__", getattr(thing, "_fields", None))
    listed = attributes is not None or getattr(thing, "_is_protocol", False)
    found = faults(full, COMPLETE - {"PR01"} if listed else COMPLETE)
    found += [f"{name}: {one}" for name in methods(full) for one in faults(name, CHECKS)]
    assert found == []
    assert ">>>" in inspect.getdoc(thing)
    line = inspect.getmro(thing) if inspect.isclass(thing) else [thing]
    text = "\n".join(inspect.getdoc(one) or "" for one in line)
    for name in attributes or ():
        assert name.startswith("_") or re.search(rf"^(.*, )?{name}(,.*)? :", text, re.M), name


ESTIMATORS = [
    thing
    for thing in map(labelspan.__getattr__, labelspan.__all__)
    if inspect.isclass(thing) and issubclass(thing, BaseEstimator)
]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_estimators_have_special_cases_and_constructors_that_only_assign(kind):
    assert "Attributes\n---" in inspect.getdoc(kind)
    assert "Special cases" in inspect.getdoc(kind) or kind.__name__ == "LSI"
    first, *others = inspect.signature(kind).parameters.values()
    assert first.name == ("kernel" if kind.__name__ == "KernelFeatures" else "n_components")
    assert all(one.kind is one.KEYWORD_ONLY for one in others)
    marks = {one.name: object() for one in (first, *others)}
    estimator = kind(**marks)
    assert all(getattr(estimator, name) is mark for name, mark in marks.items())


def test_the_version_is_one():
    assert importlib.metadata.version("labelspan") == labelspan.__version__


# --- the command --------------------------------------------------------------------------

OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


@pytest.fixture(scope="module")
def command():
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        yield importlib.import_module("command")
    finally:
        sys.path.remove(str(DOCS / "_ext"))


def help_of(path):
    """The help as a person sees it, wide enough that no line is broken."""
    wide = {"COLUMNS": "400", "TERMINAL_WIDTH": "400", "NO_COLOR": "1"}
    result = CliRunner().invoke(app, [*path.split()[1:], "--help"], env=wide)
    assert result.exit_code == 0
    return result.stdout


def test_the_page_of_the_command_says_what_the_help_says(command):
    text = (DOCS / "reference" / "command.md").read_text(encoding="utf-8")
    assert text.count(command.MARK) == 1
    parts = re.split(r"^#{2,3} (labelspan.*)\n", command.page(), flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert len(found) > 12
    for path in ("labelspan", "labelspan data"):
        listed = re.findall(r"^│ (\w+)  ", help_of(path).partition("Commands")[2], re.MULTILINE)
        assert listed
        assert {f"{path} {name}" for name in listed} <= found.keys()
    for path, text in found.items():
        shown = help_of(path)
        rows = [line for line in text.splitlines() if line.startswith("| `")]
        named = {name for row in rows for name in OPTION.findall(row.partition(" | ")[0])}
        assert named <= set(OPTION.findall(shown)), f"{path}: options are only on the page"
        listed = [line for line in shown.splitlines() if re.match(r"│ [ *]*--?[a-z]", line)]
        columns = [re.split(r" {2,}(?![ -])", line[2:].lstrip(" *"))[0] for line in listed]
        in_help = {name for column in columns for name in OPTION.findall(column)}
        assert in_help - named <= {"--help"}, f"{path}: the page lacks {in_help - named}"
        for row in rows:
            said = re.split(r" \[(?:default|required|x|0)", row.partition(" | ")[2])[0]
            assert said.removesuffix(" |").replace(command.BAR, "|") in shown, f"{path}: {said}"
