"""Pages: their code runs and prints what they show; numbers, links, spelling and commands."""

import re
import shlex
import subprocess
import sys

import click
import pytest
from _support import pages, records
from _support.pages import DOCS, ROOT
from typer.main import get_command

import labelspan
from labelspan.cli import app


@pytest.mark.parametrize("page", pages.pages())
def test_the_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = pages.ROOT / page
    outcome = pages.run(path, path.read_text(encoding="utf-8"))
    wrong = pages.wrong_outputs(outcome)
    assert not wrong, "\n".join([*wrong, "python tools/refresh_outputs.py writes them in"])
    if outcome.missing:
        missing = ", ".join(sorted(outcome.missing))
        pytest.skip(f"blocks that need {missing} were left out; the others ran")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nassert 1 == 2\n```\n", AssertionError),
        ("```python\n>>> 1 + 1\n3\n```\n", AssertionError),
        ("```python\nx = 1\n```\nand\n```python\nassert x == 2\n```\n", AssertionError),
        ("<!-- needs: json -->\n```python\n1 / 0\n```\n", ZeroDivisionError),
    ],
)
def test_a_page_with_a_wrong_output_is_noticed(text, error):
    with pytest.raises(error):
        pages.run("page.md", text)


def test_marks_leave_blocks_out():
    left = pages.run("page.md", "<!-- not run: a cluster -->\n\n```python\n1 / 0\n```\n")
    assert (left.missing, left.printed) == (set(), [])
    text = "<!-- needs: no_such_package -->\n```python\n1 / 0\n```\n```python\n>>> 1\n1\n```\n"
    assert pages.run("page.md", text).missing == {"no_such_package"}


PAGE = "```python\nprint('found', {})\n```\n\n```text\n{}```\n"


@pytest.mark.parametrize(
    ("prints", "shown", "holds"),
    [
        ("0.512", "found 0.511\n", True),
        ("0.513", "found 0.511\n", False),
        ("12", "found 13\n", False),
        ("1.5", "found   1.5\n\n", True),
        ("'a', 1", "found a\n", False),
        ("'a\\nb\\nc'", "found a\n...\nc\n", True),
        ("'a\\nb\\nc'", "found a\n...\nd\n", False),
    ],
)
def test_outputs_are_compared_and_written(prints, shown, holds):
    text = PAGE.format(prints, shown)
    outcome = pages.run("page.md", text)
    assert (pages.wrong_outputs(outcome) == []) == holds
    if "..." not in shown:
        again = pages.refreshed(text, outcome)
        assert pages.wrong_outputs(pages.run("page.md", again)) == []


def test_an_output_that_is_not_shown_is_noticed():
    assert pages.wrong_outputs(pages.run("page.md", "```python\nprint(1)\n```\n\nSo it is.\n"))


@pytest.mark.parametrize("page", records.marked_pages() or ["README.md"])
def test_numbers_are_those_of_the_records(page):
    assert records.wrong_numbers((pages.ROOT / page).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", ["README.md", "docs/choosing.md", "docs/evidence.md"])
def test_figures_are_from_records_and_name_the_version(page):
    text = (pages.ROOT / page).read_text(encoding="utf-8")
    assert records.unmarked_numbers(text) == []
    assert records.missing_versions(text) == []


def test_a_figure_without_a_record_or_version_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    assert records.unmarked_numbers("with 0.3.0, `beta=0.1` and .5<!-- run: a -->") == []
    assert records.unmarked_numbers("so **.531**, 1.2 times and -.01.") == [".531", "1.2", "-.01"]
    (tmp_path / "run.json").write_text('{"version": "0.2.0", "a": 0.5}')
    (tmp_path / "page.md").write_text("Version 0.1.0\n## One\n## Two\nlabelspan 0.3.0\n")
    assert records.missing_versions(".5<!-- run: a -->, version 0.2.0") == []
    assert records.missing_versions("0.2.0\n## a\n.5<!-- run: a -->") == ["run: 0.2.0"]
    assert records.missing_versions(".5<!-- page.md: One; a; b -->") == ["page.md: 0.1.0"] * 1 + [
        "page.md: 0.3.0"
    ]
    assert records.missing_versions(".5<!-- page.md: Two; a; b -->") == ["page.md: 0.3.0"]


def test_a_number_that_differs_from_its_record_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    (tmp_path / "run.json").write_text('{"MLSI": {"ndcg": 0.6094}, "rows": [4899]}')
    table = "## Kernels\n\n| | AUC |\n| --- | --- |\n| `MLSI`, rbf | **.866** ± .010 |\n"
    (tmp_path / "page.md").write_text(table)
    right = (
        "**.609**<!-- run: MLSI ndcg -->, 4,899<!-- run: rows 0 -->, "
        ".87<!-- page.md: Kernels; MLSI, rbf; AUC -->"
    )
    assert records.wrong_numbers(right) == []
    wrong = right.replace(".609", ".610").replace(".87<", ".86<")
    assert len(records.wrong_numbers(wrong)) == 2
    assert records.corrected(wrong) == right
    rows = "# P\n\n| a | b | c |\n| --- | --- | --- |\n| [x](x.md) | y | 1 |\n| x | z | 4 |\n"
    (tmp_path / "rows.md").write_text(rows)
    assert records.wrong_numbers("2.5<!-- rows.md: P; x + y & x + z; c -->") == []
    assert records.wrong_numbers("1<!-- run: gone -->, 2<!-- page.md: Kernels; LSI; AUC -->")


def test_a_table_that_is_not_made_from_records_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    (tmp_path / "run.json").write_text('{"version": "0.2.0", "a": 0.5}')
    (tmp_path / "tables.toml").write_text(
        '[short]\nhead = ["set", "nDCG"]\nrows = [["one", "**{run: a}**"], ["two", ""]]\n'
    )
    text = "Before.\n\n<!-- table: short -->\nold\n<!-- end of table -->\nAfter .7\n"
    assert len(records.wrong_numbers(text)) == 1
    made = records.corrected(text)
    assert "| set | nDCG |\n| --- | --- |\n| one | **.500** |\n| two | |\n\nMeasured" in made
    assert "Measured with version 0.2.0.\n" in made
    assert records.wrong_numbers(made) == []
    assert records.wrong_numbers(made.replace(".500", ".501")) != []
    assert records.unmarked_numbers(made) == [".7"]


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
        elif fragment and fragment not in anchors(target.read_text("utf-8")):
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


# --- commands and tests that pages name ----------------------------------------------------


def commands():
    for path in TEXTS:
        for block in re.findall(r"```sh\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
            for line in block.splitlines():
                if line.startswith("labelspan "):
                    yield path.relative_to(ROOT).as_posix(), line


@pytest.mark.parametrize(("page", "line"), sorted(set(commands())))
def test_commands_are_understood(page, line):
    words = shlex.split(line, comments=True)[1:]
    command = get_command(app)
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        command = command.commands[words.pop(0)]
    if "--help" not in words and not isinstance(command, click.Group):
        command.make_context("labelspan", words)


def missing_tests(text):
    for path, function in re.findall(r"`(tests/[\w/*]+\.py)(?:::(\w+))?`", text):
        files = [file.read_text(encoding="utf-8") for file in ROOT.glob(path)]
        if not files or (function and f"\ndef {function}(" not in files[0]):
            yield path, function


def test_tests_that_pages_name_exist():
    texts = {path: path.read_text(encoding="utf-8") for path in TEXTS}
    assert {path: found for path, text in texts.items() if (found := [*missing_tests(text)])} == {}
    assert [*missing_tests("`tests/test_docs.py::test_that_is_not_there`")]


def test_readme_has_at_most_90_lines():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 90
    assert "pip install . && labelspan demo" in text
    assert 'pip install -e ".[test]" && python -m pytest -q -n 2' in text
    assert labelspan.__version__ in text
