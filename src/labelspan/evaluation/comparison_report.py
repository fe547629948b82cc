"""The report of a comparison: tables, and a recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .comparison import SETTINGS, Evaluation, overall
from .measurements import ReportTable
from .spaces import ESTIMATORS, MEASURES, NEIGHBOURS, RAW, RIDGE

__all__ = ["Recommendation", "recommend", "tables"]

_AT = {name: f"{name}@{NEIGHBOURS}" for name in ("nDCG", "Jaccard")}
_TITLES = {
    "seen": "Labels seen in training (setting I)",
    "held out": "Labels held out (setting II)",
}
_NOTES = {
    "seen": "The methods were fitted on these labels, on other items.",
    "held out": "No method was fitted on these labels: how well it works for new labels.",
}


@dataclass(frozen=True)
class Recommendation:
    """The recommended method and options of ``labelspan fit``, with reasons."""

    method: str
    options: Mapping[str, Any]
    reasons: Sequence[str]

    @property
    def arguments(self) -> str:
        """The options as written in a shell."""
        return " ".join(f"--{name} {value}" for name, value in self.options.items())


def recommend(evaluation: Evaluation) -> Recommendation:
    """Recommend the method with the best mean of macro F1 and nDCG over both settings."""
    results = evaluation.results
    scores = {name: overall(results.only(method=name)) for name in results.distinct("method")}
    best = max((name for name in scores if name in ESTIMATORS), key=lambda name: scores[name])
    others = ", ".join(f"{name} {scores[name]:.3f}" for name in (RAW, "LSI") if name in scores)
    reasons = [
        f"{best} scores {scores[best]:.3f}, compared with {others}: the mean of macro F1 and nDCG "
        "over labels seen in training and held-out labels."
    ]
    if scores[RAW] >= scores[best]:
        reasons.append("By this mean no method beats the raw features on this corpus.")
    if RIDGE in scores:
        apart = {
            setting: results.only(method=RIDGE, setting=setting).mean("nDCG")
            - results.only(method=best, setting=setting).mean("nDCG")
            for setting in SETTINGS
        }
        gaps = " and ".join(
            f"{gap:+.3f} for labels {setting}" for setting, gap in apart.items() if np.isfinite(gap)
        )
        reasons.append(f"Ridge scores, a simple baseline, differ from it in nDCG by {gaps}.")
    count = int(results.only(method=best).mean("dimensions"))
    return Recommendation(best, {"method": best.lower(), "dimensions": count}, reasons)


def tables(evaluation: Evaluation) -> list[ReportTable]:
    """Make a table for each setting, of means over the folds."""
    made = []
    for setting in SETTINGS:
        here = evaluation.results.only(setting=setting)
        rows = []
        for method in here.distinct("method"):
            found = here.only(method=method)
            cells = [f"{found.mean(name):.3f}" for name in MEASURES]
            seconds = "-" if method == RAW else f"{found.mean('seconds'):.1f}"
            rows.append((method, f"{found.mean('dimensions'):,.0f}", *cells, seconds))
        head = ("method", "dimensions", *(_AT.get(name, name) for name in MEASURES), "seconds")
        made.append(ReportTable(_TITLES[setting], head, rows, _NOTES[setting]))
    return made
