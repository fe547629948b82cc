"""What an index learns: a vectoriser, a space, and a tagger in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_array, check_random_state, get_tags
from sklearn.utils.extmath import row_norms

from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch
from ..operators.operator import Operator
from .inputs import LabelLists, indicator
from .progress_steps import Progress, Steps
from .tagger import Tagger, fit_tagger, labelled_folds
from .vectorizer import default_vectorizer, feature_words
from .vectors import unit_rows

__all__ = ["Model", "learn", "learn_words", "space_vectors"]


@dataclass(frozen=True)
class Model:
    """A fitted vectoriser (None where vectors are brought), estimator and tagger."""

    vectorizer: Any
    estimator: Any
    tagger: Tagger | None

    @property
    def n_features(self) -> int:
        """The number of features of a text or vector."""
        return int(self.estimator.n_features_in_)

    def features(self, texts: Sequence[str], vectors: Any, owner: str) -> Any:
        """Features of new items, from their texts or as they were brought."""
        if self.vectorizer is not None:
            refuse_vectors(vectors, owner)
            return self.vectorizer.transform(texts)
        brought = read_vectors(vectors, len(texts), owner)
        if brought.shape[1] != self.n_features:
            raise InvalidInput(
                f"{owner}: vectors must have {self.n_features} columns as in fit, "
                f"but have {brought.shape[1]}."
            )
        return brought

    def vectors(self, features: Any) -> Array:
        """Unit vectors in the space; zeros for items without any feature."""
        return space_vectors(self.estimator, features)

    @cached_property
    def words(self) -> Array | None:
        """The word of each feature, where there are words."""
        return None if self.vectorizer is None else feature_words(self.vectorizer)


def learn(
    vectorizer: Any,
    estimator: Any,
    texts: Sequence[str],
    vectors: Any,
    labels: LabelLists,
    *,
    folds: int,
    random_state: Any,
    progress: Progress | None = None,
    hold: Callable[[Any], Operator] | None = None,
) -> tuple[Model, Array]:
    """Fit everything; gives the model and the unit vectors of the items.

    ``hold`` makes of the features what spaces are learned from, where that is somewhere else.
    """
    owner = "fit"
    names = tuple(sorted({label for own in labels for label in own or ()}))
    rows = np.flatnonzero([own is not None for own in labels]) if names else np.arange(0)
    parts = labelled_folds(rows.size, folds, check_random_state(random_state))
    # The words, the space, and for the tagger a space for each part.
    step = Steps(progress, 2 + len(parts))
    if vectorizer is None:
        fitted, features = None, read_vectors(vectors, len(texts), owner)
    else:
        refuse_vectors(vectors, owner)
        if isinstance(vectorizer, str):
            fitted = default_vectorizer(len(texts))
        else:
            fitted = clone(vectorizer)
        features = learn_words(fitted, texts)
    step()
    targets = indicator(labels, names)
    if get_tags(estimator).target_tags.required and not names:
        raise InvalidLabels(
            f"fit: {type(estimator).__name__} learns from labels, and no item has a known one; "
            "label some items, or use SemanticIndex(estimator=LSI())."
        )
    learned_from = features if hold is None else hold(features)
    space = _fitted(estimator, learned_from, targets if names else None)
    found = space_vectors(space, features)
    step()
    if not names:
        return Model(fitted, space, None), found

    def outside(held: Array) -> tuple[Array, Array]:
        others = np.setdiff1d(np.arange(len(texts)), rows[held])
        part = _part(estimator, _some_rows(learned_from, others), targets[others])
        labelled = np.zeros((rows.size, part.n_components_), dtype=np.float32)
        inside = np.setdiff1d(np.arange(rows.size), held)
        labelled[inside] = space_vectors(part, _safe_indexing(features, rows[inside]))
        unseen = space_vectors(part, _safe_indexing(features, rows[held]))
        step()
        return labelled, unseen

    tagger = fit_tagger(names, found[rows], targets[rows], parts, outside)
    return Model(fitted, space, tagger), found


def space_vectors(estimator: Any, features: Any) -> Array:
    """Unit vectors in an estimator's space; zeros for rows of zeros."""
    out = unit_rows(estimator.transform(features))
    out[row_norms(features, squared=True) == 0] = 0.0
    return out


def read_vectors(vectors: Any, count: int, owner: str) -> Any:
    """Vectors that came with items: finite numbers, a row an item."""
    if vectors is None:
        raise Mismatch(
            f"{owner}: this index has no vectorizer, and takes vectors; give vectors=, one for "
            "each item."
        )
    try:
        found = check_array(vectors, accept_sparse="csr", dtype=[np.float32, np.float64])
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{owner}: vectors cannot be used: {error}") from error
    if found.shape[0] != count:
        raise InvalidInput(
            f"{owner}: vectors must have one row for each item; there are {count} items and "
            f"{found.shape[0]} rows."
        )
    return found


def refuse_vectors(vectors: Any, owner: str) -> None:
    """See that no vectors come where texts are read."""
    if vectors is not None:
        raise Mismatch(
            f"{owner}: this index makes vectors from texts; leave vectors= out, or use "
            "SemanticIndex(vectorizer=None)."
        )


def learn_words(vectorizer: Any, texts: Sequence[str]) -> Any:
    """Fit a vectoriser, and give the features of the texts; refuses texts without words."""
    try:
        features = vectorizer.fit_transform(texts)
    except ValueError as error:
        # scikit-learn's sentence for texts that are all empty, or all of rare words.
        if "vocabulary" in str(error) or "terms remain" in str(error):
            raise InvalidInput(
                f"fit: the texts hold no word to learn from ({error}); give texts with words, "
                "or another vectorizer."
            ) from error
        raise
    return check_array(features, accept_sparse="csr", dtype=[np.float32, np.float64])


def _some_rows(features: Any, index: Array) -> Any:
    return (
        features.rows(index) if isinstance(features, Operator) else _safe_indexing(features, index)
    )


def _fitted(estimator: Any, features: Any, targets: Array | None) -> Any:
    space = clone(estimator)
    space = space.fit(features) if targets is None else space.fit(features, targets)
    if hasattr(space, "components_"):
        # By columns, so that mapping a query makes no copy of the whole.
        space.components_ = np.asfortranarray(space.components_)
    return space


def _part(estimator: Any, features: Any, targets: Array) -> Any:
    """The estimator on some of the rows, with no more dimensions than they have."""
    asked = estimator.n_components
    part = clone(estimator)
    if asked is not None:
        part.set_params(n_components=min(asked, features.shape[0] - 1, features.shape[1]))
    try:
        return part.fit(features, targets)
    except InvalidParameter:
        # A label may be missing from these rows, and with it a dimension.
        return part.set_params(n_components=None).fit(features, targets)
