"""A backend for Annif: subjects for texts by the tagger of a labelspan index.

Annif has a fixed table of backends. :func:`register` adds this one to it, and the command
``annif-labelspan`` is ``annif`` after that.
"""

from __future__ import annotations

from typing import Any

__all__ = ["main", "register"]


def _backend() -> Any:
    from .backend import LabelspanBackend  # noqa: PLC0415 - as Annif does, when it is asked for

    return LabelspanBackend


def register() -> None:
    """Add the backend ``labelspan`` to Annif's table."""
    from annif import backend  # noqa: PLC0415

    backend._backend_fns["labelspan"] = _backend


def main() -> None:
    """Run Annif's command with the backend."""
    register()
    from annif.cli import cli  # noqa: PLC0415

    cli()
