"""The learned space as searches use it: a linear map of features to unit vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from .._axis_ends import Ends, ends
from .._typing import Array
from ..errors import InvalidFile, Mismatch
from .folder import Files
from .vectors import LabelDirections, unit_rows

__all__ = ["Space", "nonempty_rows"]

# Weights are stored with one row per feature, so that those of a text lie together.
_FILE, _WEIGHTS, _OFFSET, _PREFIX = "space", "weights", "offset", "estimator_"
_DIRECTIONS, _MEANS, _EIGENVALUES = "label_directions_", "label_means_", "eigenvalues_"

# Description of an estimator by plain data, and its arrays by attribute.
Packed = tuple[dict[str, Any], dict[str, Array]]


class Space:
    """Map of features x to ``weights.T @ x - offset``, scaled to length 1.

    Parameters
    ----------
    weights : array of shape (d, m)
    offset : array of shape (m,)
    eigenvalues : array of shape (m,)
    directions : LabelDirections or None
        What labels add to the places of items.
    estimator : estimator or None
        What the map comes from; None makes it from ``packed`` when it is asked for.
    packed : function or None
        Returns the estimator as plain data and arrays; None packs the estimator.
    """

    def __init__(
        self,
        weights: Array,
        offset: Array,
        eigenvalues: Array,
        directions: LabelDirections | None = None,
        *,
        estimator: Any = None,
        packed: Callable[[], Packed] | None = None,
    ) -> None:
        self.weights, self.offset, self.eigenvalues = weights, offset, eigenvalues
        self.directions = directions
        self._estimator, self._packed = estimator, packed
        self._axis_words: dict[tuple[int, int], Ends] = {}

    @classmethod
    def of(cls, estimator: Any) -> Space:
        """Take the map from a fitted estimator."""
        components = getattr(estimator, "components_", None)
        if components is None:
            raise Mismatch(
                f"fit: {type(estimator).__name__} does not learn a linear map; use an estimator "
                "with components_, such as MLSI or LSI."
            )
        weights = np.ascontiguousarray(np.asarray(components).T)
        mean = getattr(estimator, "mean_", None)
        center = getattr(estimator, "center", True) and mean is not None
        offset = np.zeros(weights.shape[1])
        if center:
            offset = np.asarray(mean, dtype=np.float64) @ weights
        directions = getattr(estimator, _DIRECTIONS, None)
        return cls(
            weights,
            offset,
            np.asarray(estimator.eigenvalues_),
            None
            if directions is None
            else LabelDirections(np.asarray(directions), np.asarray(estimator.label_means_)),
            estimator=estimator,
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.weights.shape[0])

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions."""
        return int(self.weights.shape[1])

    @property
    def estimator(self) -> Any:
        """The fitted estimator."""
        if self._estimator is None:
            from .estimator_files import unpack_estimator  # noqa: PLC0415 - with scikit-learn

            assert self._packed is not None
            described, arrays = self._packed()
            made = unpack_estimator(described, {**arrays, "components_": self.weights.T})
            numbers = [vars(made).get(name) for name in ("n_components_", "n_features_in_")]
            if any(type(number) is not int for number in numbers) or (
                numbers != [self.n_dimensions, self.n_features]
            ):
                raise InvalidFile("The estimator does not fit its space; the index is damaged.")
            self._estimator = made
        return self._estimator

    def vectors(self, features: Any) -> Array:
        """Map features to unit vectors; rows without any feature to zeros."""
        if sparse.issparse(features):
            found = np.asarray(features @ self.weights)
        else:
            found = np.asarray(features) @ self.weights
        out = unit_rows(found - self.offset)
        out[~nonempty_rows(features)] = 0.0
        return out

    def length(self, features: Any) -> float:
        """Return the length of the vector of one row, before it is scaled to 1."""
        return float(np.linalg.norm(np.asarray(features @ self.weights) - self.offset))

    def axis_words(self, number: int, n: int, names: Array | None) -> Ends:
        """Return the words at both ends of an axis; they are kept, because all are looked at.

        ``names`` are those of the first features.
        """
        if (number, n) not in self._axis_words:
            found = Ends([], [])
            if names is not None and len(names) <= self.n_features:
                found = ends("axes", self.weights[: len(names), number][None], names, 0, n)
            self._axis_words[number, n] = found
        return self._axis_words[number, n]

    # --- files ------------------------------------------------------------------------

    def write(self, files: Files) -> dict[str, Any]:
        """Write the map and the arrays of the estimator; return its description."""
        if self._packed is not None:
            described, arrays = self._packed()
        else:
            from .estimator_files import pack_estimator  # noqa: PLC0415 - with scikit-learn

            described, arrays = pack_estimator(self._estimator)
        named = {_PREFIX + name: one for name, one in arrays.items() if name != "components_"}
        files.write(_FILE, {_WEIGHTS: self.weights, _OFFSET: self.offset, **named})
        return described

    @classmethod
    def read(cls, files: Files, described: Mapping[str, Any]) -> Space:
        """Read the map; the estimator is made when it is asked for."""
        file = files.open(_FILE)
        weights, offset = file.array(_WEIGHTS), file.array(_OFFSET)
        arrays = file.arrays(_PREFIX)
        eigenvalues = file.array(_PREFIX + _EIGENVALUES)
        directions = None
        if _DIRECTIONS in arrays and _MEANS in arrays:
            directions = LabelDirections(arrays[_DIRECTIONS], arrays[_MEANS])
        wrong = (
            weights.ndim != 2
            or weights.dtype.kind != "f"
            or offset.shape != weights.shape[1:]
            or eigenvalues.shape != weights.shape[1:]
            or (directions is not None and not directions.is_sound(weights.shape[1]))
        )
        if wrong:
            raise InvalidFile("The parts of the space do not fit together; the index is damaged.")

        def packed() -> Packed:
            return dict(described), arrays

        return cls(weights, offset, eigenvalues, directions, packed=packed)


def nonempty_rows(features: Any) -> Array:
    """Mark the rows that have any number other than 0."""
    if sparse.issparse(features):
        rows = features.tocsr()
        marks = np.diff(rows.indptr) > 0
        if rows.nnz and not np.all(rows.data):
            marks = np.asarray(abs(rows).sum(axis=1)).ravel() > 0
        return np.asarray(marks)
    return np.asarray(np.asarray(features).any(axis=1))
