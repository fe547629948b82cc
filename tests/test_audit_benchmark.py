"""The mistakes that the audit benchmark plants are the ones that it says."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

audit = importlib.import_module("benchmarks.audit")


@pytest.mark.parametrize("kind", audit.MISTAKES)
def test_as_many_mistakes_as_asked(kind):
    rng = np.random.default_rng(0)
    truth = rng.random((300, 12)) < 0.2
    found = audit.plant(truth, kind, 0.05, seed=1)
    many = round(0.05 * truth.sum())
    assert found.added.sum() == (0 if kind == "removed" else many)
    assert found.removed.sum() == (0 if kind == "added" else many)
    # Added where it was absent, removed where it was present, and nothing else differs.
    assert not (found.added & truth).any()
    assert not (found.removed & ~truth).any()
    np.testing.assert_array_equal(found.given ^ truth, found.added | found.removed)
