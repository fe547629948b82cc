"""wine: wines of three growers, by chemical analysis.

178 wines x 13 measures, 3 classes. It comes with scikit-learn.
"""

from __future__ import annotations

from dataclasses import replace

from sklearn import datasets as bundled

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_wine"]

CARD = Card(
    name="wine",
    title="wines of three growers, by chemical analysis",
    n=178,
    d=13,
    k=3,
    task="classes",
    origin="Forina and others; by way of UCI",
    terms="CC BY 4.0 (UCI)",
    citation="S. Aeberhard, M. Forina. Wine. UCI Machine Learning Repository, 1992.",
    papers=("wang2010",),
    where="scikit-learn's load_wine",
    file="wine.npz",
    sha256="8b9a4149557ad31446813f0a5b9851d3e59354e717c3ce7017166a86427f3e13",
    public="scikit-learn",
)


def load_wine(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load wine; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_wine
    >>> load_wine().feature_names[:2]
    ('alcohol', 'malic_acid')
    """
    data = obtain(CARD, data_home, download=download, fetch=_fetch, keep=False)
    # The file has no names of features.
    return replace(data, feature_names=tuple(bundled.load_wine().feature_names))


def _fetch() -> DataSet:
    wines = bundled.load_wine()
    return DataSet(
        "wine",
        wines.data,
        y=wines.target,
        label_names=tuple(map(str, wines.target_names)),
    )
