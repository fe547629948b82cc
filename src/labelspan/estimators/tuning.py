"""Choosing parameters by cross-validation, with one shared basis per fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from sklearn.base import clone

from .._typing import Array
from ..errors import InvalidParameter, Mismatch
from ..labels import Factor, Labels, Regression
from ..metrics import average_precision, retrieval_at_k
from ..operators import Operator
from ..solvers import AlphaCurve
from ..solvers.exact import complete_basis
from ..solvers.krylov import LabelledSpace
from ..solvers.problem import Problem, rounding
from ..solvers.small_dense import psd_basis, spectral, thin_spectrum
from .base import LabelledEmbedding, centre, centred_labels, choose_penalty
from .mlsi import MLSI, label_scale

__all__ = [
    "Candidate",
    "Tuning",
    "tune",
]

# Up to this size the basis is exact; beyond, it is a Krylov space.
_EXACT_SIDE = 1024
# A space that ranks candidates need not be as accurate as the final fit.
_SPACE_TOL = 3e-2
_MOST_BLOCKS = 8

Scoring = Callable[[Array, Array], float]
# Number of nearest rows to compare, and maximum number of rows scored per fold.
_NEIGHBOURS, _MOST_SCORED = 10, 2000


@dataclass(frozen=True)
class Candidate:
    """One choice of parameters and its score in every fold."""

    params: Mapping[str, Any]
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over folds."""
        return float(np.mean(self.scores))

    @property
    def std(self) -> float:
        """The standard deviation over folds."""
        return float(np.std(self.scores))


@dataclass(frozen=True)
class Tuning:
    """The result of :func:`tune`.

    Attributes
    ----------
    best_params : mapping
    best_score : float
        Its mean score over folds.
    best_estimator : estimator
        With the best parameters; fitted on all rows unless ``refit=False``.
    candidates : tuple of Candidate
        Each with ``params``, ``scores`` (one per fold), ``mean`` and ``std``.

    See Also
    --------
    tune : Computes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from labelspan import LDA, tune
    >>> X, y = load_iris(return_X_y=True)
    >>> found = tune(LDA(), X, y, n_components=[1, 2])
    >>> [one.params["n_components"] for one in found.candidates]
    [1, 2]
    """

    best_params: Mapping[str, Any]
    best_score: float
    best_estimator: Any
    candidates: tuple[Candidate, ...]


