"""What a comparison of spaces says: tables, a picture, a report and a recommendation."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._files import write_whole
from ..papers.paper import Results, Table
from ..papers.report import html_list, html_page, html_picture, html_table
from .comparison import SETTINGS, TUNED, Evaluation, overall
from .spaces import ESTIMATORS, MEASURES, NEIGHBOURS, RAW, RIDGE

__all__ = ["Recommendation", "draw", "page", "recommend", "tables", "write_evaluation"]

_AT = {name: f"{name}@{NEIGHBOURS}" for name in ("nDCG", "Jaccard")}
_TITLES = {
    "seen": "Labels seen in training (setting I)",
    "held out": "Labels held out (setting II)",
}
_NOTES = {
    "seen": "The spaces were learned from these labels, on other items.",
    "held out": "No space has seen these labels: what it is worth for labels to come.",
}


@dataclass(frozen=True)
class Recommendation:
    """The method and settings to take, as options of ``labelspan fit``, and why."""

    method: str
    options: Mapping[str, Any]
    reasons: Sequence[str]

    @property
    def arguments(self) -> str:
        """The options as one writes them in a shell."""
        return " ".join(f"--{name} {value}" for name, value in self.options.items())


def recommend(evaluation: Evaluation) -> Recommendation:
    """The space with the best mean of macro F1 and nDCG, over both settings.

    MLSI's own settings are taken unless others are better by more than the standard error of
    the difference over folds.
    """
    results = evaluation.results
    scores = {name: overall(results.only(method=name)) for name in results.distinct("method")}
    spaces = [name for name in scores if name in ESTIMATORS or name == TUNED]
    best = max(spaces, key=lambda name: scores[name])
    reasons = []
    if best == TUNED and not _surely_better(results, TUNED, "MLSI"):
        best = "MLSI"
        reasons.append("Other settings of MLSI were tried, and none was better for sure.")
    told = ", ".join(f"{name} {scores[name]:.3f}" for name in (RAW, "LSI") if name in scores)
    reasons.insert(
        0,
        f"{best} comes to {scores[best]:.3f}, against {told}: the mean of macro F1 and nDCG over "
        "labels seen and held out.",
    )
    if scores[RAW] >= scores[best]:
        reasons.append("By that mean no space beats the raw features on this corpus.")
    if RIDGE in scores:
        apart = {
            setting: results.only(method=RIDGE, setting=setting).mean("nDCG")
            - results.only(method=best, setting=setting).mean("nDCG")
            for setting in SETTINGS
        }
        said = " and ".join(
            f"{gap:+.3f} for labels {setting}" for setting, gap in apart.items() if np.isfinite(gap)
        )
        reasons.append(f"Ridge scores, the obvious shortcut, differ from it in nDCG by {said}.")
    if best == TUNED:
        assert evaluation.tuned is not None
        return Recommendation("MLSI", {"method": "mlsi", **evaluation.tuned}, reasons)
    count = int(results.only(method=best).mean("dimensions"))
    return Recommendation(best, {"method": best.lower(), "dimensions": count}, reasons)


def _surely_better(results: Results, one: str, other: str) -> bool:
    gaps = np.array(
        [
            overall(results.only(method=one, fold=fold))
            - overall(results.only(method=other, fold=fold))
            for fold in results.distinct("fold")
        ]
    )
    return bool(gaps.mean() > gaps.std(ddof=1) / np.sqrt(gaps.size))


def tables(evaluation: Evaluation) -> list[Table]:
    """A table for each setting, and one of what was tried for MLSI."""
    made = []
    for setting in SETTINGS:
        here = evaluation.results.only(setting=setting)
        rows = []
        for method in here.distinct("method"):
            found = here.only(method=method)
            cells = [f"{found.mean(name):.3f} ± {found.deviation(name):.3f}" for name in MEASURES]
            seconds = "-" if method == RAW else f"{found.mean('seconds'):.1f}"
            rows.append((method, f"{found.mean('dimensions'):,.0f}", *cells, seconds))
        head = ("space", "dimensions", *(_AT.get(name, name) for name in MEASURES), "seconds")
        made.append(Table(_TITLES[setting], head, rows, _NOTES[setting]))
    if evaluation.tried:
        best = sorted(evaluation.tried, key=lambda one: -one["score"])[:10]
        rows = [
            (f"{one['dimensions']}", f"{one['alpha']:g}", f"{one['beta']:g}", f"{one['score']:.3f}")
            for one in best
        ]
        note = (
            f"The best {len(rows)} of {len(evaluation.tried)} choices, on a part of the first "
            "fold's training items; the score is the mean of macro F1 and nDCG over labels seen "
            "and held out."
        )
        made.append(Table("MLSI's settings", ("dimensions", "alpha", "beta", "score"), rows, note))
    return made


def draw(evaluation: Evaluation) -> Any:
    """A panel for each measure, a line for each space; needs matplotlib."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional dependency

    results = evaluation.results
    methods = results.distinct("method")
    places = np.arange(len(methods))[::-1]
    figure = Figure(figsize=(10, 1.2 + 0.5 * len(methods)), layout="constrained")
    panels = figure.subplots(2, 2, sharey=True).ravel()
    looks = {"seen": ("#D55E00", "o", 0.12), "held out": ("#0072B2", "D", -0.12)}
    for panel, name in zip(panels, MEASURES, strict=True):
        for setting, (colour, marker, shift) in looks.items():
            found = [results.only(method=method, setting=setting) for method in methods]
            panel.errorbar(
                [one.mean(name) for one in found],
                places + shift,
                xerr=[one.deviation(name) for one in found],
                fmt=marker,
                color=colour,
                ms=5,
                lw=0,
                elinewidth=0.9,
                label=f"labels {setting}",
            )
        panel.set_title(_AT.get(name, name), fontsize=10)
        panel.set_yticks(places, methods)
        panel.grid(axis="x", alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, frameon=False)
    return figure


