"""Stop a lesson when it says that enough is found: how much was found then, and what it cost.

``python -m benchmarks.stopping adhd netflix`` simulates reviews (see :mod:`.teach`) and labels of
other sets to the end, from one item that belongs and one other: ``--labels`` of them at random
among those that 10 items to a third of ``--rows`` have, hidden everywhere, other labels shown, from
``--starts`` starts. Columns: share of the lessons in which the promise was true when it was first
given, the least that was found, share of the items that were read then, and that had to be read;
share of the stops, after every ten answers, at which what is left was in
the interval; promises that were withdrawn though no more was found than the interval allowed.

The ranking and the estimate are those of the package; inner products of all items are computed
once, which is faster. ``--development`` takes other items and labels: the level of the rule was
chosen on these, adhd and triptans.
"""

from __future__ import annotations

import argparse
import math
from functools import cached_property
from typing import Any

import numpy as np

from labelspan import LSI, SemanticIndex
from labelspan.curation.lesson_model import LessonFeatures, LessonModel
from labelspan.curation.stopping import StoppingRule
from labelspan.curation.teach import BATCH

from .tagging import load_split
from .teach import FREQUENT, REVIEWS, load_review, starts

__all__ = ["lesson", "main", "measure"]

Row = dict[str, Any]
# Most answers that a lesson learns from, and rounds from one near miss to the next.
_LEARNED, _NEAR = 500, 4


class _Products(LessonFeatures):
    """Inner products of all items."""

    def __init__(self, index: SemanticIndex) -> None:
        super().__init__(index, "")
        parts = zip(self.shares, (self.words, self.labels), strict=True)
        self.every = sum(share * (part @ part.T).toarray() for share, part in parts)

    def gram(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.every[np.ix_(rows, rows)], dtype=np.float64)


class _Model(LessonModel):
    @cached_property
    def scores(self) -> np.ndarray:
        scores = self.features.every[:, self.rows] @ self.coefficients + self.coefficients.sum()
        scores[self.rows] = self.left_out
        return np.asarray(scores)


def lesson(features: _Products, truth: np.ndarray, seed: int, target: float) -> Row:
    """Answer about all items, and note at every stop what is said about the target."""
    yes, no = starts(truth, seed)
    answers, count = {yes: True, no: False}, len(truth)
    first: tuple[float, float] | None = None
    promised: int | None = None
    inside, withdrawn = [], 0
    while len(answers) < count:
        model = _Model(features, dict([*answers.items()][-_LEARNED:]))
        rest = np.setdiff1d(np.arange(count), [*answers])
        order = rest[np.argsort(-model.scores[rest], kind="stable")].tolist()
        if len(answers) // BATCH % _NEAR == _NEAR - 1:
            doubtful = rest[model.probabilities(rest) < 0.5]
            near = int(doubtful[np.argmax(model.scores[doubtful])]) if doubtful.size else order[0]
            if near not in order[:BATCH]:
                order.insert(BATCH - 1, near)
        if len(answers) >= 10 and len(answers) // BATCH % 2 == 0:
            found = sum(answers.values())
            rule = StoppingRule(target, [*answers.values()], len(rest))
            left = model.left(rest, rule.limit)
            if promised is not None and found <= promised:
                withdrawn += not rule.enough
            elif rule.enough:
                promised = found + rule.limit
            if rule.enough and first is None:
                first = found / int(truth.sum()), len(answers) / count
            inside.append(left.low <= np.count_nonzero(truth[rest]) <= left.high)
        for row in order[:BATCH]:
            answers[row] = bool(truth[row])
    positions = np.flatnonzero([*answers.values()]) + 1
    return {
        "stop": first or (1.0, 1.0),
        "needed": positions[math.ceil(target * len(positions)) - 1] / count,
        "inside": inside,
        "withdrawn": withdrawn,
    }


def measure(name: str, lessons: list[Row], target: float) -> Row:
    """Return a line of the table from the lessons of a set."""
    found, read = np.array([one["stop"] for one in lessons]).T
    return {
        "set": name,
        "lessons": len(lessons),
        "kept": float(np.mean(found >= target - 1e-9)),
        "least found": float(found.min()),
        "read": float(read.mean()),
        "needed": float(np.mean([one["needed"] for one in lessons])),
        "in the interval": float(np.mean([two for one in lessons for two in one["inside"]])),
        "withdrawn": sum(one["withdrawn"] for one in lessons),
    }


def reviewed(name: str, count: int, target: float) -> list[Row]:
    """Simulate a review, by words and with keywords."""
    texts, keywords, truth = load_review(name)
    found = []
    for labels in (None, keywords):
        features = _Products(SemanticIndex(LSI(5)).fit(texts, labels))
        found += [lesson(features, truth, seed, target) for seed in range(count)]
    return found


def labelled(
    name: str, rows: int, labels: int, count: int, target: float, *, development: bool
) -> list[Row]:
    """Simulate lessons of some labels, hidden everywhere."""
    (texts, lists), _ = load_split(name)
    rng = np.random.default_rng(101 if development else 202)
    kept = rng.permutation([n for n, own in enumerate(lists) if own])[:rows].tolist()
    texts, own = [texts[n] for n in kept], [set(lists[n]) for n in kept]
    names = sorted(set().union(*own))
    known = [one for one in names if 10 <= sum(one in them for them in own) <= rows // 3]
    found = []
    for label in sorted(rng.permutation(known)[:labels].tolist()):
        truth = np.array([label in one for one in own])
        index = SemanticIndex(LSI(5)).fit(texts, [sorted(one - {label}) for one in own])
        features = _Products(index)
        found += [lesson(features, truth, seed, target) for seed in range(count)]
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=["adhd", "triptans"])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--rows", type=int, default=700)
    parser.add_argument("--target", type=float, default=0.95)
    parser.add_argument("--development", action="store_true", help="other items and labels")
    asked = parser.parse_args()
    for n, name in enumerate(asked.sets):
        if name in (*REVIEWS, *FREQUENT):
            lessons = reviewed(name, asked.starts, asked.target)
        else:
            sizes = asked.rows, asked.labels, asked.starts, asked.target
            lessons = labelled(name, *sizes, development=asked.development)
        line = measure(name, lessons, asked.target)
        if not n:
            print("|", " | ".join(line), "|")
            print("|", " | ".join("---" for _ in line), "|")
        cells = (f"{one:.3f}" if isinstance(one, float) else str(one) for one in line.values())
        print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
