"""The methods that wang2010 is compared with.

The classifiers of rows read labels as the rest of the package does, with -1 or NaN for
unknown, and take classes and 0/1 indicators alike. The face methods are pipelines.
"""

from ._base import Baseline, GraphClassifier
from .consistency import LocalGlobalConsistency
from .dle_classifier import DLEClassifier
from .harmonic import HarmonicFunction
from .kmeans_laplacian import KMeansLaplacian
from .mcgf import MCGF
from .mlgf import MLGF
from .mlls import MLLS
from .smse import SMSE
from .transducer import SpectralGraphTransducer

__all__ = [
    "MCGF",
    "MLGF",
    "MLLS",
    "SMSE",
    "Baseline",
    "DLEClassifier",
    "GraphClassifier",
    "HarmonicFunction",
    "KMeansLaplacian",
    "LocalGlobalConsistency",
    "SpectralGraphTransducer",
]
