"""The style of the figures: colour, marker and line of each name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...evaluation.measurements import Results

__all__ = ["STYLES", "curve", "legend_below"]

# Name: colour, marker, line.
STYLES: Mapping[str, tuple[str, str, str]] = {
    "eigen": ("#0072b2", "o", "-"),
    "least squares": ("#d55e00", "s", "--"),
    "eigen, 2-norm": ("#009e73", "^", "-"),
    "least squares, 2-norm": ("#e69f00", "v", "--"),
    "least squares, 1-norm": ("#cc79a7", "D", ":"),
    "eigen, as printed": ("#000000", "P", "-"),
    "two-stage": ("#009e73", "X", "-"),
    "least squares, bias": ("#56b4e9", "v", ":"),
    "CCA": ("#0072b2", "o", "-"),
    "OPLS": ("#d55e00", "s", "--"),
    "HSL clique": ("#009e73", "^", "-."),
    "HSL star": ("#e69f00", "v", "--"),
    "HSL Zhou": ("#cc79a7", "D", ":"),
    "LDA": ("#000000", "P", "-"),
}


def curve(
    axis: Any, results: Results, along: str, measure: str, name: str, *, shift: float = 0.0
) -> None:
    """Plot the mean of a measure with its standard deviation."""
    places = sorted(results.distinct(along))
    if not places:
        return
    cells = [results.only(**{along: place}) for place in places]
    colour, marker, line = STYLES[name]
    axis.errorbar(
        [place + shift for place in places],
        [cell.mean(measure) for cell in cells],
        [cell.deviation(measure) for cell in cells],
        color=colour,
        marker=marker,
        ls=line,
        # Open markers for dashed lines, so that lines below remain visible.
        mfc="none" if line != "-" else None,
        ms=7 if line != "-" else 4,
        lw=1.3,
        capsize=2,
        label=name,
    )


def legend_below(figure: Any, axes: Iterable[Any], columns: int) -> None:
    """Add one legend for all panels below them, with each name once."""
    known: dict[str, Any] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        known |= dict(zip(labels, handles, strict=True))
    figure.tight_layout()
    figure.legend(
        known.values(), known.keys(), loc="upper center", ncol=columns, bbox_to_anchor=(0.5, 0.0)
    )
