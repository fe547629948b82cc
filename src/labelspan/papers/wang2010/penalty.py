"""The regularization strength of the additional DLE variant in the report."""

from __future__ import annotations

import numpy as np

from ..._typing import Array

__all__ = ["PENALTY_NOTE", "penalty"]

PENALTY_NOTE = (
    "'DLE, penalty' is not in the paper: a tenth of the mean scatter of the labelled rows along "
    "one feature, trace(S_t) / d, is added to the diagonal of S_w. It was not tuned."
)


def penalty(rows: Array) -> float:
    """Return the regularization strength for these labelled rows."""
    return float(0.1 * np.square(rows - rows.mean(axis=0)).sum() / rows.shape[1])
