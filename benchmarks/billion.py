"""A billion documents, worked out: the arithmetic behind docs/billion.md.

Unit costs are measured by ``benchmarks.costs``; the corpus and the cluster are assumed and
stated here. The page holds both, and every table that follows from them between marks, so
that a test can work them out again.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

__all__ = ["Costs", "Setting", "blocks_of", "rewrite", "worked_page"]

PAGE = Path(__file__).parent.parent / "docs" / "billion.md"
COMPONENTS = (100, 200, 300)
UNITS = {
    "xv": ("`X V`", "ns per nonzero and column"),
    "xtu": ("`X'U`", "ns per nonzero and column"),
    "orth": ("orthonormal columns", "ns per row and column squared"),
    "eigen": ("small eigenproblem", "ns per cubed side"),
    "send": ("to a worker", "ns per byte"),
    "back": ("back from a worker", "ns per byte"),
    "task": ("task", "ms"),
    "search": ("exact search, float16", "ns per query, row and dimension"),
    "held": ("a nonzero held", "bytes"),
}


@dataclass(frozen=True)
class Costs:
    """Unit costs, in the units of ``UNITS``; of one thread where they are times."""

    xv: float
    xtu: float
    orth: float
    eigen: float
    send: float
    back: float
    task: float
    search: float
    held: float

    @classmethod
    def read(cls, path: Path) -> Costs:
        """Of a run of ``benchmarks.costs``."""
        tables = {table["title"]: table for table in json.loads(path.read_text())["tables"]}
        rows = {row["name"]: row["notes"]["value"] for row in tables["unit costs"]["rows"]}
        return cls(**{field.name: float(rows[field.name]) for field in fields(cls)})

    @classmethod
    def of_page(cls, text: str) -> Costs:
        """As a page states them."""
        found = {}
        for name, (what, unit) in UNITS.items():
            line = re.search(
                rf"^\| {re.escape(what)} \| ([\d.e+-]+) {re.escape(unit)} \|", text, re.M
            )
            if line is None:
                raise ValueError(f"The page states no cost of {what}.")
            found[name] = float(line[1])
        return cls(**found)


@dataclass(frozen=True)
class Setting:
    """The corpus and the cluster: assumed, not measured."""

    n: float = 1e9
    words: int = 75
    d: float = 1e6
    k: int = 1000
    labels: int = 3  # of a document
    workers: int = 100
    cores: int = 16
    share: float = 0.5  # of a lone core's speed, when all cores of a machine run
    memory: float = 128e9
    network: float = 1.25e9  # bytes per second of each machine
    fan: int = 4
    blocks: int = 7  # that a Krylov space grows to: rcv1 takes 6 at K = 100, 7 at K = 300

    @property
    def nonzeros(self) -> float:
        """Of all documents."""
        return self.n * self.words

    @property
    def speed(self) -> float:
        """Of the cluster, in lone cores."""
        return self.workers * self.cores * self.share

    def width(self, K: int) -> int:
        """Columns of a Krylov block: as many label directions as K, and a tenth at random."""
        return K + max(4, K // 10)


def size(count: float) -> str:
    """Bytes, as people say them."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"


