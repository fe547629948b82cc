"""Text in UTF-8 that a program took for cp1252 and saved in UTF-8 again: Ã© instead of é.

The encoding ``"utf-8-twice"`` reads such text as it was; it is registered by this module.
"""

from __future__ import annotations

import codecs
import re

__all__ = ["TWICE", "is_read_twice"]

TWICE = "utf-8-twice"
# By character, the byte that cp1252 reads as it, also of the five bytes that it leaves out.
_BYTES = {bytes([n]).decode("cp1252", "ignore") or chr(n): n for n in range(0x80, 0x100)}
_LEADS = "".join(one for one, n in _BYTES.items() if 0xC2 <= n <= 0xF4)
_TAILS = "".join(one for one, n in _BYTES.items() if n < 0xC0)
_ONCE = re.compile(f"[{re.escape(_LEADS)}][{re.escape(_TAILS)}]{{1,3}}")
# What texts in Western languages never have: an accented letter and a sign, as in Ã©.
_SIGNS = re.compile(
    "\u00e2\u20ac[\u2122\u0153\x9d\u201c\u201d\xa6\xa2\u02dc]"
    "|\u00c3[\u0192\u201a\xa0-\xbf]|\u00c2[\xa0-\xbf]"
)


def _restored(match: re.Match[str]) -> str:
    try:
        return bytes(_BYTES[one] for one in match[0]).decode("utf-8")
    except UnicodeDecodeError:
        return match[0]


def is_read_twice(text: str) -> bool:
    """Return whether a text looks like UTF-8 that was read as cp1252."""
    return bool(_SIGNS.search(text))


class _Decoder(codecs.IncrementalDecoder):
    """Decodes UTF-8, and what it holds once more; what was not read twice stays."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")(errors)
        self._kept = ""

    def decode(self, content: bytes, final: bool = False) -> str:  # type: ignore[override]
        text, self._kept = self._kept + self._utf8.decode(content, final), ""
        # The end may go on in the next piece.
        end = len(text)
        while not final and end and len(text) - end < 4 and text[end - 1] in _BYTES:
            end -= 1
        text, self._kept = text[:end], text[end:]
        return _ONCE.sub(_restored, text)

    def reset(self) -> None:
        self._utf8.reset()
        self._kept = ""


def _decode(content: bytes, errors: str = "strict") -> tuple[str, int]:
    return _Decoder(errors).decode(bytes(content), final=True), len(content)


def _search(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != TWICE:
        return None
    utf8 = codecs.lookup("utf-8")
    return codecs.CodecInfo(
        utf8.encode,
        _decode,  # type: ignore[arg-type]
        incrementaldecoder=_Decoder,
        name=TWICE,
        incrementalencoder=utf8.incrementalencoder,
    )


codecs.register(_search)
