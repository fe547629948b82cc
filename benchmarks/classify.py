"""Linear SVMs over labels, and the measures of what they say."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from labelspan.metrics import f1_scores, mean_auc

__all__ = ["PENALTIES", "choose_penalty", "classify", "score"]

# Of 0.3 to 100, all that was chosen lay within 0.3 and 30.
PENALTIES = (0.1, 0.3, 1.0, 10.0, 30.0)


def classify(
    train: Any,
    Y: np.ndarray,
    test: Any,
    *,
    penalty: float,
    tol: float | None = None,
    jobs: int = 1,
) -> np.ndarray:
    """Decision values of one linear SVM per label; liblinear lets other threads run.

    The primal for dense rows, the dual for sparse ones: each is the faster there.
    """
    dual = sparse.issparse(train)
    train, test = (side.astype(np.float64) for side in (train, test))
    options: dict[str, Any] = {} if tol is None else {"tol": tol}

    def one(label: int) -> np.ndarray:
        targets = Y[:, label]
        if targets.min() == targets.max():
            return np.full(test.shape[0], 2.0 * targets[0] - 1.0)
        model = LinearSVC(C=penalty, dual=dual, random_state=0, **options)
        return np.asarray(model.fit(train, targets).decision_function(test))

    with warnings.catch_warnings(), ThreadPoolExecutor(jobs) as pool:
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.column_stack(list(pool.map(one, range(Y.shape[1]))))


def choose_penalty(
    train: Any,
    Y: np.ndarray,
    test: Any,
    truth: np.ndarray,
    penalties: Sequence[float] = PENALTIES,
    *,
    jobs: int = 1,
) -> tuple[float, float]:
    """The best macro F1 of SVMs that are stopped early, and the C that gave it."""

    def quality(penalty: float) -> float:
        decisions = classify(train, Y, test, penalty=penalty, tol=0.05, jobs=jobs)
        return score(truth, decisions)["macro F1"]

    return max((quality(penalty), penalty) for penalty in penalties)


def score(truth: np.ndarray, decisions: np.ndarray) -> dict[str, float]:
    """Macro and micro F1 and the mean area under the ROC curve."""
    f1 = f1_scores(truth, decisions > 0)
    return {
        "macro F1": f1.macro,
        "micro F1": f1.micro,
        "AUC": mean_auc(truth, decisions).value,
    }
