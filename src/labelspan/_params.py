"""Constraints on constructor parameters, checked once, at the start of ``fit``."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import InvalidParameter

__all__ = ["Boolean", "Constraint", "Either", "Integer", "Null", "OneOf", "Real", "check_params"]


class Constraint(Protocol):
    def accepts(self, value: Any) -> bool: ...

    def describe(self) -> str: ...


@dataclass(frozen=True)
class Null:
    """Accept only None."""

    def accepts(self, value: Any) -> bool:
        return value is None

    def describe(self) -> str:
        return "None"


@dataclass(frozen=True)
class Boolean:
    """Accept True and False."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool)

    def describe(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class OneOf:
    """Accept one of a few strings."""

    options: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def describe(self) -> str:
        names = ", ".join(repr(option) for option in self.options)
        return names if len(self.options) == 1 else f"one of {names}"


@dataclass(frozen=True)
class Integer:
    """Accept a whole number, ``low`` or more."""

    low: int

    def accepts(self, value: Any) -> bool:
        # Asking for the abstract class takes longer.
        whole = type(value) is int or (
            value is not None
            and isinstance(value, numbers.Integral)
            and not isinstance(value, bool)
        )
        return whole and value >= self.low

    def describe(self) -> str:
        return f"a whole number of at least {self.low}"


@dataclass(frozen=True)
class Real:
    """Accept a finite number from ``low`` to ``high``, both included."""

    low: float
    high: float = float("inf")

    def accepts(self, value: Any) -> bool:
        number = type(value) in {int, float} or (
            value is not None and isinstance(value, numbers.Real) and not isinstance(value, bool)
        )
        return number and self.low <= value <= self.high and abs(value) != float("inf")

    def describe(self) -> str:
        if self.high == float("inf"):
            return f"a number of at least {self.low:g}"
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Either:
    """Accept what any of its parts accepts."""

    parts: tuple[Constraint, ...]

    def accepts(self, value: Any) -> bool:
        # A loop takes half of the time of any().
        for part in self.parts:  # noqa: SIM110
            if part.accepts(value):
                return True
        return False

    def describe(self) -> str:
        return ", or ".join(part.describe() for part in self.parts)


def check_params(owner: str, params: Mapping[str, Any], table: Mapping[str, Constraint]) -> None:
    """Raise :class:`InvalidParameter` for the first parameter its constraint refuses."""
    for name, constraint in table.items():
        if not constraint.accepts(params[name]):
            raise InvalidParameter(
                f"{owner}: {name} must be {constraint.describe()}, but {params[name]!r} was given."
            )
