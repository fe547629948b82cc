"""Data sets by name, and readers for your own files.

:func:`load` looks for a file in ``data_home`` (its argument, the environment variable
``LABELSPAN_DATA``, or the user's cache) and verifies it by sha256; if there is none, it uses a
public source, where scikit-learn or OpenML has the set.
"""

from .arff import read_arff
from .dataset import Card, DataSet
from .npz import read_npz, write_npz
from .registry import card, data_home, load, load_debtags, names

__all__ = [
    "Card",
    "DataSet",
    "card",
    "data_home",
    "load",
    "load_debtags",
    "names",
    "read_arff",
    "read_npz",
    "write_npz",
]
