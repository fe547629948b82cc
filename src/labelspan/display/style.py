"""Colours, markers, axes and checks shared by all displays."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..errors import InvalidParameter

__all__ = [
    "COLOURS",
    "FONT",
    "GREY",
    "MARKERS",
    "PALE",
    "check_fitted",
    "check_names",
    "legend_point",
    "make_axes",
    "palettes",
    "short_ticks",
    "shorten",
    "side_legend",
]

# Okabe and Ito's colours, and two more that are distinguishable from them, and
# from the greys, for colour-blind readers. Yellow, weak on white, comes last.
COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#56B4E9",
    "#CC79A7",
    "#000000",
    "#5500BB",
    "#663311",
    "#F0E442",
)
GREY, PALE = "#BDBDBD", "#DADADA"
# When all colours are used, they repeat with the next marker.
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
FONT = 9

_LONGEST = 32
_CONTROLS = re.compile("[\0-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
_LEGEND_ROWS = 18


@cache
def palettes() -> dict[str, list[str]]:
    """Return the colours of maps for a light and a dark background.

    Eight are by Okabe and Ito; each further one is as far as
    possible from those before it, also for colour-blind readers. All have a contrast of 2.9 or
    more.
    """
    path = Path(__file__).with_name("static") / "palettes.json"
    found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def shorten(name: Any) -> str:
    """Return a name on one line, without the middle if it is long.

    Characters that reverse or hide the text around them are removed.
    """
    text = " ".join(_CONTROLS.sub(" ", str(name)).split())
    if len(text) <= _LONGEST:
        return text
    half = (_LONGEST - 1) // 2
    return f"{text[: _LONGEST - 1 - half]}…{text[-half:]}"


def make_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the given axes, or those of a new figure."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def short_ticks(ax: Any) -> None:
    """Set few and short tick labels, with a power of ten at the end of the axis."""
    ax.locator_params(nbins=6)
    ax.ticklabel_format(scilimits=(-2, 4))


def legend_point(text: str, colour: str, marker: str = "o", size: float = 6.0) -> Any:
    """Return a legend entry: a point, with its diameter in points, and a text."""
    from matplotlib.lines import Line2D  # noqa: PLC0415

    return Line2D(
        [],
        [],
        linestyle="",
        marker=marker,
        markersize=size,
        markeredgewidth=0,
        color=colour,
        label=text,
    )


def side_legend(ax: Any, handles: list[Any], **options: Any) -> None:
    """Draw a legend to the right of the axes, where it hides nothing."""
    ax.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=FONT,
        ncols=-(-len(handles) // _LEGEND_ROWS),
        **options,
    )


def check_fitted(owner: str, estimator: Any) -> None:
    """Raise an error if an estimator is not fitted."""
    check_is_fitted(estimator, msg=f"{owner}: this %(name)s is not fitted; call its fit first.")


def check_names(owner: str, what: str, names: Any, count: int) -> Array:
    """Check that there is one name per label or feature."""
    array = np.asarray(names)
    if array.shape != (count,):
        raise InvalidParameter(
            f"{owner}: {what} must have {count} entries, but has shape {array.shape}."
        )
    return array
