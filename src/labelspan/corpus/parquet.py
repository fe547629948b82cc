"""Parquet tables, read by pyarrow, which is optional."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._files import read_bytes
from .._install import install_command
from ..errors import InvalidFile, InvalidInput
from .sources import Member

__all__ = ["arrow_errors", "open_table", "parquet_rows"]

_BATCH = 1000


@contextmanager
def arrow_errors(name: str | os.PathLike[str]) -> Iterator[tuple[Any, Any]]:
    """Yield pyarrow and its parquet module; their errors are reported as a damaged file."""
    try:
        import pyarrow as arrow  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise InvalidInput(
            f"A parquet file needs pyarrow, which is not installed; {install_command('io')}."
        ) from error
    try:
        yield arrow, parquet
    except (arrow.ArrowException, OSError) as error:
        raise InvalidFile(
            f"{os.fspath(name)} is damaged or not a parquet file ({error}); get it again."
        ) from error


def open_table(path: str | os.PathLike[str]) -> Any:
    """Return a pyarrow table from a file."""
    content = read_bytes(Path(path))
    with arrow_errors(path) as (arrow, parquet):
        return parquet.read_table(arrow.BufferReader(content))


def parquet_rows(member: Member) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, a thousand in memory at a time."""
    with (
        arrow_errors(member.name) as (_, parquet),
        tempfile.TemporaryFile() as copy,
        member.whole() as file,
    ):
        source: Any = file
        if not isinstance(file, io.BufferedReader):
            # Parquet is read from its end, and a packed file only from its beginning.
            shutil.copyfileobj(file, copy, 1 << 20)
            source = copy
        with parquet.ParquetFile(source) as table:
            for batch in table.iter_batches(batch_size=_BATCH):
                yield from batch.to_pylist()
