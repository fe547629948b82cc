"""Multi-label ARFF files of MULAN, MEKA and Clus, dense and sparse, and ARFF of texts."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..corpus.sources import lines_of, open_source, open_text
from ..corpus.xml_records import xml_elements
from ..errors import InvalidFile, InvalidParameter
from .dataset import DataSet

__all__ = ["arff_records", "read_arff"]

_NUMERIC = ("numeric", "real", "integer")
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# A value of a dense row, and a place with its value in a sparse one.
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,]*)\s*,")
_ENTRY = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^,\s][^,]*)\s*(?:,|$)", re.ASCII)
_NAME = re.compile(rf"({_QUOTED}|[^\s{{]+)\s*(\S.*)")
_MEKA = re.compile(r"-C\s+(-?\d+)")
# How files write that a label is present or absent.
_TRUTH = {"1": 1.0, "0": 0.0, "true": 1.0, "false": 0.0}
# Attributes by name, with the numbers of their values where these are listed.
Codes = dict[str, float] | None
Attributes = dict[str, Codes]
# The numbers of the classes of Clus, which stand in a tree; a row may have several.
_TREE = "hierarchical"


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
        XML file of the same name, the number that MEKA writes into the relation's name, or the
        attribute of the type ``hierarchical`` of Clus: the classes of a row and those above them.

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
    rows: Iterator[str]
    with open_text(member, None) as (text, _):
        lines = _Lines(lines_of(text, member.name))
        try:
            relation, attributes, tree = _read_header(lines)
            names = list(attributes)
            if tree is not None and labels is None:
                classes = _classes(attributes.pop(tree) or {})
                place, width = names.index(tree), len(names)
                rows = (_without_class(line, place, width, classes) for line in lines)
                attributes |= {name: {"0": 0.0, "1": 1.0} for name in classes}
                names = list(attributes)
                labelled = list(range(width - 1, len(names)))
            else:
                rows = iter(lines)
                labelled = _label_columns(path, relation, names, labels)
            for name in (names[column] for column in labelled):
                attributes[name] = _label_codes(name, attributes[name])
            block = _read_rows(rows, attributes)
        except _MalformedError as error:
            raise InvalidFile(f"{path}, line {lines.number}: {error}.") from None
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


def _classes(listed: dict[str, float]) -> dict[str, int]:
    """Return the numbers of the classes of a tree and of those above them, by their paths."""
    paths = (one.removeprefix("root/").split("/") for one in listed if one != "root")
    every = {"/".join(path[: n + 1]): None for path in paths for n in range(len(path))}
    return {name: place for place, name in enumerate(every)}


def _without_class(line: str, place: int, width: int, classes: dict[str, int]) -> str:
    """Return a dense row with a column of 0 and 1 per class instead of their paths."""
    values = _split(line)
    if line[0] == "{" or len(values) != width:
        raise _MalformedError(f"{len(values)} values in a file of {width} attributes")
    own = set()
    for path in values.pop(place).split("@"):
        parts = path.removeprefix("root/").split("/")
        own |= {"/".join(parts[: n + 1]) for n in range(len(parts))}
    unknown = own - classes.keys() - {"root", "?"}
    if unknown:
        raise _MalformedError(f"the class {min(unknown)!r:.40} is not listed in the header")
    return ",".join([*values, *(str(int(name in own)) for name in classes)])


def arff_records(name: str, lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of an ARFF file by line and attribute, as texts; classes of Clus are lists."""
    rows = _Lines(lines)
    try:
        _, attributes, tree = _read_header(rows, texts=True)
        columns = list(attributes)
        for line in rows:
            if line[0] == "{":
                given = _sparse_row(line)
                if given and not 0 <= max(given) < len(columns):
                    raise _MalformedError(
                        f"column {max(given)} in a file of {len(columns)} attributes"
                    )
                sparse_row = {columns[n]: value for n, value in given.items()}
                zeros = {one: "0" for one, codes in attributes.items() if codes and "0" in codes}
                row: dict[str, Any] = {**zeros, **sparse_row}
            else:
                row = dict(zip(columns, _split(line), strict=False))
            if tree is not None and tree in row:
                row[tree] = [one.removeprefix("root/") for one in row[tree].split("@")]
            yield rows.number, {key: None if one == "?" else one for key, one in row.items()}
    except _MalformedError as error:
        raise InvalidFile(f"{name}, line {rows.number}: {error}.") from None


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
    outer = xml_elements(member, lambda name, _: name == "label")
    found = [one.get("name") for element in outer for one in element.iter("label")]
    names = [name for name in found if name]
    if not names or len(names) < len(found):
        raise InvalidFile(
            f"{path} must name every label; MULAN writes <label name='...'/> for each."
        )
    return names


class _MalformedError(Exception):
    """What is wrong with a line."""


