"""Estimators with the interface of scikit-learn."""

from .base import Embedding, LabelledEmbedding
from .dle import DLE
from .factor_methods import CCA, HSL, LDA, OPLS, choose_solver, fit_by_factor
from .kernel_features import KernelFeatures
from .lpp import LPP
from .lsi import LSI
from .mlsi import MLSI

__all__ = [
    "CCA",
    "DLE",
    "HSL",
    "LDA",
    "LPP",
    "LSI",
    "MLSI",
    "OPLS",
    "Embedding",
    "KernelFeatures",
    "LabelledEmbedding",
    "choose_solver",
    "fit_by_factor",
]
