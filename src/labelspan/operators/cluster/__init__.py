"""Rows held by the workers of a Dask cluster."""

from .cluster_operator import RowBlocks, row_blocks, row_blocks_of

__all__ = ["RowBlocks", "row_blocks", "row_blocks_of"]
