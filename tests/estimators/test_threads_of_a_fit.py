"""Which fits leave the cores to threads of Python, and which to BLAS."""

import numpy as np
import pytest
from scipy import sparse

from labelspan import as_operator
from labelspan.estimators import _options
from labelspan.operators import threads


@pytest.mark.parametrize(
    ("X", "limited"),
    [
        (sparse.random_array((5000, 5000), density=1e-4, rng=0), True),
        (sparse.random_array((9000, 4000), density=1e-4, rng=0), False),  # a Gram matrix
        (np.zeros((5000, 5000), dtype=np.float32), False),
        (np.zeros((300, 300)), True),  # too small for a second thread
        (np.zeros((20, 20)), False),  # so small that BLAS takes one thread without being told
    ],
    ids=["sparse", "sparse, few columns", "dense", "small", "tiny"],
)
def test_blas_has_one_thread_where_products_have_their_own(X, limited):
    operator = as_operator(X)
    for each in (operator, operator.T, operator.centered()[0]):
        with _options._threads_for(each):
            assert (threads._one_blas_thread.before is not None) == limited
    assert threads._one_blas_thread.before is None
