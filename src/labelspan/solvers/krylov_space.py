"""A growing block Krylov space of X'X, and the truncated SVD computed from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import Mismatch
from ..operators import Operator
from ..operators.array_backend import (
    column_norms,
    combine,
    concatenate,
    divide_columns,
    host,
    inner,
    inner_all,
    subtract_products,
    times,
    width_of,
)
from ..operators.machine import single_thread
from ..operators.operator import image_of, label_cross, seen_by
from .problem import combinations, rounding
from .small_dense import few_leading, leading, leading_values

__all__ = [
    "OUTSIDE",
    "PROBE",
    "SMOOTH_WIDTH",
    "Inspection",
    "KrylovSpace",
    "LabelBlock",
    "TruncatedSVD",
    "finest_tolerance",
    "inspect",
    "orthonormalize",
    "refuse_apart",
    "remaining_blocks",
    "remove",
    "rest_of",
    "truncated_svd",
    "unit_columns",
]


_ILL_CONDITIONED = 1e3
# Products process blocks of a multiple of this many columns at once.
SMOOTH_WIDTH = 4
# Number of random directions by which a space is tested before it is accepted.
PROBE = 2
# More copies of one eigenvalue than this are not expected: a block of this width has them all.
_MANY_COPIES = 32
# The largest tolerance; above it, powers of a narrow block may stop inside a step of the spectrum.
_COARSE = 2e-2
# Bound on the gain of further such directions, relative to the gain of these.
_SAFETY = 16.0
# The slowest accepted decrease of the gains.
_SLOWEST = 0.98
# Two rates of decrease that differ by less than this factor are treated as equal.
_STEADY = 1.25
# An image below this multiple of the rounding of the longest image is zero.
_NULL = 64.0
# Loss of orthogonality of blocks, in units of rounding, above which it is corrected.
_DRIFT = 500.0
# Rounding error of a sum of eigenvalues, in units of epsilon.
_ROUNDINGS = 16
# Number of random directions outside an answer that an inspection uses, and of its steps.
OUTSIDE, _STEPS = 2, 2
# The missing part outside an answer is estimated as this multiple of what random directions show,
_DOUBT = 1.5
# and the missing part inside as this multiple of the gain of one step along the residual.
_STEPS_TO_COME = 8.0


# Directions whose squared length is below this fraction of the longest are rounding, in either
# precision: this is the limit of float64 Gram matrices and of float32 blocks.
_TOLERANCE = 1e-12
# Above this condition number a triangular factor would not show a loss of rank.
_SAFE = 1e4
# Below this condition number one pass makes the columns orthonormal up to rounding.
_ENOUGH = 10.0
# Minimum number of label directions that a space starts from, and the fraction of their squared
# norm above which no more are added.
_FEW_LABELS, _LABEL_ENERGY = 32, 0.96
# Up to this many labels their products are formed; beyond, number of subspace iterations.
_GRAM_LABELS, _LABEL_STEPS = 512, 2


class LabelBlock:
    """The labels L of the rows of X: an array or an operator.

    ``mixing`` holds the factors of the columns, or the combinations that replace them.
    """

    def __init__(self, X: Operator, labels: Any, mixing: Array | None = None) -> None:
        self._X, self._mixing = X, mixing
        self._operator = isinstance(labels, Operator)
        if self._operator:
            refuse_apart(X, labels)
        self.values: Any = labels if self._operator else X.place(labels)
        # X'L, if the rows of X but not the labels are read in passes.
        lean = X.one_pass and not (self._operator and labels.one_pass)
        self._cross = self._products() if lean else None

    @property
    def width(self) -> int:
        mixing = self._mixing
        return int(self.values.shape[1] if mixing is None else mixing.shape[-1])

    def along(self, products: Array) -> Array:
        """Return ``A'L`` from the products with the labels as they are stored."""
        if self._mixing is None:
            return products
        return products * self._mixing if self._mixing.ndim == 1 else products @ self._mixing

    def combined(self, block: Array) -> Array:
        """Return the combinations of stored labels given by a block with one row per label."""
        if self._mixing is None:
            return block
        mixing, block = self._mixing, host(block)
        return mixing[:, None] * block if mixing.ndim == 1 else mixing @ block

    def back(self, block: Array) -> Array:
        """Return ``X'L block``."""
        block = self.combined(block)
        if self._cross is not None:
            return times(self._cross, block)
        if self._operator:
            return self._X.label_products(self.values.place(block), self.values)
        return self._X.rmatmat(times(self.values, block))

    def pass_over(self, block: Array) -> tuple[Array, Array]:
        """Return ``X'X block`` and ``block'X'L``, in one pass over the rows."""
        if self._cross is not None:
            return self._X.normal(block), self.along(inner(block, self._cross))
        normal, seen = self._X.joint_products(block, self.values)
        return normal, self.along(np.ascontiguousarray(host(seen).T))

    def start(self, axes: Array, extra: int, rng: np.random.Generator) -> Array:
        """Return ``X'[L axes, random]``, columns of unit length."""
        X = self._X
        if X.one_pass:
            parts = [self.back(axes), X.normal(X.random_block(X.shape[1], extra, rng))]
            return unit_columns(concatenate(parts, axis=1))
        wanted = X.place(image_of(self.values, self.combined(axes)))
        random = X.random_block(X.shape[0], extra, rng)
        return X.rmatmat(concatenate([unit_columns(wanted), unit_columns(random)], axis=1))

    def leading(self, most: int, rng: np.random.Generator) -> tuple[Array, float]:
        """Return directions that capture most of the labels, and the fraction that they capture.

        A rotation of the labels does not change an objective, so the directions that
        capture most of their squared norm can represent all of them, and the regression inside the
        space finds the rest. With fewer the iteration would stall; all of them would cost more than
        as many further blocks.
        """
        most = min(most, self.width)
        if self.width <= _GRAM_LABELS and not (self._operator and self.values.one_pass):
            square = self.values.gram() if self._operator else inner(self.values, self.values)
            square = self.along(self.along(square).T)
            energy, axes = few_leading(square, most)
            total = float(np.trace(square))
        else:
            axes = np.eye(most) if most == self.width else rng.standard_normal((self.width, most))
            for _ in range(_LABEL_STEPS):
                axes, root = orthonormalize(self._square(host(axes)))
            energy = np.linalg.svd(root, compute_uv=False)
            total = self._total()
        share = np.cumsum(energy) / max(total, np.finfo(float).tiny)
        few = min(most, max(int(np.searchsorted(share, _LABEL_ENERGY)) + 1, _FEW_LABELS))
        few = min(few, axes.shape[1])
        return axes[:, :few], float(share[few - 1]) if few else 1.0

    def _square(self, block: Array) -> Array:
        """Return ``L'L block``."""
        block = self.combined(block)
        if self._operator:
            product = host(self.values.normal(self.values.place(block)))
        else:
            product = inner(self.values, times(self.values, block))
        return np.ascontiguousarray(self.along(product.T).T)

    def _total(self) -> float:
        """Return the squared norm of the labels; that of combinations is their number."""
        if self._mixing is not None and self._mixing.ndim == 2:
            return float(self.width)
        if self._operator:
            squares = self.values.column_squares()
        else:
            squares = np.square(column_norms(self.values))
        return float((squares if self._mixing is None else squares * self._mixing**2).sum())

    def _products(self) -> Array:
        if not self._operator:
            return self._X.rmatmat(self.values)
        return self._X.place(label_cross(self._X, self.values))


