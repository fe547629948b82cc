"""Run the experiments of papers and write the report."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

from .._files import write_whole
from .._install import install_command
from ..datasets import card, names
from ..datasets.registry import find
from ..errors import InvalidInput, InvalidParameter, MissingData
from ..evaluation.measurements import Results
from .paper import Paper, PaperPart, Scale
from .records import Done, RecordFile
from .report import Section, markdown_pages, page
from .runner import Job, JobProgress, plan, run_jobs, select
from .verdicts import Verdict, judge, load_claims

__all__ = ["PAPERS", "NeededData", "Report", "find_part", "load_paper", "needed_data", "reproduce"]

PAPERS = ("yu2005", "sun2009", "wang2010")
# In the package or in scikit-learn; digits are not one of labelspan.datasets.
_BUNDLED = ("debtags", "iris", "wine", "digits")


@dataclass(frozen=True)
class NeededData:
    """A data set that some parts need: whether it is available, and where it comes from."""

    name: str
    used_by: Sequence[str]
    available: bool
    source: str


@dataclass(frozen=True)
class Report:
    """The folder of a report, and the verdicts on the claims."""

    folder: Path
    verdicts: Sequence[Verdict]

    @property
    def failed(self) -> list[Verdict]:
        """Claims that must hold but do not."""
        return [v for v in self.verdicts if v.claim.sure and v.outcome != "holds"]


def load_paper(name: str) -> Paper:
    """Return a paper by its name."""
    if name not in PAPERS:
        raise InvalidParameter(f"paper must be one of {', '.join(PAPERS)}, but {name!r} was given.")
    paper: Paper = importlib.import_module(f".{name}", __package__).PAPER
    return paper


def find_part(paper: str, part: str) -> PaperPart:
    """Return a part by the name of its paper and its own name."""
    loaded = load_paper(paper)
    for one in loaded.parts:
        if one.name == part:
            return one
    names = ", ".join(one.name for one in loaded.parts)
    raise InvalidParameter(f"{paper} has no part {part!r}; choose one of {names}.")


def reproduce(
    papers: Sequence[str],
    out: Path,
    *,
    parts: Sequence[str] | None = None,
    scale: Scale | None = None,
    data_home: Path | None = None,
    processes: int = 1,
    progress: JobProgress | None = None,
) -> Report:
    """Run papers, or some parts of one, and write the report.

    Jobs whose data set is not available are skipped, see :func:`needed_data`.

    Parameters
    ----------
    papers : sequence of str
        Names from ``PAPERS``.
    out : Path
        The folder: ``results.jsonl`` grows as jobs end, and jobs in it do not run again;
        ``report.md``, a page per paper, ``report.html`` and the figures are written at the
        end. The text of ``verdict.md`` in the folder is put at the top of ``report.md``.
    parts : sequence of str or None, default=None
        Such as "table 3"; None runs all.
    scale : Scale or None, default=None
        None runs in full.
    data_home : Path or None, default=None
        Folder of the data sets; see :mod:`labelspan.datasets`.
    processes : int, default=1
        Number of parallel processes.
    progress : function or None, default=None
        Called with the number of completed jobs and the total number of jobs.

    Returns
    -------
    Report
    """
    _need_matplotlib()
    scale = Scale() if scale is None else scale
    chosen = _chosen(papers, parts)
    needed = needed_data(papers, parts=parts, scale=scale, data_home=data_home)
    here = {one.name for one in needed if one.available}
    data = {(paper.name, part.name): part.data for paper, part in chosen}
    jobs = [job for job in plan(chosen, scale) if data[job.paper, job.part](job.key) in here]
    if not jobs:
        missing = "; ".join(f"{one.name}: {one.source}" for one in needed)
        raise MissingData(
            f"No data set of {', '.join(parts or papers)} is available ({missing}). Without "
            "--figure and --table each paper has a part that needs no download."
        )
    ran = {(job.paper, job.part) for job in jobs}
    chosen = [(paper, part) for paper, part in chosen if (paper.name, part.name) in ran]
    file = RecordFile(out / "results.jsonl")
    run_jobs(jobs, file, find_part, data_home=data_home, processes=processes, progress=progress)
    return write_report(out, chosen, jobs, file.read(), scale)


def needed_data(
    papers: Sequence[str],
    *,
    parts: Sequence[str] | None = None,
    scale: Scale | None = None,
    data_home: Path | None = None,
) -> list[NeededData]:
    """List the data sets that papers, or some parts of them, need.

    Parameters
    ----------
    papers : sequence of str
        Names from ``PAPERS``.
    parts : sequence of str or None, default=None
        Such as "table 3"; None means all.
    scale : Scale or None, default=None
        None means a full run.
    data_home : Path or None, default=None
        Folder of the data sets; see :mod:`labelspan.datasets`.

    Returns
    -------
    list of NeededData
        In the order of first use.
    """
    used: dict[str, list[str]] = {}
    for paper, part in _chosen(papers, parts):
        for key in part.jobs(Scale() if scale is None else scale):
            places = used.setdefault(part.data(key), [])
            place = f"{paper.name} {part.name}"
            if place not in places:
                places.append(place)
    return [NeededData(name, places, *_found(name, data_home)) for name, places in used.items()]


def _found(name: str, data_home: Path | None) -> tuple[bool, str]:
    if name in _BUNDLED:
        return True, "labelspan" if name == "debtags" else "scikit-learn"
    if name not in names():
        return True, "of the part itself"
    about = card(name)
    found = find(about, data_home)
    if found is not None:
        return True, found[0].name
    command = "info" if about.public is None else "get"
    return False, f"labelspan data {command} {name}"


def _chosen(papers: Sequence[str], parts: Sequence[str] | None) -> list[tuple[Paper, PaperPart]]:
    chosen = [
        (load_paper(paper), part)
        for paper in papers
        for part in load_paper(paper).parts
        if parts is None or part.name in parts
    ]
    if not chosen:
        raise InvalidParameter(
            f"{', '.join(papers)} has no part {', '.join(parts or ())}; omit it to run all."
        )
    return chosen


def write_report(
    out: Path,
    chosen: Sequence[tuple[Paper, PaperPart]],
    jobs: Sequence[Job],
    done: dict[str, Done],
    scale: Scale,
) -> Report:
    """Write tables, figures and verdicts from records."""
    results = {
        (paper.name, part.name): select(jobs, done, paper.name, part.name) for paper, part in chosen
    }
    sections = []
    for paper, part in chosen:
        found = results[paper.name, part.name]
        own = [done[job.name] for job in jobs if (job.paper, job.part) == (paper.name, part.name)]
        sections.append(
            Section(
                paper,
                part,
                part.tables(found),
                _draw(part, found, out / f"{paper.name}-{part.name.replace(' ', '-')}.png"),
                len(own),
                sum(one.seconds for one in own),
                tuple(dict.fromkeys(line for one in own for line in one.warnings)),
            )
        )
    verdicts = [
        judge(claim, results[paper, claim.part])
        for paper in dict.fromkeys(paper.name for paper, _ in chosen)
        for claim in load_claims(paper)
        if (paper, claim.part) in results
    ]
    title = "Reproduction of three papers"
    about = _about(scale)
    verdict = out / "verdict.md"
    introduction = verdict.read_text(encoding="utf-8") if verdict.is_file() else ""
    texts = markdown_pages(title, about, sections, verdicts, introduction)
    texts["report.html"] = page(title, about, sections, verdicts)
    for name, text in texts.items():
        content = text.encode()

        def write(file: BinaryIO, content: bytes = content) -> None:
            file.write(content)

        write_whole(out / name, write)
    return Report(out, verdicts)


def _draw(part: PaperPart, results: Results, path: Path) -> Path | None:
    if part.draw is None or not len(results):
        return None
    figure: Any = part.draw(results)

    def png(file: BinaryIO) -> None:
        figure.savefig(
            file, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None}
        )

    def svg(file: BinaryIO) -> None:
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})

    write_whole(path, png)
    write_whole(path.with_suffix(".svg"), svg)
    import matplotlib.pyplot as plt  # noqa: PLC0415 - an optional dependency

    plt.close(figure)
    return path


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise InvalidInput(
            f"The figures of the report need matplotlib; {install_command('plot')}."
        ) from None
    matplotlib.use("Agg")


def _about(scale: Scale) -> list[str]:
    versions = [f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "scikit-learn")]
    size = "a quick run, which only checks that everything works" if scale.quick else "a full run"
    return [
        f"labelspan {metadata.version('labelspan')}, {', '.join(versions)}, "
        f"Python {platform.python_version()}, {platform.machine()}.",
        f"Written {datetime.now(UTC):%Y-%m-%d}, {size}.",
        "Every number comes from results.jsonl, one line per job with its seed.",
    ]
