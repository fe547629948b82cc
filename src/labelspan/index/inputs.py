"""Check and convert the inputs of a fit: texts, labels, ids, metadata and data frames."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import (
    InvalidInput,
    InvalidLabels,
    InvalidParameter,
    LabelspanWarning,
    Mismatch,
    warn_caller,
)

__all__ = [
    "LabelLists",
    "as_names",
    "check_count",
    "did_you_mean",
    "label_name",
    "read_frame",
    "read_ids",
    "read_label_lists",
    "read_links",
    "read_metadata",
    "read_texts",
    "read_vectors",
    "several_texts",
]

# Longest id or label, in characters: the explorer has a page for each, and addresses are limited.
_LONGEST_NAME = 4000

# Separators that strings of several labels often have, and the fraction of the strings that must
# contain one of them.
_SEPARATORS, _OFTEN = (";", "|", ","), 0.1

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


def several_texts(query: Any, owner: str) -> tuple[list[str], bool]:
    """Return one text or several as a list, and whether a single text was given."""
    single = isinstance(query, str)
    texts = read_texts([query] if single else query, owner)
    if not texts:
        raise InvalidInput(f"{owner}: the list of texts is empty.")
    return texts, single


def read_label_lists(labels: Any, count: int, owner: str) -> LabelLists:
    """Read labels from lists of strings.

    Names are normalised (NFC), so that both spellings of an accented letter are one label.
    """
    if labels is None:
        return [None] * count
    if hasattr(labels, "to_list") or (isinstance(labels, np.ndarray) and labels.ndim == 1):
        # A Series or its values, in which NaN is a missing entry.
        labels = [None if _missing(one) else one for one in list(labels)]
    if isinstance(labels, str) or not isinstance(labels, Sequence):
        raise InvalidLabels(
            f"{owner}: labels must be a list with a list of strings for each item, or None if its "
            f"labels are unknown, but is of type {type(labels).__name__}."
        )
    _check_size(owner, "labels", labels, count)
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


def _check_size(owner: str, name: str, given: Sequence[Any], count: int) -> None:
    if len(given) != count:
        kind = InvalidLabels if name == "labels" else InvalidInput
        raise kind(
            f"{owner}: {name} must have one entry for each item; there are {count} items and "
            f"{len(given)} entries."
        )


def check_count(owner: str, name: str, value: Any) -> None:
    """Raise an error unless a value is a whole number of at least 1."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1:
        raise InvalidParameter(
            f"{owner}: {name} must be a whole number of at least 1, but {value!r} was given."
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


def read_ids(ids: Any, count: int, owner: str) -> list[str]:
    """Check ids: non-empty strings, all different, not too long."""
    found = list(ids)
    _check_size(owner, "ids", found, count)
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
    _check_size(owner, "metadata", found, count)
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


def read_links(links: Any, ids: Sequence[str], owner: str) -> list[dict[str, float]]:
    """Check links: for each item names of others, or a sparse matrix with a row and column each."""
    if sparse.issparse(links) or isinstance(links, np.ndarray):
        found = sparse.csr_matrix(links)
        if found.shape != (len(ids), len(ids)):
            raise InvalidInput(
                f"{owner}: links must be a matrix of {len(ids)} rows and columns, one for each "
                f"item, but has the shape {found.shape}."
            )
        found.sum_duplicates()
        bad = found.data[~(np.isfinite(found.data) & (found.data >= 0))]
        if bad.size:
            raise InvalidInput(
                f"{owner}: weights of links must be finite and at least 0, but one is {bad[0]}."
            )
        rows = np.repeat(np.arange(len(ids)), np.diff(found.indptr))
        lists: list[dict[str, float]] = [{} for _ in ids]
        for row, column, weight in zip(rows, found.indices, found.data.tolist(), strict=True):
            if weight:
                lists[row][ids[column]] = float(weight)
        return lists
    given = list(links)
    _check_size(owner, "links", given, len(ids))
    return [_link_weights(one, f"{owner}: links[{number}]") for number, one in enumerate(given)]


def _link_weights(given: Any, where: str) -> dict[str, float]:
    """Check the links of one item: names, or a dict with the weight of each."""
    if given is None:
        return {}
    several = isinstance(given, list | tuple | set | frozenset | Mapping)
    if not several or not all(isinstance(one, str) and one.strip() for one in given):
        raise InvalidInput(
            f"{where} must be a list of ids, or a dict with the weight of each, but {given!r:.80} "
            "was given."
        )
    weights = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given, 1.0)
    for name, weight in weights.items():
        number = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
        if not number or not np.isfinite(weight) or weight < 0:
            raise InvalidInput(
                f"{where}: weights of links must be finite and at least 0, but that of "
                f"{name!r:.60} is {weight!r:.40}."
            )
    _check_lengths(weights, where)
    return {name.strip(): float(weight) for name, weight in weights.items() if weight}


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


