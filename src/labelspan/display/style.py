"""Colours, names and axes that displays share."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

__all__ = [
    "GREY",
    "make_axes",
    "palettes",
    "shorten",
]

GREY = "#BDBDBD"

_LONGEST = 32
_CONTROLS = re.compile("[\0-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


@cache
def palettes() -> dict[str, list[str]]:
    """Return the colours of maps for a light and a dark background.

    Those for a dark background have the same hues as those for a light one. They are as far as
    possible from each other, also for colour-blind readers; all have a contrast of 2.9 or more.
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
