"""What the direct solvers share: an answer, the check of it, and what to say of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._typing import Array
from ..labels import Factor
from ..operators.array_backend import sum_of_squares
from .accuracy import (
    Check,
    accuracy_wanted,
    check_directions,
    check_eigenvectors,
    check_equation,
    check_regression,
    rounding,
    sentence,
    unsure,
)
from .problem import Problem, Solution
from .singular_basis import SingularBasis, singular_basis, small_enough
from .small_dense import (
    few_leading,
    fitted_coordinates,
    scaled_cholesky,
    spectral,
    thin_spectrum,
)

__all__ = ["Found", "by_basis", "by_products", "certified", "regression_alpha"]

# Below this fraction of the largest, an eigenvalue of a Gram matrix has lost half its digits.
_FAINT = 1e-8
# Roundings that a check of a direction may add up to.
_NOISE = 64.0


@dataclass(frozen=True)
class Found:
    """An answer before its check.

    ``slopes`` are those of the labels' regression on X; ``scale`` and ``energy`` are what
    :func:`check_regression` takes. ``lost`` is the error that no check can see. ``gram`` is the
    matrix whose eigenvectors the directions are, where they are that.
    """

    weights: Array
    values: Array
    slopes: Array | None
    scale: Array
    energy: Callable[[Array], float] | None
    how: str
    rank: int | None = None
    lost: float = 0.0
    label_axes: Array | None = None
    level: float = 1.0
    gram: Array | None = None


def regression_alpha(factor: Factor, metric_alpha: float) -> float:
    """Return the penalty in the labels' regression."""
    return metric_alpha if factor.regression is None else factor.regression.alpha


def by_basis(
    basis: SingularBasis, factor: Factor, alpha: float, count: int, *, known: bool = True
) -> Found:
    """Solve in the singular basis of X; ``known`` tells whether it was made with labels."""
    coordinates = basis.coordinates if known else None
    values, inside = spectral(basis.values, coordinates, factor, alpha, count)
    label_axes, level = None, 1.0
    if coordinates is not None and factor.regression is not None:
        level, fitted = fitted_coordinates(basis.values, coordinates, factor.regression)
        image = np.sqrt(basis.values)[:, None] * inside  # U'X W
        label_axes = level**2 * (fitted.T @ image) / np.sqrt(values)
    penalty = regression_alpha(factor, alpha)
    scale = np.sqrt(np.square(basis.lengths) + penalty)
    return Found(
        basis.right @ inside,
        values,
        basis.slopes(penalty) if known else None,
        scale,
        partial(basis.energy, alpha=penalty),
        "Solved by singular vectors of the data",
        basis.rank,
        basis.lost,
        label_axes,
        level,
    )


def by_products(
    gram: Array, cross: Array | None, factor: Factor, alpha: float, count: int
) -> Found | None:
    """Solve from ``X'X`` and ``X'L``; None where these have lost the digits."""
    how = "Solved from products of the data"
    penalty = regression_alpha(factor, alpha)
    if cross is None:
        values, vectors = few_leading(gram, count)
        if not values.size or not values[-1] > _FAINT * values[0]:
            return None
        scale = np.sqrt(np.diag(gram) + penalty)
        scale[scale == 0] = 1.0
        weights = vectors / np.sqrt(values + alpha)
        spectrum = factor.share * values * (values / (values + alpha))
        return Found(weights, spectrum, None, scale, None, how, gram=gram)
    metric = scaled_cholesky(gram, penalty)
    if metric is None:
        return None
    slopes = metric.solve(cross)
    label_axes, level = None, 1.0
    if factor.thin:
        values, axes = thin_spectrum(cross.T @ slopes, count)
        weights = slopes @ (axes / np.sqrt(values))
    elif factor.regression is None:
        white = metric.whiten(np.hstack([np.sqrt(factor.share) * gram, cross]))
        values, axes = thin_spectrum(white @ white.T, count)
        weights = metric.unwhiten(axes)
    else:
        mixed = slopes
        if factor.regression.mix is not None:
            mixed = slopes @ factor.regression.mix(slopes.T @ slopes)
        image = gram @ mixed
        square = mixed.T @ image
        level = factor.regression.rescale(float(np.trace(square)))
        mixed, image, square = level * mixed, level * image, level**2 * square
        # Right singular vectors of Z = [c X, X B] from Z'Z; then W = (c R_x + B R_y) / s.
        share = np.sqrt(factor.share)
        ways = np.hstack([share * np.eye(gram.shape[0]), mixed]) if share else mixed
        if share:
            square = np.block([[factor.share * gram, share * image], [share * image.T, square]])
        values, axes = thin_spectrum(square, count)
        if share and not (values.size and values[-1] > _FAINT * values[0]):
            return None
        weights = ways @ (axes / np.sqrt(values))
        label_axes = level * axes[-mixed.shape[1] :]
    return Found(
        weights,
        values,
        slopes,
        metric.scale,
        metric.energy,
        how,
        gram.shape[0],
        label_axes=label_axes,
        level=level,
    )


