"""Group rows by the labels that have a colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidLabels, InvalidParameter
from ..labels import Labels, read_labels
from .style import COLOURS, MARKERS, check_names

__all__ = ["OTHER", "UNLABELLED", "Groups", "group_rows"]

# Codes of rows that have none of the labels, and of rows whose labels are not known.
OTHER, UNLABELLED = -1, -2


@dataclass(frozen=True)
class Groups:
    """Rows grouped by the first of their labels that has a colour.

    ``codes`` are positions in ``names``, or ``OTHER`` or ``UNLABELLED``; ``rest`` describes the
    other rows for the legend.
    """

    codes: Array
    names: Array
    rest: str


def group_rows(owner: str, y: Any, n_rows: int, names: Any, labels: Any) -> Groups:
    """Read ``y``, and group the rows by the requested labels."""
    found = read_labels(y, n_rows, owner, part=True)
    if found.kind == "targets":
        raise InvalidLabels(
            f"{owner} takes classes or a 0/1 indicator, but y holds continuous targets; "
            "leave y out, or cut them into classes."
        )
    known = found.names if names is None else check_names(owner, "names", names, found.names.size)
    shown = _frequent(found) if labels is None else _asked(owner, known, labels)
    carried = found.values[:, shown] > 0
    codes = np.full(n_rows, OTHER)
    for place in reversed(range(shown.size)):
        codes[carried[:, place]] = place
    if found.unknown is not None:
        codes[found.unknown[:, shown].all(axis=1)] = UNLABELLED
    rest = "no label" if shown.size == known.size else "none of these"
    rest = "other classes" if found.kind == "classes" else rest
    return Groups(codes, known[shown], rest)


def _frequent(found: Labels) -> Array:
    """Return the columns of the most frequent labels, as many as there are colours."""
    counts = found.values.sum(axis=0)[: found.names.size]
    most = np.sort(np.argsort(-counts, kind="stable")[: len(COLOURS)])
    # The rarest first, or it would be hidden by labels it occurs with.
    return most if found.kind == "classes" else most[np.argsort(counts[most], kind="stable")]


def _asked(owner: str, known: Array, labels: Any) -> Array:
    wanted = [labels] if np.ndim(labels) == 0 else list(dict.fromkeys(labels))
    place = {str(name): column for column, name in enumerate(known)}
    for label in wanted:
        if str(label) not in place:
            raise InvalidParameter(
                f"{owner}: labels has {label!r}, which is not one of the {known.size} labels in y."
            )
    if not 1 <= len(wanted) <= len(COLOURS) * len(MARKERS):
        raise InvalidParameter(
            f"{owner}: labels must have from 1 to {len(COLOURS) * len(MARKERS)} entries, "
            f"but has {len(wanted)}."
        )
    return np.array([place[str(label)] for label in wanted])