class _Lines:
    """Lines that are neither empty nor comments, and the number of the last one."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines, self.number = enumerate(map(str.strip, lines), 1), 0

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            self.number = number
            if line and not line.startswith("%"):
                yield line


def _read_header(
    lines: Iterable[str], *, texts: bool = False
) -> tuple[str, Attributes, str | None]:
    """Read up to ``@data``: the relation, the attributes, and the one of classes in a tree."""
    relation, tree = "", None
    attributes: Attributes = {}
    for line in lines:
        keyword, *rest = line.split(None, 1)
        match keyword.lower():
            case "@relation":
                relation = _plain("".join(rest))
            case "@attribute":
                name, codes, is_tree = _attribute("".join(rest), texts=texts)
                if name in attributes:
                    raise _MalformedError(f"{name!r:.40} is declared twice")
                attributes[name] = codes
                tree = name if is_tree else tree
            case "@data" if attributes:
                return relation, attributes, tree
            case _:
                raise _MalformedError(f"{line!r:.40} does not belong in an ARFF header")
    raise _MalformedError("the file has no @data; it is not an ARFF file, or only a part of one")


def _attribute(text: str, *, texts: bool) -> tuple[str, Codes, bool]:
    match = _NAME.fullmatch(text.strip())
    if match is None:
        raise _MalformedError("this @attribute has no name or no type")
    name, kind = _plain(match[1]), match[2]
    first = kind.split()[0].lower()
    if first in _NUMERIC or (texts and first in ("string", "date")):
        return name, None, False
    if first == _TREE:
        listed = kind.split(None, 1)[1] if len(kind.split()) > 1 else ""
        return name, {one.strip(): 0.0 for one in listed.split(",") if one.strip()}, True
    if not (kind.startswith("{") and kind.endswith("}")):
        raise _MalformedError(f"attribute {name!r} has the type {kind!r:.20}, which is not numeric")
    values = _split(kind[1:-1])
    try:
        return name, {value: float(value) for value in values}, False
    except ValueError:
        return name, {value: float(place) for place, value in enumerate(values)}, False


def _label_codes(name: str, codes: dict[str, float] | None) -> dict[str, float]:
    """Return the numbers of the values of a label: present or absent."""
    values = ["0", "1", "0.0", "1.0"] if codes is None else list(codes)
    truth = {value: _TRUTH.get(value.lower().removesuffix(".0")) for value in values}
    if None in truth.values():
        shown = ", ".join(values)
        raise _MalformedError(
            f"the label {name!r} has the values {shown:.60}, where 0 and 1 are needed"
        )
    return {value: code for value, code in truth.items() if code is not None}


def _read_rows(lines: Iterable[str], attributes: Attributes) -> Any:
    """Return all columns: an array, or compressed rows if the file is sparse. NaN is not known."""
    data, indices, indptr = array("d"), array("q"), array("q", [0])
    columns = list(attributes.items())
    first = next((name for name, codes in columns if codes and next(iter(codes.values()))), None)
    braces = None
    for line in lines:
        braces = line[0] == "{" if braces is None else braces
        if braces is not (line[0] == "{"):
            raise _MalformedError("dense and sparse rows do not go together")
        if braces and first is not None:
            raise _MalformedError(
                f"sparse rows leave out the first value of {first!r}, which is not 0; write the "
                "file densely"
            )
        row = _sparse_row(line) if braces else dict(enumerate(_split(line)))
        if max(row, default=0) >= len(columns) or (not braces and len(row) < len(columns)):
            found = f"place {max(row)}" if braces else f"{len(row)} values"
            raise _MalformedError(f"{found} in a file of {len(columns)} attributes")
        data.extend(_number(value, *columns[column]) for column, value in row.items())
        indices.extend(row)
        indptr.append(len(data))
    shape = (len(indptr) - 1, len(columns))
    if not braces:
        return np.array(data).reshape(shape)
    parts = (np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32))
    block = sparse.csr_array((np.array(data), *parts), shape=shape)
    block.sort_indices()
    block.eliminate_zeros()
    return block


def _number(value: str, name: str, codes: dict[str, float] | None) -> float:
    if value == "?":
        return float("nan")
    try:
        return float(value) if codes is None else codes[value]
    except (KeyError, ValueError):
        raise _MalformedError(f"{value!r:.40} is not a value of {name!r}") from None


def _sparse_row(line: str) -> dict[int, str]:
    if not line.endswith("}"):
        raise _MalformedError("this row does not end with a brace")
    inner, at = line[1:-1].rstrip(), 0
    row: dict[int, str] = {}
    while at < len(inner):
        match = _ENTRY.match(inner, at)
        if match is None:
            entry = inner[at:].partition(",")[0].strip()
            raise _MalformedError(f"{entry!r:.40} is not an index and a value")
        if int(match[1]) in row:
            raise _MalformedError(f"place {match[1]} is named twice")
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
        raise _MalformedError("a quotation mark is not closed")
    return re.sub(r"\\(.)", r"\1", word[1:-1])
