"""The claims of papers, and whether the records support them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Literal

import numpy as np

from ..errors import InvalidInput
from ..evaluation.measurements import Results

__all__ = ["Claim", "Verdict", "judge", "load_claims"]

# Fraction of the standard deviation below which a difference of means counts as a near tie.
_TIE = 0.25

Outcome = Literal["holds", "holds in part", "does not hold", "not run"]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, in our words, in a form that records can answer.

    ``kind`` says how: ``above`` (left above right by ``margin`` in each cell of ``by``),
    ``largest`` (left above all other values of the entry ``among``), ``near`` (the mean
    within ``tolerance`` of ``printed``, one number or one for each data set), ``at-most`` (every
    value at most ``limit``). A ``sure`` claim must hold in every run, also in a quick one.
    """

    paper: str
    id: str
    where: str
    part: str
    text: str
    kind: Literal["above", "largest", "near", "at-most"]
    measure: str
    only: Mapping[str, Any] = field(default_factory=dict)
    left: Mapping[str, Any] = field(default_factory=dict)
    right: Mapping[str, Any] = field(default_factory=dict)
    by: Sequence[str] = ()
    among: str = "method"
    margin: float = 0.0
    printed: float | Mapping[str, float] | None = None
    tolerance: float = 0.0
    limit: float = 0.0
    sure: bool = False

    @property
    def about_data(self) -> bool:
        """Whether it states the size of a data set and not a result."""
        return self.id.startswith("data-")

    @property
    def criterion(self) -> str:
        """When it holds in a case."""
        if self.kind == "near":
            return f"within {self.tolerance:g}" if self.tolerance else "equal"
        if self.kind == "at-most":
            return f"at most {self.limit:g}"
        return f"more by {self.margin:g}" if self.margin else "more"


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim: the number of cells in which it holds, and the measured values.

    ``ties`` counts the cells whose two sides differ by less than a quarter of the standard
    deviation over the runs: their order is not meaningful.
    """

    claim: Claim
    outcome: Outcome
    agreeing: int
    cells: int
    measured: str
    ties: int = 0


def load_claims(paper: str) -> list[Claim]:
    """Read the claims of a paper.

    A claim with ``each_reading`` is judged for each of the file's ``readings`` of what the paper
    leaves open.
    """
    text = (resources.files(__package__) / "claims" / f"{paper}.toml").read_text("utf-8")
    told = tomllib.loads(text)
    claims = []
    for entry in told["claim"]:
        if not entry.pop("each_reading", False):
            claims.append(Claim(paper=paper, **entry))
            continue
        for reading in told["readings"]:
            name, only = reading["name"], {**entry.get("only", {}), **reading["only"]}
            own = {
                "id": f"{entry['id']}: {name}",
                "text": f"{entry['text']} {name[0].upper()}{name[1:]}.",
            }
            claims.append(Claim(paper=paper, **{**entry, **own, "only": only}))
    return claims


def judge(claim: Claim, results: Results) -> Verdict:
    """Compare a claim with the records of its part."""
    here = results.only(**claim.only)
    if not len(here):
        return Verdict(claim, "not run", 0, 0, "")
    cells, measured = _KINDS[claim.kind](claim, here)
    if not cells:
        return Verdict(claim, "not run", 0, 0, "")
    agreeing = sum(cells)
    outcome: Outcome = "does not hold"
    if agreeing == len(cells):
        outcome = "holds"
    elif 2 * agreeing >= len(cells):
        outcome = "holds in part"
    ties = sum(_near_tie(claim, cell) for cell in _cells(claim, here)) if claim.right else 0
    return Verdict(claim, outcome, agreeing, len(cells), measured, ties)


def _near_tie(claim: Claim, cell: Results) -> bool:
    """Return whether two sides differ by little compared with the spread of their runs."""
    left, right = (cell.only(**side) for side in (claim.left, claim.right))
    spread = max(left.deviation(claim.measure), right.deviation(claim.measure))
    return abs(left.mean(claim.measure) - right.mean(claim.measure)) < _TIE * spread


def _cells(claim: Claim, results: Results) -> list[Results]:
    """Group the records by the entries of ``by``."""
    names = list(claim.by)
    missing = [name for name in names if not any(name in r for r in results.records)]
    if missing:
        raise InvalidInput(f"claim {claim.id}: no record has the entry {missing[0]!r}.")
    # A record without an entry, such as one without K, belongs to every cell.
    keys = dict.fromkeys(
        tuple(record[name] for name in names)
        for record in results.records
        if all(name in record for name in names)
    )
    return [
        Results(
            [
                record
                for record in results.records
                if all(record.get(n, v) == v for n, v in zip(names, key, strict=True))
            ]
        )
        for key in keys
    ]


def _above(claim: Claim, results: Results) -> tuple[list[bool], str]:
    cells, gaps = [], []
    for cell in _cells(claim, results):
        left = cell.only(**claim.left).mean(claim.measure)
        right = cell.only(**claim.right).mean(claim.measure)
        if np.isfinite(left) and np.isfinite(right):
            cells.append(left > right + claim.margin)
            gaps.append(left - right)
    if not gaps:
        return [], ""
    return cells, f"difference {np.mean(gaps):+.3f} on average, {min(gaps):+.3f} at worst"


def _largest(claim: Claim, results: Results) -> tuple[list[bool], str]:
    cells, words = [], []
    for cell in _cells(claim, results):
        means = {
            name: cell.only(**{claim.among: name}).mean(claim.measure)
            for name in cell.distinct(claim.among)
        }
        means = {name: value for name, value in means.items() if np.isfinite(value)}
        own = claim.left[claim.among]
        if own not in means or len(means) < 2:
            continue
        best = max(means, key=lambda name: means[name])
        cells.append(best == own)
        if best != own:
            words.append(f"{best} {means[best]:.3f} against {means[own]:.3f}")
    if cells and not words:
        words = ["the largest everywhere"]
    return cells, "; ".join(words)


def _near(claim: Claim, results: Results) -> tuple[list[bool], str]:
    if claim.printed is None:
        raise InvalidInput(f"claim {claim.id}: kind 'near' needs the printed number.")
    several = isinstance(claim.printed, Mapping)
    printed = claim.printed if isinstance(claim.printed, Mapping) else {"": claim.printed}
    cells, words = [], []
    for name, number in printed.items():
        value = (results.only(data=name) if several else results).mean(claim.measure)
        if np.isfinite(value):
            cells.append(bool(abs(value - number) <= claim.tolerance))
            words.append(f"{name} {value:.3f}, printed {number:.3f}".strip())
    return cells, "; ".join(words)


def _at_most(claim: Claim, results: Results) -> tuple[list[bool], str]:
    values = results.values(claim.measure)
    return [bool(v <= claim.limit) for v in values], f"at most {values.max(initial=0.0):.3g}"


_KINDS: Mapping[str, Callable[[Claim, Results], tuple[list[bool], str]]] = {
    "above": _above,
    "largest": _largest,
    "near": _near,
    "at-most": _at_most,
}
