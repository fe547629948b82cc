"""Compress model embeddings and adapt them to labels, by a linear map that is tested on held-out
rows.

:class:`Adapter` learns the map, :class:`AdapterReport` shows its gain, and :func:`export_map`
writes it for other programs.
"""

from .adapter import Adapter
from .adapter_report import AdapterReport
from .map_files import export_map, to_faiss

__all__ = ["Adapter", "AdapterReport", "export_map", "to_faiss"]
