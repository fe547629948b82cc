"""Running jobs, judging claims, and the report."""

import numpy as np
import pytest

from labelspan.errors import InvalidInput, MissingData
from labelspan.evaluation.measurements import ReportTable, Results
from labelspan.papers import reproduction as machinery
from labelspan.papers.paper import Paper, PaperPart, Scale
from labelspan.papers.records import RecordFile, job_name
from labelspan.papers.report import Section, markdown_pages, page
from labelspan.papers.runner import plan, run_jobs, select
from labelspan.papers.verdicts import Claim, judge, load_claims


def _value(key, data_home):
    rng = np.random.default_rng(key["seed"])
    yield {"method": "one", "value": rng.random()}
    yield {"method": "two", "value": 1 + rng.random()}


PART = PaperPart(
    name="table 1",
    title="two methods",
    jobs=lambda scale: [{"data": d, "seed": s} for d in "ab" for s in range(scale.times(3))],
    run=_value,
    tables=lambda found: [
        ReportTable("means", ("method", "value"), [("one", f"{found.mean('value')}")])
    ],
    deviations=("It is <made> up.",),
)
PAPER = Paper("toy", "A toy", "Nobody. Nowhere.", (PART,))


def find(paper, part):
    assert (paper, part) == ("toy", "table 1")
    return PART


def claim(**options):
    given = {"paper": "toy", "id": "x", "where": "", "part": "table 1", "text": "t"}
    return Claim(**{**given, "measure": "value", **options})


def run_all(path, **options):
    jobs = plan([(PAPER, PART)], Scale(**options))
    file = RecordFile(path / "results.jsonl")
    run_jobs(jobs, file, find)
    return jobs, file


def test_jobs_run_once_and_keep_their_order(tmp_path):
    jobs, file = run_all(tmp_path)
    assert len(jobs) == 6
    first = file.path.read_bytes()
    run_jobs(jobs, file, lambda *_: pytest.fail("a job ran again"))
    assert file.path.read_bytes() == first
    found = select(jobs, file.read(), "toy", "table 1")
    assert [r["seed"] for r in found.records] == [0, 0, 1, 1, 2, 2] * 2
    assert len(run_all(tmp_path / "quick", quick=True)[0]) == 2
    assert len(run_all(tmp_path / "five", quick=True, repeats=5)[0]) == 10


