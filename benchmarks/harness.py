"""Times and peak memory of callables that do the same work, and tables of their ratios.

The callables run in turn (one round of all, then the next round), so that whatever else
the machine does disturbs all of them. A time means little on another machine: it is
reported as a ratio to a peer of the same run, next to the absolute median.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import Any

from .machine import describe_machine, load

__all__ = ["Report", "Row", "make_parser", "measure", "print_table", "summarise"]

RESULTS = Path(__file__).parent / "results"


@dataclass
class Row:
    """One line of a table.

    ``runs`` holds seconds, ``peak`` bytes above the start, ``value`` what the warm-up
    returned (it is not written), ``notes`` further columns by name. Rows of one ``group``
    were measured together, and ratios are taken inside it.
    """

    name: str
    runs: tuple[float, ...] = ()
    peak: int | None = None
    value: Any = field(default=None, repr=False)
    notes: dict[str, Any] = field(default_factory=dict)
    group: str | None = None

    @property
    def median(self) -> float | None:
        """The median of the runs."""
        return median(self.runs) if self.runs else None

    @property
    def fastest(self) -> float | None:
        """The shortest of the runs."""
        return min(self.runs, default=None)


def measure(
    cases: Mapping[str, Callable[[], Any]],
    repeats: int,
    *,
    memory: bool = True,
    group: str | None = None,
) -> list[Row]:
    """Run named callables in turn and time them; peak memory comes from a run of its own.

    Each gets one untimed warm-up, whose result is kept in ``value``. Memory is what
    ``tracemalloc`` sees: Python objects and numpy arrays, not the workspaces that BLAS
    and LAPACK allocate for themselves.
    """
    values = {name: run() for name, run in cases.items()}
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, run in cases.items():
            gc.collect()
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    peaks = {name: _peak(run) if memory else None for name, run in cases.items()}
    return [
        Row(name, tuple(seconds[name]), peaks[name], values[name], group=group) for name in cases
    ]


def _peak(run: Callable[[], Any]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        start = tracemalloc.get_traced_memory()[0]
        run()
        return tracemalloc.get_traced_memory()[1] - start
    finally:
        tracemalloc.stop()


@dataclass(frozen=True)
class Ratio:
    """How many times faster than the peer: by medians, and the extremes over the rounds."""

    medians: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, row: Row, peer: Row) -> Ratio | None:
        """The ratio of two rows of one ``measure`` call; None where one was not timed."""
        if not row.runs or not peer.runs:
            return None
        rounds = [theirs / own for theirs, own in zip(peer.runs, row.runs, strict=True)]
        return cls(median(peer.runs) / median(row.runs), min(rounds), max(rounds))

    def __str__(self) -> str:
        return f"{self.medians:.3g} ({self.lowest:.3g}-{self.highest:.3g})"


class Report:
    """The tables of one script: printed as they come, written at the end."""

    def __init__(self, name: str, args: argparse.Namespace) -> None:
        self.name = name
        # Where the data lies says nothing about the result, and is the reader's own affair.
        self.settings = {key: value for key, value in vars(args).items() if key != "data"}
        self.machine = describe_machine()
        self.tables: list[dict[str, Any]] = []
        print(f"{name}: {self.machine['cpu']}, {self.machine['cores']} cores, {self.settings}")

    def add(self, title: str, rows: Sequence[Row], peer: str | None = None) -> None:
        """Print rows as a table and keep them; ``peer`` names the row of the ratios."""
        peers = {row.group: row for row in rows if row.name == peer}
        records, lines = [], []
        for row in rows:
            ratio = Ratio.of(row, peers[row.group]) if row.group in peers else None
            memory = None if row.peak is None else f"{row.peak / 2**20:.1f}"
            line: dict[str, Any] = {"": row.name, "of": row.group, "median s": row.median}
            line |= {f"times faster than {peer}": ratio, "peak MiB": memory}
            lines.append(line | row.notes)
            record: dict[str, Any] = {"name": row.name, "group": row.group, "median": row.median}
            record |= {"min": row.fastest, "runs": row.runs, "peak_bytes": row.peak}
            times_faster = None if ratio is None else vars(ratio)
            records.append(record | {"times_faster": times_faster, "notes": row.notes})
        self.tables.append({"title": title, "peer": peer, "rows": records})
        print_table(title, lines)

    def write(self) -> Path:
        """Write everything as JSON into ``benchmarks/results`` and say where."""
        now = datetime.now(UTC)
        content = {
            "benchmark": self.name,
            "date": now.isoformat(timespec="seconds"),
            "machine": self.machine | {"load_at_end": load()},
            "settings": self.settings,
            "tables": self.tables,
        }
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name}-{now:%Y%m%d-%H%M%S}.json"
        path.write_text(json.dumps(content, indent=1, default=float) + "\n")
        print(f"\nwritten: benchmarks/results/{path.name}")
        return path


def print_table(title: str, lines: Sequence[Mapping[str, Any]]) -> None:
    """Print lines with aligned columns, leaving out columns that hold nothing."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    names = [name for name in names if any(line.get(name) is not None for line in lines)]
    cells = [names, *([_cell(line.get(name)) for name in names] for line in lines)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(names))]
    print(f"\n{title}")
    for row in cells:
        first, *rest = (
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *rest]).rstrip())


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 0.1 else f"{value:.4f}"
    return str(value)


def summarise(values: Sequence[float]) -> str | float:
    """A mean over splits, with the half-range where there is more than one."""
    if len(values) == 1:
        return float(values[0])
    return f"{mean(values):.3f} ±{(max(values) - min(values)) / 2:.3f}"


def make_parser(description: str | None, *, repeats: int) -> argparse.ArgumentParser:
    """The options that every script has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", help="folder of the data sets (default: $LABELSPAN_DATA)")
    parser.add_argument("--repeats", type=int, default=repeats, help="timed runs of each case")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the script out")
    return parser