def refuse_apart(X: Operator, labels: Operator) -> None:
    """Raise an error if labels are read in passes but the rows of X are not."""
    if labels.one_pass and not X.one_pass:
        raise Mismatch("Labels in files need X in files too; write both with RowWriter.")


class KrylovSpace:
    """An orthonormal basis P of ``span{W, X'X W, (X'X)^2 W, ...}``, block by block.

    It also stores the image ``X P`` and the small matrix ``P'X'X P``, which a Rayleigh-Ritz step
    needs, and ``P'X'L`` if there are labels L. Each :meth:`expand` costs one product
    with X' and one with X, for the width of the latest block.

    If rows are read in ``passes``, because they are in files or on other machines, ``X'X P``
    is stored instead of ``X P``: no array has n rows, and each block costs one pass. Squares
    of short directions then have only half of the digits.
    """

    def __init__(
        self, X: Operator, start: Array, labels: LabelBlock | None = None, *, passes: bool = False
    ) -> None:
        self.X, self.passes = X, passes
        self._labels = labels
        self.basis: list[Array] = []
        self.image: list[Array] = []
        # ``P'X'L``, block by block, if there are labels.
        self.labelled: list[Array] = []
        self.gram = np.zeros((0, 0))
        self._drifts = False
        self.exhausted = not self._append(start)

    @property
    def size(self) -> int:
        return self.gram.shape[0]

    @property
    def seen(self) -> Array:
        """``P'X'L``."""
        return np.concatenate(self.labelled)

    def expand(self) -> bool:
        """Add a block; return False if the space is invariant."""
        if not self.exhausted:
            newest = self.image[-1]
            block = 1 * newest if self.passes else self.X.rmatmat(newest)
            # The latest columns of the small matrix are the projection onto the basis, as long as
            # that is orthonormal: each block amplifies the errors of those before it.
            along = None if self._drifts else self.gram[:, -newest.shape[1] :]
            self.exhausted = not self._append(block, along)
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
        side = vectors.T @ self.gram[:old, old:]
        corner = self.gram[old:, old:]
        self.gram = np.block([[np.diag(values), side], [side.T, corner]])

    def _append(self, block: Array, along: Array | None = None) -> bool:
        before, after = remove_measured(block, self.basis, along)
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
        if self.basis and np.linalg.cond(factor) > _ILL_CONDITIONED:
            # Short directions were scaled up, and with them their errors along the basis.
            block, _ = orthonormalize(remove(block, self.basis))
        if along is not None and not self._drifts:
            drift = float(np.abs(inner(self.basis[0][:, :SMOOTH_WIDTH], block)).max(initial=0.0))
            self._drifts = drift > _DRIFT * rounding(width_of(block))
            if self._drifts:
                block, _ = orthonormalize(remove(block, self.basis))
        image, side, corner, seen = self._mapped(block)
        if side:
            # A direction that X maps to rounding is not a direction of its rows.
            nothing = _NULL * rounding(width_of(block))
            floor = (nothing if self.passes else nothing**2) * np.diag(self.gram).max()
            alive = np.flatnonzero(np.diag(corner) > floor)
            if not alive.size:
                return False
            if alive.size < corner.shape[0]:
                block, image = block[:, alive], image[:, alive]
                corner, side = corner[np.ix_(alive, alive)], [part[:, alive] for part in side]
                seen = None if seen is None else seen[alive]
        if side:
            wide = np.concatenate(side)
            self.gram = np.block([[self.gram, wide], [wide.T, corner]])
        else:
            self.gram = corner
        self.basis.append(block)
        self.image.append(image)
        if seen is not None:
            self.labelled.append(seen)
        return True

    def _mapped(self, block: Array) -> tuple[Array, list[Array], Array, Array | None]:
        """Return the image of a block, and its products with earlier images, itself and labels."""
        seen: Array | None = None
        if not self.passes:
            image = self.X.matmat(block)
            *side, corner = inner_all([*self.image, image], image)
            if self._labels is not None:
                seen = self._labels.along(seen_by(image, self._labels.values))
            return image, side, corner, seen
        if self._labels is None:
            image = self.X.normal(block)
        else:
            image, seen = self._labels.pass_over(block)
        *side, corner = inner_all([*self.basis, block], image)
        return image, side, (corner + corner.T) / 2, seen


