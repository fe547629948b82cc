"""Parameters of a request: the one place where input is read, checked and limited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl

from .http_errors import Refused

__all__ = [
    "LONGEST_ADDRESS",
    "LONGEST_BODY",
    "LONGEST_JSON",
    "LONGEST_NAME",
    "LONGEST_QUERY",
    "LONGEST_TEXT",
    "Parameter",
    "read_pairs",
    "read_parameters",
]

LONGEST_QUERY = 1000  # characters of a search
LONGEST_NAME = 4000  # characters of an id or a label
# Bytes of path and query string: enough for a name and a search in any script, because a
# percent-encoded character has at most 12 bytes.
LONGEST_ADDRESS = 60 << 10
LONGEST_BODY = 1 << 18  # bytes
LONGEST_JSON = 1 << 23  # bytes of a body that changes items
LONGEST_TEXT = 50_000  # characters of a text to tag
# Six that may be repeated 16 times, and the others.
_MOST_FIELDS = 128

Value = str | tuple[str, ...] | int
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Parameter:
    """A named input of a page: its kind, its limits, and its description.

    ``largest`` is the maximum number of characters of a text, or of each of several texts, or
    the largest integer; ``most`` is the maximum number of texts; ``pattern`` is a regular
    expression that a text must match.
    """

    name: str
    kind: Literal["text", "texts", "whole"]
    about: str
    default: Value | None = None
    largest: int = LONGEST_NAME
    smallest: int = 0
    most: int = 16
    pattern: str = ""

    @property
    def required(self) -> bool:
        """Return whether a request without it is refused."""
        return self.default is None

    def read(self, given: list[str]) -> Value:
        """Convert and check the values that came under this name."""
        if self.kind == "texts":
            if len(given) > self.most:
                raise Refused(400, f"{self.name}: at most {self.most} can be given at once.")
            return tuple(self._text(one) for one in given)
        if len(given) > 1:
            raise Refused(400, f"{self.name}: give it once, not {len(given)} times.")
        if self.kind == "text":
            return self._text(given[0])
        return self._whole(given[0])

    def _text(self, given: str) -> str:
        if len(given) > self.largest:
            raise Refused(
                400,
                f"{self.name}: at most {self.largest:,} characters can be given, "
                f"but {len(given):,} came.",
            )
        if self.pattern and not re.fullmatch(self.pattern, given, re.ASCII):
            raise Refused(400, f"{self.name}: this is not valid. {self.about}")
        return given

    def _whole(self, given: str) -> int:
        # int() also accepts other digits, signs and underscores.
        plain = given.isascii() and given.isdigit() and len(given) < 10
        if not plain or not self.smallest <= int(given) <= self.largest:
            wanted = f"a whole number from {self.smallest} to {self.largest} is needed."
            raise Refused(400, f"{self.name}: {wanted}")
        return int(given)


def read_parameters(known: Sequence[Parameter], pairs: Pairs) -> dict[str, Any]:
    """Return the values of a page's parameters; unknown, missing or too large ones are refused.

    Examples
    --------
    >>> from labelspan.web.parameters import Parameter, read_parameters
    >>> known = [Parameter("q", "text", "The text."), Parameter("k", "whole", "Number.", 10)]
    >>> read_parameters(known, [("q", "chess")])
    {'q': 'chess', 'k': 10}
    """
    by_name: Mapping[str, Parameter] = {one.name: one for one in known}
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        if name not in by_name:
            names = ", ".join(by_name) or "none"
            raise Refused(400, f"There is no parameter {name[:50]!r} here; there are: {names}.")
        given.setdefault(name, []).append(value)
    values: dict[str, Any] = {}
    for name, parameter in by_name.items():
        if name in given:
            values[name] = parameter.read(given[name])
        elif parameter.default is None:
            raise Refused(400, f"{name}: it is missing. {parameter.about}")
        else:
            values[name] = parameter.default
    return values


def read_pairs(data: bytes, what: str = "The address") -> Pairs:
    """Return the pairs in the query string of an address, or in a form."""
    try:
        return parse_qsl(
            data.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except UnicodeDecodeError:
        raise Refused(400, f"{what} must be percent-encoded UTF-8.") from None
    except ValueError:
        raise Refused(400, f"{what} has more than {_MOST_FIELDS} fields.") from None
