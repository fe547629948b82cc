"""Descriptions of data sets, and data sets in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InvalidInput

__all__ = ["TEST", "TRAIN", "UNKNOWN", "Card", "DataSet", "indicator"]

# The entries of ``DataSet.split``.
TRAIN, TEST, UNKNOWN = 0, 1, 255


@dataclass(frozen=True)
class Card:
    """Describe a data set before it is loaded.

    Attributes
    ----------
    name, title : str
        The name to load it by, and its subject.
    n, d, k : int
        Number of rows, of features (None if there are only texts), and of labels or classes.
    task : {"labels", "classes"}
        Whether it is multi-label, or has one class per row.
    origin, terms, citation : str
        Who made it, its terms of use, and what to cite.
    papers : tuple of str
        Which of yu2005, sun2009 and wang2010 use it or a similar set.
    where : str
        How to get it, in a line.
    file, sha256 : str
        The file that :func:`load` looks for, and the hash of its content; the hash is None if no
        file is pinned.
    public : str or None
        The public source that is used when there is no file.
    remarks : str
        How it differs from what the papers used.
    about : str
        A description in a few sentences.
    feature_names, classes : tuple of str
        Names of the features, if the file has none, and of the classes in a public source.
    dense : bool
        Whether its arrays are dense, however the file stores them.

    See Also
    --------
    card : Return the card of a data set.

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
    about: str = ""
    feature_names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    dense: bool = False

    @property
    def size(self) -> str:
        """Rows, features and labels in words."""
        features = "" if self.d is None else f" x {self.d:,}"
        return f"{self.n:,}{features}, {self.k} {self.task}"

    @property
    def unpinned(self) -> str:
        """File name of a copy that is not byte for byte the pinned one."""
        return self.file.replace(self.name, f"{self.name}.unpinned", 1)


@dataclass(frozen=True, eq=False, repr=False)
class DataSet:
    """Hold rows with labels or classes, and their metadata.

    Attributes
    ----------
    name : str
        The name of the set.
    X : array or CSR array of shape (n, d), or None
        Features; None if there are only texts.
    Y : array or CSR array of shape (n, k), or None
        Labels as an indicator of 0 and 1; -1 where a label is unknown.
    y : array of shape (n,), or None
        Classes, if each row has exactly one.
    texts, ids : sequence of str, or None
        The texts, and names of the rows.
    feature_names, label_names : sequence of str, or None
        Names of the columns of X and Y; ``label_names[y]`` are the names of the classes.
    split : array of shape (n,), or None
        0 for training, 1 for test, 255 if unknown.
    links : CSR array of shape (n, n), or None
        A symmetric graph over the rows.
    labels, metadata : sequence of lists of str, and of dicts, or None
        The names of the labels of each row, and what else is known of it.
    extra : mapping of str to array
        Further arrays of the file.
    source : str
        Where the data came from: a pinned file, or a copy that may differ from it.

    See Also
    --------
    load : Load a data set by name.

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
    labels: Sequence[list[str]] | None = None
    metadata: Sequence[Mapping[str, Any]] | None = None
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
                    f"{self.name}: {name} must have one entry per column ({block.shape[1]}), "
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
        """Number of columns of X; None without X."""
        return None if self.X is None else int(self.X.shape[1])

    @property
    def n_labels(self) -> int | None:
        """Number of columns of Y, or of classes in y; None without either."""
        if self.Y is not None:
            return int(self.Y.shape[1])
        return None if self.y is None else int(np.unique(self.y).size)

    @property
    def train(self) -> NDArray[np.bool_]:
        """Mask of the training part."""
        return np.asarray(self.split == TRAIN)

    @property
    def test(self) -> NDArray[np.bool_]:
        """Mask of the test part."""
        return np.asarray(self.split == TEST)

    def take(self, rows: Any) -> DataSet:
        """Select rows by number or by a boolean mask; ``extra`` is left out.

        Parameters
        ----------
        rows : array of int or of bool
            The rows to keep, in this order; or one truth value per row.

        Returns
        -------
        DataSet
            Those rows.
        """
        index = np.arange(len(self))[np.asarray(rows)]
        taken: dict[str, Any] = {name: _take(part, index) for name, part in self._rowwise()}
        if self.links is not None:
            taken["links"] = taken["links"][:, index]
        return replace(self, **taken, extra=MappingProxyType({}))

    def _rowwise(self) -> list[tuple[str, Any]]:
        names = ("X", "Y", "y", "texts", "ids", "split", "links", "labels", "metadata")
        return [(name, getattr(self, name)) for name in names]


def _length(part: Any) -> int:
    return int(part.shape[0]) if hasattr(part, "shape") else len(part)


def _take(part: Any, index: NDArray[np.intp]) -> Any:
    if part is None:
        return None
    return part[index] if hasattr(part, "shape") else [part[row] for row in index]


def indicator(
    lists: Sequence[Iterable[str]], names: Sequence[str] | None = None
) -> tuple[Any, tuple[str, ...]]:
    """Convert lists of labels to a 0/1 matrix in CSR format; also return the labels of its columns.

    Without ``names`` all labels are used, sorted; with them, only those.
    """
    rows = [set(labels) for labels in lists]
    chosen = tuple(sorted(set().union(*rows)) if names is None else names)
    columns = {name: column for column, name in enumerate(chosen)}
    found = [sorted(columns[name] for name in labels if name in columns) for labels in rows]
    indptr = np.cumsum([0, *map(len, found)], dtype=np.int32)
    indices = np.array([column for row in found for column in row], dtype=np.int32)
    ones = np.ones(indices.size, dtype=np.uint8)
    return sparse.csr_array((ones, indices, indptr), shape=(len(rows), len(chosen))), chosen
