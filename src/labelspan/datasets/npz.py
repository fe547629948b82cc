"""Read and write data sets as ``.npz`` files: numpy archives with these names inside.

========================================== =================================================
``X_data X_indices X_indptr X_shape``      features in compressed rows
``X``, ``X_div``                           or dense; X_div, if present, divides X
``Y_data Y_indices Y_indptr Y_shape``      labels, 0 or 1, in compressed rows
``Y``                                      or dense
``y``                                      or one class per row
``feature_names``, ``label_names``         names; ``class_names`` for classes
``split``, ``is_test``                     0 training, 1 test, 255 unknown; or true for test
``links_indptr links_indices``             a graph over the rows, in compressed rows of ones
``source``                                 where a copy came from
========================================== =================================================

Other arrays are returned in ``extra``. Nothing is ever unpickled.
"""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._files import read_bytes, write_whole
from ..errors import InvalidFile, InvalidInput
from .dataset import TEST, TRAIN, DataSet

__all__ = ["csr_part", "read_arrays", "read_npz", "write_npz"]

Arrays = dict[str, NDArray[Any]]
_PARTS = ("data", "indices", "indptr")


def read_npz(
    path: str | os.PathLike[str], *, name: str | None = None, sha256: str | None = None
) -> DataSet:
    """Read a data set from an ``.npz`` file.

    Parameters
    ----------
    path : path
        The file to read.
    name : str or None, default=None
        The name of the set; None uses the name of the file.
    sha256 : str or None, default=None
        The hash that the file must have; None accepts any.

    Returns
    -------
    DataSet
        The data. Floats keep their precision; integers in X become float64.

    See Also
    --------
    write_npz : Write such a file.
    load : Load a data set by its name.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelspan.datasets import DataSet, read_npz, write_npz
    >>> data = DataSet("tiny", np.eye(3), y=np.array([0, 1, 1]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(data, f"{folder}/tiny.npz")
    ...     read_npz(f"{folder}/tiny.npz")
    <DataSet tiny: 3 rows, 3 features, 2 classes>
    """
    path = Path(path)
    arrays = read_arrays(path, sha256)
    try:
        return _parse(arrays, name or path.name.split(".")[0], str(path))
    except (KeyError, ValueError, TypeError, InvalidInput) as error:
        reason = f"it has no array {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidFile(
            f"{path} is not a data set of labelspan ({reason.rstrip('.')}); get it again."
        ) from error


def write_npz(data: DataSet, path: str | os.PathLike[str]) -> None:
    """Write a data set as an ``.npz`` file, atomically.

    Parameters
    ----------
    data : DataSet
        The data; texts and ids cannot be stored in this format.
    path : path
        The file to write; an existing one is replaced.

    See Also
    --------
    read_npz : Read such a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.datasets import load, read_npz, write_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(load("iris"), Path(folder) / "flowers.npz")
    ...     read_npz(Path(folder) / "flowers.npz")
    <DataSet flowers: 150 rows, 4 features, 3 classes>
    """
    if data.texts is not None or data.ids is not None:
        raise InvalidInput(
            f"{data.name}: an .npz file cannot hold texts and ids; write them as JSON lines."
        )
    arrays = {**_store("X", data.X), **_store("Y", data.Y)}
    if data.y is not None:
        arrays["y"] = data.y
    labels = "label_names" if data.y is None else "class_names"
    for key, names in (("feature_names", data.feature_names), (labels, data.label_names)):
        if names is not None:
            arrays[key] = np.asarray(names, dtype=np.str_)
    if data.split is not None:
        arrays["split"] = data.split
    if data.links is not None:
        links = sparse.csr_array(data.links)
        arrays |= {"links_indptr": links.indptr, "links_indices": links.indices}
    if data.source:
        arrays["source"] = np.array(data.source)
    arrays |= {key: np.asarray(value) for key, value in data.extra.items() if key not in arrays}
    for key, value in arrays.items():
        if value.dtype.hasobject:
            raise InvalidInput(
                f"{data.name}: {key} holds objects, which are never pickled; convert them to "
                "numbers or strings."
            )

    def write(file: BinaryIO) -> None:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    write_whole(Path(path), write)


