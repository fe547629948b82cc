"""What an index learns from texts and labels: a vectorizer, a space and a tagger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils import _safe_indexing, check_array, check_random_state, get_tags

from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, InvalidParameter
from ..labels import reading
from ..operators.array_backend import is_tensor, on_host
from ..operators.operator import Operator
from .analysis import TOKEN_PATTERN, detect_language, normalise
from .inputs import LabelLists, indicator
from .label_places import LabelDirections
from .model import (
    Deferred,
    HashedTextMap,
    IndexModel,
    TextMap,
    read_vectors,
    refuse_vectors,
    space_vectors,
)
from .tag_features import TagFeatures
from .tagger import Tagger, fit_tagger, label_matrix, labelled_folds

__all__ = [
    "ProgressCallback",
    "StepCounter",
    "WordVectorizer",
    "default_vectorizer",
    "learn",
    "learn_words",
    "text_map_of",
]

# Called with the number of steps done and their total.
ProgressCallback = Callable[[int, int], None]

# With this many texts or more, words in one text only or in more than half are left out.
MANY_TEXTS = 1000
MAX_FEATURES = 30_000


class WordVectorizer(TfidfVectorizer):
    """TF-IDF of words after Unicode normalisation (NFKC) and case folding.

    Texts that only differ in how Unicode encodes a character, or in case, get the same features.
    """

    def build_preprocessor(self) -> Callable[[str], str]:
        """Return the function that prepares a text before it is split into words."""
        rest = super().build_preprocessor()

        def prepare(text: str) -> str:
            return str(rest(normalise(text)))

        return prepare


def default_vectorizer(count: int) -> WordVectorizer:
    """Make the default vectorizer for a number of texts: TF-IDF of words and word pairs.

    ``1 + log(tf)``, rows of length 1, float32, at most 30,000 features. With 1,000 texts or more,
    a feature must be in two texts or more, and in at most half of them.
    """
    many = count >= MANY_TEXTS
    return WordVectorizer(
        token_pattern=TOKEN_PATTERN,
        ngram_range=(1, 2),
        min_df=2 if many else 1,
        max_df=0.5 if many else 1.0,
        max_features=MAX_FEATURES,
        sublinear_tf=True,
        dtype=np.float32,
    )


def learn(
    vectorizer: Any,
    estimator: Any,
    texts: Sequence[str],
    vectors: Any,
    labels: LabelLists,
    *,
    folds: int,
    random_state: Any,
    language: str | None = None,
    progress: ProgressCallback | None = None,
    hold: Callable[[Any], Operator] | None = None,
) -> tuple[IndexModel, Array]:
    """Fit vectorizer, space and tagger; return them with the unit vectors of the items.

    ``language`` is that of the texts; None detects it. ``hold`` moves the features to where the
    space is learned, for example to a cluster.
    """
    owner = "fit"
    names = tuple(sorted({label for own in labels for label in own or ()}))
    rows = np.flatnonzero([own is not None for own in labels]) if names else np.arange(0)
    parts: list[Array] = []
    if vectorizer is None:
        parts = labelled_folds(rows.size, folds, check_random_state(random_state))
    # The vectorizer, the space, the tagger, and for given vectors one space per fold.
    step = StepCounter(progress, 2 + bool(names) + len(parts))
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
    # A column per label and a row per item: sparse where that would be large.
    required = get_tags(estimator).target_tags.required
    large = len(labels) * len(names) > reading.DENSE_ENTRIES
    targets = label_matrix(labels, names) if large else indicator(labels, names)
    many = large and required
    if required and not names:
        raise InvalidLabels(
            f"fit: {type(estimator).__name__} needs labels, but no item has a known label; "
            "label some items, or use SemanticIndex(estimator=LSI())."
        )
    learned_from = features if hold is None else hold(features)
    if many:
        # Sparse labels have no unknown rows: the space is learned from labelled items.
        space = _fitted(estimator, _some_rows(learned_from, rows), targets[rows])
    else:
        space = _fitted(estimator, learned_from, targets if names else None)
    found = space_vectors(space, features)
    if hasattr(space, "settled"):
        estimator = space.settled()  # what was chosen is not chosen again in each fold
    step()
    text_map = text_map_of(fitted, space)
    if not names:
        return IndexModel(fitted, space, None, text_map), found

    def outside(held: Array) -> tuple[Array, Array]:
        others = np.setdiff1d(rows if many else np.arange(len(texts)), rows[held])
        part = _part(estimator, _some_rows(learned_from, others), targets[others])
        labelled = np.zeros((rows.size, part.n_components_), dtype=np.float32)
        inside = np.setdiff1d(np.arange(rows.size), held)
        labelled[inside] = space_vectors(part, _safe_indexing(features, rows[inside]))
        unseen = space_vectors(part, _safe_indexing(features, rows[held]))
        step()
        return labelled, unseen

    tagger = _tagger(
        vectorizer,
        names=names,
        labels=[labels[row] for row in rows],
        rows=rows,
        texts=texts,
        language=language,
        features=features,
        vectors=found,
        folds=parts,
        outside=outside,
    )
    step()
    return IndexModel(
        fitted, space, tagger, text_map, directions=directions_of(space, names)
    ), found


def directions_of(space: Any, names: tuple[str, ...]) -> LabelDirections | None:
    """Return what labels add to the places of items, for an estimator that tells it."""
    found = getattr(space, "label_directions_", None)
    if found is None or len(found) != len(names):
        return None
    return LabelDirections(names, np.asarray(found), np.asarray(space.label_means_))


def _tagger(
    vectorizer: Any,
    *,
    names: tuple[str, ...],
    labels: LabelLists,
    rows: Array,
    texts: Sequence[str],
    language: str | None,
    features: Any,
    vectors: Array,
    folds: list[Array],
    outside: Callable[[Array], tuple[Array, Array]],
) -> Tagger:
    """Learn to predict labels, from texts if the index reads them by the default vectorizer.

    Vectors that are given to the index are not kept: those of the space are used instead. They
    have seen the labels, so that the tagger is calibrated on spaces without them.
    """
    targets = label_matrix(labels, names)
    if vectorizer is None:
        return fit_tagger(names, targets, vectors[rows], places=rows, folds=folds, outside=outside)
    if not isinstance(vectorizer, str):
        return fit_tagger(names, targets, _safe_indexing(features, rows), places=rows)
    own = [texts[row] for row in rows]
    found = TagFeatures.learn(own, language or detect_language(own))
    return fit_tagger(names, targets, found.transform(own), places=rows, texts=found)


def text_map_of(vectorizer: Any, estimator: Any) -> TextMap | None:
    """Make a map that does the same as the two; None unless they are of the usual kind."""
    if getattr(estimator, "components_", None) is None:
        return None
    if type(vectorizer).__name__ == "HashedWords":
        return HashedTextMap(
            Deferred(lambda: vectorizer.names_),
            vectorizer.idf_,
            estimator.components_,
            estimator.mean_ if estimator.center else None,
        )
    free = ("min_df", "max_df", "max_features")
    usual = default_vectorizer(1).set_params(
        **{name: getattr(vectorizer, name, None) for name in free}
    )
    if type(vectorizer) is not WordVectorizer or vectorizer.get_params() != usual.get_params():
        return None
    return TextMap(
        vectorizer.get_feature_names_out().tolist(),
        vectorizer.idf_,
        estimator.components_,
        estimator.mean_ if estimator.center else None,
    )


class StepCounter:
    """Counts steps and reports them to a callback."""

    def __init__(self, progress: ProgressCallback | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def learn_words(vectorizer: Any, texts: Sequence[str]) -> Any:
    """Fit a vectorizer and return the features of the texts; raise if there are no words."""
    try:
        features = vectorizer.fit_transform(texts)
    except ValueError as error:
        # The message of scikit-learn for texts that are all empty or have only rare words.
        if "vocabulary" in str(error) or "terms remain" in str(error):
            raise InvalidInput(
                f"fit: the texts have no words to learn from ({error}); give texts with words, "
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
    for name, value in vars(space).items():
        if is_tensor(value):
            setattr(space, name, on_host(value))
    if hasattr(space, "components_"):
        # In column order, so that transforming a query does not copy the array.
        space.components_ = np.asfortranarray(space.components_)
    return space


def _part(estimator: Any, features: Any, targets: Array) -> Any:
    """Fit the estimator on some rows, with as many dimensions as they allow."""
    asked = estimator.n_components
    part = clone(estimator)
    if isinstance(asked, int):
        part.set_params(n_components=min(asked, features.shape[0] - 1, features.shape[1]))
    try:
        return _fitted(part, features, targets)
    except InvalidParameter:
        # A label, and with it a dimension, may be missing from these rows.
        default = type(part)().n_components
        return _fitted(part.set_params(n_components=default), features, targets)
