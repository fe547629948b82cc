"""Plots of time ratios and of growth, as PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from .growth import exponents
from .report import ours_of

__all__ = ["plot_growth", "plot_ratios"]

mpl.use("agg")

Record = Mapping[str, Any]


def plot_ratios(records: Sequence[Record], path: Path) -> None:
    """Every peer's time relative to ours, one row per case: right of 1 ours is faster."""
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.28 * len(records)), layout="constrained")
    kinds = {
        "the same work": ("o", "tab:blue"),
        "other work": ("x", "tab:grey"),
        "ended at the limit": (">", "tab:orange"),
    }
    spots: dict[str, list[tuple[float, int]]] = {kind: [] for kind in kinds}
    for row, record in enumerate(records):
        own = ours_of(record)
        if own is None:
            continue
        unit = median(own["runs"])
        for score in record["scores"]:
            if score["ours"]:
                continue
            if score["runs"]:
                kind = "the same work" if score["same"] else "other work"
                spots[kind].append((median(score["runs"]) / unit, row))
            elif score["over"]:
                spots["ended at the limit"].append((score["over"] / unit, row))
    for kind, (marker, colour) in kinds.items():
        if spots[kind]:
            x, y = zip(*spots[kind], strict=True)
            axes.scatter(x, y, marker=marker, color=colour, label=kind, zorder=3)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(records)), [record["case"] for record in records])
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel("peer's time / labelspan's time")
    axes.legend(loc="lower right", fontsize="small")
    _save(figure, path)


def plot_growth(records: Sequence[Record], path: Path) -> None:
    """Time and memory against each growing size, a curve a contender."""
    curves = exponents(records)
    panels = sorted({(curve["kind"], curve["axis"]) for curve in curves}, reverse=True)
    figure, grid = plt.subplots(
        len(panels), 2, figsize=(10, 2.8 * len(panels)), squeeze=False, layout="constrained"
    )
    colours = {name: f"C{place}" for place, name in enumerate(_names(curves))}
    for (kind, axis), (left, right) in zip(panels, grid, strict=True):
        for curve in curves:
            if (curve["kind"], curve["axis"]) != (kind, axis):
                continue
            style = "-" if curve["name"].startswith("labelspan") else "--"
            options = {"color": colours[curve["name"]], "linestyle": style, "marker": "."}
            rate = curve["time exponent"]
            label = curve["name"] if rate is None else f"{curve['name']}: {rate:.2f}"
            left.plot(curve["sizes"], curve["seconds"], label=label, **options)
            right.plot(curve["sizes"], [peak / 2**20 for peak in curve["peaks"]], **options)
        for side, what in ((left, "seconds"), (right, "peak MiB")):
            side.set(xscale="log", yscale="log", xlabel=f"{axis}, {kind}", ylabel=what)
            side.grid(alpha=0.3, which="both")
        left.legend(fontsize="xx-small", title="exponent of time", title_fontsize="xx-small")
    _save(figure, path)


def _names(curves: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(curve["name"] for curve in curves))


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=130)
    plt.close(figure)
