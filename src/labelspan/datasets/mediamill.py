"""mediamill: shots of news videos, and the concepts seen in them.

2,500 shots x 120 features, 101 labels, 4.4 a shot. Dense. A part of the 43,907 shots of the
MediaMill challenge.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_mediamill"]

CARD = Card(
    name="mediamill",
    title="shots of news videos and the concepts seen in them",
    n=2500,
    d=120,
    k=101,
    task="labels",
    origin="the MediaMill challenge, on videos of TRECVID 2005; a public part of its first "
    "experiment's training rows",
    terms="none stated",
    citation="C. G. M. Snoek, M. Worring, J. C. van Gemert, J.-M. Geusebroek, "
    "A. W. M. Smeulders. The challenge problem for automated detection of 101 semantic "
    "concepts in multimedia. ACM Multimedia, 421-430, 2006.",
    papers=("wang2010",),
    where="the MULAN collection (mulan.sourceforge.net), 2,500 rows of it",
    file="mediamill.npz",
    sha256="2323b3018c9f2fe62542b0965db420950b7ba06a24b0fb1ec0b469fff56f9e9a",
    remarks="stands in for wang2010's TRECVID 2005: the same videos, other features, a part "
    "of the rows",
)


def load_mediamill(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load mediamill; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_mediamill
    >>> load_mediamill()  # doctest: +SKIP
    <DataSet mediamill: 2,500 rows, 120 features, 101 labels>
    """
    return obtain(CARD, data_home, download=download).dense()
