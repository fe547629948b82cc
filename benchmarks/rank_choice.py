"""The number of components: of OPLS by rule, by cross-validation or all; of MLSI by rule.

``n_components="auto"`` goes by the labels and rows; cross-validation fits three folds of the
training rows (``GridSearchCV``, by the mean average precision over labels) for a grid of
numbers. Both use the same alpha, chosen by the fit. Evaluated on test rows: average precision of
``label_scores`` (over rows), and nDCG of the ten nearest training rows by shared labels.

``--mlsi 50 100 auto 200 500`` compares these numbers for MLSI instead.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV, KFold

from labelspan import MLSI, OPLS
from labelspan.metrics import average_precision, retrieval_at_k

from .harness import Report, Row, make_parser, summarise
from .spaces_data import SETS, load_set, make_split


def _grid(most: int) -> list[int]:
    """Numbers of components to try, closer together where there are few."""
    return sorted({*range(1, min(most, 8)), *np.geomspace(min(8, most), most, 8).astype(int)})


def judge(model: Any, split: Any) -> dict[str, float]:
    """Score a model on the test rows."""
    scores = model.label_scores(split.X_test)
    # Rows without labels would count as 1.
    some = np.asarray(split.Y_test.sum(axis=1)).ravel() > 0
    truth, scores = split.Y_test[some], scores[some]
    near = retrieval_at_k(
        model.transform(split.X_test), split.Y_test, model.transform(split.X), split.Y, 10
    )
    return {
        "AP": label_ranking_average_precision_score(truth, scores),
        "nDCG": near.ndcg,
    }


def _precision(model: Any, X: Any, Y: Any) -> float:
    return average_precision(Y > 0, model.label_scores(X)).value


def main() -> int:
    """Compare the choices on every set."""
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--mlsi", nargs="+", help="numbers of components of MLSI, or auto")
    args = parser.parse_args()
    report = Report("rank_choice", args)
    rows = []
    for name in args.sets:
        raw = load_set(name, args.data)
        found: dict[str, list[dict[str, float]]] = {}
        for seed in range(args.seed, args.seed + args.splits):
            split = make_split(raw, seed, quick=args.quick)
            choices = _numbers(split, args.mlsi) if args.mlsi else _choices(split)
            for choice, (model, seconds) in choices.items():
                notes = {"components": model.n_components_, "s": seconds, **judge(model, split)}
                found.setdefault(choice, []).append(notes)
        for choice, each in found.items():
            notes = {key: summarise([one[key] for one in each]) for key in each[0]}
            rows.append(Row(choice, notes=notes, group=name))
            print(name, choice, notes, flush=True)
    report.add(f"number of components of {'MLSI' if args.mlsi else 'OPLS'}", rows)
    report.write()
    return 0


def _choices(split: Any) -> dict[str, tuple[Any, float]]:
    start = time.process_time()
    whole = OPLS().fit(split.X, split.Y)
    every = time.process_time() - start
    alpha = whole.alpha_
    start = time.process_time()
    auto = OPLS("auto", alpha=alpha).fit(split.X, split.Y)
    chosen = time.process_time() - start
    start = time.process_time()
    grid = _grid(whole.n_components_)
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(OPLS(alpha=alpha), {"n_components": grid}, scoring=_precision, cv=folds)
    best = search.fit(split.X, split.Y).best_estimator_
    return {
        "all": (whole, every),
        "auto": (auto, chosen),
        "cross-validation": (best, time.process_time() - start),
    }


def _numbers(split: Any, numbers: list[str]) -> dict[str, tuple[Any, float]]:
    found = {}
    for number in numbers:
        start = time.process_time()
        model = MLSI(number if number == "auto" else int(number)).fit(split.X, split.Y)
        found[number] = model, time.process_time() - start
    return found


if __name__ == "__main__":
    sys.exit(main())
