"""The parts of a reproduced paper: tables and figures, each a list of jobs.

A job is a small dictionary, the key; running it gives records, flat dictionaries of measured
values. A report is computed only from records, so an interrupted run can be continued, and a
table can be created again later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..evaluation.measurements import Record, ReportTable, Results

__all__ = ["Key", "Paper", "PaperPart", "Scale"]

Key = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Scale:
    """How much to run: a quick run of a few minutes, or the experiments of the papers.

    ``repeats`` is the number of repeats that the user requested; None uses that of each part.
    """

    quick: bool = False
    repeats: int | None = None

    def times(self, full: int, quick: int = 1) -> int:
        """Return the number of repeats: the requested one, or the default of the scale."""
        if self.repeats is not None:
            return self.repeats
        return quick if self.quick else full


@dataclass(frozen=True)
class PaperPart:
    """One table or figure of a paper.

    Parameters
    ----------
    name : str
        "table 3", "figure 1", or a word for a result that the paper gives only in the text.
    title : str
        What it shows, in a few words.
    jobs : function of a Scale
        Returns the keys of all jobs; each contains the inputs of the job, including its seed.
    run : function of a key and the data folder
        Runs one job; returns records without the entries of the key. Must depend only
        on its arguments, so that jobs can run in any order and in other processes.
    tables : function of Results
        Returns the tables of the report.
    draw : function of Results or None
        Returns a matplotlib figure.
    deviations : sequence of str
        Differences from the experiment in the paper, one sentence each.
    data : function of a key
        Returns the name of the data set that the job needs, as in :mod:`labelspan.datasets`.
    """

    name: str
    title: str
    jobs: Callable[[Scale], Sequence[Key]]
    run: Callable[[Key, Path | None], Iterable[Record]]
    tables: Callable[[Results], Sequence[ReportTable]]
    draw: Callable[[Results], Any] | None = None
    deviations: Sequence[str] = ()
    data: Callable[[Key], str] = lambda key: str(key["data"])


@dataclass(frozen=True)
class Paper:
    """A paper and its parts."""

    name: str
    title: str
    citation: str
    parts: Sequence[PaperPart]
