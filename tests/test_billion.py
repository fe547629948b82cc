"""docs/billion.md: every figure follows from the unit costs that the page states."""

import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import billion  # noqa: E402
from benchmarks.billion import Costs, Setting  # noqa: E402

COSTS = Costs(
    xv=1.0, xtu=2.0, orth=0.5, eigen=1.0, send=1.0, back=1.0, task=0.3, search=0.05, held=8.05
)


def test_the_page_follows_from_its_costs():
    text = billion.PAGE.read_text(encoding="utf-8")
    found = billion.blocks_of(text)
    assert found.keys() == billion.TABLES.keys()
    assert found == billion.worked(Costs.of_page(text))
    assert len(text.splitlines()) <= 220


def test_a_new_run_is_written_to_the_page(tmp_path, monkeypatch):
    page = tmp_path / "billion.md"
    page.write_text(billion.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(billion, "PAGE", page)
    billion.rewrite(replace(COSTS, xv=1.23456))
    text = page.read_text(encoding="utf-8")
    assert "| `X V` | 1.23 ns per nonzero and column |" in text
    assert billion.blocks_of(text) == billion.worked(Costs.of_page(text))
    assert "pass\n" in billion.worked_page()
    assert [path.name for path in tmp_path.iterdir()] == ["billion.md"]


@pytest.mark.parametrize("K", billion.COMPONENTS)
def test_limits_of_the_formulas(K):
    """Twice the documents, twice the products; twice the workers, half; and the sums of parts."""
    at = Setting()
    one = billion.products(COSTS, at, K)
    assert one == pytest.approx(7.5e10 * at.width(K) * 3e-9 / 800)
    assert billion.products(COSTS, replace(at, n=2e9), K) == pytest.approx(2 * one)
    assert billion.products(COSTS, replace(at, workers=200), K) == pytest.approx(one / 2)
    assert billion.today(COSTS, at, K) == pytest.approx(4e9 * at.width(K) * (2e-9 + 1.6e-9))
    free = Costs(**{field.name: 0.0 for field in fields(Costs)})
    # Where computing is free, the network is left.
    assert billion.one_pass(free, at, K) == pytest.approx(billion.travel(free, at, K))
    assert billion.hops(at) == (7, 4)
    assert billion.hops(replace(at, workers=1)) == (0, 0)


def test_units_are_readable():
    assert [billion.size(value) for value in (4.4e11, 8e12, 2500)] == ["440 GB", "8 TB", "2.5 kB"]
    assert [billion.span(value) for value in (0.02, 90, 7200)] == ["20 ms", "1.5 min", "2 h"]
    assert [billion.number(value) for value in (900, 28.63e6, 2e10)] == [
        "900",
        "28.6 million",
        "20 billion",
    ]
