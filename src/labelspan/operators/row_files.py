"""Rows in files, for data larger than memory: written once, then read block by block.

A folder holds blocks of rows as files of arrays, and a summary with sums over all rows. A block has
its name only when it is whole: a process that is killed leaves whole blocks, and the next one
continues after them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._arrays import ArrayFile, write_arrays
from .._typing import Array
from ..errors import InvalidFile, InvalidInput, MissingData
from .operator import Operator
from .row_blocks import Block, LocalBlocks, RowBlocks, checked_rows
from .sparse import Sparse, host_operator

__all__ = ["RowFiles", "RowWriter"]

_FORMAT, _VERSION = "labelspan-rows", 3
_SUMMARY = "rows.arrays"
_SPARSE = ("indptr", "indices", "data")


class RowWriter:
    """Write rows to a folder, one block at a time, for :class:`RowFiles`.

    Parameters
    ----------
    folder : str or path
        A new or empty folder, or one that another writer did not finish.

    Attributes
    ----------
    n_rows : int
        Number of rows on disk. After an interruption, continue with the next row.

    See Also
    --------
    RowFiles : The data as an operator for estimators.
    MemoryBlocks : The same in memory.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelspan.operators import RowFiles, RowWriter
    >>> folder = tempfile.mkdtemp()
    >>> with RowWriter(folder) as writer:
    ...     for start in range(0, 6, 2):
    ...         writer.append(np.arange(start, start + 2.0)[:, None] * [1.0, 10.0])
    >>> RowFiles(folder).toarray().ravel().astype(int).tolist()
    [0, 0, 1, 10, 2, 20, 3, 30, 4, 40, 5, 50]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        if (self._folder / _SUMMARY).exists():
            raise InvalidInput(
                f"{self._folder} already contains complete rows; choose another folder or remove "
                "it."
            )
        if any(not path.name.startswith(("block-", ".")) for path in self._folder.iterdir()):
            raise InvalidInput(
                f"{self._folder} contains other files; choose a new or empty folder."
            )
        # The latest block, to check the form of the next one.
        self._newest: Operator | None = None
        self._lengths: list[int] = []
        self._sums: Array | float = 0.0
        while (path := _block_path(self._folder, len(self._lengths))).exists():
            self._count(host_operator(_read_block(path, verify=True)))

    @property
    def n_rows(self) -> int:
        """Number of rows on disk."""
        return sum(self._lengths)

    def append(self, rows: Any) -> None:
        """Write a block of rows, of the same form as the earlier ones.

        Parameters
        ----------
        rows : array or sparse matrix of shape (m, d)
            All blocks need the same columns; a few hundred megabytes each is a good size.
        """
        operator = checked_rows("RowWriter", rows, self._newest)
        if operator.shape[0] == 0:
            return
        if isinstance(operator, Sparse):
            matrix: Any = operator.csr
            arrays = {part: getattr(matrix, part) for part in _SPARSE}
        else:
            arrays = {"rows": operator.toarray()}
        path = _block_path(self._folder, len(self._lengths))
        write_arrays(path, arrays, columns=operator.shape[1])
        self._count(operator)

    def _count(self, operator: Operator) -> None:
        sums = operator.shape[0] * operator.column_means()
        self._sums = self._sums + np.stack([sums, operator.column_squares()])
        self._newest = operator.rows(np.arange(0))
        self._lengths.append(operator.shape[0])

    def close(self) -> None:
        """Write the summary, without which the folder cannot be opened."""
        if self._newest is None:
            raise InvalidInput("RowWriter: no rows were written.")
        write_arrays(
            self._folder / _SUMMARY,
            {"sums": np.asarray(self._sums), "lengths": np.asarray(self._lengths)},
            format=_FORMAT,
            version=_VERSION,
            sparse=isinstance(self._newest, Sparse),
            columns=self._newest.shape[1],
            dtype=self._newest.dtype.str,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()


class RowFiles(RowBlocks):
    """Rows in the files of a folder, as an operator that every linear method accepts.

    Each product reads the blocks once, one block ahead on a thread, so that memory holds two
    blocks whatever the number of rows. Checksums are verified the first time a block is read.
    ``blocks()`` yields the rows as they were written.

    Parameters
    ----------
    folder : str or path
        A folder written by :class:`RowWriter`.

    See Also
    --------
    RowWriter : Write such a folder.
    labelspan.LSI.partial_fit : One pass, for data with few columns.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelspan import LSI
    >>> from labelspan.operators import RowFiles, RowWriter
    >>> rows = np.random.default_rng(0).standard_normal((300, 20))
    >>> folder = tempfile.mkdtemp()
    >>> with RowWriter(folder) as writer:
    ...     for start in range(0, 300, 100):
    ...         writer.append(rows[start : start + 100])
    >>> on_disk = LSI(2).fit(RowFiles(folder))
    >>> bool(np.allclose(on_disk.eigenvalues_, LSI(2).fit(rows).eigenvalues_))
    True
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__(_FileBlocks(Path(folder)))


class _FileBlocks(LocalBlocks):
    """The blocks of a folder, verified when they are read for the first time."""

    def __init__(self, folder: Path) -> None:
        if not (folder / _SUMMARY).exists():
            raise MissingData(
                f"{folder} contains no complete rows; write them with RowWriter and close it."
            )
        summary = ArrayFile(folder / _SUMMARY, mapped=False)
        lengths, self.sums = summary.array("lengths"), summary.array("sums")
        about = summary.about
        known = (about.get("format"), about.get("version")) == (_FORMAT, _VERSION)
        if not known or about["dtype"] not in ("<f4", "<f8"):
            raise InvalidFile(f"{folder / _SUMMARY} has an unknown format or version.")
        self._form = about["sparse"], about["columns"], np.dtype(about["dtype"])
        super().__init__([(int(length), self._form[1]) for length in lengths], self._form[2])
        self._folder, self._verified = folder, set[int]()
        self.threaded = self._form[0]

    def load(self, number: int) -> Block:
        path = _block_path(self._folder, number)
        matrix = _read_block(path, verify=number not in self._verified)
        if (sparse.issparse(matrix), matrix.shape[1], matrix.dtype) != self._form:
            raise InvalidFile(f"{path} does not fit {_SUMMARY}; write the rows again.")
        self._verified.add(number)
        return Block(host_operator(matrix))


def _block_path(folder: Path, number: int) -> Path:
    return folder / f"block-{number:06d}.arrays"


def _read_block(path: Path, *, verify: bool) -> Any:
    try:
        file = ArrayFile(path, mapped=False, verify=verify)
    except FileNotFoundError:
        raise MissingData(f"{path} is missing; write the rows again.") from None
    arrays = file.arrays()
    if "rows" in arrays:
        return arrays["rows"]
    shape = arrays["indptr"].size - 1, file.about["columns"]
    matrix = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    # It was canonical when it was written; a check would read it again.
    matrix.has_canonical_format = True
    return matrix
