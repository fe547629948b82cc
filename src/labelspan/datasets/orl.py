"""orl: faces of 40 people, ten each, taken over two years.

400 pictures x 1,024 pixels (32 x 32, from 0 to 255), 40 classes, counted from 1.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_orl"]

CARD = Card(
    name="orl",
    title="faces of 40 people",
    n=400,
    d=1024,
    k=40,
    task="classes",
    origin="Olivetti Research Laboratory; cut to 32 x 32 by Cai and others",
    terms="free with credit to AT&T Laboratories Cambridge",
    citation="F. S. Samaria, A. C. Harter. Parameterisation of a stochastic model for human "
    "face identification. IEEE Workshop on Applications of Computer Vision, 138-142, 1994.",
    papers=("wang2010",),
    where="Deng Cai's face data (ORL, 32 x 32)",
    file="orl.npz",
    sha256="c9fc14a42a5e0fb8d2e7d41bd44e61774451685f41385cf97be9d1a6d7fbed9e",
    remarks="scikit-learn's fetch_olivetti_faces has the same people at 64 x 64, cut in "
    "another way",
)


def load_orl(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load orl; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_orl
    >>> load_orl()  # doctest: +SKIP
    <DataSet orl: 400 rows, 1,024 features, 40 classes>
    """
    return obtain(CARD, data_home, download=download)
