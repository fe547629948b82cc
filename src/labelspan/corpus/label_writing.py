"""Write labels into strings, lists and JSON, each as the labels there are written."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from unicodedata import normalize

from ..errors import InvalidInput
from .json_files import json_parts
from .label_values import (
    IN_ANGLES,
    IN_BRACKETS,
    LISTS_AS_TEXT,
    WIKI,
    WIKI_TAG,
    LabelParser,
    is_missing,
    name_key,
)

__all__ = ["Change", "LabelChange", "ValueChange", "check_labels", "new_value", "rewritten"]
__all__ += ["with_labels"]


@dataclass(frozen=True)
class LabelChange:
    """Labels to add to a field of an item, written like its others, and labels to remove.

    ``decode`` reads a label where it is not written as plain text.
    """

    how: LabelParser
    added: tuple[str, ...]
    removed: frozenset[str]
    decode: Callable[[str], str] = str

    def stays(self, written: str) -> bool:
        """Return whether a label stays that is written so; nothing does not."""
        name = normalize("NFC", self.how.name_of(self.decode(written)))
        names = {name, name.removesuffix(".")} if self.how.stops else {name}
        return bool(name) and names.isdisjoint(self.removed)

    def apply(
        self, parts: Sequence[str], added: Sequence[str], own: Sequence[str] = ()
    ) -> list[str]:
        """Return written labels in their order without those removed, and behind them the new.

        ``own`` has the labels in the parts, if these are more than the labels.
        """
        pairs = zip(parts, own or parts, strict=True)
        return [*(part for part, label in pairs if self.stays(label)), *added]


@dataclass(frozen=True)
class ValueChange:
    """Another value of a field of the metadata."""

    value: str


Change = LabelChange | ValueChange


def check_labels(labels: Iterable[str], fields: Mapping[str, Any]) -> None:
    """Raise an error for a label that the file of an index could not hold.

    Parameters
    ----------
    labels : iterable of str
        Labels that are typed.
    fields : mapping
        How the file was read, as in :attr:`SemanticIndex.corpus_fields`.
    """
    mark = fields.get("separator")
    if not mark or not isinstance(mark, str) or fields.get("why_not_writable"):
        return
    unfit = next((one for one in labels if mark in one), None)
    if unfit is not None:
        raise InvalidInput(
            f"The label {unfit!r:.60} has {mark!r} in it, which separates the labels of the file "
            "that the index was made of; choose another name."
        )


def rewritten(value: str, change: Change) -> str:
    """Return a string of labels with changes, written as before."""
    if isinstance(change, ValueChange):
        return _safe(change.value, value)
    how, added = change.how, change.added
    value = "" if is_missing(value) else value
    if how.column:
        return str(how.words[0 if added else 1])
    if how.mark:
        if unfit := next((one for one in added if how.mark in one), None):
            raise InvalidInput(
                f"The label {unfit!r:.60} has {how.mark!r} in it, which separates the labels of "
                "this file; choose another name."
            )
        # A list may begin and end with separators, or end with a full stop.
        inner = value.strip(f"{how.mark} ") if how.mark.strip() else value.strip()
        lead, _, end = value.partition(inner) if inner else ("", "", "")
        if how.stops and inner.endswith("."):
            inner, end = inner[:-1], f".{end}"
        parts = [part.strip() for part in inner.split(how.mark)]
        spaced = f"{how.mark} " in inner or (how.mark not in inner and how.spaced)
        joint = f"{how.mark} " if spaced and how.mark != " " else how.mark
        new = joint.join(change.apply(parts, added))
        return _safe(f"{lead}{new}{end}" if new else "", value)
    if how.how == WIKI:
        found = list(WIKI_TAG.finditer(value))
        pages = [f"[[{one}]]" if " " in one else one for one in added]
        parts = [one[0] for one in found]
        return " ".join(change.apply(parts, pages, [one[1] or one[0] for one in found]))
    if how.how == IN_BRACKETS:
        names = change.apply(IN_ANGLES.findall(value), added)
        return ("" if "><" in value else " ").join(f"<{one}>" for one in names)
    if how.how == LISTS_AS_TEXT:
        value = value.strip() or "[]"
        try:
            there = json.loads(value)
        except ValueError:
            return _python_list(value, change)
        dumps = partial(json.dumps, ensure_ascii="\\u" in value)
        return _with_elements(value, name_key(there), change, dumps) if there else dumps(added)
    names = [value, *added] if change.stays(value) else [*added]
    if len(names) > 1:
        raise InvalidInput(
            f"Each item of this file has one label, and {names[-1]!r:.60} cannot be added to "
            f"{names[0]!r:.60}; fit with --separator, which says how several labels are written."
        )
    return _safe(names[0], value) if names else ""


def _python_list(value: str, change: LabelChange) -> str:
    """Return a list that Python printed with changes; one without quotation marks gets them."""
    try:
        nodes = ast.parse(value, mode="eval").body.elts  # type: ignore[attr-defined]
        items = [ast.literal_eval(one) for one in nodes]
        inner = name_key(items)
    except (ValueError, SyntaxError, AttributeError, IndexError):
        return repr(change.apply(change.how(value) or [], change.added))
    parts = [ast.get_source_segment(value, node) or "" for node in nodes]
    own = [str(one[inner] if inner else one) for one in items]
    new = [repr({inner: one} if inner else one) for one in change.added]
    return value[0] + ", ".join(change.apply(parts, new, own)) + value[-1]


def _safe(new: str, old: str) -> str:
    """Return a cell, unless a spreadsheet would take it for a formula that the old one was not."""
    if new[:1] == "=" and old[:1] != "=":
        raise InvalidInput(
            f"{new!r:.60} would be a formula in a spreadsheet; choose another name for the label."
        )
    return new


def with_labels(text: str, name: str, change: Change) -> str:
    """Return a JSON object with changed labels; everything else is unchanged."""
    dumps = partial(json.dumps, ensure_ascii=text.isascii())
    for key, start, stop, value in json_parts(text, text.index("{")):
        inner = name.removeprefix(key).removeprefix(".")
        if key == name or (name.startswith(f"{key}.") and isinstance(value, dict | list)):
            if isinstance(change, ValueChange) and not isinstance(value, dict):
                if inner or not isinstance(value, str | None):
                    raise InvalidInput(
                        f"The values of {name!r} are not texts, and are not changed."
                    )
                new = dumps(change.value)
            elif isinstance(value, dict) and not inner:
                raise InvalidInput(f"Labels that are keys of {name!r} are not changed.")
            elif isinstance(value, dict):
                new = with_labels(text[start:stop], inner, change)
            elif isinstance(value, list) and value and isinstance(change, LabelChange):
                new = _with_elements(text[start:stop], inner, change, dumps)
            else:
                new = dumps(new_value(value, inner, change))
            return text[:start] + new + text[stop:]
    end = text.rindex("}")
    comma = "" if text[:end].rstrip().endswith("{") else ", "
    field = f"{dumps(name)}: {dumps(new_value(None, '', change))}"
    return f"{text[:end]}{comma}{field}{text[end:]}"


def new_value(value: Any, inner: str, change: Change) -> Any:
    """Return labels with changes; ``inner`` is the key of their names if they are objects."""
    if isinstance(change, ValueChange):
        return change.value
    if change.how.column:
        return change.how.words[0 if change.added else 1]
    if value == [] or (value is None and change.how.how == "lists"):
        return [{inner: one} if inner else one for one in change.added]
    return rewritten("" if value is None else str(value), change)


def _with_elements(raw: str, inner: str, change: LabelChange, dumps: Callable[[Any], str]) -> str:
    """Return a list of labels with changes; the elements that stay are written as before."""
    if "." in inner:
        raise InvalidInput(f"Labels in lists of objects below objects ({inner}) are not changed.")
    parts = list(json_parts(raw))
    own = [str(one.get(inner) if isinstance(one, dict) else one) for *_, one in parts]
    added = [dumps({inner: one} if inner else one) for one in change.added]
    lead, tail = raw[1 : parts[0][1]], raw[parts[-1][2] :]
    joint = raw[parts[0][2] : parts[1][1]] if len(parts) > 1 else f",{lead or ' '}"
    new = change.apply([raw[start:stop] for _, start, stop, _ in parts], added, own)
    return f"[{lead}{joint.join(new)}{tail}" if new else "[]"