def span(seconds: float) -> str:
    """A time, as people say it."""
    year = 365.25 * 86400
    units = (("years", year), ("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))
    for unit, scale in units:
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{1e3 * seconds:.3g} ms"


def number(count: float) -> str:
    """A count, in millions where it has them."""
    if count >= 1e9:
        return f"{count / 1e9:.3g} billion"
    return f"{count / 1e6:.3g} million" if count >= 1e6 else f"{count:,.0f}"


Line = tuple[str, str, Callable[[int], str]]


def _table(lines: Sequence[Line]) -> str:
    """What, how it is worked out, and a column for each K."""
    head = ["", "formula", *(f"K = {K}" for K in COMPONENTS)]
    rows = [head, ["---"] * len(head)]
    rows += [[what, formula, *(value(K) for K in COMPONENTS)] for what, formula, value in lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def costs_table(costs: Costs, _: Setting) -> str:
    """The unit costs."""
    rows = ["| | measured |", "| --- | --- |"]
    rows += [
        f"| {what} | {getattr(costs, name):.3g} {unit} |" for name, (what, unit) in UNITS.items()
    ]
    return "\n".join(rows)


def memory_table(costs: Costs, at: Setting) -> str:
    """What has to be somewhere."""
    b = at.width
    return _table(
        [
            ("X", "n z h", lambda K: size(at.nonzeros * costs.held)),
            ("X, per worker", "n z h / P", lambda K: size(at.nonzeros * costs.held / at.workers)),
            (
                "X, per worker, indices int64",
                "n z (h + 4) / P",
                lambda K: size(at.nonzeros * (costs.held + 4) / at.workers),
            ),
            ("a d x b block", "4 d b", lambda K: size(4 * at.d * b(K))),
            ("sums of `X'U` in a worker, at most", "8 (4 d b)", lambda K: size(32 * at.d * b(K))),
            ("an n x b block", "4 n b", lambda K: size(4 * at.n * b(K))),
            ("the same, per worker", "4 n b / P", lambda K: size(4 * at.n * b(K) / at.workers)),
            ("Krylov basis, d side", "4 d b q", lambda K: size(4 * at.d * b(K) * at.blocks)),
            ("Krylov image, n side", "4 n b q", lambda K: size(4 * at.n * b(K) * at.blocks)),
            ("labels, dense float64", "8 n k", lambda K: size(8 * at.n * at.k)),
            ("labels, sparse", "8 n l", lambda K: size(8 * at.n * at.labels)),
            ("`X'Y`, float32", "4 d k", lambda K: size(4 * at.d * at.k)),
            ("`X'X`, float64", "8 d d", lambda K: size(8 * at.d**2)),
        ]
    )


def breaks_table(costs: Costs, at: Setting) -> str:
    """Documents that today's way takes, by what gives first."""
    b, most = at.width, at.memory
    return _table(
        [
            ("sparse labels at the client", "M / 12 l", lambda K: number(most / (12 * at.labels))),
            (
                "images at the client, with labels that are sparse there",
                "M / (4 b q)",
                lambda K: number(most / (4 * b(K) * at.blocks)),
            ),
            ("mapped rows at the client", "M / 4 K", lambda K: number(most / (4 * K))),
            ("int32 in one block of rows", "2^31 / z", lambda K: number(2**31 / at.words)),
            (
                "X in the workers' memory",
                "P M / (z h)",
                lambda K: number(at.workers * most / (at.words * costs.held)),
            ),
        ]
    )


def today(costs: Costs, at: Setting, K: int) -> float:
    """A pair of passes, were there memory for it: n x b to the client and to the workers."""
    return 4 * at.n * at.width(K) * ((costs.send + costs.back) * 1e-9 + 2 / at.network)


def products(costs: Costs, at: Setting, K: int) -> float:
    """``X'(X V)`` on all workers."""
    return at.nonzeros * at.width(K) * (costs.xv + costs.xtu) * 1e-9 / at.speed


def hops(at: Setting) -> tuple[int, int]:
    """Rounds of a broadcast that doubles, and levels of a sum by ``fan``."""
    return math.ceil(math.log2(at.workers)), math.ceil(math.log(at.workers, at.fan))


def travel(costs: Costs, at: Setting, K: int) -> float:
    """A d x b block to all workers, and one sum of theirs back."""
    down, up = hops(at)
    byte = costs.send * 1e-9 + 1 / at.network
    return 4 * at.d * at.width(K) * (down + up * (at.fan - 1)) * byte


def client(costs: Costs, at: Setting, K: int) -> float:
    """Orthogonalising d x b against the basis and itself, on one machine's cores."""
    b = at.width(K)
    single = at.d * b**2 * costs.orth * 1e-9 * (1 + at.blocks / 2)
    return single / (at.cores * at.share)


def tasks(costs: Costs, at: Setting) -> float:
    """One task per worker, and those that add."""
    return costs.task * 1e-3 * at.workers * (1 + 1 / (at.fan - 1))


def one_pass(costs: Costs, at: Setting, K: int) -> float:
    """``X'(X V)`` and the client's share."""
    return products(costs, at, K) + travel(costs, at, K) + client(costs, at, K) + tasks(costs, at)


def pass_table(costs: Costs, at: Setting) -> str:
    """A pair of passes, through the client and with all n x b blocks left where they are."""
    return _table(
        [
            (
                "n x b through the client",
                "4 n b (s + r + 2 / N)",
                lambda K: span(today(costs, at, K)),
            ),
            (
                "products on the workers",
                "n z b (v + u) / (P c e)",
                lambda K: span(products(costs, at, K)),
            ),
            (
                "d x b to all, sums back",
                "4 d b (log2 P + 3 log4 P) (s + 1 / N)",
                lambda K: span(travel(costs, at, K)),
            ),
            (
                "orthogonalising d x b",
                "d b^2 o (1 + q / 2) / (c e)",
                lambda K: span(client(costs, at, K)),
            ),
            ("tasks", "t P 4 / 3", lambda K: span(tasks(costs, at))),
            (
                "d side: a pair of passes",
                "the four lines above",
                lambda K: span(one_pass(costs, at, K)),
            ),
        ]
    )


def fit_table(costs: Costs, at: Setting) -> str:
    """A whole fit on the d side, and mapping all rows."""

    def labels(K: int) -> float:
        return at.nonzeros * at.labels * costs.xtu * 1e-9 / at.speed + travel_labels()

    def travel_labels() -> float:
        _, up = hops(at)
        return 4 * at.d * at.k * up * (at.fan - 1) * (costs.send * 1e-9 + 1 / at.network)

    def small(K: int) -> float:
        return at.blocks * (at.blocks * at.width(K)) ** 3 * costs.eigen * 1e-9

    def mapped(K: int) -> float:
        return at.nonzeros * K * costs.xv * 1e-9 / at.speed

    def whole(K: int) -> float:
        return labels(K) + at.blocks * one_pass(costs, at, K) + small(K)

    return _table(
        [
            (
                "`X'Y` with sparse labels",
                "n z l u / (P c e) + 4 d k 3 log4 P (s + 1 / N)",
                lambda K: span(labels(K)),
            ),
            ("q pairs of passes", "q pairs", lambda K: span(at.blocks * one_pass(costs, at, K))),
            ("q small eigenproblems", "q (q b)^3 g", lambda K: span(small(K))),
            ("the fit", "the three lines above", lambda K: span(whole(K))),
            (
                "the fit, core hours",
                "fit P c",
                lambda K: f"{whole(K) * at.workers * at.cores / 3600:,.0f}",
            ),
            (
                "mapping all rows, left on the workers",
                "n z K v / (P c e)",
                lambda K: span(mapped(K)),
            ),
            (
                "network in all, out of the client and into it",
                "2 q (4 d b) + 4 d k",
                lambda K: size(8 * at.blocks * at.d * at.width(K) + 4 * at.d * at.k),
            ),
        ]
    )


def solvers_table(costs: Costs, at: Setting) -> str:
    """What a Gram matrix would cost at each number of columns."""
    rows = [
        "| d | `X'X` | products of its sum, P workers | its eigenproblem, one core | way |",
        "| --- | --- | --- | --- | --- |",
    ]
    for d, way in (
        (1e3, "`gram`, `partial_fit`: one pass, exact"),
        (4096, "the same, the most that `auto` takes"),
        (2e4, "would still do, with a sum that stays sparse in the workers"),
        (1e5, "block Krylov on the d side"),
        (1e6, "block Krylov on the d side"),
    ):
        summed = at.n * at.words**2 * costs.xv * 1e-9 / at.speed
        solved = d**3 * costs.eigen * 1e-9
        cells = (f"{d:,.0f}", size(8 * d * d), span(summed), span(solved), way)
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def search_table(costs: Costs, at: Setting) -> str:
    """Exact search over all rows."""

    def query(K: int) -> float:
        return at.n * K * costs.search * 1e-9 / at.speed

    return _table(
        [
            ("vectors, float16", "2 n K", lambda K: size(2 * at.n * K)),
            ("the same, per worker", "2 n K / P", lambda K: size(2 * at.n * K / at.workers)),
            ("a query among 64", "n K f / (P c e)", lambda K: span(query(K))),
            ("queries per second", "", lambda K: f"{1 / query(K):.3g}"),
            (
                "64 queries on one machine",
                "64 n K f / (c e)",
                lambda K: span(64 * at.workers * query(K)),
            ),
        ]
    )


TABLES: dict[str, Callable[[Costs, Setting], str]] = {
    "costs": costs_table,
    "memory": memory_table,
    "breaks": breaks_table,
    "pass": pass_table,
    "fit": fit_table,
    "solvers": solvers_table,
    "search": search_table,
}
_BLOCK = r"(<!-- {name} -->\n)(.*?)(\n<!-- /{name} -->)"


def blocks_of(text: str) -> dict[str, str]:
    """The tables that a page has between its marks."""
    found = {name: re.search(_BLOCK.format(name=name), text, re.S) for name in TABLES}
    return {name: match[2] for name, match in found.items() if match is not None}


def worked(costs: Costs) -> dict[str, str]:
    """All tables, by name."""
    return {name: table(costs, Setting()) for name, table in TABLES.items()}


def worked_page() -> str:
    """All tables, from the costs that the page states."""
    tables = worked(Costs.of_page(PAGE.read_text(encoding="utf-8")))
    return "\n\n".join(f"{name}\n{table}" for name, table in tables.items())


def rewrite(costs: Costs) -> None:
    """Put costs into the page, and everything that follows from them."""
    text = PAGE.read_text(encoding="utf-8")
    # As the page rounds them, because readers compute from the page.
    rounded = Costs.of_page(costs_table(costs, Setting()))
    for name, table in worked(rounded).items():
        text = re.sub(
            _BLOCK.format(name=name), lambda m, t=table: m[1] + t + m[3], text, flags=re.S
        )
    other = PAGE.with_suffix(".md.new")
    other.write_text(text, encoding="utf-8")
    os.replace(other, PAGE)
