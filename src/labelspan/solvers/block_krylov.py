"""A block Krylov space: orthonormal blocks, their images, and the problem inside the space."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import combine, inner, inner_all, width_of
from .limits import rounding
from .small_dense import leading, orthonormalize, remove, remove_measured

__all__ = ["KrylovSpace"]

# Above this condition number of a block its errors along the basis were scaled up.
_ILL_CONDITIONED = 1e3
# Above this multiple of the rounding of the longest one, the squared length of an image has enough
# digits.
_CLEAR = 1e3
# Loss of orthogonality of blocks, in units of rounding, above which it is corrected, and the
# number of columns in which it is looked for: each block amplifies the errors of those before it.
_DRIFT, _SOME = 500.0, 4
# An image below this multiple of the rounding of the longest image is zero.
_NULL = 64.0


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
            drift = np.abs(inner(self.basis[0][:, :_SOME], block)).max(initial=0.0)
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
