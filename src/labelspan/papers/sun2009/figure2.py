"""Figure 2: the time of a fit by the numbers of features and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...evaluation.measurements import Record, ReportTable, Results
from ...solvers import Solver
from ..paper import Key, PaperPart, Scale
from .figure_style import curve, legend_below
from .least_squares import LeastSquares
from .measures import seconds
from .paper_solvers import Eigen, Factored
from .subsets import METHODS, load_rows

__all__ = ["FIGURE_2"]

SOLVERS: Mapping[str, str | Solver] = {
    "least squares": LeastSquares(),
    "eigen, as printed": Factored(),
    "eigen": Eigen(),
}
_METHODS = ("CCA", "HSL star")
# The varied size, its values, and the value of the other size.
_FULL = {"features": ("1000 2000 3000 4000 5000", 1000), "rows": ("500 1000 2000", 5000)}
_QUICK = {"features": ("500 1000 2000", 500), "rows": ("250 500 1000", 1500)}
_ALPHA = 1.0


def _jobs(scale: Scale) -> list[Key]:
    sweeps = _QUICK if scale.quick else _FULL
    return [
        {"grows": grows, "sizes": sizes, "other": other, "method": method, "seed": seed}
        for seed in range(scale.times(2))
        for grows, (sizes, other) in sweeps.items()
        for method in _METHODS
    ]


def _run(key: Key, data_home: Path | None) -> Iterator[Record]:
    sizes = [int(size) for size in str(key["sizes"]).split()]
    times: dict[str, list[float]] = {name: [] for name in SOLVERS}
    for size in sizes:
        features, n = (
            (size, int(key["other"])) if key["grows"] == "features" else (int(key["other"]), size)
        )
        rows, _ = load_rows("yahoo_arts", data_home, features).split(n, int(key["seed"]))
        for name, solver in SOLVERS.items():
            model = METHODS[str(key["method"])](alpha=_ALPHA, solver=solver)
            taken = times[name]
            taken.append(seconds(partial(model.fit, rows.X, rows.y)))
            record: dict[str, Any] = {
                "solver": name,
                "size": size,
                "seconds": taken[-1],
                "times least squares": taken[-1] / times["least squares"][-1],
                "iterations": int(np.max(model.n_iter_)),
            }
            if len(taken) > 1:
                record["step before"] = taken[-2] / taken[-1]
            yield record
    for name, taken in times.items():
        slope = np.polyfit(np.log(sizes), np.log(taken), 1)[0]
        yield {"solver": name, "exponent": float(slope)}


def _tables(results: Results) -> list[ReportTable]:
    tables = []
    for grows in results.distinct("grows"):
        here = results.only(grows=grows)
        solvers = here.distinct("solver")
        other = "features" if grows == "rows" else "rows"
        fixed = f"{int(here.values('other')[0]):,} {other}"
        rows = []
        for method in here.distinct("method"):
            cells = here.only(method=method)
            for size in cells.distinct("size"):
                rows.append(
                    [
                        method,
                        f"{size:,}",
                        *(_times(cells.only(size=size, solver=s)) for s in solvers),
                    ]
                )
            slopes = (f"{cells.only(solver=s).mean('exponent'):.2f}" for s in solvers)
            rows.append([method, "exponent", *slopes])
        note = (
            "Seconds, and in brackets the ratio to least squares in the same job; the exponent "
            "is the slope of log time against log size."
        )
        tables.append(
            ReportTable(f"{grows} grow, {fixed}", ["method", grows, *solvers], rows, note)
        )
    return tables


def _times(results: Results) -> str:
    return f"{results.mean('seconds'):.3f} ({results.mean('times least squares'):.1f})"


def _draw(results: Results) -> Any:
    import matplotlib.pyplot as plt  # noqa: PLC0415 - an optional dependency
    from matplotlib.ticker import (  # noqa: PLC0415
        LogLocator,
        NullFormatter,
        StrMethodFormatter,
    )

    sweeps, methods = results.distinct("grows"), results.distinct("method")
    figure, axes = plt.subplots(
        len(sweeps),
        len(methods),
        figsize=(4.6 * len(methods), 3.4 * len(sweeps)),
        squeeze=False,
        sharey=True,
    )
    for line, grows in zip(axes, sweeps, strict=True):
        for axis, method in zip(line, methods, strict=True):
            here = results.only(grows=grows, method=method)
            for name in SOLVERS:
                curve(axis, here.only(solver=name), "size", "seconds", name)
            axis.set(title=f"{method} on yahoo_arts", xlabel=grows, yscale="log")
            axis.set_xticks(here.distinct("size"))
        line[0].set_ylabel("seconds of one core")
        line[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        line[0].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        line[0].yaxis.set_minor_formatter(NullFormatter())
    legend_below(figure, axes.flat, columns=3)
    return figure


FIGURE_2 = PaperPart(
    name="figure 2",
    title="time by features and by rows",
    jobs=_jobs,
    run=_run,
    tables=_tables,
    draw=_draw,
    data=lambda _: "yahoo_arts",
    deviations=(
        "'eigen, as printed' is section 5 of the paper: a factor of the d x d matrix, then "
        "Lanczos. 'eigen' is labelspan's direct solver, which uses the shorter side of X.",
        "Words are chosen by their largest chi-square statistic with a label, one of the "
        "measures of the work the paper cites, then weighted by TF-IDF; rows are sampled "
        "from all 7,484 pages, while the paper had 3,712.",
        f"The regularization strength is {_ALPHA:g} for all; the paper gives none. A "
        "smaller one costs LSQR more iterations and the others nothing. LSQR runs to 1e-8.",
        "Times are CPU times of one thread, one solver after the other in one job; jobs may run "
        "in parallel, so compare within a job, by the ratios.",
    ),
)
