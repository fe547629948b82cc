"""The measurements of a fit of :class:`~labelspan.Adapter` on held-out rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["QUANTILE", "AdapterReport", "HeldOutComparison"]

# Two-sided 95% quantile of the normal distribution.
QUANTILE = 1.96


@dataclass(frozen=True)
class HeldOutComparison:
    """Mean nDCG at 10 on held-out rows, for one number of dimensions."""

    size: int
    labels: str
    original: float
    pca: float
    adapted: float
    by_labels: float
    gain: float
    error: float
    n_queries: int

    @property
    def low(self) -> float:
        """Lower end of the 95% confidence interval of the gain."""
        return self.gain - QUANTILE * self.error

    @property
    def high(self) -> float:
        """Upper end of the 95% confidence interval of the gain."""
        return self.gain + QUANTILE * self.error


@dataclass(frozen=True)
class AdapterReport:
    """What :class:`~labelspan.Adapter` chose, and its gain on held-out rows.

    ``print(report)`` shows a table.

    Attributes
    ----------
    used : {"adapted", "pca"}
        Which map the fit returned.
    reason : str
        Why.
    n_components : int
        Number of dimensions.
    alpha : float
        Regularization strength.
    beta : float
        Weight of the labels; 0 for PCA.
    n_rows, n_labelled, n_labels : int
        Sizes of the data.
    original_better : bool
        Whether the original vectors were better on held-out rows than the map: the mean
        difference is above 1.96 standard errors.
    comparisons : tuple
        By number of dimensions (``size``) and kind of ``labels`` ("seen", "new"): the mean nDCG at
        10 of ``original`` vectors, ``pca``, the ``adapted`` map, and ``by_labels``, where items are
        embedded with their labels; and ``gain`` over PCA with its ``error``, from ``low`` to
        ``high``. Empty if nothing could be compared.

    See Also
    --------
    Adapter : The estimator that returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan import Adapter
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((300, 20)), rng.random((300, 4)) < 0.3
    >>> print(Adapter(8).fit(X, Y.astype(int)).report_.used)
    pca
    """

    used: str
    reason: str
    n_components: int
    alpha: float
    beta: float
    n_rows: int
    n_labelled: int
    n_labels: int
    original_better: bool = False
    comparisons: tuple[HeldOutComparison, ...] = ()

    def comparison(self, size: int | None = None, labels: str = "seen") -> HeldOutComparison:
        """Return one comparison.

        Parameters
        ----------
        size : int or None, default=None
            Number of dimensions; None means the number of the fitted map.
        labels : {"seen", "new"}, default="seen"
            Training labels, or held-out ones.
        """
        size = self.n_components if size is None else size
        for found in self.comparisons:
            if found.size == size and found.labels == labels:
                return found
        raise KeyError(f"{labels} labels in {size} dimensions were not compared")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, strings and lists, for JSON."""
        out = asdict(self)
        for row, one in zip(out["comparisons"], self.comparisons, strict=True):
            row.update(low=one.low, high=one.high)
        return out

    def __str__(self) -> str:
        lines = [
            f"{self.n_rows:,} rows, {self.n_labelled:,} of them with labels; "
            f"{self.n_labels:,} labels; {self.n_components} dimensions; "
            f"alpha {self.alpha:.3g}; beta {self.beta:g}",
            self.reason,
        ]
        if self.comparisons:
            lines.append(
                "\nnDCG@10 on held-out rows"
                f"\n{'labels':6}{'size':>6}{'original':>10}{'PCA':>8}{'adapted':>9}"
                f"{'items by labels':>17}   gain over PCA (95%)"
            )
        for one in self.comparisons:
            mark = " *" if one.size == self.n_components else ""
            lines.append(
                f"{one.labels:6}{one.size:6d}{one.original:10.3f}{one.pca:8.3f}"
                f"{one.adapted:9.3f}{one.by_labels:17.3f}   {one.gain:+.3f} "
                f"({one.low:+.3f} to {one.high:+.3f}){mark}"
            )
        return "\n".join(lines)
