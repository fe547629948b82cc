"""Conditions on the labels and metadata of items, and the mask of the rows that fulfil them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from .inputs import as_names, label_name

if TYPE_CHECKING:
    from .store import ItemStore

__all__ = ["Filter", "mask_rows"]

_LABELS = ("labels", "any_labels", "without")
_METADATA = ("metadata", "without_metadata")


@dataclass(frozen=True)
class Filter:
    """Condition on the labels and metadata of items.

    A label is a name, or the beginning of names: ``use::*`` stands for all labels that begin with
    ``use::``. In an index with a vocabulary it may be an alternative name, and ``graves*`` stands
    for the label graves and everything narrower.

    Attributes
    ----------
    labels : tuple of str
        An item must have all of them.
    any_labels : tuple of str
        An item must have at least one of them.
    without : tuple of str
        An item must have none of them.
    metadata : mapping
        For each key a value, a list of accepted values, a range ``{"from": low, "to": high}`` of
        numbers or dates with one or both of its ends, or a function of the value that returns
        True or False. A value is accepted as it is, or as a text: "2002" finds 2002. Dates may be
        years or months: ``{"to": "2010"}`` includes all of 2010.
    without_metadata : mapping
        An item must fulfil none of these conditions.

    See Also
    --------
    labelspan.SemanticIndex.search : Takes it.
    labelspan.SemanticIndex.browse : Takes it.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.index import Filter
    >>> texts = ["a chess game", "chess online", "edit photos", "crop pictures"]
    >>> labels = [["game"], ["game"], ["image"], ["image"]]
    >>> years = [{"year": 2001}, {"year": 2003}, {"year": 2005}, {"year": 2007}]
    >>> index = SemanticIndex().fit(texts, labels, metadata=years)
    >>> recent = Filter(any_labels=("game", "image"), metadata={"year": {"from": 2003}})
    >>> [hit.id for hit in index.search("chess", filter=recent)]
    ['1']
    """

    labels: tuple[str, ...] = ()
    any_labels: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    without_metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Filter | Mapping[str, Any] | None) -> Filter:
        """Make a filter from a dict with its fields; return a given filter unchanged."""
        if given is None or isinstance(given, Filter):
            return given or cls()
        names = {*_LABELS, *_METADATA}
        if not isinstance(given, Mapping) or not given.keys() <= names:
            raise InvalidInput(
                f"filter must be a Filter, or a dict with {', '.join(sorted(names))}, "
                f"but {given!r} was given."
            )
        for name in _METADATA:
            if not isinstance(given.get(name, {}), Mapping):
                raise InvalidInput(f"filter: {name} must be a dict, but {given[name]!r} was given.")
        labels: dict[str, Any] = {name: as_names(given.get(name, ())) for name in _LABELS}
        return cls(**labels, **{name: given.get(name, {}) for name in _METADATA})


def mask_rows(store: ItemStore, wanted: Filter, leave_out: Sequence[str] = ()) -> Array:
    """Mark the rows of the items that pass a filter, without some items."""
    mask = store.vectors.alive
    if wanted == Filter() and not leave_out:
        return mask
    mask = mask.copy()
    for label in wanted.labels:
        mask &= _having(store, [label])
    if wanted.any_labels:
        mask &= _having(store, wanted.any_labels)
    if wanted.without:
        mask &= ~_having(store, wanted.without)
    for key, choice in wanted.metadata.items():
        mask &= _described(store, key, choice)
    for key, choice in wanted.without_metadata.items():
        mask &= ~_described(store, key, choice)
    mask[store.rows(leave_out)] = False
    return mask


def _having(store: ItemStore, names: Sequence[str]) -> Array:
    """Mark the rows with one label of several, or with one that begins so or is narrower."""
    table = store.labels
    mask = np.zeros(store.vectors.alive.size, dtype=bool)
    for given in names:
        for one in _meant(store, given):
            mask[table.rows(one)] = True
    return mask


def _meant(store: ItemStore, given: Any) -> list[Any]:
    """Return the labels of items that a name in a filter stands for."""
    there, vocabulary, name = store.labels.totals, store.vocabulary, label_name(given)
    if not isinstance(name, str) or name in there:
        return [given]
    if vocabulary is not None and (found := vocabulary.preferred(name)) is not None:
        return [found]
    if not name.endswith("*"):
        return [name]
    begin = name[:-1]
    if vocabulary is not None and (top := vocabulary.preferred(begin)) is not None:
        below = [one for one in (top, *vocabulary.narrower(top)) if one in there]
        return below or [top]
    found_names = [one for one in there if one.startswith(begin)]
    if not found_names:
        raise InvalidInput(f"No item has a label that begins with {begin!r}.")
    return found_names


def _described(store: ItemStore, key: str, choice: Any) -> Array:
    fields = store.fields()
    if key not in fields:
        keys = ", ".join(fields) or "none"
        raise InvalidInput(f"No item has metadata {key!r}; the keys are: {keys}.")
    # The last entry stands for -1: rows without this key.
    accepted = np.append(fields[key].chosen(choice), False)
    return np.asarray(accepted[fields[key].codes])
