"""``exact``: direct solutions from one decomposition of the data.

With ``X = U diag(values)^1/2 V'`` the labels enter only as ``U'L``, and the regression, the
leave-one-out errors of every penalty and the directions of every method are small problems in that
basis. The decomposition is that of the smaller Gram matrix if it is accurate enough, and otherwise
a QR or singular value decomposition of the data with columns of unit length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .._typing import Array
from ..labels import Factor
from ..operators import Operator, Product, as_operator
from ..operators.array_backend import host
from ..operators.digits import rank_tolerance, unit_spectrum
from .problem import (
    Check,
    OfRows,
    Problem,
    Solution,
    accuracy_wanted,
    check_directions,
    check_regression,
    column_lengths,
    combinations,
    rounding,
    sentence,
    small_enough,
    unsure,
)
from .small_dense import (
    few_leading,
    fitted_coordinates,
    graded_svd,
    psd_basis,
    scaled_cholesky,
    spectral,
    thin_spectrum,
)

__all__ = [
    "DECOMPOSED",
    "Exact",
    "Ridge",
    "complete_basis",
    "decompose",
    "factorise",
    "left_basis",
    "ridge",
]

# If the user names the direct solver, its limit is higher than in the automatic choice:
# 20,000 x 20,000 in float64 is 3 GiB.
_LIMIT = 20_000
# Below this fraction of the largest, an eigenvalue of a Gram matrix has lost half of its digits.
_DIGITS = 1e-8
# Directions above this fraction of the largest eigenvalue are not affected by rounding of products
# in float32, which is 2e-8 to 2e-7 of the largest if blocks of rows are summed in float64.
_CLEAR = 2e-4
# Column means below this fraction of the column lengths are rounding, and so
# are sums of products of rows.
_CENTRED = 1e-6
# Maximum number of dense entries in memory at a time: 2^25 in float64 are 256 MiB.
_ENTRIES = 1 << 25
# Fitted labels shorter than this fraction of the labels are not computed as a difference.
_SHRUNK = 1e-2
# Rounding errors that the check of a direction may accumulate, in units of epsilon.
_NOISE = 64.0
_FROM_PRODUCTS = "Solved from products of the data"
_FROM_DATA = "Solved by singular vectors of the data"


@dataclass(frozen=True)
class Exact:
    """Solve directly, from one decomposition of the data; exact for every factor.

    It needs memory for the smaller Gram matrix, and time for n d min(n, d) multiplications and its
    eigenvectors. If only a few directions are requested, or the factor is thin, only these or a
    Cholesky factor are computed. Products of the data keep half of its digits: if the condition
    number shows that too few are left, or the final check fails, the data itself is factorised,
    with columns of unit length, at about three times the cost. The check takes up to six products
    with four columns.

    See Also
    --------
    Krylov : For data with large n and d.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Exact, Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> Exact().solve(Problem(X, Factor(labels=np.eye(20)[:, :2]), n_components=2)).solver
    'exact'
    """

    @property
    def name(self) -> str:
        return "exact"

    def why_not(self, problem: Problem) -> str | None:
        smaller = problem.X.short_side
        if smaller > _LIMIT:
            return (
                f"solver='exact' would form a dense {smaller} x {smaller} array, above its limit "
                f"of {_LIMIT}."
            )
        return None

    def solve(self, problem: Problem) -> Solution:
        solution = self._solve(problem)
        if solution.converged or problem.X.dtype == np.float64:
            return solution
        # Checked by products in float32, an answer with more digits may look wrong, or be it.
        wide = problem.X.in_type(np.float64)
        if wide is None:
            return solution
        finer = self._solve(replace(problem, X=wide))
        return finer if finer.converged else solution

    def _solve(self, problem: Problem) -> Solution:
        found = _by_products(problem)
        if found is not None:
            solution = _certified(problem, found)
            if solution.converged or not small_enough(problem.X):
                return solution
        basis = factorise(problem.X, problem.factor.block)
        return _certified(problem, _in_basis(basis, problem, _FROM_DATA))


# --- decompositions -----------------------------------------------------------------------


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the smaller Gram matrix, in decreasing order, and its eigenvectors.

    ``vectors`` are right singular vectors of X, or left ones if it is ``dual``. ``centred``
    says that the rows sum to zero, so that one direction of ``X X'`` is null.
    """

    values: Array
    vectors: Array
    dual: bool
    lengths: Array
    centred: bool = False

    def coordinates(self, X: Operator, labels: Array, rank: int) -> Array:
        """Return ``U'labels`` for the leading directions."""
        if self.dual:
            return np.asarray(self.vectors[:, :rank].T @ host(labels))
        cross = self.vectors[:, :rank].T @ X.cross(labels)
        return np.asarray(cross / np.sqrt(self.values[:rank])[:, None])


