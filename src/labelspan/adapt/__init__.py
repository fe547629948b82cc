"""Compress and adapt vectors of any model with labels: a linear map, compared before it is given.

:class:`Adapter` learns the map, :class:`AdapterReport` says what it gains.
"""

from .adapter import Adapter
from .adapter_report import AdapterReport, HeldOutComparison

__all__ = ["Adapter", "AdapterReport", "HeldOutComparison"]
