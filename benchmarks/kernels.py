"""Kernels on emotions: linear, rbf and polynomial MLSI and CCA, by cross-validation.

Features are standardised on the training rows. A linear SVM for each label classifies the
rows mapped to the space, all scaled by one common factor. Everything that is chosen (alpha,
beta of MLSI, the kernel's gamma or degree, and C of the SVMs) is chosen by the mean AUC of
an inner cross-validation on the training rows. MLSI has a fixed number of components, CCA
as many as there are labels. The first line is the SVM on the features themselves.

For F1 each label is given to as large a share of the test rows as has it in training.
Zero would be no fair cut: liblinear also penalises the intercept, so that a small C moves
it, and a choice of C by F1 is then a choice of the cut.

Next to the measures of the SVM is the AUC of the model's own ``label_scores``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from labelspan import CCA, MLSI, KernelFeatures
from labelspan.metrics import mean_auc, threshold_by_share

from .classify import classify, score
from .data import DataSet, load
from .harness import Report, Row, make_parser

CS = (0.001, 0.01, 0.1, 1.0)
BETAS = (0.5, 0.8, 0.95)
# The penalty is relative to the size of the kernel values: |x|^2 = d for the linear one, 1 for
# rbf, and 2^degree for the polynomials.
ALPHAS = {
    "linear": (10.0, 100.0, 1000.0),
    "rbf": (0.03, 0.3, 3.0),
    "poly": (0.3, 3.0, 30.0),
}
KERNELS: dict[str, list[dict[str, Any]]] = {
    "linear": [{}],
    "rbf": [{"gamma": gamma} for gamma in (0.1, 0.3, 1.0)],
    "poly": [{"gamma": 1.0, "degree": degree} for degree in (2, 3)],
}


@dataclass(frozen=True)
class Method:
    """A model and the settings to choose from; without a model, the features themselves."""

    model: Any = None
    settings: list[dict[str, Any]] = field(default_factory=lambda: [{}])


@dataclass(frozen=True)
class Fold:
    """Training and test rows; the features standardised on the training ones."""

    train: DataSet
    test: DataSet


def folds(data: DataSet, count: int, seed: int) -> Iterator[Fold]:
    """Cross-validation over shuffled rows; X is dense."""
    for train, test in KFold(count, shuffle=True, random_state=seed).split(data.X):
        scaler = StandardScaler().fit(data.X[train])
        parts = (data.take(rows) for rows in (train, test))
        yield Fold(*(DataSet(part.name, scaler.transform(part.X), part.Y) for part in parts))


def methods(columns: int, count: int, *, quick: bool) -> dict[str, Method]:
    """Every method by name; gamma is in units of one over the number of features."""
    out = {"features": Method()}
    for kernel, shapes in KERNELS.items():
        settings = []
        for shape, alpha in product(shapes, ALPHAS[kernel]):
            setting = {"kernel__kernel": kernel, "space__alpha": alpha}
            setting |= {f"kernel__{name}": value for name, value in shape.items()}
            if "gamma" in shape:
                setting["kernel__gamma"] /= columns
            settings.append(setting)
        if quick:
            settings = settings[1:3]
        betas = BETAS[:1] if quick else BETAS
        informed = [{**setting, "space__beta": beta} for setting, beta in product(settings, betas)]
        out[f"MLSI, {kernel}"] = Method(behind_kernel(MLSI(count)), informed)
        out[f"CCA, {kernel}"] = Method(behind_kernel(CCA()), settings)
    return out


def behind_kernel(model: Any) -> Pipeline:
    """A linear method behind a kernel."""
    return Pipeline([("kernel", KernelFeatures()), ("space", model)])


def embed(model: Any, fold: Fold) -> tuple[np.ndarray, np.ndarray]:
    """Both parts mapped to the space of a fitted model, the training part's mean square 1."""
    if model is None:
        return fold.train.X, fold.test.X
    train, test = (np.asarray(model.transform(part.X)) for part in (fold.train, fold.test))
    size = np.sqrt(np.square(train).mean())
    return train / size, test / size


