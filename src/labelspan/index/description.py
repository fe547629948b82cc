"""Description of a saved index, from its manifest and items, without its fitted parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .folder import read_manifest

if TYPE_CHECKING:
    from .semantic import SemanticIndex

__all__ = ["IndexDescription", "describe"]


@dataclass(frozen=True)
class IndexDescription:
    """What an index is made of.

    Attributes
    ----------
    method : str
        Class of the estimator.
    parameters, values : mapping
        Its parameters, and what the fit has found apart from arrays.
    labelled : int
        Number of items with a label.
    metadata : list of str
        Keys of the items' metadata.
    """

    method: str
    parameters: Mapping[str, Any]
    values: Mapping[str, Any]
    labelled: int
    metadata: list[str]


def describe(index: SemanticIndex) -> IndexDescription:
    """Describe an index that was loaded from a folder."""
    assert index.path is not None
    estimator = read_manifest(index.path)["estimator"]
    store = index.store
    return IndexDescription(
        str(estimator["class"]),
        estimator["params"],
        estimator["values"],
        int((store.labels.counts > 0).sum()),
        list(store.fields()),
    )