def read_vectors(vectors: Any, count: int, owner: str) -> Any:
    """Check vectors given with items: finite numbers, one row per item."""
    if vectors is None:
        raise Mismatch(
            f"{owner}: this index was fitted with vectors of its items; give those of the new "
            "ones, one row per item (vectors=, or --vectors FILE; vector in the API)."
        )
    try:
        found: Any = sparse.csr_matrix(vectors) if sparse.issparse(vectors) else np.asarray(vectors)
        if found.dtype not in (np.float32, np.float64):
            found = found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{owner}: vectors cannot be used: {error}") from error
    if found.ndim != 2 or not found.shape[1]:
        raise InvalidInput(
            f"{owner}: vectors must be an array of two dimensions, but its shape is {found.shape}."
        )
    if not np.isfinite(found.data if sparse.issparse(found) else found).all():
        raise InvalidInput(f"{owner}: vectors must be finite, but some are NaN or infinite.")
    if sparse.issparse(found) and not found.data.all():
        found = found.copy()
        found.eliminate_zeros()
    if found.shape[0] != count:
        raise InvalidInput(
            f"{owner}: vectors must have one row for each item; there are {count} items and "
            f"{found.shape[0]} rows."
        )
    return found


# --- data frames -----------------------------------------------------------------------------


def read_frame(
    frame: Any,
    *,
    text: str | Sequence[str],
    labels: str | None,
    id: str | None,
    separator: str | None,
) -> dict[str, Any]:
    """Read the inputs of a fit from the columns of a data frame; missing labels are unknown."""
    columns = {str(name): frame[name].to_list() for name in frame.columns}
    fields = [text] if isinstance(text, str) else list(text)
    for name in (*fields, *filter(None, (labels, id))):
        if name not in columns:
            raise InvalidParameter(
                f"from_frame: there is no column {name!r}; the columns are {', '.join(columns)}."
            )
    if labels is not None and separator is None:
        _warn_of_separators(columns[labels])
    parts = [["" if _missing(one) else str(one) for one in columns[name]] for name in fields]
    others = [name for name in columns if name not in {*fields, labels, id}]
    return {
        "texts": ["\n".join(filter(None, row)) for row in zip(*parts, strict=True)],
        "labels": labels and [_frame_labels(one, separator) for one in columns[labels]],
        "ids": id and [str(one) for one in columns[id]],
        "metadata": [
            {name: _plain(columns[name][n]) for name in others if not _missing(columns[name][n])}
            for n in range(len(parts[0]))
        ],
    }


def _warn_of_separators(values: Sequence[Any]) -> None:
    """Warn if many strings that are taken as one label look like several."""
    texts = [one for one in values if isinstance(one, str)]
    for separator in _SEPARATORS:
        several = [one for one in texts if separator in one]
        if len(several) >= max(2, _OFTEN * len(texts)):
            warn_caller(
                f"from_frame: {len(several)} of {len(texts)} labels contain {separator!r}, for "
                f"example {several[0]!r:.60}, and each is read as one label; if these are several, "
                f"give separator={separator!r}.",
                LabelspanWarning,
            )
            return


def _missing(value: Any) -> bool:
    # NaN and pandas' missing time are not equal to themselves.
    return value is None or (not isinstance(value, str | Iterable) and bool(value != value))  # noqa: PLR0124


def _frame_labels(value: Any, separator: str | None) -> list[str] | None:
    if _missing(value):
        return None
    if isinstance(value, str):
        parts = [value] if separator is None else value.split(separator)
        return [part.strip() for part in parts if part.strip()]
    return [str(one) for one in value] if isinstance(value, Iterable) else [str(value)]


def _plain(value: Any) -> Any:
    """Return a JSON value: numbers and texts unchanged, dates as text."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, str | int | bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
