"""What a reproduced paper is: parts, each a table or a figure, each a list of jobs.

A job is a small dictionary, the key; running it gives records, flat dictionaries with one
measured value each. Everything a report shows is computed from records alone, so a run
that was interrupted goes on where it stopped, and a table can be drawn again years later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Key", "Paper", "Part", "Record", "Results", "Scale", "Table"]

Key = Mapping[str, str | int | float]
Record = Mapping[str, Any]


@dataclass(frozen=True)
class Scale:
    """How much to run: a few minutes for all papers, or what the papers did.

    ``repeats`` is what a person asked for; None leaves it to the part.
    """

    quick: bool = False
    repeats: int | None = None

    def times(self, full: int, quick: int = 1) -> int:
        """The number of repeats: as asked for, else by scale."""
        if self.repeats is not None:
            return self.repeats
        return quick if self.quick else full


@dataclass(frozen=True)
class Table:
    """Rows of text under headings, with a sentence on what they are."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Part:
    """One table or figure of a paper.

    Parameters
    ----------
    name : str
        "table 3", "figure 1", or a word for what the paper only says in text.
    title : str
        What it shows, in a few words.
    jobs : function of a Scale
        The keys of all jobs; each holds what the job needs, its seed included.
    run : function of a key and the data folder
        Runs one job; returns records without the key's own entries. Must depend on nothing
        but its arguments, so that jobs can run in any order and in other processes.
    tables : function of Results
        The tables of the report.
    draw : function of Results or None
        Gives a matplotlib figure.
    deviations : sequence of str
        How this differs from what the paper did, a sentence each.
    """

    name: str
    title: str
    jobs: Callable[[Scale], Sequence[Key]]
    run: Callable[[Key, Path | None], Iterable[Record]]
    tables: Callable[[Results], Sequence[Table]]
    draw: Callable[[Results], Any] | None = None
    deviations: Sequence[str] = ()


@dataclass(frozen=True)
class Paper:
    """A paper and its parts."""

    name: str
    title: str
    citation: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Results:
    """Records of one part, to select from.

    Examples
    --------
    >>> from labelspan.papers.paper import Results
    >>> found = Results([{"method": "LSI", "f1": 0.5}, {"method": "MLSI", "f1": 0.7}])
    >>> found.only(method="MLSI").values("f1")
    array([0.7])
    >>> found.distinct("method")
    ['LSI', 'MLSI']
    """

    records: Sequence[Record] = field(default_factory=list)

    def only(self, **wanted: Any) -> Results:
        """The records whose entries are these; a list or tuple means any of it."""

        def fits(record: Record) -> bool:
            for name, value in wanted.items():
                allowed = value if isinstance(value, (list, tuple)) else (value,)
                if record.get(name) not in allowed:
                    return False
            return True

        return Results([record for record in self.records if fits(record)])

    def distinct(self, name: str) -> list[Any]:
        """The values of an entry, each once, in the order in which they first come."""
        return list(dict.fromkeys(r[name] for r in self.records if name in r))

    def values(self, name: str) -> Any:
        """The numbers of an entry, where it is there."""
        return np.array([float(record[name]) for record in self.records if name in record])

    def mean(self, name: str) -> float:
        """Their mean; nan where there is none."""
        values = self.values(name)
        return float(values.mean()) if values.size else float("nan")

    def deviation(self, name: str) -> float:
        """Their standard deviation over the repeats."""
        values = self.values(name)
        return float(values.std(ddof=1)) if values.size > 1 else 0.0

    def __len__(self) -> int:
        return len(self.records)
