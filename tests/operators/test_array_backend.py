"""Blocks of numbers: what threads make of them, and that numpy does the same."""

import numpy as np
import pytest

from labelspan.operators import array_backend, threads


@pytest.fixture
def small_parts(monkeypatch):
    """Split blocks of a few rows, as long ones are."""
    monkeypatch.setattr(threads, "_PART", 64)


@pytest.mark.parametrize("unit", [1e-30, 1e-15, 1.0, 1e17])
def test_norms_of_what_is_left_in_any_unit(unit):
    """Squares of float32 numbers may be too small or too large for float32."""
    block = (unit * np.random.default_rng(5).standard_normal((200, 3))).astype("float32")
    basis = np.eye(200, 1, dtype="float32")
    expected = np.linalg.norm(block.astype(float), axis=0)
    before, after = array_backend.subtract_products(block, [basis], [block[:1].copy()])
    np.testing.assert_allclose(before, expected, rtol=1e-5)
    np.testing.assert_allclose(after, np.linalg.norm(block[1:].astype(float), axis=0), rtol=1e-5)


def test_random_numbers_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(array_backend, "_MANY_RANDOM", 100)
    monkeypatch.setattr(array_backend, "_RANDOM_PART", 64)
    found = []
    for count in (1, 2):
        monkeypatch.setattr(threads, "n_threads", lambda count=count: count)
        rng = np.random.default_rng(3)
        found.append([array_backend.random_block(5000, 3, rng, np.float32, None) for _ in range(2)])
    np.testing.assert_array_equal(*found)
    first, second = found[0]
    assert first.dtype == np.float32
    # Columns, blocks of rows and draws are independent: nothing repeats.
    assert np.unique(np.concatenate([first, second])).size > 29_900
    assert abs(first.mean()) < 0.05
    assert abs(first.std() - 1) < 0.05
    few = array_backend.random_block(3, 2, np.random.default_rng(4), np.float64, None)
    np.testing.assert_array_equal(few, np.random.default_rng(4).standard_normal((3, 2)))


@pytest.mark.parametrize("count", [1, 2])
def test_an_overflow_is_treated_as_the_caller_asks(count, small_parts, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: count)
    large = np.full((200, 4), 1e300)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        array_backend.contiguous(large, np.float32)
    with np.errstate(over="ignore"):
        assert np.isinf(array_backend.contiguous(large, np.float32)).all()
