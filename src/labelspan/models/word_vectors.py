"""Static models: the mean of vectors of words (text of word2vec) or of tokens (model2vec)."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import ArrayFile, write_arrays
from .._files import cache_folder
from .._install import needed
from .._typing import Array
from ..errors import InvalidFile, LabelspanError
from ..text import Analyzer, normalise
from ..text.vocabulary import pack_strings, unpack_strings
from .text_model import TextModel

__all__ = ["TokenVectors", "WordVectors"]

# Words of a file that are read, which are the most frequent first.
_MOST_WORDS = 1_000_000
_EMBEDDINGS = ("embeddings", "embedding.weight")


def _means(lists: Sequence[Sequence[int]], vectors: Array) -> Array:
    """Return for each list of rows of vectors their mean; zeros for an empty one."""
    out = np.zeros((len(lists), vectors.shape[1]), dtype=np.float32)
    for number, rows in enumerate(lists):
        if rows:
            out[number] = vectors[rows].mean(axis=0)
    return out


class WordVectors(TextModel):
    r"""Means of the vectors of words in a file of text, plain or compressed by gzip.

    Each line has a word and its numbers; the first may have the number of words and of dimensions.
    A word that the file has only in another case gets the vector of the first match. The file is
    read once; what was read is kept in the cache folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.models.word_vectors import WordVectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "vectors.txt"
    ...     _ = file.write_text("chess 1 0\nOslo 0 2\n")
    ...     WordVectors(file).vectors(["Chess in Oslo", "nothing"])
    array([[0.5, 1. ],
           [0. , 0. ]], dtype=float32)
    """

    stored = False
    batch = 4096

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        words, self._vectors = _cached(path)
        self._rows = {word: row for row, word in enumerate(words)}
        self._analyzer = Analyzer("none")
        self.size = int(self._vectors.shape[1])

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        get = self._rows.get
        found = [
            [row for word, _, _ in self._analyzer.query(text) if (row := get(word)) is not None]
            for text in texts
        ]
        return _means(found, self._vectors)


def _cached(path: Path) -> tuple[list[str], Array]:
    """Return the words of a file and their vectors; read them again if the file has changed."""
    about = path.stat()
    key = hashlib.sha256(f"{path}\0{about.st_size}\0{about.st_mtime_ns}".encode()).hexdigest()
    kept = cache_folder() / "word-vectors" / f"{key[:32]}.arrays"
    with suppress(LabelspanError, OSError, KeyError):
        arrays = ArrayFile(kept, verify=False).arrays()
        return unpack_strings("words", arrays), arrays["vectors"]
    try:
        words, vectors = _from_text(path)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidFile(f"{path} cannot be read: {error}; get it again.") from error
    # A cache that cannot be written is done without.
    with suppress(LabelspanError):
        write_arrays(kept, {"words": pack_strings(words), "vectors": vectors})
    return words, vectors


def _from_text(path: Path) -> tuple[list[str], Array]:
    """Read words, normalised, and their vectors."""
    rows: dict[str, Array] = {}
    folded: dict[str, Array] = {}
    for word, number, parts in _lines(path):
        try:
            vector = np.array(parts, dtype=np.float32)
        except ValueError as error:
            raise InvalidFile(f"{path}, line {number}: {error}; correct the line.") from error
        name = normalise(word)
        (rows if name == word else folded).setdefault(name, vector)
        if len(rows) + len(folded) >= _MOST_WORDS:
            break
    found = {**folded, **rows}
    if not found:
        raise InvalidFile(f"{path} has no word vectors; get it again.")
    vectors = np.stack(list(found.values()))
    if not np.isfinite(vectors).all():
        raise InvalidFile(f"{path} contains NaN, infinity or numbers too large; correct it.")
    return list(found), vectors


def _lines(path: Path) -> Iterator[tuple[str, int, list[str]]]:
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
                yield parts[0], number, parts[1:]
    if read < count:
        raise InvalidFile(f"{path} is cut off: it has {read:,} of {count:,} words; get it again.")


class TokenVectors(TextModel):
    """Means of the vectors of tokens: a folder of model2vec."""

    stored = False
    batch = 4096

    def __init__(self, folder: Path, name: str) -> None:
        from ..datasets.vector_files import open_vectors  # noqa: PLC0415 - searches do without it

        self.name = name
        tokenizers = needed(f"The model {name!r}", "tokenizers", "model")
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self._normalize = bool(config.get("normalize", False))
        weights = folder / "model.safetensors"
        last: LabelspanError | None = None
        for tensor in _EMBEDDINGS:
            try:
                self._vectors = open_vectors(weights, name=tensor).read().astype(np.float32)
                break
            except LabelspanError as error:
                last = error
        else:
            raise InvalidFile(f"{weights} has no embeddings of tokens: {last}")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the package raises no more specific error
            raise InvalidFile(f"{folder / 'tokenizer.json'} is damaged: {error}.") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        if self._tokenizer.get_vocab_size() > len(self._vectors):
            raise InvalidFile(
                f"{folder} has {self._tokenizer.get_vocab_size():,} tokens, but "
                f"{len(self._vectors):,} vectors; get the model again."
            )
        model = json.loads(self._tokenizer.to_str()).get("model", {})
        self._unknown = model.get("unk_id")
        if isinstance(model.get("unk_token"), str):
            self._unknown = self._tokenizer.token_to_id(model["unk_token"])
        self.size = int(self._vectors.shape[1])

    @staticmethod
    def fits(folder: Path) -> bool:
        """Return whether a folder has a model of model2vec."""
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        weights = (folder / "model.safetensors").is_file()
        return isinstance(config, dict) and config.get("model_type") == "model2vec" and weights

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        found = [[one for one in own.ids if one != self._unknown] for own in encoded]
        rows = _means(found, self._vectors)
        if self._normalize:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            rows /= np.where(norms > 0, norms, 1)
        return rows
