"""yu2005: multi-label informed latent semantic indexing, figures 1 to 3, and further methods."""

from ..paper import Paper
from .curves import FIGURE_1, FIGURE_2
from .other_methods import BEYOND
from .sweeps import FIGURE_3

__all__ = ["PAPER"]

PAPER = Paper(
    name="yu2005",
    title="Multi-label informed latent semantic indexing",
    citation="K. Yu, S. Yu, V. Tresp. Multi-label informed latent semantic indexing. SIGIR 2005.",
    parts=(FIGURE_1, FIGURE_2, FIGURE_3, BEYOND),
)