def rest_of(gains: Sequence[float], total: float, noise: float, *, wide: bool = False) -> float:
    """Estimate the missing part of a growing sum, relative to it, from its last gains.

    The gains of a Krylov space decrease roughly geometrically, but at a slowing rate:
    the series continues at half the rate of the last gain, and half as much is added. For ``wide``
    blocks, if the last two rates are about equal, it continues at seven tenths of that rate.
    On spectra that are flat, steep or in steps this was 1 to 30 times the missing part. Infinite
    before there are two gains; never below the rounding of the sum.
    """
    if len(gains) < 2:
        return np.inf
    rate, before = _rate(gains[-2:]), _rate(gains[-3:-1])
    steady = wide and len(gains) > 2 and before / _STEADY <= rate <= before * _STEADY
    ratio, more = (rate**0.7, 1.0) if steady else (rate**0.5, 1.5)
    rest = more * abs(gains[-1]) * ratio / (1 - ratio) / abs(total)
    return float(max(rest, _ROUNDINGS * noise))


def remaining_blocks(gains: Sequence[float], rest: float, tol: float) -> float:
    """Estimate how many more blocks are needed to reach ``tol``; 0 if unknown."""
    if len(gains) < 3 or not np.isfinite(rest):
        return 0.0
    rate = max(_rate(gains[-2:]), _rate(gains[-3:-1]))
    return float(max(0.0, np.log(tol / rest) / np.log(max(rate, 1e-3))))


def _rate(gains: Sequence[float]) -> float:
    previous, gain = abs(gains[0]), abs(gains[-1])
    return min(gain / previous, _SLOWEST) if previous > 0 else _SLOWEST


def finest_tolerance(dtype: Any) -> float:
    """Return the smallest fraction of an objective that sums in this precision can resolve."""
    return 2 * _ROUNDINGS * rounding(dtype)


