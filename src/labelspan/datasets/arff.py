"""Multi-label ARFF files of MULAN and MEKA, dense and sparse, and MULAN's files of label names."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..corpus.formats import xml_elements
from ..corpus.sources import lines_of, open_source, open_text
from ..errors import InvalidFile, InvalidParameter
from .dataset import DataSet

__all__ = ["read_arff"]

_NUMERIC = ("numeric", "real", "integer")
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,]*)\s*,")
_ENTRY = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^,\s][^,]*)\s*(?:,|$)", re.ASCII)
_NAME = re.compile(rf"({_QUOTED}|[^\s{{]+)\s*(\S.*)")
_MEKA = re.compile(r"-C\s+(-?\d+)")
# How files write that a label is present or absent.
_TRUTH = {"1": 1, "0": 0, "true": 1, "false": 0}


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
    (member,) = open_source(path).members
    with open_text(member, None) as (text, _):
        lines = ((number, raw.strip()) for number, raw in enumerate(lines_of(text, member.name), 1))
        content = (one for one in lines if one[1] and not one[1].startswith("%"))
        relation, attributes = _read_header(path, content)
        names = [attribute.name for attribute in attributes]
        labelled = _label_columns(path, relation, names, labels)
        for column in labelled:
            attributes[column] = _as_label(path, attributes[column])
        block = _read_rows(path, content, attributes)
    features = sorted(set(range(len(names))) - set(labelled))
    Y = block[:, labelled]
    # NaN, which was a question mark, has no place among whole numbers.
    if sparse.issparse(Y):
        Y.data = np.nan_to_num(Y.data, nan=-1)
    return DataSet(
        path.name.partition(".")[0],
        block[:, features],
        (Y if sparse.issparse(Y) else np.nan_to_num(Y, nan=-1)).astype(np.int8),
        feature_names=tuple(names[column] for column in features),
        label_names=tuple(names[column] for column in labelled),
        source=str(path),
    )


def _label_columns(path: Path, relation: str, names: list[str], labels: Any) -> list[int]:
    if labels is None:
        listed = path.with_name(f"{path.name.partition('.')[0]}.xml")
        counted = _MEKA.search(relation)
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
    wanted = _label_names(labels) if isinstance(labels, str | os.PathLike) else list(labels)
    absent = [name for name in wanted if name not in names]
    if absent or len(set(wanted)) < len(wanted):
        what = f"has no attribute {absent[0]!r}" if absent else "cannot have a label twice"
        raise InvalidParameter(f"read_arff: {path.name} {what}; correct labels.")
    return [names.index(name) for name in wanted]


def _label_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the ``name`` of every ``label`` element of MULAN's XML file, in order."""
    (member,) = open_source(path).members
    found = [values.get("name") for tag, values in xml_elements(member) if tag == "label"]
    names = [name for name in found if name]
    if not names or len(names) < len(found):
        raise InvalidFile(
            f"{path} must name every label; MULAN writes <label name='...'/> for each."
        )
    return names


def _malformed(path: Path, line: int, what: str) -> InvalidFile:
    return InvalidFile(f"{path}, line {line}: {what}.")


@dataclass(frozen=True)
class _Attribute:
    """A column: its name, and the numbers of its values where these are listed."""

    name: str
    codes: dict[str, float] | None = None

    def read(self, value: str) -> float:
        """Convert a value to a number, or raise ``ValueError``."""
        if value == "?":
            return float("nan")
        try:
            return float(value) if self.codes is None else self.codes[value]
        except (KeyError, ValueError):
            raise ValueError(f"{value!r:.40} is not a value of {self.name!r}") from None

    @property
    def default(self) -> float:
        """What a sparse row means that leaves the attribute out: the first listed value."""
        return 0.0 if self.codes is None else next(iter(self.codes.values()))


