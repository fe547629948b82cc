"""Scores for labels, from the small space."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from ..errors import InvalidLabels
from ..labels import Kind, Labels, read_labels
from ..operators import Operator
from ..operators.array_backend import is_tensor, like, on_host
from .overflow import refuse_overflow
from .reading import Ends, ends
from .space import Space

__all__ = ["LabelScores"]


class LabelScores(Space):
    """A space that was learned from labels and can score them."""

    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator", "targets")

    classes_: Array
    label_loadings_: Array
    label_means_: Array

    def _read_labels(
        self, y: Any, n_rows: int, *, part: bool = False, targets: bool = False
    ) -> Labels:
        owner = type(self).__name__
        labels = read_labels(y, n_rows, owner, part=part, targets=targets)
        if labels.kind not in self._takes:
            raise InvalidLabels(
                f"{owner} takes classes or a 0/1 indicator, but y holds continuous targets; "
                "use OPLS, CCA or MLSI for those."
            )
        return labels

    def _label_values(self, labels: Labels) -> tuple[Array, Array]:
        """Y, centred where X is, with unknown entries at zero; and the means."""
        means = labels.means() if self.center else np.zeros(labels.values.shape[1])
        values = labels.values - means if self.center else labels.values
        if labels.unknown is not None:
            values = np.where(labels.unknown, 0.0, values)
        return values, means

    @refuse_overflow
    def label_scores(self, X: Any) -> Array:
        """Score every label for every row, from the small space alone.

        The least squares estimate of the labels that the components allow: a number
        around 1 says yes, around 0 no. With all components of OPLS it is ridge
        regression.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        scores : array of shape (n, k)
            One column for each entry of ``classes_``.
        """
        self._ready()
        latent = self.transform(X)
        if not is_tensor(latent):
            # transform may hand back a data frame where set_output asked for one.
            latent = np.asarray(latent)
        return latent @ like(self.label_loadings_, latent) + like(self.label_means_, latent)

    def _set_label_map(
        self, loadings: Array, means: Array, dtype: Any, home: Operator | None = None
    ) -> None:
        """Set the way from the space to labels; it lives where ``home`` does."""
        if home is None or home.device is None:
            self.label_loadings_, self.label_means_ = loadings.astype(dtype), means.astype(dtype)
        else:
            self.label_loadings_, self.label_means_ = home.place(loadings), home.place(means)

    def top_labels(self, component: int, n: int = 10) -> Ends:
        """The labels at both ends of an axis.

        Parameters
        ----------
        component : int
            The axis, counted from 0.
        n : int, default=10
            How many at each end, at most.

        Returns
        -------
        Ends
            With fields ``high`` and ``low``, lists of ``(name, weight)``.
        """
        self._ready()
        owner = type(self).__name__
        return ends(owner, on_host(self.label_loadings_), self.classes_, component, n)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
