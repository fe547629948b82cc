"""A fit again, and on other numbers of threads: the same bits, or only rounding."""

import numpy as np
import pytest
from _support.certificates import FAMILY
from _support.fitting import fit
from _support.strategies import cases, examples
from hypothesis import given

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
