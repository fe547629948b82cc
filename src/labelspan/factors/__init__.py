"""Label factors: what makes one method differ from another."""

from .base import RANK_TOLERANCE, Factor, Regression, block_rank
from .labels import Kind, Labels, read_labels
from .stack import Form, stack_factor
from .thin import Laplacian, cca_factor, hsl_factor, lda_factor, opls_factor

__all__ = [
    "RANK_TOLERANCE",
    "Factor",
    "Form",
    "Kind",
    "Labels",
    "Laplacian",
    "Regression",
    "block_rank",
    "cca_factor",
    "hsl_factor",
    "lda_factor",
    "opls_factor",
    "read_labels",
    "stack_factor",
]
