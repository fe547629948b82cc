"""Files as programs export them, each with what a right reading is; no library writes them.

A shape has files, the parts of the text of each item, what may not be in any text, and the labels
of each item: None where nothing in the file is a label. ``verdict`` compares a reading with it.
"""

import csv
import io
import json
import random
import re
from dataclasses import dataclass
from typing import Any

from labelspan.corpus import CorpusReader
from labelspan.errors import LabelspanError

COUNT = 40
_WORDS = [
    "river",
    "bridge",
    "harbour",
    "winter",
    "letter",
    "painting",
    "soldier",
    "garden",
    "market",
    "engine",
    "teacher",
    "village",
    "morning",
    "colour",
    "island",
    "doctor",
    "museum",
    "railway",
    "forest",
    "window",
    "kitchen",
    "council",
    "theatre",
    "mountain",
    "bread",
    "glass",
    "horse",
    "paper",
    "silver",
    "stone",
    "summer",
    "voice",
    "street",
    "music",
    "field",
    "story",
    "light",
    "water",
]
_GLUE = [
    "of",
    "the",
    "and",
    "in",
    "with",
    "near",
    "under",
    "after",
    "before",
    "for",
    "from",
    "beside",
    "about",
    "without",
]
_TAGS = ["history", "travel", "food", "science", "art", "sport"]
_FIRST = ["Ann", "Boris", "Chiara", "Dmitri", "Elif", "Fatima"]
_LAST = ["Lee", "Novak", "Rossi", "Ivanov", "Demir", "Haddad"]


def _random(seed):
    return random.Random(seed)


def sentence(seed, n_words):
    draw = _random(seed)
    words = [draw.choice(_WORDS if n % 2 == 0 else _GLUE) for n in range(n_words)]
    return " ".join(["The", *words]) + "."


def prose(n, sentences=3):
    return " ".join(sentence(f"prose {n} {part}", 11) for part in range(sentences))


def heading(n):
    draw = _random(f"title {n}")
    return f"{draw.choice(_WORDS).title()} {draw.choice(_GLUE)} the {draw.choice(_WORDS)} {n}"


def tags(n):
    return sorted(_random(f"tags {n}").sample(_TAGS, 1 + n % 3))


def person(n):
    return f"{_FIRST[n % 6]} {_LAST[n * 5 % 6]}"


def day(n):
    return f"20{10 + n % 12}-{1 + n % 12:02}-{1 + n % 28:02}"


def hexes(n, size=24):
    return f"{_random(f'hex {n}').getrandbits(4 * size):0{size}x}"


ROWS = range(COUNT)
TITLES, BODIES, TAGS = [heading(n) for n in ROWS], [prose(n) for n in ROWS], [tags(n) for n in ROWS]
DAYS, PEOPLE = [day(n) for n in ROWS], [person(n) for n in ROWS]
NOTES = [sentence(f"note {n}", 9) for n in ROWS]


@dataclass
class Shape:
    """Files by name, and the right reading."""

    files: Any
    texts: Any = ()
    labels: Any = None
    avoid: Any = ()
    refused: str = ""
    # How many items there are.
    count: int = COUNT


def table(columns, delimiter=",", head=(), **how):
    out = io.StringIO()
    cells = [own if isinstance(own, list) else [own] * COUNT for own in columns.values()]
    rows = zip(*cells, strict=True)
    csv.writer(out, delimiter=delimiter, lineterminator="\n", **how).writerows(
        [*head, list(columns), *rows]
    )
    return out.getvalue()


def cycle(*values):
    return [values[n % len(values)] for n in ROWS]


def some(values, every=2, empty=""):
    return [value if n % every == 0 else empty for n, value in enumerate(values)]


def joined(mark, own=None):
    return [mark.join(one) for one in (own or TAGS)]


def objects(template):
    return [template(n) for n in ROWS]


def json_lines(template):
    return "\n".join(json.dumps(template(n), ensure_ascii=False) for n in ROWS) + "\n"


def json_list(template):
    return json.dumps(objects(template), ensure_ascii=False, indent=1)


def verdict(path, shape):
    """Return "right", "refused", "said" or "wrong", and why."""
    try:
        reader = CorpusReader(path)
        found = reader.collect()
    except LabelspanError as error:
        fits = shape.refused and re.search(shape.refused, str(error))
        return ("right", "") if fits else ("refused", str(error))
    if shape.refused:
        return "wrong", f"read, with labels {found.labels[:2]}"
    unsure = set(dict(reader.reading.get("unsure") or {}))
    problems = {}
    if "labels" in unsure and shape.labels is not None:
        # Rows of one item with a label each are joined by their labels.
        unsure.add("rows")
    if len(found) != shape.count:
        problems["rows"] = f"{len(found)} items for {shape.count}"
    else:
        for own, parts in zip(found.texts, zip(*shape.texts, strict=False), strict=False):
            lacking = [part for part in parts if part and part not in own]
            strange = [part for part in shape.avoid if part in own]
            if lacking or strange:
                problems["text"] = f"{own!r:.80} lacks {lacking!r:.60} has {strange!r:.60}"
                break
        wanted = [None] * COUNT if shape.labels is None else shape.labels
        for own, right in zip(found.labels, wanted, strict=True):
            if sorted(own or ()) != sorted(right or ()):
                problems["labels"] = f"{own!r:.80} for {right!r:.60}"
                break
        if shape.labels is not None and not reader.reading["labels"] and not found.n_labelled:
            # The report says that there are none.
            unsure.add("labels")
    if not problems:
        return "right", ""
    why = "; ".join(f"{role}: {what}" for role, what in problems.items())
    return ("said" if problems.keys() <= unsure else "wrong"), why
