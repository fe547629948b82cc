"""Synthetic multi-label data of known structure, of any size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._params import Constraint, Either, Integer, Null, Real, check_params
from ..errors import InvalidParameter
from .dataset import DataSet

__all__ = ["Tagged", "make_tagged_corpus", "make_tagged_vectors"]

Random = int | np.random.Generator | None
# Words or numbers sampled at a time; they need about ten times as many bytes.
BLOCK = 1 << 22
# Ranks count from here: the most frequent word or label is not far above the second.
HEAD = 5.0


@dataclass(frozen=True, eq=False, repr=False)
class Tagged(DataSet):
    """Hold a synthetic data set and the parameters it was sampled from.

    Attributes
    ----------
    directions : array or CSR array of shape (k, d)
        What each label adds to the mean of the features of a row: for vectors the sum over the
        labels of the row, for texts the mean.
    offset : array of shape (d,)
        The mean of the features without any label.

    See Also
    --------
    make_tagged_corpus, make_tagged_vectors : Generate such data.

    Examples
    --------
    >>> from labelspan.datasets import make_tagged_vectors
    >>> data = make_tagged_vectors(100, 8, 3, random_state=0)
    >>> data.directions.shape, data.offset.shape
    ((3, 8), (8,))
    """

    directions: Any = None
    offset: NDArray[np.float64] | None = None


_COUNT = Integer(1)
_CORPUS: dict[str, Constraint] = {
    "n": _COUNT,
    "vocabulary": _COUNT,
    "labels": _COUNT,
    "topics": Either((_COUNT, Null())),
    "words_per_text": Real(1),
    "labels_per_text": Real(1),
    "words_per_topic": Either((_COUNT, Null())),
    "background": Real(0, 1),
}
_VECTORS: dict[str, Constraint] = {
    "n": _COUNT,
    "d": _COUNT,
    "labels": _COUNT,
    "rank": Either((_COUNT, Null())),
    "labels_per_row": Real(1),
    "nuisance": Integer(0),
    "noise": Real(0),
}


def make_tagged_corpus(
    n: int = 1000,
    vocabulary: int = 2000,
    labels: int = 20,
    *,
    topics: int | None = None,
    words_per_text: float = 80.0,
    labels_per_text: float = 2.5,
    words_per_topic: int | None = None,
    background: float = 0.3,
    random_state: Random = None,
) -> Tagged:
    """Generate texts as bags of words whose labels are topics.

    For each text labels are sampled, then its words: with probability ``background`` from words
    that all texts share, otherwise from a topic of one of its labels. A label is one topic or,
    with fewer topics than labels, a mixture of topics. The frequencies of words and labels are
    about inversely proportional to their rank.

    Parameters
    ----------
    n, vocabulary, labels : int, default=1000, 2000 and 20
        Number of texts, of different words, and of labels.
    topics : int or None, default=None
        Number of topics that the labels mix; None for one per label.
    words_per_text, labels_per_text : float, default=80.0 and 2.5
        Means; each text has at least one word and one label. Labels are sampled with
        replacement and duplicates dropped, so that the mean is somewhat lower.
    words_per_topic : int or None, default=None
        Number of words of a topic; None for a fraction of the vocabulary.
    background : float, default=0.3
        The fraction of words that do not depend on the labels.
    random_state : int, Generator or None, default=None
        Seed or generator of random numbers.

    Returns
    -------
    Tagged
        X (counts in float32) and Y in CSR format. The mean of X given Y is ``offset`` plus the
        mean of ``directions`` over the labels of the row.

    See Also
    --------
    make_tagged_vectors : Generate dense vectors.

    Notes
    -----
    Texts are sampled in blocks. 804,414 texts over 47,236 words with 60 million nonzeros,
    the size of RCV1-v2, took 18 seconds on one core and 2 GB at most.

    Examples
    --------
    >>> from labelspan.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(100, 500, 8, random_state=0)
    >>> corpus
    <Tagged tagged_corpus: 100 rows, 500 features, 8 labels>
    >>> corpus.directions.shape
    (8, 500)
    """
    check_params("make_tagged_corpus", locals(), _CORPUS)
    rng = np.random.default_rng(random_state)
    count = labels if topics is None else topics
    size = words_per_topic or min(vocabulary, max(10, vocabulary // count))
    if size > vocabulary:
        raise InvalidParameter(
            f"make_tagged_corpus: words_per_topic={size} is more than the vocabulary of "
            f"{vocabulary}; choose fewer."
        )
    words = np.stack([rng.choice(vocabulary, size, replace=False) for _ in range(count)])
    model = _Topics(
        words=words.astype(np.int32),
        common=rng.permutation(vocabulary).astype(np.int32),
        mixture=None if topics is None else rng.dirichlet(np.full(topics, 0.3), size=labels),
        background=background,
    )
    Y = _draw_labels(rng, n, labels, labels_per_text)
    lengths = np.maximum(rng.poisson(words_per_text, n), 1)
    offset = np.zeros(vocabulary)
    offset[model.common] = words_per_text * background * _falling(vocabulary)
    return Tagged(
        "tagged_corpus",
        _draw_counts(rng, model, Y, lengths),
        Y,
        source="sampled by make_tagged_corpus",
        directions=words_per_text * (1 - background) * model.distributions(),
        offset=offset,
    )


def make_tagged_vectors(
    n: int = 1000,
    d: int = 64,
    labels: int = 20,
    *,
    rank: int | None = None,
    labels_per_row: float = 2.5,
    nuisance: int = 0,
    noise: float = 0.5,
    random_state: Random = None,
) -> Tagged:
    """Generate dense vectors, similar to sentence embeddings, with labels as directions.

    A vector is the sum of the directions of its labels, each of length one, of ``nuisance``
    directions that are independent of the labels, and of noise.

    Parameters
    ----------
    n, d, labels : int, default=1000, 64 and 20
        Number of vectors, of features, and of labels.
    rank : int or None, default=None
        The dimension of the space that the directions of the labels span; None for the largest
        possible.
    labels_per_row : float, default=2.5
        The mean number of labels, as in :func:`make_tagged_corpus`.
    nuisance : int, default=0
        Number of further directions, orthogonal to those of the labels, along which rows vary
        with a standard deviation of 2.
    noise : float, default=0.5
        The expected length of the isotropic noise.
    random_state : int, Generator or None, default=None
        Seed or generator of random numbers.

    Returns
    -------
    Tagged
        X in float32, Y in CSR format. The mean of X given Y is ``offset + Y @ directions``.

    See Also
    --------
    make_tagged_corpus : Generate sparse bags of words.

    Examples
    --------
    >>> from labelspan.datasets import make_tagged_vectors
    >>> make_tagged_vectors(100, 16, 8, rank=3, random_state=0)
    <Tagged tagged_vectors: 100 rows, 16 features, 8 labels>
    """
    check_params("make_tagged_vectors", locals(), _VECTORS)
    inner = min(labels, d) if rank is None else rank
    if inner + nuisance > d or inner > labels:
        raise InvalidParameter(
            f"make_tagged_vectors: rank={inner} must be at most labels={labels}, and with "
            f"nuisance={nuisance} at most d={d}; choose fewer."
        )
    rng = np.random.default_rng(random_state)
    basis = np.linalg.qr(rng.standard_normal((d, inner + nuisance)))[0].T
    directions = rng.standard_normal((labels, inner)) @ basis[:inner]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    offset = rng.standard_normal(d) / np.sqrt(d)
    Y = _draw_labels(rng, n, labels, labels_per_row)
    X = np.empty((n, d), dtype=np.float32)
    step = max(1, BLOCK // d)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        rows = X[part].shape[0]
        X[part] = offset + Y[part] @ directions
        X[part] += 2 * rng.standard_normal((rows, nuisance)) @ basis[inner:]
        X[part] += noise / np.sqrt(d) * rng.standard_normal((rows, d), dtype=np.float32)
    return Tagged(
        "tagged_vectors",
        X,
        Y,
        source="sampled by make_tagged_vectors",
        directions=directions,
        offset=offset,
    )


@dataclass(frozen=True)
class _Topics:
    """The words of each topic, by rank; the words of all texts; topics of each label."""

    words: NDArray[np.int32]
    common: NDArray[np.int32]
    mixture: NDArray[np.float64] | None
    background: float

    def distributions(self) -> Any:
        """Return the probability of each word for each label, in CSR format."""
        count, size = self.words.shape
        shares = np.tile(_falling(size), count)
        indptr = size * np.arange(count + 1)
        shape = (count, self.common.size)
        topics = sparse.csr_array((shares, self.words.ravel(), indptr), shape=shape)
        topics.sort_indices()
        return topics if self.mixture is None else sparse.csr_array(self.mixture) @ topics

    def draw(self, rng: np.random.Generator, about: NDArray[Any]) -> NDArray[np.int32]:
        """Sample a word for each label in ``about``."""
        topic = about
        if self.mixture is not None:
            # One ascending list for all labels: those of label l lie from l to l + 1.
            labels, topics = self.mixture.shape
            ends = np.cumsum(self.mixture, axis=1) + np.arange(labels)[:, None]
            found = np.searchsorted(ends.ravel(), about + rng.random(about.size))
            topic = np.clip(found - topics * about, 0, topics - 1)
        rank = _draw_ranks(rng, self.words.shape[1], about.size)
        return np.asarray(self.words[topic, rank])


def _falling(size: int) -> NDArray[np.float64]:
    """Probabilities that fall as one over the rank."""
    weights = 1.0 / (HEAD + np.arange(size))
    return np.asarray(weights / weights.sum())


def _draw_ranks(rng: np.random.Generator, size: int, count: int) -> NDArray[np.intp]:
    ends = np.cumsum(_falling(size))
    return np.minimum(np.searchsorted(ends, rng.random(count)), size - 1)


def _draw_labels(rng: np.random.Generator, n: int, labels: int, mean: float) -> Any:
    """Sample at least one label per row; return 0 and 1 in CSR format."""
    rows = np.repeat(np.arange(n), 1 + rng.poisson(mean - 1, n))
    keys = np.unique(rows * labels + _draw_ranks(rng, labels, rows.size))
    indptr = np.searchsorted(keys, labels * np.arange(n + 1))
    parts = (np.ones(keys.size, dtype=np.uint8), keys % labels, indptr)
    return _narrow(sparse.csr_array(parts, shape=(n, labels)))


def _draw_counts(
    rng: np.random.Generator, model: _Topics, Y: Any, lengths: NDArray[np.int64]
) -> Any:
    """How often each word is in each text, block by block."""
    n, vocabulary = lengths.size, model.common.size
    edges = np.append(np.flatnonzero(np.diff(np.cumsum(lengths) // BLOCK, prepend=-1)), n)
    indices, values, sizes = [], [], []
    for start, stop in pairwise(edges):
        rows = np.repeat(np.arange(start, stop), lengths[start:stop])
        word = np.empty(rows.size, dtype=np.int64)
        shared = rng.random(rows.size) < model.background
        word[shared] = model.common[_draw_ranks(rng, vocabulary, int(shared.sum()))]
        of = rows[~shared]
        which = (rng.random(of.size) * (Y.indptr[of + 1] - Y.indptr[of])).astype(np.intp)
        word[~shared] = model.draw(rng, Y.indices[Y.indptr[of] + which])
        keys = (rows - start) * vocabulary + word
        keys.sort()
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        values.append(np.diff(first, append=keys.size).astype(np.float32))
        row, column = np.divmod(keys[first], vocabulary)
        indices.append(column.astype(np.int32))
        sizes.append(np.bincount(row, minlength=stop - start))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    parts = (np.concatenate(values), np.concatenate(indices), indptr)
    return _narrow(sparse.csr_array(parts, shape=(n, vocabulary)))


def _narrow(rows: Any) -> Any:
    """Convert indices to 32 bits, which all solvers accept, where that suffices."""
    if max(rows.nnz, *rows.shape) <= np.iinfo(np.int32).max:
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows
