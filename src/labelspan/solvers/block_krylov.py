"""The leading singular directions of a matrix in a block Krylov space, with thick restarts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import combine, concatenate, host, inner, inner_all, times, width_of
from ..operators.compositions import Without
from .inspection import RANDOM_DIRECTIONS, Inspection, inspect
from .problem import column_lengths, finest_tolerance, rest_of, rounding
from .small_dense import leading, leading_values, orthonormalize, remove, remove_measured

__all__ = ["BLOCK_WIDTH", "KrylovSpace", "TruncatedSVD", "truncated_svd"]

# Products process blocks of a multiple of four columns fastest; a block of BLOCK_WIDTH has all
# copies of an eigenvalue.
_SMOOTH_WIDTH, BLOCK_WIDTH = 4, 32
# Above this condition number of a block its errors along the basis were scaled up.
_ILL_CONDITIONED = 1e3
# Number of random directions by which a space is tested before it is accepted, and the bound on
# the gain of further ones relative to theirs.
_PROBES, _SAFETY = 4, 16.0
# The largest tolerance; above it, powers of a narrow block may stop inside a step of the spectrum.
_COARSE = 2e-2
# Small gains and residuals do not bound what is missing where eigenvalues are nearly equal: unless
# the space is complete, at least this part of the tolerance is reported.
_SHARPEST = 0.25
# Above this multiple of the rounding of the longest one, the squared length of an image has enough
# digits.
_CLEAR = 1e3
# Squares below this fraction of the largest have too few digits.
_DIGITS = 1e-11
# Loss of orthogonality of blocks, in units of rounding, above which it is corrected: each block
# amplifies the errors of those before it.
_DRIFT = 500.0
# An image below this multiple of the rounding of the longest image is zero,
_NULL = 64.0
# and, once the longest are removed, below this fraction of the length of what is left of the
# columns: data was often rounded to the digits of float32.
_NOTHING = 1e-6


class KrylovSpace:
    """An orthonormal basis P of ``span{W, X'X W, (X'X)^2 W, ...}``, block by block.

    It also stores the image ``X P`` and the small matrix ``P'X'X P``, which a Rayleigh-Ritz step
    needs. Each :meth:`expand` costs one product with X' and one with X, for the width of the
    latest block. The small matrix is zero between a block that was expanded and all blocks after
    the next one, as ``X'X`` maps it into the space.

    If rows are read in ``passes``, because they are in files or on other machines, ``X'X P``
    is stored instead of ``X P``: no array has n rows, and each block costs one pass. Squares
    of short directions then have only half of the digits. Images whose squared length is at
    most ``floor`` are rounding, and are left out.
    """

    def __init__(
        self, X: Operator, start: Array, *, passes: bool = False, floor: float = 0.0
    ) -> None:
        self.X, self.passes, self._floor = X, passes, floor
        self.basis: list[Array] = []
        self.image: list[Array] = []
        self.gram = np.zeros((0, 0))
        # Which blocks X'X maps into the space.
        self._inside: list[bool] = []
        self._drifts = False
        self.exhausted = not self._append(start)

    @property
    def size(self) -> int:
        return self.gram.shape[0]

    def expand(self) -> bool:
        """Add a block; return False if the space is invariant."""
        if not self.exhausted:
            newest, number = self.image[-1], len(self.basis) - 1
            squares = np.diag(self.gram)
            shortest = squares[-newest.shape[1] :].min()
            clear = shortest > _CLEAR * rounding(width_of(newest)) * squares.max()
            self.exhausted = not self._append(1 * newest if self.passes else self.X.rmatmat(newest))
            self._inside[number] = bool(clear)
        return not self.exhausted

    def add(self, block: Array) -> bool:
        """Add directions that the powers may never reach; return False if none is new.

        Copies of an eigenvalue beyond the width of the first block are such directions.
        """
        added = self._append(block)
        self.exhausted = self.exhausted and not added
        return added

    def combine(self, coefficients: Array) -> Array:
        """``P @ coefficients``."""
        return combine(self.basis, coefficients)

    def combine_image(self, coefficients: Array) -> Array:
        """``X @ P @ coefficients``, or ``X'X P @ coefficients`` in passes."""
        return combine(self.image, coefficients)

    def compress(self, count: int) -> None:
        """Keep the leading directions of all blocks but the latest: a thick restart."""
        old = self.size - self.basis[-1].shape[1]
        values, vectors = leading(self.gram[:old, :old], count)
        newest, newest_image = self.basis.pop(), self.image.pop()
        self.basis = [combine(self.basis, vectors), newest]
        self.image = [combine(self.image, vectors), newest_image]
        self._inside = [all(self._inside[:-1]), self._inside[-1]]
        side = vectors.T @ self.gram[:old, old:]
        corner = self.gram[old:, old:]
        self.gram = np.block([[np.diag(values), side], [side.T, corner]])

    def _append(self, block: Array) -> bool:
        before, after = remove_measured(block, self.basis)
        if self._drifts:
            _, after = remove_measured(block, self.basis)
        # The remainder of a block inside the space is rounding, not a direction.
        if not np.linalg.norm(after) > 100 * rounding(width_of(block)) * np.linalg.norm(before):
            return False
        block, factor = orthonormalize(block)
        room = self.X.shape[1] - self.size
        if room <= 0:
            return False
        block = block[:, -room:]
        if self.basis and _condition(factor) > _ILL_CONDITIONED:
            # Short directions were scaled up, and with them their errors along the basis.
            block, _ = orthonormalize(remove(block, self.basis))
        if self.basis and not self._drifts:
            drift = np.abs(inner(self.basis[0][:, :_SMOOTH_WIDTH], block)).max(initial=0.0)
            self._drifts = bool(drift > _DRIFT * rounding(width_of(block)))
            if self._drifts:
                block, _ = orthonormalize(remove(block, self.basis))
        image, side, corner = self._mapped(block)
        floor = self._floor
        if self.basis:
            # A direction that X maps to rounding is not a direction of its rows.
            nothing = _NULL * rounding(width_of(block))
            largest = np.diag(self.gram).max()
            floor = max(floor, (nothing if self.passes else nothing**2) * largest)
        if floor > 0:
            alive = np.flatnonzero(np.diag(corner) > floor)
            if not alive.size:
                return False
            if alive.size < corner.shape[0]:
                block, image = block[:, alive], image[:, alive]
                corner, side = corner[np.ix_(alive, alive)], side[:, alive]
        self.gram = np.block([[self.gram, side], [side.T, corner]])
        self.basis.append(block)
        self.image.append(image)
        self._inside.append(False)
        return True

    def _mapped(self, block: Array) -> tuple[Array, Array, Array]:
        """Return the image of a block, and its products with earlier images and itself."""
        image = self.X.normal(block) if self.passes else self.X.matmat(block)
        earlier, own = (self.basis, block) if self.passes else (self.image, image)
        wanted = [part for part, inside in zip(earlier, self._inside, strict=True) if not inside]
        *found, corner = inner_all([*wanted, own], image)
        side, start = np.zeros((self.size, block.shape[1])), 0
        for part, inside in zip(earlier, self._inside, strict=True):
            if not inside:
                side[start : start + part.shape[1]] = found.pop(0)
            start += part.shape[1]
        return image, side, (corner + corner.T) / 2


