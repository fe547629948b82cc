"""Tags after ``add`` and ``relabel``, compared with those of a new fit of the same items.

    python -m benchmarks.tagger_updates netflix debtags --rows 2500

A fifth of the training texts is added after the fit; then a tenth of the others, whose labels had
been replaced by those of other items, is corrected. Each step is compared with a fit of what the
index holds then, on the test texts of ``benchmarks.tagging``: nDCG@5, micro F1, and the mean
difference of the probabilities of the ten best labels of the new fit.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from labelspan import LSI, SemanticIndex
from labelspan.evaluation.tag_quality import tagging_quality
from labelspan.index.label_table import LabelTable

from .tagging import load_split

__all__ = ["main"]

_TEST = 1000


def _fit(texts: Sequence[str], labels: Sequence[Sequence[str]]) -> tuple[SemanticIndex, float]:
    start = time.process_time()
    # Tags do not use the space.
    index = SemanticIndex(estimator=LSI(5)).fit(list(texts), [list(own) for own in labels])
    return index, time.process_time() - start


def _report(
    index: SemanticIndex, texts: list[str], wanted: Sequence[Sequence[str]]
) -> tuple[dict[str, float], list[dict[str, float]]]:
    names = tuple(index.labels)
    column = {name: j for j, name in enumerate(names)}
    scores = np.full((len(texts), len(names)), -1.0, dtype=np.float32)
    chosen = np.zeros(scores.shape, dtype=bool)
    found = index.tag(texts, len(names))
    for row, tags in enumerate(found):
        for tag in tags:
            scores[row, column[tag.label]] = tag.probability
            chosen[row, column[tag.label]] = tag.chosen
    known = [tuple(sorted(set(own) & set(names))) for own in wanted]
    truth = LabelTable.of(known, names).matrix().toarray() > 0
    missing = sum(len(set(own)) for own in wanted) - int(truth.sum())
    ranked = [{tag.label: tag.probability for tag in tags} for tags in found]
    return tagging_quality(truth, scores, chosen, missing), ranked


def _difference(found: list[dict[str, float]], fresh: list[dict[str, float]]) -> float:
    pairs = [
        abs(own.get(label, 0.0) - chance)
        for own, other in zip(found, fresh, strict=True)
        for label, chance in list(other.items())[:10]
    ]
    return float(np.mean(pairs))


def measure(name: str, rows: int) -> list[str]:
    """Return the lines of the table for one set."""
    (texts, labels), (new, wanted) = load_split(name)
    drawn = np.random.default_rng(1)
    kept = drawn.permutation(len(texts))[:rows].tolist()
    texts, labels = [texts[n] for n in kept], [list(labels[n]) for n in kept]
    tested = drawn.permutation(len(new))[:_TEST].tolist()
    new, wanted = [new[n] for n in tested], [wanted[n] for n in tested]
    first = rows - rows // 5
    wrong = drawn.permutation(first)[: first // 10].tolist()
    given = [list(own) for own in labels]
    for place, other in zip(wrong, [*wrong[1:], wrong[0]], strict=True):
        given[place] = labels[other]
    index, _ = _fit(texts[:first], given[:first])
    lines = []
    for step in ("fit", "add", "relabel"):
        start = time.process_time()
        if step == "add":
            index.add(texts[first:], labels[first:])
        elif step == "relabel":
            index.relabel([str(n) for n in wrong], [labels[n] for n in wrong])
        measured, ranked = _report(index, new, wanted)
        spent = time.process_time() - start
        if step == "fit":
            fresh, other, again = measured, ranked, 0.0
        else:
            fitted, again = _fit(texts, labels if step == "relabel" else given)
            fresh, other = _report(fitted, new, wanted)
        cells = [
            f"{measured['nDCG@5']:.3f}",
            f"{fresh['nDCG@5']:.3f}",
            f"{measured['micro F1']:.3f}",
            f"{fresh['micro F1']:.3f}",
            f"{_difference(ranked, other):.3f}",
            f"{spent:.1f}",
            f"{again:.1f}",
        ]
        lines.append(f"| {name} | {step} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=["netflix", "debtags"])
    parser.add_argument("--rows", type=int, default=2500)
    asked = parser.parse_args()
    print("| set | after | nDCG@5 | new fit | micro F1 | new fit | difference | s | new fit, s |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in asked.sets:
        print("\n".join(measure(name, asked.rows)), flush=True)


if __name__ == "__main__":
    main()
