"""Matrices known by their products with thin blocks: dense, sparse, and made of others."""

from .base import Operator
from .compose import Centered, HStack, RowSubset, Scaled
from .convert import as_operator, column_names, dense_block
from .dense import Dense
from .dottest import dottest
from .sparse import Sparse

__all__ = [
    "Centered",
    "Dense",
    "HStack",
    "Operator",
    "RowSubset",
    "Scaled",
    "Sparse",
    "as_operator",
    "column_names",
    "dense_block",
    "dottest",
]
