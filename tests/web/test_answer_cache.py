"""What the cache of answers keeps, and for how long."""

import numpy as np
import pytest

pytest.importorskip("starlette", reason="install labelspan[test]")

from starlette.responses import Response

from labelspan.web.answer_cache import AnswerCache


def kept(cache, key):
    """Whether something is kept for a key, which is forgotten or used by this."""
    new = object()
    return cache.get(key, lambda: new) is not new


def test_the_least_recently_used_are_dropped():
    cache = AnswerCache(most=2)
    for number in (1, 2, 1, 3):
        cache.get((number,), lambda number=number: number)
    assert cache.get((1,), lambda: "new") == 1
    assert cache.get((3,), lambda: "new") == 3
    assert not kept(cache, (2,))


@pytest.mark.parametrize(
    "made", [Response(b"x" * 2000), np.zeros(2000, dtype=np.int8)], ids=["answer", "array"]
)
def test_bytes_are_limited(made):
    cache = AnswerCache(most_bytes=26_000)
    for number in range(12):
        cache.get((number,), lambda: made)
    assert kept(cache, (11,))
    assert not kept(cache, (0,))


def test_what_is_large_does_not_push_out_the_rest():
    cache = AnswerCache(most_bytes=10_000)
    cache.get(("small",), lambda: "small")
    cache.get(("large",), lambda: Response(b"x" * 5000))
    assert kept(cache, ("small",))
    assert not kept(cache, ("large",))


@pytest.mark.parametrize("key", ["q" * 1000, ("label" * 100,) * 2])
def test_long_keys_count(key):
    cache = AnswerCache(most_bytes=46_000)
    for number in range(12):
        cache.get((number, key), lambda: 1)
    assert not kept(cache, (0, key))


def test_what_was_made_from_an_old_state_is_not_kept():
    cache = AnswerCache()

    def make():
        cache.clear()
        return "old"

    assert cache.get(("q",), make) == "old"
    assert cache.get(("q",), lambda: "new") == "new"
    cache.clear()
    assert cache.get(("q",), lambda: "newer") == "newer"
