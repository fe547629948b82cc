"""Types shared by the whole package."""

from __future__ import annotations

import sys
from typing import Any

from numpy.typing import NDArray

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic, which describes answers, takes no other there; it comes with typer
    from typing_extensions import TypedDict

__all__ = ["Array", "TypedDict"]

Array = NDArray[Any]
