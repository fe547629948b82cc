"""The plain text of a piece of HTML, by the parser of the standard library."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from .names import known_names

__all__ = ["plain_text"]

_HIDDEN = {"script", "style", "template"}
# Signs that begin elements without an end, more than in any page.
_OPEN, _NEVER_CLOSED = 100, re.compile(r"<(?![^<>]*>)")


class _Text(HTMLParser):
    """Collects text; unknown elements stay as they are written, but those with a namespace go."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def _element(self, name: str) -> None:
        if name in known_names("html_blocks"):
            self.parts.append("\n")
        elif not (
            name in known_names("html_inline") or name in _HIDDEN or ":" in name or self.hidden
        ):
            self.parts.append(self.rawdata[slice(*self._span)])

    def parse_starttag(self, i: int) -> int:
        # The raw text of an element is needed before it is handled.
        end = self.check_for_whole_start_tag(i)
        self._span = (i, max(end, i))
        return super().parse_starttag(i)

    def parse_endtag(self, i: int) -> int:
        end = self.rawdata.find(">", i + 1)
        self._span = (i, end + 1 if end >= 0 else i)
        return super().parse_endtag(i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in _HIDDEN
        self._element(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._element(tag)

    def handle_endtag(self, tag: str) -> None:
        self.hidden = max(0, self.hidden - (tag in _HIDDEN))
        self._element(tag)

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def plain_text(text: str) -> str:
    """Return the text of a piece of HTML.

    Examples
    --------
    >>> from labelspan.corpus.plain_text import plain_text
    >>> plain_text("<p>If x < 3 and y > 2, <b>then</b> R&amp;D.</p><script>no()</script>")
    'If x < 3 and y > 2, then R&D.'
    """
    if "<" not in text and "&" not in text:
        return re.sub(r"\n\s*\n+", "\n\n", text).strip()
    if text.count("<") > _OPEN + 2 * text.count(">"):
        # The parser takes the square of what never ends.
        text = _NEVER_CLOSED.sub("&lt;", text)
    parser = _Text()
    parser.feed(text)
    parser.close()
    return re.sub(r"\n\s*\n+", "\n\n", "".join(parser.parts)).strip()
