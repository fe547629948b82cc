"""Export an index for other programs: tables in files, labels in SKOS, and PostgreSQL."""

from .item_file import export_file
from .onnx_converter import register_onnx
from .postgresql import export_postgresql
from .skos_file import export_skos

__all__ = ["export_file", "export_postgresql", "export_skos", "register_onnx"]
