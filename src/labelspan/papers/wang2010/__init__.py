"""wang2010: discriminant Laplacian embedding, tables 3 to 5, figure 2 and equation 8."""

from ..paper import Paper
from .comparators import (
    MCGF,
    MLGF,
    MLLS,
    SMSE,
    HarmonicFunction,
    KMeansLaplacian,
    LocalGlobalConsistency,
    SpectralGraphTransducer,
)
from .dle_classifier import DLEClassifier, with_label_graph
from .equation8 import EQUATION_8
from .figure2_faces import FIGURE_2
from .label_graph import label_graph
from .table3 import TABLE_3, TABLE_4
from .table5 import TABLE_5

__all__ = [
    "MCGF",
    "MLGF",
    "MLLS",
    "PAPER",
    "SMSE",
    "DLEClassifier",
    "HarmonicFunction",
    "KMeansLaplacian",
    "LocalGlobalConsistency",
    "SpectralGraphTransducer",
    "label_graph",
    "with_label_graph",
]

PAPER = Paper(
    name="wang2010",
    title="Discriminant Laplacian embedding",
    citation="H. Wang, H. Huang, C. Ding. Discriminant Laplacian embedding. AAAI 2010.",
    parts=(TABLE_3, TABLE_4, TABLE_5, FIGURE_2, EQUATION_8),
)
