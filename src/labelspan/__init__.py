"""labelspan: small spaces that labels inform."""

from .estimators import (
    CCA,
    DLE,
    HSL,
    LDA,
    LPP,
    LSI,
    MLSI,
    OPLS,
    DLEClassifier,
    LoadingsPath,
    SupervisedLSI,
    Tuning,
    loadings_path,
    supervised_lsi,
    tune,
)
from .index import SemanticIndex
from .operators import as_operator
from .solvers import choose_solver

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "DLE",
    "HSL",
    "LDA",
    "LPP",
    "LSI",
    "MLSI",
    "OPLS",
    "DLEClassifier",
    "LoadingsPath",
    "SemanticIndex",
    "SupervisedLSI",
    "Tuning",
    "as_operator",
    "choose_solver",
    "loadings_path",
    "supervised_lsi",
    "tune",
]
