"""The index that is served, and the next one when a writer has put it on disk."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from ..errors import LabelspanError
from ..index import Hit, SemanticIndex
from ..index.ann import installed
from .batching import Together
from .points import Map, draw

__all__ = ["Served", "Snapshot"]

_log = logging.getLogger("labelspan.web")
_SECONDS_BETWEEN_LOOKS = 1.0
# To read an index is to read all its files, which is too much to do in vain every second.
_LOOKS_AFTER_A_PROBLEM = 5
_MOST_KEPT = 500


class Snapshot:
    """One state of an index: it does not change while a request looks at it."""

    def __init__(self, index: SemanticIndex) -> None:
        self.index = index
        self.labels = index.labels
        self.tags = index.can_tag
        self._searches = Together(self._search_all)
        # What the index works out once and keeps, so that no request waits for it.
        index.axes(1, [0])
        self.map: Map | None = None
        self.map_state: Literal["drawing", "ready", "failed"] = "drawing"
        self.users = 0
        self.retired = False
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._keeping = threading.Lock()

    def keep(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What was made for a key, made where it is not known; those long unused are forgotten."""
        with self._keeping:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._keeping:
            self._kept[key] = made
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return made

    def search(self, text: str, k: int) -> list[Hit]:
        """Search all items for a text, together with those who search at the same time."""
        return self._searches.ask((text, k))

    def _search_all(self, asked: list[tuple[str, int]]) -> list[list[Hit]]:
        most = max(k for _, k in asked)
        found: list[list[Hit]] = self.index.search([text for text, _ in asked], most)
        return [hits[:k] for hits, (_, k) in zip(found, asked, strict=True)]

    def draw_map(self) -> None:
        """Lay the items out; where that fails, the rest of the explorer goes on."""
        try:
            self.map, self.map_state = draw(self.index), "ready"
        except Exception:
            _log.exception("The map could not be drawn.")
            self.map_state = "failed"

    def prepare_search(self) -> None:
        """Build what approximate search in a large index needs; searches are exact meanwhile."""
        try:
            if self.index.large and installed():
                self.index.prepare_search()
        except Exception:
            _log.exception("Approximate search could not be prepared.")


class Served:
    """The current snapshot of an index in a folder.

    A request holds the snapshot that was current when it came; one that a newer took the
    place of is closed when the last of its requests is done.

    Parameters
    ----------
    folder : path
        Of a saved index.

    Examples
    --------
    >>> from labelspan.web import Served
    >>> served = Served("papers.labelspan")  # doctest: +SKIP
    >>> with served.lease() as snapshot:  # doctest: +SKIP
    ...     len(snapshot.index)
    4899
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self._lock = threading.Lock()
        self._current = self._load()
        self._stop = threading.Event()
        self._undrawn = threading.Event()
        self._watcher: threading.Thread | None = None
        self._problem = ""

    @contextmanager
    def lease(self) -> Iterator[Snapshot]:
        """The current snapshot, which stays open as long as this lasts."""
        with self._lock:
            held = self._current
            held.users += 1
        try:
            yield held
        finally:
            self._let_go(held)

    def look_again(self) -> bool:
        """Take over what a writer has put on disk; gives whether there was anything.

        An index that cannot be read is no reason to stop: the one that is held goes on.
        """
        try:
            with self.lease() as held:
                if not held.index.stale():
                    self._problem = ""
                    return False
            newer = self._load()
        except Exception as error:
            # Whatever it is, who looks must look again later.
            if repr(error) != self._problem:
                self._problem = repr(error)
                known = isinstance(error, LabelspanError | OSError)
                words = "The index changed and cannot be read, the old one stays: %s"
                _log.warning(words, error, exc_info=None if known else error)
            return False
        with self._lock:
            older, self._current = self._current, newer
            older.users += 1
            older.retired = True
        self._problem = ""
        self._let_go(older)
        _log.info("The index changed: %s items.", f"{len(newer.index):,}")
        return True

    def _load(self) -> Snapshot:
        # In memory: a file that someone cuts short must not end the server.
        index = SemanticIndex.load(self.folder, mapped=False)
        try:
            return Snapshot(index)
        except BaseException:
            index.close()
            raise

    def _let_go(self, held: Snapshot) -> None:
        with self._lock:
            held.users -= 1
            done = held.retired and not held.users
        if done:
            held.index.close()

    # --- watching -----------------------------------------------------------------------

    def start(self) -> None:
        """Draw the map and look for changes, in the background, until ``close``."""
        self._undrawn.set()
        # A thread of its own, so that changes are seen while a map is drawn; one, so that an
        # index that changes often has not many of its states drawn at once.
        threading.Thread(target=self._draw, name="draw", daemon=True).start()
        self._watcher = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._watcher.start()

    def _watch(self) -> None:
        while True:
            looks = _LOOKS_AFTER_A_PROBLEM if self._problem else 1
            if self._stop.wait(looks * _SECONDS_BETWEEN_LOOKS):
                return
            if self.look_again():
                self._undrawn.set()

    def _draw(self) -> None:
        while True:
            self._undrawn.wait()
            if self._stop.is_set():
                return
            self._undrawn.clear()
            with self.lease() as held:
                held.draw_map()
                held.prepare_search()

    def close(self) -> None:
        """Stop looking, and let go of the index."""
        self._stop.set()
        self._undrawn.set()
        if self._watcher is not None:
            self._watcher.join()
        with self._lock:
            held = self._current
            held.users += 1
            held.retired = True
        self._let_go(held)
