"""yale: faces of 15 people, eleven each, with other light and other looks.

165 pictures x 1,024 pixels (32 x 32, from 0 to 255), 15 classes, counted from 1.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_yale"]

CARD = Card(
    name="yale",
    title="faces of 15 people",
    n=165,
    d=1024,
    k=15,
    task="classes",
    origin="Yale University; cut to 32 x 32 by Cai and others",
    terms="not for commercial use",
    citation="P. N. Belhumeur, J. P. Hespanha, D. J. Kriegman. Eigenfaces vs. Fisherfaces: "
    "recognition using class specific linear projection. IEEE PAMI 19(7), 711-720, 1997.",
    papers=("wang2010",),
    where="Deng Cai's face data (Yale, 32 x 32)",
    file="yale.npz",
    sha256="ec668c2692eced5e894781889e0835c625b9980fdf053cfb598fe9a41b6aee94",
)


def load_yale(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load yale; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_yale
    >>> load_yale()  # doctest: +SKIP
    <DataSet yale: 165 rows, 1,024 features, 15 classes>
    """
    return obtain(CARD, data_home, download=download)
