"""Check leading eigenvectors by new products with the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators.array_backend import column_norms, concatenate, inner, width_of
from .problem import combinations, rounding
from .small_dense import leading, orthonormalize, remove

__all__ = ["RANDOM_DIRECTIONS", "Inspection", "inspect"]

# Number of random directions outside an answer that an inspection uses, and of its steps.
RANDOM_DIRECTIONS, _STEPS = 2, 2
# The missing part outside an answer is estimated as this multiple of what random directions show,
_DOUBT = 1.5
# and the missing part inside as this multiple of the gain of one step along the residual.
_STEPS_TO_COME = 8.0


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
    mixing = combinations(values.size, RANDOM_DIRECTIONS)
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
