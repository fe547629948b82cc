"""The grid of hard data through the public estimators: right, warned or refused, never silent.

``LABELSPAN_STRESS=all`` runs every kind of data with every solver, about 35 s; without it each kind
is run with half of the solvers, in turn.
"""

import os
from collections import Counter

import pytest
from _support import stress, stress_estimators

from labelspan import OPLS

WHOLE = os.environ.get("LABELSPAN_STRESS") == "all"
KINDS = [kind for kind, _ in stress.data_sets((6, 5))]


def outcomes(shape):
    if WHOLE:
        return list(stress_estimators.cells(shape))
    found = []
    for turn in (0, 1):
        solvers = stress_estimators.SOLVERS[turn::2]
        found += stress_estimators.cells(shape, solvers=solvers, kinds=KINDS[turn::2])
    return found


@pytest.mark.parametrize("shape", stress.SHAPES)
def test_no_estimator_is_wrong_without_a_warning(shape):
    cells = outcomes(shape)
    silent = [cell for cell in cells if cell[-1][0] == "silent"]
    assert silent == []
    counts = Counter(outcome for *_, (outcome, _) in cells)
    assert counts["right"] > 10 * counts["warned"]
    # Every estimator is right on ordinary data, and on large means and duplicate entries.
    ordinary = [cell for cell in cells if cell[0].startswith(("plain", "means", "duplicate e"))]
    assert {outcome for *_, (outcome, _) in ordinary} == {"right"}


def test_the_grid_sees_a_wrong_estimator(monkeypatch):
    class Off(OPLS):
        def fit(self, X, y):
            super().fit(X, y)
            self.eigenvalues_ = self.eigenvalues_ * (1 + 1e-4)
            return self

    monkeypatch.setattr(stress_estimators, "OPLS", Off)
    cells = stress_estimators.cells("n > d", solvers=("auto",), kinds=KINDS[:1], names=("OPLS",))
    assert {outcome for *_, (outcome, _) in cells} == {"silent"}
