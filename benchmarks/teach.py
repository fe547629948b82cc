"""Teach labels by simulated answers: how early what belongs is asked about, and what is left.

``python -m benchmarks.teach adhd triptans`` simulates the screening of systematic reviews (Cohen
et al. 2006): one included paper and one other to start with, answers by the experts' decisions,
words only and with keywords. Columns: mean position of an included paper as a share of all (lower
is better), work saved at 95% recall, share of the stops at which the interval of what is left
holds the truth (after every ten answers, and where the lesson says that it is enough).
``--asreview FILE`` adds what asreview did with the same papers to start with: a JSON file of
``{seed: [included, other, [order of the rows]]}``.

``netflix`` and ``debtags``: labels of five sizes are hidden from nine of ten of their items, and
found again. Columns: hidden items; share found after as many answers as there are hidden items,
and twice as many; share of the stops with a sentence about what is left. ``time``: CPU time of a
new ranking among 30,000 synthetic items.

``dramas``, ``comedies``, ``library`` and ``commandline`` are labels of many of 500 items, found as
the papers of a review are.

Options were chosen on these, adhd, triptans, and with ``--development`` on other labels of netflix
and debtags; all else is for tests.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import math
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from labelspan import LSI, SemanticIndex
from labelspan.curation import Teacher
from labelspan.datasets import data_home

from .tagging import load_split

__all__ = ["REVIEWS", "hide", "main", "screened", "simulate", "starts"]

REVIEWS = ("adhd", "triptans", "oralhypoglycemics")
# Labels that many of 500 items have, taught as a review is screened.
FREQUENT = {
    "dramas": ("netflix", "Dramas"),
    "comedies": ("netflix", "Comedies"),
    "library": ("debtags", "devel::library"),
    "commandline": ("debtags", "interface::commandline"),
}
# Of the labels of the tests, and of those that options were chosen on.
SIZES, OTHER_SIZES = (600, 300, 150, 75, 40), (500, 220, 110, 55, 30)
Row = dict[str, Any]


def load_review(name: str) -> tuple[list[str], list[list[str]], np.ndarray]:
    """Return texts, keywords, and whether each paper was included, or an item has a label."""
    if name in FREQUENT:
        corpus, label = FREQUENT[name]
        (texts, labels), _ = load_split(corpus)
        rows = np.random.default_rng(7).permutation(len(texts))[:500].tolist()
        own = [list(labels[row] or ()) for row in rows]
        truth = np.array([label in one for one in own])
        rest = [[one for one in names if one != label] for names in own]
        return [texts[row] for row in rows], rest, truth
    path = data_home() / f"corpora/cohen_{name}.csv.gz"
    with io.TextIOWrapper(gzip.open(path), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [f"{row['title']}\n{row['abstract']}" for row in rows]
    words = [[one.strip() for one in row["keywords"].split("; ") if one.strip()] for row in rows]
    return texts, words, np.array([row["label_included"] == "1" for row in rows])


def starts(truth: np.ndarray, seed: int) -> tuple[int, int]:
    """Draw one row that belongs and one that does not."""
    rng = np.random.default_rng(seed)
    first = int(rng.choice(np.flatnonzero(truth)))
    return first, int(rng.choice(np.flatnonzero(~truth)))


def simulate(teacher: Teacher, truth: dict[str, bool], most: int) -> tuple[list[str], list[Row]]:
    """Answer until all that belongs is found; return the order, and the estimate at every stop."""
    order: list[str] = []
    stops: list[Row] = []
    missing = {name for name, one in truth.items() if one} - set(teacher.answers())
    missing -= _members(teacher)
    while missing and len(order) < most:
        for question in teacher.questions(5):
            teacher.answer(question.item, "yes" if truth[question.item] else "no")
            order.append(question.item)
            missing.discard(question.item)
        if len(order) % 10 == 0:
            done = teacher.progress()
            if done.left is not None:
                inside = done.left.low <= len(missing) <= done.left.high
                told = "left (" in done.said
                stops.append({"inside": inside, "told": told, "enough": done.enough})
    return order, stops


def _members(teacher: Teacher) -> set[str]:
    names, store = teacher.index.store.ids_by_row(), teacher.index.store
    if teacher.label not in store.labels.totals:
        return set()
    return {names[row] for row in store.labels.rows(teacher.label).tolist()}


def screened(order: list[int], truth: np.ndarray, count: int) -> tuple[float, float]:
    """Return the mean position of what belongs, and the work saved at 95% recall."""
    positions = np.flatnonzero(truth[np.array(order)]) + 1
    needed = positions[math.ceil(0.95 * len(positions)) - 1]
    return float(positions.mean() / count), float(0.95 - needed / count)


def review(name: str, seeds: int, peer: Path | None) -> list[Row]:
    """Simulate the screening of a review, by words and with keywords."""
    texts, keywords, truth = load_review(name)
    known = {str(row): bool(one) for row, one in enumerate(truth)}
    lines = []
    for what, labels in (("words", None), ("with keywords", keywords)):
        found, every, ends = [], [], []
        started = time.process_time()
        index = SemanticIndex(LSI()).fit(texts, labels)
        for seed in range(seeds):
            yes, no = starts(truth, seed)
            teacher = Teacher(index, f"included, start {seed}", items=str(yes))
            teacher.answer(str(no), "no")
            order, stops = simulate(teacher, known, len(texts))
            found.append(screened([int(one) for one in order], truth, len(texts) - 2))
            every += [one["inside"] for one in stops]
            ends += [one["inside"] for one in stops if one["enough"]][:1]
        position, saved = np.mean(found, axis=0)
        line: Row = {"set": name, "method": f"labelspan, {what}", "mean position": position}
        line |= {"work saved": saved, "in the interval": float(np.mean(every))}
        line |= {"at enough": f"{sum(ends)} of {len(ends)}"}
        lines.append(line | {"CPU s": time.process_time() - started})
    if peer is not None:
        orders = json.loads(peer.read_text(encoding="utf-8"))
        each = [
            screened(orders[str(seed)][2], truth, len(texts) - 2)
            for seed in range(seeds)
            if tuple(orders[str(seed)][:2]) == starts(truth, seed)
        ]
        position, saved = np.mean(each, axis=0)
        lines.append(
            {"set": name, "method": "asreview", "mean position": position, "work saved": saved}
        )
    return lines


def hide(
    labels: list[list[str]], sizes: tuple[int, ...], seed: int, without: Collection[str] = ()
) -> dict[str, list[int]]:
    """Choose labels of about some sizes; return the rows from which each is hidden: nine of ten."""
    counts: dict[str, list[int]] = {}
    for row, own in enumerate(labels):
        for label in own:
            counts.setdefault(label, []).append(row)
    rng = np.random.default_rng(seed)
    found: dict[str, list[int]] = {}
    for size in sizes:
        rest = [label for label in sorted(counts) if label not in {*found, *without}]
        label = min(rest, key=lambda one: abs(len(counts[one]) - size))
        rows = rng.permutation(counts[label]).tolist()
        found[label] = sorted(rows[max(2, len(rows) // 10) :])
    return found


def hidden(name: str, rows: int, *, development: bool) -> list[Row]:
    """Find labels again that were hidden from nine of ten of their items."""
    (texts, labels), _ = load_split(name)
    chosen = np.random.default_rng(1).permutation(len(texts))[:rows].tolist()
    texts, labels = [texts[n] for n in chosen], [list(set(labels[n] or ())) for n in chosen]
    gone = hide(labels, SIZES, seed=2)
    if development:
        gone = hide(labels, OTHER_SIZES, seed=3, without=gone)
    shown = [
        [label for label in own if label not in gone or row not in set(gone[label])]
        for row, own in enumerate(labels)
    ]
    index = SemanticIndex(LSI()).fit(texts, shown)
    lines = []
    for label, away in gone.items():
        started = time.process_time()
        truth = {str(row): label in own for row, own in enumerate(labels)}
        order, stops = simulate(Teacher(index, label), truth, 2 * len(away))
        hit = np.cumsum([truth[item] and int(item) in set(away) for item in order])
        line: Row = {"set": name, "label": label, "hidden": len(away)}
        for part, number in (("found at 1x", len(away)), ("found at 2x", 2 * len(away))):
            line[part] = float(hit[min(number, len(hit)) - 1] / len(away))
        inside = [one["inside"] for one in stops]
        line["in the interval"] = float(np.mean(inside)) if inside else None
        line["told"] = float(np.mean([one["told"] for one in stops])) if stops else None
        lines.append(line | {"answers": len(order), "CPU s": time.process_time() - started})
    return lines


def ranking_time(count: int) -> list[Row]:
    """Measure the CPU time of a new ranking, after 20 to 500 answers."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{n}" for n in range(20_000)])
    chance = 1.0 / np.arange(1, len(words) + 1)
    chance /= chance.sum()
    texts = [" ".join(rng.choice(words, 60, p=chance)) for _ in range(count)]
    labels = [[f"label{n}" for n in rng.integers(0, 50, 3)] for _ in range(count)]
    index = SemanticIndex(LSI(20)).fit(texts, labels)
    teacher = Teacher(index, "new", items="0")
    lines = []
    for answers in (20, 100, 300, 500):
        for name, work in (("questions", teacher.questions), ("progress", teacher.progress)):
            times = []
            for _ in range(5):
                # After five answers more the ranking is new.
                known = len(teacher.answers())
                for row in range(known, max(answers, known + 5)):
                    teacher.answer(str(row), "yes" if row % 5 == 0 else "no")
                started = time.process_time()
                work()
                times.append(time.process_time() - started)
            line: Row = {"set": f"{count:,} items", "answers": answers, "what": name}
            lines.append(line | {"CPU ms": 1000 * float(np.median(times[1:]))})
    return lines


def main() -> None:
    """Print the tables of some sets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=["adhd", "triptans"])
    parser.add_argument("--seeds", type=int, default=10, help="of papers to start with")
    parser.add_argument("--asreview", type=Path, help="orders of asreview")
    parser.add_argument("--rows", type=int, default=4000, help="of netflix or debtags")
    parser.add_argument("--development", action="store_true", help="other labels of these")
    asked = parser.parse_args()
    for name in asked.sets:
        if name == "time":
            lines = ranking_time(30_000)
        elif name in (*REVIEWS, *FREQUENT):
            lines = review(name, asked.seeds, asked.asreview)
        else:
            lines = hidden(name, asked.rows, development=asked.development)
        print("|", " | ".join(lines[0]), "|")
        print("|", " | ".join("---" for _ in lines[0]), "|")
        for line in lines:
            cells = (f"{one:.3f}" if isinstance(one, float) else str(one) for one in line.values())
            print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
