"""How good the spaces are by default: neighbours, label scores and tags on twelve data sets.

Every method learns a space of 50 dimensions (fewer where its labels allow fewer) from training
rows, with its default parameters, and is evaluated on test rows:

- nDCG: nDCG@10 of the nearest training rows by cosine, gain = Jaccard index of the labels;
- AP: mean over labels of the average precision of label scores (``label_scores`` where the
  method has it, otherwise ridge regression on the projection);
- row AP: mean over rows of the label ranking average precision of the same scores;
- macro F1, micro F1: ridge regression on the projection, rows of length one, the same for
  every method; a label is given to as large a part of the test rows as carry it in training.

Ridge regressions choose their penalty by leave-one-out error on the training rows.

Settings: all labels known for 100, 25, 10 and 5% of the training rows, and ``held out``: the
space is learned from half of the labels and evaluated on the other half, whose regressions are
learned on the projection. Neighbours are looked for among all training rows. MLSI, DLE and LPP
take unlabelled rows and get all training rows; with ", labelled" behind their names they are
fitted on the labelled rows only (DLE and LPP with 10% only). "MLSI, placed" is MLSI whose training
rows are placed by their known labels too, ``transform(X, labels=Y)``. PLSRegression is
scikit-learn's, PCovR scikit-matter's and UMAP umap-learn's, supervised by the labels.

Development sets may be used to choose defaults; test sets are only reported. Results are kept in a
folder, one file per set with one result per line: a run that was stopped goes on where it was, and
sets can run in separate processes. ``--table`` prints what the folder has.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import safe_sparse_dot

from labelspan import CCA, DLE, HSL, LPP, LSI, MLSI, OPLS
from labelspan.metrics import (
    average_precision,
    f1_scores,
    retrieval_at_k,
    threshold_by_share,
)
from labelspan.solvers.alpha import leave_one_out

from .machine import describe_machine
from .spaces_data import DEVELOPMENT, SETS, TEST, Split, load_set, make_split

K = 50
MEASURES = ("nDCG", "AP", "row AP", "macro F1", "micro F1")
SETTINGS = ("100%", "25%", "10%", "5%", "held out")
FOLDER = Path(__file__).parent / "results" / "spaces_quality"
# Entries of a dense array that a method which needs one may ask for.
_DENSE = 40_000_000
# Dense features of PCovR, and the smaller side of DLE and LPP: cubic in it.
_SMALL, _SIDE = 12_000_000, 2_000

Map = Callable[[Any], Any]


@dataclass(frozen=True)
class Space:
    """A map to the space, and its own maps to label scores and of training rows, if any."""

    embed: Map
    scores: Map | None = None
    items: Map | None = None


@dataclass
class Task:
    """What a method learns from: all training rows, and the labels of some of them."""

    X: Any
    Y: np.ndarray
    labelled: np.ndarray
    _spectrum: tuple[np.ndarray, np.ndarray, np.ndarray] | None = field(default=None, repr=False)

    @property
    def known(self) -> tuple[Any, np.ndarray]:
        """The rows that have labels, with them."""
        return self.X[self.labelled], self.Y[self.labelled]

    @property
    def partly(self) -> np.ndarray:
        """Labels of all rows, -1 where they are unknown."""
        out = np.full(self.Y.shape, -1.0)
        out[self.labelled] = self.Y[self.labelled]
        return out

    @property
    def ridge(self) -> tuple[Any, np.ndarray]:
        """Slopes and intercepts of the ridge regression of the labels on the features."""
        X, Y = self.known
        if self._spectrum is None:
            self._spectrum = spectrum_of(X)
        return ridge(X, Y, self._spectrum)


def spectrum_of(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return squared singular values, left vectors and squared columns of the centred features."""
    X = X.astype(np.float64)  # in float32, rounding would pass for directions
    kernel = np.asarray((X @ X.T).toarray() if sparse.issparse(X) else X @ X.T)
    means = kernel.mean(axis=0)
    values, left = np.linalg.eigh(kernel - means - means[:, None] + means.mean())
    kept = np.flatnonzero(values > 1e-12 * values[-1])[::-1]
    square = X.multiply(X) if sparse.issparse(X) else np.square(X)
    squares, sums = (np.asarray(part.sum(axis=0)).ravel() for part in (square, X))
    columns = np.maximum(squares - np.square(sums) / X.shape[0], 0.0)
    return values[kept], left[:, kept], np.where(columns > 1e-12 * squares, columns, 0.0)