def tune(
    estimator: LabelledEmbedding,
    X: Any,
    y: Any,
    *,
    n_components: Sequence[int] | None = None,
    alpha: Sequence[float] | None = None,
    beta: Sequence[float] | None = None,
    cv: int = 3,
    scoring: Literal["label scores", "neighbours", "r2"] | Scoring | None = None,
    refit: bool = True,
    random_state: int = 0,
) -> Tuning:
    """Choose ``n_components``, ``alpha`` and, for MLSI, ``beta`` by cross-validation.

    In every fold the candidates share one basis of the features, exact or a Krylov space
    built from features and labels; a candidate then costs a small eigenproblem, and fewer
    components cost nothing extra. Scores are computed from :meth:`label_scores` on held-out rows,
    or from their neighbours: tagging and search need different settings.
    Rows without labels are used for training and never scored; of other rows, the known entries are
    scored, on at most 2,000 rows per fold. For other parameters, or to score a whole pipeline, use
    scikit-learn's ``GridSearchCV``.

    Parameters
    ----------
    estimator : MLSI, OPLS, CCA, LDA or HSL
        Not fitted; parameters without a list of values stay unchanged.
    X : array or sparse matrix of shape (n, d)
        The features.
    y : array or sparse matrix of shape (n,) or (n, k)
        The labels, as for the ``fit`` of the estimator; -1 or NaN marks unknown entries. MLSI
        learns from them as its ``fit`` does: each label is regressed on the rows where it is known,
        once per fold and alpha.
    n_components, alpha, beta : sequences or None
        The values to try.
    cv : int, default=3
        The number of folds.
    scoring : str, a function of (Y, scores), or None
        "label scores" is the mean average precision over labels, of each label on the rows where
        it is known; "neighbours" is nDCG at 10 of the nearest
        training rows by cosine, whose gain is the Jaccard index of the labels, unknown ones
        counted as absent; "r2" is for real targets. None is "label scores", and "r2" for real
        targets. For "r2" and for a function, rows with unknown entries are not scored.
    refit : bool, default=True
        Whether ``best_estimator`` is fitted on all rows.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    Tuning
        The candidates with their scores, and the best one.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : For whole pipelines.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelspan import MLSI, tune
    >>> X, Y = make_multilabel_classification(300, n_features=40, random_state=0)
    >>> result = tune(MLSI(), X, Y, n_components=[5, 10], alpha=[1.0, 100.0], beta=[0.3, 0.8])
    >>> len(result.candidates), result.best_params["alpha"]
    (8, 100.0)
    """
    from sklearn.model_selection import KFold  # noqa: PLC0415 - slow to import

    grid = _grid(estimator, n_components, alpha, beta)
    estimator._check_params()
    rows = estimator._read_features(X)
    labels = estimator._read_labels(y, rows.shape[0])
    score = _scoring(scoring, labels)
    whole = score is not None and score is not _precision
    known = np.arange(rows.shape[0])
    if labels.unknown is not None:
        known = np.flatnonzero(~labels.unknown.any(axis=1) if whole else labels.labelled)
    if not 2 <= cv <= known.size:
        which = "whose labels are all known" if whole else "that have labels"
        raise InvalidParameter(
            f"tune: cv must be from 2 to the {known.size} rows {which}, but {cv!r} was given."
        )
    rng = np.random.default_rng(random_state)
    folds, found = [], []
    for _, place in KFold(cv, shuffle=True, random_state=random_state).split(known):
        left_out = known[place]
        train = np.setdiff1d(np.arange(rows.shape[0]), left_out)
        if left_out.size > _MOST_SCORED:
            left_out = np.sort(rng.choice(left_out, _MOST_SCORED, replace=False))
        fold = _Fold(estimator, rows, labels, train, left_out)
        fold.prepare(grid, random_state)
        measure = fold.score_neighbours if score is None else partial(fold.score, scoring=score)
        solved = [fold.solved(params) for params in grid]
        folds.append([measure(one) for one in solved])
        found.append([one.values.size for one in solved])
    # A candidate with more directions than the data has was scored with fewer.
    for params, there in zip(grid, np.min(found, axis=0).tolist(), strict=True):
        if params["n_components"] is not None:
            params["n_components"] = min(params["n_components"], there)
    scores = zip(*folds, strict=True)
    candidates = tuple(Candidate(p, tuple(s)) for p, s in zip(grid, scores, strict=True))
    best = max(candidates, key=lambda candidate: candidate.mean)
    chosen = clone(estimator).set_params(**best.params)
    if refit:
        chosen.fit(X, y)
    return Tuning(best.params, best.mean, chosen, candidates)


class _Learned(NamedTuple):
    """Centred training labels of a candidate, their means, and the basis that includes them."""

    values: Array
    means: Array
    basis: _SharedBasis


class _Solved(NamedTuple):
    """Eigenvalues and directions in the basis, and the labels that they were learned from."""

    values: Array
    inside: Array
    learned: _Learned
    alpha: float
    beta: float


