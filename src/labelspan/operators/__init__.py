"""Matrices defined by their products with thin blocks: dense, sparse, or composed of others."""

from .compositions import Product, Scaled
from .convert import as_operator
from .dense import Dense
from .operator import Centered, Operator, dottest
from .row_blocks import MemoryBlocks, RowBlocks
from .row_files import RowFiles, RowWriter
from .sparse import Sparse

__all__ = [
    "Centered",
    "Dense",
    "MemoryBlocks",
    "Operator",
    "Product",
    "RowBlocks",
    "RowFiles",
    "RowWriter",
    "Scaled",
    "Sparse",
    "as_operator",
    "dottest",
]
