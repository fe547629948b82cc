"""Multi-label ARFF files of MULAN and MEKA, dense and sparse."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import InvalidParameter
from ..dataset import DataSet
from .arff_rows import Header, as_label, read_header, read_rows
from .lines import numbered_lines, stem
from .xml_labels import read_label_names

__all__ = ["read_arff"]

_MEKA = re.compile(r"-C\s+(-?\d+)")


def read_arff(
    path: str | os.PathLike[str],
    labels: str | os.PathLike[str] | int | Sequence[str] | None = None,
) -> DataSet:
    """Read a multi-label ARFF file, plain or ``.gz``, dense or sparse.

    Parameters
    ----------
    path : path
        The file; ``.gz`` is unpacked.
    labels : path, int, sequence of str or None, default=None
        Which attributes are labels: MULAN's XML file, the number of them (the first ones,
        or the last ones if it is negative, as MEKA has it), or their names. None takes the
        XML file of the same name, or the number that MEKA writes into the relation's name.

    Returns
    -------
    DataSet
        X and Y in compressed rows if the file is sparse, otherwise plain arrays. A feature
        with listed values gets those numbers, or their places in the list where they are
        not all numbers. ``?`` becomes NaN in X and -1 (not known) in Y.

    See Also
    --------
    read_libsvm : Another format of multi-label data.
    read_npz : The format of the data sets here.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.datasets import read_arff
    >>> text = '''@relation 'notes: -C 2'
    ... @attribute sweet {0,1}
    ... @attribute round {0,1}
    ... @attribute weight numeric
    ... @data
    ... {0 1, 2 3.5}
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.arff"
    ...     _ = path.write_text(text)
    ...     data = read_arff(path)
    >>> data.label_names, data.X.toarray()
    (('sweet', 'round'), array([[3.5]]))
    """
    path = Path(path)
    lines = numbered_lines(path)
    header = read_header(path, lines)
    names = [attribute.name for attribute in header.attributes]
    labelled = _label_columns(path, header, labels)
    chosen = set(labelled)
    attributes = [
        as_label(path, attribute) if column in chosen else attribute
        for column, attribute in enumerate(header.attributes)
    ]
    block = read_rows(path, lines, attributes)
    features = [column for column in range(len(names)) if column not in chosen]
    Y = block[:, labelled]
    # NaN, which was a question mark, has no place among whole numbers.
    if sparse.issparse(Y):
        Y.data = np.nan_to_num(Y.data, nan=-1)
    return DataSet(
        stem(path),
        block[:, features],
        (Y if sparse.issparse(Y) else np.nan_to_num(Y, nan=-1)).astype(np.int8),
        feature_names=tuple(names[column] for column in features),
        label_names=tuple(names[column] for column in labelled),
        source=str(path),
    )


def _label_columns(path: Path, header: Header, labels: Any) -> list[int]:
    names = [attribute.name for attribute in header.attributes]
    if labels is None:
        listed = path.with_name(f"{stem(path)}.xml")
        counted = _MEKA.search(header.relation)
        if not listed.is_file() and counted is None:
            raise InvalidParameter(
                f"read_arff: there is no {listed.name} next to {path.name}, so labels must say "
                "which attributes are labels: an XML file, their number or their names."
            )
        labels = int(counted[1]) if counted and not listed.is_file() else listed
    if isinstance(labels, int):
        if not 0 < abs(labels) < len(names):
            raise InvalidParameter(
                f"read_arff: labels={labels} does not fit {path.name}, which has {len(names)} "
                "attributes; features must be left over."
            )
        everything = list(range(len(names)))
        return everything[:labels] if labels > 0 else everything[labels:]
    from_file = isinstance(labels, str | os.PathLike)
    wanted = read_label_names(labels) if from_file else list(labels)
    absent = [name for name in wanted if name not in names]
    if absent or len(set(wanted)) < len(wanted):
        what = f"has no attribute {absent[0]!r}" if absent else "cannot have a label twice"
        raise InvalidParameter(f"read_arff: {path.name} {what}; correct labels.")
    places = {name: place for place, name in enumerate(names)}
    return [places[name] for name in wanted]
