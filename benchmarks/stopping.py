"""Stop a lesson when it says that enough is found: how much was found then, and what it cost.

``python -m benchmarks.stopping adhd netflix`` simulates reviews (see :mod:`.teach`), by words and
with keywords, and labels of other sets to the end, from one item that belongs and one other:
``--labels`` of them at random among those that 10 items to a third of ``--rows`` have, hidden
everywhere, other labels shown, from ``--starts`` starts. Columns: share of the lessons in which
the target was reached when this was first said, the least that was found, share of the items that
were read then, that had to be read, mean position of what belongs, and work saved at 95% recall.

The ranking and the rule are those of the package; inner products of all items are computed once,
which is faster. ``--levels`` tries others than that of the rule, which was chosen with
``--development`` (other items and labels), on adhd and on triptans.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

from labelspan import LSI, SemanticIndex
from labelspan.curation.lesson_model import LessonFeatures, LessonModel
from labelspan.curation.stopping import LEVEL, chance_to_miss
from labelspan.curation.teach import BATCH

from .tagging import load_split
from .teach import FREQUENT, REVIEWS, load_review, screened, starts

__all__ = ["lesson", "main", "measure"]

Row = dict[str, Any]
# Most answers that a lesson learns from, rounds from one near miss to the next, fewest answers
# after which it says what is left.
_LEARNED, _NEAR, _FEWEST = 500, 4, 10


class _Products(LessonFeatures):
    """Inner products of all items."""

    def __init__(self, index: SemanticIndex, label: str = "") -> None:
        super().__init__(index, label)
        parts = zip(self.shares, (self.words, self.labels), strict=True)
        self.every = sum(share * (part @ part.T).toarray() for share, part in parts)

    def gram(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.every[np.ix_(rows, rows)], dtype=np.float64)


def lesson(features: _Products, truth: np.ndarray, seed: int, target: float) -> Row:
    """Answer about all items, and note after every five what speaks against the target."""
    yes, no = starts(truth, seed)
    answers, count = {yes: True, no: False}, len(truth)
    stops = []
    while len(answers) < count:
        model = LessonModel(features, dict([*answers.items()][-_LEARNED:]))
        rest = np.setdiff1d(np.arange(count), [*answers])
        scores = features.every[np.ix_(rest, model.rows)] @ model.coefficients
        order = rest[np.argsort(-scores, kind="stable")].tolist()
        if len(answers) // BATCH % _NEAR == _NEAR - 1:
            doubtful = rest[model.probabilities(rest) < 0.5]
            near = int(doubtful[np.argmax(model.scores[doubtful])]) if doubtful.size else order[0]
            if near not in order[:BATCH]:
                order.insert(BATCH - 1, near)
        if len(answers) >= _FEWEST:
            # What the lesson began with counts as found, and not as an answer to a question.
            belong = [*answers.values()][2:]
            chance = chance_to_miss(belong, len(rest), target, members=1)
            stops.append((chance, sum(belong) + 1, len(answers)))
        for row in order[:BATCH]:
            answers[row] = bool(truth[row])
    order, size = np.array([*answers]), int(truth.sum())
    position, saved = screened(order[2:].tolist(), truth, count - 2)
    positions = np.flatnonzero(truth[order]) + 1
    return {
        "stops": [*stops, (0.0, size, count)],
        "items": (size, count),
        "needed": positions[math.ceil(target * size) - 1] / count,
        "mean position": position,
        "work saved": saved,
    }


def measure(name: str, lessons: list[Row], target: float, level: float) -> Row:
    """Return a line of the table from the lessons of a set."""
    found, read = [], []
    for one in lessons:
        size, count = one["items"]
        _, yes, answers = next(stop for stop in one["stops"] if stop[0] <= level)
        found.append(yes / size)
        read.append(answers / count)
    return {
        "set": name,
        "level": level,
        "lessons": len(lessons),
        "kept": float(np.mean(np.array(found) >= target - 1e-9)),
        "least found": min(found),
        "read": float(np.mean(read)),
        **{
            key: float(np.mean([one[key] for one in lessons]))
            for key in ("needed", "mean position", "work saved")
        },
    }


def reviewed(name: str, count: int, target: float) -> dict[str, list[Row]]:
    """Simulate a review, by words and with keywords."""
    texts, keywords, truth = load_review(name)
    found = {}
    for what, labels in (("words", None), ("with keywords", keywords)):
        features = _Products(SemanticIndex(LSI(5)).fit(texts, labels))
        lessons = [lesson(features, truth, seed, target) for seed in range(count)]
        found[f"{name}, {what}"] = lessons
    return found


def labelled(
    name: str, rows: int, labels: int, count: int, target: float, *, development: bool
) -> dict[str, list[Row]]:
    """Simulate lessons of some labels, hidden everywhere."""
    (texts, lists), _ = load_split(name)
    rng = np.random.default_rng(101 if development else 202)
    kept = rng.permutation([n for n, own in enumerate(lists) if own])[:rows].tolist()
    own = [set(lists[n]) for n in kept]
    names = sorted(set().union(*own))
    known = [one for one in names if 10 <= sum(one in them for them in own) <= rows // 3]
    index = SemanticIndex(LSI(5)).fit([texts[n] for n in kept], [sorted(one) for one in own])
    found = []
    for label in sorted(rng.permutation(known)[:labels].tolist()):
        truth, features = np.array([label in one for one in own]), _Products(index, label)
        found += [lesson(features, truth, seed, target) for seed in range(count)]
    return {name: found}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=["adhd", "triptans"])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--rows", type=int, default=700)
    parser.add_argument("--target", type=float, default=0.95)
    parser.add_argument("--levels", type=float, nargs="+", default=[LEVEL])
    parser.add_argument("--development", action="store_true", help="other items and labels")
    asked = parser.parse_args()
    for n, name in enumerate(asked.sets):
        if name in (*REVIEWS, *FREQUENT):
            sets = reviewed(name, asked.starts, asked.target)
        else:
            sizes = asked.rows, asked.labels, asked.starts, asked.target
            sets = labelled(name, *sizes, development=asked.development)
        lines = [
            measure(one, lessons, asked.target, level)
            for one, lessons in sets.items()
            for level in asked.levels
        ]
        if not n:
            print("|", " | ".join(lines[0]), "|")
            print("|", " | ".join("---" for _ in lines[0]), "|")
        for line in lines:
            cells = (f"{one:.3f}" if isinstance(one, float) else str(one) for one in line.values())
            print("|", " | ".join(cells), "|", flush=True)
    print(f"{time.process_time():.0f} CPU s")


if __name__ == "__main__":
    main()
