"""The command ``labelspan``: functions that parse, delegate and print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command; this is what the script ``labelspan`` calls.

    Ctrl-C during the imports ends it with the same message as later.
    """
    try:
        index = _index_for_assistant(sys.argv[1:])
        if index is not None:
            from ..web.mcp_server import answer_on_streams  # noqa: PLC0415

            answer_on_streams(index)
            return
        from .commands import app  # noqa: PLC0415

        app()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; nothing half-written is left.\n")
        # What a shell gives for a command that Ctrl-C ended.
        sys.exit(130)


def _index_for_assistant(arguments: list[str]) -> Path | None:
    """Return the index of ``labelspan mcp [INDEX]`` if there are no options and no errors.

    An assistant starts that command for each session and waits for it: the packages that parse
    options and print messages take several times as long to import as the rest of the handshake.
    """
    if arguments[:1] != ["mcp"] or len(arguments) > 2 or arguments[-1].startswith("-"):
        return None
    from .._install import missing_for_app  # noqa: PLC0415

    index = Path(*arguments[1:] or ["index.labelspan"])
    try:
        there = (index / "manifest.json").exists()
    except OSError:
        return None
    return index if there and not missing_for_app() else None


def __getattr__(name: str) -> Any:
    # Imported on first use, so that `main` is there before anything takes time.
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .commands import app  # noqa: PLC0415

    return app
