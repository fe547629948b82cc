"""Reading labels, and the label factors by which the methods differ."""

from .factor import (
    RANK_TOLERANCE,
    Factor,
    Form,
    Regression,
    Stack,
    block_rank,
    square_rank,
    stack_weights,
)
from .label_factor import (
    HypergraphLaplacian,
    cca_factor,
    edge_weights,
    hsl_factor,
    inverse_power,
    lda_factor,
    opls_factor,
    whitening,
)
from .reading import Kind, Labels, indicator_in_place, read_labels
from .scatter import Scatter, class_scatter

__all__ = [
    "RANK_TOLERANCE",
    "Factor",
    "Form",
    "HypergraphLaplacian",
    "Kind",
    "Labels",
    "Regression",
    "Scatter",
    "Stack",
    "block_rank",
    "cca_factor",
    "class_scatter",
    "edge_weights",
    "hsl_factor",
    "indicator_in_place",
    "inverse_power",
    "lda_factor",
    "opls_factor",
    "read_labels",
    "square_rank",
    "stack_weights",
    "whitening",
]
