"""Readers for files of one's own: each gives a :class:`labelspan.datasets.DataSet`.

A line that cannot be read is named by its number in the error.
"""

from .arff import read_arff
from .csv_table import read_csv
from .jsonl import read_jsonl
from .libsvm import read_libsvm
from .parquet import read_parquet

__all__ = ["read_arff", "read_csv", "read_jsonl", "read_libsvm", "read_parquet"]