def _condition(factor: Array) -> float:
    """Return a condition number of a triangular factor, from its inverse if it has one."""
    square = factor.shape[0] == factor.shape[1]
    return float(np.linalg.cond(factor, 1 if square else None))


@dataclass(frozen=True)
class TruncatedSVD:
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


def truncated_svd(
    X: Operator, count: int, *, tol: float, max_iter: int, rng: np.random.Generator
) -> TruncatedSVD:
    """Find the ``count`` leading singular directions by block Krylov with thick restarts.

    Works on the shorter side of X. Stops when the missing energy is estimated below ``tol``
    of the energy found, and, if powers of the block add nothing, a few random directions
    outside the space add no more than that. Blocks are about a third of ``count``
    wide, which finds more energy per product than one wide block with few powers. The answer is
    then inspected by new products; if these find more than ``tol`` outside it, the space
    gets another random block and grows further. Rows in files or on other machines are read once
    for each block of ``count`` columns, and no array with n rows is stored.

    Squares have only half of the digits of short directions, such as those next to a column in
    large units: these are found afterwards, from what is left of X without the long ones.
    """
    tol = max(min(tol, _COARSE), finest_tolerance(X.dtype))
    found, more = _longest(X, count, tol=tol, max_iter=max_iter, rng=rng)
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


