"""The code on the pages runs and prints what they show; numbers are those of the records."""

import pytest
from _support import pages, records


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


def test_there_are_pages():
    found = set(pages.pages())
    assert {"README.md", "docs/tutorial.md", "docs/extend/factor.md"} <= found


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
    assert records.wrong_numbers("1<!-- run: gone -->, 2<!-- page.md: Kernels; LSI; AUC -->")
