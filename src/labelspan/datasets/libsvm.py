"""Multi-label libsvm files: ``3,7 12:0.5 40:1`` is a row with the labels 3 and 7."""

from __future__ import annotations

import io
import os
import re

import numpy as np
from scipy import sparse

from ..errors import InvalidFile
from .dataset import DataSet
from .lines import indicator, malformed, numbered_lines, stem

__all__ = ["read_libsvm"]

_HEADER = re.compile(r"\d+ \d+ \d+\s*")


def read_libsvm(
    path: str | os.PathLike[str], *, n_features: int | None = None, zero_based: bool | str = "auto"
) -> DataSet:
    r"""Read a multi-label libsvm (svmlight) file, also packed, with scikit-learn's reader.

    A first line of three counts (rows, features, labels), as in extreme classification, is
    understood; features are then counted from 0.

    Parameters
    ----------
    path : path
        The file; one packed by gzip, bzip2 or xz is unpacked.
    n_features : int or None, default=None
        The number of features; None takes it from the file.
    zero_based : bool or "auto", default="auto"
        Whether features are counted from 0; "auto" says so if a feature 0 occurs.

    Returns
    -------
    DataSet
        X and Y in CSR format; ``label_names`` are the numbers of the labels, in order.

    See Also
    --------
    read_arff : Another format of multi-label data.
    read_npz : The format of the data sets here.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.datasets import read_libsvm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.svm"
    ...     _ = path.write_text("3,7 1:0.5 4:1\n7 2:2\n")
    ...     data = read_libsvm(path)
    >>> data, data.label_names
    (<DataSet two: 2 rows, 4 features, 2 labels>, ('3', '7'))
    """
    lines = [line for _, line in numbered_lines(path)]
    names: list[str] | None = None
    header = bool(lines) and _HEADER.fullmatch(lines[0]) is not None
    if header:
        rows, n_features, count = map(int, lines[0].split())
        zero_based, names = True, [str(label) for label in range(count)]
    body = "".join(lines[int(header) :]).encode()
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415 - other files do without it

    try:
        X, labels = load_svmlight_file(
            io.BytesIO(body), n_features=n_features, multilabel=True, zero_based=zero_based
        )
    except ValueError as error:
        raise InvalidFile(f"{os.fspath(path)} is not a libsvm file: {error}.") from error
    if header and X.shape[0] != rows:
        raise malformed(path, 1, f"{rows} rows are announced, but {X.shape[0]} follow")
    if names is None:
        names = [_name(value) for value in sorted({value for row in labels for value in row})]
    found = [[_name(value) for value in row] for row in labels]
    strange = {name for row in found for name in row} - set(names)
    if strange:
        raise malformed(path, 1, f"{len(names)} labels are announced, but {min(strange)} occurs")
    Y, label_names = indicator(found, names)
    return DataSet(
        stem(path), sparse.csr_array(X), Y, label_names=label_names, source=os.fspath(path)
    )


def _name(value: float) -> str:
    return str(int(value)) if np.floor(value) == value else str(value)
