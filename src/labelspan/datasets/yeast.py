"""yeast: genes of baker's yeast, and the groups of functions they have.

2,417 genes x 103 features (microarray expressions and phylogenetic profiles), 14 labels,
4.2 a gene. Dense. Training and test part as published, 1,500 and 917.
"""

from __future__ import annotations

import numpy as np

from .dataset import Card, DataSet
from .obtain import Home, obtain
from .public import openml

__all__ = ["CARD", "load_yeast"]

CARD = Card(
    name="yeast",
    title="genes and the groups of functions they have",
    n=2417,
    d=103,
    k=14,
    task="labels",
    origin="Elisseeff and Weston; as in the MULAN collection, by way of mldr.datasets",
    terms="none stated",
    citation="A. Elisseeff, J. Weston. A kernel method for multi-labelled classification. "
    "NIPS 14, 681-687, 2001.",
    papers=("sun2009",),
    where="the MULAN collection (mulan.sourceforge.net), with read_arff and write_npz",
    file="yeast.npz",
    sha256="72bb1247088d51661ca7482276566e6413846a11bf5d5e7e0343e83dcfb76de0",
    public="OpenML 40597",
)


def load_yeast(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load yeast; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_yeast
    >>> load_yeast()  # doctest: +SKIP
    <DataSet yeast: 2,417 rows, 103 features, 14 labels>
    """
    return obtain(CARD, data_home, download=download, fetch=_fetch).dense()


def _fetch() -> DataSet:
    table = openml(CARD, 40597)
    return DataSet(
        "yeast",
        table.X.astype(np.float32),
        (table.target == "TRUE").astype(np.uint8),
        feature_names=table.feature_names,
        label_names=table.target_names,
    )