@dataclass(frozen=True)
class Inspection:
    """Errors of leading eigenvectors, as shown by new products.

    ``off`` is the deviation of the vectors from orthonormality or, if larger, the relative amount
    by which their Rayleigh quotients are below the eigenvalues. ``inside`` is the fraction of
    the objective that steps along the eigen-residual would add, ``outside`` the fraction that
    random directions find elsewhere.
    """

    off: float
    inside: float
    outside: float

    @property
    def missing(self) -> float:
        """The estimated missing fraction of the objective."""
        return max(self.off, self.inside, self.outside)


def inspect(
    apply: Callable[[Array], Array],
    along: Callable[[Array], Array],
    project: Callable[[Array], Array],
    values: Array,
    start: Array,
) -> Inspection:
    """Check ``M V = V diag(values)`` and ``V'V = I`` by independent products.

    ``apply`` multiplies by the symmetric positive semi-definite M, ``along`` returns ``V c`` and
    ``project`` removes the part along V, in place; ``start`` is a block of random directions.

    The residual R of random combinations gives ``sum |r_i|^2 / values_i``, which a step along it
    adds at least. The random directions, orthogonal to V, start a block Krylov space of two steps,
    whose Ritz values and weights are a quadrature of the spectrum outside V: the number
    and size of eigenvalues above the smallest one in the answer. This finds copies of an eigenvalue
    that no power of M can reach. It costs a product of M with 4 columns and one with 2.
    """
    eps = rounding(width_of(start))
    mixing = combinations(values.size, OUTSIDE)
    width, floor = mixing.shape[1], 64 * eps * values[0]
    roots = np.sqrt(np.maximum(values, floor))[:, None]
    vectors = along(np.hstack([mixing, mixing / roots, values[:, None] * mixing / roots]))
    plain, scaled, expected = (vectors[:, at : at + width] for at in (0, width, 2 * width))
    block = orthonormalize(project(start))[0]
    images = apply(concatenate([scaled, block], axis=1))
    gap = images[:, :width] - expected
    # Each combination represents a part of the directions.
    added = float(np.square(column_norms(gap)).sum()) * values.size / width
    inside = _STEPS_TO_COME * added / float(values.sum())
    noise = 64 * eps * np.sqrt(values[0] / max(values[-1], floor))
    square = mixing.T @ mixing
    claimed = float((mixing * values[:, None] * mixing / roots).sum())
    off = max(
        float(np.linalg.norm(inner(plain, plain) - square) / np.linalg.norm(square)),
        # Quotients may be larger than the eigenvalues if the iteration has not converged.
        1 - float(np.trace(inner(plain, images[:, :width]))) / claimed,
    )
    outside = _outside(apply, project, values, block, images[:, width:])
    return Inspection(off if off > noise else 0.0, inside, outside)


def _outside(
    apply: Callable[[Array], Array],
    project: Callable[[Array], Array],
    values: Array,
    block: Array,
    image: Array,
) -> float:
    """Estimate the gain from eigenvalues outside an answer, relative to its sum."""
    width = block.shape[1]
    if not width:
        return 0.0
    basis, images = [block], [image]
    for _ in range(_STEPS - 1):
        block = orthonormalize(remove(project(1 * images[-1]), basis))[0]
        if not block.shape[1]:
            break
        basis.append(block)
        images.append(apply(block))
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