def test_a_torn_line_is_run_again(tmp_path):
    jobs, file = run_all(tmp_path)
    whole = file.read()
    content = file.path.read_bytes()
    for cut in (1, 10, len(content) // 2):
        file.path.write_bytes(content[:-cut])
        assert len(file.read()) < 6
        run_jobs(jobs, file, find)
        again = file.read()
        assert again.keys() == whole.keys()
        assert all(again[name].records == whole[name].records for name in whole)


def cells(one, two):
    return Results(
        [{"method": "one", "cell": c, "value": v} for c, v in enumerate(one)]
        + [{"method": "two", "cell": c, "value": v} for c, v in enumerate(two)]
    )


@pytest.mark.parametrize(
    ("two", "outcome"),
    [((0, 0, 0), "holds"), ((0, 0, 9), "holds in part"), ((0, 9, 9), "does not hold")],
)
def test_above_and_largest(two, outcome):
    found = cells((1, 1, 1), two)
    above = claim(kind="above", left={"method": "one"}, right={"method": "two"}, by=["cell"])
    assert judge(above, found).outcome == outcome
    largest = claim(kind="largest", left={"method": "one"}, by=["cell"])
    verdict = judge(largest, found)
    assert verdict.outcome == outcome
    assert verdict.cells == 3
    assert "two 9.000 against 1.000" in verdict.measured or outcome == "holds"


def test_margin_near_and_limits():
    found = cells((1.0,), (0.5,))
    sides = {"left": {"method": "one"}, "right": {"method": "two"}}
    assert judge(claim(kind="above", margin=0.4, **sides), found).outcome == "holds"
    assert judge(claim(kind="above", margin=0.6, **sides), found).outcome == "does not hold"
    near = claim(kind="near", only={"method": "one"}, printed=1.1, tolerance=0.2)
    assert judge(near, found).outcome == "holds"
    assert judge(claim(kind="near", printed=1.1, tolerance=0.2), found).outcome == "does not hold"
    assert judge(claim(kind="at-most", limit=1.0), found).outcome == "holds"
    assert judge(claim(kind="at-most", limit=0.7), found).outcome == "holds in part"
    assert judge(claim(kind="at-most", only={"method": "three"}), found).outcome == "not run"
    with pytest.raises(InvalidInput, match="needs the printed number"):
        judge(claim(kind="near"), found)
    with pytest.raises(InvalidInput, match="no record has the entry 'K'"):
        judge(claim(kind="above", by=["K"], **sides), found)


def test_the_report_is_complete(tmp_path):
    jobs, file = run_all(tmp_path)
    found = select(jobs, file.read(), "toy", "table 1")
    picture = tmp_path / "p.png"
    picture.write_bytes(b"\x89PNG")
    section = Section(PAPER, PART, PART.tables(found), picture, 6, 1.0, ("mind | this",))
    above = claim(kind="above", left={"method": "two"}, right={"method": "one"}, text="a & b")
    size = claim(kind="near", id="data-rows", printed=1.0, tolerance=9.0)
    verdicts = [judge(above, found), judge(size, found)]
    found = markdown_pages("Title", ["about"], [section], verdicts, "In short: it holds.\n")
    assert list(found) == ["report.md", "toy.md"]
    assert "# Title\n\nIn short: it holds.\n\n**Summary**" in found["report.md"]
    # The size of a data set is not a result.
    assert "| [toy](toy.md) | 1 | 0 | 0 | 0 of 1 | 1 of 1 |" in found["report.md"]
    assert found["toy.md"].startswith("# toy")
    for part in (
        "## table 1",
        "holds",
        "![two methods](p.png)",
        "6 job(s)",
        "Warning: mind | this",
    ):
        assert part in found["toy.md"]
    html = page("Title", ["about"], [section], verdicts)
    assert "data:image/png;base64," in html
    assert "a &amp; b" in html
    assert "It is &lt;made&gt; up." in html
    assert "<script" not in html
    assert "http" not in html


@pytest.mark.parametrize("name", machinery.PAPERS)
def test_papers_are_complete(name):
    paper = machinery.load_paper(name)
    parts = {part.name for part in paper.parts}
    claims = load_claims(name)
    assert {c.part for c in claims} <= parts
    assert len({c.id for c in claims}) == len(claims)
    for part in paper.parts:
        for scale in (Scale(), Scale(quick=True)):
            jobs = [job_name(name, part.name, key) for key in part.jobs(scale)]
            assert len(set(jobs)) == len(jobs) > 0
            assert all("seed" in key for key in part.jobs(scale))
        assert part.tables(Results([])) is not None
        assert machinery.find_part(name, part.name) is part


def test_missing_data_is_listed_and_skipped(tmp_path):
    empty = tmp_path / "empty"
    needed = machinery.needed_data(machinery.PAPERS, scale=Scale(quick=True), data_home=empty)
    found = {one.name: one for one in needed}
    assert found["reuters21578"].source == "labelspan data info reuters21578"
    assert found["yeast"].source == "labelspan data get yeast"
    assert "yu2005 figure 1" in found["reuters21578"].used_by
    here = {paper.split()[0] for one in needed if one.available for paper in one.used_by}
    assert here == set(machinery.PAPERS), "a paper has no part that needs no download"
    with pytest.raises(MissingData, match="labelspan data info reuters21578"):
        machinery.reproduce(["yu2005"], tmp_path, parts=["figure 1"], data_home=empty)
    parts = ["figure 1 on digits", "figure 2"]
    report = machinery.reproduce(
        ["sun2009"], tmp_path, parts=parts, scale=Scale(quick=True), data_home=empty
    )
    text = (report.folder / "sun2009.md").read_text(encoding="utf-8")
    assert "figure 1 on digits" in text
    assert "## figure 2" not in text
    assert report.failed == []
