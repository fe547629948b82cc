"""yahoo_arts: web pages that Yahoo listed under arts and humanities, and their sections.

7,484 pages x 23,146 words (counts), 26 labels, 1.7 a page. Sparse.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_yahoo_arts"]

CARD = Card(
    name="yahoo_arts",
    title="web pages on arts and humanities and their sections in a directory",
    n=7484,
    d=23146,
    k=26,
    task="labels",
    origin="Ueda and Saito; as in the MULAN collection, by way of mldr.datasets",
    terms="none stated",
    citation="N. Ueda, K. Saito. Parametric mixture models for multi-labeled text. "
    "NIPS 15, 721-728, 2002.",
    papers=("sun2009",),
    where="the MULAN collection (mulan.sourceforge.net), with read_arff and write_npz",
    file="yahoo_arts.npz",
    sha256="58bc5dbf3d5ad03e7be65204f2a4be7083fd26936729776c1cce4a73f2f0fc5c",
    remarks="sun2009 used 3,712 of the pages",
)


def load_yahoo_arts(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load yahoo_arts; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_yahoo_arts
    >>> load_yahoo_arts()  # doctest: +SKIP
    <DataSet yahoo_arts: 7,484 rows, 23,146 features, 26 labels>
    """
    return obtain(CARD, data_home, download=download)
