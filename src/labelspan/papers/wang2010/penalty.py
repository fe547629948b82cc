"""The penalty that the report shows beside the paper's DLE."""

from __future__ import annotations

import numpy as np

from ..._typing import Array

__all__ = ["PENALTY_SAID", "penalty"]

PENALTY_SAID = (
    "'DLE, penalty' is not in the paper: a tenth of the labelled rows' mean scatter along one "
    "feature, trace(S_t) / d, is added to the diagonal of S_w. It was not tuned."
)


def penalty(rows: Array) -> float:
    """The strength for these labelled rows."""
    return float(0.1 * np.square(rows - rows.mean(axis=0)).sum() / rows.shape[1])
