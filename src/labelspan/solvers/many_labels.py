"""Leading directions for labels that are too many to be dense, in one Krylov space.

Labels enter by products with thin blocks only: ``L V`` and ``L'U``. What a Rayleigh-Ritz step
needs of them is the small matrix ``P'X'L L'X P``, so that no array has rows x labels, features x
labels or labels x labels entries. Where features and labels are in files, each block of the space
is one pass over both, and no array has an entry for each row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from .._typing import Array
from ..labels import Regression
from ..operators import Operator
from ..operators.array_backend import column_norms, concatenate, inner_all, like, times
from ..operators.label_columns import seen_by
from ..operators.paired_rows import PairedRows
from .accuracy import rounding
from .krylov_space import SMOOTH_WIDTH, KrylovSpace, NormalSpace, finest_tolerance, rest_of
from .label_probes import LabelProbes, random_signs, regress_mixtures
from .orthonormal import orthonormalize
from .problem import Solution
from .small_dense import leading, psd_basis, psd_solve, scaled_cholesky

__all__ = ["ManyLabels", "krylov_bytes"]

# The objective that may be missing, as a fraction of the objective found.
_TOL = 1e-2
# Directions of labels that the space starts from, at least.
_FEW_LABELS = 64
# Steps of subspace iteration for the leading directions of the labels.
_STEPS = 2
# Random mixtures of the labels that tell the size of all fitted labels.
_PROBES = 16
# Square arrays that a solution inside the space holds at a time.
_SQUARES = 7


@dataclass(frozen=True)
class ManyLabels:
    """Find the leading directions of features and labels, both given by their products.

    The space starts from the features' view of the leading directions of the labels and of some
    random ones. It grows by powers of ``X'X``, which the regressions need, and, when these add
    little, by what the labels along the best directions say, ``X'L L'X W``, until neither adds more
    than ``tol`` of the objective found. Where the regressed labels have a given norm, the part of
    it that is outside the space is estimated from random mixtures of the labels, unless they are in
    files.

    Parameters
    ----------
    alpha : float
        Regularization strength.
    share : float or None
        None maximises ``W'X'L L'X W`` under ``W'(X'X + alpha I)W = I``. A number maximises
        ``share X X'`` plus the agreement with labels that are regressed on X with ``alpha``, under
        ``W'X'X W = I``.
    norm : float or None
        The Frobenius norm that the regressed labels are given; None leaves them as they are.
    tol : float or None
        1e-2 by default.
    max_iter : int
        Maximum number of blocks.
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers.many_labels import ManyLabels
    >>> rng = np.random.default_rng(0)
    >>> X, L = as_operator(rng.standard_normal((50, 8))), as_operator(np.eye(50)[:, :5])
    >>> found = ManyLabels(alpha=1.0).solve(X, L, 2)
    >>> found.weights.shape, found.converged
    ((8, 2), True)
    """

    alpha: float
    share: float | None = None
    norm: float | None = None
    tol: float | None = None
    max_iter: int = 12
    seed: int = 0

    def solve(self, X: Operator, labels: Operator | PairedRows, count: int) -> Solution:
        """Return the directions; ``images`` are ``W'X'L``. X and L in files come as one pair."""
        tol = max(_TOL if self.tol is None else self.tol, finest_tolerance(X.dtype))
        noise = rounding(X.dtype)
        side: _InMemory | _InPasses = (
            _InPasses(labels) if isinstance(labels, PairedRows) else _InMemory(X, labels)
        )
        space = side.opened(count, self.seed)
        agreement = side.agreement(np.zeros((0, 0)))
        probes = None if isinstance(labels, PairedRows) else self._probes(X, labels, tol)
        best: _BestDirections | None = None
        # What the steps have added since the labels were last asked, and the directions of then.
        gains: list[float] = []
        asked: Array | None = None
        rest = np.inf
        whole = min(count, *X.shape)
        while True:
            if space.size >= whole or space.exhausted:
                newest = self._ritz(space, agreement, count, 64 * noise, probes)
                if best is not None:
                    # By the newest regression, the newest directions can only be worth more.
                    gains.append(newest.worth - newest.worth_of(best.inside))
                    rest = rest_of(gains, newest.worth, noise)
                best = newest
                if len(space.basis) >= self.max_iter:
                    break
            if best is not None and (rest <= tol or space.exhausted):
                # The powers have little more to add; other directions of the labels may have.
                rest = 16 * noise if space.exhausted else rest
                added = np.inf if asked is None else 1 - best.worth_of(asked) / best.worth
                if added <= tol:
                    rest = max(rest, added)
                    break
                asked, gains = best.inside, []
                if not space.add(_unit(side.told(asked))):
                    break
                rest = np.inf
            else:
                space.expand()
            agreement = side.agreement(agreement)
        weights = space.combine(best.inside)
        images = side.seen(best.inside)
        label_axes = None
        if self.share is not None:
            shrunk = psd_solve(space.gram, space.gram @ best.inside, self.alpha, 64 * noise)
            fitted = side.seen(shrunk)  # W'X'X B
            label_axes = best.level**2 * fitted.T / np.sqrt(best.values)
        found = Solution(
            weights,
            best.values,
            "krylov",
            exact=False,
            converged=bool(rest <= tol),
            n_iter=len(space.basis),
            residual=float(rest),
            images=images,
            label_axes=label_axes,
            level=best.level,
        )
        return replace(found, status=_status(found))

    def _probes(self, X: Operator, labels: Operator, tol: float) -> LabelProbes | None:
        """Regress a few random mixtures of the labels, where the level depends on all of them."""
        if self.share is None or self.norm is None:
            return None
        signs = random_signs(labels.shape[1], _PROBES, self.seed)
        return regress_mixtures(X, labels.matmat(labels.place(signs)), self.alpha, tol)

    def _level(self, square: float) -> float:
        """Return what the regressed labels are multiplied by."""
        return Regression(self.alpha, norm=self.norm).rescale(float(np.sqrt(square)))

    def _ritz(
        self,
        space: KrylovSpace,
        agreement: Array,
        count: int,
        tolerance: float,
        probes: LabelProbes | None,
    ) -> _BestDirections:
        gram = space.gram
        if self.share is None:
            metric = scaled_cholesky(gram, self.alpha)
            if metric is not None:
                values, axes = leading(metric.whiten(metric.whiten(agreement).T), count)
                inside = metric.unwhiten(axes)
            else:
                squares, vectors = psd_basis(gram, tolerance)
                roots = vectors / np.sqrt(squares + self.alpha)
                values, axes = leading(roots.T @ agreement @ roots, count)
                inside = roots @ axes
            keep = values > tolerance * max(values[0], 0.0)
            return _BestDirections(values[keep], inside[:, keep], np.eye(len(gram)), agreement)
        roots, back = _orthonormal_image(gram, tolerance)
        half = psd_solve(gram, agreement, self.alpha, tolerance)
        between = psd_solve(gram, half.T, self.alpha, tolerance)  # B B' inside the space
        fitted = back.T @ between @ back
        square = float(np.trace(fitted))
        if probes is not None:
            slopes = psd_solve(gram, probes.seen(space), self.alpha, tolerance)
            square += probes.beyond(gram, slopes)
        level = self._level(square)
        values, axes = leading(level**2 * fitted + self.share * (back.T @ back), count)
        keep = values > tolerance * max(values[0], 0.0)
        inside = roots @ axes[:, keep]
        return _BestDirections(values[keep], inside, gram, between, self.share, level)


@dataclass(frozen=True)
class _BestDirections:
    """The best directions of a space, ``W = P inside``.

    ``worth_of`` is ``share |S W|^2 + level^2 tr W'S B S W`` for the small matrices S (``gram``) and
    B (``between``).
    """

    values: Array
    inside: Array
    gram: Array
    between: Array
    share: float = 0.0
    level: float = 1.0

    @property
    def worth(self) -> float:
        """The objective that the directions reach."""
        return float(self.values.sum())

    def worth_of(self, inside: Array) -> float:
        """Return the objective of directions in the first blocks of the space."""
        image = self.gram[:, : inside.shape[0]] @ inside
        labels = float((image * (self.between @ image)).sum())
        return float(self.share * np.square(image).sum() + self.level**2 * labels)


def _orthonormal_image(gram: Array, tolerance: float) -> tuple[Array, Array]:
    """Return R with ``R'gram R = I``, and ``gram R``; null directions are left out."""
    lower, failed = lapack.dpotrf(gram, lower=1, clean=1)
    own = np.square(np.diag(lower)) / np.maximum(np.diag(gram), np.finfo(float).tiny)
    if failed or own.min(initial=1.0) <= tolerance:
        squares, vectors = psd_basis(gram, tolerance)
        return vectors / np.sqrt(squares), vectors * np.sqrt(squares)
    roots, _ = lapack.dtrtrs(lower, np.eye(lower.shape[0]), lower=1, trans=1)
    return roots, lower


def _status(found: Solution) -> str:
    if not found.converged:
        return f"The Krylov space stopped after {found.n_iter} blocks; raise max_iter or tol."
    return (
        f"Many labels, {found.n_iter} blocks: the objective still to come is estimated at "
        f"{found.residual:.1e} of the objective found."
    )


def krylov_bytes(  # noqa: PLR0917
    rows: int, columns: int, labels: int, count: int, width: int, blocks: int = 12
) -> int:
    """Estimate the memory of the space: its basis and image, and some blocks of label products.

    Parameters
    ----------
    rows, columns, labels : int
        Sizes of X and of the labels.
    count : int
        Number of directions.
    width : int
        Bytes of a number.
    blocks : int, default=12
        The most blocks that the space may have.
    """
    block = max(count, _FEW_LABELS) + max(SMOOTH_WIDTH, count // 10)
    size = min(blocks * block, rows, columns)
    # The newest block with its products, and the directions with theirs.
    thin = size * (rows + columns) + 3 * block * (rows + labels) + 2 * count * (columns + labels)
    # Square arrays of the space, in float64.
    return width * thin + 8 * _SQUARES * size**2


class _InMemory:
    """A space and its products with labels, by the images ``X P``."""

    def __init__(self, X: Operator, labels: Operator) -> None:
        self._X, self._labels = X, labels

    def opened(self, count: int, seed: int) -> KrylovSpace:
        """Start a space from leading directions of the labels and a few random ones."""
        X, labels, rng = self._X, self._labels, np.random.default_rng(seed)
        axes = _leading_axes(labels, count, rng)
        block = concatenate(
            [X.place(labels.matmat(axes)), X.random_block(X.shape[0], _extra(count), rng)], axis=1
        )
        self.space = KrylovSpace(X, X.rmatmat(_unit(block)))
        return self.space

    def agreement(self, known: Array) -> Array:
        """Return ``P'X'L L'X P``, from what it was for the first blocks."""
        image, labels = self.space.image, self._labels
        while known.shape[0] < self.space.size:
            done, number = 0, 0
            while done < known.shape[0]:
                done += image[number].shape[1]
                number += 1
            newest = labels.matmat(labels.rmatmat(image[number]))
            columns = np.concatenate(inner_all(image[: number + 1], newest))
            side, corner = columns[:done], columns[done:]
            known = np.block([[known, side], [side.T, (corner + corner.T) / 2]])
        return known

    def told(self, inside: Array) -> Array:
        """Return what the labels along some directions say, ``X'L L'X W``."""
        image = self.space.combine_image(inside)
        return self._X.rmatmat(self._labels.matmat(self._labels.rmatmat(image)))

    def seen(self, inside: Array) -> Array:
        """Return ``W'X'L`` for directions inside the space."""
        return seen_by(self.space.combine_image(inside), self._labels)


class _InPasses:
    """The same for rows in files: ``L'X P`` is kept, and each block is one pass over the rows."""

    def __init__(self, rows: PairedRows) -> None:
        self._rows = rows

    def opened(self, count: int, seed: int) -> KrylovSpace:
        rng = np.random.default_rng(seed)
        X, labels = self._rows.X, self._rows.labels
        if self._rows.mix is None:
            axes = _leading_axes(labels, count, rng)
        else:
            # Combinations are those of CCA, which all have the same energy.
            few = min(max(count, _FEW_LABELS), self._rows.width)
            axes, _ = orthonormalize(X.random_block(self._rows.width, few, rng))
        random = X.normal(X.random_block(X.shape[1], _extra(count), rng))
        start = concatenate([_unit(self._rows.back(axes)), _unit(random)], axis=1)
        self.space = _LabelledSpace(self._rows, start)
        return self.space

    def agreement(self, known: Array) -> Array:
        parts, done = self.space.labelled, 0
        for number, newest in enumerate(parts):
            done += newest.shape[1]
            if done > known.shape[0]:
                columns = np.concatenate(inner_all(parts[: number + 1], newest))
                side, corner = columns[: known.shape[0]], columns[known.shape[0] :]
                known = np.block([[known, side], [side.T, (corner + corner.T) / 2]])
        return known

    def told(self, inside: Array) -> Array:
        return self._rows.back(self._along(inside))

    def seen(self, inside: Array) -> Array:
        return np.ascontiguousarray(self._along(inside).T, dtype=np.float64)

    def _along(self, inside: Array) -> Array:
        """Return ``L'X W``."""
        start, out = 0, np.zeros((self._rows.width, inside.shape[1]))
        for part in self.space.labelled:
            stop = start + part.shape[1]
            out += times(part, inside[start:stop])
            start = stop
        return out


class _LabelledSpace(NormalSpace):
    """A space without images of the rows, which keeps ``L'X P`` below ``X'X P``."""

    def __init__(self, rows: PairedRows, start: Array) -> None:
        self._rows = rows
        super().__init__(rows.X, start)

    @property
    def labelled(self) -> list[Array]:
        """``L'X P``, block by block."""
        return [part[self.X.shape[1] :] for part in self.image]

    def _next(self) -> Array:
        return 1 * self.image[-1][: self.X.shape[1]]

    def _mapped(self, block: Array) -> tuple[Array, list[Array], Array, Array | None]:
        normal, seen = self._rows.both(block)
        *sides, corner = inner_all([*self.basis, block], normal)
        return concatenate([normal, seen]), sides, (corner + corner.T) / 2, None


def _extra(count: int) -> int:
    return max(SMOOTH_WIDTH, count // 10)


def _leading_axes(labels: Operator, count: int, rng: np.random.Generator) -> Array:
    """Return combinations of the labels that hold most of them, by subspace iteration."""
    few = min(max(count, _FEW_LABELS), labels.shape[1])
    axes = labels.random_block(labels.shape[1], few, rng)
    for _ in range(_STEPS):
        axes, _ = orthonormalize(labels.normal(axes))
    return axes


def _unit(block: Array) -> Array:
    """Scale columns to length 1; those of zeros are left out."""
    lengths = column_norms(block)
    alive = np.flatnonzero(lengths > 0)
    unit: Array = block[:, alive] / like(lengths[alive], block)
    return unit