def fitted(method: Method, setting: dict[str, Any], fold: Fold) -> Any:
    """The model with one setting, learned from the training rows."""
    if method.model is None:
        return None
    return clone(method.model).set_params(**setting).fit(fold.train.X, fold.train.Y)


def choose(
    method: Method, inner: Sequence[Fold], penalties: Sequence[float]
) -> tuple[dict[str, Any], float]:
    """The setting and C with the best mean AUC over the inner folds."""
    best: tuple[float, dict[str, Any], float] = (-1.0, {}, 1.0)
    for setting in method.settings:
        spaces = [embed(fitted(method, setting, fold), fold) for fold in inner]
        for penalty in penalties:
            quality = []
            for (train, test), fold in zip(spaces, inner, strict=True):
                decisions = classify(train, fold.train.Y, test, penalty=penalty, tol=0.01)
                quality.append(score(fold.test.Y, decisions)["AUC"])
            best = max(best, (float(np.mean(quality)), setting, penalty), key=lambda one: one[0])
    return best[1], best[2]


def judge(
    method: Method, fold: Fold, setting: dict[str, Any], penalty: float
) -> dict[str, float | None]:
    """The measures on a test fold."""
    model = fitted(method, setting, fold)
    train, test = embed(model, fold)
    decisions = classify(train, fold.train.Y, test, penalty=penalty)
    cuts = threshold_by_share(decisions, fold.train.Y.mean(axis=0))
    found: dict[str, float | None] = dict(score(fold.test.Y, decisions - cuts))
    own = None
    if model is not None:
        own = mean_auc(fold.test.Y, model[-1].label_scores(model[0].transform(fold.test.X))).value
    return found | {"AUC of label_scores": own}


def summary(found: list[dict[str, float | None]]) -> dict[str, str | None]:
    """Means and standard deviations over folds."""
    notes: dict[str, str | None] = {}
    for name, first in found[0].items():
        values = np.array([one[name] for one in found], dtype=np.float64)
        notes[name] = None if first is None else f"{values.mean():.3f} ±{values.std():.3f}"
    return notes


def described(setting: dict[str, Any], penalty: float, columns: int) -> str:
    """A choice in short."""
    shown = {
        name.partition("__")[2]: value
        for name, value in setting.items()
        if name != "kernel__kernel"
    }
    if "gamma" in shown:
        shown["gamma*d"] = shown.pop("gamma") * columns
    return " ".join(f"{name}={value:g}" for name, value in {**shown, "C": penalty}.items())


def main(args: argparse.Namespace) -> None:
    """One table."""
    report = Report("kernels", args)
    data = load("emotions", args.data).astype(np.float64)
    outer, inner = (2, 2) if args.quick else (args.folds, args.inner)
    ways = methods(data.X.shape[1], args.components, quick=args.quick)
    found: dict[str, list[dict[str, float | None]]] = {name: [] for name in ways}
    chosen: dict[str, Counter[str]] = {name: Counter() for name in ways}
    for number, fold in enumerate(folds(data, outer, args.seed)):
        print(f"fold {number + 1} of {outer} ...", file=sys.stderr)
        parts = list(folds(fold.train, inner, args.seed))
        for name, method in ways.items():
            setting, penalty = choose(method, parts, CS[1:3] if args.quick else CS)
            chosen[name][described(setting, penalty, data.X.shape[1])] += 1
            found[name].append(judge(method, fold, setting, penalty))
    rows = [
        Row(name, notes=summary(found[name]) | {"chosen most": chosen[name].most_common(1)[0][0]})
        for name in ways
    ]
    report.add(
        f"emotions {data.X.shape[0]} x {data.X.shape[1]}, {data.Y.shape[1]} labels, {outer} folds; "
        f"linear SVM on the space, MLSI with {args.components} components",
        rows,
    )
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--folds", type=int, default=5, help="of the cross-validation")
    parser.add_argument("--inner", type=int, default=3, help="folds for each choice")
    parser.add_argument("--components", type=int, default=30, help="of MLSI")
    main(parser.parse_args())
