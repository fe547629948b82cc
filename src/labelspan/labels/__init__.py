"""Reading labels, and the label factors by which the methods differ."""

from .factor import (
    cca_factor,
    class_scatter,
    hsl_factor,
    lda_factor,
    opls_factor,
)
from .reading import Labels, read_labels

__all__ = [
    "Labels",
    "cca_factor",
    "class_scatter",
    "hsl_factor",
    "lda_factor",
    "opls_factor",
    "read_labels",
]
