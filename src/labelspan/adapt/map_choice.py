"""The choice of beta and size of an adapter, by comparison on held-out rows and labels.

Rows are split into training rows and queries. Each query finds its nearest rows (by cosine) in
a sample of the training rows, and nDCG at 10 measures whether they share its labels. For *new*
labels the map is fitted again without a third of the labels and evaluated on these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._typing import Array
from ..estimators.mlsi import common_labels
from ..graph.neighbors import nearest_neighbors
from ..metrics.retrieval import LabelGains
from .adapter_report import QUANTILE, HeldOutComparison
from .adapter_stream import FEWEST, AdapterStream
from .nested_map import AxisMap, LabelSpectrum

__all__ = ["MapChoice"]

# Weight of the labels if labels to come matter: on the development sets of ``spaces_quality`` MLSI
# with it is as good as LSI on labels that it has not seen, and gains on the others.
_NEW_LABELS = 0.1
# Number of dimensions, unless more of them, or more variance, are needed.
_SIZE = 64
# PCA keeps this fraction of the variance.
_VARIANCE = 0.9
# A number of dimensions is large enough if a larger one gains at most this much nDCG.
_ENOUGH = 0.002
# Number of standard errors that a gain must exceed.
_ERRORS = 2.0
# Number of neighbours to evaluate.
_DEPTH = 10
# Number of principal axes for the comparison; the final map uses all.
_AXES = 512
_GROUPS = 3

# Scores of each query by number of dimensions; NaN for queries without information.
Scores = dict[int, Array]


class MapChoice:
    """A beta, a number of dimensions and the reason, with all comparisons.

    The beta is that of MLSI, or PCA if nothing is gained with it on held-out rows. ``spectrum``
    is that of all rows, and ``wanted`` the requested number of dimensions, or None.
    """

    def __init__(
        self,
        model: Any,
        stream: AdapterStream,
        alpha: float | None,
        spectrum: LabelSpectrum,
        *,
        wanted: int | None,
    ) -> None:
        self.comparisons: tuple[HeldOutComparison, ...] = ()
        self.original_better = False
        self._model, self._spectrum = model, spectrum
        self._n_labelled = stream.n_labelled
        self._wanted = wanted
        self._splits: list[_HeldOut] = []
        if model.compare:
            groups = _label_groups(stream, int(model.random_state)) if model.new_labels else []
            self._splits = [
                _HeldOut(stream, part, alpha, groups)
                for part in stream.splits()
                if stream.n_labelled - part.size >= 2
            ]
        self.beta, self.size, self.reason = self._chosen()

    def _chosen(self) -> tuple[float, int, str]:
        """Return the beta, the number of dimensions, and why."""
        squares = self._spectrum.squares
        rank = min((split.rank for split in self._splits), default=0)
        narrow = self._wanted or min(squares.size, max(_SIZE, _leading_part(squares)))
        if not self._spectrum.informative:
            return 0.0, narrow, "The labels are unrelated to these vectors; this is PCA."
        given = self._model.beta
        beta = self._spectrum.trusted if given == "auto" else float(given)
        if given == "auto" and self._model.new_labels:
            beta = min(beta, _NEW_LABELS)
        if not self._splits or rank == 0:
            return self._untested(beta, narrow)
        sizes = _size_grid(rank, self._wanted)
        original = _joined_scores([split.untouched() for split in self._splits])
        pca = _joined_sizes([split.pca(sizes) for split in self._splits])
        adapted, by_labels = (
            _joined_sizes([split.adapted(beta, sizes, known=known) for split in self._splits])
            for known in (False, True)
        )
        made = (
            _compare_scores(
                size,
                name,
                original=original[kind],
                pca=pca[kind][size],
                adapted=adapted[kind][size],
                by_labels=by_labels[kind][size],
            )
            for kind, name in enumerate(("seen", "new"))
            for size in sizes
        )
        self.comparisons = tuple(one for one in made if one is not None)
        if not self.comparisons:
            return 0.0, narrow, "No two rows share a label; this is PCA."
        values = self._splits[0].eigenvalues
        size = self._wanted or max(_large_enough(sizes, adapted[0]), _leading_part(values))
        beta, reason = self._verdict(beta, size, explicit=given != "auto")
        if beta == 0:
            size = self._wanted or max(narrow, _large_enough(sizes, pca[0]))
        # Without the held-out rows there may be fewer directions.
        last = max(one for one in sizes if one <= size)
        behind, error = _paired_gain(original[0], (adapted if beta else pca)[0][last])
        self.original_better = behind > QUANTILE * error
        if self.original_better:
            reason += (
                f" The original vectors are better: their nDCG@10 is higher by {behind:.3f}; "
                "use more dimensions, or do without the adapter."
            )
        return beta, size, reason

    def _untested(self, beta: float, size: int) -> tuple[float, int, str]:
        """Return the choice without a comparison: PCA, unless a beta was given."""
        if self._model.compare and self._model.beta == "auto":
            return (
                0.0,
                size,
                f"{self._n_labelled} labelled rows are too few for a comparison on held-out rows, "
                f"which needs {FEWEST}; this is PCA.",
            )
        size = self._wanted or min(size, _SIZE)
        why = "the beta was given" if self._model.compare else "it was switched off"
        return beta, size, f"Nothing was compared on held-out rows: {why}."

    def _verdict(self, beta: float, size: int, *, explicit: bool) -> tuple[float, str]:
        """Return the beta, 0 if nothing is gained with it, and why."""
        # Without the held-out rows there may be fewer directions.
        seen, new = (
            [one for one in self.comparisons if one.size <= size and one.labels == kind]
            for kind in ("seen", "new")
        )
        found = seen[-1]
        gained = (
            f"nDCG@10 {found.adapted:.3f} in {found.size} dimensions against {found.pca:.3f} for "
            f"PCA and {found.original:.3f} for all {self._splits[0].width}"
        )
        if explicit:
            return beta, f"The beta was given: {gained}."
        if not found.gain > _ERRORS * found.error:
            return 0.0, f"Nothing is gained on held-out rows ({gained}); this is PCA."
        if new and new[-1].gain < -new[-1].error:
            return (
                0.0,
                f"Adapting to these labels would gain ({gained}), but held-out labels would "
                f"lose ({new[-1].adapted:.3f} against {new[-1].pca:.3f}); this is PCA, and "
                "new_labels=False would adapt.",
            )
        return beta, f"Adapted: {gained}."


class _HeldOut:
    """Queries and items of one split, in the principal coordinates of the training rows.

    ``part`` are the queries among the sampled rows of the stream, and ``groups`` are masks of
    labels that are held out in turn.
    """

    def __init__(
        self, stream: AdapterStream, part: Array, alpha: float | None, groups: list[Array]
    ) -> None:
        items = np.setdiff1d(np.arange(stream.numbers.size), part)
        fitted = stream.without(part)
        rows, labels = stream.rows[items], stream.row_labels[items]
        spectrum = LabelSpectrum.of(fitted, stream.unlabelled, alpha, rows, labels)
        self._spectrum = spectrum.leading(_AXES)
        self._wide = stream.rows[part].astype(np.float32), rows.astype(np.float32)
        self._queries, self._items = (self._spectrum.coordinates(side) for side in self._wide)
        asked = stream.row_labels[part]
        self._gains = _gains(asked, labels)
        self._groups = groups
        self._group_gains = [_gains(asked[:, group], labels[:, group]) for group in groups]
        self._common = common_labels(spectrum.label_mean)
        self._centred = (labels - (spectrum.label_mean - self._common)).astype(np.float32)
        self._maps: dict[int, AxisMap] = {}

    @property
    def rank(self) -> int:
        """The largest number of dimensions that can be compared."""
        return int(self._spectrum.squares.size)

    @property
    def width(self) -> int:
        """The number of dimensions of the original vectors."""
        return int(self._wide[0].shape[1])

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalues of the map that was compared."""
        return self._maps[-1].values

    def untouched(self) -> tuple[Array, Array]:
        """Return scores of the original vectors, for all labels and for held-out ones."""
        ((_, found),) = _nearest(*self._wide, [self.width])
        return self._gains.ndcg(found), self._mean_of_groups(found)

    def pca(self, sizes: Sequence[int]) -> tuple[Scores, Scores]:
        """Return scores of the leading principal axes, for all labels and for held-out ones."""
        seen, new = {}, {}
        for size, found in _nearest(self._queries, self._items, sizes):
            seen[size], new[size] = self._gains.ndcg(found), self._mean_of_groups(found)
        return seen, new

    def adapted(
        self, beta: float, sizes: Sequence[int], *, known: bool = False
    ) -> tuple[Scores, Scores]:
        """Return scores of a map, for training labels and for held-out ones.

        With ``known``, items are embedded with their labels.
        """
        seen = {
            size: self._gains.ndcg(found)
            for size, found in self._found(beta, -1, sizes, known=known)
        }
        parts: dict[int, list[Array]] = {size: [] for size in sizes}
        for number, gains in enumerate(self._group_gains):
            for size, found in self._found(beta, number, sizes, known=known):
                parts[size].append(gains.ndcg(found))
        return seen, {size: self._mean(part) for size, part in parts.items()}

    def _found(
        self, beta: float, group: int, sizes: Sequence[int], *, known: bool
    ) -> Iterator[tuple[int, Array]]:
        if group not in self._maps:
            # The map without a group of labels; -1: with all of them.
            columns = None if group < 0 else ~self._groups[group]
            self._maps[group] = self._spectrum.solve(
                beta, count=sizes[-1], columns=columns, dtype=np.float32
            )
        found = self._maps[group]
        offset = (self._common @ found.directions).astype(np.float32)
        queries, items = (side @ found.weights + offset for side in (self._queries, self._items))
        if known:
            items += self._centred @ found.directions
        return _nearest(queries, items, sizes)

    def _mean_of_groups(self, found: Array) -> Array:
        return self._mean([gains.ndcg(found) for gains in self._group_gains])

    def _mean(self, parts: list[Array]) -> Array:
        """Return means over the groups with a score for a query; NaN if there is none."""
        if not parts:
            return np.full(len(self._queries), np.nan)
        table = np.stack(parts)
        known = ~np.isnan(table)
        total = np.where(known, table, 0.0).sum(axis=0)
        counts = known.sum(axis=0)
        return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def _size_grid(rank: int, wanted: int | None) -> list[int]:
    """Return the numbers of dimensions to compare: powers of two, all, and the requested one."""
    sizes = {size for size in (32, 64, 128, 256) if size < rank} | {rank}
    return sorted(sizes | ({min(wanted, rank)} if wanted else set()))


