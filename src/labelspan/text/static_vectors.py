"""Static word vectors from a file, and their mean over the words of a text as features.

The vectors of the words of a collection are copied from the file, so that it is not needed later.
Words that are added later have no vector.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from scipy import sparse

from .._install import needed
from .._typing import Array
from ..errors import InvalidFile, InvalidInput, MissingData
from .analysis import normalise
from .vocabulary import TextBlock, Vocabulary, checked_parts, pack_strings, require, unpack_strings

__all__ = ["PooledVectors", "check_static", "word_vectors"]

# Length of the rows of the block; those of TF-IDF have length 1.
_LENGTH = 0.5
# Maximum number of words of a collection with a vector, the most frequent ones.
_MOST_WORDS = 100_000
_ARRAYS, _TEXT = (".npy", ".safetensors"), (".txt", ".vec", ".gz")
_Entry = TypeVar("_Entry")
_DAMAGED = "The files of the word vectors do not match; the index is damaged."


class PooledVectors:
    """Mean of the vectors of the words of a text, centred, with rows of constant length.

    ``words`` are normalised, with a row of ``vectors`` each; ``mean`` is the mean over the
    texts of a collection.
    """

    def __init__(self, words: Sequence[str], vectors: Array, mean: Array) -> None:
        self.words, self.mean = list(words), mean
        self._vectors = vectors.astype(np.float32)
        self._numbers = {word: number for number, word in enumerate(self.words)}

    @classmethod
    def learn(
        cls,
        path: str | os.PathLike[str],
        vocabulary: Vocabulary,
        blocks: Callable[[], Iterable[TextBlock]],
    ) -> Self:
        """Read the vectors of the most frequent words of all blocks from a file."""
        counts = np.zeros(len(vocabulary), dtype=np.int64)
        for block in blocks():
            counts += np.bincount(block.tokens, minlength=counts.size)
        frequent = np.sort(np.argsort(-counts, kind="stable")[:_MOST_WORDS])
        words = [vocabulary.words[number] for number in frequent.tolist()]
        places, vectors = word_vectors(path, words)
        if not places.size:
            raise InvalidFile(
                f"{path} has no vector for any word of the texts; use word vectors in their "
                "language."
            )
        # Rows are scaled to one length later: the unit of the vectors has no effect.
        vectors /= max(float(np.abs(vectors).max()), np.finfo(np.float32).tiny)
        known = [words[place] for place in places.tolist()]
        made = cls(known, vectors.astype(np.float16), np.zeros(vectors.shape[1], np.float32))
        total, texts = np.zeros(vectors.shape[1]), 0
        for block in blocks():
            means, some = made._means(block)
            total += means[some].sum(axis=0, dtype=np.float64)
            texts += int(some.sum())
        made.mean = (total / max(1, texts)).astype(np.float32)
        return made

    @property
    def size(self) -> int:
        """Number of dimensions."""
        return self.mean.size

    def transform(self, block: TextBlock) -> sparse.csr_matrix:
        """Return a row for each text; zeros for one without a known word."""
        means, some = self._means(block)
        means -= self.mean
        means[~some] = 0
        norms = np.linalg.norm(means, axis=1, keepdims=True)
        means *= _LENGTH / np.maximum(norms, np.finfo(np.float32).tiny)
        return sparse.csr_matrix(means)

    def _means(self, block: TextBlock) -> tuple[Array, Array]:
        """Return the mean vector of the words of each text, and whether it has a known word."""
        words, get = block.vocabulary.words, self._numbers.get
        different, place = np.unique(block.tokens, return_inverse=True)
        numbers = [get(words[token], -1) for token in different.tolist()]
        own = np.array(numbers, dtype=np.int32)[place]
        inside = own >= 0
        starts = np.concatenate([[0], np.cumsum(inside)])[block.starts]
        ones = np.ones(int(starts[-1]), dtype=np.float32)
        shape = (len(block), len(self.words))
        counts = sparse.csr_matrix((ones, own[inside], starts), shape=shape)
        sizes = np.diff(starts)
        means = np.asarray(counts @ self._vectors) / np.maximum(sizes, 1)[:, None]
        return means.astype(np.float32, copy=False), sizes > 0

    def arrays(self) -> dict[str, Array]:
        """Return the arrays to store, by name."""
        return {
            "words": pack_strings(self.words),
            "vectors": self._vectors.astype(np.float16),
            "mean": self.mean,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """Restore the vectors from :meth:`arrays`; raise InvalidFile if they are damaged."""
        words = unpack_strings("words", arrays)
        shapes = {"vectors": "f2 n d", "mean": "f4 d"}
        vectors, mean = checked_parts(shapes, arrays, _DAMAGED, n=len(words))
        finite = np.isfinite(vectors).all() and np.isfinite(mean).all()
        require(_DAMAGED, finite, len(set(words)) == len(words))
        return cls(words, vectors, np.array(mean))


# --- files ----------------------------------------------------------------------------------


def check_static(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file of word vectors; raise an error if it cannot be one."""
    found = Path(path)
    if not found.is_file():
        raise MissingData(f"There is no file {str(found)!r} of word vectors; correct the path.")
    if found.suffix.lower() not in (*_ARRAYS, *_TEXT):
        raise InvalidInput(
            f"{found}: word vectors are read from .safetensors and .npy files with a vocabulary "
            "next to them, and from text (.txt, .vec, .gz), one word and its numbers per line; "
            "convert it to one of them."
        )
    if found.suffix.lower() in _ARRAYS:
        _vocabulary_file(found)
    return found