# Cache of decompositions: the choice of alpha and the solver of a fit need the same one.
DECOMPOSED: WeakKeyDictionary[Operator, Spectrum] = WeakKeyDictionary()


def decompose(X: Operator) -> Spectrum:
    """Decompose the smaller Gram matrix, once per operator."""
    known = DECOMPOSED.get(X)
    if known is not None:
        return known
    dual = X.shape[1] != X.short_side
    gram = X.cogram() if dual else X.gram()
    lengths = _alive(column_lengths(X) if dual else np.sqrt(np.diag(gram)))
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    sums = np.abs(gram.sum(axis=1)).max(initial=0.0) if dual else np.inf
    found = Spectrum(values, vectors, dual, lengths, bool(sums <= _CENTRED * values[0]))
    DECOMPOSED[X] = found
    return found


@dataclass(frozen=True)
class Decomposition:
    """``X = U diag(values)^1/2 V'`` in the units of the data; its rank is determined after scaling.

    ``right`` is V, perhaps as combinations of rows, and ``coordinates`` is ``U'L`` for the block
    that was given. ``lengths`` are
    those of the columns, ``shortest`` is the smallest singular value of X with columns of unit
    length, relative to the largest, and ``lost`` is the error from the loss of digits in
    products of the data, if only these were available. U is ``left`` or, if that is None,
    ``X @ to_left``, which is ``V diag(values)^-1/2`` computed from columns of unit length.
    """

    values: Array
    right: Operator
    coordinates: Array
    lengths: Array
    shortest: float = 1.0
    lost: float = 0.0
    left: Array | None = None
    to_left: Array | None = None

    def energy(self, right: Array, alpha: float) -> float:
        """Return ``tr right'(X'X + alpha I)^+ right``."""
        inside = np.square(self.right.rmatmat(right))
        return float((inside / (self.values + alpha)[:, None]).sum())

    @property
    def rank(self) -> int:
        return self.values.size

    def slopes(self, alpha: float) -> Array:
        """Return ``(X'X + alpha I)^+ X'L``, of minimum norm."""
        shrunk = np.sqrt(self.values) / (self.values + alpha)
        return self.right.matmat(self.coordinates * shrunk[:, None])

    def leading(self, count: int) -> Decomposition:
        """Keep only the ``count`` longest directions."""
        return replace(
            self,
            values=self.values[:count],
            right=as_operator(self.right.formed()[:, :count]),
            coordinates=self.coordinates[:count],
        )


def complete_basis(X: Operator, block: Array, alpha: float = 0.0) -> Decomposition:
    """Return every direction of X, by the cheapest accurate method.

    Uses the smaller Gram matrix if its condition number, or a penalty of at least
    ``alpha``, allows it; otherwise the data, or, if that is too large, ``X X'``.
    """
    basis = _basis_of_gram(X, block, alpha)
    if basis is not None:
        return replace(basis, right=as_operator(basis.right.formed()))
    if small_enough(X):
        return factorise(X, block)
    values, left = psd_basis(X.cogram())
    right = X.cross(left / np.sqrt(values))
    lengths = _alive(column_lengths(X))
    return Decomposition(values, as_operator(right), left.T @ host(block), lengths)


def _basis_of_gram(X: Operator, block: Array | None, alpha: float) -> Decomposition | None:
    """Return a basis from the smaller Gram matrix; None if it is not accurate enough."""
    spectrum = decompose(X)
    rank = _rank_of(spectrum, alpha)
    if not rank:
        return None
    values = spectrum.values[:rank]
    labels = np.zeros((X.shape[0], 0)) if block is None else block
    coordinates = spectrum.coordinates(X, labels, rank)
    vectors = spectrum.vectors[:, :rank]
    right = as_operator(vectors)
    if spectrum.dual:
        right = OfRows(X, vectors / np.sqrt(values), exact=True)
    return Decomposition(values, right, coordinates, spectrum.lengths)


