"""Theorem 2: if rank(X) = n - 1, least squares is the eigenproblem, for every method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...evaluation.measurements import Record, ReportTable, Results
from ..paper import Key, PaperPart, Scale
from .figure_style import STYLES, legend_below
from .least_squares import LeastSquares
from .measures import centred_rank, gaps, leading_angle, worst
from .subsets import FEATURES, METHODS, load_rows

__all__ = ["EQUIVALENCE"]

# Numbers of rows and features for each data set: wide shapes, then tall ones.
CELLS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "yeast": tuple((rows, FEATURES["yeast"]) for rows in (50, 80, 100, 150, 300, 900)),
    "yahoo_arts": (
        *((rows, FEATURES["yahoo_arts"]) for rows in (100, 150, 200)),
        *((rows, 100) for rows in (150, 300)),
    ),
    "usps": tuple((rows, FEATURES["usps"]) for rows in (100, 150, 200, 600)),
}
_QUICK: Mapping[str, tuple[tuple[int, int], ...]] = {
    "yeast": ((80, FEATURES["yeast"]), (300, FEATURES["yeast"])),
    "yahoo_arts": ((100, FEATURES["yahoo_arts"]), (300, 100)),
    "usps": ((100, FEATURES["usps"]), (600, FEATURES["usps"])),
}
_SEVERAL = tuple(name for name in METHODS if name != "LDA")
# A tolerance far below the default of LSQR: the remaining difference is due to the formulation.
_SOLVER = LeastSquares(tol=1e-12)
_BIAS = LeastSquares(tol=1e-12, intercept="bias")


def _jobs(scale: Scale) -> list[Key]:
    return [
        {"data": name, "rows": rows, "features": features, "seed": seed}
        for seed in range(scale.times(2))
        for name, cells in (_QUICK if scale.quick else CELLS).items()
        for rows, features in cells
    ]


def _run(key: Key, data_home: Path | None) -> Iterator[Record]:
    name, n, features = str(key["data"]), int(key["rows"]), int(key["features"])
    rows, _ = load_rows(name, data_home, features).split(n, int(key["seed"]))
    rank = centred_rank(rows.X)
    shared = {
        "shape": "wide" if features >= n - 1 else "tall",
        "condition": "holds" if rank == n - 1 else "fails",
        "rank": rank,
        "lacking": n - 1 - rank,
    }
    for method in ("LDA",) if name == "usps" else _SEVERAL:
        solvers = {"least squares": _SOLVER}
        if name == "yahoo_arts" and method == "CCA":
            # The column of ones affects only X: one method is enough.
            solvers["least squares, bias"] = _BIAS
        reference = METHODS[method](solver="exact").fit(rows.X, rows.y)
        for label, solver in solvers.items():
            other = METHODS[method](solver=solver).fit(rows.X, rows.y)
            record: dict[str, Any] = {"method": method, "solver": label, **shared}
            record |= gaps(reference, other)
            half = leading_angle(reference, other)
            if half is not None:
                record["leading angle"] = half
            yield record


def _tables(results: Results) -> list[ReportTable]:
    measures = ("eigenvalue gap", "weights gap", "angle", "leading angle")
    rows = []
    for solver in results.distinct("solver"):
        for condition in ("holds", "fails"):
            for name in results.distinct("data"):
                here = results.only(solver=solver, condition=condition, data=name)
                for method in here.distinct("method"):
                    cells = here.only(method=method)
                    sizes = sorted(set(cells.distinct("rows")))
                    size = f"{sizes[0]:,}-{sizes[-1]:,}" if len(sizes) > 1 else f"{sizes[0]:,}"
                    largest = (worst(cells, measure) for measure in measures)
                    rows.append([solver, condition, name, method, size, *largest])
    head = ["solver", "rank(X) = n - 1", "data", "method", "rows", *measures]
    note = (
        "The largest of all runs. Weights are compared up to a rotation, which does not "
        "change distances. Angles, in radians, are the largest between the two spaces: of all "
        "directions, which is close to 0 with or without the condition, and of the leading half "
        "of them, if the spectrum has a gap after it. In the figure, the condition can hold to "
        "the left of the dotted line."
    )
    return [ReportTable("Least squares compared with the eigenproblem", head, rows, note)]


def _draw(results: Results) -> Any:
    import matplotlib.pyplot as plt  # noqa: PLC0415 - an optional dependency

    lsqr = results.only(solver="least squares")
    sets = lsqr.distinct("data")
    figure, axes = plt.subplots(
        1, len(sets), figsize=(3.8 * len(sets), 3.8), squeeze=False, sharey=True
    )
    for axis, name in zip(axes[0], sets, strict=True):
        here = lsqr.only(data=name)
        shapes = list(dict.fromkeys((r["rows"], r["features"]) for r in here.records))
        methods = here.distinct("method")
        for number, method in enumerate(methods):
            cells = here.only(method=method)
            colour, marker, _ = STYLES[method]
            # Shifted slightly, because the methods overlap.
            aside = 0.12 * (number - (len(methods) - 1) / 2)
            places = [shapes.index((r["rows"], r["features"])) + aside for r in cells.records]
            axis.plot(places, cells.values("weights gap"), marker, color=colour, ms=5, label=method)
        wide = sum(features >= rows - 1 for rows, features in shapes)
        axis.axvline(wide - 0.5, color="#777777", lw=1, ls=":")
        axis.set_xticks(
            range(len(shapes)), [f"{n:,} x {d:,}" for n, d in shapes], rotation=40, ha="right"
        )
        axis.set(title=name, xlabel="rows x features", yscale="log")
    axes[0][0].set_ylabel("gap between weights, relative")
    legend_below(figure, axes.flat, columns=6)
    return figure


EQUIVALENCE = PaperPart(
    name="equivalence",
    title="least squares compared with the eigenproblem, with and without rank(X) = n - 1",
    jobs=_jobs,
    run=_run,
    tables=_tables,
    draw=_draw,
    deviations=(
        "The paper says in words that both give the same performance; here the solutions "
        "themselves are compared, for random rows of its data sets.",
        "LSQR runs to 1e-12, so that the remaining difference is due to the formulation.",
        "'bias' adds a column of ones to sparse data instead of centring it, as section 5 of the "
        "paper does; 'least squares' centres without making the data dense.",
    ),
)