def word_vectors(path: str | os.PathLike[str], words: Sequence[str]) -> tuple[Array, Array]:
    r"""Read the vectors of some words: the numbers of those that have one, and their vectors.

    The file is text in the format of word2vec, plain or compressed by gzip, whose first line may be
    the number of words and of dimensions. Or a ``.safetensors`` or ``.npy`` file with one row per
    word of a vocabulary: ``FILE.vocab.txt`` or a ``.txt`` of the same name (one word per line),
    ``FILE.vocab.json`` (a list, or numbers by word), or a tokenizer of Hugging Face as
    ``FILE.vocab.json`` or ``tokenizer.json``, for which the package tokenizers is needed. The
    vector of a word is then the mean of those of its tokens. A word that the file has only in
    another case gets the vector of the first match.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.text.static_vectors import word_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "vectors.txt"
    ...     _ = file.write_text("chess 1 0\nOslo 0 2\n")
    ...     word_vectors(file, ["oslo", "in", "chess"])
    (array([0, 2]), array([[0., 2.],
           [1., 0.]], dtype=float32))
    """
    file = check_static(path)
    read = _from_text if file.suffix.lower() in _TEXT else _from_rows
    try:
        # Numbers too large for float32 become infinity, which raises an error.
        with np.errstate(over="ignore"):
            places, vectors = read(file, words)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        if isinstance(error, MissingData):
            raise
        raise InvalidFile(f"{file} cannot be read: {error}; get it again.") from error
    if not np.isfinite(vectors).all():
        raise InvalidFile(f"{file} contains numbers that are too large for float32; scale them.")
    return places, vectors


def _chosen(entries: Iterable[tuple[str, _Entry]], words: Sequence[str]) -> dict[int, _Entry]:
    """Return the entry of each word, or if there is none, one in another case."""
    wanted = {word: place for place, word in enumerate(words)}
    own: dict[int, _Entry] = {}
    folded: dict[int, _Entry] = {}
    for word, entry in entries:
        place = wanted.get(word)
        if place is not None:
            own.setdefault(place, entry)
        elif (place := wanted.get(normalise(word))) is not None:
            folded.setdefault(place, entry)
    return dict(sorted((folded | own).items()))


def _from_text(path: Path, words: Sequence[str]) -> tuple[Array, Array]:
    found = _chosen(_lines(path), words)
    vectors = np.zeros((len(found), len(next(iter(found.values()), (0, []))[1])), dtype=np.float32)
    for row, (number, parts) in enumerate(found.values()):
        try:
            vectors[row] = [float(part) for part in parts]
        except ValueError as error:
            raise InvalidFile(f"{path}, line {number}: {error}; correct the line.") from error
        if not np.isfinite(vectors[row]).all():
            raise InvalidFile(f"{path}, line {number} contains NaN or infinity; correct the line.")
    return np.array(list(found), dtype=np.intp), vectors


