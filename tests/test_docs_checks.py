"""Form of the documentation: numpydoc's checks, links, spelling, commands, the size of README."""

import importlib
import inspect
import re
import shlex
import subprocess
import sys
import warnings

import click
import pytest
from _support.pages import DOCS, ROOT
from test_docs import PUBLIC, get
from typer.main import get_command

from labelspan.cli import app

# --- numpydoc -----------------------------------------------------------------------------

# Checks of numpydoc.validate that hold for every public function, class and method.
CHECKS = {
    *("GL03", "GL05", "GL06", "GL07", "GL09", "GL10"),  # blank lines, tabs, known sections in order
    *("SS01", "SS02", "SS03", "SS04", "SS05", "SS06"),  # a summary: one line, a verb, a full stop
    *("PR02", "PR03", "PR04", "PR05", "PR07", "PR08", "PR09", "PR10"),  # parameters
    *("RT03", "RT04", "RT05"),  # what is returned
    *("SA02", "SA03", "SA04"),  # See Also
}
# And for functions and classes, which also name their relatives.
RELATED = {"SA01", "EX01"}


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


def all_faults(full):
    found = [f"{full}: {fault}" for fault in faults(full, CHECKS | RELATED)]
    return found + [f"{name}: {fault}" for name in methods(full) for fault in faults(name, CHECKS)]


@pytest.mark.parametrize("full", PUBLIC)
def test_docstrings_pass_numpydoc(full):
    assert all_faults(full) == []


# --- links --------------------------------------------------------------------------------

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
TEXTS = sorted(
    path
    for path in [
        *ROOT.glob("*.md"),
        *DOCS.rglob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
        *(ROOT / "results").rglob("*.md"),
    ]
    if not {"generated", "gallery"} & set(path.parts)
)
# The gallery is made when the site is.
MADE = re.compile(r"gallery/\w+\.rst$")


def anchors(text):
    """Fragments of the headings, as the site and code hosts make them."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    heads = re.findall(r"^#{1,6} (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def broken_links(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link) or MADE.search(link):
            continue
        name, _, fragment = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            yield f"{link}: there is no such file"
        elif (
            fragment
            and target.suffix == ".md"
            and fragment not in anchors(target.read_text("utf-8"))
        ):
            yield f"{link}: there is no such heading"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    assert list(broken_links(path)) == []


def test_a_broken_link_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title, with `code`\n\n[a](#a-title-with-code) [b](#b) [c](c.md)\n")
    assert len(list(broken_links(page))) == 2


def test_every_page_is_reachable():
    """Pages that no toctree names would not be found by readers."""
    listed = set()
    for path in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}(.*?)```", path.read_text("utf-8"), re.DOTALL):
            for line in block.splitlines():
                name = re.sub(r".*<(.*)>", r"\1", line).strip()
                if name and not name.startswith(":"):
                    listed.add((path.parent / name).resolve())
    pages = {path.with_suffix("") for path in TEXTS if DOCS in path.parents}
    pages = {path for path in pages if "_static" not in path.parts}
    assert pages - {DOCS / "index"} - listed == set()


# --- spelling -----------------------------------------------------------------------------


def test_spelling():
    pytest.importorskip("codespell_lib", reason="codespell is not installed")
    words = DOCS / "words.txt"
    files = [
        str(path.relative_to(ROOT)) for path in [*TEXTS, *sorted((ROOT / "src").rglob("*.py"))]
    ]
    command = [sys.executable, "-m", "codespell_lib", "--ignore-words", str(words), *files]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


# --- commands -----------------------------------------------------------------------------


def commands():
    for path in TEXTS:
        for block in re.findall(r"```sh\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
            for line in block.splitlines():
                if line.startswith("labelspan "):
                    yield path.relative_to(ROOT).as_posix(), line


@pytest.mark.parametrize(("page", "line"), sorted(set(commands())))
def test_commands_are_understood(page, line):
    words = shlex.split(line, comments=True)[1:]
    command, context = get_command(app), None
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        command, context = command.commands[words.pop(0)], None
    if "--help" in words or isinstance(command, click.Group):
        return
    assert context is None
    command.make_context("labelspan", words)


def test_readme_is_one_screen_and_a_bit():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 90
    for command in (
        "pip install . && labelspan demo",
        'pip install -e ".[test]" && python -m pytest -q -n 2',
    ):
        assert command in text
    assert importlib.import_module("labelspan").__version__ in text