class _Fold:
    """One fold: a basis of the training rows, shared by all candidates, and the held-out rows."""

    def __init__(
        self, estimator: Any, X: Operator, labels: Labels, train: Array, left_out: Array
    ) -> None:
        self._estimator: Any = clone(estimator)
        self._regresses = isinstance(estimator, MLSI)
        if not self._regresses:
            # These methods learn only from labelled rows.
            train = train[labels.labelled[train]]
        self._truth = labels.values[left_out]
        self._hidden = None if labels.unknown is None else labels.unknown[left_out]
        self._labels = labels.rows(train)
        self._rows, means = centre(estimator, X.rows(train))
        self._scored = X.rows(left_out).shifted(means)
        self._values, self._means = centred_labels(estimator, self._labels)
        self._chosen: float | None = None
        self._curve: AlphaCurve | None = None

    def prepare(self, grid: list[dict[str, Any]], seed: int) -> None:
        """Build the basis of all candidates."""
        self._found: dict[Any, _Solved] = {}
        self._most = max(params["n_components"] or 100 for params in grid)
        alpha = min(self._number(params["alpha"]) for params in grid)
        key = self._key(alpha, 1.0)
        values, means = self._labels_for(key)
        factor = np.zeros((self._rows.shape[0], 0))
        if not self._regresses:
            factor = self._estimator.label_factor(self._labels)
        count = min(self._most, *self._rows.shape)
        basis = shared_basis(self._rows, values, factor, alpha=alpha, count=count, seed=seed)
        self._basis, self._learned = basis, {key: _Learned(values, means, basis)}
        self._coordinates = basis.coordinates(self._scored)
        self._known = np.flatnonzero(self._labels.labelled)
        self._items: Array | None = None

    def _key(self, alpha: float, beta: float) -> float | None:
        """Return alpha if a fit would fill unknown entries with fitted values; else None."""
        completes = self._regresses and beta > 0 and self._labels.unknown is not None
        return alpha if completes else None

    def _labels_for(self, key: float | None) -> tuple[Array, Array]:
        if key is None:
            return self._values, self._means
        completed: tuple[Array, Array] = self._estimator._completed(self._rows, self._labels, key)
        return completed

    def _number(self, alpha: float | str) -> float:
        """Return alpha as a number, chosen once from the labelled training rows for "auto"."""
        if alpha != "auto":
            return float(alpha)
        if self._chosen is None:
            index = np.flatnonzero(self._labels.labelled)
            rows, values = self._rows.rows(index), self._values[index]
            self._estimator.set_params(alpha="auto")
            self._chosen, self._curve = choose_penalty(self._estimator, rows, values)
        return self._chosen

    def _weight(self, beta: float | str) -> float:
        """Return beta as a number, chosen from the labelled training rows for "auto"."""
        if beta != "auto":
            return float(beta)
        estimator = self._estimator.set_params(beta="auto")
        found: float = estimator._beta_of(self._rows, self._values, self._labels, self._curve)
        return found

    def solved(self, params: Mapping[str, Any]) -> _Solved:
        """Return the eigenvalues and directions of a candidate, in the basis."""
        key = (params["alpha"], params.get("beta", 0.0))
        if key not in self._found:
            self._found[key] = self._solve(self._number(key[0]), self._weight(key[1]))
        found, count = self._found[key], params["n_components"]
        return found._replace(values=found.values[:count], inside=found.inside[:, :count])

    def _solve(self, alpha: float, beta: float) -> _Solved:
        key = self._key(alpha, beta)
        if key not in self._learned:
            values, means = self._labels_for(key)
            basis = self._basis.with_labels(self._rows, values)
            self._learned[key] = _Learned(values, means, basis)
        learned = self._learned[key]
        if not self._regresses:
            return _Solved(*learned.basis.thin(alpha, self._most), learned, alpha, beta)
        known: Any = self._labels.values.shape[0]
        if self._labels.unknown is not None:
            known = np.maximum((~self._labels.unknown).sum(axis=0), 1)
        weights = self._estimator._label_weights(np.square(self._values).sum(axis=0) / known)
        scale = label_scale(np.square(learned.values).sum(axis=0), weights, beta)
        factor = Factor(
            np.zeros((0, scale.size)) if beta > 0 else None,
            (1.0 - beta) / self._rows.sum_of_squares(),
            Regression(alpha, norm=float(np.sqrt(beta))) if beta > 0 else None,
        )
        found = learned.basis.stack(factor, scale, 0.0, self._most)
        return _Solved(*found, learned, alpha, beta)

    def score(self, found: _Solved, scoring: Scoring) -> float:
        """Score the labels of the held-out rows."""
        basis = found.learned.basis
        if self._regresses and found.beta > 0:
            images = basis.fitted_images(found.inside, found.alpha)
        else:
            images = basis.images(found.inside)
        scores = (self._coordinates @ found.inside) @ images + found.learned.means
        if self._hidden is None or scoring is not _precision:
            return scoring(self._truth, scores)
        # Ranked last, an entry does not affect the precision of a label.
        scores = np.where(self._hidden, scores.min(axis=0) - 1, scores)
        return scoring(np.where(self._hidden, 0, self._truth), scores)

    def score_neighbours(self, found: _Solved) -> float:
        """Return the nDCG of the labelled training rows nearest to the held-out rows."""
        inside = found.inside
        if self._regresses or self._estimator.scale:
            inside = inside * np.sqrt(np.maximum(found.values, 0.0))
        if self._items is None:
            self._items = self._basis.coordinates(self._rows.rows(self._known))
        return retrieval_at_k(
            self._coordinates @ inside,
            self._truth > 0,
            self._items @ inside,
            self._labels.values[self._known] > 0,
            min(_NEIGHBOURS, self._known.size),
        ).ndcg