def _leading_part(values: Array) -> int:
    """Return the number of leading eigenvalues with 90% of their sum."""
    return int(np.searchsorted(np.cumsum(values), _VARIANCE * values.sum())) + 1


def _label_groups(stream: AdapterStream, seed: int) -> list[Array]:
    """Split labels at random into groups, each held out once; none if there are too few.

    With one label per row there are none either: rows of a held-out class would have no label,
    and be pulled together as if they had one in common.
    """
    n_labels = stream.names.size
    if n_labels < _GROUPS or (stream.row_labels.sum(axis=1) <= 1).all():
        return []
    order = np.random.default_rng(seed).permutation(n_labels)
    member = np.empty(n_labels, dtype=int)
    member[order] = np.arange(n_labels) % _GROUPS
    return [member == group for group in range(_GROUPS)]


def _nearest(queries: Array, items: Array, sizes: Sequence[int]) -> Iterator[tuple[int, Array]]:
    """Yield, for each number of leading columns, the items with the largest cosines."""
    for size in sizes:
        near, _ = nearest_neighbors(items[:, :size], _DEPTH, queries[:, :size], metric="cosine")
        yield size, near


def _gains(queries: Array, items: Array) -> LabelGains:
    # A fitted label counts if it is at least one half.
    left, right = ((side >= 0.5).astype(np.float32) for side in (queries, items))
    return LabelGains.of(left, right, _DEPTH)


