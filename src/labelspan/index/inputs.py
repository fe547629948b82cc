"""Check and convert the arguments of ``fit`` and ``add``: texts, labels, ids and metadata."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._params import Integer
from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, InvalidParameter

__all__ = [
    "LabelLists",
    "as_names",
    "check_count",
    "did_you_mean",
    "indicator",
    "label_name",
    "read_ids",
    "read_label_lists",
    "read_metadata",
    "read_texts",
]

# Longest id or label, in characters: the explorer has a page for each, and addresses are limited.
_LONGEST_NAME = 4000

# For each item its labels, sorted and without repeats; None if they are unknown.
LabelLists = list[tuple[str, ...] | None]


def read_texts(texts: Any, owner: str) -> list[str]:
    """Check texts and return them as a list of strings that can be written as UTF-8."""
    if isinstance(texts, str | bytes) or not hasattr(texts, "__iter__"):
        raise InvalidInput(f"{owner}: texts must be a list of strings; put one text in a list.")
    found = list(texts)
    for number, text in enumerate(found):
        if not isinstance(text, str):
            raise InvalidInput(
                f"{owner}: texts[{number}] is of type {type(text).__name__}; give a string, "
                "'' if there is no text."
            )
        if not _writable(text):
            raise InvalidInput(
                f"{owner}: texts[{number}] has an unpaired surrogate, which is not a character; "
                "decode the text with errors='replace'."
            )
    return [str(text) for text in found]


def read_label_lists(labels: Any, names: Any, count: int, owner: str) -> LabelLists:
    """Read labels from lists of strings, or from an indicator and the names of its columns.

    Names are normalised (NFC), so that both spellings of an accented letter are one label.
    """
    if labels is None:
        return [None] * count
    if isinstance(labels, str):
        raise InvalidLabels(f"{owner}: labels must hold a list of strings for each item.")
    if names is not None or not isinstance(labels, Sequence):
        return _from_indicator(labels, names, count, owner)
    if len(labels) != count:
        raise InvalidLabels(
            f"{owner}: labels must have one entry for each item; there are {count} items and "
            f"{len(labels)} entries."
        )
    found: LabelLists = []
    for number, entry in enumerate(labels):
        if entry is None:
            found.append(None)
            continue
        if isinstance(entry, str) or not hasattr(entry, "__iter__"):
            raise InvalidLabels(
                f"{owner}: labels[{number}] must be a list of strings, or None if the "
                f"labels are unknown, but {entry!r} was given."
            )
        own = list(entry)
        if not all(isinstance(label, str) and label and _writable(label) for label in own):
            raise InvalidLabels(
                f"{owner}: labels[{number}] must be a list of non-empty strings, but is {own!r}."
            )
        names = {label_name(label) for label in own}
        _check_lengths(names, f"{owner}: labels[{number}]")
        found.append(tuple(sorted(names)))
    return found


def _from_indicator(values: Any, names: Any, count: int, owner: str) -> LabelLists:
    from ..labels import read_labels  # noqa: PLC0415 - with scikit-learn, which searches do without

    table = read_labels(values, count, owner, part=True)
    if names is None:
        if table.names.dtype.kind not in "OUT":
            raise InvalidLabels(
                f"{owner}: labels as an indicator need label_names, one name per column."
            )
        names = table.names
    names = [label_name(str(name)) for name in names]
    _check_lengths(names, f"{owner}: label_names")
    if table.kind != "indicator":
        raise InvalidLabels(
            f"{owner}: labels with label_names must be an indicator of 0 and 1 with two columns "
            "or more; otherwise give lists of strings."
        )
    if len(names) != table.values.shape[1] or len(set(names)) < len(names):
        raise InvalidLabels(
            f"{owner}: label_names must be {table.values.shape[1]} different names, one for each "
            f"column of labels, but {len(names)} were given."
        )
    known = table.labelled
    if table.unknown is not None and table.unknown[known].any():
        raise InvalidLabels(
            f"{owner}: labels has rows with single unknown entries; mark whole rows as unknown."
        )
    return [
        tuple(sorted(names[j] for j in np.flatnonzero(row))) if known[i] else None
        for i, row in enumerate(table.values)
    ]


def check_count(owner: str, name: str, value: Any) -> None:
    """Raise an error unless a value is a whole number of at least 1."""
    if not Integer(1).accepts(value):
        raise InvalidParameter(
            f"{owner}: {name} must be {Integer(1).describe()}, but {value!r} was given."
        )


def as_names(given: Any) -> tuple[str, ...]:
    """Convert one name, or several, to a tuple."""
    if isinstance(given, str):
        return (given,)
    if given is None:
        return ()
    if not isinstance(given, Iterable):
        raise InvalidInput(f"A name or a list of names is needed, but {given!r} was given.")
    return tuple(given)


def label_name(label: Any) -> Any:
    """Normalise the name of a label (NFC); anything but a string is returned unchanged."""
    return unicodedata.normalize("NFC", label) if isinstance(label, str) else label


def did_you_mean(name: Any, names: Iterable[str]) -> str:
    """End a sentence about an unknown name, with a question if similar names exist."""
    similar = difflib.get_close_matches(str(name), names, n=3)
    return f"; did you mean {', '.join(map(repr, similar))}?" if similar else "."


def indicator(lists: LabelLists, names: Sequence[str]) -> Array:
    """Build a 0/1 indicator with one column per name; rows of unknown labels are NaN."""
    column = {name: j for j, name in enumerate(names)}
    out = np.zeros((len(lists), len(names)), dtype=np.float32)
    for row, labels in enumerate(lists):
        if labels is None:
            out[row] = np.nan
        else:
            out[row, [column[label] for label in labels]] = 1.0
    return out


def read_ids(ids: Any, count: int, owner: str) -> list[str]:
    """Check ids: non-empty strings, all different, not too long."""
    found = list(ids)
    if len(found) != count:
        raise InvalidInput(
            f"{owner}: ids must have one entry for each item; there are {count} items and "
            f"{len(found)} ids."
        )
    seen: set[str] = set()
    for number, name in enumerate(found):
        if not isinstance(name, str) or not name or not _writable(name):
            raise InvalidInput(
                f"{owner}: ids[{number}] must be a non-empty string, but {name!r} was given."
            )
        _check_lengths([name], f"{owner}: ids[{number}]")
        if name in seen:
            raise InvalidInput(f"{owner}: the id {name!r} occurs twice; ids must be different.")
        seen.add(name)
    return [str(name) for name in found]


def read_metadata(metadata: Any, count: int, owner: str) -> list[dict[str, Any]]:
    """Check metadata: a dict of plain values for each item."""
    if metadata is None:
        return [{} for _ in range(count)]
    found = list(metadata)
    if len(found) != count:
        raise InvalidInput(
            f"{owner}: metadata must have one entry for each item; there are {count} items and "
            f"{len(found)} entries."
        )
    return [_flat(entry, number, owner) for number, entry in enumerate(found)]


def _flat(entry: Any, number: int, owner: str) -> dict[str, Any]:
    if entry is None:
        return {}
    if not isinstance(entry, Mapping):
        raise InvalidInput(f"{owner}: metadata[{number}] must be a dict, but {entry!r} was given.")
    for key, value in entry.items():
        plain = value is None or isinstance(value, str | bool | int | float)
        number_like = isinstance(value, float) and not np.isfinite(value)
        if not isinstance(key, str) or not plain or number_like:
            raise InvalidInput(
                f"{owner}: metadata[{number}] has {key!r}: {value!r}; keys must be strings, and "
                "values strings, finite numbers, booleans or None."
            )
        if not _writable(key) or (isinstance(value, str) and not _writable(value)):
            raise InvalidInput(
                f"{owner}: metadata[{number}] has an unpaired surrogate, which is not a "
                f"character, in {key!r}; decode it with errors='replace'."
            )
    return dict(entry)


def _check_lengths(names: Iterable[str], where: str) -> None:
    for name in names:
        if len(name) > _LONGEST_NAME:
            raise InvalidInput(
                f"{where} has a name of {len(name):,} characters ({name[:40]!r} ...), and at most "
                f"{_LONGEST_NAME:,} are allowed; give shorter names."
            )


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
