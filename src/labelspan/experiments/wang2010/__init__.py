"""wang2010: discriminant Laplacian embedding, tables 3 to 5 and figure 2."""

from ..base import Paper
from .faces import FIGURE_2
from .multilabel import TABLE_5
from .uci import TABLE_3, TABLE_4

__all__ = ["PAPER"]

PAPER = Paper(
    name="wang2010",
    title="Discriminant Laplacian embedding",
    citation="H. Wang, H. Huang, C. Ding. Discriminant Laplacian embedding. AAAI 2010.",
    parts=(TABLE_3, TABLE_4, TABLE_5, FIGURE_2),
)
