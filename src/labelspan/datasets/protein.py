"""protein: proteins of six families, by what they are made of.

116 proteins x 20 shares of the amino acids (in percent), 6 classes.
"""

from __future__ import annotations

from .dataset import Card, DataSet
from .obtain import Home, obtain

__all__ = ["CARD", "load_protein"]

CARD = Card(
    name="protein",
    title="proteins of six families, by their amino acids",
    n=116,
    d=20,
    k=6,
    task="classes",
    origin="as used by Xing and others",
    terms="none stated",
    citation="E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell. Distance metric learning, with "
    "application to clustering with side-information. NIPS 15, 505-512, 2002.",
    papers=("wang2010",),
    where="the data of Xing and others' paper on distance metric learning",
    file="protein.npz",
    sha256="ce638e64efba8f68288141afe7cfc2bf987bcda260010c8f1f3368b9dcb4a4aa",
)


def load_protein(data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load protein; the parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True

    Returns
    -------
    DataSet

    Examples
    --------
    >>> from labelspan.datasets import load_protein
    >>> load_protein()  # doctest: +SKIP
    <DataSet protein: 116 rows, 20 features, 6 classes>
    """
    return obtain(CARD, data_home, download=download)