def read_arrays(path: Path, sha256: str | None = None) -> Arrays:
    """Return the arrays of an ``.npz`` file by name, or that of an ``.npy`` file as ``""``."""
    try:
        found = np.load(io.BytesIO(read_bytes(path, sha256)), allow_pickle=False)
        if isinstance(found, np.ndarray):
            return {"": found}
        with found:
            return {key: found[key] for key in found.files}
    except InvalidFile:
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidFile(
            f"{path} is damaged or not a file of numbers: {error}; get it again."
        ) from error


def _parse(arrays: Arrays, name: str, source: str) -> DataSet:
    X, Y, y = _block(arrays, "X"), _block(arrays, "Y"), arrays.pop("y", None)
    if X is None and Y is None and y is None:
        raise KeyError("X")
    if X is not None and X.dtype.kind != "f":
        X = X.astype(np.float64)
    if "X_div" in arrays:
        X = X / float(arrays.pop("X_div"))
    names = _names(arrays, "label_names")
    classes = _names(arrays, "class_names")
    split = arrays.pop("split", None)
    if "is_test" in arrays:
        split = np.where(arrays.pop("is_test"), TEST, TRAIN).astype(np.uint8)
    links = None
    if "links_indptr" in arrays:
        parts = arrays.pop("links_indices"), arrays.pop("links_indptr")
        n = parts[1].size - 1
        links = _csr(np.ones(parts[0].size), *parts, (n, n))
        links = links.maximum(links.T).tocsr()
    if "source" in arrays:
        source = str(arrays.pop("source"))
    return DataSet(
        name,
        X,
        Y,
        None if y is None else y.astype(np.int64),
        feature_names=_names(arrays, "feature_names"),
        label_names=names if classes is None else classes,
        split=split,
        links=links,
        extra=MappingProxyType(arrays),
        source=source,
    )


def _block(arrays: Arrays, side: str) -> Any:
    """Return X or Y, removed from the arrays; None if it is stored in neither form."""
    if f"{side}_shape" in arrays:
        return csr_part(arrays, f"{side}_")
    dense = arrays.pop(side, None)
    if dense is not None and (dense.ndim != 2 or dense.dtype.kind not in "fiub"):
        raise ValueError(f"{side} has shape {dense.shape} and type {dense.dtype}")
    return dense


def csr_part(arrays: Arrays, prefix: str) -> Any:
    """Take a CSR matrix out of the arrays; raise ValueError if it is damaged."""
    shape = tuple(int(length) for length in arrays.pop(f"{prefix}shape"))
    data, indices, indptr = (arrays.pop(f"{prefix}{part}") for part in _PARTS)
    return _csr(data, indices, indptr, shape)


def _csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]) -> Any:
    wide = (data, indices.astype(np.int64), indptr.astype(np.int64))
    block = sparse.csr_array(wide, shape=shape)
    block.check_format(full_check=True)
    # liblinear accepts only 32-bit indices, and no set here needs more.
    if max(block.nnz, *shape) <= np.iinfo(np.int32).max:
        block.indices, block.indptr = (part.astype(np.int32) for part in wide[1:])
    return block


def _names(arrays: Arrays, key: str) -> tuple[str, ...] | None:
    return tuple(map(str, arrays.pop(key))) if key in arrays else None


def _store(side: str, block: Any) -> Arrays:
    if block is None:
        return {}
    if not sparse.issparse(block):
        return {side: np.asarray(block)}
    rows = sparse.csr_array(block)
    parts = {part: getattr(rows, part) for part in _PARTS}
    return {f"{side}_{part}": value for part, value in parts.items()} | {
        f"{side}_shape": np.array(rows.shape)
    }
