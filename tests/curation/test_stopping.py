"""When a lesson may stop, by the order of its answers."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from labelspan.curation.stopping import LEVEL, StoppingRule, _at_most, chance_to_miss, most_left


def test_probabilities_are_those_of_scipy():
    rng = np.random.default_rng(0)
    remaining = rng.integers(50, 900, 200)
    belong = np.array([rng.integers(0, n) for n in remaining])
    drawn = np.array([rng.integers(1, n) for n in remaining])
    found = rng.integers(0, 60, 200)
    expected = hypergeom.cdf(found, remaining, belong, drawn)
    np.testing.assert_allclose(_at_most(found, remaining, belong, drawn), expected, atol=1e-9)


def test_the_limit_falls_with_what_is_read():
    limits = [most_left([True] * 20 + [False] * n, 800 - n) for n in range(0, 801, 50)]
    assert limits[0] == 800
    assert limits == sorted(limits, reverse=True)
    assert limits[-1] == 0
    # As many as are rejected are not possible: none of 100 out of 500.
    limit = most_left([True] * 20 + [False] * 100, 400)
    assert hypergeom.cdf(0, 500, limit, 100) > LEVEL >= hypergeom.cdf(0, 500, limit + 1, 100)
    assert most_left([], 30) == 30
    assert most_left([True], 0) == 0


@pytest.mark.parametrize("skew", [0.0, 3.0, 8.0])
def test_the_limit_holds_where_the_order_is_no_worse_than_chance(skew):
    held = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        truth = np.zeros(400, dtype=bool)
        truth[:30] = True
        # A better ranking than chance, for a skew above 0.
        order = np.argsort(rng.exponential(size=400) - skew * truth * rng.random(400))
        answers = truth[order]
        held += [
            most_left(answers[:n], 400 - n) >= np.count_nonzero(answers[n:])
            for n in range(40, 400, 60)
        ]
    # Forty ends are tried, so that less than four of five hold where the order is that of chance.
    assert np.mean(held) > 0.7


def _ranked(seed, count=600, belong=40):
    rng = np.random.default_rng(seed)
    truth = np.arange(count) < belong
    return truth[np.argsort(rng.standard_normal(count) - 1.8 * truth)]


@pytest.mark.parametrize("target", [0.8, 0.95])
def test_a_promise_is_kept_and_not_withdrawn_by_what_it_expected(target):
    kept = []
    for seed in range(8):
        answers = _ranked(seed)
        state, promised = [], None
        for n in range(20, 600, 20):
            rule = StoppingRule(target, answers[:n], 600 - n)
            state.append(rule.enough)
            found = np.count_nonzero(answers[:n])
            if state[-1] and promised is None:
                promised = found + rule.limit
                kept.append(found >= target * 40)
            if promised is not None and found <= promised:
                assert state[-1]
    assert kept == [True] * 8


def test_the_chance_to_miss_is_small_where_the_target_is_reached():
    answers = _ranked(3)
    for n in range(50, 600, 50):
        rule = StoppingRule(0.95, answers[:n], 600 - n)
        chance = chance_to_miss(answers[:n], 600 - n, 0.95)
        if chance <= LEVEL:
            assert rule.enough
        # Else only an earlier promise can hold.
        assert 0.0 <= chance <= 1.0
    assert chance_to_miss(answers, 0, 0.95) == 0.0
    assert chance_to_miss([False] * 9, 100, 0.95) > LEVEL


def test_what_was_not_possible_withdraws_a_promise():
    answers = [True] * 20 + [False] * 300
    rule = StoppingRule(0.95, answers, 80)
    assert rule.enough
    assert rule.limit == 1
    assert StoppingRule(0.95, [*answers, True], 79).limit == 0
    broken = StoppingRule(0.95, [*answers, *[True] * 12], 68)
    assert not broken.enough
    assert broken.limit > 1


def test_members_count_as_found():
    answers = [True] * 20 + [False] * 300
    assert not StoppingRule(1.0, answers, 80).enough
    assert StoppingRule(0.95, [False] * 200, 20, members=40).enough
    # Nothing is found, so nothing can be promised, unless hardly anything can be left.
    assert not StoppingRule(0.95, [False] * 100, 100).enough
    assert StoppingRule(0.95, [False] * 200, 0).enough


def test_how_many_more_are_needed():
    answers, rest = _ranked(0)[:150], _ranked(0)[150:]
    chances = np.sort(np.where(rest, 0.5, 0.005))[::-1]
    rule = StoppingRule(0.95, answers, len(rest))
    more = rule.more(chances)
    assert 0 < more <= len(rest)
    easier = StoppingRule(0.8, answers, len(rest)).more(chances)
    assert easier < more
    # After as many answers, as expected, it is enough.
    found = round(float(chances[:more].sum()))
    later = [*answers, *[True] * found, *[False] * (more - found)]
    assert StoppingRule(0.95, later, len(rest) - more).enough
    assert StoppingRule(0.95, later, len(rest) - more).more(chances[more:]) == 0