def _joined_scores(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    return np.concatenate([seen for seen, _ in parts]), np.concatenate([new for _, new in parts])


def _joined_sizes(parts: list[tuple[Scores, Scores]]) -> tuple[Scores, Scores]:
    seen, new = (
        {size: np.concatenate([part[kind][size] for part in parts]) for size in parts[0][kind]}
        for kind in (0, 1)
    )
    return seen, new


def _compare_scores(
    size: int, labels: str, *, original: Array, pca: Array, adapted: Array, by_labels: Array
) -> HeldOutComparison | None:
    """Summarise scores of the same queries; None if no query has a score."""
    known = ~np.isnan(adapted)
    if not known.any():
        return None
    gain, error = _paired_gain(adapted, pca)
    return HeldOutComparison(
        size,
        labels,
        original=float(original[known].mean()),
        pca=float(pca[known].mean()),
        adapted=float(adapted[known].mean()),
        by_labels=float(by_labels[known].mean()),
        gain=gain,
        error=error,
        n_queries=int(known.sum()),
    )


def _mean_score(scores: Array) -> float:
    """Return the mean over queries with a score; NaN if there is none."""
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if known.size else float("nan")


def _paired_gain(scores: Array, reference: Array) -> tuple[float, float]:
    """Return the mean of the differences of paired scores, and its standard error."""
    differences = (scores - reference)[~np.isnan(scores)]
    if differences.size < 2:
        return (float(differences.sum()), float("inf"))
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(differences.size))


def _large_enough(sizes: Sequence[int], scores: dict[int, Array]) -> int:
    """Return the smallest size, from 64, that is as good as the best of these."""
    means = {size: _mean_score(scores[size]) for size in sizes if size >= min(_SIZE, sizes[-1])}
    least = max(means.values()) - _ENOUGH
    return min(size for size in means if means[size] >= least)
