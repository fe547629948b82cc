"""balance: the side to which a balance tips.

625 states x 4 numbers (weight and distance on either side, 1 to 5), 3 classes: left,
balanced, right.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain
from .public import class_codes, openml

__all__ = ["CARD", "load_balance"]

CARD = Card(
    name="balance",
    title="the side to which a balance tips",
    n=625,
    d=4,
    k=3,
    task="classes",
    origin="Siegler's experiments; by way of UCI (Balance Scale)",
    terms="CC BY 4.0 (UCI)",
    citation="R. S. Siegler. Three aspects of cognitive development. "
    "Cognitive Psychology 8(4), 481-520, 1976.",
    papers=("wang2010",),
    where="UCI (archive.ics.uci.edu, Balance Scale)",
    file="balance.npz",
    sha256="4c438ef4879f100fea4d77f03c8c813aab488a86bcfe8b3a16a39f7231e5dc05",
    public="OpenML 11",
)
SIDES = ("L", "B", "R")


def load_balance(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load balance; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_balance
    >>> load_balance()  # doctest: +SKIP
    <DataSet balance: 625 rows, 4 features, 3 classes>
    """
    return obtain(CARD, data_home, download=download, fetch=_fetch)


def _fetch() -> DataSet:
    table = openml(CARD, 11)
    return DataSet(
        "balance",
        table.X,
        y=class_codes(table.target, SIDES, "balance"),
        feature_names=table.feature_names,
        label_names=SIDES,
    )
