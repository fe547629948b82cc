"""Optional packages, and the command that installs them from where labelspan was installed."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["install_command", "missing_for_app", "needed"]


def missing_for_app() -> list[str]:
    """Return the packages of the extra ``app`` that are not installed."""
    return [
        name for name in ("starlette", "uvicorn", "jinja2", "pydantic") if find_spec(name) is None
    ]


def needed(what: str, module: str, extra: str = "") -> Any:
    """Import a module; if it is missing, say what needs it, and the extra that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        from .errors import MissingData  # noqa: PLC0415 - takes time

        package = module.partition(".")[0]
        command = install_command(extra) if extra else f"pip install {package}"
        raise MissingData(f"{what} needs {package}, which is not installed; {command}.") from error


def install_command(extras: str) -> str:
    """Return the command that installs extras, such as ``"app"`` or ``"app,plot"``.

    A package index need not have labelspan: a clone that it was installed from is named by its
    folder.
    """
    # Only a message about what is missing needs these, which take long to import.
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415
    from urllib.parse import urlsplit  # noqa: PLC0415
    from urllib.request import url2pathname  # noqa: PLC0415

    source = "labelspan"
    try:
        origin = distribution("labelspan").read_text("direct_url.json")
    except PackageNotFoundError:
        origin = None
    if origin:
        url = urlsplit(json.loads(origin)["url"])
        source = url2pathname(url.path) if url.scheme == "file" else f"labelspan @ {url.geturl()}"
        if url.scheme != "file":
            return f"pip install '{source.replace(' @', f'[{extras}] @', 1)}'"
    return f"pip install '{source}[{extras}]'"
