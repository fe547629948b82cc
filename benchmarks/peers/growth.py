"""How time and memory grow with n, d, k, K and the nonzeros, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from labelspan import datasets

from ..tagged_corpus import make_tagged_corpus
from .cases import rarest
from .ours import OURS
from .peers import PEERS
from .run import Settings, play, record
from .tasks import Contender, Task

__all__ = ["Point", "exponent", "exponents", "points", "run_point"]

# What stays while one size grows. Words per text are about nonzeros per row.
_BASE: dict[str, dict[str, int]] = {
    "sparse": {"n": 8000, "d": 8000, "k": 20, "K": 20, "words": 50},
    "dense": {"n": 16_000, "d": 256, "k": 20, "K": 20},
}
_FACTORS = {
    "sparse": {
        "n": (1, 2, 4, 8),
        "d": (1, 2, 4, 8),
        "k": (1, 2, 4, 8),
        "K": (1, 2, 4, 8),
        "words": (1, 2, 4, 8),
    },
    "dense": {"n": (1, 2, 4, 8), "d": (1, 2, 3, 4), "k": (1, 2, 4, 8), "K": (1, 2, 4, 8)},
}
_THIN = ("cca", "opls", "hsl", "lda")
_QUICK = {"n": 600, "d": 200}


@dataclass(frozen=True)
class Point:
    """One size of one growing thing."""

    kind: str
    axis: str
    sizes: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """What ``--only`` is matched against."""
        size = dict(self.sizes)[self.axis]
        return f"growth-{self.kind}/{self.axis}={size}"


def points(*, quick: bool) -> list[Point]:
    """Every size of every growing thing."""
    made = []
    for kind, axes in _FACTORS.items():
        base = _BASE[kind] | (_QUICK if quick else {})
        for axis, factors in axes.items():
            for times in factors[:2] if quick else factors:
                sizes = base | {axis: base[axis] * times}
                made.append(Point(kind, axis, tuple(sizes.items())))
    return made


def _methods(axis: str) -> tuple[str, ...]:
    # With K the thin methods do not grow: it is at most k, and all of k is solved for.
    return ("lsi", "mlsi") if axis == "K" else ("lsi", "mlsi", *_THIN)


def _contenders(point: Point) -> Iterator[tuple[str, Contender]]:
    for method in _methods(point.axis):
        yield method, OURS[method][0]
    if point.kind == "sparse":
        yield "lsi", PEERS["lsi"][0]
    else:
        yield "lsi", PEERS["pca"][0]


def draw(point: Point, seed: int) -> Task:
    """The data of one point, words weighted."""
    size = dict(point.sizes)
    if point.kind == "sparse":
        data = make_tagged_corpus(
            size["n"],
            size["d"],
            size["k"],
            words_per_text=size["words"],
            words_per_topic=min(500, size["d"]),
            random_state=seed,
        )
        X = type(data.X)(TfidfTransformer().fit_transform(data.X))
    else:
        data = datasets.make_tagged_vectors(size["n"], size["d"], size["k"], random_state=seed)
        X = data.X
    Y = data.Y.toarray().astype(np.float64)
    return Task(X, Y, rarest(Y), count=size["K"], alpha=1.0, seed=seed)


def run_point(point: Point, settings: Settings) -> dict[str, Any]:
    """Times and memory of every contender at one size."""
    task = draw(point, settings.seed)
    # Every size is one of many on a curve: two runs of each do.
    settings = replace(settings, repeats=min(settings.repeats, 2))
    scores = []
    for method, contender in _contenders(point):
        labels = task.Y.shape[1] - 1
        count = min(task.count, labels) if method in _THIN else task.count
        scores += play([contender], replace(task, count=count), settings)[0]
    sizes = {name: value for name, value in point.sizes if name != "words"}
    grown = record(point.name, task, scores) | sizes
    return grown | {"kind": point.kind, "axis": "nnz" if point.axis == "words" else point.axis}


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """The slope of a straight line through the logarithms, by least squares."""
    pairs = [(s, v) for s, v in zip(sizes, values, strict=True) if s > 0 and v > 0]
    if len({size for size, _ in pairs}) < 2:
        return None
    logs = np.log(np.array(pairs, dtype=np.float64))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def exponents(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each kind, axis and contender: sizes, medians, peaks and the two exponents."""
    curves: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}
    for one in records:
        for score in one["scores"]:
            if score["runs"]:
                key = (one["kind"], one["axis"], score["name"])
                point = (one[one["axis"]], float(np.median(score["runs"])), score["peak"] or 0)
                curves.setdefault(key, []).append(point)
    lines = []
    for (kind, axis, name), curve in curves.items():
        sizes, times, peaks = zip(*sorted(curve), strict=True)
        lines.append(
            {
                "kind": kind,
                "axis": axis,
                "name": name,
                "sizes": list(sizes),
                "seconds": list(times),
                "peaks": list(peaks),
                "time exponent": exponent(sizes, times),
                "memory exponent": exponent(sizes, peaks),
            }
        )
    return lines