def left_basis(X: Operator, labels: Array) -> Decomposition | None:
    """Return squares, ``U'labels`` and U itself, for errors of every penalty at once.

    From the smaller Gram matrix, unless its columns differ so much in length that it has lost
    directions of short columns: the data is then factorised. None if it is too large for that.
    """
    spectrum = decompose(X)
    lengths, values = spectrum.lengths, spectrum.values
    largest = max(float(values[0]), 0.0)
    graded = np.square(lengths.min() / lengths.max()) < _DIGITS
    if graded and not values[-1 - spectrum.centred] > _DIGITS * largest:
        return factorise(X, labels) if small_enough(X) else None
    rank = int((values > rank_tolerance(np.float64, spectrum.vectors.shape) * largest).sum())
    values, vectors = values[:rank], spectrum.vectors[:, :rank]
    coordinates = spectrum.coordinates(X, labels, rank)
    basis = Decomposition(values, as_operator(vectors), coordinates, lengths)
    if spectrum.dual:
        return replace(basis, left=vectors)
    return replace(basis, to_left=vectors / np.sqrt(values))


def _rank_of(spectrum: Spectrum, alpha: float) -> int:
    """Return the number of accurate directions; 0 if some have lost their digits.

    A penalty that is large compared with the rounding suppresses the others.
    """
    values = spectrum.values
    largest = max(float(values[0]), 0.0) if values.size else 0.0
    keep = values.size - spectrum.centred
    if alpha > _DIGITS * largest:
        keep = int((values > rank_tolerance(np.float64, spectrum.vectors.shape) * largest).sum())
    if not keep or not values[keep - 1] + alpha > _DIGITS * (largest + alpha):
        return 0
    return keep


def factorise(X: Operator, block: Array | None) -> Decomposition:
    """Factorise the data: QR of the rows, block by block, with columns of unit length.

    For a tall X it needs memory for (d + s)^2 numbers and one block of rows (256 MiB); a wide X is
    made dense, n x d numbers. It takes about three times as long as a Gram matrix and its
    eigenvectors.
    """
    labels = np.zeros((X.shape[0], 0)) if block is None else host(block)
    tolerance = rank_tolerance(X.dtype, X.shape)
    if not X.dual:
        # The rows cannot be combined: use their products.
        return basis_of_products(*X.moments(labels))
    if X.shape[1] == X.short_side:
        return _tall(X, labels, tolerance)
    rows = X.wide_rows(slice(0, X.shape[0]))
    lengths = _alive(np.linalg.norm(rows, axis=0))
    rows = rows - _left_means(rows.mean(axis=0), lengths, rows.shape[0])
    triangle: Array = np.asarray(np.linalg.qr((rows / lengths).T, mode="r"))
    left, singular, _ = np.linalg.svd(triangle.T)
    keep = singular > tolerance * singular.max(initial=0.0)
    left, singular = left[:, keep], singular[keep]
    basis, mixing = _in_units(rows.T @ left, left.T @ labels, singular, lengths)
    return replace(basis, left=left @ mixing)


def _tall(X: Operator, labels: Array, tolerance: float) -> Decomposition:
    columns = X.shape[1]
    squares, sums = np.zeros(columns), np.zeros(columns)
    for part in _parts(X.shape):
        rows = X.wide_rows(part)
        squares += np.square(rows).sum(axis=0)
        sums += rows.sum(axis=0)
    lengths = _alive(np.sqrt(squares))
    means = _left_means(sums / X.shape[0], lengths, X.shape[0])
    corner = np.zeros((0, columns + labels.shape[1]))
    for part in _parts(X.shape):
        rows = np.hstack([(X.wide_rows(part) - means) / lengths, labels[part]])
        corner = np.asarray(np.linalg.qr(np.vstack([corner, rows]), mode="r"))
    left, singular, right = np.linalg.svd(corner[:columns, :columns])
    # A single row may have no corner block.
    keep = singular > tolerance * singular.max(initial=0.0)
    left, singular, right = left[:, keep], singular[keep], right[keep]
    coordinates = left.T @ corner[:columns, columns:]
    return _from_scaled(right.T, singular, coordinates, lengths)


