"""Conditions on the labels and metadata of items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidInput
from .inputs import as_names

__all__ = ["Filter"]


@dataclass(frozen=True)
class Filter:
    """Condition on the labels and metadata of items.

    Attributes
    ----------
    labels : tuple of str
        An item must have all of them.
    any_labels : tuple of str
        An item must have at least one of them.
    without : tuple of str
        An item must have none of them.
    metadata : mapping
        For each key a value, a list of accepted values, or a function of the value that
        returns True or False.

    See Also
    --------
    labelspan.SemanticIndex.search : Takes it.

    Examples
    --------
    >>> from labelspan.index import Filter
    >>> Filter(labels=("use::editing",), metadata={"section": ["sound", "video"]}).without
    ()
    """

    labels: tuple[str, ...] = ()
    any_labels: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Filter | Mapping[str, Any] | None) -> Filter:
        """Make a filter from a dict with its fields; return a given filter unchanged."""
        if given is None or isinstance(given, Filter):
            return given or cls()
        names = {"labels", "any_labels", "without", "metadata"}
        if not isinstance(given, Mapping) or not given.keys() <= names:
            raise InvalidInput(
                f"filter must be a Filter, or a dict with {', '.join(sorted(names))}, "
                f"but {given!r} was given."
            )
        tables = given.get("metadata", {})
        if not isinstance(tables, Mapping):
            raise InvalidInput(f"filter: metadata must be a dict, but {tables!r} was given.")
        parts = {name: as_names(given.get(name, ())) for name in names - {"metadata"}}
        return cls(**parts, metadata=tables)
