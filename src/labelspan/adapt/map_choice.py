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
from ..graph.neighbors import nearest_neighbors
from ..metrics.retrieval import LabelGains
from .adapter_report import QUANTILE, HeldOutComparison
from .adapter_stream import FEWEST, AdapterStream
from .nested_map import AxisMap, LabelSpectrum

__all__ = ["MapChoice"]

# Candidate weights of the labels.
_BETAS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
# Weight of a gain on new labels relative to one on seen labels. On six random choices of hidden
# tags of sentence embeddings, in 16, 64 and 256 dimensions, hidden tags gained .007, .011 and .010
# over PCA with 1, and .009, .011 and .012 with 2.
_NEW = 2.0
# Used if nothing is compared.
_BALANCE, _SIZE = 0.2, 64
# Number of standard errors that a gain must exceed. Two would be exceeded too often by chance,
# because it is the gain of the best of several betas: three are exceeded for one in a hundred
# sets of random labels.
_ERRORS = 3.0
# Number of neighbours to evaluate.
_DEPTH = 10
# Number of principal axes for the comparison, and for the choice of a beta; the final map uses
# all.
_AXES, _NARROW = 512, 160
_GROUPS = 3

# Scores of each query by number of dimensions; NaN for queries without information.
Scores = dict[int, Array]