def basis_of_products(gram: Array, cross: Array) -> Decomposition:
    """Do the same from ``X'X`` and ``X'L``, for data that is not available on this machine.

    Directions shorter than about 1e-7 of the longest, after scaling, cannot be distinguished
    from null ones; ``lost`` grows as directions come near that.
    """
    lengths = _alive(np.sqrt(np.diag(gram)))
    values, vectors = unit_spectrum(gram, lengths)
    singular, right = np.sqrt(values)[::-1], vectors[:, ::-1]
    coordinates = (right.T @ (cross / lengths[:, None])) / singular[:, None]
    basis = _from_scaled(right, singular, coordinates, lengths)
    lost = 0.0
    if basis.rank and cross.shape[1]:
        lost = float(8 * rounding(np.float64) * np.sqrt(len(gram)) / basis.shortest**2)
    return replace(basis, lost=lost)


def _from_scaled(
    right: Array, singular: Array, coordinates: Array, lengths: Array
) -> Decomposition:
    """Return singular vectors in the units of the data from those of columns of unit length."""
    basis, mixing = _in_units(lengths[:, None] * right * singular, coordinates, singular, lengths)
    return replace(basis, to_left=(right / lengths[:, None] / singular) @ mixing)


def _in_units(
    transposed: Array, coordinates: Array, singular: Array, lengths: Array
) -> tuple[Decomposition, Array]:
    """Return singular vectors in the units of the data, from ``B'`` with ``X = U B``.

    Rows of B' are as long as columns of X. The second array turns U into left singular vectors.
    """
    if not transposed.shape[1]:
        empty = as_operator(np.zeros((transposed.shape[0], 0)))
        return Decomposition(np.zeros(0), empty, coordinates, lengths), np.zeros((0, 0))
    right, roots, mixing = graded_svd(transposed)
    shortest = float(singular[-1] / singular[0])
    squares, axes = np.square(roots), as_operator(right)
    return Decomposition(squares, axes, mixing.T @ coordinates, lengths, shortest), mixing


def _left_means(means: Array, lengths: Array, rows: int) -> Array:
    """Return the rounding errors of the means after centring; zeros if X was not centred.

    They are the same in every row and would be the shortest direction.
    """
    centred = (np.abs(means) * np.sqrt(rows) <= _CENTRED * lengths).all()
    return means if centred else np.zeros_like(means)


