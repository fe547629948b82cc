"""rcv1: newswire stories of Reuters, and their topics; a part of RCV1-v2.

27,695 stories x 47,236 words, 101 labels, 2.9 a story. Sparse: logarithmic TF-IDF, rows of
length one. The union of five public parts of 6,000 stories each, less the stories that came
twice; ``extra["subset"]`` tells the part. In the published files half of the rows have their
labels shifted into the columns of features; here they are repaired.

The whole of RCV1-v2 is :mod:`labelspan.datasets.rcv1_full`.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_rcv1"]

CARD = Card(
    name="rcv1",
    title="newswire stories and their topics, a part",
    n=27695,
    d=47236,
    k=101,
    task="labels",
    origin="Reuters; corrected by Lewis and others; the union of five parts of 6,000 stories "
    "from the MULAN collection, repaired",
    terms="the vectors are published for research; the texts need an agreement with NIST",
    citation="D. D. Lewis, Y. Yang, T. G. Rose, F. Li. RCV1: a new benchmark collection for "
    "text categorization research. JMLR 5, 361-397, 2004.",
    papers=("yu2005",),
    where="the parts rcv1 (subset 1 to 5) of the MULAN collection (mulan.sourceforge.net), "
    "repaired; rcv1_full has all stories",
    file="rcv1.npz",
    sha256="3fb09f93538b4571d364034eb69e955ead7258b5f89cc4c8db8ac5a6faf597b6",
    remarks="yu2005 had 3,588 stories with 79 topics and 5,496 words, and does not say which",
)


def load_rcv1(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load rcv1; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_rcv1
    >>> load_rcv1()  # doctest: +SKIP
    <DataSet rcv1: 27,695 rows, 47,236 features, 101 labels>
    """
    return obtain(CARD, data_home, download=download)
