"""iris: flowers of three species, by the size of their leaves.

150 flowers x 4 measures, 3 classes. It comes with scikit-learn.
"""

from __future__ import annotations

from dataclasses import replace

from sklearn import datasets as bundled

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_iris"]

CARD = Card(
    name="iris",
    title="flowers of three species",
    n=150,
    d=4,
    k=3,
    task="classes",
    origin="Fisher; measured by Anderson",
    terms="CC BY 4.0 (UCI)",
    citation="R. A. Fisher. The use of multiple measurements in taxonomic problems. "
    "Annals of Eugenics 7(2), 179-188, 1936.",
    papers=("wang2010",),
    where="scikit-learn's load_iris",
    file="iris.npz",
    sha256="7013022f6e30913bbac40a35091d8d37cdf9313fedad785d84f56225545ededf",
    public="scikit-learn",
)


def load_iris(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load iris; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_iris
    >>> load_iris()
    <DataSet iris: 150 rows, 4 features, 3 classes>
    """
    data = obtain(CARD, data_home, download=download, fetch=_fetch, keep=False)
    # The file has no names of features.
    return replace(data, feature_names=tuple(bundled.load_iris().feature_names))


def _fetch() -> DataSet:
    flowers = bundled.load_iris()
    return DataSet(
        "iris",
        flowers.data,
        y=flowers.target,
        label_names=tuple(map(str, flowers.target_names)),
    )
