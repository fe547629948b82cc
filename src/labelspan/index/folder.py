"""An index and its folder: saving, loading, and who may write."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ..errors import InvalidInput, Mismatch
from .corpus import Corpus
from .generation import read_index, write_index
from .learn import Model
from .manifest import MANIFEST, field, read_manifest
from .store import Lock, commit, opened, prepared

__all__ = ["Stored"]

Where = str | os.PathLike[str]


class Stored:
    """A model and a corpus, in memory or in a folder."""

    # Of an index that was saved without it.
    approximate_from = 300_000

    def __init__(self, *, vectorizer: Any, estimator: Any, folds: int, random_state: int) -> None:
        self.vectorizer = vectorizer
        self.estimator = estimator
        self.folds = folds
        self.random_state = random_state
        self._model: Model | None = None
        self._corpus: Corpus | None = None
        self._folder: Path | None = None
        self._generation = ""
        self._lock: Lock | None = None
        self._mapped = True

    # --- saving and loading -----------------------------------------------------------

    def save(self, path: Where | None = None) -> Self:
        """Write the index to a folder, in place of an index that may be there.

        A kill at any moment leaves the old index or the new one; so does a full disk. Those
        who read the old one go on reading it.

        Parameters
        ----------
        path : path or None, default=None
            A folder: new, empty, or with an index in it. None writes the index anew where it
            was loaded for writing, items that were added or removed put in order.

        Returns
        -------
        self

        Examples
        --------
        >>> import tempfile
        >>> from labelspan import SemanticIndex
        >>> texts = ["a chess game", "chess online", "edit photos", "crop pictures"]
        >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = index.save(folder)
        ...     with SemanticIndex.load(folder, write=True) as writer:
        ...         _ = writer.add(["a game of dice"], ids=["new"])
        ...     with SemanticIndex.load(folder) as reader:
        ...         reader.item("new").text
        'a game of dice'
        """
        model, corpus = self._fitted()
        if path is None and self._folder is None:
            raise InvalidInput("save: this index has no folder yet; give one.")
        folder = self._folder if path is None else Path(path)
        assert folder is not None
        own = self._folder is not None and folder.resolve() == self._folder.resolve()
        if own and self._lock is None:
            raise self._read_only("save")
        settings = {
            "default_vectorizer": isinstance(self.vectorizer, str),
            "default_estimator": self.estimator is None,
            "folds": self.folds,
            "random_state": self.random_state,
            "approximate_from": self.approximate_from,
        }
        new = not folder.exists()
        folder = prepared(folder)
        lock = self._lock if own and self._lock is not None else Lock(folder)
        try:
            commit(folder, lambda made, key: write_index(made, key, model, corpus, settings))
        except BaseException:
            if new and not (folder / MANIFEST).exists():
                shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            if lock is not self._lock:
                lock.release()
        if own:
            self._open(write=True, verify=False)
        return self

    @classmethod
    def load(
        cls, path: Where, *, write: bool = False, verify: bool = True, mapped: bool = True
    ) -> Self:
        """Open a saved index. No code in it is run.

        Parameters
        ----------
        path : path
            The folder.
        write : bool, default=False
            Whether items will be added or removed: each change is then on disk when its call
            returns. One writer at a time; readers go on beside it.
        verify : bool, default=True
            Whether to see that every file and item is what was written. Otherwise sizes and
            shapes alone are checked.
        mapped : bool, default=True
            Whether arrays are read from their files when they are needed. Otherwise they are
            held in memory, and a file that is cut short later does no harm: a process that
            reads a mapped one beyond its end is ended by the system.

        Returns
        -------
        SemanticIndex
            Close a writer when done, or use it in a ``with`` statement.

        Raises
        ------
        MissingData
            Where there is no index.
        InvalidFile
            Where it is damaged, foreign or of a later format.
        Locked
            Where another writer has it open.
        """
        index = cls.__new__(cls)
        folder = Path(path)
        read_manifest(folder)
        Stored.__init__(index, vectorizer="tfidf", estimator=None, folds=2, random_state=0)
        index._folder = folder
        index._mapped = mapped
        index._lock = Lock(folder) if write else None
        try:
            index._open(write=write, verify=verify)
        except BaseException:
            index.close()
            raise
        return index

    def _open(self, *, write: bool, verify: bool) -> None:
        """Take over what is in the folder, in place of what is held."""
        assert self._folder is not None

        def read(folder: Path, content: dict[str, Any]) -> tuple[Any, ...]:
            found = read_index(folder, content, write=write, verify=verify, mapped=self._mapped)
            return (*found, folder.name)

        model, corpus, settings, generation = opened(self._folder, read)
        try:
            numbers = {name: field(settings, name, int) for name in ("folds", "random_state")}
            if "approximate_from" in settings:
                numbers["approximate_from"] = field(settings, "approximate_from", int)
            own = None if model.vectorizer is None else clone(model.vectorizer)
            estimator = None if settings.get("default_estimator") else clone(model.estimator)
        except BaseException:
            corpus.close()
            raise
        if self._corpus is not None:
            self._corpus.close()
        self._model, self._corpus, self._generation = model, corpus, generation
        self.vectorizer = "tfidf" if settings.get("default_vectorizer") else own
        self.estimator = estimator
        vars(self).update(numbers)

    def refresh(self) -> bool:
        """Read the index again if a writer has changed it; gives whether it had."""
        if not self.stale():
            return False
        self._open(write=False, verify=True)
        return True

    def stale(self) -> bool:
        """Whether a writer has changed the folder since it was read."""
        _, corpus = self._fitted()
        if self._folder is None or self._lock is not None:
            return False
        current = read_manifest(self._folder).get("generation")
        return current != self._generation or corpus.changed()

    def close(self) -> None:
        """Let go of the folder, so that others may write to it."""
        if self._corpus is not None:
            self._corpus.close()
        if self._lock is not None:
            self._lock.release()
        self._model = self._corpus = self._lock = self._folder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def writable(self) -> bool:
        """Whether items can be added and removed: in memory, or as the writer of a folder."""
        return self._folder is None or self._lock is not None

    # --- for those below --------------------------------------------------------------

    def _fitted(self) -> tuple[Model, Corpus]:
        if self._model is None or self._corpus is None:
            raise NotFittedError(
                "This SemanticIndex holds nothing; call fit, or SemanticIndex.load."
            )
        return self._model, self._corpus

    def _changing(self, what: str) -> tuple[Model, Corpus]:
        found = self._fitted()
        if not self.writable:
            raise self._read_only(what)
        return found

    def _read_only(self, what: str) -> Mismatch:
        return Mismatch(
            f"{what}: the index in {str(self._folder)!r} was loaded for reading; load it with "
            "write=True."
        )
