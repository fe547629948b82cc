"""Export an index for other programs: tables in files, and PostgreSQL with pgvector."""

from .item_table import ExportedItem, item_records, write_jsonl, write_parquet
from .postgresql import Exported, export_postgresql

__all__ = [
    "Exported",
    "ExportedItem",
    "export_postgresql",
    "item_records",
    "write_jsonl",
    "write_parquet",
]