def _lines(path: Path) -> Iterator[tuple[str, tuple[int, list[str]]]]:
    """Yield the words of a file with the number of the line and its numbers, as text."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    count = read = width = 0
    with opened(path, "rt", encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, 1):
            parts = line.split()
            if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
                count, width = map(int, parts)
                continue
            read += 1
            width = width or len(parts) - 1
            if width < 1 or len(parts) <= width:
                raise InvalidFile(
                    f"{path}, line {number}: expected a word and {max(1, width)} numbers, but "
                    f"there are {len(parts)} fields; get the file again."
                )
            # Otherwise a phrase of several words.
            if len(parts) == width + 1:
                yield parts[0], (number, parts[1:])
    if read < count:
        raise InvalidFile(f"{path} is cut off: it has {read:,} of {count:,} words; get it again.")


def _vocabulary_file(path: Path) -> Path:
    names = [f"{path.name}.vocab.txt", f"{path.name}.vocab.json", f"{path.stem}.txt"]
    for name in (*names, "tokenizer.json"):
        if path.with_name(name).is_file():
            return path.with_name(name)
    raise MissingData(
        f"{path} has no vocabulary next to it; name the words of its rows in "
        f"{path.name}.vocab.txt, one per line, or copy its tokenizer to {path.name}.vocab.json."
    )


def _from_rows(path: Path, words: Sequence[str]) -> tuple[Array, Array]:
    """Return the mean of the rows of each word; memory is bounded by a batch of rows."""
    from ..datasets.vector_files import open_vectors  # noqa: PLC0415 - searches do without it

    file = open_vectors(path)
    found = _rows_of(path, file.shape[0], words)
    owner = np.repeat(np.arange(len(found)), [len(own) for own in found.values()])
    rows = np.array([row for own in found.values() for row in own], dtype=np.intp)
    vectors = np.zeros((len(found), file.shape[1]), dtype=np.float32)
    first = 0
    for batch in file.batches():
        inside = (rows >= first) & (rows < first + len(batch))
        np.add.at(vectors, owner[inside], batch[rows[inside] - first].astype(np.float32))
        first += len(batch)
    vectors /= np.bincount(owner, minlength=len(found))[:, None]
    return np.array(list(found), dtype=np.intp), vectors


def _rows_of(path: Path, count: int, words: Sequence[str]) -> dict[int, list[int]]:
    """Return the rows of each word that the vocabulary of a file knows."""
    described = _vocabulary_file(path)
    content: Any = described.read_text(encoding="utf-8")
    if described.suffix == ".txt":
        content = [word.removesuffix("\r") for word in content.removesuffix("\n").split("\n")]
    else:
        try:
            content = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InvalidFile(f"{described} is not JSON: {error}; get it again.") from error
    if isinstance(content, dict) and isinstance(content.get("model"), dict):
        return _tokens(described, content["model"], count, words)
    entries: list[tuple[Any, Any]] = []
    if isinstance(content, list) and len(content) == count:
        entries = list(zip(content, range(count), strict=True))
    elif isinstance(content, dict):
        entries = list(content.items())
    fits = [isinstance(word, str) and type(n) is int and 0 <= n < count for word, n in entries]
    if not fits or not all(fits):
        raise InvalidFile(
            f"{described} must name the word of each of the {count:,} rows of {path}; "
            "use the vocabulary of the same vectors."
        )
    return {place: [row] for place, row in _chosen(entries, words).items()}


def _tokens(
    path: Path, model: Mapping[str, Any], count: int, words: Sequence[str]
) -> dict[int, list[int]]:
    """Return the tokens of each word that has some."""
    tokenizers = needed(str(path), "tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises no more specific error
        raise InvalidFile(f"{path} is not a tokenizer: {error}; get it again.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if tokenizer.get_vocab_size() > count:
        raise InvalidFile(
            f"{path} has {tokenizer.get_vocab_size():,} tokens, but there are {count:,} vectors; "
            "give the tokenizer of the same vectors."
        )
    unknown = model.get("unk_id")
    if isinstance(model.get("unk_token"), str):
        unknown = tokenizer.token_to_id(model["unk_token"])
    encoded = tokenizer.encode_batch(list(words), add_special_tokens=False)
    found = {n: [one for one in own.ids if one != unknown] for n, own in enumerate(encoded)}
    return {place: tokens for place, tokens in found.items() if tokens}
