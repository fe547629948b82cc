"""Estimators with the interface of scikit-learn."""

from ._factor_fit import fit_by_factor
from .base import Embedding, LabelledEmbedding
from .cca import CCA
from .dle import DLE, DLEClassifier
from .hsl import HSL
from .kernel_features import KernelFeatures
from .lda import LDA
from .lpp import LPP
from .lsi import LSI
from .mlsi import MLSI
from .opls import OPLS
from .pls import PLSDA, PLSSVD
from .solver_choice import choose_solver
from .tuning import Tuning, tune

__all__ = [
    "CCA",
    "DLE",
    "HSL",
    "LDA",
    "LPP",
    "LSI",
    "MLSI",
    "OPLS",
    "PLSDA",
    "PLSSVD",
    "DLEClassifier",
    "Embedding",
    "KernelFeatures",
    "LabelledEmbedding",
    "Tuning",
    "choose_solver",
    "fit_by_factor",
    "tune",
]
