"""An index of tagged packages of Debian: learning, searching, tagging, memory, disk.

    python -m benchmarks.index_size --sizes 5000 30000

Needs ``debtags.jsonl.gz`` in the data folder. Queries are the summaries of 500 packages, one at
a time, with the index loaded from disk: the 100 best by words (``balance=0``), the 10 best by
words and space, the first page of a list with its counts; and hostile ones of 2,000 characters.
All times but those of the fit are CPU times of one thread. A change is one item with
another label, saved to the folder; the tag after it waits for what the tagger learns. The peer is
scikit-learn's TF-IDF with a product per query. Memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

from labelspan import SemanticIndex

from .harness import Report, Row, make_parser

_LONGEST = 2000


def main(args: argparse.Namespace) -> None:
    """One table for each size."""
    report = Report("index_size", args)
    folder = Path(args.data or os.environ["LABELSPAN_DATA"])
    with gzip.open(folder / "debtags.jsonl.gz", "rt", encoding="utf-8") as lines:
        packages = [p for p in map(json.loads, lines) if p["tags"]]
    for size in [3000] if args.quick else args.sizes:
        report.add(f"{size:,} tagged packages", rows(packages[:size], args))
    report.write()


def rows(packages: list[dict[str, Any]], args: argparse.Namespace) -> list[Row]:
    """Learn, save, load and ask."""
    texts = [f"{p['package']}: {p['summary']}\n{p['description']}" for p in packages]
    metadata = [{"characters": len(text), "section": text[:1]} for text in texts]
    start = time.perf_counter()
    index = SemanticIndex().fit(texts, [p["tags"] for p in packages], metadata=metadata)
    learned = time.perf_counter() - start
    chosen = np.random.default_rng(args.seed).permutation(len(packages))[: args.queries]
    asked = [packages[number]["summary"] or "nothing" for number in chosen]
    hostile = [
        " ".join(f"{letter}*" for letter in "abcdefghijklmnop"),
        ("a* " * _LONGEST)[:_LONGEST],
        " ".join(texts)[:_LONGEST],
        ("the of and to " * _LONGEST)[:_LONGEST],
        ('"the program of" -a* ' * _LONGEST)[:_LONGEST],
        "".join(map(chr, range(0x4E00, 0x4E00 + _LONGEST))),
    ]
    with tempfile.TemporaryDirectory() as scratch, threadpool_limits(1):
        place = Path(scratch) / "debtags.labelspan"
        index.save(place)
        disk = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        with SemanticIndex.load(place, write=True) as loaded:
            found = {
                "words, 100 best": cpu(lambda text: loaded.search(text, 100, balance=0), asked),
                "words and space, 10 best": cpu(lambda text: loaded.search(text, 10), asked),
                "list, page and counts": cpu(lambda text: page(loaded, text), asked[:100]),
                "hostile": cpu(lambda text: loaded.search(text, 10), hostile),
                "tag": cpu(loaded.tag, asked[:100]),
                "relabel": cpu(lambda name: loaded.relabel(name, ["new::label"]), ["1", "2", "3"]),
                "tag after a change": cpu(loaded.tag, asked[:1]),
            }
        words = TfidfVectorizer(sublinear_tf=True, dtype=np.float32)
        matrix = words.fit_transform(texts)
        found["scikit-learn TF-IDF, 100 best"] = cpu(lambda q: peer(words, matrix, q), asked)
    notes = {"labels": len(index.labels), "dimensions": index.n_dimensions}
    notes |= {"fit s": f"{learned:.1f}", "disk MB": f"{disk / 1e6:.1f}"}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [
        Row("fit and save", notes={**notes, "peak GiB": f"{peak:.2f}"}),
        *(Row(name, notes=summary) for name, summary in found.items()),
    ]


def page(index: SemanticIndex, text: str) -> Any:
    """What a page of a list shows."""
    found = index.browse(text)
    return found.page(), found.label_counts(), found.group_counts(), found.facets()


def peer(words: TfidfVectorizer, matrix: Any, text: str) -> Any:
    """The best 100 rows by one product."""
    scores = (matrix @ words.transform([text]).T).toarray().ravel()
    best = np.argpartition(scores, -100)[-100:]
    return best[np.argsort(-scores[best])]


def cpu(ask: Callable[[Any], Any], queries: Iterable[Any]) -> dict[str, str]:
    """Median, 95% and largest CPU time of queries after the first, in milliseconds."""
    seconds = []
    queries = list(queries)
    for text in [*queries[:1], *queries]:
        start = time.process_time()
        ask(text)
        seconds.append(time.process_time() - start)
    half, most, largest = 1000 * np.quantile(seconds[1:], [0.5, 0.95, 1])
    first = 1000 * seconds[0]
    return {
        "first ms": f"{first:.1f}",
        "p50 ms": f"{half:.2f}",
        "p95 ms": f"{most:.2f}",
        "largest ms": f"{largest:.1f}",
    }


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 30_000])
    parser.add_argument("--queries", type=int, default=500)
    main(parser.parse_args())
