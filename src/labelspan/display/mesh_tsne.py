"""t-SNE in the plane: neighbours attract each other, and all points repel each other.

The cost is that of t-SNE (van der Maaten and Hinton 2008) with the same weight for each of a few
nearest neighbours. Repulsion is computed on a mesh: points are spread over its nodes by quadratic
splines, their density is convolved with the kernel by FFT, and the fields are read at the points
by the same splines. Time is proportional to the number of points.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import fft
from scipy.spatial.distance import cdist

from .._typing import Array

__all__ = ["Mesh", "descend"]

# Number of iterations with attraction multiplied by _EARLY, in which clusters form, and without.
ROUNDS = (150, 350)
_EARLY = 12.0
_MOMENTUM = (0.5, 0.8)
_LEAST_GAIN = 0.01
# The longest step of a point.
_LONGEST = 5.0
# Up to this number of points, sums over all pairs are faster than a mesh.
_PAIRS = 500
# Distance between nodes; the kernel changes over a distance of 1. A small map has _FEWEST.
_APART, _FEWEST = 0.8, 60
# Nodes beyond the outermost points, for the splines.
_MARGIN = 2

Progress = Callable[[int, int], None]
# Takes points that are not at their places yet; called after this number of rounds.
Watch = Callable[[Array], None]
_WATCHED = 20


class Mesh:
    """Sums over all points of the kernel of t-SNE, and of its gradient, at every point."""

    def __init__(self, side: float, apart: float) -> None:
        self._apart = apart
        nodes = int(np.ceil(side / apart)) + 2 * _MARGIN + 1
        # Twice as many, so that opposite sides do not interact.
        self._size = int(fft.next_fast_len(2 * nodes, real=True))
        number = np.arange(self._size)
        steps = np.where(number <= self._size // 2, number, number - self._size) * apart
        across, along = steps[:, None], steps[None]
        kernel = 1.0 / (1.0 + across**2 + along**2)
        # Spreading and reading each multiply by the third power of a sinc, which is undone.
        smooth = np.sinc(fft.fftfreq(self._size))[:, None] * np.sinc(fft.rfftfreq(self._size))
        parts = (kernel, across * kernel**2, along * kernel**2)
        self._kernels = np.stack([fft.rfft2(part) / smooth**6 for part in parts])
        self._kernels = self._kernels.astype(np.complex64)

    def __call__(self, points: Array) -> tuple[Array, Array]:
        """Return for each point the sum of the kernel, itself included, and of the gradients."""
        size = self._size
        at = (points - points.min(axis=0)) / np.float32(self._apart) + np.float32(_MARGIN)
        node = np.rint(at)
        off = (at - node).T
        rows, columns = node.T.astype(np.intp)
        across, along = np.stack([0.5 * (0.5 - off) ** 2, 0.75 - off**2, 0.5 * (0.5 + off) ** 2], 2)
        steps = np.arange(-1, 2)
        places = (rows * size + columns)[:, None] + (steps[:, None] * size + steps).ravel()
        weights = np.einsum("ij,ik->ijk", across, along).reshape(-1, 9)
        density = np.bincount(places.ravel(), weights.ravel(), minlength=size**2)
        waves = fft.rfft2(density.reshape(size, size).astype(np.float32))
        fields = fft.irfft2(waves[None] * self._kernels, s=(size, size)).reshape(3, -1)
        read = [np.einsum("ij,ij->i", field.take(places), weights) for field in fields]
        return read[0], np.stack(read[1:], axis=1)


def _over_pairs(points: Array) -> tuple[Array, Array]:
    """Return the exact sums, which a mesh approximates."""
    kernel = 1.0 / (1.0 + cdist(points, points, "sqeuclidean"))
    sums = kernel.sum(axis=1)
    kernel *= kernel
    return sums, points * kernel.sum(axis=1)[:, None] - kernel @ points


def _attraction(near: Array, points: Array) -> Array:
    """Return for each point the sum over neighbours of differences divided by 1 + d^2."""
    # Coordinates one by one: sums over the last axis of few numbers would take most of the time.
    apart = [column.take(near) - column[:, None] for column in np.ascontiguousarray(points.T)]
    squares = apart[0] ** 2 + apart[1] ** 2 + np.float32(1.0)
    ones, to = np.ones(near.shape[1], dtype=np.float32), near.ravel()
    pulled = np.empty_like(points)
    for axis in range(2):
        apart[axis] /= squares
        back = np.bincount(to, apart[axis].ravel(), minlength=len(points))
        pulled[:, axis] = apart[axis] @ ones - back
    return pulled


def descend(
    near: Array,
    start: Array,
    *,
    rounds: tuple[int, int] = ROUNDS,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Array:
    """Move points from ``start`` until neighbours are near each other."""
    count = len(start)
    points = start.astype(np.float32)
    speed, gains = np.zeros_like(points), np.ones_like(points)
    mesh, side = None, 0.0
    for done in range(sum(rounds)):
        late = done >= rounds[0]
        more = 1.0 if late else _EARLY
        span = float(np.ptp(points, axis=0).max())
        if count > _PAIRS and (mesh is None or not side / 2 <= span <= side):
            side = max(1.2 * span, 1e-6)
            mesh = Mesh(side, min(_APART, side / _FEWEST))
        sums, repulsion = _over_pairs(points) if mesh is None else mesh(points)
        total = max(float(sums.sum(dtype=np.float64)) - count, 1e-12)
        # Weights of pairs of neighbours, both ways, add up to 1.
        slope = np.float32(-4 * more / (2 * near.size)) * _attraction(near, points)
        slope -= (repulsion * (4 / total)).astype(np.float32)
        # A coordinate that keeps its direction accelerates.
        gains = np.where(slope * speed < 0, gains + np.float32(0.2), gains * np.float32(0.8))
        np.maximum(gains, _LEAST_GAIN, out=gains)
        speed *= np.float32(_MOMENTUM[late])
        speed -= np.float32(count / more) * gains * slope
        speed /= np.maximum(np.hypot(*speed.T) / np.float32(_LONGEST), 1.0)[:, None]
        points = points + speed
        if watch is not None and not (done + 1) % _WATCHED:
            watch(points)
        if progress is not None:
            progress(done + 1, sum(rounds))
    return np.asarray(points - points.mean(axis=0))
