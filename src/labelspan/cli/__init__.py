"""The command ``labelspan``: functions that parse, delegate and print."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command; this is what the script ``labelspan`` calls.

    Ctrl-C during the imports ends it with the same message as later.
    """
    try:
        from .commands import app  # noqa: PLC0415

        app()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; nothing half-written is left.\n")
        # What a shell gives for a command that Ctrl-C ended.
        sys.exit(130)


def __getattr__(name: str) -> Any:
    # Imported on first use, so that `main` is there before anything takes time.
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .commands import app  # noqa: PLC0415

    return app
