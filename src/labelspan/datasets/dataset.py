"""What a data set is, and the card that describes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InvalidInput

__all__ = ["TEST", "TRAIN", "UNKNOWN", "Card", "DataSet"]

# The entries of ``DataSet.split``.
TRAIN, TEST, UNKNOWN = 0, 1, 255


@dataclass(frozen=True)
class Card:
    """What is known of a data set before it is loaded.

    Attributes
    ----------
    name, title : str
        The name to load it by, and what it is about.
    n, d, k : int
        Rows, features (None for texts alone), and labels or classes.
    task : {"labels", "classes"}
        Several labels a row, or one class a row.
    origin, terms, citation : str
        Who made it, what may be done with it, and what to cite.
    papers : tuple of str
        Which of yu2005, sun2009, wang2010 and DLE use it, or something like it.
    where : str
        Where a person can get it.
    file, sha256 : str
        The file a loader looks for, and the hash of what it must hold.
    public : str or None
        What gives the set where there is no file: a source that scikit-learn can ask.
    remarks : str
        How it differs from what the papers used.

    Examples
    --------
    >>> from labelspan.datasets import card
    >>> found = card("yeast")
    >>> found.n, found.d, found.k, found.papers
    (2417, 103, 14, ('sun2009',))
    """

    name: str
    title: str
    n: int
    d: int | None
    k: int
    task: Literal["labels", "classes"]
    origin: str
    terms: str
    citation: str
    papers: tuple[str, ...]
    where: str
    file: str
    sha256: str | None
    public: str | None = None
    remarks: str = ""

    @property
    def size(self) -> str:
        """Rows, features and labels in words."""
        features = "" if self.d is None else f" x {self.d:,}"
        return f"{self.n:,}{features}, {self.k} {self.task}"

    @property
    def unpinned(self) -> str:
        """The file name of a copy that is not, byte for byte, the pinned one."""
        return self.file.replace(self.name, f"{self.name}.unpinned", 1)


@dataclass(frozen=True, eq=False, repr=False)
class DataSet:
    """Rows with labels or classes, and what else is known of them.

    Attributes
    ----------
    name : str
    X : array or CSR array of shape (n, d), or None
        Features; None where there are texts alone.
    Y : array or CSR array of shape (n, k), or None
        Labels as an indicator of 0 and 1; -1 where a label is not known.
    y : array of shape (n,), or None
        Classes, where each row has one.
    texts, ids : sequence of str, or None
        The texts, and names of the rows.
    feature_names, label_names : sequence of str, or None
        ``label_names[y]`` are the names of the classes.
    split : array of shape (n,), or None
        0 for training, 1 for test, 255 where neither is said.
    links : CSR array of shape (n, n), or None
        A symmetric graph over the rows.
    extra : mapping of str to array
        Further arrays of the file.
    source : str
        Where the data came from: a pinned file, or a copy that may differ from it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.datasets import DataSet
    >>> data = DataSet("tiny", np.eye(3), np.array([[1, 0], [0, 1], [1, 1]]))
    >>> data
    <DataSet tiny: 3 rows, 3 features, 2 labels>
    >>> data.take([2, 0]).Y
    array([[1, 1],
           [1, 0]])
    """

    name: str
    X: Any = None
    Y: Any = None
    y: NDArray[Any] | None = None
    texts: Sequence[str] | None = None
    ids: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    label_names: Sequence[str] | None = None
    split: NDArray[Any] | None = None
    links: Any = None
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    source: str = ""

    def __post_init__(self) -> None:
        rows = {name: _length(part) for name, part in self._rowwise() if part is not None}
        if len(set(rows.values())) > 1:
            found = ", ".join(f"{name} {count}" for name, count in rows.items())
            raise InvalidInput(f"{self.name}: all parts must have the same rows, but have {found}.")
        columns = (
            ("feature_names", self.feature_names, self.X),
            ("label_names", self.label_names, self.Y),
        )
        for name, names, block in columns:
            if names is not None and block is not None and len(names) != block.shape[1]:
                raise InvalidInput(
                    f"{self.name}: {name} must have one entry a column, {block.shape[1]} in all, "
                    f"but has {len(names)}."
                )

    def __len__(self) -> int:
        for _, part in self._rowwise():
            if part is not None:
                return _length(part)
        return 0

    def __repr__(self) -> str:
        parts = [f"{len(self):,} rows"]
        if self.n_features is not None:
            parts.append(f"{self.n_features:,} features")
        if self.n_labels is not None:
            parts.append(f"{self.n_labels:,} {'labels' if self.y is None else 'classes'}")
        return f"<{type(self).__name__} {self.name}: {', '.join(parts)}>"

    @property
    def n_features(self) -> int | None:
        """Columns of X; None without X."""
        return None if self.X is None else int(self.X.shape[1])

    @property
    def n_labels(self) -> int | None:
        """Columns of Y, or classes in y; None without either."""
        if self.Y is not None:
            return int(self.Y.shape[1])
        return None if self.y is None else int(np.unique(self.y).size)

    def take(self, rows: Any) -> Self:
        """Some of the rows, by number or by a boolean mask; ``extra`` is left out."""
        index = np.arange(len(self))[np.asarray(rows)]
        taken: dict[str, Any] = {name: _take(part, index) for name, part in self._rowwise()}
        if self.links is not None:
            taken["links"] = taken["links"][:, index]
        return replace(self, **taken, extra=MappingProxyType({}))

    def astype(self, dtype: Any) -> Self:
        """The same with features of another type."""
        return replace(self, X=self.X.astype(dtype))

    def dense(self) -> Self:
        """The same with X and Y as plain arrays; for sets that are small or not sparse."""
        return replace(self, X=_dense(self.X), Y=_dense(self.Y))

    def _rowwise(self) -> list[tuple[str, Any]]:
        names = ("X", "Y", "y", "texts", "ids", "split", "links")
        return [(name, getattr(self, name)) for name in names]


def _length(part: Any) -> int:
    return int(part.shape[0]) if hasattr(part, "shape") else len(part)


def _take(part: Any, index: NDArray[np.intp]) -> Any:
    if part is None:
        return None
    return part[index] if hasattr(part, "shape") else [part[row] for row in index]


def _dense(part: Any) -> Any:
    return part.toarray() if sparse.issparse(part) else part
