"""sun2009: generalised eigenproblems as least squares, figures 1 and 2 and the equivalence."""

from ..paper import Paper
from .equivalence import EQUIVALENCE
from .figure1 import FIGURE_1, ON_BUNDLED
from .figure2 import FIGURE_2
from .graph_penalty import fit_with_graph
from .least_squares import LeastSquares
from .two_stage_comparison import BEYOND

__all__ = ["PAPER", "LeastSquares", "fit_with_graph"]

PAPER = Paper(
    name="sun2009",
    title="A least squares formulation for a class of generalized eigenvalue problems",
    citation="L. Sun, S. Ji, J. Ye. A least squares formulation for a class of generalized "
    "eigenvalue problems in machine learning. ICML 2009.",
    parts=(FIGURE_1, FIGURE_2, EQUIVALENCE, BEYOND, ON_BUNDLED),
)
