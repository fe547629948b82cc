"""A fit again, and on other numbers of threads: the same bits, or only rounding."""

import numpy as np
import pytest
from _support.certificates import FAMILY, LINEAR
from _support.fitting import fit
from _support.strategies import cases, examples, ordinary
from hypothesis import given
from scipy import sparse

from labelspan import operators
from labelspan.operators import threads

FEW = examples(1 / 3)


@pytest.mark.parametrize("name", FAMILY)
def test_a_second_run_gives_the_same_bits(name):
    member = FAMILY[name]

    @FEW
    @given(cases(kinds=member.kinds, least=2))
    def check(case):
        one, two = (fit(member(), case.given, case.y) for _ in range(2))
        assert (one is None) == (two is None)
        if one is None:
            return
        fit(two, case.given, case.y)  # nor does an earlier fit leave anything behind
        for key, value in vars(one).items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(vars(two)[key], value)
        np.testing.assert_array_equal(one.transform(case.given), two.transform(case.given))

    check()


@pytest.mark.parametrize("name", LINEAR)
def test_threads_over_sparse_rows_change_nothing(name):
    """One thread or two: the same to the bit, for sums are cut alike for any number."""
    member = LINEAR[name]

    @FEW
    @given(ordinary(kinds=member.kinds))
    def check(case):
        X = sparse.csr_array(np.where(np.abs(case.X) < 0.3, 0.0, case.X))
        found = []
        for count in (1, 2):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(operators.sparse, "_WORTH_A_THREAD", 1)
                for module in (operators.sparse, threads):
                    patch.setattr(module, "n_threads", lambda count=count: count)
                found.append(member().fit(X, case.y).components_)
        np.testing.assert_array_equal(*found)

    check()
