"""Export an index for other programs: tables in files, and PostgreSQL with pgvector."""

from .item_file import export_file
from .postgresql import export_postgresql

__all__ = ["export_file", "export_postgresql"]