def _grid(
    estimator: Any,
    n_components: Sequence[int] | None,
    alpha: Sequence[float] | None,
    beta: Sequence[float] | None,
) -> list[dict[str, Any]]:
    """Return all candidates, each with all its parameters."""
    if not (isinstance(estimator, MLSI) or hasattr(estimator, "label_factor")):
        raise InvalidParameter(
            f"tune: estimator must be MLSI, OPLS, CCA, LDA or HSL, but {estimator!r} was given."
        )
    owner = type(estimator).__name__
    given = {"n_components": n_components, "alpha": alpha, "beta": beta}
    if beta is not None and not isinstance(estimator, MLSI):
        raise Mismatch(f"tune: beta is a parameter of MLSI, and {owner} does not have it; omit it.")
    for name, values in given.items():
        if values is not None and len(values) == 0:
            raise InvalidParameter(f"tune: {name} must have at least one value, but is empty.")
    if getattr(estimator, "penalty", "l2") == "l1":
        raise Mismatch(
            f"tune: candidates of {owner} with penalty='l1' have no common basis; "
            "use scikit-learn's GridSearchCV."
        )
    names = ["n_components", "alpha"] + (["beta"] if isinstance(estimator, MLSI) else [])
    lists = [
        given[name] if given[name] is not None else [getattr(estimator, name)] for name in names
    ]
    grid = [dict(zip(names, values, strict=True)) for values in product(*lists)]  # type: ignore[arg-type]
    for params in grid:
        if params["n_components"] == "auto":
            raise Mismatch("tune: n_components='auto' cannot be tuned; pass numbers.")
        clone(estimator).set_params(**params)._check_params()
    return grid


def _scoring(scoring: Any, labels: Labels) -> Scoring | None:
    """Return a function of labels and scores; None if neighbours are scored."""
    if scoring == "neighbours":
        if labels.kind == "targets":
            raise Mismatch(
                "tune: scoring='neighbours' compares label sets, but y has continuous targets; "
                "use scoring='r2'."
            )
        return None
    if scoring is None:
        return _r_squared if labels.kind == "targets" else _precision
    if scoring == "label scores":
        return _precision
    if scoring == "r2":
        return _r_squared
    if callable(scoring):
        return cast(Scoring, scoring)
    raise InvalidParameter(
        "tune: scoring must be 'label scores', 'neighbours', 'r2' or a function of (Y, scores), "
        f"but {scoring!r} was given."
    )


def _precision(truth: Array, scores: Array) -> float:
    """Return the mean average precision; 0 if no row has a label."""
    carried = truth > 0
    return average_precision(carried, scores).value if carried.any() else 0.0


def _r_squared(Y: Array, scores: Array) -> float:
    from sklearn.metrics import r2_score  # noqa: PLC0415 - slow to import

    return float(r2_score(Y, scores, multioutput="variance_weighted"))


