"""Fit a model on whatever came, and see that a refusal is a clean one."""

import warnings

import numpy as np

from labelspan.errors import LabelspanError, NotConverged

from .strategies import same_contents

# Every solver of MLSI, to full convergence.
MLSI_SOLVERS = [
    {"solver": "exact"},
    {"solver": "krylov", "tol": 1e-12, "max_iter": 50},
]


def fit(model, X, y):
    """The fitted model, or None where it refused with a sentence; any warning is an error.

    An iteration may warn that it stops early.
    """
    before = X.copy(), y.copy()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", NotConverged)
            model.fit(X, y)
    except LabelspanError as error:
        sentence = str(error)
        assert sentence.endswith(".")
        assert len(sentence) > 30
        assert not hasattr(model, "components_")
        return None
    finally:
        assert same_contents(X, before[0])
        assert same_contents(y, before[1])
    return model


def unit(Z):
    # By a first scaling, because the squares of the data may be out of range.
    Z = Z / (np.abs(Z).max() or 1.0)
    return Z / (np.linalg.norm(Z) or 1.0)
