"""A block of features: vectors of a language model, or given with the items.

With v the vector of an item, its block is ``length * unit(v - mean)``, without the dimensions that
are only rounding. What is stored of an item is ``unit(v - mean)``, in half precision; the mean is
that of the items of the fit. The model is never a part of the index: it is found again by its name,
and must give the same vectors for a few texts of the fit. Without it, queries have a block of
zeros: they are compared by their words.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import ArrayFile
from .._typing import Array
from ..errors import InvalidFile, InvalidInput, LabelspanError, Mismatch
from ..models import FunctionModel, TextModel, VectorStore, is_server, open_model
from ..models.embedding_server import is_local
from ..models.text_model import same_answers
from ..operators.digits import dead_dimensions
from .folder import Files
from .inputs import read_vectors
from .vectors import unit_rows

__all__ = [
    "BLOCK_FILE",
    "ROWS_FILE",
    "BlockSource",
    "ModelBlock",
    "as_model",
    "as_source",
    "block_rows",
    "fit_block",
]

BLOCK_FILE, ROWS_FILE = "model_block", "model_rows"
# Where the model is, if it is not where it was at the fit.
_NAMED = "LABELSPAN_MODEL"
# Items whose texts are encoded again to know the model, and the longest of these texts.
_PROBES, _LONGEST_PROBE = 3, 2000
# Vectors that are made rows at a time.
_AT_ONCE = 2048
# Queries whose vectors are kept, and seconds after which a model that failed is asked again.
_KEPT, _PAUSE = 1000, 30.0


@dataclass(frozen=True)
class BlockSource:
    """Where the vectors of items come from: a model, vectors given with the items, or both.

    With ``block``, that of an index that is fitted again, ``vectors`` are the rows that it has.
    """

    model: TextModel | None = None
    vectors: Any = None
    block: ModelBlock | None = None

    @property
    def fingerprint(self) -> list[str]:
        """What must be the same for an interrupted fit to go on."""
        given = self.vectors
        name = "" if self.model is None else self.model.name
        if given is None:
            return [name]
        return [name, hashlib.sha256(np.ascontiguousarray(given).tobytes()).hexdigest()]


def as_source(model: Any, encoder: Any, vectors: Any, device: Any = None) -> BlockSource | None:
    """Return the source of what was given to a fit; None without any."""
    if encoder is not None and model is not None:
        raise Mismatch("fit: encoder= and model= are both language models; give one.")
    if encoder is not None:
        return BlockSource(_encoder(encoder), vectors)
    if model is not None:
        return BlockSource(as_model(model, device), vectors)
    return None if vectors is None else BlockSource(None, vectors)


def as_model(model: Any, device: Any = None) -> TextModel:
    """Return an open model: one that is given, or the one of a name."""
    if isinstance(model, TextModel):
        return model
    return open_model(model, device=None if device is None else str(device))


def _encoder(encode: Any) -> TextModel:
    if not callable(encode):
        raise InvalidInput("encoder must be a function from a list of texts to vectors.")
    return FunctionModel(encode)


class ModelBlock:
    """Map from vectors of a model to the rows of a block, and the model, which may be missing.

    ``lengths`` are those of the block in the embedding and in the tagger. ``takes_vectors`` says
    that there is no model: items are added with their vectors.
    """

    def __init__(
        self,
        name: str,
        mean: Array,
        live: Array,
        lengths: tuple[float, float] = (1.0, 1.0),
        probes: tuple[Sequence[str], Array] | None = None,
        *,
        takes_vectors: bool = False,
    ) -> None:
        self.name, self.mean, self.live = name, mean, live
        self.lengths = lengths
        self.takes_vectors = takes_vectors
        self._probes = probes
        self._model: TextModel | None = None
        self._problem, self._tried = "", -_PAUSE
        self._opening = threading.Lock()
        self._known: OrderedDict[str, Array] = OrderedDict()
        self._device: Any = None

    # --- learning ---------------------------------------------------------------------

    @classmethod
    def learn(cls, source: BlockSource, vectors: Array, texts: Sequence[str]) -> ModelBlock:
        """Learn the mean and the dimensions of the vectors of some items."""
        mean = vectors.mean(axis=0, dtype=np.float64)
        live = np.flatnonzero(~dead_dimensions(vectors))
        if not live.size:
            raise InvalidInput(
                "fit: all items have the same vector, so there is nothing to learn from; omit the "
                "model, or use another one."
            )
        model = source.model
        probes = None
        if model is not None:
            some = [n for n, text in enumerate(texts) if text.strip()][:_PROBES]
            own = [texts[n][:_LONGEST_PROBE] for n in some]
            probes = own, model.vectors(own)
        name = "" if model is None else model.name
        made = cls(name, mean, live, probes=probes, takes_vectors=model is None)
        made._model = model
        return made

    @property
    def width(self) -> int:
        """Number of columns of the block."""
        return int(self.live.size)

    def rows(self, vectors: Array) -> Array:
        """Return the rows of the block, of length 1, of some vectors."""
        if vectors.shape[1] != self.mean.size:
            raise InvalidInput(
                f"Vectors must have {self.mean.size} dimensions as in fit, but have "
                f"{vectors.shape[1]}."
            )
        found = np.empty((len(vectors), self.width), dtype=np.float32)
        # A part that fits the cache takes half of the time.
        for start in range(0, len(vectors), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            own = np.asarray(vectors[part], dtype=np.float64)[:, self.live] - self.mean[self.live]
            # Rounded to what is stored, so that a text has the same row whenever it is added.
            found[part] = unit_rows(own).astype(np.float16)
        return found

    # --- the model --------------------------------------------------------------------

    @property
    def named(self) -> str:
        """Name of the model, or where the vectors come from instead."""
        return "given vectors" if self.takes_vectors else self.name or "an encoder"

    @property
    def described(self) -> str:
        """Name of the model for people."""
        return f"the model {self.name!r}" if self.name else "the encoder of the fit"

    @property
    def answers(self) -> bool:
        """Whether there is a model, so that queries have vectors."""
        return self._ready() is not None

    @property
    def problem(self) -> str:
        """A sentence if the model is missing, so that only words are compared; else empty."""
        if self.takes_vectors or self._ready() is not None:
            return ""
        return (
            f"Search and tags use only the words, because {self.described} is missing: "
            f"{self._problem}"
        )

    def use(self, model: TextModel | None, device: Any = None) -> None:
        """Take a model that the caller gives; raise an error if it is another one."""
        self._device = device
        if model is not None:
            self._check(model)
            self._model, self._problem = model, ""

    def _check(self, model: TextModel) -> None:
        if self._probes is None:
            return
        texts, rows = self._probes
        found = model.hurried().vectors(list(texts))
        if not same_answers(np.asarray(found), rows):
            raise Mismatch(
                f"{model.name or 'The encoder'!s} gives other vectors than the model with which "
                "the index was fitted; give that model, or fit again."
            )

    def _ready(self) -> TextModel | None:
        """Return the model, opened when it is needed first; None if it cannot be used."""
        if self._model is not None or self.takes_vectors:
            return self._model
        with self._opening:
            return self._opened()

    def _opened(self) -> TextModel | None:
        """Return the model, found by its name unless that failed a moment ago."""
        if self._model is None and time.monotonic() - self._tried >= _PAUSE:
            self._tried = time.monotonic()
            try:
                self._model = self._found()
            except LabelspanError as error:
                self._problem = str(error)
        return self._model

    def _found(self) -> TextModel:
        named = os.environ.get(_NAMED, "")
        if not self.name and not named:
            raise Mismatch("give it as load(path, encoder=...).")
        if is_server(self.name) and not is_local(self.name) and not named:
            # An index from elsewhere must not send anybody's queries to a foreign machine.
            raise Mismatch(
                f"its server is not on this machine; set {_NAMED} to its address to use it."
            )
        model = open_model(named or self.name, device=self._device)
        self._check(model)
        return model

    def of_queries(self, texts: Sequence[str]) -> Array:
        """Return the rows of queries; zeros without the model, and for empty texts."""
        out = np.zeros((len(texts), self.width), dtype=np.float32)
        model = self._ready()
        if model is None:
            return out
        with self._opening:
            known = {text: self._known[text] for text in texts if text in self._known}
        missing = [text for text in dict.fromkeys(texts) if text.strip() and text not in known]
        if missing:
            try:
                new = self.rows(model.hurried().vectors(missing, query=True))
            except LabelspanError as error:
                # A server that has stopped: the next queries do not wait for it.
                self._model, self._problem = None, str(error)
                self._tried = time.monotonic()
                new = np.zeros((0, self.width), dtype=np.float32)
            known.update(zip(missing, new, strict=False))
        with self._opening:
            for text, row in known.items():
                self._known[text] = row
                self._known.move_to_end(text)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        for place, text in enumerate(texts):
            if text in known:
                out[place] = known[text]
        return out

    def of_items(self, texts: Sequence[str], vectors: Any, owner: str) -> Array:
        """Return the rows of new items, from their vectors or by the model."""
        if vectors is not None or self.takes_vectors:
            return self.rows(given_vectors(vectors, len(texts), owner))
        model = self._ready()
        if model is None:
            raise Mismatch(
                f"{owner}: {self.described} is needed for new items, but is missing: "
                f"{self._problem}"
            )
        return block_rows(self, VectorStore().vectors(model, texts), texts)

    # --- files ------------------------------------------------------------------------

    def write(self, files: Files) -> None:
        """Write it, without the model and the rows."""
        texts, rows = self._probes or ((), np.zeros((0, self.mean.size), dtype=np.float32))
        arrays = {
            "mean": self.mean,
            "live": self.live.astype(np.int64),
            "lengths": np.array(self.lengths, dtype=np.float64),
            "probes": rows,
            "texts": np.frombuffer(json.dumps(list(texts)).encode(), dtype=np.uint8),
        }
        files.write(BLOCK_FILE, arrays, model=self.name, takes_vectors=self.takes_vectors)

    @classmethod
    def read(cls, file: ArrayFile) -> ModelBlock:
        """Read it; raise InvalidFile if it is damaged."""
        arrays, about = file.arrays(), file.about
        names = ("mean", "live", "lengths", "probes")
        mean, live, lengths, probes = (np.array(arrays.get(key, np.zeros(0))) for key in names)
        try:
            texts = json.loads(bytes(arrays["texts"]))
        except (KeyError, ValueError, RecursionError):
            texts = None
        name, takes_vectors = about.get("model"), about.get("takes_vectors")
        fits = (
            isinstance(name, str)
            and isinstance(takes_vectors, bool)
            and isinstance(texts, list)
            and all(isinstance(text, str) for text in texts)
            and mean.ndim == live.ndim == 1
            and mean.dtype == np.float64
            and live.dtype == np.int64
            and bool((np.diff(live) > 0).all())
            and live.size > 0
            and live[0] >= 0
            and live[-1] < mean.size
            and probes.shape == (len(texts), mean.size)
            and lengths.shape == (2,)
            and all(bool(np.isfinite(one).all()) for one in (mean, lengths, probes))
            and bool((lengths > 0).all())
        )
        if not fits:
            raise InvalidFile(f"{file.path} is damaged; fit the index again.")
        known = None if takes_vectors else (texts, probes)
        made = cls(str(name), mean, live, tuple(lengths.tolist()), known)
        made.takes_vectors = bool(takes_vectors)
        return made


def block_rows(block: ModelBlock, vectors: Array, texts: Sequence[str]) -> Array:
    """Return the rows of items from vectors of their texts; zeros for an empty text."""
    found = block.rows(vectors)
    found[[not text.strip() for text in texts]] = 0.0
    return found


def given_vectors(vectors: Any, count: int, owner: str) -> Array:
    """Check dense vectors given with items: finite numbers, one row per item."""
    found = read_vectors(vectors, count, owner)
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def fit_block(
    source: BlockSource,
    texts: Callable[[], Sequence[str]],
    count: int,
    report: Callable[[str], Any],
) -> tuple[ModelBlock, Array]:
    """Compute or check the vectors of all items; return the block, and its rows."""
    if source.block is not None:
        return source.block, source.vectors
    if source.vectors is not None:
        vectors = given_vectors(source.vectors, count, "fit")
        block = ModelBlock.learn(source, vectors, texts())
        return block, block.rows(vectors)
    assert source.model is not None
    every = texts()
    with_text = [text for text in every if text.strip()]
    if not with_text:
        raise InvalidInput("fit: the texts are empty, so that a model has nothing to encode.")

    def tell(done: int, total: int, seconds: float) -> None:
        rate = done / max(seconds, 1e-9)
        left = (total - done) / max(rate, 1e-9)
        report(
            f"encoding texts: {done:,} of {total:,}, {rate:,.0f} a second, {_duration(left)} left"
        )

    found = VectorStore().vectors(source.model, every, tell)
    some = np.array([bool(text.strip()) for text in every])
    block = ModelBlock.learn(source, found[some], with_text)
    return block, block_rows(block, found, every)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
