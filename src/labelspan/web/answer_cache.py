"""Values that were used lately, up to a number of them and of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

__all__ = ["AnswerCache"]

_MOST, _MOST_BYTES = 2000, 1 << 25
# What an entry takes besides its text.
_OVERHEAD = 500


class AnswerCache:
    """Keep what was made for a key; the least recently used are dropped.

    Parameters
    ----------
    most : int, default=2000
        Number of entries.
    most_bytes : int, default=2**25
        Bytes of all bodies, arrays and keys together. Nothing larger than a tenth of it is kept.

    Examples
    --------
    >>> from labelspan.web.answer_cache import AnswerCache
    >>> cache = AnswerCache(most=1)
    >>> cache.get(("a",), lambda: 1), cache.get(("a",), lambda: 2), cache.get(("b",), lambda: 3)
    (1, 1, 3)
    >>> cache.get(("a",), lambda: 4)
    4
    """

    def __init__(self, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self._cleared = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[Hashable, ...], make: Callable[[], Any]) -> Any:
        """Return what is kept for a key, or make it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
            before = self._cleared
        made = make()
        content = len(getattr(made, "body", b"")) + getattr(made, "nbytes", 0)
        size = _OVERHEAD + content + sum(map(_length, key))
        with self._lock:
            # What was made from labels that have changed meanwhile is not kept.
            if before == self._cleared and key not in self._kept and 10 * size <= self._most_bytes:
                self._kept[key] = made, size
                self._bytes += size
                while len(self._kept) > self._most or self._bytes > self._most_bytes:
                    self._bytes -= self._kept.popitem(last=False)[1][1]
        return made

    def clear(self) -> None:
        """Forget everything, also what is being made now."""
        with self._lock:
            self._cleared += 1
            self._kept.clear()
            self._bytes = 0


def _length(part: Any) -> int:
    """Return the number of bytes that a part of a key takes at most."""
    if isinstance(part, str):
        return 4 * len(part)
    return sum(map(_length, part)) if isinstance(part, tuple) else 0
