"""Semi-supervised classifiers on graphs: those that wang2010 compares, and DLEClassifier.

They take classes or 0/1 indicators, with -1 or NaN for unknown labels.
"""

from .consistency import LocalGlobalConsistency
from .correlated_labels import MCGF, MLGF
from .dle_classifier import DLEClassifier
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
    "DLEClassifier",
    "HarmonicFunction",
    "KMeansLaplacian",
    "LocalGlobalConsistency",
    "SpectralGraphTransducer",
]