def _parts(shape: tuple[int, int]) -> Iterator[slice]:
    rows, columns = shape
    step = max(4 * columns, _ENTRIES // max(1, columns))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _alive(lengths: Array) -> Array:
    """Replace zeros by the shortest length, next to which a length of 1 may be very large."""
    alive = lengths[lengths > 0]
    return np.where(lengths > 0, lengths, alive.min() if alive.size else 1.0)


# --- the regression -----------------------------------------------------------------------


@dataclass(frozen=True)
class Ridge:
    """``slopes = (X'X + alpha I)^+ X'targets``, and the inputs of its check.

    ``agreement`` is ``targets'X slopes``. ``scale`` and ``energy`` are arguments of
    `check_regression`, unless the ``check`` is done. ``lost`` is the error that no check can
    detect.
    """

    slopes: Operator
    agreement: Any
    how: str
    scale: Array
    energy: Callable[[Array], float] | None = None
    check: Check | None = None
    lost: float = 0.0
    fitted: Array | None = None

    def checked(self, X: Operator, targets: Array, alpha: float) -> Check:
        """Check the regression by new products with X."""
        if self.check is not None:
            return self.check
        assert self.energy is not None
        found = check_regression(
            X, targets, self.slopes, alpha, scale=self.scale, energy=self.energy
        )
        return Check(found.residual, max(found.off, self.lost)) if self.lost else found


def ridge(X: Operator, targets: Array, alpha: float, *, rough: bool = False) -> tuple[Ridge, Check]:
    """Regress every target on X directly, and check the answer against the data.

    Uses a Cholesky factor of the smaller Gram matrix, or an existing decomposition; if these
    are not accurate enough, singular vectors of the data. The factor has first the type of X if
    that is to be ``rough``, then float64.
    """
    wide = np.dtype(np.float64)
    for dtype in dict.fromkeys((X.dtype if rough else wide, wide)):
        found = _ridge_of_products(X, targets, alpha, dtype)
        if found is not None:
            check = found.checked(X, targets, alpha)
            if check.off <= accuracy_wanted(X.dtype) or not small_enough(X):
                return found, check
    found = _ridge_in_basis(factorise(X, targets), alpha, _FROM_DATA)
    return found, found.checked(X, targets, alpha)


def _ridge_of_products(
    X: Operator, targets: Array, alpha: float, dtype: Any = np.float64
) -> Ridge | None:
    if X in DECOMPOSED:
        basis = _basis_of_gram(X, targets, alpha)
        return None if basis is None else _ridge_in_basis(basis, alpha, _FROM_PRODUCTS)
    if X.shape[1] != X.short_side:
        return _dual(X, targets, alpha, dtype)
    gram, cross = X.moments(targets)
    metric = scaled_cholesky(gram.astype(dtype, copy=False), alpha)
    if metric is None:
        return None
    slopes = metric.solve(cross.astype(dtype, copy=False))
    agreement = cross.T @ slopes
    return Ridge(as_operator(slopes), agreement, _FROM_PRODUCTS, metric.scale, metric.energy)


def _dual(X: Operator, targets: Array, alpha: float, dtype: Any) -> Ridge | None:
    cogram, wanted = X.cogram().astype(dtype, copy=False), host(targets).astype(dtype, copy=False)
    if alpha == 0 and np.abs(cogram.sum(axis=1)).max() <= _CENTRED * np.abs(cogram).max():
        # Centred rows sum to zero: one null direction is known.
        cogram = cogram + np.trace(cogram) / cogram.shape[0] ** 2
        wanted = wanted - wanted.mean(axis=0)
    metric = scaled_cholesky(cogram, alpha)
    if metric is None:
        return None
    inside = metric.solve(wanted)
    fitted, length = wanted - alpha * inside, np.linalg.norm(wanted)
    if not np.linalg.norm(fitted) > _SHRUNK * length:
        fitted = cogram @ inside
    slopes = OfRows(X, inside, exact=dtype == np.float64)
    # (X X' + alpha I) a = T: the residual is the error of the fitted labels.
    mixing = combinations(wanted.shape[1])
    mixed, known = slopes.matmat(mixing), wanted @ mixing
    gap = np.linalg.norm(known - host(X.matmat(mixed)) - alpha * (inside @ mixing))
    off = float(gap / (np.linalg.norm(known) or 1.0))
    scale = np.sqrt(np.square(_alive(column_lengths(X))) + alpha)
    agreement = wanted.T @ fitted
    return Ridge(slopes, agreement, _FROM_PRODUCTS, scale, check=Check(off, off), fitted=fitted)


def _ridge_in_basis(basis: Decomposition, alpha: float, how: str, *, agree: bool = True) -> Ridge:
    """Regress in a basis; the slopes are computed when needed."""
    shrunk = basis.coordinates * (np.sqrt(basis.values) / (basis.values + alpha))[:, None]
    agreement = (np.sqrt(basis.values)[:, None] * shrunk).T @ basis.coordinates if agree else None
    scale = np.sqrt(np.square(basis.lengths) + alpha)
    energy = partial(basis.energy, alpha=alpha)
    slopes = Product(basis.right, as_operator(shrunk))
    return Ridge(slopes, agreement, how, scale, energy, lost=basis.lost)


# --- the directions -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    """An answer before its check.

    ``ridge`` is the regression of the labels on X.
    """

    weights: Array
    values: Array
    how: str
    scale: Array
    ridge: Ridge | None = None
    label_axes: Array | None = None
    level: float = 1.0
    images: Array | None = None


def _regression_alpha(factor: Factor, metric_alpha: float) -> float:
    """Return the penalty of the label regression."""
    return metric_alpha if factor.regression is None else factor.regression.alpha


def _by_products(problem: Problem) -> _Found | None:
    """Solve from the smaller Gram matrix; None if it is not accurate enough."""
    X, factor, alpha = problem.X, problem.factor, problem.alpha
    if factor.labels is None and X not in DECOMPOSED:
        return _features(problem)
    if factor.thin and factor.block is not None:
        fit = _ridge_of_products(X, factor.block, alpha)
        return None if fit is None else _thin(fit, problem.n_components)
    basis = _basis_of_gram(X, factor.block, _regression_alpha(factor, alpha))
    if basis is None:
        return None
    found = _in_basis(basis, problem, _FROM_PRODUCTS)
    short = not found.values.size or not found.values[-1] > _DIGITS * found.values[0]
    return None if factor.share and short else found


def _features(problem: Problem) -> _Found | None:
    """Find only the leading directions of the features."""
    X, count = problem.X, problem.n_components
    if X.shape[1] != X.short_side:
        return _eigenvectors(X.cogram(), problem, dual=True)
    if X.dtype != np.float64:
        found = _eigenvectors(X.rough_gram(), problem, dual=False)
        if found is not None and found.values[-1] > _CLEAR * found.values[0]:
            return found
    return _eigenvectors(X.gram(), problem, dual=False) if count else None


def _eigenvectors(gram: Array, problem: Problem, *, dual: bool) -> _Found | None:
    X = problem.X
    values, vectors = few_leading(gram, problem.n_components)
    if not values.size or not values[-1] > _DIGITS * values[0]:
        return None
    squares = np.square(column_lengths(X)) if dual else np.diag(gram)
    if dual:
        vectors = X.cross(vectors / np.sqrt(values))
    scale = _alive(np.sqrt(squares))
    return _Found(vectors / np.sqrt(values), problem.factor.share * values, _FROM_PRODUCTS, scale)


def _thin(fit: Ridge, count: int) -> _Found:
    values, axes = thin_spectrum(fit.agreement, count)
    mixing = axes / np.sqrt(values)
    # W'X'L without a product: the agreement is L'X G, and W = G mixing.
    images = mixing.T @ fit.agreement.T
    return _Found(fit.slopes.matmat(mixing), values, fit.how, fit.scale, fit, images=images)


def _in_basis(basis: Decomposition, problem: Problem, how: str) -> _Found:
    """Solve in the singular basis of X."""
    factor, alpha, count = problem.factor, problem.alpha, problem.n_components
    coordinates = None if factor.labels is None else basis.coordinates
    penalty = _regression_alpha(factor, alpha)
    if coordinates is not None and factor.thin:
        return _thin(_ridge_in_basis(basis, penalty, how), count)
    fit = None if coordinates is None else _ridge_in_basis(basis, penalty, how, agree=False)
    values, inside = spectral(basis.values, coordinates, factor, alpha, count)
    label_axes, level = None, 1.0
    if coordinates is not None and factor.regression is not None:
        level, fitted = fitted_coordinates(basis.values, coordinates, factor.regression)
        image = np.sqrt(basis.values)[:, None] * inside  # U'X W
        label_axes = level**2 * (fitted.T @ image) / np.sqrt(values)
    scale = np.sqrt(np.square(basis.lengths) + penalty)
    return _Found(basis.right.matmat(inside), values, how, scale, fit, label_axes, level)


def _certified(problem: Problem, found: _Found) -> Solution:
    """Check an answer against the data.

    The check costs two products with 4 columns for the labels, and four with up to 8 if
    the features are part of the objective.
    """
    check, wanted = _check(problem, found), accuracy_wanted(problem.X.dtype)
    right = check.off <= wanted
    status = sentence(found.how, check.residual) if right else unsure(check.off, check.residual)
    return Solution(
        found.weights,
        found.values,
        "exact",
        converged=right,
        status=status,
        residual=check.residual,
        error=check.error,
        images=found.images,
        label_axes=found.label_axes,
        level=found.level,
    )


def _check(problem: Problem, found: _Found) -> Check:
    X, factor = problem.X, problem.factor
    check, slopes = Check(0.0), None
    if found.ridge is not None and factor.block is not None:
        penalty = _regression_alpha(factor, problem.alpha)
        check = found.ridge.checked(X, factor.block, penalty)
    if found.ridge is not None and factor.regression is not None:
        slopes = found.ridge.slopes
    if factor.thin or not found.values.size:
        return check
    # The equation is more sensitive than the fitted labels, and limited by the precision
    # of products for the shortest direction.
    noise = 10 * accuracy_wanted(X.dtype) + _NOISE * rounding(X.dtype) * float(
        np.sqrt(found.values[0] / found.values[-1])
    )
    equation = check_directions(
        X,
        found.weights,
        found.values,
        share=factor.share,
        slopes=slopes,
        level=found.level,
        scale=found.scale,
    )
    error = check.error or 0.0
    return Check(max(check.residual, equation), max(error, equation) if equation > noise else error)
