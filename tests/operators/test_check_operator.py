"""``check_operator`` sees what is wrong with an operator, and nothing where nothing is."""

import numpy as np
import pytest
from _support.support import Loopback, features, operators
from scipy import sparse

from labelspan.checks import check_operator
from labelspan.operators import Product, as_operator

X = features("tall", 0)


class Broken(Loopback):
    """A sound operator but for one method, which each test replaces."""


def broken(**methods):
    return type("Broken", (Broken,), methods)(X)


@pytest.mark.parametrize(
    ("shape", "dtype"), [("wide", np.float64), ("tall", np.float32), ("low-rank", np.float64)]
)
def test_sound_operators_pass(shape, dtype):
    data = features(shape, 1).astype(dtype)
    for operator in operators(data)[0].values():
        check_operator(operator)
    check_operator(as_operator(sparse.csc_array(data)).T)
    check_operator(Product(as_operator(np.ones((3, len(data)), dtype)), as_operator(data)))


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"_rmatmat": lambda self, block: 0.99 * (X.T @ block)}, "the dot-test fails"),
        ({"gram": lambda self: X.T @ X + 1e-3}, "gram differs from the dense"),
        ({"gram": lambda self: (X.T @ X)[0]}, r"gram has shape \(12,\)"),
        ({"cogram": lambda self: 2 * X @ X.T}, "cogram"),
        ({"column_means": lambda self: X[1:].mean(axis=0)}, "column_means"),
        ({"sum_of_squares": lambda self: 1.01 * float((X**2).sum())}, "sum_of_squares"),
        ({"cross": lambda self, block: -X.T @ block}, "cross"),
        ({"shifted": lambda self, offset: as_operator(X + offset)}, "shifted"),
        ({"rows": lambda self, index: as_operator(X[index[::-1] - 1])}, "rows"),
        ({"matmat": lambda self, block: X @ block[:12]}, "took a block of the wrong shape"),
        ({"rmatmat": lambda self, block: X.T @ block[:60]}, "took a block of the wrong shape"),
    ],
)
def test_what_is_wrong_is_seen(methods, message):
    with pytest.raises(AssertionError, match=message):
        check_operator(broken(**methods))
