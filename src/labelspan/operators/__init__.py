"""Matrices defined by their products with thin blocks: dense, sparse, or composed of others."""

from .compositions import Product, Scaled
from .convert import as_operator
from .operator import Operator, dottest
from .row_blocks import MemoryBlocks, RowBlocks
from .row_files import RowFiles, RowWriter

__all__ = [
    "MemoryBlocks",
    "Operator",
    "Product",
    "RowBlocks",
    "RowFiles",
    "RowWriter",
    "Scaled",
    "as_operator",
    "dottest",
]