@dataclass(frozen=True)
class TruncatedSVD:
    """Squared leading singular values, right singular vectors, and the estimated missing part.

    ``shown`` holds their errors by new products, and is part of ``rest``.
    """

    values: Array
    right: Array
    n_iter: int
    rest: float
    converged: bool
    shown: Inspection


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
    """
    rows, columns = X.shape
    flipped = rows < columns
    side = X.T if flipped else X
    lean = X.one_pass and not flipped
    # A pass over rows in files costs more than additional columns.
    width = max(_MANY_COPIES, count) if lean else max(8, -(-count // 3))
    width = min(-(-width // SMOOTH_WIDTH) * SMOOTH_WIDTH, side.shape[1])

    def random_rows() -> Array:
        if lean:
            return X.normal(X.random_block(columns, width, rng))
        return side.rmatmat(side.random_block(side.shape[0], width, rng))

    space = KrylovSpace(side, random_rows(), passes=lean)
    tol = max(min(tol, _COARSE), finest_tolerance(X.dtype))
    n_iter = 1
    while True:
        rest, n_iter = _grow(space, count, width, n_iter, tol=tol, max_iter=max_iter, rng=rng)
        values, vectors = leading(space.gram, count)
        keep = values > 64 * rounding(X.dtype) * max(values[0], 0.0)
        # Directions dropped as rounding are missing too.
        rest = max(rest, _ROUNDINGS * rounding(X.dtype))
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
    rest = float(max(rest, shown.missing))
    return TruncatedSVD(values, right, n_iter, rest, bool(rest <= tol), shown)


def _inspected(X: Operator, values: Array, right: Array, rng: np.random.Generator) -> Inspection:
    if not values.size:
        return Inspection(0.0, 0.0, 0.0)
    return inspect(
        X.normal,
        lambda coefficients: times(right, coefficients),
        lambda block: remove(block, [right]),
        values,
        X.random_block(X.shape[1], OUTSIDE, rng),
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
        if done and np.isfinite(rest) and not space.exhausted:
            # The inspection tests random directions, which is enough if powers of the block
            # still add some.
            break
        if done:
            if np.isnan(energy):
                energy = float(leading_values(space.gram, count).sum())
            if not space.add(side.random_block(side.shape[1], 2 * PROBE, rng)):
                # The space is complete.
                return 0.0, n_iter
        space.expand()
        n_iter += 1
        if space.size >= min(2 * count, side.shape[1]):
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


# --- thin blocks: orthonormal columns from Gram matrices, which cost one pass of BLAS 3 --------


def orthonormalize(block: Array) -> tuple[Array, Array]:
    """``block = Q R`` with orthonormal Q, whose number of columns is the rank of the block.

    R is in float64. Uses the Gram matrix: its Cholesky factor if that is safe, otherwise
    its eigenvalues, which show the rank; and a second pass if one
    is not accurate enough.
    """
    basis, total = block, np.eye(block.shape[1])
    for _ in range(3):
        gram = inner(basis, basis, dtype=np.float64)
        if gram.size == 0 or not np.trace(gram) > 0:
            return block[:, :0], total[:0]
        with single_thread():
            root, inverse, condition = _triangular(gram) or _spectral(gram)
        basis = times(basis, inverse)
        total = root @ total
        if condition < _ENOUGH:
            break
    return basis, total


def _triangular(gram: Array) -> tuple[Array, Array, float] | None:
    """Return ``R``, ``R^-1`` and a condition number, ``R'R`` the Gram matrix; None if unsafe."""
    lengths = np.sqrt(np.diag(gram))
    if not lengths.min() > 0:
        return None
    try:
        # Scale columns to length 1 first, so that different lengths do not affect the condition
        # number.
        lower = np.linalg.cholesky(gram / np.outer(lengths, lengths))
    except np.linalg.LinAlgError:
        return None
    inverse = np.linalg.inv(lower)
    condition = float(np.linalg.norm(lower) * np.linalg.norm(inverse)) / lengths.size
    if not condition < _SAFE:
        return None
    return lower.T * lengths, inverse.T / lengths[:, None], condition


def _spectral(gram: Array) -> tuple[Array, Array, float]:
    """Do the same by eigenvalues, without directions that are rounding."""
    values, vectors = np.linalg.eigh(gram)
    keep = values > _TOLERANCE * values[-1]
    root, vectors = np.sqrt(values[keep]), vectors[:, keep]
    return root[:, None] * vectors.T, vectors / root, float(root[-1] / root[0])


def remove(block: Array, against: Sequence[Array]) -> Array:
    """Project out orthonormal blocks, in place; twice if that removes much."""
    remove_measured(block, against)
    return block


def remove_measured(
    block: Array, against: Sequence[Array], along: Array | None = None
) -> tuple[Array, Array]:
    """Do the same, and return the norms of the columns before and after it.

    ``along`` is ``against' @ block`` if it is known already, up to rounding.
    """
    if not against:
        lengths = column_norms(block)
        return lengths, lengths
    ends = np.cumsum([0, *(basis.shape[1] for basis in against)])
    if along is None:
        parts = inner_all(against, block)
    else:
        parts = [along[start:stop] for start, stop in pairwise(ends)]
    before, after = subtract_products(block, against, parts)
    if not (after > 0.1 * before).all():
        _, after = subtract_products(block, against, inner_all(against, block))
    return before, after


def unit_columns(block: Array) -> Array:
    """Scale columns to length 1; drop zero columns."""
    lengths = column_norms(block)
    alive = np.flatnonzero(lengths > 0)
    return divide_columns(block if alive.size == lengths.size else block[:, alive], lengths[alive])
