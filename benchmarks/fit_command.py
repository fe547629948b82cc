"""CPU seconds of ``labelspan fit FILE``, compared with linear SVMs on TF-IDF.

``python -m benchmarks.fit_command`` prints a table. The command does all that it does for a user:
read the file, guess its fields, word index, space, tagger, save. The other column reads the same
texts, and fits scikit-learn's ``TfidfVectorizer`` and ``OneVsRestClassifier(LinearSVC())``, which
gives tags only. ``20,000 labels`` are tags, words and pairs of words of the summaries of 20,000
packages. Each is a process of its own with one thread; the command runs once before, so
that its bytecode is there.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from labelspan.corpus import read_corpus
from labelspan.datasets import data_home

__all__ = ["FILES", "main"]

_SVM = """
import sys
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC
from labelspan.corpus import read_corpus
found = read_corpus(sys.argv[1])
known = [n for n, own in enumerate(found.labels) if own]
rows = TfidfVectorizer(sublinear_tf=True).fit_transform([found.texts[n] for n in known])
targets = MultiLabelBinarizer(sparse_output=True).fit_transform([found.labels[n] for n in known])
OneVsRestClassifier(LinearSVC()).fit(rows, targets)
"""


def _part(source: Path, rows: int, folder: Path) -> Path:
    found = read_corpus(source)
    path = folder / f"{rows}.jsonl"
    chosen = np.random.default_rng(0).permutation(len(found))[:rows].tolist()
    lines = ({"text": found.texts[n], "tags": found.labels[n]} for n in chosen)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def _many_labels(folder: Path) -> Path:
    """Write 2,000 texts with 2,000 labels, five each, whose words they contain."""
    rng = np.random.default_rng(0)
    path = folder / "many.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for _ in range(2000):
            labels = rng.choice(2000, 5, replace=False)
            words = [f"w{label}x{rng.integers(3)}" for label in labels for _ in range(4)]
            words += [f"common{n}" for n in rng.integers(500, size=30)]
            item = {"text": " ".join(words), "tags": [f"label {label}" for label in labels]}
            file.write(f"{json.dumps(item)}\n")
    return path


def _word_labels(folder: Path, count: int = 20_000) -> Path:
    """Write packages with their tags, words and pairs of words of the summary as labels."""
    with gzip.open(data_home() / "debtags.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    chosen = np.random.default_rng(0).permutation(len(rows))[:count].tolist()
    every = []
    for row in (rows[n] for n in chosen):
        words = re.findall(r"[a-z]{3,}", row["summary"].lower())
        every.append({*row["tags"], *words, *(f"{a} {b}" for a, b in pairwise(words))})
    counts = Counter(label for own in every for label in sorted(own))
    rare = [one for one, number in counts.most_common() if number <= _FREQUENT]
    labels = set(rare[:count])
    path = folder / "words.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n, own in zip(chosen, every, strict=True):
            text = f"{rows[n]['summary']}\n{rows[n]['description']}"
            file.write(f"{json.dumps({'text': text, 'tags': sorted(own & labels)})}\n")
    return path


# Items with a label at most.
_FREQUENT = 600
_NETFLIX = "corpora/netflix_titles.csv.gz"
FILES: dict[str, Callable[[Path], Path | str]] = {
    "200 films": lambda folder: _part(data_home() / _NETFLIX, 200, folder),
    "netflix": lambda _: data_home() / _NETFLIX,
    "debtags": lambda _: "debtags",
    "2,000 x 2,000 labels": _many_labels,
    "20,000 labels": _word_labels,
    "all of debtags": lambda _: data_home() / "debtags.jsonl.gz",
}


def _costs(*words: str) -> tuple[float, float]:
    """Run a program with one thread; return its CPU time and its largest memory in GB."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    program = subprocess.Popen(
        [sys.executable, *words],
        env={**os.environ, **one},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(program.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)} failed.")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=list(FILES))
    parser.add_argument("--no-svm", action="store_true", help="measure labelspan only")
    asked = parser.parse_args()
    print(
        "| corpus | labelspan fit, s | GB | TF-IDF + LinearSVC, s |\n| --- | ---: | ---: | ---: |",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = str(folder / "index")
        small = str(_part(data_home() / _NETFLIX, 50, folder))
        _costs("-m", "labelspan", "fit", small, "-o", out)
        for one in asked.sets:
            path = str(FILES[one](folder))
            ours, memory = _costs("-m", "labelspan", "fit", path, "-o", out, "--force")
            theirs = "-"
            if not asked.no_svm:
                theirs = f"{_costs('-c', _SVM, _exported(path, folder))[0]:.1f}"
            print(f"| {one} | {ours:.1f} | {memory:.2f} | {theirs} |", flush=True)


def _exported(path: str, folder: Path) -> str:
    """Return the corpus as a file: the bundled one has none."""
    if path != "debtags":
        return path
    from labelspan.datasets import load_debtags  # noqa: PLC0415

    data, target = load_debtags(), folder / "debtags.jsonl"
    lines = zip(data.texts or (), data.labels or (), strict=True)
    target.write_text(
        "".join(f"{json.dumps({'text': text, 'tags': own})}\n" for text, own in lines),
        encoding="utf-8",
    )
    return str(target)


if __name__ == "__main__":
    main()