def ridge(
    X: Any, Y: np.ndarray, spectrum: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Regress labels on features with the penalty of least leave-one-out error."""
    squares, left, columns = spectrum
    alpha = leave_one_out(squares, left, columns, Y).alpha
    inside = (left.T @ Y) / (squares + alpha)[:, None]
    slopes = np.asarray(safe_sparse_dot(X.T, left @ inside))
    means = np.asarray(X.mean(axis=0)).ravel()
    return slopes, Y.mean(axis=0) - means @ slopes


def _raw(task: Task) -> Space:
    slopes, shift = task.ridge
    return Space(lambda X: X, lambda X: X @ slopes + shift)


def _ridge(task: Task) -> Space:
    slopes, shift = task.ridge
    return Space(lambda X: X @ slopes, lambda X: X @ slopes + shift)


def _most(X: Any) -> int:
    """Return the dimensions of a space of centred features."""
    return min(K, X.shape[0] - 1, X.shape[1])


def _lsi(task: Task) -> Space:
    return Space(LSI(_most(task.X)).fit(task.X).transform)


def _mlsi(task: Task) -> Space:
    model = MLSI(_most(task.X)).fit(task.X, task.partly)
    return Space(model.transform, model.label_scores)


def _mlsi_placed(task: Task) -> Space:
    model = MLSI(_most(task.X)).fit(task.X, task.partly)
    return Space(
        model.transform, model.label_scores, lambda X: model.transform(X, labels=task.partly)
    )


def _mlsi_labelled(task: Task) -> Space:
    X, Y = task.known
    model = MLSI(_most(X)).fit(X, Y)
    return Space(model.transform, model.label_scores)


def _thin(estimator: Any) -> Callable[[Task], Space]:
    def fit(task: Task) -> Space:
        X, Y = task.known
        # None keeps all directions where the labels have fewer.
        rank = int(np.linalg.matrix_rank(Y - Y.mean(axis=0)))
        model = estimator(K if rank > K else None).fit(X, Y)
        return Space(model.transform, model.label_scores)

    return fit


def _dle(task: Task) -> Space:
    model = DLE().fit(task.X, task.partly)
    return Space(lambda X: model.transform(X)[:, :K], model.label_scores)


def _dle_labelled(task: Task) -> Space:
    model = DLE().fit(*task.known)
    return Space(lambda X: model.transform(X)[:, :K], model.label_scores)


def _lpp(task: Task) -> Space:
    return Space(LPP(_most(task.X)).fit(task.X).transform)


def _lpp_labelled(task: Task) -> Space:
    X, _ = task.known
    return Space(LPP(_most(X)).fit(X).transform)


def _pls_regression(task: Task) -> Space:
    from sklearn.cross_decomposition import PLSRegression  # noqa: PLC0415

    X, Y = task.known
    model = PLSRegression(_most(X)).fit(_dense(X), Y)
    return Space(
        lambda rows: model.transform(_dense(rows)), lambda rows: model.predict(_dense(rows))
    )


def _pcovr(task: Task) -> Space:
    from skmatter.decomposition import PCovR  # noqa: PLC0415

    X, Y = _dense(task.known[0]), task.known[1]
    means, centre = X.mean(axis=0), Y.mean(axis=0)
    model = PCovR(n_components=_most(X)).fit(X - means, Y - centre)
    return Space(
        lambda rows: model.transform(_dense(rows) - means),
        lambda rows: model.predict(_dense(rows) - means) + centre,
    )


def _umap(task: Task) -> Space:
    from umap import UMAP  # noqa: PLC0415

    def plain(rows: Any) -> Any:
        # Its compiled distances take matrices, not sparse arrays.
        return sparse.csr_matrix(rows) if sparse.issparse(rows) else rows

    X, Y = task.known
    model = UMAP(
        n_components=min(K, X.shape[0] - 2), target_metric="jaccard", random_state=0, n_jobs=1
    )
    model.fit(plain(X), Y > 0)
    return Space(lambda rows: model.transform(plain(rows)))


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


METHODS: dict[str, Callable[[Task], Space]] = {
    "raw": _raw,
    "LSI": _lsi,
    "MLSI": _mlsi,
    "MLSI, labelled": _mlsi_labelled,
    "MLSI, placed": _mlsi_placed,
    "OPLS": _thin(OPLS),
    "CCA": _thin(CCA),
    "HSL": _thin(HSL),
    "ridge": _ridge,
    "PLSRegression": _pls_regression,
    "PCovR": _pcovr,
    "UMAP": _umap,
    "DLE": _dle,
    "DLE, labelled": _dle_labelled,
    "LPP": _lpp,
    "LPP, labelled": _lpp_labelled,
}
# Methods of few settings; with all rows labelled, MLSI has nothing else to learn from.
_ONLY = {
    "MLSI, labelled": ("25%", "10%", "5%"),
    **dict.fromkeys(("DLE", "DLE, labelled", "LPP", "LPP, labelled"), ("10%",)),
}


def why_not(method: str, task: Task) -> str | None:
    """Say why a method cannot take the data, None where it can."""
    packages = {"PCovR": "skmatter", "UMAP": "umap"}
    if method in packages and importlib.util.find_spec(packages[method]) is None:
        return f"{packages[method]} is not installed"
    entries = len(task.labelled) * task.X.shape[1]
    if entries > {"PLSRegression": _DENSE, "PCovR": _SMALL}.get(method, entries):
        return "needs dense features, which would be too large"
    if method.startswith(("DLE", "LPP")) and min(task.X.shape) > _SIDE:
        return f"more than {_SIDE} rows and features, in the smaller of which it is cubic"
    return None


def tasks(split: Split, setting: str) -> tuple[Task, np.ndarray]:
    """Return what is learned from in a setting, and the labels that are evaluated."""
    rows, k = split.Y.shape
    rng = np.random.default_rng([split.seed, 7])
    everything = np.arange(rows)
    if setting == "held out":
        order = rng.permutation(k)
        return Task(split.X, split.Y[:, np.sort(order[: k // 2])], everything), np.sort(
            order[k // 2 :]
        )
    share = float(setting.rstrip("%")) / 100
    labelled = np.sort(rng.permutation(rows)[: max(20, round(share * rows))])
    # A label that no labelled row carries cannot be learned from them, and is not evaluated.
    counts = split.Y[labelled].sum(axis=0)
    columns = np.flatnonzero((counts > 0) & (counts < labelled.size))
    return Task(split.X, split.Y[:, columns], labelled), columns


def measure(
    space: Space, split: Split, task: Task, columns: np.ndarray, setting: str
) -> dict[str, float]:
    """Evaluate a space on the test rows."""
    train, test = space.embed(split.X), space.embed(split.X_test)
    Y_test = split.Y_test[:, columns]
    searched = train if space.items is None else space.items(split.X)
    near = retrieval_at_k(test, Y_test, searched, split.Y[:, columns], k=10)
    items = task.labelled
    one, two = normalize(train[items]), normalize(test)
    Y = split.Y[np.ix_(items, columns)]
    slopes, shift = ridge(one, Y, spectrum_of(one))
    projected = np.asarray(two @ slopes + shift)
    own = setting != "held out" and space.scores is not None
    scores = np.asarray(space.scores(split.X_test)) if own else projected  # type: ignore[misc]
    f1 = f1_scores(Y_test, projected > threshold_by_share(projected, Y.mean(axis=0)))
    return {
        "nDCG": near.ndcg,
        "AP": average_precision(Y_test, scores).value,
        "row AP": float(label_ranking_average_precision_score(Y_test, scores)),
        "macro F1": f1.macro,
        "micro F1": f1.micro,
    }


def run(
    name: str, seed: int, args: argparse.Namespace, done: set[tuple[Any, ...]]
) -> Iterator[dict[str, Any]]:
    """Yield the results of one split that are not there yet."""
    wanted = [
        (setting, method)
        for setting in args.settings
        for method in args.methods
        if (name, seed, setting, method, args.quick) not in done
        and setting in _ONLY.get(method, SETTINGS)
    ]
    if not wanted:
        return
    split = make_split(load_set(name, args.data), seed, quick=args.quick)
    for setting in args.settings:
        task, columns = tasks(split, setting)
        for method in [found for chosen, found in wanted if chosen == setting]:
            record = {"set": name, "split": seed, "setting": setting, "method": method}
            record |= {
                "quick": args.quick,
                "rows": int(split.X.shape[0]),
                "labels": int(columns.size),
            }
            refused = why_not(method, task)
            if refused:
                yield record | {"left_out": refused}
                continue
            start = time.process_time()
            try:
                space = METHODS[method](task)
                record["fit_s"] = round(time.process_time() - start, 3)
                yield record | measure(space, split, task, columns, setting)
            except (ValueError, RuntimeError, MemoryError, np.linalg.LinAlgError) as error:
                # A method that fails on a set leaves a gap in the table, not in the run.
                yield record | {"left_out": f"{type(error).__name__}: {error}"[:200]}


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Read the results of earlier runs, also in folders inside."""
    lines = [line for path in sorted(folder.rglob("*.jsonl")) for line in path.open()]
    return [json.loads(line) for line in lines if line.strip()]


def mean_over(records: Iterable[dict[str, Any]], measure: str) -> float | None:
    """Average over splits, then over sets."""
    by_set: dict[str, list[float]] = {}
    for record in records:
        if measure in record:
            by_set.setdefault(record["set"], []).append(record[measure])
    return float(np.mean([np.mean(values) for values in by_set.values()])) if by_set else None


def tables(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield Markdown tables: each setting over all sets of a group, and nDCG and AP by set."""
    methods = [name for name in METHODS if any(found["method"] == name for found in records)]
    for title, group in (("Development sets", DEVELOPMENT), ("Test sets", TEST)):
        own = [found for found in records if found["set"] in group]
        names = [name for name in group if any(found["set"] == name for found in own)]
        for setting in SETTINGS:
            part = [found for found in own if found["setting"] == setting]
            if not part:
                continue
            yield f"\n### {title}, {setting}\n\nMeans over {', '.join(names)}.\n"
            yield _line(["method", *MEASURES, "sets"])
            yield _line(["---"] * (len(MEASURES) + 2))
            for method in methods:
                found = [one for one in part if one["method"] == method and "nDCG" in one]
                if found:
                    cells = [_number(mean_over(found, measure)) for measure in MEASURES]
                    yield _line([method, *cells, str(len({one["set"] for one in found}))])
        for measure in ("nDCG", "AP"):
            part = [found for found in own if found["setting"] == "100%"]
            if part:
                yield f"\n### {title}: {measure}, 100%\n"
                yield _line(["method", *names])
                yield _line(["---"] * (len(names) + 1))
            for method in methods if part else ():
                rows = [one for one in part if one["method"] == method]
                cells = [
                    _number(mean_over([one for one in rows if one["set"] == name], measure))
                    for name in names
                ]
                yield _line([method, *cells])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".lstrip("0")


def main(args: argparse.Namespace) -> None:
    """Run what is missing, then print the tables."""
    if not args.table:
        args.out.mkdir(parents=True, exist_ok=True)
        for name in args.sets:
            run_set(name, args)
    known = [found for found in read_records(args.out) if found["quick"] == args.quick]
    print("\n".join(tables(known)))


def run_set(name: str, args: argparse.Namespace) -> None:
    """Add the results of a set that its file does not have."""
    path = args.out / f"{name}.jsonl"
    known = [json.loads(line) for line in path.open()] if path.exists() else []
    if args.again:
        known = [found for found in known if not _asked(found, args)]
        path.write_text("".join(json.dumps(found) + "\n" for found in known))
    keys = ("set", "split", "setting", "method", "quick")
    done = {tuple(found[key] for key in keys) for found in known}
    commit = describe_machine()["commit"]
    for seed in range(args.splits):
        for found in run(name, seed, args, done):
            found["commit"] = commit
            with path.open("a") as record:
                record.write(json.dumps(found) + "\n")
            values = {key: round(found[key], 3) for key in MEASURES if key in found}
            where = f"{name} {seed} {found['setting']} {found['method']}"
            print(f"{where}: {values or found['left_out']}", file=sys.stderr, flush=True)


def _asked(found: dict[str, Any], args: argparse.Namespace) -> bool:
    return (
        found["method"] in args.methods
        and found["setting"] in args.settings
        and found["quick"] == args.quick
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=None, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=tuple(METHODS))
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=SETTINGS)
    parser.add_argument("--splits", type=int, default=2, help="number of random splits")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="a fifth of the rows at most")
    parser.add_argument("--again", action="store_true", help="replace results that are there")
    parser.add_argument("--table", action="store_true", help="only print what the folder has")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(parser.parse_args())
