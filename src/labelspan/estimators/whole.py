"""All of a fit, or nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["whole"]

F = TypeVar("F", bound=Callable[..., Any])


def whole(method: F) -> F:
    """A method that, where it fails or is stopped, leaves its estimator as it was.

    A fit takes long and may be refused late: what it has set until then would not go
    together with what an earlier fit has left.
    """

    @wraps(method)
    def ended(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **options)
        except BaseException:
            # In one step, for Ctrl-C may come a second time.
            self.__dict__ = before
            raise

    return cast(F, ended)
