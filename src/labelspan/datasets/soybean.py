"""soybean: sick soybean plants, and what ails them.

562 plants x 35 symptoms, 15 classes: the rows of UCI's large set in which nothing is missing.
Symptoms are named values, given as their places in their lists. ``label_names`` has all 19
names; no complete row carries one of the last four.
"""

from __future__ import annotations

import numpy as np

from .dataset import Card, DataSet
from .obtain import Home, obtain
from .public import class_codes, openml

__all__ = ["CARD", "load_soybean"]

CARD = Card(
    name="soybean",
    title="sick plants and what ails them",
    n=562,
    d=35,
    k=15,
    task="classes",
    origin="Michalski and Chilausky; by way of UCI (Soybean, large), 562 complete rows of 683",
    terms="CC BY 4.0 (UCI)",
    citation="R. S. Michalski, R. L. Chilausky. Learning by being told and learning from "
    "examples. International Journal of Policy Analysis and Information Systems 4(2), "
    "125-161, 1980.",
    papers=("wang2010",),
    where="UCI (archive.ics.uci.edu, Soybean Large)",
    file="soybean.npz",
    sha256="867f86d3282cc16f7fea78a7c3d2e1c3e9b5826cc716bc9123c6f689ebb8f7a5",
    public="OpenML 42",
    remarks="wang2010 says 19 classes: four of them have no complete row",
)


def load_soybean(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load soybean; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_soybean
    >>> load_soybean()  # doctest: +SKIP
    <DataSet soybean: 562 rows, 35 features, 15 classes>
    """
    return obtain(CARD, data_home, download=download, fetch=_fetch)


def _fetch() -> DataSet:
    table = openml(CARD, 42)
    names = tuple(dict.fromkeys(map(str, table.target)))
    y = class_codes(table.target, names, "soybean")
    complete = np.isfinite(table.X).all(axis=1)
    return DataSet(
        "soybean",
        table.X[complete],
        y=y[complete],
        feature_names=table.feature_names,
        label_names=names,
    )