def certified(problem: Problem, found: Found, name: str, *, last: bool = False) -> Solution:
    """Check an answer against the data; where it fails, factorise the data and check that.

    The check costs two products with 4 columns for the labels, and four with up to 8 where
    the features take part in the agreement.
    """
    X, factor = problem.X, problem.factor
    check = _check(problem, found)
    if found.lost > check.off:
        check = Check(check.residual, found.lost)
    wanted = accuracy_wanted(X.dtype)
    if check.off > wanted and not last and small_enough(X):
        basis = singular_basis(X, factor.labels)
        again = by_basis(
            basis,
            factor,
            problem.metric_alpha,
            problem.n_components,
            known=factor.labels is not None,
        )
        return certified(problem, again, name, last=True)
    status = sentence(found.how, check.residual)
    if check.off > wanted:
        status = unsure(check.off, check.residual)
    statistics = {} if found.rank is None else {"rank": float(found.rank)}
    return Solution(
        found.weights,
        found.values,
        name,
        converged=check.off <= wanted,
        status=status,
        residual=check.residual,
        error=check.error,
        label_axes=found.label_axes,
        level=found.level,
        statistics=statistics,
    )


def _check(problem: Problem, found: Found) -> Check:
    X, factor = problem.X, problem.factor
    check = Check(0.0)
    mixed = found.slopes if factor.regression is not None else None
    if factor.labels is not None and found.slopes is not None and found.energy is not None:
        penalty = regression_alpha(factor, problem.metric_alpha)
        check = check_regression(
            X, factor.labels, found.slopes, penalty, scale=found.scale, energy=found.energy
        )
        if (
            mixed is not None
            and factor.regression is not None
            and factor.regression.mix is not None
        ):
            mixed = mixed @ factor.regression.mix(mixed.T @ mixed)
        if mixed is not None and factor.regression is not None and factor.regression.norm:
            image = X.matmat(X.place(mixed))
            mixed = factor.regression.rescale(sum_of_squares(image)) * mixed
    if factor.thin or not found.values.size:
        return check
    # The equation is more sensitive than the labels' fit, and limited by what products in this
    # width can tell of the shortest direction.
    noise = 10 * accuracy_wanted(X.dtype) + _NOISE * rounding(X.dtype) * float(
        np.sqrt(found.values[0] / found.values[-1])
    )
    if factor.regression is None and (factor.labels is not None or problem.metric_alpha):
        labels = np.zeros((X.shape[0], 1)) if factor.labels is None else factor.labels
        equation = check_equation(
            X,
            found.weights,
            found.values,
            share=factor.share,
            labels=labels,
            alpha=problem.metric_alpha,
            scale=found.scale,
        )
    else:
        probe = X.gram_check()
        equation = np.inf
        if found.gram is not None and probe is not None and not problem.metric_alpha:
            # Its bound may be too large, for columns in different units: then by the directions.
            equation = check_eigenvectors(
                found.gram,
                probe,
                found.weights,
                found.values / factor.share,
                scale=found.scale,
            )
        if not equation <= noise:
            equation = check_directions(
                X, found.weights, found.values, share=factor.share, slopes=mixed, scale=found.scale
            )
    error = check.error or 0.0
    return Check(max(check.residual, equation), max(error, equation) if equation > noise else error)