def page(evaluation: Evaluation, title: str, about: Sequence[str], picture: bytes | None) -> str:
    """The report as one HTML file that needs no other."""
    advice = recommend(evaluation)
    body = [f"<h1>{escape(title)}</h1>", html_list([*about, *evaluation.facts.notes])]
    body.append("<h2>Recommended</h2>")
    body.append(f"<p><code>labelspan fit CORPUS {escape(advice.arguments)}</code></p>")
    body.append(html_list(advice.reasons))
    body.append("<h2>Measured</h2>")
    if picture is not None:
        body.append(html_picture(picture, "Each measure for each space"))
    body += [html_table(table) for table in tables(evaluation)]
    body.append(html_list(_how(evaluation)))
    return html_page(title, body)


def _how(evaluation: Evaluation) -> list[str]:
    facts = evaluation.facts
    return [
        f"{facts.folds} folds over the items with labels; the same for all spaces. In every fold "
        f"{facts.held_out} of {facts.labels} labels, drawn anew, are held out.",
        f"nDCG@{NEIGHBOURS} and Jaccard@{NEIGHBOURS}: how well the labels of the nearest training "
        "items, by cosine, agree with those of an item left out.",
        "Macro and micro F1: labels predicted by ridge regression in the space, each for as large "
        "a share of the items as carry it in training. Labels held out are learned on items "
        "that the space has not seen.",
        "Ridge scores: the predictions of a ridge regression of the labels, used as the space.",
        "Numbers are means ± standard deviations over the folds. These differ in the labels held "
        "out, so that deviations are larger than what separates spaces within a fold.",
        "Seconds: to learn the space and to map all items, without counting words.",
    ]


def write_evaluation(
    folder: Path, evaluation: Evaluation, title: str, about: Sequence[str]
) -> tuple[Path, bool]:
    """Write ``report.html``, ``results.json`` and, where matplotlib is there, ``measures.png``.

    Gives the path of the report, and whether there is a picture.
    """
    picture = _picture(evaluation)
    advice = recommend(evaluation)
    content = {
        "facts": asdict(evaluation.facts),
        "recommended": {"options": dict(advice.options), "reasons": list(advice.reasons)},
        "tuned": evaluation.tuned,
        "tried": list(evaluation.tried),
        "records": list(evaluation.results.records),
    }
    files = {
        "results.json": json.dumps(content, indent=1).encode(),
        "report.html": page(evaluation, title, about, picture).encode(),
    }
    if picture is not None:
        files["measures.png"] = picture
    for name, data in files.items():

        def write(file: BinaryIO, data: bytes = data) -> None:
            file.write(data)

        write_whole(folder / name, write)
    return folder / "report.html", picture is not None


def _picture(evaluation: Evaluation) -> bytes | None:
    try:
        figure = draw(evaluation)
    except ImportError:
        return None
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110, metadata={"Software": None})
    return content.getvalue()