def _read_header(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[str, list[_Attribute]]:
    """Read up to ``@data``: the relation, and the attributes."""
    relation = ""
    attributes: dict[str, _Attribute] = {}
    for number, line in lines:
        keyword, *rest = line.split(None, 1)
        match keyword.lower():
            case "@relation":
                relation = _plain("".join(rest))
            case "@attribute":
                attribute = _attribute(path, number, "".join(rest))
                if attribute.name in attributes:
                    raise _malformed(path, number, f"{attribute.name!r:.40} is declared twice")
                attributes[attribute.name] = attribute
            case "@data" if attributes:
                return relation, list(attributes.values())
            case _:
                raise _malformed(path, number, f"{line!r:.40} does not belong in an ARFF header")
    raise InvalidFile(f"{path} has no @data; it is not an ARFF file, or only a part of one.")


def _as_label(path: Path, attribute: _Attribute) -> _Attribute:
    """Return the attribute read as a label: present or absent."""
    values = ["0", "1", "0.0", "1.0"] if attribute.codes is None else list(attribute.codes)
    truth = {value: _TRUTH.get(value.lower().removesuffix(".0"), -1) for value in values}
    if min(truth.values()) < 0:
        raise InvalidFile(
            f"{path}: the label {attribute.name!r} has the values {', '.join(values):.60}, "
            "where 0 and 1 are needed."
        )
    return replace(attribute, codes={value: float(code) for value, code in truth.items()})


def _read_rows(path: Path, lines: Iterator[tuple[int, str]], attributes: list[_Attribute]) -> Any:
    """Return all columns: an array, or compressed rows if the file is sparse. NaN is not known."""
    data, indices, indptr = array("d"), array("q"), array("q", [0])
    braces = None
    for number, line in lines:
        if braces is None:
            braces = line[0] == "{"
            first = [attribute.name for attribute in attributes if braces and attribute.default]
            if first:
                what = f"sparse rows leave out the first value of {first[0]!r}, which is not 0"
                raise _malformed(path, number, f"{what}; write the file densely")
        if braces is not (line[0] == "{"):
            raise _malformed(path, number, "dense and sparse rows do not go together")
        try:
            row = _sparse_row(line) if braces else dict(enumerate(_split(line)))
            if (
                (max(row, default=0) >= len(attributes))
                if braces
                else (len(row) != len(attributes))
            ):
                found = f"place {max(row)}" if braces else f"{len(row)} values"
                raise ValueError(f"{found} in a file of {len(attributes)} attributes")
            data.extend(attributes[column].read(value) for column, value in row.items())
        except ValueError as error:
            raise _malformed(path, number, str(error)) from None
        indices.extend(row)
        indptr.append(len(data))
    shape = (len(indptr) - 1, len(attributes))
    if not braces:
        return np.array(data).reshape(shape)
    parts = (np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32))
    block = sparse.csr_array((np.array(data), *parts), shape=shape)
    block.sort_indices()
    block.eliminate_zeros()
    return block


def _attribute(path: Path, number: int, text: str) -> _Attribute:
    try:
        match = _NAME.fullmatch(text.strip())
        if match is None:
            raise ValueError("this @attribute has no name or no type")
        name, kind = _plain(match[1]), match[2]
        if kind.lower() in _NUMERIC:
            return _Attribute(name)
        if not (kind.startswith("{") and kind.endswith("}")):
            raise ValueError(f"attribute {name!r} has the type {kind!r:.20}, which is not numeric")
        values = _split(kind[1:-1])
    except ValueError as error:
        raise _malformed(path, number, str(error)) from None
    try:
        return _Attribute(name, {value: float(value) for value in values})
    except ValueError:
        return _Attribute(name, {value: float(place) for place, value in enumerate(values)})


def _sparse_row(line: str) -> dict[int, str]:
    if not line.endswith("}"):
        raise ValueError("this row does not end with a brace")
    inner, at = line[1:-1].rstrip(), 0
    row: dict[int, str] = {}
    while at < len(inner):
        match = _ENTRY.match(inner, at)
        if match is None:
            entry = inner[at:].partition(",")[0].strip()
            raise ValueError(f"{entry!r:.40} is not an index and a value")
        if int(match[1]) in row:
            raise ValueError(f"place {match[1]} is named twice")
        row[int(match[1])] = _plain(match[2])
        at = match.end()
    return row


def _split(text: str) -> list[str]:
    """Return the values between commas; quoted ones may hold commas."""
    if "'" not in text and '"' not in text:
        return [value.strip() for value in text.split(",")]
    # The comma makes the last value end as the others do.
    return [_plain(match[1]) for match in _VALUE.finditer(f"{text},")]


def _plain(word: str) -> str:
    """Remove the quotation marks of a word."""
    word = word.strip()
    if word[:1] not in ("'", '"'):
        return word
    if not re.fullmatch(_QUOTED, word):
        raise ValueError("a quotation mark is not closed")
    return re.sub(r"\\(.)", r"\1", word[1:-1])
