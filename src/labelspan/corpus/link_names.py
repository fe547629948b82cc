"""Links between items: values of fields that name other items, and links in the texts of notes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["LINKS", "LINK_MARK", "link_text", "link_values", "name_key"]

# The field of links that are given, come from a file of links, or stand in the texts.
LINKS = "links"
LINK_MARK = ";"
_ENDING = re.compile(r"\.(?:md|markdown|txt|html?)$")


def name_key(name: str) -> str:
    """Return a name as it is compared: without case, blanks, the ending of a file or a slash."""
    found = " ".join(name.split()).casefold()
    found = re.sub(r"^https?://(?:www\.)?", "//", found)
    if found.startswith("//"):
        found = found.partition("#")[0]
    return _ENDING.sub("", found.rstrip("/"))


def link_values(value: Any, mark: str = LINK_MARK) -> dict[str, float]:
    """Return the names in a value with their weights.

    A text has names with a mark between them, or is JSON: a list of names, or an object with the
    weight of each.

    Examples
    --------
    >>> from labelspan.corpus.link_names import link_values
    >>> link_values("a; b"), link_values('{"a": 0.5}')
    ({'a': 1.0, 'b': 1.0}, {'a': 0.5})
    """
    if value is None or isinstance(value, bool):
        return {}
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    if text[:1] in ("{", "["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            return dict.fromkeys(found, 1.0)
        if isinstance(found, dict) and all(map(_is_weight, found.values())):
            return {name: float(weight) for name, weight in found.items()}
    parts = (text.split() if mark == " " else text.split(mark)) if mark else [text]
    return {name: 1.0 for one in parts if (name := one.strip())}


def _is_weight(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0


def link_text(weights: Mapping[str, float]) -> str | None:
    """Return links as a value of the metadata, which :func:`link_values` reads; None without any.

    Examples
    --------
    >>> from labelspan.corpus.link_names import link_text
    >>> link_text({"a": 1, "b": 1}), link_text({"a": 0.5}), link_text({"x; y": 1})
    ('a; b', '{"a": 0.5}', '["x; y"]')
    """
    if not weights:
        return None
    plain = all(weight == 1 for weight in weights.values())
    text = f"{LINK_MARK} ".join(weights)
    if plain and [*link_values(text)] == [*weights]:
        return text
    return json.dumps([*weights] if plain else dict(weights), ensure_ascii=False)
