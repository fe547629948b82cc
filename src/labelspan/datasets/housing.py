"""housing: parts of Boston, and what houses cost there.

506 parts of the town x 13 features, 3 classes: the price, ``extra["price"]``, cut into three
classes of equal count. One feature, B, was made from the share of black people on an
assumption that deserves no trust; scikit-learn gave the set up for it.
"""

from __future__ import annotations

import numpy as np

from .dataset import Card, DataSet
from .obtain import Home, obtain
from .public import openml

__all__ = ["CARD", "load_housing"]

CARD = Card(
    name="housing",
    title="parts of a town and what houses cost there",
    n=506,
    d=13,
    k=3,
    task="classes",
    origin="Harrison and Rubinfeld; from StatLib",
    terms="none stated",
    citation="D. Harrison, D. L. Rubinfeld. Hedonic housing prices and the demand for clean "
    "air. Journal of Environmental Economics and Management 5(1), 81-102, 1978.",
    papers=("wang2010",),
    where="StatLib (lib.stat.cmu.edu/datasets/boston)",
    file="housing.npz",
    sha256="791ee102c7a635b42b030f405faf764cd2f52f7a55756a4bd6018a7c52c7b3a4",
    public="OpenML 531",
    remarks="the price in three classes of equal count; wang2010 does not give its own cuts",
)


def load_housing(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load housing; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_housing
    >>> load_housing()  # doctest: +SKIP
    <DataSet housing: 506 rows, 13 features, 3 classes>
    """
    return obtain(CARD, data_home, download=download, fetch=_fetch)


def _fetch() -> DataSet:
    table = openml(CARD, 531)
    price = table.target.astype(np.float64)
    cuts = np.quantile(price, [1 / 3, 2 / 3])
    return DataSet(
        "housing",
        table.X,
        y=np.searchsorted(cuts, price, side="right").astype(np.int64),
        feature_names=table.feature_names,
        extra={"price": price},
    )
