"""Beyond the paper: the two-stage solver, which needs no rank condition, compared with both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ...evaluation.measurements import Record, ReportTable, Results
from ...solvers import Solver
from ..paper import Key, PaperPart, Scale
from .figure_style import STYLES, legend_below
from .least_squares import LeastSquares
from .measures import gaps, seconds, worst
from .paper_solvers import Eigen
from .subsets import FEATURES, METHODS, load_rows

__all__ = ["BEYOND"]

SOLVERS: Mapping[str, str | Solver] = {
    "two-stage": "exact",
    "least squares": LeastSquares(),
    "eigen": Eigen(),
}


_RATIO = "times two-stage"


class Cell(NamedTuple):
    """A problem: rows and features of a data set, a regularization strength, and methods."""

    data: str
    rows: int
    features: int
    alpha: float
    methods: tuple[str, ...]


CELLS = (
    Cell("yeast", 80, FEATURES["yeast"], 0.0, ("CCA", "OPLS", "HSL star")),
    Cell("yeast", 2400, FEATURES["yeast"], 0.0, ("CCA", "OPLS", "HSL star")),
    Cell("usps", 1000, FEATURES["usps"], 0.0, ("LDA",)),
    Cell("usps", 2000, FEATURES["usps"], 10.0, ("LDA",)),
    Cell("yahoo_arts", 1000, 200, 0.0, ("CCA", "HSL star")),
    Cell("yahoo_arts", 1500, 5000, 1.0, ("CCA", "HSL star")),
)
_QUICK = (
    Cell("yeast", 80, FEATURES["yeast"], 0.0, ("CCA", "OPLS", "HSL star")),
    Cell("yeast", 2400, FEATURES["yeast"], 0.0, ("CCA", "OPLS", "HSL star")),
    Cell("usps", 2000, FEATURES["usps"], 10.0, ("LDA",)),
    Cell("yahoo_arts", 500, 2000, 1.0, ("CCA", "HSL star")),
)


def _jobs(scale: Scale) -> list[Key]:
    return [
        {
            "data": cell.data,
            "rows": cell.rows,
            "features": cell.features,
            "alpha": cell.alpha,
            "method": method,
            "seed": seed,
        }
        for seed in range(scale.times(2))
        for cell in (_QUICK if scale.quick else CELLS)
        for method in cell.methods
    ]


def _run(key: Key, data_home: Path | None) -> Iterator[Record]:
    features = int(key["features"])
    whole = load_rows(str(key["data"]), data_home, features)
    rows, _ = whole.split(int(key["rows"]), int(key["seed"]))
    make = METHODS[str(key["method"])]
    models = {name: make(alpha=float(key["alpha"]), solver=s) for name, s in SOLVERS.items()}
    times = {name: seconds(partial(m.fit, rows.X, rows.y)) for name, m in models.items()}
    for name, model in models.items():
        record: dict[str, Any] = {
            "solver": name,
            "seconds": times[name],
            _RATIO: times[name] / times["two-stage"],
        }
        if name != "eigen":
            record |= gaps(models["eigen"], model)
        yield record


def _name(record: Record) -> str:
    penalty = f", alpha {record['alpha']:g}" if record["alpha"] else ""
    shape = f"{record['rows']:,} x {record['features']:,}"
    return f"{record['method']}, {record['data']} {shape}{penalty}"


def _problems(results: Results) -> dict[str, Results]:
    found: dict[str, list[Record]] = {}
    for record in results.records:
        found.setdefault(_name(record), []).append(record)
    return {name: Results(records) for name, records in found.items()}


def _tables(results: Results) -> list[ReportTable]:
    rows = []
    for name, here in _problems(results).items():
        for solver in here.distinct("solver"):
            cell = here.only(solver=solver)
            rows.append(
                [
                    name,
                    solver,
                    f"{cell.mean('seconds'):.4f}",
                    f"{cell.mean(_RATIO):.1f}",
                    *(worst(cell, measure) for measure in ("eigenvalue gap", "weights gap")),
                ]
            )
    head = ["problem", "solver", "seconds", _RATIO, "eigenvalue gap", "weights gap"]
    note = (
        "Gaps are to the eigenproblem, relative, the largest of all runs; ratios of times are "
        "within one job. With a penalty, the paper's least squares and the penalised "
        "eigenproblem are different methods."
    )
    return [ReportTable("Two stages compared with both", head, rows, note)]


def _draw(results: Results) -> Any:
    import matplotlib.pyplot as plt  # noqa: PLC0415 - an optional dependency

    problems = _problems(results)
    figure, axes = plt.subplots(
        1, 2, figsize=(10, 1.2 + 0.35 * len(problems)), sharey=True, squeeze=False
    )
    measures = (
        (_RATIO, "time, as a multiple of two-stage's"),
        ("weights gap", "gap to the eigenproblem's weights, relative"),
    )
    for axis, (measure, title) in zip(axes[0], measures, strict=True):
        for solver in SOLVERS:
            colour, marker, _ = STYLES[solver]
            cells = [here.only(solver=solver) for here in problems.values()]
            places = [p for p, cell in enumerate(cells) if cell.values(measure).size]
            axis.errorbar(
                [cells[p].mean(measure) for p in places],
                places,
                # A gap at the level of rounding has no spread to show on a logarithmic scale.
                xerr=[cells[p].deviation(measure) for p in places] if measure == _RATIO else None,
                color=colour,
                marker=marker,
                ls="none",
                capsize=2,
                label=solver,
            )
        axis.set(xscale="log", xlabel=title)
        axis.grid(axis="y", color="#dddddd", lw=0.6)
    axes[0][0].set_yticks(range(len(problems)), list(problems))
    axes[0][0].invert_yaxis()
    legend_below(figure, axes.flat, columns=3)
    return figure


BEYOND = PaperPart(
    name="beyond",
    title="two stages: exact without the rank condition",
    jobs=_jobs,
    run=_run,
    tables=_tables,
    draw=_draw,
    deviations=(
        "Not in the paper: regress on the factor itself, then solve an s x s eigenproblem. "
        "This is what labelspan runs by default.",
        "All solvers run at their usual tolerances. Times are CPU times of one thread, one "
        "solver after the other in one job; jobs may run in parallel, so compare within a "
        "job, by the ratios.",
    ),
)
