"""rcv1_full: newswire stories of Reuters, and their topics; the whole of RCV1-v2.

804,414 stories x 47,236 words, 103 labels, 3.2 a story. Sparse: logarithmic TF-IDF, rows of
length one, 60,915,113 nonzeros, kept in float32. The first 23,149 stories are the published
training part. scikit-learn's ``fetch_rcv1`` downloads it, some 650 MB.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .dataset import TEST, TRAIN, Card, DataSet
from .files import data_home as folder_of
from .obtain import Home, obtain
from .public import full_rcv1

__all__ = ["CARD", "load_rcv1_full"]

CARD = Card(
    name="rcv1_full",
    title="newswire stories and their topics, all",
    n=804414,
    d=47236,
    k=103,
    task="labels",
    origin="Reuters; corrected by Lewis and others",
    terms="the vectors are published for research; the texts need an agreement with NIST",
    citation="D. D. Lewis, Y. Yang, T. G. Rose, F. Li. RCV1: a new benchmark collection for "
    "text categorization research. JMLR 5, 361-397, 2004.",
    papers=("yu2005",),
    where="scikit-learn's fetch_rcv1",
    file="rcv1_full.npz",
    sha256=None,
    public="scikit-learn's fetch_rcv1",
    remarks="yu2005 had 3,588 stories with 79 topics and 5,496 words, and does not say which",
)
TRAINING = 23149


def load_rcv1_full(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load rcv1_full; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_rcv1_full
    >>> load_rcv1_full()  # doctest: +SKIP
    <DataSet rcv1_full: 804,414 rows, 47,236 features, 103 labels>
    """

    def fetch() -> DataSet:
        answer = full_rcv1(CARD, folder_of(data_home))
        return DataSet(
            CARD.name,
            sparse.csr_array(answer.data, dtype=np.float32),
            sparse.csr_array(answer.target, dtype=np.uint8),
            label_names=[str(name) for name in answer.target_names],
            split=np.where(np.arange(CARD.n) < TRAINING, TRAIN, TEST).astype(np.uint8),
            extra={"story": np.asarray(answer.sample_id)},
        )

    return obtain(CARD, data_home, download=download, fetch=fetch)