class MapChoice:
    """A beta, a number of dimensions and the reason, with all comparisons.

    ``rank`` is the number of directions in which rows differ, ``wanted`` the requested
    number of dimensions, or None.
    """

    def __init__(
        self,
        model: Any,
        stream: AdapterStream,
        alpha: float | None,
        *,
        rank: int,
        wanted: int | None,
        informative: bool,
    ) -> None:
        self.comparisons: tuple[HeldOutComparison, ...] = ()
        self.original_better = False
        self._model, self._rank = model, rank
        self._n_labelled = stream.n_labelled
        self._wanted = wanted
        self._splits: list[_HeldOut] = []
        if model.compare:
            groups = _label_groups(stream.names.size, int(model.random_state))
            self._splits = [
                _HeldOut(stream, part, alpha, groups)
                for part in stream.splits()
                if stream.n_labelled - part.size >= 2
            ]
        self.beta, self.size, self.reason = self._chosen(informative)

    def _chosen(self, informative: bool) -> tuple[float, int, str]:
        """Return the beta, the number of dimensions, and why."""
        given = self._model.beta
        fallback = self._wanted or min(_SIZE, self._rank)
        rank = min((split.rank for split in self._splits), default=0)
        if not informative:
            return 0.0, fallback, "The labels are unrelated to these vectors; this is PCA."
        if not self._splits or rank == 0:
            return self._untested(fallback)
        sizes = _size_grid(rank, self._wanted)
        reference = min(self._wanted or _SIZE, sizes[-1])
        sizes = sorted({*sizes, reference})
        original = _joined_scores([split.untouched() for split in self._splits])
        pca = _joined_sizes([split.pca(sizes) for split in self._splits])
        if given == "auto":
            beta, bold = self._best_beta(reference, pca)
            shown = beta or bold or _BETAS[0]
        else:
            beta = shown = float(given)
        adapted, by_labels = (
            _joined_sizes([split.adapted(shown, sizes, known=known) for split in self._splits])
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
            return 0.0, fallback, "No two rows share a label; this is PCA."
        size = self._wanted or _smallest_as_good(sizes, *(adapted if beta else pca))
        beta, size, reason = self._verdict(beta, size, explicit=given != "auto")
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

    def _untested(self, size: int) -> tuple[float, int, str]:
        """Return the choice without a comparison: PCA, unless a beta was given."""
        given = self._model.beta
        if given != "auto":
            why = "the beta was given" if self._model.compare else "it was switched off"
            return float(given), size, f"Nothing was compared on held-out rows: {why}."
        if not self._model.compare:
            return _BALANCE, size, "Nothing was compared on held-out rows: it was switched off."
        return (
            0.0,
            size,
            f"{self._n_labelled} labelled rows are too few for a comparison on held-out rows, "
            f"which needs {FEWEST}; this is PCA.",
        )

    def _best_beta(self, size: int, pca: tuple[Scores, Scores]) -> tuple[float, float]:
        """Return the best beta for one size, 0 if it is PCA, and the best for seen labels."""
        best, bold = (0.0, 0.0), (0.0, 0.0)
        for beta in _BETAS:
            seen, new = _joined_sizes(
                [split.adapted(beta, [size], narrow=True) for split in self._splits]
            )
            gain, _ = _paired_gain(seen[size], pca[0][size])
            new_gain, new_error = _paired_gain(new[size], pca[1][size])
            bold = max(bold, (gain, beta))
            if not self._model.new_labels:
                best = bold
            elif new_gain >= -new_error:
                best = max(best, (gain + _NEW * new_gain, beta))
        return best[1], bold[1]

    def _verdict(self, beta: float, size: int, *, explicit: bool) -> tuple[float, int, str]:
        # Without the held-out rows there may be fewer directions.
        found = [one for one in self.comparisons if one.size <= size and one.labels == "seen"][-1]
        gained = (
            f"nDCG@10 {found.adapted:.3f} in {found.size} dimensions against {found.pca:.3f} for "
            f"PCA and {found.original:.3f} for all {self._splits[0].width}"
        )
        if explicit:
            return beta, size, f"The beta was given: {gained}."
        gains = found.gain > _ERRORS * found.error
        if beta == 0 and gains:
            new = [one for one in self.comparisons if one.size <= size and one.labels == "new"][-1]
            return (
                0.0,
                size,
                f"Adapting to these labels would gain ({gained}), but held-out labels would "
                f"lose ({new.adapted:.3f} against {new.pca:.3f}); this is PCA, and "
                "new_labels=False would adapt.",
            )
        if beta == 0 or not gains:
            return 0.0, size, f"Nothing is gained on held-out rows ({gained}); this is PCA."
        return beta, size, f"Adapted: {gained}."


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
        self._centred = labels - spectrum.label_mean.astype(np.float32)
        self._maps: dict[tuple[float, int, int], AxisMap] = {}

    @property
    def rank(self) -> int:
        """The largest number of dimensions that can be compared."""
        return int(self._spectrum.squares.size)

    @property
    def width(self) -> int:
        """The number of dimensions of the original vectors."""
        return int(self._wide[0].shape[1])

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
        self, beta: float, sizes: Sequence[int], *, known: bool = False, narrow: bool = False
    ) -> tuple[Scores, Scores]:
        """Return scores of a map, for training labels and for held-out ones.

        With ``known``, items are embedded with their labels. ``narrow`` drops the last
        principal axes, which saves most of the time.
        """
        axes = self.rank if not narrow else min(self.rank, max(_NARROW, 2 * sizes[-1]))
        seen = {
            size: self._gains.ndcg(found)
            for size, found in self._found(beta, -1, sizes, axes, known=known)
        }
        parts: dict[int, list[Array]] = {size: [] for size in sizes}
        for number, gains in enumerate(self._group_gains):
            for size, found in self._found(beta, number, sizes, axes, known=known):
                parts[size].append(gains.ndcg(found))
        return seen, {size: self._mean(part) for size, part in parts.items()}

    def _found(
        self, beta: float, group: int, sizes: Sequence[int], axes: int, *, known: bool
    ) -> Iterator[tuple[int, Array]]:
        found = self._map(beta, group, axes)
        widest = sizes[-1]
        weights = found.weights[:, :widest]
        queries, items = (side[:, :axes] @ weights for side in (self._queries, self._items))
        if known:
            items += self._centred @ found.directions[:, :widest]
        return _nearest(queries, items, sizes)

    def _map(self, beta: float, group: int, axes: int) -> AxisMap:
        """Return the map without a group of labels (-1: with all of them); cached."""
        key = beta, group, axes
        if key not in self._maps:
            columns = None if group < 0 else ~self._groups[group]
            self._maps[key] = self._spectrum.leading(axes).solve(
                beta, columns=columns, dtype=np.float32
            )
        return self._maps[key]

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


def _size_grid(rank: int, wanted: int | None = None) -> list[int]:
    """Return the numbers of dimensions to compare: powers of two, and the requested one."""
    sizes = {size for size in (2**power for power in range(3, 10)) if size <= rank}
    sizes |= {min(rank, 8)}
    if wanted is not None:
        sizes.add(min(wanted, rank))
    return sorted(sizes)


def _label_groups(n_labels: int, seed: int) -> list[Array]:
    """Split labels at random into groups, each held out once; none if there are too few."""
    if n_labels < _GROUPS:
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


def _smallest_as_good(sizes: Sequence[int], *scores: dict[int, Array]) -> int:
    """Return the smallest size within a standard error of the best, in all scores."""
    good = set(sizes)
    for kind in scores:
        if np.isnan(kind[sizes[0]]).all():
            continue
        means = {size: _mean_score(kind[size]) for size in sizes}
        best = max(sizes, key=means.__getitem__)
        for size in sizes:
            gain, error = _paired_gain(kind[size], kind[best])
            if gain < -error:
                good.discard(size)
    return min(good) if good else sizes[-1]
