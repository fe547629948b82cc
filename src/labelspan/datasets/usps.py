"""usps: digits from envelopes, as grey pictures.

9,298 pictures x 256 pixels (16 x 16, from 0 to 1), 10 classes. Training and test part as
published, 7,291 and 2,007.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain
from .public import class_codes, openml

__all__ = ["CARD", "load_usps"]

CARD = Card(
    name="usps",
    title="digits from envelopes",
    n=9298,
    d=256,
    k=10,
    task="classes",
    origin="Hull, for the US Postal Service; normalised by AT&T Research",
    terms="none stated",
    citation="J. J. Hull. A database for handwritten text recognition research. "
    "IEEE PAMI 16(5), 550-554, 1994.",
    papers=("sun2009",),
    where="the libsvm collection (www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets)",
    file="usps.npz",
    sha256="f7ecc6e068eec622b473fb28fa3d83e97f13688bc7bd785d6457a7afc9539a5e",
    public="OpenML 41082",
    remarks="OpenML's copy does not tell training and test part apart",
)


def load_usps(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load usps; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_usps
    >>> load_usps()  # doctest: +SKIP
    <DataSet usps: 9,298 rows, 256 features, 10 classes>
    """
    return obtain(CARD, data_home, download=download, fetch=_fetch)


def _fetch() -> DataSet:
    table = openml(CARD, 41082)
    # There pixels go from -1 to 1, and classes are counted from 1.
    return DataSet(
        "usps",
        (table.X + 1) / 2,
        y=class_codes(table.target, [str(digit + 1) for digit in range(10)], "usps"),
    )
