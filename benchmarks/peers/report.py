"""Tables of what was measured, in the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

from ..harness import print_table
from .growth import exponents

__all__ = [
    "Ratio",
    "best_peer",
    "case_lines",
    "growth_lines",
    "join",
    "markdown",
    "print_report",
    "slower",
]

# Never slower than this many times the best peer is the aim.
AIM = 1.2

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Ratio:
    """A peer's time over ours: of the medians, and the extremes."""

    medians: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, theirs: Sequence[float], ours: Sequence[float]) -> Ratio | None:
        """Round by round where both ran equally often, else over all pairs."""
        if not theirs or not ours:
            return None
        paired = len(theirs) == len(ours)
        pairs = zip(theirs, ours, strict=True) if paired else product(theirs, ours)
        ratios = [their / own for their, own in pairs]
        return cls(median(theirs) / median(ours), min(ratios), max(ratios))

    def __str__(self) -> str:
        if self.lowest == self.highest:
            return _plain(self.medians)
        return f"{_plain(self.medians)} ({_plain(self.lowest)}-{_plain(self.highest)})"


def _plain(value: float) -> str:
    """Three digits, without an exponent for large numbers."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def join(old: Sequence[Record], new: Sequence[Record]) -> list[Record]:
    """The records of two pieces; where both have a case, the new one stands."""
    by_name = {record["case"]: record for record in (*old, *new)}
    return list(by_name.values())


def ours_of(record: Record) -> Record | None:
    """The first of ours that ran."""
    return next((one for one in record["scores"] if one["ours"] and one["runs"]), None)


def best_peer(record: Record) -> Record | None:
    """The fastest peer that does the same work."""
    peers = [one for one in record["scores"] if one["runs"] and one["same"] and not one["ours"]]
    return min(peers, key=lambda one: median(one["runs"]), default=None)


def slower(records: Sequence[Record], aim: float = AIM) -> list[str]:
    """The cases where ours takes more than ``aim`` times the best peer's time."""
    found = []
    for record in records:
        own, peer = ours_of(record), best_peer(record)
        if own is not None and peer is not None:
            times = median(own["runs"]) / median(peer["runs"])
            if times > aim:
                found.append(f"{record['case']}: {times:.2f} times {peer['name']}")
    return found


def _time(score: Record) -> str:
    if score["runs"]:
        once = " (1 run)" if len(score["runs"]) == 1 else ""
        return f"{_plain(median(score['runs']))}{once}"
    if score["over"]:
        return f"more than {score['over']:g}"
    return str(score["refused"])


def _ratio(score: Record, own: Record | None) -> str:
    if own is None or score is own:
        return ""
    if score["over"] and not score["runs"]:
        return f"> {_plain(score['over'] / median(own['runs']))}"
    return str(Ratio.of(score["runs"], own["runs"]) or "")


def case_lines(record: Record) -> list[dict[str, str]]:
    """One line a contender."""
    own = ours_of(record)
    lines = []
    for score in record["scores"]:
        quality = ", ".join(_quality(name, value) for name, value in score["quality"].items())
        peak = "" if score["peak"] is None else f"{score['peak'] / 2**20:.0f}"
        lines.append(
            {
                "": score["name"],
                "seconds": _time(score),
                "ours is faster by": _ratio(score, own),
                "peak MiB": peak,
                "quality": quality,
                "remark": score["remark"],
            }
        )
    return lines


def _quality(name: str, value: float) -> str:
    if name == "angle":
        return f"angle {value:.1e}"
    return f"{name.removesuffix(', %')} {value:.4f}%"


def title(record: Record) -> str:
    """The case and its sizes."""
    nonzeros = "" if record["nnz"] is None else f", {record['nnz']:,} nonzeros"
    return (
        f"{record['case']}: {record['n']:,} x {record['d']:,}{nonzeros}, {record['dtype']}, "
        f"{record['k']} labels, K = {record['K']}, alpha = {record['alpha']:g}"
    )


def growth_lines(records: Sequence[Record]) -> list[dict[str, str]]:
    """One line a contender and growing thing, with the two exponents."""
    return [
        {
            "": line["name"],
            "data": line["kind"],
            "growing": line["axis"],
            "from, to": f"{line['sizes'][0]:,} to {line['sizes'][-1]:,}",
            "seconds": f"{line['seconds'][0]:.3g} to {line['seconds'][-1]:.3g}",
            "MiB": f"{line['peaks'][0] / 2**20:.0f} to {line['peaks'][-1] / 2**20:.0f}",
            "time ~ size^": _number(line["time exponent"]),
            "memory ~ size^": _number(line["memory exponent"]),
        }
        for line in exponents(records)
    ]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def print_report(cases: Sequence[Record], growth: Sequence[Record]) -> None:
    """Everything in the terminal; what missed the aim comes last."""
    for record in cases:
        print_table(title(record), case_lines(record))
    if growth:
        print_table("Growth", growth_lines(growth))
    missed = "; ".join(slower(cases)) or "none"
    print(f"\nslower than {AIM} times the best peer of the same work: {missed}")


def markdown(
    cases: Sequence[Record], growth: Sequence[Record], machine: Mapping[str, Any], date: str
) -> str:
    """The same as a Markdown file."""
    versions = ", ".join(f"{name} {value}" for name, value in machine["packages"].items() if value)
    parts = [
        "# labelspan compared with its peers",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}; Python "
        f"{machine['python']}, {versions}. {date}. Time to the fitted model and the mapped "
        "training rows; median of runs in turn, with the lowest and highest ratio of a round. "
        "Peak memory is above a process that has loaded the data.",
        f"Slower than {AIM} times the best peer of the same work: "
        f"{'; '.join(slower(cases)) or 'none'}.",
    ]
    for record in cases:
        parts += [f"## {title(record)}", _table(case_lines(record))]
    if growth:
        parts += ["## Growth", _table(growth_lines(growth))]
    return "\n\n".join(parts) + "\n"


def _table(lines: Sequence[Mapping[str, str]]) -> str:
    names = list(lines[0]) if lines else []
    rows = [names, ["---"] * len(names), *([line[name] for name in names] for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
