"""``labelspan serve`` and ``mcp``: an index in a browser, and for assistants."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._install import install_command, missing_for_app
from .shared import DEFAULT, IndexOption, check_index, counted, plain_errors

if TYPE_CHECKING:
    from ..web import Served

__all__ = ["mcp", "serve"]


def serve(  # noqa: PLR0917 - typer reads options from parameters
    index: IndexOption = DEFAULT,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 chooses a free one.", min=0, max=65535)
    ] = 8000,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Another host name of this server; repeat for several."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Allow no changes.")] = False,
    edit: Annotated[bool, typer.Option("--edit", hidden=True)] = False,
    who: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Your name, recorded with changes.")
    ] = "",
    token_file: Annotated[
        Path | None,
        typer.Option(help="A file with a token by which other programs may use /api/1/."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="With --token-file: an origin whose scripts may use /api/1/, such as that of a "
            "browser extension; repeat for several."
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="The file that was indexed, to download a corrected copy of it, if it is no "
            "longer where it was."
        ),
    ] = None,
    images: Annotated[
        bool,
        typer.Option(
            "--images",
            help="Show images that items link to; their servers then see what you look at.",
        ),
    ] = False,
    browser: Annotated[
        bool, typer.Option("--open", help="Open the explorer in a browser.")
    ] = False,
) -> None:
    """Explore an index in a browser: search, items, map, axes, labels and tags, also as JSON.

    Only this machine can connect unless you set --host; everyone who can connect can read the
    whole index. The printed URL contains a token that allows changes, reviews and teaching,
    unless --read-only is given. If there is no index yet, drop a file on the page to fit one.
    Press Ctrl-C to stop.

    For example:
      labelspan serve
      labelspan serve notes.labelspan --open
      labelspan serve notes.labelspan --as anna
      labelspan serve notes.labelspan --read-only
    """

    def started(address: str, served: Served | StartApp) -> None:
        if isinstance(served, StartApp):
            entrance = served.access.address(address)
            typer.echo(f"There is no index in {index} yet: drop a file at {entrance}", err=True)
            if browser:
                typer.launch(entrance)
            return
        with served.lease() as snapshot:
            count = len(snapshot.index)
        entrance = address if served.editing is None else served.editing.access.address(address)
        typer.echo(f"Serving {counted(count, 'item')} at {entrance} (Ctrl-C ends it)", err=True)
        if served.editing is None and not read_only:
            words = "Another process is writing to this index, so it cannot be changed here."
            typer.echo(words, err=True)
        if not is_loopback(host):
            typer.echo(f"Others on the network can read this index at {address}", err=True)
        if browser:
            typer.launch(entrance)

    with plain_errors():
        if index != DEFAULT:
            check_index(index)
        if edit:
            typer.echo("Note: --edit is not needed any more; see --read-only.", err=True)
        _check_installed("serve")
        # Imported here and below, so that --help does not wait for them.
        from ..web import serve as run  # noqa: PLC0415
        from ..web.server import is_loopback  # noqa: PLC0415
        from ..web.start_app import StartApp  # noqa: PLC0415

        # A page that takes a file is for those who sit at this machine.
        start = index == DEFAULT and is_loopback(host)
        if not start:
            check_index(index)
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        # Ctrl-C is the usual way to stop it.
        with suppress(KeyboardInterrupt):
            run(
                index,
                host=host,
                port=port,
                allow_hosts=allow_host or (),
                edit=not read_only,
                who=who,
                token_file=token_file,
                allow_origins=allow_origin or (),
                corpus=corpus,
                images=images,
                start=start,
                started=started,
            )


def mcp(index: IndexOption = DEFAULT) -> None:
    """Let an assistant search, read and tag with an index, using the Model Context Protocol.

    The assistant starts this command and communicates with it over standard input and output. Only
    answers to the assistant's requests leave this machine, and nothing is changed.

    For example, in the configuration of an assistant:
      {"mcpServers": {"notes": {"command": "labelspan", "args": ["mcp", "notes.labelspan"]}}}
    """
    with plain_errors():
        check_index(index)
        _check_installed("mcp")
        from ..web.mcp_server import answer_on_streams  # noqa: PLC0415

        answer_on_streams(index)


def _check_installed(command: str) -> None:
    """Raise an error if a package is missing that the explorer needs."""
    if missing := missing_for_app():
        from ..errors import MissingData  # noqa: PLC0415 - takes time

        raise MissingData(f"{command} needs {', '.join(missing)}; run {install_command('app')}.")
