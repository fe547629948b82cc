"""Compress and adapt vectors of any model with labels: a linear map, compared before it is given.

:class:`Adapter` learns the map, :class:`AdapterReport` says what it gains, :func:`export_map`
writes it for other programs, and :class:`Quantizer` makes its vectors smaller still.
"""

from .adapter import Adapter
from .adapter_report import AdapterReport, HeldOutComparison
from .export import export_map, to_faiss, write_search_index
from .quantizer import Quantizer, QuantizerReport

__all__ = [
    "Adapter",
    "AdapterReport",
    "HeldOutComparison",
    "Quantizer",
    "QuantizerReport",
    "export_map",
    "to_faiss",
    "write_search_index",
]
