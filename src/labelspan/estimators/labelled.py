"""What estimators that read labels share: scores for labels from the small space."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import InvalidLabels
from ..factors import Kind, Labels, read_labels
from ..operators.base import Array
from .base import SpaceEstimator

__all__ = ["LabelledEstimator"]


class LabelledEstimator(SpaceEstimator):
    """An estimator that learns from labels and can score them."""

    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator", "targets")

    classes_: Array
    label_loadings_: Array
    label_means_: Array

    def _read_labels(self, y: Any, n_rows: int) -> Labels:
        owner = type(self).__name__
        labels = read_labels(y, n_rows, owner)
        if labels.kind not in self._takes:
            raise InvalidLabels(
                f"{owner} takes classes or a 0/1 indicator, but y holds real targets; "
                "use OPLS, CCA or MLSI for those."
            )
        return labels

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
        check_is_fitted(self)
        # transform may hand back a data frame where set_output asked for one.
        latent = np.asarray(self.transform(X))
        return latent @ self.label_loadings_ + self.label_means_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
