"""The choice of balance and size of an adapter, by comparison on held-out rows and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from .adapter_report import (
    QUANTILE,
    HeldOutComparison,
    compare_scores,
    mean_score,
    paired_gain,
    smallest_as_good,
)
from .adapter_stream import FEWEST, AdapterStream, MapRows
from .held_out import HeldOutRows, Scores, label_groups, size_grid
from .nested_map import LabelSpectrum

__all__ = ["MapChoice"]

# Weights of the labels that are tried.
_BALANCES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
# What a gain on new labels counts compared with one on seen labels. On six draws of hidden tags of
# sentence embeddings, in 16, 64 and 256 dimensions, hidden tags gained .007, .011 and .010 over PCA
# with 1, and .009, .011 and .012 with 2.
_NEW = 2.0
# Where nothing is compared.
_BALANCE, _SIZE = 0.2, 64
# Standard errors that a gain must exceed. Two would pass too often by chance, because it is the
# gain of the best of several balances: three pass for one set of random labels in a hundred.
_ERRORS = 3.0


class MapChoice:
    """A balance, a number of dimensions and the reason, with all that was compared.

    ``rank`` is the number of directions in which rows differ, ``wanted`` the number of dimensions
    that was asked for, or None.
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
        self.balances: tuple[tuple[float, float, float], ...] = ()
        self.original_better = False
        self._model, self._alpha, self._rank = model, alpha, rank
        self._n_labelled = stream.n_labelled
        self._wanted = wanted
        self._splits: list[HeldOutRows] = []
        if model.compare:
            groups = label_groups(stream.names.size, int(model.random_state))
            self._splits = [
                self._held_out(rows, stream, groups)
                for rows in stream.splits()
                if rows.labelled.n >= 2
            ]
        self.balance, self.size, self.reason = self._chosen(informative)

    def _held_out(self, rows: MapRows, stream: AdapterStream, groups: list[Array]) -> HeldOutRows:
        spectrum = LabelSpectrum.of(
            rows.labelled,
            stream.unlabelled,
            alpha=self._alpha,
            rows=rows.items,
            labels=rows.item_labels,
        )
        sides = rows.queries, rows.items, rows.query_labels, rows.item_labels
        return HeldOutRows(spectrum, *sides, groups)

    def _chosen(self, informative: bool) -> tuple[float, int, str]:
        """Return the balance, the number of dimensions, and why."""
        given = self._model.balance
        fallback = self._wanted or min(_SIZE, self._rank)
        rank = min((split.rank for split in self._splits), default=0)
        if not informative:
            return 0.0, fallback, "Labels say nothing about these vectors; this is PCA."
        if not self._splits or rank == 0:
            return self._untested(fallback)
        sizes = size_grid(rank, self._wanted)
        reference = min(self._wanted or _SIZE, sizes[-1])
        sizes = sorted({*sizes, reference})
        original = _joined_scores([split.untouched() for split in self._splits])
        pca = _joined_sizes([split.pca(sizes) for split in self._splits])
        if given == "auto":
            balance, bold = self._balance(reference, pca)
            shown = balance or bold or _BALANCES[0]
        else:
            balance = shown = float(given)
        adapted, by_labels = (
            _joined_sizes([split.adapted(shown, sizes, known=known) for split in self._splits])
            for known in (False, True)
        )
        made = (
            compare_scores(
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
        size = self._wanted or smallest_as_good(sizes, *(adapted if balance else pca))
        balance, size, reason = self._verdict(balance, size, explicit=given != "auto")
        # Held-out rows may leave fewer directions than all rows have.
        last = max(one for one in sizes if one <= size)
        behind, error = paired_gain(original[0], (adapted if balance else pca)[0][last])
        self.original_better = behind > QUANTILE * error
        if self.original_better:
            reason += (
                f" The original vectors are better: their nDCG@10 is higher by {behind:.3f}; "
                "take more dimensions, or leave the adapter out."
            )
        return balance, size, reason

    def _untested(self, size: int) -> tuple[float, int, str]:
        """Return what is used where nothing was compared: PCA, unless it was asked for."""
        given = self._model.balance
        if given != "auto":
            why = "the balance was given" if self._model.compare else "it was switched off"
            return float(given), size, f"Nothing was compared on held-out rows: {why}."
        if not self._model.compare:
            return _BALANCE, size, "Nothing was compared on held-out rows: it was switched off."
        return (
            0.0,
            size,
            f"{self._n_labelled} labelled rows are too few to compare on held-out rows, which "
            f"takes {FEWEST}; this is PCA.",
        )

    def _balance(self, size: int, pca: tuple[Scores, Scores]) -> tuple[float, float]:
        """Return the best balance for one size, 0 if it is PCA, and the best for seen labels."""
        best, bold = (0.0, 0.0), (0.0, 0.0)
        for balance in _BALANCES:
            seen, new = _joined_sizes(
                [split.adapted(balance, [size], narrow=True) for split in self._splits]
            )
            gain, _ = paired_gain(seen[size], pca[0][size])
            new_gain, new_error = paired_gain(new[size], pca[1][size])
            self.balances += ((balance, mean_score(seen[size]), mean_score(new[size])),)
            bold = max(bold, (gain, balance))
            if not self._model.new_labels:
                best = bold
            elif new_gain >= -new_error:
                best = max(best, (gain + _NEW * new_gain, balance))
        return best[1], bold[1]

    def _verdict(self, balance: float, size: int, *, explicit: bool) -> tuple[float, int, str]:
        # Held-out rows may leave fewer directions than all rows have.
        found = [one for one in self.comparisons if one.size <= size and one.labels == "seen"][-1]
        gained = (
            f"nDCG@10 {found.adapted:.3f} in {found.size} dimensions against {found.pca:.3f} for "
            f"PCA and {found.original:.3f} for all {self._splits[0].queries.shape[1]}"
        )
        if explicit:
            return balance, size, f"The balance was given: {gained}."
        gains = found.gain > _ERRORS * found.error
        if balance == 0 and gains:
            new = [one for one in self.comparisons if one.size <= size and one.labels == "new"][-1]
            return (
                0.0,
                size,
                f"Adapting to these labels would gain ({gained}), but labels that were held out "
                f"would lose ({new.adapted:.3f} against {new.pca:.3f}); this is PCA, and "
                "new_labels=False would adapt.",
            )
        if balance == 0 or not gains:
            return 0.0, size, f"Nothing is gained on held-out rows ({gained}); this is PCA."
        return balance, size, f"Adapted: {gained}."


def _joined_scores(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    return np.concatenate([seen for seen, _ in parts]), np.concatenate([new for _, new in parts])


def _joined_sizes(parts: list[tuple[Scores, Scores]]) -> tuple[Scores, Scores]:
    seen, new = (
        {size: np.concatenate([part[kind][size] for part in parts]) for size in parts[0][kind]}
        for kind in (0, 1)
    )
    return seen, new
