"""The report of a comparison: tables, a figure, an HTML page and a recommendation."""

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
from .comparison import SETTINGS, TUNED, Evaluation, overall
from .html_report import ReportTable, html_list, html_page, html_picture, html_table
from .measurements import Results
from .search_quality import SearchEvaluation, search_tables
from .spaces import ESTIMATORS, MEASURES, NEIGHBOURS, RAW, RIDGE
from .tag_quality import TaggingEvaluation, tagging_table

__all__ = ["Recommendation", "draw", "page", "recommend", "tables", "write_evaluation"]

_AT = {name: f"{name}@{NEIGHBOURS}" for name in ("nDCG", "Jaccard")}
_TITLES = {
    "seen": "Labels seen in training (setting I)",
    "held out": "Labels held out (setting II)",
}
_NOTES = {
    "seen": "The methods were fitted on these labels, on other items.",
    "held out": "No method was fitted on these labels: how well it works for new labels.",
}
_TAGGING = (
    "Most frequent: the same labels for every item. Linear SVM: one per label, on TF-IDF of words "
    "and pairs of words, with the threshold of the best micro F1 on a fifth of the items learned "
    "from. labelspan: the tagger of an index.",
)


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
    """Recommend the method with the best mean of macro F1 and nDCG over both settings.

    The default hyperparameters of MLSI are kept unless the tuned ones are better by more than
    the standard error of the difference over folds.
    """
    results = evaluation.results
    scores = {name: overall(results.only(method=name)) for name in results.distinct("method")}
    spaces = [name for name in scores if name in ESTIMATORS or name == TUNED]
    best = max(spaces, key=lambda name: scores[name])
    reasons = []
    if best == TUNED and not _surely_better(results, TUNED, "MLSI"):
        best = "MLSI"
        reasons.append("Tuned hyperparameters of MLSI were not significantly better.")
    others = ", ".join(f"{name} {scores[name]:.3f}" for name in (RAW, "LSI") if name in scores)
    reasons.insert(
        0,
        f"{best} scores {scores[best]:.3f}, compared with {others}: the mean of macro F1 and nDCG "
        "over labels seen in training and held-out labels.",
    )
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


def tables(evaluation: Evaluation) -> list[ReportTable]:
    """Make a table for each setting, and one of the tuning of MLSI."""
    made = []
    for setting in SETTINGS:
        here = evaluation.results.only(setting=setting)
        rows = []
        for method in here.distinct("method"):
            found = here.only(method=method)
            cells = [f"{found.mean(name):.3f} ± {found.deviation(name):.3f}" for name in MEASURES]
            seconds = "-" if method == RAW else f"{found.mean('seconds'):.1f}"
            rows.append((method, f"{found.mean('dimensions'):,.0f}", *cells, seconds))
        head = ("method", "dimensions", *(_AT.get(name, name) for name in MEASURES), "seconds")
        made.append(ReportTable(_TITLES[setting], head, rows, _NOTES[setting]))
    if evaluation.tried:
        best = sorted(evaluation.tried, key=lambda one: -one["score"])[:10]
        rows = [
            (f"{one['dimensions']}", f"{one['alpha']:g}", f"{one['beta']:g}", f"{one['score']:.3f}")
            for one in best
        ]
        note = (
            f"The best {len(rows)} of {len(evaluation.tried)} candidates, on a part of the first "
            "fold's training items; the score is the mean of macro F1 and nDCG over labels seen "
            "in training and held-out labels."
        )
        made.append(
            ReportTable("Tuning of MLSI", ("dimensions", "alpha", "beta", "score"), rows, note)
        )
    return made


def draw(evaluation: Evaluation) -> Any:
    """Draw a panel for each measure with a line for each method; needs matplotlib."""
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


def page(
    evaluation: Evaluation,
    title: str,
    about: Sequence[str],
    picture: bytes | None,
    command: str = "labelspan fit CORPUS",
    *,
    search: SearchEvaluation | None = None,
    tagging: TaggingEvaluation | None = None,
) -> str:
    """Write the report as one self-contained HTML file.

    ``command`` reads the same corpus; the recommended options are added to it.
    """
    advice = recommend(evaluation)
    body = [f"<h1>{escape(title)}</h1>", html_list([*about, *evaluation.facts.notes])]
    body.append("<h2>Recommended</h2>")
    body.append(f"<p><code>{escape(command)} {escape(advice.arguments)}</code></p>")
    body.append(html_list(advice.reasons))
    body.append("<h2>Measurements</h2>")
    if picture is not None:
        body.append(html_picture(picture, "Each measure for each method"))
    body += [html_table(table) for table in tables(evaluation)]
    body.append(html_list(_how(evaluation)))
    if tagging is not None:
        body.append("<h2>Tags</h2>")
        body.append(html_table(tagging_table(tagging)))
        body.append(html_list([*_TAGGING, *tagging.notes]))
    if search is not None:
        body.append("<h2>Search</h2>")
        body += [html_table(table) for table in search_tables(search)]
        body.append(html_list(search.notes))
    return html_page(title, body)


def _how(evaluation: Evaluation) -> list[str]:
    facts = evaluation.facts
    return [
        f"{facts.folds} folds over the items with labels, the same for all methods. In every fold "
        f"{facts.held_out} of {facts.labels} labels, chosen at random, are held out.",
        f"nDCG@{NEIGHBOURS} and Jaccard@{NEIGHBOURS}: how well the labels of the nearest training "
        "items, by cosine, agree with those of a test item.",
        "Macro and micro F1: labels predicted by ridge regression in the space, each for the same "
        "share of the items as in training. For held-out labels the regression is fitted on "
        "items that were not used to fit the method.",
        "Ridge scores: the predictions of a ridge regression of the labels, used as the space.",
        "Numbers are means ± standard deviations over the folds. The folds hold out different "
        "labels, so deviations are larger than the differences of methods within a fold.",
        "Seconds: to fit the method and transform all items, without counting words.",
    ]


def write_evaluation(
    folder: Path,
    evaluation: Evaluation,
    title: str,
    about: Sequence[str],
    command: str = "labelspan fit CORPUS",
    *,
    search: SearchEvaluation | None = None,
    tagging: TaggingEvaluation | None = None,
) -> tuple[Path, bool]:
    """Write ``report.html``, ``results.json`` and, with matplotlib, ``measures.png``.

    Returns the path of the report, and whether there is a figure.
    """
    picture = _picture(evaluation)
    advice = recommend(evaluation)
    content = {
        "facts": asdict(evaluation.facts),
        "recommended": {
            "command": f"{command} {advice.arguments}",
            "options": dict(advice.options),
            "reasons": list(advice.reasons),
        },
        "tuned": evaluation.tuned,
        "tried": list(evaluation.tried),
        "records": list(evaluation.results.records),
        "search": None if search is None else list(search.results.records),
        "tagging": None if tagging is None else list(tagging.results.records),
    }
    files = {
        "results.json": json.dumps(content, indent=1).encode(),
        "report.html": page(
            evaluation, title, about, picture, command, search=search, tagging=tagging
        ).encode(),
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
