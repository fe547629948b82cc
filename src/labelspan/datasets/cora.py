"""cora: papers on machine learning, their words, their subjects, and who cites whom.

2,708 papers x 1,433 words (there or not), 7 classes, 5,278 links. Sparse; the links are a
symmetric graph.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_cora"]

CARD = Card(
    name="cora",
    title="papers, their words, and who cites whom",
    n=2708,
    d=1433,
    k=7,
    task="classes",
    origin="McCallum and others; the part that the LINQS group published",
    terms="none stated",
    citation="P. Sen, G. Namata, M. Bilgic, L. Getoor, B. Gallagher, T. Eliassi-Rad. "
    "Collective classification in network data. AI Magazine 29(3), 93-106, 2008.",
    papers=(),
    where="the LINQS group (linqs.org/datasets)",
    file="cora.npz",
    sha256="af52e5a475757c757a431d81e9cfca59444c9198316398f494701a9b537fdc46",
    remarks="for methods that take features and links together, as DLE and the graph penalty",
)


def load_cora(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load cora; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_cora
    >>> load_cora()  # doctest: +SKIP
    <DataSet cora: 2,708 rows, 1,433 features, 7 classes>
    """
    return obtain(CARD, data_home, download=download)
