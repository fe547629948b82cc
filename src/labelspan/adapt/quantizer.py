"""Vectors in one byte or one bit per dimension, and how many neighbours survive it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._params import Constraint, Integer, OneOf, check_params
from .._typing import Array
from ..errors import InvalidInput
from ..operators.array_backend import host

__all__ = ["Quantizer", "QuantizerReport"]

# Queries and items that recall is measured on, neighbours, and how many are scored again.
_QUERIES, _ITEMS, _DEPTH, _AGAIN = 200, 5000, 10, 4
# Entries beyond this quantile of the absolute values are clipped.
_CLIP = 0.9999


@dataclass(frozen=True)
class QuantizerReport:
    """How much of the exact search is kept.

    Attributes
    ----------
    recall : float
        Share of the ten exact nearest neighbours (by cosine) among the ten nearest codes.
    rescored : float
        The same, where the forty nearest codes are scored again by exact vectors.
    bytes_per_vector : int
        Size of a code.
    bytes_before : int
        Size of a vector in float32.

    See Also
    --------
    Quantizer : Measures it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.adapt import Quantizer
    >>> Z = np.random.default_rng(0).standard_normal((500, 16))
    >>> Quantizer("binary").fit(Z).report_.bytes_per_vector
    2
    """

    recall: float
    rescored: float
    bytes_per_vector: int
    bytes_before: int


class Quantizer(TransformerMixin, BaseEstimator):
    """Quantise adapted vectors to one byte or one bit per dimension.

    Vectors are normalised first, because they are compared by cosine. Recall is measured on a
    sample of the rows when it is fitted: see ``report_``.

    Parameters
    ----------
    kind : {"int8", "binary"}, default="int8"
        "int8": one signed byte per dimension with one scale for all, compared by inner product.
        "binary": one bit per dimension, the sign after a random rotation that spreads the variance
        evenly, compared by Hamming distance; eight dimensions in a byte.
    random_state : int, default=0
        Seed of the rotation and of the sample.

    Attributes
    ----------
    scale_ : float
        For "int8": codes are ``round(z * scale_)``.
    rotation_ : array of shape (m, m)
        For "binary".
    mean_ : array of shape (m,)
        For "binary": subtracted before the rotation.
    report_ : QuantizerReport
        Recall and sizes.
    n_features_in_ : int
        Number of dimensions.

    See Also
    --------
    labelspan.Adapter : Computes the vectors.
    QuantizerReport : What is kept of the exact search.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.adapt import Quantizer
    >>> Z = np.random.default_rng(0).standard_normal((500, 16))
    >>> quantizer = Quantizer().fit(Z)
    >>> quantizer.transform(Z).dtype, quantizer.report_.recall > 0.9
    (dtype('int8'), True)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "kind": OneOf(("int8", "binary")),
        "random_state": Integer(0),
    }

    def __init__(self, kind: str = "int8", *, random_state: int = 0) -> None:
        self.kind = kind
        self.random_state = random_state

    def fit(self, Z: Any, y: Any = None) -> Self:
        """Choose the scale or the rotation, and measure recall.

        Parameters
        ----------
        Z : array of shape (n, m)
            Adapted vectors.
        y : None
            Not used.

        Returns
        -------
        self
            The fitted quantizer.
        """
        given = {name: getattr(self, name) for name in self._constraints}
        check_params("Quantizer", given, self._constraints)
        rows = _normalised(Z)
        size = rows.shape[1]
        self.n_features_in_ = size
        rng = np.random.default_rng(self.random_state)
        if self.kind == "int8":
            sample = rows if len(rows) <= _ITEMS else rows[rng.permutation(len(rows))[:_ITEMS]]
            most = float(np.quantile(np.abs(sample), _CLIP)) or 1.0
            self.scale_ = 127.0 / most
        else:
            self.mean_ = rows.mean(axis=0)
            turned, upper = np.linalg.qr(rng.standard_normal((size, size)))
            self.rotation_ = turned * np.sign(np.diag(upper))
        self.report_ = self._measured(rows, rng)
        return self

    def transform(self, Z: Any) -> Array:
        """Return codes.

        Parameters
        ----------
        Z : array of shape (n, m)
            Adapted vectors.

        Returns
        -------
        codes : array of int8 of shape (n, m), or of uint8 of shape (n, ceil(m / 8))
            One code per row.
        """
        check_is_fitted(self, "report_")
        rows = _normalised(Z)
        if rows.shape[1] != self.n_features_in_:
            raise InvalidInput(
                f"Quantizer: vectors have {rows.shape[1]} dimensions, but fit had "
                f"{self.n_features_in_}."
            )
        return self._codes(rows)

    def _codes(self, rows: Array) -> Array:
        if self.kind == "int8":
            return np.rint(np.clip(rows * self.scale_, -127, 127)).astype(np.int8)
        return np.packbits((rows - self.mean_) @ self.rotation_ > 0, axis=1)

    def similarities(self, queries: Array, items: Array) -> Array:
        """Return how similar codes are: inner products, or minus the number of differing bits.

        Parameters
        ----------
        queries : array of shape (q, c)
            Codes of queries.
        items : array of shape (n, c)
            Codes of items.

        Returns
        -------
        array of shape (q, n)
            The larger, the more similar.
        """
        check_is_fitted(self, "n_features_in_")
        if self.kind == "int8":
            return np.asarray(queries.astype(np.float32) @ items.astype(np.float32).T)
        left, right = (
            2.0 * np.unpackbits(side, axis=1).astype(np.float32) - 1 for side in (queries, items)
        )
        return np.asarray((left @ right.T - left.shape[1]) / 2)

    def _measured(self, rows: Array, rng: np.random.Generator) -> QuantizerReport:
        order = rng.permutation(len(rows))[: _QUERIES + _ITEMS]
        count = min(_QUERIES, max(1, len(order) // 5))
        queries, items = rows[order[:count]], rows[order[count:]]
        before, size = 4 * rows.shape[1], self._codes(rows[:1]).nbytes
        depth = min(_DEPTH, len(items))
        if depth == 0:
            return QuantizerReport(float("nan"), float("nan"), size, before)
        exact = queries @ items.T
        rough = self.similarities(self._codes(queries), self._codes(items))
        wanted = np.argsort(-exact, axis=1, kind="stable")[:, :depth]
        order_by_codes = np.argsort(-rough, axis=1, kind="stable")
        found = order_by_codes[:, :depth]
        more = order_by_codes[:, : _AGAIN * depth]
        again = np.take_along_axis(
            more,
            np.argsort(-np.take_along_axis(exact, more, axis=1), axis=1, kind="stable")[:, :depth],
            axis=1,
        )
        return QuantizerReport(_shared(wanted, found), _shared(wanted, again), size, before)


def _shared(wanted: Array, found: Array) -> float:
    return float(np.mean([np.isin(one, other).mean() for one, other in zip(wanted, found)]))  # noqa: B905


def _normalised(Z: Any) -> Array:
    rows = host(Z)
    if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
        raise InvalidInput(
            f"Quantizer takes an array of finite numbers, one vector per row, but the shape is "
            f"{rows.shape}."
            if rows.ndim != 2 or 0 in rows.shape
            else "Quantizer: the vectors contain NaN or infinity."
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))
