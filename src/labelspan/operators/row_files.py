"""Rows in files, for data larger than memory: written once, then read block by block.

A folder holds blocks of rows as ``.npy`` files, a list of the blocks with their checksums, and
sums over all rows. A block is on the list only after its files are on disk: a process that is
killed leaves whole blocks, and the next one continues after them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from .._files import read_bytes, sync_folder, write_whole
from .._typing import Array
from ..errors import InvalidFile, InvalidInput, MissingData
from .operator import Operator
from .row_blocks import Block, LocalBlocks, RowBlocks, checked_rows
from .sparse import Sparse, host_operator

__all__ = ["RowFiles", "RowWriter"]

_FORMAT, _VERSION = "labelspan-rows", 2
_LIST, _SUMMARY, _SUMS = "blocks.jsonl", "rows.json", "sums.npy"
_KINDS = {"sparse": ("indptr", "indices", "data"), "dense": ("rows",)}
# Python 3.11 raises SystemError if two threads parse the header of an array.
_one_reader = threading.Lock()


class _Entry(NamedTuple):
    """A block: its number, its shape, and the sha256 of each of its files."""

    number: int
    rows: int
    columns: int
    sums: dict[str, str]

    def path(self, folder: Path, part: str) -> Path:
        return folder / f"block-{self.number:06d}.{part}.npy"


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
        self._entries = _read_list(self._folder / _LIST, torn=True)
        if not self._entries and any(
            name.name != _LIST and not name.name.startswith(("block-", ".block-"))
            for name in self._folder.iterdir()
        ):
            raise InvalidInput(
                f"{self._folder} contains other files; choose a new or empty folder."
            )
        # The latest block, to check the form of the next one.
        self._newest: Operator | None = None
        self._sums: Array | float = 0.0
        for entry in self._entries:
            self._count(host_operator(_read_block(self._folder, entry, verify=True)))

    @property
    def n_rows(self) -> int:
        """Number of rows on disk."""
        return sum(entry.rows for entry in self._entries)

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
        entry = _Entry(len(self._entries), *operator.shape, {})
        matrix: Any = operator.csr if isinstance(operator, Sparse) else None
        for part in _KINDS["dense" if matrix is None else "sparse"]:
            values = operator.toarray() if matrix is None else getattr(matrix, part)
            entry.sums[part] = _write_array(entry.path(self._folder, part), values)
        record = {"rows": entry.rows, "columns": entry.columns, "sha256": entry.sums}
        with (self._folder / _LIST).open("a", encoding="ascii") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._entries.append(entry)
        self._count(operator)

    def _count(self, operator: Operator) -> None:
        sums = operator.shape[0] * operator.column_means()
        self._sums = self._sums + np.stack([sums, operator.column_squares()])
        self._newest = operator.rows(np.arange(0))

    def close(self) -> None:
        """Write the summary, without which the folder cannot be opened."""
        if self._newest is None:
            raise InvalidInput("RowWriter: no rows were written.")
        _write_array(self._folder / _SUMS, np.asarray(self._sums))
        summary = {
            "format": _FORMAT,
            "version": _VERSION,
            "kind": "sparse" if isinstance(self._newest, Sparse) else "dense",
            "rows": self.n_rows,
            "columns": self._newest.shape[1],
            "dtype": self._newest.dtype.str,
            "blocks": len(self._entries),
        }
        content = json.dumps(summary, indent=1).encode("ascii")
        write_whole(self._folder / _SUMMARY, lambda file: file.write(content))
        sync_folder(self._folder)

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
        try:
            summary = json.loads(read_bytes(folder / _SUMMARY))
            known = summary["format"] == _FORMAT and summary["version"] == _VERSION
            rows, columns = int(summary["rows"]), int(summary["columns"])
            dtype, kind, blocks = np.dtype(summary["dtype"]), summary["kind"], summary["blocks"]
        except (ValueError, KeyError, TypeError):
            raise InvalidFile(f"{folder / _SUMMARY} is damaged; write it again.") from None
        if not known or kind not in _KINDS or dtype not in (np.float32, np.float64):
            raise InvalidFile(f"{folder / _SUMMARY} has an unknown format or version.")
        self._entries = _read_list(folder / _LIST, torn=False)
        if len(self._entries) != blocks or sum(entry.rows for entry in self._entries) != rows:
            raise InvalidFile(f"{folder / _LIST} does not fit {_SUMMARY}; write it again.")
        super().__init__([(entry.rows, columns) for entry in self._entries], dtype)
        self._folder, self._form = folder, (kind == "sparse", columns, dtype)
        self._verified: set[int] = set()
        self.threaded = kind == "sparse"
        self.sums = _read_array(folder / _SUMS)
        if self.sums.shape != (2, columns) or self.sums.dtype != np.float64:
            raise InvalidFile(f"{folder / _SUMS} is damaged; write the rows again.")

    def load(self, number: int) -> Block:
        matrix = _read_block(
            self._folder, self._entries[number], verify=number not in self._verified
        )
        if (sparse.issparse(matrix), matrix.shape[1], matrix.dtype) != self._form:
            raise InvalidFile(
                f"Block {number} of {self._folder} does not fit {_SUMMARY}; write it again."
            )
        self._verified.add(number)
        return Block(host_operator(matrix))


def _read_list(path: Path, *, torn: bool) -> list[_Entry]:
    """Read the list of blocks; an incomplete last line is only reported as ``torn``."""
    lines = read_bytes(path).split(b"\n") if path.exists() else [b""]
    last = lines.pop()
    if last and not torn:
        raise InvalidFile(f"{path} is cut off; write the rows again.")
    if last:
        # Written again by the next block.
        with path.open("rb+") as file:
            file.truncate(sum(len(line) + 1 for line in lines))
    entries = []
    for number, line in enumerate(lines):
        try:
            record = json.loads(line)
            sums = {str(part): str(value) for part, value in record["sha256"].items()}
            entries.append(_Entry(number, int(record["rows"]), int(record["columns"]), sums))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidFile(f"{path} is damaged at line {number + 1}; write it again.") from None
        if not any(set(sums) == set(parts) for parts in _KINDS.values()):
            raise InvalidFile(f"{path} is damaged at line {number + 1}; write it again.")
    return entries


def _read_block(folder: Path, entry: _Entry, *, verify: bool) -> Any:
    arrays = {
        part: _read_array(entry.path(folder, part), expected if verify else None)
        for part, expected in entry.sums.items()
    }
    if "rows" in arrays:
        return arrays["rows"]
    matrix = sparse.csr_array(
        (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(entry.rows, entry.columns)
    )
    # It was canonical when it was written; a check would read it again.
    matrix.has_canonical_format = True
    return matrix


def _write_array(path: Path, values: Array) -> str:
    """Write an array, and return the sha256 of the file."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(values), allow_pickle=False)
    content = buffer.getbuffer()
    write_whole(path, lambda file: file.write(content))
    return hashlib.sha256(content).hexdigest()


def _read_array(path: Path, sha256: str | None = None) -> Array:
    try:
        if sha256 is not None:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    raise ValueError
        with _one_reader:
            values: Array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise MissingData(f"{path} is missing; write the rows again.") from None
    except (ValueError, EOFError, OSError):
        raise InvalidFile(f"{path} is damaged; write the rows again.") from None
    return values
