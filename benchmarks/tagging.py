"""Tags for new texts: labelspan's tagger compared with other methods, on the same splits.

``python -m benchmarks.tagging netflix kirjastonhoitaja`` prints a table; each row is measured in a
process of its own, with one thread. The features of the labelspan tagger were chosen on netflix,
debtags and the training part of makupalat (development). Splits: makupalat and kirjastonhoitaja
as they come, debtags by source package, Reuters ModApte, others at random. ``headlines`` are
synthetic: Han characters without spaces, see :func:`make_headlines`.

- ``svm``, ``logistic``: one-vs-rest ``LinearSVC`` and logistic regression (``SGDClassifier``) on
  TF-IDF of single words; ``svm-same`` and ``logistic-same`` on the features of labelspan's tagger.
- ``svm-char``: ``LinearSVC`` on TF-IDF of sequences of one to three characters.
- ``centroids``: cosine with the mean of each label's texts.
- ``fasttext``: softmax, pairs of words, 25 epochs, 100 dimensions.
- ``napkinxc``: a probabilistic label tree on TF-IDF of single words, with its defaults.
- ``omikuji-same``: Parabel by omikuji, with its defaults, on the features of labelspan's tagger.
- ``annif-tfidf``, ``annif-mllm``: the backends of Annif, by its command, which ``--annif`` names;
  mllm only where labels have names.

A label is chosen by the others if its score reaches one threshold, which has the best micro F1 on
a fifth of the training texts, with a model of the rest. ``--rows`` limits the training texts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from labelspan.corpus import read_corpus
from labelspan.datasets import data_home
from labelspan.evaluation.tag_quality import best_cut, tagging_quality
from labelspan.evaluation.text_features import learn_features
from labelspan.index.label_table import LabelTable
from labelspan.tagger.learning import learn_tagger
from labelspan.text import TAGS, Analyzer, detect_language

__all__ = ["METHODS", "SETS", "main", "measure"]

Texts = tuple[list[str], list[Sequence[str]]]
SETS = (
    "netflix",
    "debtags",
    "stackoverflow",
    "reuters21578",
    "makupalat",
    "kirjastonhoitaja",
    "headlines",
)
METHODS = (
    "labelspan",
    "svm",
    "svm-same",
    "svm-char",
    "logistic",
    "logistic-same",
    "centroids",
    "fasttext",
    "napkinxc",
    "omikuji-same",
    "annif-tfidf",
    "annif-mllm",
)
COLUMNS = ("nDCG@5", "F1@5", "micro F1", "macro F1", "chosen / true", "CPU s", "MB")
# Labels that Annif suggests for a text.
_SUGGESTED = 100
# Scores of labels for new texts, by a method learned from texts and their labels.
Scorer = Callable[[list[str], Any, list[str]], Any]


def load_split(name: str) -> tuple[Texts, Texts]:
    """Return training and test texts with their labels."""
    home = data_home()
    if name == "makupalat":
        parts = [
            read_corpus(home / f"corpora/makupalat-{part}.tsv.gz") for part in ("train", "test")
        ]
        return _plain(parts[0]), _plain(parts[1])
    if name == "kirjastonhoitaja":
        with tarfile.open(home / "corpora/kirjastonhoitaja.tar.gz") as packed:
            return _folder(packed, "train")[0], _folder(packed, "test")[0]
    if name == "reuters21578":
        rows = [row for row in _lines(home / "reuters21578.jsonl.gz") if row["has_topics"] == "YES"]
        return tuple(
            (
                [f"{row['title']}\n{row['body']}" for row in rows if row["lewissplit"] == part],
                [row["topics"] for row in rows if row["lewissplit"] == part],
            )
            for part in ("TRAIN", "TEST")
        )  # type: ignore[return-value]
    if name == "debtags":
        rows = [row for row in _lines(home / "debtags.jsonl.gz") if row["tags"]]
        texts = [f"{row['summary']}\n{row['description']}" for row in rows]
        labels, groups = [row["tags"] for row in rows], [row["source"] for row in rows]
    elif name == "headlines":
        texts, labels = make_headlines()
        groups = [str(number) for number in range(len(texts))]
    else:
        file = {"netflix": "netflix_titles.csv.gz", "stackoverflow": "stackoverflow.tsv.gz"}[name]
        texts, labels = _plain(read_corpus(home / "corpora" / file))
        groups = [str(number) for number in range(len(texts))]
    names = sorted(set(groups))
    held = set(np.random.default_rng(0).permutation(names)[: len(names) // 5].tolist())
    sides: list[Texts] = [([], []), ([], [])]
    for text, own, group in zip(texts, labels, groups, strict=True):
        sides[group in held][0].append(text)
        sides[group in held][1].append(own)
    return sides[0], sides[1]


def make_headlines(count: int = 5000, classes: int = 15, seed: int = 0) -> Texts:
    """Make headlines of Han characters, with one or two labels each.

    4,000 words of one to three characters, out of 1,500, have a frequency by Zipf's law. A class
    makes 60 of them, at random, a hundred times as frequent. A headline has six to twelve words,
    a third of them by its classes, and no spaces.
    """
    rng = np.random.default_rng(seed)
    characters = [chr(0x4E00 + n) for n in rng.permutation(6000)[:1500]]
    words = np.array(["".join(rng.choice(characters, rng.integers(1, 4))) for _ in range(4000)])
    usual = 1 / np.arange(1, words.size + 1)
    special = np.array(
        [usual * 100 ** np.isin(usual, rng.choice(usual, 60)) for _ in range(classes)]
    )
    special /= special.sum(axis=1, keepdims=True)
    texts: list[str] = []
    labels: list[Sequence[str]] = []
    for _ in range(count):
        own = rng.choice(classes, 1 + (rng.random() < 0.3), replace=False)
        size = int(rng.integers(6, 13))
        drawn = [
            rng.choice(words, p=special[rng.choice(own)])
            if rng.random() < 1 / 3
            else rng.choice(words, p=usual / usual.sum())
            for _ in range(size)
        ]
        texts.append("".join(drawn))
        labels.append([f"class {n}" for n in own])
    return texts, labels


def _plain(corpus: Any) -> Texts:
    known = [n for n, own in enumerate(corpus.labels) if own]
    return [corpus.texts[n] for n in known], [corpus.labels[n] for n in known]


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _folder(packed: tarfile.TarFile, part: str) -> tuple[Texts, dict[str, str]]:
    """Read texts and labels of one part, and the names of the labels."""
    content = {
        entry.name: packed.extractfile(entry).read().decode()  # type: ignore[union-attr]
        for entry in packed.getmembers()
        if f"/{part}/" in entry.name and entry.isfile()
    }
    names = sorted(name[:-4] for name in content if name.endswith(".txt"))
    pairs = [
        [line.split("\t")[:2] for line in content[f"{name}.tsv"].splitlines() if line.strip()]
        for name in names
    ]
    texts = [content[f"{name}.txt"] for name in names]
    return (texts, [[uri for uri, _ in own] for own in pairs]), {
        uri: name for own in pairs for uri, name in own
    }


def label_names(name: str) -> dict[str, str] | None:
    """Return the names of labels that are URIs, if they are known."""
    if name != "kirjastonhoitaja":
        return None
    with tarfile.open(data_home() / "corpora/kirjastonhoitaja.tar.gz") as packed:
        return _folder(packed, "train")[1]


def _labelspan(texts: list[str], targets: Any, names: tuple[str, ...], new: list[str]) -> Any:
    features, rows = learn_features(texts, TAGS)
    tagger = learn_tagger(names, targets, rows, np.arange(len(texts)))
    found = tagger.probabilities(features.of_texts(new))
    return found, found >= tagger.thresholds


def _with_threshold(scorer: Scorer, texts: list[str], targets: Any, new: list[str]) -> Any:
    """Choose labels above the threshold with the best micro F1 on a fifth of the texts."""
    part = np.random.default_rng(0).permutation(len(texts)) < len(texts) // 5
    inside = [text for text, own in zip(texts, part, strict=True) if not own]
    outside = [text for text, own in zip(texts, part, strict=True) if own]
    wanted = targets[part].toarray() > 0
    tried = scorer(inside, targets[~part], outside)
    cut = best_cut(tried, wanted, int(wanted.sum()))
    scores = scorer(texts, targets, new)
    return scores, (scores >= cut) & np.isfinite(scores)


def _linear(kind: str, texts: list[str], targets: Any, new: list[str]) -> Any:
    """Score labels by one-vs-rest classifiers, or by centroids."""
    model, _, features = kind.partition("-")
    if features == "same":
        own, rows = learn_features(texts, TAGS)
        asked = own.of_texts(new)
    else:
        own_words: dict[str, Any] = {"sublinear_tf": True, "min_df": 2}
        if features == "char":
            own_words = {"analyzer": "char", "ngram_range": (1, 3)}
        words = TfidfVectorizer(**own_words, dtype=np.float32)
        rows, asked = words.fit_transform(texts), words.transform(new)
    if model == "centroids":
        return (asked @ normalize(targets.T @ rows).T).toarray()
    columns = targets.tocsc()
    scores = np.full((len(new), targets.shape[1]), -np.inf, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for column in range(targets.shape[1]):
            own_rows = columns[:, [column]].toarray().ravel() > 0
            # A label of no text in this part cannot be learned.
            if own_rows.any() and not own_rows.all():
                one = LinearSVC() if model == "svm" else _logistic()
                scores[:, column] = one.fit(rows, own_rows).decision_function(asked)
    return scores


def _logistic() -> SGDClassifier:
    return SGDClassifier(loss="log_loss", alpha=1e-5, random_state=0)


def _fasttext(texts: list[str], targets: Any, new: list[str]) -> Any:
    import fasttext  # noqa: PLC0415 - an optional dependency

    analyzer = Analyzer("none")

    def line(text: str) -> str:
        return " ".join(word for word, _, _ in analyzer.query(text))

    rows = targets.tolil().rows
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        for text, own in zip(texts, rows, strict=True):
            if own:
                file.write(" ".join(f"__label__{n}" for n in own) + f" {line(text)}\n")
        file.flush()
        model = fasttext.train_supervised(
            file.name,
            loss="softmax",
            lr=0.5,
            epoch=25,
            dim=100,
            wordNgrams=2,
            bucket=200_000,
            minCount=2,
            thread=1,
            verbose=0,
        )
    scores = np.full((len(new), targets.shape[1]), -np.inf, dtype=np.float32)
    for row, text in enumerate(new):
        # Not by model.predict, whose array of probabilities is wrong with new versions of numpy.
        for chance, label in model.f.predict(f"{line(text)}\n", -1, 0.0, "strict"):
            scores[row, int(label.removeprefix("__label__"))] = chance
    return scores


def _napkinxc(texts: list[str], targets: Any, new: list[str]) -> Any:
    from napkinxc.models import PLT  # noqa: PLC0415 - an optional dependency

    words = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    rows = words.fit_transform(texts)
    scores = np.full((len(new), targets.shape[1]), -np.inf, dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        tree = PLT(folder, threads=1, seed=0)
        tree.fit(rows, [list(own) for own in targets.tolil().rows])
        found = tree.predict_proba(words.transform(new), top_k=_SUGGESTED)
    for row, pairs in enumerate(found):
        for column, chance in pairs:
            scores[row, column] = chance
    return scores


def _omikuji(texts: list[str], targets: Any, new: list[str]) -> Any:
    from omikuji import Model  # noqa: PLC0415 - an optional dependency

    features, rows = learn_features(texts, TAGS)
    asked = features.of_texts(new)
    own = [",".join(map(str, row)) for row in targets.tolil().rows]
    lines = [
        f"{labels} {_pairs_of(row)}\n"
        for labels, row in zip(own, rows, strict=True)
        if labels and row.nnz
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(f"{len(lines)} {rows.shape[1]} {targets.shape[1]}\n")
        file.writelines(lines)
        file.flush()
        model = Model.train_on_data(file.name, Model.default_hyper_param(), n_threads=1)
    scores = np.full((len(new), targets.shape[1]), -np.inf, dtype=np.float32)
    for row, text in enumerate(asked):
        pairs = list(zip(text.indices.tolist(), text.data.tolist(), strict=True))
        for column, chance in model.predict(pairs, top_k=_SUGGESTED):
            scores[row, column] = chance
    return scores


def _pairs_of(row: Any) -> str:
    pairs = zip(row.indices.tolist(), row.data.tolist(), strict=True)
    return " ".join(f"{column}:{value:.6g}" for column, value in pairs)


def _annif(  # noqa: PLR0917 - the last three are those of a scorer
    command: str,
    backend: str,
    vocabulary: Sequence[str],
    texts: list[str],
    targets: Any,
    new: list[str],
) -> Any:
    """Train a backend of Annif and ask it for the labels of each text."""
    analyzers = {"en": "english", "fi": "finnish", "de": "german", "sv": "swedish"}
    language = detect_language(texts)
    settings = {
        "name": backend,
        "language": language,
        "backend": backend,
        "analyzer": f"snowball({analyzers.get(language, 'english')})",
        "vocab": f"tags({language})",
        "limit": str(_SUGGESTED),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def run(*words: str) -> str:
            done = subprocess.run(
                [command, *words],
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
                # Annif may be in an environment of its own.
                env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            )
            return done.stdout

        lines = [f"[{backend}]", *(f"{key}={value}" for key, value in settings.items())]
        (folder / "projects.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")
        uris = [f"http://example.org/{n}" for n in range(len(vocabulary))]
        (folder / "tags.tsv").write_text(
            "".join(f"<{uri}>\t{label}\n" for uri, label in zip(uris, vocabulary, strict=True)),
            encoding="utf-8",
        )
        (folder / "train.tsv").write_text(
            "".join(
                f"{' '.join(text.split())}\t{' '.join(f'<{uris[n]}>' for n in own)}\n"
                for text, own in zip(texts, targets.tolil().rows, strict=True)
                if own and text.strip()
            ),
            encoding="utf-8",
        )
        run("load-vocab", "tags", "tags.tsv", "--language", language)
        run("train", backend, "train.tsv")
        (folder / "texts").mkdir()
        for row, text in enumerate(new):
            (folder / "texts" / f"{row:06}.txt").write_text(text, encoding="utf-8")
        run("index", backend, "texts", "--suffix", ".annif", "--limit", str(_SUGGESTED))
        scores = np.full((len(new), len(uris)), -np.inf, dtype=np.float32)
        for path in sorted((folder / "texts").glob("*.annif")):
            for line in path.read_text(encoding="utf-8").splitlines():
                found = re.fullmatch(r"<http://example.org/(\d+)>\t.*\t([\d.e-]+)", line)
                if found:
                    scores[int(path.stem), int(found[1])] = float(found[2])
    return scores


_LIBRARIES: dict[str, Scorer] = {
    "fasttext": _fasttext,
    "napkinxc": _napkinxc,
    "omikuji-same": _omikuji,
}


def measure(name: str, method: str, rows: int | None, annif: str = "annif") -> dict[str, float]:
    """Fit a method on a set and measure it on the held-out texts."""
    (texts, labels), (new, wanted) = load_split(name)
    if rows is not None and rows < len(texts):
        chosen = np.random.default_rng(1).permutation(len(texts))[:rows]
        texts, labels = [texts[n] for n in chosen], [labels[n] for n in chosen]
    lists = [tuple(sorted(set(own))) for own in labels]
    names = tuple(sorted({label for own in lists for label in own}))
    targets = LabelTable.of(list(lists), names).matrix()
    known = set(names)
    inside = [tuple(sorted(set(own) & known)) for own in wanted]
    truth = LabelTable.of(inside, names).matrix().toarray() > 0
    before = _seconds()
    if method == "labelspan":
        scores, chosen_labels = _labelspan(texts, targets, names, new)
    else:
        scorer: Scorer
        if method.startswith("annif-"):
            named = label_names(name)
            if method == "annif-mllm" and named is None:
                raise SystemExit(f"annif-mllm needs names of labels, which {name} does not have.")
            vocabulary = [(named or {}).get(label, label) for label in names]
            scorer = partial(_annif, annif, method.removeprefix("annif-"), vocabulary)
        elif method in _LIBRARIES:
            scorer = _LIBRARIES[method]
        else:
            scorer = partial(_linear, method)
        scores, chosen_labels = _with_threshold(scorer, texts, targets, new)
    seconds = _seconds() - before
    sizes = np.array([len(set(own)) for own in wanted])
    measured = tagging_quality(truth, scores, chosen_labels, int(sizes.sum() - truth.sum()))
    top = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    right = np.take_along_axis(truth, top, axis=1).sum(axis=1)
    measured["F1@5"] = float(np.mean(2 * right / (5 + sizes)))
    measured["CPU s"] = seconds
    most = max(resource.getrusage(who).ru_maxrss for who in _PROCESSES)
    measured["MB"] = most / 1024
    return {column: measured[column] for column in COLUMNS}


_PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _seconds() -> float:
    """CPU time of this process and those that it started."""
    used = [resource.getrusage(who) for who in _PROCESSES]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    """Print the table of some sets and methods."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--annif", default=shutil.which("annif") or "annif")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.sets[0], asked.methods[0], asked.rows, asked.annif)))
        return
    print("| set | method |", " | ".join(COLUMNS), "|")
    print("| --- | --- |", " | ".join("---:" for _ in COLUMNS), "|", flush=True)
    limit = [] if asked.rows is None else ["--rows", str(asked.rows)]
    for name in asked.sets:
        for method in asked.methods:
            words = [sys.executable, "-m", "benchmarks.tagging", name, "--one", "--methods", method]
            done = subprocess.run(
                [*words, "--annif", asked.annif, *limit], check=False, stdout=subprocess.PIPE
            )
            if done.returncode:
                print(f"{name}, {method}: not measured", file=sys.stderr)
                continue
            # Some libraries print their progress.
            found = json.loads(done.stdout.decode().splitlines()[-1])
            cells = (
                f"{found[column]:.{0 if column in ('CPU s', 'MB') else 3}f}" for column in COLUMNS
            )
            print(f"| {name} | {method} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
