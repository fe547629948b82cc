"""Records of measurements, selections from them, and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Record", "ReportTable", "Results"]

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """Records of measurements, to select from.

    Examples
    --------
    >>> from labelspan.evaluation.measurements import Results
    >>> found = Results([{"method": "LSI", "f1": 0.5}, {"method": "MLSI", "f1": 0.7}])
    >>> found.only(method="MLSI").values("f1")
    array([0.7])
    >>> found.distinct("method")
    ['LSI', 'MLSI']
    """

    records: Sequence[Record] = field(default_factory=list)

    def only(self, **wanted: Any) -> Results:
        """Select the records with these entries; a list or tuple allows any of its values."""

        def fits(record: Record) -> bool:
            for name, value in wanted.items():
                allowed = value if isinstance(value, (list, tuple)) else (value,)
                if record.get(name) not in allowed:
                    return False
            return True

        return Results([record for record in self.records if fits(record)])

    def distinct(self, name: str) -> list[Any]:
        """List the distinct values of an entry, in order of first appearance."""
        return list(dict.fromkeys(r[name] for r in self.records if name in r))

    def values(self, name: str) -> Any:
        """Return the numbers of an entry as an array; records without it are skipped."""
        return np.array([float(record[name]) for record in self.records if name in record])

    def mean(self, name: str) -> float:
        """Return the mean of an entry; nan if no record has it."""
        values = self.values(name)
        return float(values.mean()) if values.size else float("nan")

    def deviation(self, name: str) -> float:
        """Return the sample standard deviation of an entry; 0 for a single record."""
        values = self.values(name)
        return float(values.std(ddof=1)) if values.size > 1 else 0.0

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True)
class ReportTable:
    """A text table: title, column names, rows, and a note."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
