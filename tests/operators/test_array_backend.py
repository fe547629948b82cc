"""Blocks of numbers: what threads make of them, and that numpy does the same."""

import numpy as np
import pytest

from labelspan.operators import array_backend, threads


@pytest.fixture
def small_parts(monkeypatch):
    """Split blocks of a few rows, as long ones are."""
    monkeypatch.setattr(threads, "_PART", 64)


def test_blocks_are_scaled_added_and_joined_as_numpy_does(small_parts, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    rng = np.random.default_rng(2)
    block, other = rng.standard_normal((2, 301, 6)).astype("float32")
    column, row = rng.standard_normal((301, 1)).astype("float32"), block[0]
    same = np.testing.assert_array_equal
    same(array_backend.scaled(block, 3.0), 3.0 * block)
    same(array_backend.plus(block, other, -0.5), block - 0.5 * other)
    wide = array_backend.plus(block, other.astype(float))
    assert wide.dtype == float
    same(wide, block + other.astype(float))
    same(array_backend.scaled(np.arange(4)[:, None], 0.5), 0.5 * np.arange(4)[:, None])
    same(array_backend.subtract_outer(block, column, row), block - column * row)
    same(array_backend.scaled(block, column), column * block)
    same(array_backend.concatenate([block, column], axis=1), np.hstack([block, column]))
    turned = array_backend.scaled_transpose(block, row)
    assert turned.flags.c_contiguous
    same(turned, (block * row).T)
    order = rng.permutation(301)
    same(array_backend.put_rows(order, block)[order], block)
    lengths = np.array([1.0, 2.0, 0.0, 3.0, 4.0, 5.0])
    kept = [0, 1, 3, 4, 5]
    same(array_backend.divide_columns(block, lengths), block[:, kept] / lengths[kept].astype("f4"))
    same(array_backend.divide_columns(block, lengths + 1), block / (lengths + 1).astype("f4"))
    block[[7, 90, 200]] = np.array([[9.0], [-9.0], [9.0]])
    same(array_backend.largest_entries(block), np.full(6, 9.0))


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


def as_tensor(values):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return torch.as_tensor(values)


@pytest.mark.parametrize("kind", [np.asarray, as_tensor])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_pass_over_several_blocks_gives_what_many_give(kind, dtype, small_parts):
    rng = np.random.default_rng(5)
    blocks = [kind(rng.standard_normal((301, width)).astype(dtype)) for width in (6, 1, 4)]
    small = rng.standard_normal((11, 3))
    joined = np.hstack(blocks).astype(float)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    close = {"rtol": tolerance, "atol": 10 * tolerance}
    wide = kind(rng.standard_normal((301, 2)))
    for right in (blocks[1], blocks[0], wide):
        found = array_backend.inner_all(blocks, right)
        assert [part.shape for part in found] == [(width, right.shape[1]) for width in (6, 1, 4)]
        np.testing.assert_allclose(np.concatenate(found), joined.T @ np.asarray(right), **close)
    product = array_backend.combine(blocks, small)
    assert str(product.dtype).endswith(dtype)
    np.testing.assert_allclose(product, joined @ small, **close)
    block = kind(rng.standard_normal((301, 3)).astype(dtype))
    start = 1 * np.asarray(block)
    wanted = start - joined @ small
    norms = np.linalg.norm(start, axis=0), np.linalg.norm(wanted, axis=0)
    parts = [small[:6], small[6:7], small[7:]]
    before, after = array_backend.subtract_products(block, blocks, parts)
    np.testing.assert_allclose(block, wanted, **close)
    np.testing.assert_allclose(before, norms[0], **close)
    np.testing.assert_allclose(after, norms[1], **close)
