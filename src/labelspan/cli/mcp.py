"""``labelspan mcp``: an index for assistants, over the Model Context Protocol."""

from __future__ import annotations

from .._install import install_command
from .shared import DEFAULT, IndexArgument, check_index, open_index, plain_errors

__all__ = ["mcp"]


def mcp(index: IndexArgument = DEFAULT) -> None:
    """Let an assistant search, read and tag with an index, using the Model Context Protocol.

    The assistant starts this command and communicates with it over standard input and output. Only
    answers to the assistant's requests leave this machine, and nothing is changed.

    For example, in the configuration of an assistant:

      {"mcpServers": {"notes": {"command": "labelspan", "args": ["mcp", "notes.labelspan"]}}}
    """
    with plain_errors():
        check_index(index)
        from ..errors import MissingData  # noqa: PLC0415

        try:
            from ..web.mcp_server import mcp_server  # noqa: PLC0415
        except ImportError as error:
            raise MissingData(
                "labelspan mcp needs the package mcp, which is not installed; "
                f"{install_command('mcp')}."
            ) from error
        with open_index(index) as opened:
            mcp_server(opened, index.stem).run("stdio")
