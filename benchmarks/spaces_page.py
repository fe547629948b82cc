"""Tables of ``spaces_quality``: its record, results/spaces_quality.md and docs/choosing.md.

``python -m benchmarks.spaces_page RESULTS`` reads the folder of a run, writes the record
(results/records/spaces_quality.json) and puts the tables into the pages, between ``<!-- table: NAME
-->`` and ``<!-- end of table -->``. Without a folder the tables come from the record. Results of
other packages that the run lacks stay in the record. In every column of a table the best number is
bold. A test compares the pages with the record.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import labelspan

from .spaces_data import DEVELOPMENT, SETS, TEST
from .spaces_quality import MEASURES, METHODS, SETTINGS, read_records

__all__ = ["PAGES", "RECORD", "main", "put", "summarise", "tables"]

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "results" / "records" / "spaces_quality.json"
PAGES = (ROOT / "results" / "spaces_quality.md", ROOT / "docs" / "choosing.md")
GROUPS = {"development": DEVELOPMENT, "test": TEST}
SHARES = ("25%", "10%", "5%")
# Methods of other packages, which do not run on every set.
PEERS = ("PLSRegression", "PCovR", "UMAP")
SPACES = ("raw", "LSI", "MLSI", "OPLS", "CCA", "HSL", "ridge")
# With unlabelled rows, and without.
PAIRS = {"MLSI": "MLSI, labelled", "DLE": "DLE, labelled", "LPP": "LPP, labelled"}
NAMES = {
    "raw": "all features",
    "ridge": "ridge scores",
    "MLSI, placed": "`MLSI`, items embedded with their labels",
    "MLSI, labelled": "`MLSI`, labelled rows only",
    "PLSRegression": "scikit-learn's PLSRegression",
    "PCovR": "scikit-matter's PCovR",
    "UMAP": "UMAP, supervised",
}
_BLOCK = re.compile(r"(<!-- table: (?P<name>[\w -]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
Values = Mapping[str, Any]


def key(name: str) -> str:
    """Write a name without spaces, as the marks behind numbers need it."""
    return name.replace(", ", "-").replace(" ", "-")


def summarise(records: Sequence[Mapping[str, Any]], before: Values | None = None) -> dict[str, Any]:
    """Average results over splits, then over the sets of a group.

    Results of other packages that were not measured again are taken from the record ``before``.
    """
    found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for one in records:
        if not one["quick"] and "nDCG" in one:
            found.setdefault((one["setting"], one["method"], one["set"]), []).append(one)
    by_set: dict[str, Any] = {}
    for (setting, method, name), runs in found.items():
        values = {m: round(float(np.mean([run[m] for run in runs])), 4) for m in MEASURES}
        place = by_set.setdefault(key(setting), {}).setdefault(key(method), {})
        place[name] = {key(m): value for m, value in values.items()}
    for setting, methods in ({} if before is None else before["by-set"]).items():
        for method in PEERS:
            if method in methods:
                by_set.setdefault(setting, {}).setdefault(method, methods[method])
    rows = {one["set"]: [one["rows"], 0] for one in records}
    for one in records:
        rows[one["set"]][1] = max(rows[one["set"]][1], one["labels"])
    out: dict[str, Any] = {
        "version": labelspan.__version__,
        "made by": "python -m benchmarks.spaces_quality, then python -m benchmarks.spaces_page",
        "commits": sorted({one["commit"] for one in records if one.get("commit")}),
        "splits": 1 + max(one["split"] for one in records),
        "sets": {n: {"rows": rows[n][0], "labels": rows[n][1]} for n in SETS if n in rows},
    }
    for group, names in GROUPS.items():
        out[group] = {
            setting: {
                method: _mean({n: sets[n] for n in names if n in sets})
                for method, sets in methods.items()
                if any(n in sets for n in names)
            }
            for setting, methods in by_set.items()
        }
    out["by-set"] = by_set
    out["unlabelled"] = _unlabelled(by_set)
    return out


def _mean(by_set: Mapping[str, Values]) -> dict[str, Any]:
    means = {
        key(m): round(float(np.mean([one[key(m)] for one in by_set.values()])), 4) for m in MEASURES
    }
    return {**means, "sets": len(by_set)}


def _unlabelled(by_set: Values) -> dict[str, Any]:
    """Return what unlabelled rows add: the mean over sets, and the set where they hurt most."""
    out: dict[str, Any] = {}
    for whole, part in PAIRS.items():
        for setting in SHARES:
            one, two = by_set.get(setting, {}).get(whole), by_set.get(setting, {}).get(key(part))
            if not one or not two:
                continue
            place = out.setdefault(whole, {}).setdefault(setting, {})
            for m in map(key, MEASURES):
                gains = {name: one[name][m] - two[name][m] for name in one if name in two}
                worst = min(gains, key=lambda name: gains[name])
                mean = round(float(np.mean(list(gains.values()))), 4)
                place[m] = {"mean": mean, "worst": round(gains[worst], 4), "where": worst}
                place["sets"] = len(gains)
    return out


def tables(record: Values) -> dict[str, str]:
    """Return the tables by name, as Markdown."""
    made = {
        "sets": _sets(record),
        "neighbours": _columns(
            record,
            [*SPACES, "MLSI, placed"],
            [("test", "100%", m) for m in ("nDCG", "macro F1", "micro F1")],
            ["nDCG@10", "macro F1", "micro F1"],
        ),
        "few labels": _columns(
            record,
            [*SPACES],
            [("test", s, m) for m in ("nDCG", "AP") for s in SHARES],
            [f"{m}, {s}" for m in ("nDCG@10", "AP") for s in SHARES],
        ),
        "held out": _columns(
            record,
            [*SPACES, "MLSI, placed"],
            [
                ("test", "held out", "nDCG"),
                ("test", "held out", "AP"),
                ("test", "held out", "macro F1"),
            ],
            ["nDCG@10", "AP", "macro F1"],
        ),
        "unlabelled": _gains(record),
        "peers": _peers(record),
    }
    for group in GROUPS:
        for setting in SETTINGS:
            if key(setting) in record[group]:
                made[f"{group} {setting.rstrip('%')}"] = _group(record, group, setting)
        for measure in ("nDCG", "AP"):
            made[f"{group} {measure} by set"] = _by_set(record, group, measure)
    return made


def put(text: str, made: Mapping[str, str]) -> str:
    """Put tables into a page."""
    return _BLOCK.sub(lambda block: f"{block[1]}\n{made[block['name']]}\n\n{block[3]}", text)


def _name(method: str) -> str:
    return NAMES.get(method, method if method not in METHODS else f"`{method}`")


def _value(record: Values, group: str, setting: str, method: str, measure: str) -> float | None:
    found = record[group].get(key(setting), {}).get(key(method))
    return None if found is None else float(found[key(measure)])


def _columns(
    record: Values,
    methods: Sequence[str],
    columns: Sequence[tuple[str, str, str]],
    head: Sequence[str],
) -> str:
    cells = [
        [_value(record, group, setting, method, measure) for group, setting, measure in columns]
        for method in methods
    ]
    return _markdown(["", *head], [_name(method) for method in methods], cells)


def _group(record: Values, group: str, setting: str) -> str:
    found = record[group][key(setting)]
    methods = [name for name in METHODS if key(name) in found]
    most = max(one["sets"] for one in found.values())
    cells = [[found[key(name)][key(m)] for m in MEASURES] for name in methods]
    few = [found[key(name)]["sets"] < most for name in methods]
    names = [
        f"{_name(name)}, {found[key(name)]['sets']} sets" if part else _name(name)
        for name, part in zip(methods, few, strict=True)
    ]
    return _markdown(["", "nDCG@10", *MEASURES[1:]], names, cells, apart=few)


def _by_set(record: Values, group: str, measure: str) -> str:
    found = record["by-set"]["100%"]
    names = [name for name in GROUPS[group] if name in record["sets"]]
    methods = [name for name in METHODS if any(n in found.get(key(name), {}) for n in names)]
    cells = [[found[key(name)].get(n, {}).get(key(measure)) for n in names] for name in methods]
    return _markdown(["", *names], [_name(name) for name in methods], cells)


def _sets(record: Values) -> str:
    lines = [("set", "use", "training rows", "labels"), ("---",) * 4]
    for name, size in record["sets"].items():
        group = next(group for group, names in GROUPS.items() if name in names)
        lines.append((name, group, f"{size['rows']:,}", str(size["labels"])))
    return "\n".join(_line(line) for line in lines)


def _gains(record: Values) -> str:
    lines = [
        ["", "labelled", "sets", "nDCG@10, mean", "worst set", "AP, mean", "worst set"],
        ["---"] * 7,
    ]
    for method, settings in record["unlabelled"].items():
        for setting, found in settings.items():
            cells = [f"`{method}`", setting, str(found["sets"])]
            for measure in ("nDCG", "AP"):
                one = found[measure]
                cells += [_signed(one["mean"]), f"{_signed(one['worst'])} ({one['where']})"]
            lines.append(cells)
    return "\n".join(_line(line) for line in lines)


def _peers(record: Values) -> str:
    """Compare each peer with the methods of the package on the sets where it ran."""
    by_set = record["by-set"]["100%"]
    ours = ("MLSI", "OPLS", "CCA")
    lines = [["", "sets", "nDCG@10", *(f"`{n}` there" for n in ours), "AP", "`OPLS` there"]]
    lines.append(["---"] * len(lines[0]))
    for peer in PEERS:
        names = list(by_set.get(peer, {}))
        if not names:
            continue
        near = [float(np.mean([by_set[n][one]["nDCG"] for one in names])) for n in (peer, *ours)]
        scores = [float(np.mean([by_set[n][one]["AP"] for one in names])) for n in (peer, "OPLS")]
        cells = [*_bold_row(near), *_bold_row(scores)]
        lines.append([_name(peer), str(len(names)), *cells])
    return "\n".join(_line(line) for line in lines)


def _bold_row(values: Sequence[float]) -> list[str]:
    shown = [_number(value) for value in values]
    best = max(shown)
    return [f"**{text}**" if text == best else text for text in shown]


def _markdown(
    head: Sequence[str],
    names: Sequence[str],
    cells: Sequence[Sequence[float | None]],
    apart: Sequence[bool] | None = None,
) -> str:
    """Write a table with the best number of each column in bold; not among rows set apart."""
    apart = apart or [False] * len(names)
    shown = [[_number(value) for value in row] for row in cells]
    best = [
        max((row[j] for row, out in zip(shown, apart, strict=True) if row[j] and not out))
        for j in range(len(head) - 1)
    ]
    lines = [_line(head), _line(["---"] * len(head))]
    for name, row, out in zip(names, shown, apart, strict=True):
        bold = [f"**{v}**" if v == top and not out else v for v, top in zip(row, best, strict=True)]
        lines.append(_line([name, *bold]))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".lstrip("0")


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".", 1)


def _compact(record: Values) -> str:
    """Write JSON with the innermost mappings on one line each."""
    text = json.dumps(record, indent=1)
    inner = re.compile(r"\{\s+([^{}]*?)\s+\}")
    return inner.sub(lambda found: "{" + " ".join(found[1].split()) + "}", text) + "\n"


def main() -> None:
    """Write the record of a run, if one is given, and the pages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", nargs="?", type=Path, help="folder of spaces_quality")
    folder = parser.parse_args().results
    if folder is not None:
        before = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else None
        record = summarise(read_records(folder), before)
        RECORD.write_text(_compact(record), encoding="utf-8")
    made = tables(json.loads(RECORD.read_text(encoding="utf-8")))
    for page in PAGES:
        page.write_text(put(page.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
