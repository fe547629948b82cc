"""pie: faces of 68 people, in five poses near the front, with other light and other looks.

11,554 pictures x 1,024 pixels (32 x 32, from 0 to 255), 68 classes, counted from 1. 170
pictures of each, but 164 of one.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_pie"]

CARD = Card(
    name="pie",
    title="faces of 68 people in five poses",
    n=11554,
    d=1024,
    k=68,
    task="classes",
    origin="Carnegie Mellon University; cut to 32 x 32 by Cai and others",
    terms="research, under an agreement with Carnegie Mellon University",
    citation="T. Sim, S. Baker, M. Bsat. The CMU pose, illumination, and expression database. "
    "IEEE PAMI 25(12), 1615-1618, 2003.",
    papers=("wang2010",),
    where="Deng Cai's face data (PIE, 32 x 32, poses C05 C07 C09 C27 C29)",
    file="pie.npz",
    sha256="bad084b7a5a48d88bf648b1c1695c3939e0c46c7efcd225c952dc75a2405c338",
    remarks="from a JPEG copy, so grey values differ a little from the original",
)


def load_pie(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load pie; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_pie
    >>> load_pie()  # doctest: +SKIP
    <DataSet pie: 11,554 rows, 1,024 features, 68 classes>
    """
    return obtain(CARD, data_home, download=download)
