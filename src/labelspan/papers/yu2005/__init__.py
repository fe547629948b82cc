"""yu2005: multi-label informed latent semantic indexing, figures 1 to 3, and further methods."""

from ..paper import Paper
from .curves import FIGURE_1, FIGURE_2, ON_BUNDLED
from .other_methods import BEYOND
from .paper_mlsi import PaperMLSI
from .supervised_lsi import SupervisedLSI, supervised_lsi
from .sweeps import FIGURE_3

__all__ = ["PAPER", "PaperMLSI", "SupervisedLSI", "supervised_lsi"]

PAPER = Paper(
    name="yu2005",
    title="Multi-label informed latent semantic indexing",
    citation="K. Yu, S. Yu, V. Tresp. Multi-label informed latent semantic indexing. SIGIR 2005.",
    parts=(FIGURE_1, FIGURE_2, FIGURE_3, BEYOND, ON_BUNDLED),
)
