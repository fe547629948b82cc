"""Define the convergence warning, apart from the errors because it needs scikit-learn."""

from sklearn.exceptions import ConvergenceWarning

from .errors import LabelspanWarning

__all__ = ["NotConverged"]


class NotConverged(LabelspanWarning, ConvergenceWarning):
    """An iteration stopped before it reached its tolerance."""


# Its public name, for pickle and for tracebacks.
NotConverged.__module__ = "labelspan.errors"