# --- a basis shared by many candidates on the same rows, in which each costs little ----------


@dataclass(frozen=True)
class _SharedBasis:
    """A basis V of (a part of) X's row space: ``X = U diag(values)^1/2 V'`` on it.

    ``labels`` is ``U'Y`` and ``factor`` is ``U'H`` for the two label blocks. V is stored
    as blocks side by side, times ``mixing`` if that is not the identity.
    """

    values: Array
    blocks: tuple[Array, ...]
    mixing: Array | None
    labels: Array
    factor: Array

    def coordinates(self, X: Operator) -> Array:
        """``X V`` for other rows."""
        image = np.concatenate([X.matmat(block) for block in self.blocks], axis=1)
        image = image.astype(np.float64)
        return image if self.mixing is None else image @ self.mixing

    def with_labels(self, X: Operator, labels: Array) -> _SharedBasis:
        """Return the same basis with other labels of the rows X that it was built from."""
        cross = X.rmatmat(labels)
        seen = np.concatenate([block.T @ cross for block in self.blocks]).astype(np.float64)
        if self.mixing is not None:
            seen = self.mixing.T @ seen
        return replace(self, labels=seen / np.sqrt(self.values)[:, None])

    def stack(
        self, factor: Factor, scale: float | Array, alpha: float, count: int
    ) -> tuple[Array, Array]:
        """Return the eigenvalues and the weights in the basis for one factor."""
        return spectral(self.values, scale * self.labels, factor, alpha, count)

    def thin(self, alpha: float, count: int) -> tuple[Array, Array]:
        """Return the same for a factor of labels and one penalty."""
        shifted = self.values + alpha
        inner = (self.factor * (self.values / shifted)[:, None]).T @ self.factor
        values, axes = thin_spectrum(inner, count)
        slopes = self.factor * (np.sqrt(self.values) / shifted)[:, None]
        return values, np.asarray(slopes @ (axes / np.sqrt(values)))

    def images(self, inside: Array) -> Array:
        """``W'X'Y`` for weights in the basis."""
        return np.asarray(inside.T @ (np.sqrt(self.values)[:, None] * self.labels))

    def fitted_images(self, inside: Array, alpha: float) -> Array:
        """``W'X'X B`` for weights in the basis and the ridge regression of the labels."""
        shrunk = np.sqrt(self.values) * (self.values / (self.values + alpha))
        return np.asarray(inside.T @ (shrunk[:, None] * self.labels))


def shared_basis(
    X: Operator, labels: Array, factor: Array, *, alpha: float, count: int, seed: int
) -> _SharedBasis:
    """Build the basis for candidates with penalties of at least ``alpha`` and up to ``count``.

    Exact if the smaller side of X is short; otherwise a Krylov space built from the
    labels, accurate to about one percent of the objective.
    """
    blocks = np.concatenate([labels, factor], axis=1)
    width = labels.shape[1]
    if min(X.shape) <= _EXACT_SIDE:
        basis = complete_basis(X, blocks, alpha)
        seen = basis.coordinates
        return _SharedBasis(basis.values, (basis.right,), None, seen[:, :width], seen[:, width:])
    scale = np.linalg.norm(labels) or 1.0
    balanced = Factor(
        labels=labels, share=float(scale**2) / X.sum_of_squares(), regression=Regression(alpha)
    )
    rng = np.random.default_rng(seed)
    problem = Problem(X, balanced, count)
    grown = LabelledSpace(problem, tol=_SPACE_TOL, max_iter=_MOST_BLOCKS, rng=rng)
    grown.grow(check=False)
    space = grown.space
    values, vectors = psd_basis(space.gram, 64 * rounding(X.dtype))
    image = np.concatenate([part.T @ blocks for part in space.image]).astype(np.float64)
    seen = (vectors.T @ image) / np.sqrt(values)[:, None]
    return _SharedBasis(values, tuple(space.basis), vectors, seen[:, :width], seen[:, width:])
