"""Display of records: cells of tables, and panels with one line per method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import add
from typing import Any

from ...evaluation.measurements import Results
from .protocol import MEASURES, SETTINGS

__all__ = ["STYLE", "cell", "draw_curves", "line"]

# Colour and marker; the colours of Okabe and Ito are safe for colour-blind readers and in print.
STYLE: Mapping[str, tuple[str, str]] = {
    "all features": ("#000000", ""),
    "LSI": ("#0072b2", "s"),
    "MLSI": ("#d55e00", "o"),
    "MLSI, ridge": ("#009e73", "^"),
    "MLSI, tuned": ("#cc79a7", "D"),
    "OPLS": ("#e69f00", "v"),
    "CCA": ("#56b4e9", "P"),
    "HSL": ("#8c6d1f", "X"),
    "ridge scores": ("#777777", "*"),
}


def cell(results: Results, name: str) -> str:
    """Format mean and standard deviation; a dash if nothing was measured."""
    if not results.values(name).size:
        return "-"
    return f"{results.mean(name):.3f} ± {results.deviation(name):.3f}"


def line(
    axis: Any,
    results: Results,
    by: str,
    name: str,
    *,
    at: Callable[[float], float] = float,
    **style: Any,
) -> None:
    """Plot means and deviations of a measure against an entry, at positions given by ``at``."""
    values = sorted(results.distinct(by))
    if not values:
        return
    cells = [results.only(**{by: value}) for value in values]
    axis.errorbar(
        [at(value) for value in values],
        [found.mean(name) for found in cells],
        [found.deviation(name) for found in cells],
        ms=5,
        lw=1.4,
        elinewidth=0.9,
        capsize=2.5,
        **style,
    )


def draw_curves(results: Results, methods: Sequence[str]) -> Any:
    """Draw a row for each setting and a panel for each measure, with K on the x-axis."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional dependency

    figure = Figure(figsize=(10.5, 6.2), layout="constrained")
    axes = figure.subplots(len(SETTINGS), len(MEASURES), sharex=True)
    counts = sorted(results.distinct("K"))
    for row, setting in zip(axes, SETTINGS, strict=True):
        for axis, measure in zip(row, MEASURES, strict=True):
            for place, method in enumerate(methods):
                found = results.only(setting=setting, method=method)
                colour, marker = STYLE[method]
                style = {"color": colour, "marker": marker, "label": method}
                if found.distinct("K"):
                    # Shifted slightly, so that error bars do not overlap.
                    line(axis, found, "K", measure, at=partial(add, 0.8 * place - 1.6), **style)
                elif len(found):
                    _level(axis, found, measure, color=colour, label=method)
            axis.set_title(f"setting {setting}: {measure}", fontsize=10)
            axis.grid(alpha=0.25)
            axis.set_xticks(counts)
    for axis in axes[-1]:
        axis.set_xlabel("number of dimensions K")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def _level(axis: Any, found: Results, measure: str, *, color: str, label: str) -> None:
    """Draw a measure that does not depend on K as a line with its deviation as a band."""
    mean, spread = found.mean(measure), found.deviation(measure)
    axis.axhline(mean, color=color, ls="--", lw=1.4, label=label)
    axis.axhspan(mean - spread, mean + spread, color=color, alpha=0.08, lw=0)
