"""Decisions and events of an index of format 5 or 6, as the log of one that is fitted again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from .history import By, Cell, Past, Row, as_value

__all__ = ["read_older"]

_ANSWERS = {"yes": "yes", "no": "no", "skip": "unsure"}
_ACTIONS = {"start": "answer", "save": "search", "replace": "metadata"}


class _Labels:
    """Numbers of labels; those that no item has get the next ones."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._numbers = {name: n for n, name in enumerate(names)}

    def number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]


def read_older(
    names: list[str], decisions: Iterable[Sequence[Any]], events: Sequence[Sequence[Any]]
) -> Past:
    """Return what is in effect of the decisions and events; what was undone is left out."""
    labels = _Labels(names)
    groups = [*_decisions(decisions, labels), *_events(events, labels)]
    return Past(labels.names, sorted(groups, key=lambda group: group[0]))


def _decisions(
    decisions: Iterable[Sequence[Any]], labels: _Labels
) -> list[tuple[str, By, list[Row]]]:
    groups: dict[int, tuple[str, By, list[Row]]] = {}
    for number, time, item, name, kind, decision, had, undone, who, action in decisions:
        if undone:
            continue
        rows = groups.setdefault(number, (time, By(who, action), []))[2]
        label, wanted = labels.number(name), int(kind == "missing")
        if decision == "accept" and had != wanted:
            rows.append((item, f"label {label}", as_value(int(had or 0)), as_value(wanted)))
            rows += [(item, "labels", "0", "1")] if had is None else []
        if action in ("review", "feedback"):
            says = {"accept": wanted, "reject": 1 - wanted}.get(decision, 2)
            answer = as_value([("no", "yes", "unsure")[says], "", ""])
            rows.append((item, f"verdict {label}", None, answer))
    return list(groups.values())


def _events(events: Sequence[Sequence[Any]], labels: _Labels) -> list[tuple[str, By, list[Row]]]:
    undone = {(one[0], int(one[5])) for one in events if one[4] == "undo"}
    present: dict[Cell, str | None] = {}
    groups = []
    for about, number, time, who, event, value in events:
        if (about, number) in undone or event in ("undo", "applied"):
            continue
        rows: list[Row] = []
        if event == "replace":
            table = json.loads(value)
            rows = [
                (item, f"metadata {table['field']}", as_value(old), as_value(table["after"][item]))
                for item, old in table["before"].items()
            ]
        else:
            cell, new = _cell(about, event, value, labels)
            rows = [(*cell, present.get(cell), new)]
            present[cell] = new
        groups.append((time, By(who, _ACTIONS.get(event, "answer")), rows))
    return groups


def _cell(about: str, event: str, value: Any, labels: _Labels) -> tuple[Cell, str | None]:
    """Return what an event of a lesson or of a saved search sets."""
    if event == "save":
        name, query = json.loads(value)
        return ("", f"search {name}"), as_value(query) if query else None
    label = labels.number(about.removeprefix("lesson "))
    if event == "start":
        start = json.loads(value)
        within = start.get("within")
        start["within"] = labels.number(within) if within else -1
        return ("", f"lesson {label}"), as_value(start)
    return (value, f"verdict {label}"), as_value([_ANSWERS[event], "", ""])
