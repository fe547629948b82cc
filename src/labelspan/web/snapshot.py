"""The index that is served, and the next one when a writer has put it on disk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Literal

from ..errors import InvalidInput, LabelspanError, Mismatch
from ..index import Hit, SemanticIndex
from .points import Map, draw
from .together import Together

__all__ = ["Served", "Snapshot"]

_log = logging.getLogger("labelspan.web")
_SECONDS_BETWEEN_LOOKS = 1.0


class Snapshot:
    """One state of an index: it does not change while a request looks at it."""

    def __init__(self, index: SemanticIndex) -> None:
        self.index = index
        self.labels = index.labels
        self.tags = _tags(index)
        self._searches = Together(self._search_all)
        # What the index works out once and keeps, so that no request waits for it.
        index.axes(1, [0])
        self.map: Map | None = None
        self.map_state: Literal["drawing", "ready", "failed"] = "drawing"
        self.users = 0
        self.retired = False

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


class Served:
    """The current snapshot of an index in a folder.

    A request holds the snapshot that was current when it came; one that a newer took the
    place of is closed when the last of its requests is done.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self._lock = threading.Lock()
        self._current = Snapshot(SemanticIndex.load(self.folder))
        self._stop = threading.Event()
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
            newer = Snapshot(SemanticIndex.load(self.folder))
        except (LabelspanError, OSError) as error:
            if str(error) != self._problem:
                self._problem = str(error)
                _log.warning("The index changed and cannot be read, the old one stays: %s", error)
            return False
        with self._lock:
            older, self._current = self._current, newer
            older.users += 1
            older.retired = True
        self._let_go(older)
        _log.info("The index changed: %s items.", f"{len(newer.index):,}")
        return True

    def _let_go(self, held: Snapshot) -> None:
        with self._lock:
            held.users -= 1
            done = held.retired and not held.users
        if done:
            held.index.close()

    # --- watching -----------------------------------------------------------------------

    def start(self) -> None:
        """Draw the map and look for changes, in the background, until ``close``."""
        self._watcher = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._watcher.start()

    def _watch(self) -> None:
        while True:
            # A thread of its own, so that changes are seen while a map is drawn.
            threading.Thread(target=self._draw, name="draw", daemon=True).start()
            while not self.look_again():
                if self._stop.wait(_SECONDS_BETWEEN_LOOKS):
                    return

    def _draw(self) -> None:
        with self.lease() as held:
            held.draw_map()

    def close(self) -> None:
        """Stop looking, and let go of the index."""
        self._stop.set()
        if self._watcher is not None:
            self._watcher.join()
        with self._lock:
            held = self._current
            held.users += 1
            held.retired = True
        self._let_go(held)


def _tags(index: SemanticIndex) -> bool:
    """Whether an index has learned labels."""
    try:
        index.tag(items=index.ids[:1], k=1)
    except InvalidInput as error:
        # An index without any item may still know labels.
        return not isinstance(error, Mismatch)
    return True
