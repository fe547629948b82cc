"""Semi-supervised classifiers on graphs that wang2010 compares with DLE.

They take classes or 0/1 indicators, with -1 or NaN for unknown labels.
"""

from .consistency import LocalGlobalConsistency
from .correlated_labels import MCGF, MLGF
from .harmonic import HarmonicFunction
from .kmeans_laplacian import KMeansLaplacian
from .mlls import MLLS
from .smse import SMSE
from .transducer import SpectralGraphTransducer

__all__ = [
    "MCGF",
    "MLGF",
    "MLLS",
    "SMSE",
    "HarmonicFunction",
    "KMeansLaplacian",
    "LocalGlobalConsistency",
    "SpectralGraphTransducer",
]
