"""Rows in files, for data larger than memory: written once, then read block by block.

A folder holds blocks of rows as ``.npy`` files, a list of the blocks with their checksums, and
sums over all rows. A block is on the list only after its files are on the disk: a process that is
killed leaves whole blocks, and the next one goes on after them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from scipy import sparse

from .._files import read_bytes, sync_folder, write_whole
from .._typing import Array
from ..errors import InvalidFile, InvalidInput, Mismatch, MissingData
from .convert import as_operator
from .dense import Dense
from .operator import Centered, Operator, checked_offset
from .sparse import Sparse

__all__ = ["RowFiles", "RowWriter"]

_FORMAT = "labelspan-rows"
_VERSION = 1
_LIST = "blocks.jsonl"
_SUMMARY = "rows.json"
_one_reader = threading.Lock()
_KINDS = {"sparse": ("indptr", "indices", "data"), "dense": ("rows",)}


class _Entry(NamedTuple):
    """A block: its number, its shape, and the sha256 of each of its files."""

    number: int
    rows: int
    columns: int
    sums: dict[str, str]

    def path(self, folder: Path, part: str) -> Path:
        return folder / f"block-{self.number:06d}.{part}.npy"


class RowWriter:
    """Write rows to a folder, a block at a time, for :class:`RowFiles`.

    Parameters
    ----------
    folder : str or path
        A new or empty folder, or one that another writer did not finish.

    Attributes
    ----------
    n_rows : int
        Rows that are on the disk. After an interruption, go on with the rows after these.

    See Also
    --------
    RowFiles : The data as an operator that estimators take.

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
                f"{self._folder} already holds complete rows; choose another folder or remove it."
            )
        self._entries = _read_list(self._folder / _LIST, torn=True)
        if not self._entries and any(
            name.name != _LIST and not name.name.startswith(("block-", ".block-"))
            for name in self._folder.iterdir()
        ):
            raise InvalidInput(
                f"{self._folder} holds other files; choose a new folder, or an empty one."
            )
        self._columns: int | None = None
        self._kind = ""
        self._dtype: np.dtype[Any] | None = None
        self._sums = self._squares = np.zeros(0)
        for entry in self._entries:
            self._count(_read_block(self._folder, entry, verify=True))

    @property
    def n_rows(self) -> int:
        """Number of rows on the disk."""
        return sum(entry.rows for entry in self._entries)

    def append(self, rows: Any) -> None:
        """Write a block of rows: an array or a sparse matrix, as the blocks before it.

        Parameters
        ----------
        rows : array or sparse matrix of shape (m, d)
            All blocks need the same columns; a few hundred megabytes each is a good size.
        """
        operator = as_operator(rows)
        if not isinstance(operator, Sparse | Dense):
            raise InvalidInput(
                "RowWriter takes arrays and sparse matrices of numbers, "
                f"but got {type(rows).__name__}."
            )
        if not np.isfinite(operator.sum_of_squares()):
            raise InvalidInput("RowWriter: rows contain NaN or infinity, or numbers too large.")
        if operator.shape[0] == 0:
            return
        matrix = operator.csr if isinstance(operator, Sparse) else operator.toarray()
        self._check(matrix)
        entry = _Entry(len(self._entries), matrix.shape[0], matrix.shape[1], {})
        for part, values in _arrays(matrix).items():
            buffer = io.BytesIO()
            np.save(buffer, values, allow_pickle=False)
            content = buffer.getbuffer()
            entry.sums[part] = hashlib.sha256(content).hexdigest()
            write_whole(entry.path(self._folder, part), _writer(content))
        record = {"rows": entry.rows, "columns": entry.columns, "sha256": entry.sums}
        line = json.dumps(record) + "\n"
        with (self._folder / _LIST).open("a", encoding="ascii") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._entries.append(entry)
        self._count(matrix)

    def _check(self, matrix: Any) -> None:
        kind = "sparse" if sparse.issparse(matrix) else "dense"
        if self._columns is None:
            return
        given = (matrix.shape[1], kind, matrix.dtype)
        before = (self._columns, self._kind, self._dtype)
        if given != before:
            raise Mismatch(
                f"RowWriter: this block has {given[0]} columns ({given[1]}, {given[2]}), but the "
                f"blocks before it have {before[0]} ({before[1]}, {before[2]}); give all blocks "
                "the same form."
            )

    def _count(self, matrix: Any) -> None:
        if self._columns is None:
            self._columns, self._dtype = matrix.shape[1], matrix.dtype
            self._kind = "sparse" if sparse.issparse(matrix) else "dense"
            self._sums, self._squares = np.zeros((2, matrix.shape[1]))
        operator = as_operator(matrix)
        self._sums += operator.shape[0] * operator.column_means()
        self._squares += operator.column_squares()

    def close(self) -> None:
        """Write the summary, without which the folder cannot be opened."""
        if self._columns is None:
            raise InvalidInput("RowWriter: no rows were written.")
        for name, values in {"sums": self._sums, "squares": self._squares}.items():
            buffer = io.BytesIO()
            np.save(buffer, values, allow_pickle=False)
            write_whole(self._folder / f"{name}.npy", _writer(buffer.getbuffer()))
        assert self._dtype is not None
        summary = {
            "format": _FORMAT,
            "version": _VERSION,
            "kind": self._kind,
            "rows": self.n_rows,
            "columns": self._columns,
            "dtype": self._dtype.str,
            "blocks": len(self._entries),
        }
        content = memoryview(json.dumps(summary, indent=1).encode("ascii"))
        write_whole(self._folder / _SUMMARY, _writer(content))
        sync_folder(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()


class RowFiles(Operator):
    """Rows in the files of a folder, as an operator that every linear method takes.

    Each product reads the blocks once, one block ahead on a thread, so that memory holds two
    blocks whatever the number of rows. Checksums are verified the first time a block is read.

    Parameters
    ----------
    folder : str or path
        A folder written by :class:`RowWriter`.

    See Also
    --------
    RowWriter : Write such a folder.
    labelspan.LSI.partial_fit : One pass, for few columns.

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

    one_pass = True

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        if not (self._folder / _SUMMARY).exists():
            raise MissingData(
                f"{self._folder} holds no complete rows; write them with RowWriter and close it."
            )
        try:
            summary = json.loads(read_bytes(self._folder / _SUMMARY))
            known = summary["format"] == _FORMAT and summary["version"] == _VERSION
            shape = (int(summary["rows"]), int(summary["columns"]))
            dtype, kind, blocks = np.dtype(summary["dtype"]), summary["kind"], summary["blocks"]
        except (ValueError, KeyError, TypeError):
            raise InvalidFile(f"{self._folder / _SUMMARY} is damaged; write it again.") from None
        if not known or kind not in _KINDS or dtype not in (np.float32, np.float64):
            raise InvalidFile(f"{self._folder / _SUMMARY} has an unknown format or version.")
        super().__init__(shape, dtype)
        self._kind = kind
        self.threaded = kind != "dense"
        self._entries = _read_list(self._folder / _LIST, torn=False)
        if len(self._entries) != blocks or sum(entry.rows for entry in self._entries) != shape[0]:
            raise InvalidFile(f"{self._folder / _LIST} does not fit {_SUMMARY}; write it again.")
        self._sums = _load(self._folder / "sums.npy", shape[1])
        self._squares = _load(self._folder / "squares.npy", shape[1])
        self._offset: Array | None = None
        self._change: Callable[[Any], Any] | None = None
        self._verified: set[int] = set()

    @property
    def block_rows(self) -> tuple[int, ...]:
        """Number of rows in each block."""
        return tuple(entry.rows for entry in self._entries)

    def _blocks(self) -> Iterator[tuple[slice, Operator]]:
        """Yield the rows of each block as an operator, reading the next one meanwhile."""
        start = 0
        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(self._read, self._entries[0])
            for number, entry in enumerate(self._entries):
                matrix = ahead.result()
                if number + 1 < len(self._entries):
                    ahead = reader.submit(self._read, self._entries[number + 1])
                stop = start + entry.rows
                block = Dense(matrix, self._offset) if self._kind == "dense" else Sparse(matrix)
                yield slice(start, stop), block
                start = stop

    def _read(self, entry: _Entry) -> Any:
        matrix = _read_block(self._folder, entry, verify=entry.number not in self._verified)
        kind = "sparse" if sparse.issparse(matrix) else "dense"
        if (kind, matrix.shape[1], matrix.dtype) != (self._kind, self.shape[1], self.dtype):
            raise InvalidFile(
                f"Block {entry.number} of {self._folder} does not fit {_SUMMARY}; write it again."
            )
        self._verified.add(entry.number)
        if self._change is None:
            return matrix
        return _canonical(self._change(matrix), self.dtype)

    def _matmat(self, block: Array) -> Array:
        out = np.empty((self.shape[0], block.shape[1]), dtype=self.dtype)
        for part, rows in self._blocks():
            out[part] = rows.matmat(block)
        return out

    def _rmatmat(self, block: Array) -> Array:
        out = np.zeros((self.shape[1], block.shape[1]))
        for part, rows in self._blocks():
            out += rows.rmatmat(block[part])
        return out.astype(self.dtype)

    def normal(self, block: Array) -> Array:
        out = np.zeros((self.shape[1], block.shape[1]))
        for _, rows in self._blocks():
            out += rows.normal(block)
        return out.astype(self.dtype)

    def cross(self, block: Array) -> Array:
        out = np.zeros((self.shape[1], block.shape[1]))
        for part, rows in self._blocks():
            out += rows.cross(block[part])
        return out

    def gram(self) -> Array:
        out = np.zeros((self.shape[1],) * 2)
        for _, rows in self._blocks():
            out += rows.gram()
        return out

    def moments(self, block: Array) -> tuple[Array, Array]:
        gram = np.zeros((self.shape[1],) * 2)
        cross = np.zeros((self.shape[1], block.shape[1]))
        for part, rows in self._blocks():
            one, two = rows.moments(block[part])
            gram += one
            cross += two
        return gram, cross

    def column_means(self) -> Array:
        means = self._sums / self.shape[0]
        return means if self._offset is None else means - self._offset

    def column_squares(self) -> Array:
        if self._offset is None:
            return self._squares.copy()
        return sum((rows.column_squares() for _, rows in self._blocks()), np.zeros(self.shape[1]))

    def sum_of_squares(self) -> float:
        return float(self.column_squares().sum())

    def shifted(self, offset: Array) -> Operator:
        if self._kind == "sparse":
            return Centered(self, offset)
        # Dense blocks are shifted before their products, which keeps the digits.
        other = RowFiles.__new__(RowFiles)
        other.__dict__.update(self.__dict__)
        row = checked_offset(offset, self.shape[1])
        other._offset = row if self._offset is None else row + self._offset
        return other

    @property
    def is_changed(self) -> bool:
        """Whether the rows are those of :meth:`changed`."""
        return self._change is not None

    def changed(self, change: Callable[[Any], Any]) -> RowFiles:
        """Return the rows after a function of each block that keeps its shape; reads them once.

        Parameters
        ----------
        change : function
            Takes a block as it is in the files, an array or a CSR array, and returns another.

        Returns
        -------
        RowFiles
            The changed rows; blocks are changed whenever they are read.
        """
        if self._offset is not None or self._change is not None:
            raise Mismatch("changed: these rows were changed or shifted before; use the files.")
        other = RowFiles.__new__(RowFiles)
        other.__dict__.update(self.__dict__)
        other._change = change
        sums, squares = np.zeros((2, self.shape[1]))
        for _, rows in other._blocks():
            sums += rows.shape[0] * rows.column_means()
            squares += rows.column_squares()
        other._sums, other._squares = sums, squares
        return other

    def wide_rows(self, part: slice) -> Array:
        wanted = range(*part.indices(self.shape[0]))
        pieces = [
            rows.wide_rows(slice(max(wanted.start - at.start, 0), wanted.stop - at.start))
            for at, rows in self._blocks()
            if at.start < wanted.stop and wanted.start < at.stop
        ]
        return np.concatenate(pieces) if pieces else np.empty((0, self.shape[1]))

    def toarray(self) -> Array:
        return np.concatenate([rows.toarray() for _, rows in self._blocks()])


def _canonical(matrix: Any, dtype: Any) -> Any:
    if not sparse.issparse(matrix):
        return np.asarray(matrix, dtype=dtype)
    found = sparse.csr_array(matrix, dtype=dtype)
    found.sum_duplicates()
    return found


def _arrays(matrix: Any) -> dict[str, Array]:
    if sparse.issparse(matrix):
        return {part: getattr(matrix, part) for part in _KINDS["sparse"]}
    return {"rows": np.ascontiguousarray(matrix)}


def _writer(content: memoryview) -> Any:
    def write(file: BinaryIO) -> None:
        file.write(content)

    return write


def _read_list(path: Path, *, torn: bool) -> list[_Entry]:
    """Read the list of blocks; a last line that was cut off counts only as ``torn``."""
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
    arrays = {}
    for part, expected in entry.sums.items():
        path = entry.path(folder, part)
        try:
            if verify:
                with path.open("rb") as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                        raise ValueError
            arrays[part] = _read_array(path)
        except FileNotFoundError:
            raise MissingData(f"{path} is missing; write the rows again.") from None
        except (ValueError, EOFError, OSError):
            raise InvalidFile(f"{path} is damaged; write the rows again.") from None
    if "rows" in arrays:
        return arrays["rows"]
    matrix = sparse.csr_array(
        (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(entry.rows, entry.columns)
    )
    # It was canonical when it was written; a check would read it once more.
    matrix.has_canonical_format = True
    return matrix


def _read_array(path: Path) -> Array:
    # Python 3.11 raises SystemError where two threads parse the header of an array.
    with _one_reader:
        values: Array = np.load(path, allow_pickle=False)
    return values


def _load(path: Path, length: int) -> Array:
    try:
        values = _read_array(path)
    except FileNotFoundError:
        raise MissingData(f"{path} is missing; write the rows again.") from None
    except (ValueError, EOFError, OSError):
        raise InvalidFile(f"{path} is damaged; write the rows again.") from None
    if values.shape != (length,) or values.dtype != np.float64:
        raise InvalidFile(f"{path} is damaged; write the rows again.")
    return values
