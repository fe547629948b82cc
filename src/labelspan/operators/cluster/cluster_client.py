"""Connection to a Dask cluster by the address of its scheduler, with short time limits."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from ..._install import install_command
from ...errors import InvalidInput, InvalidParameter, LostWorkers, Mismatch

__all__ = ["cluster_client"]

_PACKAGE = "labelspan"
# Time limit in seconds for an answer of the scheduler, and for a first worker to appear.
_PATIENCE = 5.0
_LOOK = 0.25
_ADDRESS = re.compile(r"((tcp|tls|ws|wss)://)?[^\s/]+:\d+")


@contextmanager
def cluster_client(address: str) -> Iterator[Any]:
    """Connect to the cluster at an address for a ``with`` block, with Dask's logs silenced.

    Checks that the cluster has workers, and that they have the same version of labelspan.

    Parameters
    ----------
    address : str
        Address of the scheduler, as it prints it: ``tcp://host:8786`` or ``host:8786``.

    Yields
    ------
    client : distributed.Client
        Closed at the end of the block.

    Raises
    ------
    LostWorkers
        If no scheduler answers within five seconds, or it has no workers by then.
    Mismatch
        If a worker has another version of labelspan, or does not have it.

    Examples
    --------
    >>> from labelspan.operators.cluster.cluster_client import cluster_client  # doctest: +SKIP
    >>> from labelspan.operators.cluster import row_blocks_of  # doctest: +SKIP
    >>> with cluster_client("tcp://scheduler:8786") as client:  # doctest: +SKIP
    ...     model = MLSI(100).fit(row_blocks_of(client, X), Y)
    """
    if not _ADDRESS.fullmatch(address):
        raise InvalidParameter(
            f"A scheduler has an address like tcp://host:8786, but {address!r} was given; "
            "'dask scheduler' prints its own."
        )
    try:
        from distributed import Client  # noqa: PLC0415 - optional
    except ImportError:
        raise InvalidInput(
            f"The cluster at {address} needs dask.distributed; {install_command('dask')}."
        ) from None
    with _silent():
        _await_workers(address)
        with Client(address, timeout=_PATIENCE, set_as_default=False) as client:
            _check_versions(client)
            yield client


def _await_workers(address: str) -> None:
    """Check that a scheduler answers and has workers.

    A Dask client is not enough for this: it waits forever for a server that accepts the
    connection and sends nothing.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            found = asyncio.run(asyncio.wait_for(_identity(address), _PATIENCE))
        except OSError as error:
            raise LostWorkers(
                f"No scheduler answers at {address} within {_PATIENCE:g} s; start one with 'dask "
                "scheduler', and check that the address is the one it prints."
            ) from error
        # The answer of another kind of server can fail to parse in many ways.
        except Exception as error:
            raise InvalidInput(
                f"The server at {address} is not a Dask scheduler, or one of another version; "
                "'dask scheduler' prints its own address."
            ) from error
        if found.get("type") != "Scheduler":
            raise InvalidInput(
                f"The server at {address} is a {found.get('type')}, not a scheduler; use the "
                "address that 'dask scheduler' prints."
            )
        if found.get("workers"):
            return
        if time.monotonic() > end:
            raise LostWorkers(
                f"The scheduler at {address} has no workers; start some, for example with "
                f"'dask worker {address}'."
            )
        time.sleep(_LOOK)


async def _identity(address: str) -> Any:
    from distributed import rpc  # noqa: PLC0415 - optional
    from distributed.security import Security  # noqa: PLC0415

    # Keys and certificates come from Dask's configuration, as for a client.
    arguments = Security().get_connection_args("client")
    async with rpc(address, timeout=_PATIENCE, connection_args=arguments) as scheduler:
        return await scheduler.identity()


def _check_versions(client: Any) -> None:
    """Check that all workers have this version: tasks refer to functions of this package."""
    own = metadata.version(_PACKAGE)
    found = client.run(metadata.version, _PACKAGE, on_error="return")
    for worker, version in sorted(found.items()):
        if version != own:
            other = version if isinstance(version, str) else "none"
            raise Mismatch(
                f"The worker {worker} has labelspan {other}, and here is {own}; on every worker, "
                f"pip install 'labelspan[dask]=={own}'."
            )


@contextmanager
def _silent() -> Iterator[None]:
    """Disable Dask's loggers; problems are raised as errors."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in ("distributed", *names)]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, state in zip(loggers, before, strict=True):
            logger.disabled = state
