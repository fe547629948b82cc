"""yahoo_science: web pages that Yahoo listed under science, and their sections.

6,428 pages x 37,187 words (counts), 40 labels, 1.4 a page. Sparse.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_yahoo_science"]

CARD = Card(
    name="yahoo_science",
    title="web pages on science and their sections in a directory",
    n=6428,
    d=37187,
    k=40,
    task="labels",
    origin="Ueda and Saito; as in the MULAN collection, by way of mldr.datasets",
    terms="none stated",
    citation="N. Ueda, K. Saito. Parametric mixture models for multi-labeled text. "
    "NIPS 15, 721-728, 2002.",
    papers=("wang2010",),
    where="the MULAN collection (mulan.sourceforge.net), with read_arff and write_npz",
    file="yahoo_science.npz",
    sha256="9d38bb03c5149cb3394fbeafef110ed23fb2be1eaa84693c0facf0c811918b8a",
    remarks="wang2010 had 6,345 pages with 22 labels",
)


def load_yahoo_science(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load yahoo_science; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_yahoo_science
    >>> load_yahoo_science()  # doctest: +SKIP
    <DataSet yahoo_science: 6,428 rows, 37,187 features, 40 labels>
    """
    return obtain(CARD, data_home, download=download)
