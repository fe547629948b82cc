"""emotions: pieces of music, and the emotions that listeners heard in them.

593 pieces x 72 features (rhythm and timbre), 6 labels, 1.9 a piece. Dense. The rows are
ordered by label: shuffle before a split, or take the published one, 391 and 202.
"""

from __future__ import annotations

import numpy as np

from .dataset import Card, DataSet
from .obtain import Home, obtain
from .public import openml

__all__ = ["CARD", "load_emotions"]

CARD = Card(
    name="emotions",
    title="pieces of music and the emotions heard in them",
    n=593,
    d=72,
    k=6,
    task="labels",
    origin="Trohidis and others; as in the MULAN collection, by way of mldr.datasets",
    terms="none stated; OpenML calls its copy public",
    citation="K. Trohidis, G. Tsoumakas, G. Kalliris, I. Vlahavas. Multi-label classification "
    "of music into emotions. ISMIR, 325-330, 2008.",
    papers=("wang2010",),
    where="the MULAN collection (mulan.sourceforge.net), with read_arff and write_npz",
    file="emotions.npz",
    sha256="a4250153f7b05dd7e94db811e0cde4728259252514200de6ca033230f36318a4",
    public="OpenML 40589",
    remarks="rows are ordered by label",
)


def load_emotions(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load emotions; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_emotions
    >>> load_emotions()  # doctest: +SKIP
    <DataSet emotions: 593 rows, 72 features, 6 labels>
    """
    return obtain(CARD, data_home, download=download, fetch=_fetch).dense()


def _fetch() -> DataSet:
    table = openml(CARD, 40589)
    return DataSet(
        "emotions",
        table.X.astype(np.float32),
        (table.target == "TRUE").astype(np.uint8),
        feature_names=table.feature_names,
        label_names=[name.replace(".", "-") for name in table.target_names],
    )
