"""The choice of beta and size of an adapter, by comparison on held-out rows and labels.

Each fifth of the labelled rows of a sample in turn loses its labels, and serves as queries. Each
query finds its nearest labelled rows (by cosine), and nDCG at 10 measures whether they share its
labels. For *new* labels the map is fitted without a third of the labels and evaluated on these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import Array
from ..estimators.mlsi import label_trust
from ..estimators.row_sample import RowSample
from ..graph.neighbors import nearest_neighbors
from ..labels import Labels
from ..metrics.retrieval import LabelGains
from ..operators import as_operator
from ..operators.compositions import Without
from ..operators.digits import dead_dimensions
from ..solvers import AlphaCurve
from ..solvers.alpha import choose_alpha
from .adapter_report import QUANTILE, HeldOutComparison
from .label_map import LabelMap

__all__ = ["MapChoice", "choose_map"]

# With fewer labelled rows nothing is compared.
_FEWEST = 20
# Queries are a fifth of the labelled rows in each split. Splits end with this many queries if the
# difference is this many times its standard error: it decides on other rows in the same way.
_FOLDS, _QUERIES, _CLEAR = 5, 300, 4.0
# Weight of the labels if labels to come matter: on the development sets of ``spaces_quality`` MLSI
# with it is as good as LSI on labels that it has not seen, and gains on the others.
_NEW_LABELS = 0.1
# Number of dimensions, unless more of them, or more variance, are needed.
_SIZE = 64
# A map keeps this fraction of the variance, unless its labels outweigh the vectors. Of LSI vectors
# of netflix and cacm, all of it takes 200 dimensions: nDCG@10 in these and in 64 is .278 and .267
# with 100 labelled rows, .297 and .291 with 300, .353 and .355 with all. PCA of such vectors is at
# most .001 below them on five splits of seven collections, and .009 with 90% of the variance.
_VARIANCE, _MOSTLY_LABELS = 0.95, 0.5
# A number of dimensions is large enough if a larger one gains at most this much nDCG.
_ENOUGH = 0.002
# Number of standard errors that a gain must exceed. Where each row is a query, a pair of rows is
# compared twice: with labels of noise the mean gain varies up to 1.3 times as much as its error.
_ERRORS = 2.5
# Lengths of vectors vary if their standard deviation is above this fraction of their mean. Without
# the direction of the mean nDCG@10 in 64 dimensions is then higher on ten of ten dense sets, by up
# to .09, and lower on two of seven others, by up to .02 (``results/adapters.md``). There is no
# mean, or nothing else, if its square is below this fraction of all squares.
_VARIED, _NO_MEAN = 0.2, 0.01
# Number of neighbours to evaluate.
_DEPTH = 10
# Number of principal axes in which maps are compared.
_AXES = 512
_GROUPS = 3

# For each number of dimensions, of each query: nDCG for all labels, and for held-out ones; and by
# how much the first is above that for the labels of other queries. NaN for queries without
# information.
Scores = dict[int, tuple[Array, ...]]


@dataclass(frozen=True)
class MapChoice:
    """What an adapter fits: beta, 0 for PCA; alpha; the number of dimensions; and why."""

    alpha: float
    curve: AlphaCurve
    beta: float
    size: int
    reason: str
    # Whether the axes are orthogonal to the mean.
    without_mean: bool = False
    comparisons: tuple[HeldOutComparison, ...] = ()
    original_better: bool = False


def choose_map(model: Any, sample: RowSample, n_labelled: int, n_rows: int) -> MapChoice:
    """Choose the map of an adapter on a sample of its rows."""
    dead, labels = dead_dimensions(sample.rows), sample.labels
    X = as_operator(np.where(dead, 0.0, sample.rows) if dead.any() else sample.rows)
    wanted = None if model.n_components == "auto" else int(model.n_components)
    direction = _mean_direction(sample.rows, wanted or _SIZE)
    if direction is not None:
        X = Without(X, direction[:, None])
    index = np.flatnonzero(labels.labelled)
    known = labels.rows(index)
    curve = choose_alpha(X.rows(index), as_operator(known.centred), intercept=True)
    alpha = curve.alpha if model.alpha == "auto" else float(model.alpha)
    given = model.beta != "auto"
    beta = float(model.beta) if given else label_trust(curve, n_labelled, n_labelled / n_rows)
    if model.new_labels and not given:
        beta = min(beta, _NEW_LABELS)
    principal = LabelMap(_AXES, alpha=0.0, beta=0.0).fit(X, labels)
    choice = MapChoice(alpha, curve, beta, 0, "", direction is not None)
    values = principal.eigenvalues_
    narrow = wanted or min(values.size, max(_SIZE, _leading_part(values)))
    parts = _query_parts(index.size) if model.compare else []
    if not parts:
        few = (
            f"{n_labelled} labelled rows are too few for a comparison on held-out rows, which "
            f"needs {_FEWEST}; this is PCA."
        )
        if model.compare and not given:
            return replace(choice, beta=0.0, size=narrow, reason=few)
        why = "the beta was given" if model.compare else "it was switched off"
        reason = f"Nothing was compared on held-out rows: {why}."
        return replace(choice, size=wanted or min(narrow, _SIZE), reason=reason)
    groups = _label_groups(known, model.random_state) if model.new_labels else []
    sizes = _size_grid(values.size, wanted)
    places = principal.transform(X)
    found: list[tuple[Scores, ...]] = []
    least = 0 if beta > _MOSTLY_LABELS else narrow
    for part in parts:
        scored = _scores_of(sample, places, part, groups=groups, choice=choice, sizes=sizes)
        found.append(scored)
        original, pca, adapted, by_labels = _joined(found)
        size = wanted or max(least, _large_enough(adapted))
        compared = max(one for one in sizes if one <= size)
        # Lists of items with many labels are better for every query, also with labels of noise.
        gain, error = _paired_gain(adapted[compared][2], pca[compared][2])
        if adapted[compared][0].size >= _QUERIES and abs(gain) > _CLEAR * error:
            break
    raw = original[X.shape[1]]
    comparisons = tuple(
        _comparison(size, name, [one[kind] for one in (raw, pca[size], adapted[size], by)])
        for kind, name in enumerate(("seen", "new"))
        for size, by in by_labels.items()
        if not np.isnan(adapted[size][kind]).all()
    )
    if not comparisons:
        reason = "No two rows share a label; this is PCA."
        return replace(choice, beta=0.0, size=narrow, reason=reason)
    certain = gain > _ERRORS * error
    beta, reason = _verdict(choice, comparisons, size, X.shape[1], given=given, certain=certain)
    if beta == 0:
        size = wanted or max(narrow, _large_enough(pca))
    last = max(one for one in sizes if one <= size)
    behind, error = _paired_gain(raw[0], (adapted if beta else pca)[last][0])
    if behind > QUANTILE * error:
        reason += (
            f" The original vectors are better: their nDCG@10 is higher by {behind:.3f}; "
            "use more dimensions, or do without the adapter."
        )
    return replace(
        choice,
        beta=beta,
        size=size,
        reason=reason,
        comparisons=comparisons,
        original_better=behind > QUANTILE * error,
    )


def _joined(found: Sequence[tuple[Scores, ...]]) -> list[Scores]:
    """Return the scores of each map for the queries of all splits."""
    return [
        {
            size: tuple(map(np.concatenate, zip(*(one[size] for one in splits), strict=True)))
            for size in splits[0]
        }
        for splits in zip(*found, strict=True)
    ]


def _mean_direction(rows: Array, size: int) -> Array | None:
    """Return the direction of the mean if the map leaves it out, instead of centring.

    Vectors of equal direction and different lengths have a cosine of 1, until a mean is
    subtracted: the shorter ones then all point away from it. Only where there are more dimensions
    than the map has.
    """
    squares = np.square(rows, dtype=np.float64).sum(axis=1)
    lengths, mean = np.sqrt(squares), rows.mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    if size >= min(rows.shape) - 1 or length**2 <= _NO_MEAN * float(squares.mean()):
        return None
    rest = squares.sum() - np.square(rows @ (mean / length)).sum()
    varied = lengths.std() > _VARIED * lengths.mean() and rest > _NO_MEAN * squares.sum()
    return mean / length if varied else None


def _verdict(
    choice: MapChoice,
    comparisons: Sequence[HeldOutComparison],
    size: int,
    width: int,
    *,
    given: bool,
    certain: bool,
) -> tuple[float, str]:
    """Return the beta, 0 if nothing is gained with it, and why."""
    # There may be fewer directions in the sample.
    seen, new = (
        [one for one in comparisons if one.size <= size and one.labels == kind]
        for kind in ("seen", "new")
    )
    found = seen[-1]
    gained = (
        f"nDCG@10 {found.adapted:.3f} in {found.size} dimensions against {found.pca:.3f} for "
        f"PCA and {found.original:.3f} for all {width}"
    )
    if given:
        return choice.beta, f"The beta was given: {gained}."
    if not certain:
        return 0.0, f"Nothing is gained on held-out rows ({gained}); this is PCA."
    if new and new[-1].gain < -new[-1].error:
        return (
            0.0,
            f"Adapting to these labels would gain ({gained}), but held-out labels would "
            f"lose ({new[-1].adapted:.3f} against {new[-1].pca:.3f}); this is PCA, and "
            "new_labels=False would adapt.",
        )
    return choice.beta, f"Adapted: {gained}."


def _scores_of(
    sample: RowSample,
    places: Array,
    part: Array,
    *,
    groups: list[Array],
    choice: MapChoice,
    sizes: list[int],
) -> tuple[Scores, Scores, Scores, Scores]:
    """Return scores of the vectors, PCA, the map, and the map with items embedded by labels.

    ``places`` are the rows along the principal axes, ``part`` the queries, and ``groups`` masks of
    labels that are held out in turn.
    """
    labels = sample.labels
    every = np.ones(labels.names.size, dtype=bool)
    items = np.setdiff1d(np.flatnonzero(labels.labelled), part)
    gains = [
        LabelGains.of(
            labels.values[np.ix_(part, group)], labels.values[np.ix_(items, group)], _DEPTH
        )
        for group in (every, *groups)
    ]

    def scores(maps: list[tuple[Array, Array]], sizes: list[int]) -> Scores:
        # One map for all labels and each group, or one for each.
        out: Scores = {}
        for size in sizes:
            near = [
                nearest_neighbors(of[:, :size], _DEPTH, to[:, :size], metric="cosine")[0]
                for to, of in maps
            ]
            seen, *new = (one.ndcg(near[min(k, len(near) - 1)]) for k, one in enumerate(gains))
            out[size] = seen, _mean_known(new, part.size), gains[0].above_others(near[0])
        return out

    plain, known = [], []
    for fitted_labels in (every, *(~group for group in groups)):
        fitted = _without(labels, part, fitted_labels)
        model = LabelMap(sizes[-1], alpha=choice.alpha, beta=choice.beta).fit(places, fitted)
        embedded = model.transform(places)
        queries, plain_items = embedded[part], embedded[items]
        assert fitted.unknown is not None
        unknown = fitted.unknown[items]
        centred = np.where(unknown, 0.0, fitted.values[items] - model.label_means_)
        plain.append((queries, plain_items))
        known.append((queries, plain_items + centred @ model.label_directions_))
    rows = sample.rows
    return (
        scores([(rows[part], rows[items])], [rows.shape[1]]),
        scores([(places[part], places[items])], sizes),
        scores(plain, sizes),
        scores(known, sizes),
    )


def _without(labels: Labels, rows: Array, columns: Array) -> Labels:
    """Return some columns of labels, unknown in some rows."""
    unknown = labels.unknown
    unknown = np.zeros(labels.values.shape, dtype=bool) if unknown is None else unknown.copy()
    unknown[rows] = True
    values = np.where(unknown, 0.0, labels.values)[:, columns]
    return replace(labels, values=values, unknown=unknown[:, columns], names=labels.names[columns])


def _query_parts(n_labelled: int) -> list[Array]:
    """Return the rows that are queries in each split; none if rows are too few."""
    if n_labelled < _FEWEST:
        return []
    size = n_labelled // _FOLDS
    return [np.arange(fold * size, (fold + 1) * size) for fold in range(_FOLDS)]


def _label_groups(labels: Labels, seed: int) -> list[Array]:
    """Split labels at random into groups, each held out once; none if there are too few.

    With one label per row there are none either: rows of a held-out class would have no label,
    and be pulled together as if they had one in common.
    """
    count = labels.names.size
    if count < _GROUPS or (labels.values.sum(axis=1) <= 1).all():
        return []
    member = np.random.default_rng(seed).permutation(count) % _GROUPS
    return [member == group for group in range(_GROUPS)]


def _size_grid(rank: int, wanted: int | None) -> list[int]:
    """Return the numbers of dimensions to compare: powers of two, all, and the requested one."""
    sizes = {size for size in (32, 64, 128, 256) if size < rank} | {rank}
    return sorted(sizes | ({min(wanted, rank)} if wanted else set()))


def _leading_part(values: Array) -> int:
    """Return the number of leading eigenvalues with 90% of their sum."""
    return int(np.searchsorted(np.cumsum(values), _VARIANCE * values.sum())) + 1


def _large_enough(scores: Scores) -> int:
    """Return the smallest size, from 64, that is as good as the best of these."""
    last = max(scores)
    means = {size: _mean(seen) for size, (seen, *_) in scores.items() if size >= min(_SIZE, last)}
    return min(size for size in means if means[size] >= max(means.values()) - _ENOUGH)


def _comparison(size: int, labels: str, scores: list[Array]) -> HeldOutComparison:
    """Summarise scores of the same queries, of the vectors, PCA, the map, and items by labels."""
    _, pca, adapted, _ = scores
    gain, error = _paired_gain(adapted, pca)
    count = int((~np.isnan(adapted)).sum())
    original, reduced, found, by_labels = (_mean(one) for one in scores)
    return HeldOutComparison(
        size, labels, original, reduced, found, by_labels, gain, error, n_queries=count
    )


def _mean_known(parts: list[Array], size: int) -> Array:
    """Return the mean of the scores of each query that are known; NaN if none is."""
    known = ~np.isnan(parts) if parts else np.zeros((0, size), dtype=bool)
    counts = known.sum(axis=0)
    total = np.where(known, parts, 0.0).sum(axis=0) if parts else np.zeros(size)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def _mean(scores: Array) -> float:
    """Return the mean over queries with a score; NaN if there is none."""
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if known.size else float("nan")


def _paired_gain(scores: Array, reference: Array) -> tuple[float, float]:
    """Return the mean of the differences of paired scores, and its standard error."""
    differences = (scores - reference)[~np.isnan(scores)]
    if differences.size < 2:
        return (float(differences.sum()), float("inf"))
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(differences.size))