def _joined(first: TruncatedSVD, second: TruncatedSVD) -> TruncatedSVD:
    """Return the directions of X and of what is left of X without them as one answer."""
    sums = float(first.values.sum()), float(second.values.sum())
    shares = np.array(sums) / sum(sums)

    def left() -> Array:
        return concatenate([part.left() for part in (first, second) if part.left], axis=1)

    pair = (first.shown, second.shown)
    return TruncatedSVD(
        np.concatenate([first.values, second.values]),
        concatenate([first.right, second.right], axis=1),
        first.n_iter + second.n_iter,
        float(shares @ [first.rest, second.rest]),
        first.converged and second.converged,
        Inspection(
            max(shown.off for shown in pair),
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
) -> tuple[TruncatedSVD, bool]:
    """Find the leading directions with squares that have digits, and whether there may be more."""
    rows, columns = X.shape
    flipped = rows < columns
    side = X.T if flipped else X
    lean = X.one_pass and not flipped
    # A pass over rows in files costs more than additional columns.
    width = max(BLOCK_WIDTH, count) if lean else max(8, -(-count // 3))
    width = min(-(-width // _SMOOTH_WIDTH) * _SMOOTH_WIDTH, side.shape[1])

    def random_rows() -> Array:
        if lean:
            return X.normal(X.random_block(columns, width, rng))
        return side.rmatmat(side.random_block(side.shape[0], width, rng))

    space = KrylovSpace(side, random_rows(), passes=lean, floor=floor)
    if floor > 0 and not space.size:
        none, found = X.place(np.zeros((columns, 0))), Inspection(0.0, 0.0, 0.0)
        return TruncatedSVD(np.zeros(0), none, 1, 0.0, converged=True, shown=found), False
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
        shown = _inspected(X, values, right, rng)
        if shown.missing <= tol or shown.off > tol or n_iter >= max_iter:
            break
        if not space.add(random_rows()):
            break
    claimed = 0.0 if space.exhausted else _SHARPEST * tol
    rest = float(max(rest, shown.missing, claimed))
    left = None
    if flipped:
        left = partial(space.combine, vectors)
    elif not lean:
        left = partial(space.combine_image, vectors / np.sqrt(values))
    svd = TruncatedSVD(values, right, n_iter, rest, bool(rest <= tol), shown, left)
    return svd, 0 < values.size < count


def _clear(values: Array, dtype: Any) -> Array:
    """Return which of some decreasing squares have digits next to the first one."""
    return np.asarray(values > max(64 * rounding(dtype), _DIGITS) * max(values[0], 0.0))


def _inspected(X: Operator, values: Array, right: Array, rng: np.random.Generator) -> Inspection:
    if not values.size:
        return Inspection(0.0, 0.0, 0.0)
    return inspect(
        X.normal,
        lambda coefficients: times(right, coefficients),
        lambda block: remove(block, [right]),
        values,
        X.random_block(X.shape[1], RANDOM_DIRECTIONS, rng),
    )


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
