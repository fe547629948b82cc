"""Numbers beyond what their width holds: one sentence instead of infinity."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from ..errors import InvalidInput
from ..operators import Operator

__all__ = ["refuse_large_squares", "refuse_overflow"]

F = TypeVar("F", bound=Callable[..., Any])


def refuse_overflow(method: F) -> F:
    """A method that raises :class:`InvalidInput` where numpy would warn and go on with infinity."""

    @wraps(method)
    def refusing(self: Any, *args: Any, **options: Any) -> Any:
        try:
            with np.errstate(over="raise"):
                return method(self, *args, **options)
        # Sparse products overflow without a word; the eigensolver then meets infinity.
        except (FloatingPointError, np.linalg.LinAlgError):
            raise InvalidInput(
                f"{type(self).__name__}: X or y holds numbers that are too large or too small "
                "to calculate with; rescale them, say with scikit-learn's StandardScaler, and "
                "give float64 where they are float32."
            ) from None

    return cast(F, refusing)


def refuse_large_squares(X: Operator) -> None:
    """For what compares rows, inside a method that refuses: squared distances must be finite.

    A search among infinite ones finds nothing, or fails in its own words.
    """
    if not np.isfinite(4.0 * X.sum_of_squares()):
        raise FloatingPointError
