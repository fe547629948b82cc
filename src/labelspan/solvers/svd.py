"""The leading singular directions of a matrix: directly, or in a block Krylov space.

Both forms return an `SVD`. The direct one takes eigenvectors of the smaller Gram matrix. The
iterative one grows a space until the missing part of the energy is estimated to be small, and its
answer is inspected by new products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import column_norms, concatenate, host, inner, times, width_of
from ..operators.compositions import Without
from .block_krylov import KrylovSpace
from .decomposition import DIGITS, positive
from .limits import (
    ROUNDINGS,
    SMOOTH_WIDTH,
    column_lengths,
    combinations,
    finest_tolerance,
    rounding,
)
from .small_dense import few_leading, leading, leading_values, orthonormalize, remove

__all__ = [
    "BLOCK_WIDTH",
    "SVD",
    "Inspection",
    "direct_svd",
    "inspect",
    "leading_combinations",
    "truncated_svd",
]

# A block of this number of columns has all copies of an eigenvalue.
BLOCK_WIDTH = 32
# Number of random directions by which a space is tested before it is accepted, and the bound on
# the gain of further ones relative to theirs.
_PROBES, _SAFETY = 4, 16.0
# The largest tolerance; above it, powers of a narrow block may stop inside a step of the spectrum.
_COARSE = 2e-2
# Small gains and residuals do not bound what is missing where eigenvalues are nearly equal: unless
# the space is complete, at least this part of the tolerance is reported.
_SHARPEST = 0.25
# Squares below this fraction of the largest have too few digits.
_DIGITS = 1e-11
# An image below this multiple of the rounding of the longest image is zero,
_NULL = 64.0
# and, once the longest are removed, below this fraction of the length of what is left of the
# columns: data was often rounded to the digits of float32.
_NOTHING = 1e-6
# The slowest accepted decrease of the gains, and the part of its rate at which they continue.
_SLOWEST, _CONTINUED = 0.98, 2 / 3
# Number of powers for the leading combinations of labels; up to so many labels, all their products
# take no longer than some passes over them, and much less on many threads.
_POWERS, _GRAM_LABELS = 3, 128
# Directions above this fraction of the largest eigenvalue are not affected by rounding of products
# in float32, which is 2e-8 to 2e-7 of the largest if blocks of rows are summed in float64.
_CLEAR = 2e-4
# Number of random directions outside an answer that an inspection uses, and of its steps.
_DIRECTIONS, _STEPS = 2, 2
# The missing part outside an answer is estimated as this multiple of what random directions show,
_DOUBT = 1.5
# and the missing part inside as this multiple of the gain of one step along the residual.
_STEPS_TO_COME = 8.0


@dataclass(frozen=True)
class SVD:
    """Squared leading singular values, right singular vectors, and the estimated missing part.

    ``shown`` holds their errors by new products, and is part of ``rest``. ``left`` returns the left
    singular vectors from stored products; None if nothing with n rows is stored.
    """

    values: Array
    right: Array
    n_iter: int
    rest: float
    converged: bool
    shown: Inspection
    left: Callable[[], Array] | None = None


# --- direct -----------------------------------------------------------------------------------


def direct_svd(X: Operator, count: int) -> tuple[Array, Array, Array] | None:
    """Return squared singular values, right singular vectors, and the lengths of the columns.

    From the smaller Gram matrix; None if the shortest of the directions has too few digits there.
    """
    if X.shape[1] != X.short_side:
        values, left = few_leading(X.cogram(), count)
        if not _has_digits(values):
            return None
        return values, X.cross(left / np.sqrt(values)), positive(column_lengths(X))
    grams = [(X.gram, DIGITS)]
    if X.dtype != np.float64:
        grams.insert(0, (X.rough_gram, _CLEAR))
    for gram_of, least in grams:
        gram = gram_of()
        values, vectors = few_leading(gram, count)
        if _has_digits(values, least):
            return values, vectors, positive(np.sqrt(np.diag(gram)))
    return None


def _has_digits(values: Array, least: float = DIGITS) -> bool:
    return bool(values.size and values[-1] > least * values[0])


def leading_combinations(labels: Operator, width: int, rng: np.random.Generator) -> Array:
    """Return orthonormal combinations of labels that hold most of their squared norm.

    They need not be exact, so that a few powers of the products of the labels are enough.
    """
    axes: Array = rng.standard_normal((labels.shape[1], width))
    square = labels.gram() if labels.dense and labels.shape[1] <= _GRAM_LABELS else None
    for _ in range(_POWERS):
        product = host(labels.normal(labels.to_device(axes))) if square is None else square @ axes
        axes = orthonormalize(product)[0]
    return axes


# --- iterative --------------------------------------------------------------------------------


def truncated_svd(
    X: Operator,
    count: int,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    start: Callable[[int], Array] | None = None,
) -> SVD:
    """Find the ``count`` leading singular directions by block Krylov with thick restarts.

    Works on the shorter side of X. Stops when the missing energy is estimated below ``tol``
    of the energy found, and, if powers of the block add nothing, a few random directions
    outside the space add no more than that. Blocks are about a third of ``count``
    wide, which finds more energy per product than one wide block with few powers. The answer is
    then inspected by new products; if these find more than ``tol`` outside it, the space
    gets another random block and grows further. Rows in files or on other machines are read once
    for each block of ``count`` columns, and no array with n rows is stored.

    ``start`` returns up to so many columns of n rows in which much of the energy is expected,
    instead of random ones.

    Squares have only half of the digits of short directions, such as those next to a column in
    large units: these are found afterwards, from what is left of X without the long ones.
    """
    tol = max(min(tol, _COARSE), finest_tolerance(X.dtype))
    found, more = _longest(X, count, tol=tol, max_iter=max_iter, rng=rng, start=start)
    lengths = column_lengths(X) if more else None
    while more:
        # The length of the columns outside the directions that are known.
        outside = np.maximum(1 - np.square(host(found.right)).sum(axis=1), 0.0)
        length = float(np.linalg.norm(lengths * np.sqrt(outside)))
        long = float(np.sqrt(found.values[0]))
        rest, more = _longest(
            Without(X, found.right),
            count - found.values.size,
            tol=tol,
            max_iter=max_iter,
            rng=rng,
            floor=max(_NULL * rounding(X.dtype) * long, _NOTHING * length) ** 2,
        )
        if not rest.values.size:
            break
        found = _joined(found, rest)
    return found


def _joined(first: SVD, second: SVD) -> SVD:
    """Return the directions of X and of what is left of X without them as one answer."""
    sums = float(first.values.sum()), float(second.values.sum())
    shares = np.array(sums) / sum(sums)

    def left() -> Array:
        return concatenate([part.left() for part in (first, second) if part.left], axis=1)

    pair = (first.shown, second.shown)
    return SVD(
        np.concatenate([first.values, second.values]),
        concatenate([first.right, second.right], axis=1),
        first.n_iter + second.n_iter,
        float(shares @ [first.rest, second.rest]),
        first.converged and second.converged,
        Inspection(
            max(shown.error_bound for shown in pair),
            float(shares @ [shown.inside for shown in pair]),
            float(shares @ [shown.outside for shown in pair]),
        ),
        None if first.left is None else left,
    )


def _longest(
    X: Operator,
    count: int,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    floor: float = 0.0,
    start: Callable[[int], Array] | None = None,
) -> tuple[SVD, bool]:
    """Find the leading directions with squares that have digits, and whether there may be more."""
    rows, columns = X.shape
    flipped = rows < columns
    side = X.T if flipped else X
    streaming = X.one_pass and not flipped
    # A pass over rows in files costs more than additional columns.
    width = max(BLOCK_WIDTH, count) if streaming else max(8, -(-count // 3))
    width = min(-(-width // SMOOTH_WIDTH) * SMOOTH_WIDTH, side.shape[1])

    def random_rows(width: int) -> Array:
        if streaming:
            return X.normal(X.random_block(columns, width, rng))
        return side.rmatmat(side.random_block(side.shape[0], width, rng))

    if start is None or streaming:
        first = random_rows(width)
    else:
        first = start(width)
        first = orthonormalize(first if flipped else X.rmatmat(first))[0]
        if first.shape[1] < width:
            first = concatenate([first, random_rows(width - first.shape[1])], axis=1)
    space = KrylovSpace(side, first, passes=streaming, floor=floor)
    if floor > 0 and not space.size:
        none, found = X.to_device(np.zeros((columns, 0))), Inspection(0.0, 0.0, 0.0)
        return SVD(np.zeros(0), none, 1, 0.0, converged=True, shown=found), False
    n_iter = 1
    while True:
        rest, n_iter = _grow(space, count, width, n_iter, tol=tol, max_iter=max_iter, rng=rng)
        values, vectors = leading(space.gram, count)
        keep = _clear(values, X.dtype)
        # Directions dropped as rounding are missing too.
        rest = max(rest, finest_tolerance(X.dtype) / 2)
        if keep.any():
            rest += float(np.maximum(values[~keep], 0.0).sum() / values[keep].sum())
        values, vectors = values[keep], vectors[:, keep]
        inside = vectors / np.sqrt(values) if flipped else vectors
        right = space.combine_image(inside) if flipped else space.combine(inside)
        shown = inspect(X, values, right, rng)
        if shown.missing <= tol or shown.error_bound > tol or n_iter >= max_iter:
            break
        if not space.add(random_rows(width)):
            break
    claimed = 0.0 if space.exhausted else _SHARPEST * tol
    rest = float(max(rest, shown.missing, claimed))
    left = None
    if flipped:
        left = partial(space.combine, vectors)
    elif not streaming:
        left = partial(space.combine_image, vectors / np.sqrt(values))
    svd = SVD(values, right, n_iter, rest, bool(rest <= tol), shown, left)
    return svd, 0 < values.size < count


def _clear(values: Array, dtype: Any) -> Array:
    """Return which of some decreasing squares have digits next to the first one."""
    return np.asarray(values > max(64 * rounding(dtype), _DIGITS) * max(values[0], 0.0))


def _grow(
    space: KrylovSpace,
    count: int,
    width: int,
    n_iter: int,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> tuple[float, int]:
    """Expand a space until the estimated missing part is below ``tol``; return both."""
    side = space.X
    most = max(4 * count, count + 4 * width)
    noise = rounding(side.dtype)
    gains: list[float] = []
    energy, rest = np.nan, np.inf
    while n_iter < max_iter or space.size < count:
        done = rest <= tol or space.exhausted
        narrow = space.exhausted or space.basis[-1].shape[1] < width
        if (
            narrow
            and n_iter > 1
            and not _clear(leading_values(space.gram, count), side.dtype).all()
        ):
            # The directions that hide the others are found.
            return 0.0, n_iter
        if done and np.isfinite(rest) and not space.exhausted:
            # The inspection tests random directions, which is enough if powers of the block
            # still add some.
            break
        if done:
            if np.isnan(energy):
                energy = float(leading_values(space.gram, count).sum())
            if not space.add(side.random_block(side.shape[1], _PROBES, rng)):
                # The space is complete.
                return 0.0, n_iter
        space.expand()
        n_iter += 1
        if space.size >= min(count, side.shape[1]):
            before, energy = energy, float(leading_values(space.gram, count).sum())
            unseen = _SAFETY * (energy - before) / energy
            if done and unseen <= tol:
                rest = max(rest if np.isfinite(rest) else 0.0, unseen)
                break
            if done:
                gains, rest = [], np.inf
            elif not np.isnan(before):
                gains.append(energy - before)
                rest = rest_of(gains, energy, noise)
        if space.size > most:
            space.compress(count + width)
            # Gains across a restart do not decrease like those inside a cycle.
            gains, energy = [], np.nan
    return rest, n_iter


def rest_of(gains: Sequence[float], total: float, noise: float) -> float:
    """Estimate the missing part of a growing sum, relative to it, from its last gains.

    The gains of a Krylov space decrease roughly geometrically, but at a slowing rate:
    the series continues at two thirds of the slower rate of the last two gains. On spectra that are
    flat, steep or in steps this was .7 to 30 times the missing part. Infinite before there are two
    gains; never below the rounding of the sum.
    """
    if len(gains) < 2:
        return np.inf
    ratio = max(_rate(gains[-2:]), _rate(gains[-3:-1]) if len(gains) > 2 else 0.0) ** _CONTINUED
    rest = abs(gains[-1]) * ratio / (1 - ratio) / abs(total)
    return float(max(rest, ROUNDINGS * noise))


def _rate(gains: Sequence[float]) -> float:
    previous, gain = abs(gains[0]), abs(gains[-1])
    return min(gain / previous, _SLOWEST) if previous > 0 else _SLOWEST


# --- the check by new products --------------------------------------------------------------


@dataclass(frozen=True)
class Inspection:
    """Errors of leading eigenvectors, as shown by new products.

    ``error_bound`` is the deviation of the vectors from orthonormality or, if larger, the relative
    amount by which their Rayleigh quotients are below the eigenvalues. ``inside`` is the fraction
    of the objective that steps along the eigen-residual would add, ``outside`` the fraction that
    random directions find elsewhere.
    """

    error_bound: float
    inside: float
    outside: float

    @property
    def missing(self) -> float:
        """The estimated missing fraction of the objective."""
        return max(self.error_bound, self.inside, self.outside)


def inspect(X: Operator, values: Array, right: Array, rng: np.random.Generator) -> Inspection:
    """Check ``X'X V = V diag(values)`` and ``V'V = I`` by independent products.

    The residual R of random combinations gives ``sum |r_i|^2 / values_i``, which a step along it
    adds at least. Random directions, orthogonal to V, start a block Krylov space of two steps,
    whose Ritz values and weights are a quadrature of the spectrum outside V: the number
    and size of eigenvalues above the smallest one in the answer. This finds copies of an eigenvalue
    that no power of X'X can reach. It costs a product with 4 columns and one with 2.
    """
    if not values.size:
        return Inspection(0.0, 0.0, 0.0)
    start = X.random_block(X.shape[1], _DIRECTIONS, rng)
    eps = rounding(width_of(start))
    mixing = combinations(values.size, _DIRECTIONS)
    width, floor = mixing.shape[1], 64 * eps * values[0]
    roots = np.sqrt(np.maximum(values, floor))[:, None]
    vectors = times(right, np.hstack([mixing, mixing / roots, values[:, None] * mixing / roots]))
    plain, scaled, expected = (vectors[:, at : at + width] for at in (0, width, 2 * width))
    block = orthonormalize(remove(start, [right]))[0]
    images = X.normal(concatenate([scaled, block], axis=1))
    gap = images[:, :width] - expected
    # Each combination represents a part of the directions.
    added = float(np.square(column_norms(gap)).sum()) * values.size / width
    inside = _STEPS_TO_COME * added / float(values.sum())
    noise = 64 * eps * np.sqrt(values[0] / max(values[-1], floor))
    square = mixing.T @ mixing
    claimed = float((mixing * values[:, None] * mixing / roots).sum())
    error_bound = max(
        float(np.linalg.norm(inner(plain, plain) - square) / np.linalg.norm(square)),
        # Quotients may be larger than the eigenvalues if the iteration has not converged.
        1 - float(np.trace(inner(plain, images[:, :width]))) / claimed,
    )
    outside = _outside(X, right, values, block, images[:, width:])
    return Inspection(error_bound if error_bound > noise else 0.0, inside, outside)


def _outside(X: Operator, right: Array, values: Array, block: Array, image: Array) -> float:
    """Estimate the gain from eigenvalues outside an answer, relative to its sum."""
    width = block.shape[1]
    if not width:
        return 0.0
    basis, images = [block], [image]
    for _ in range(_STEPS - 1):
        block = orthonormalize(remove(remove(1 * images[-1], [right]), basis))[0]
        if not block.shape[1]:
            break
        basis.append(block)
        images.append(X.normal(block))
    square = inner(concatenate(basis, axis=1), concatenate(images, axis=1))
    nodes, vectors = leading(square, square.shape[0])
    room = max(0, basis[0].shape[0] - values.size)
    copies = room * np.square(vectors[:width]).sum(axis=0) / width
    # An eigenvalue above the smallest one of the answer would replace that one.
    larger = nodes > values[-1] + 64 * rounding(width_of(image)) * values[0]
    sizes = np.concatenate([values, nodes[larger]])
    counts = np.concatenate([np.ones(values.size), copies[larger]])
    order = np.argsort(-sizes, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(counts[order])[:-1]])
    kept = np.clip(values.size - before, 0.0, counts[order])
    return float(_DOUBT * max(0.0, (sizes[order] * kept).sum() / values.sum() - 1))
