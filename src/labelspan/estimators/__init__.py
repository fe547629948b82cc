"""The estimators, in scikit-learn's manner."""

from .cca import CCA
from .hsl import HSL
from .lda import LDA
from .lsi import LSI
from .mlsi import MLSI
from .opls import OPLS
from .supervised_lsi import SupervisedLSI, supervised_lsi

__all__ = ["CCA", "HSL", "LDA", "LSI", "MLSI", "OPLS", "SupervisedLSI", "supervised_lsi"]
