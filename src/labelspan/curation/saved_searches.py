"""Saved searches of an index, which refer to labels by number and follow their new names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from ..errors import InvalidInput
from ..index.history import By, as_value, value_of
from .decisions import apply_cells

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["SavedSearches"]

# Parameters of the list whose values are labels.
_LABELS = frozenset({"label", "without"})
_LONGEST_NAME, _LONGEST_ADDRESS, _MOST_SEARCHES = 100, 20_000, 1000


class SavedSearches:
    """Named searches that are stored in an index.

    Parameters
    ----------
    index : SemanticIndex
        To save a search of an index in a folder, load it with ``write=True``.

    See Also
    --------
    SemanticIndex.browse : Search and filter.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import SavedSearches
    >>> texts = ["a chess game", "play chess", "edit photos", "crop a photo"]
    >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]])
    >>> searches = SavedSearches(index)
    >>> searches.save("chess without games", "q=chess&without=game")
    >>> searches.all()
    {'chess without games': 'q=chess&without=game'}
    """

    def __init__(self, index: SemanticIndex) -> None:
        self.index = index

    def all(self) -> dict[str, str]:
        """Return all saved searches.

        Returns
        -------
        dict
            The query string of the explorer's list for each name, sorted by name.
        """
        store = self.index.store

        def compute() -> dict[str, Any]:
            rows = store.log_rows("field GLOB 'search *' ORDER BY number")
            return {field.removeprefix("search "): value_of(after) for *_, field, _, after in rows}

        found = store.once("searches", compute, of=store.number)
        names = sorted((name for name, query in found.items() if query), key=str.casefold)
        return {name: self._named(found[name]) for name in names}

    def _named(self, query: Any) -> str:
        """Return a query string with the present names of its labels."""
        if isinstance(query, str):
            # It was saved before labels had numbers.
            return query
        history = self.index.store.history
        pairs = [(key, history.current_label(one) if end else one) for key, one, end in query]
        return urlencode(
            [
                (key, one + (end or "")[1:])
                for (key, one), (*_, end) in zip(pairs, query, strict=True)
            ]
        )

    def _numbered(self, query: str) -> list[Any]:
        """Return the pairs of a query string, with the numbers of labels instead of their names."""
        number, found = self.index.store.labels.number, []
        for key, value in parse_qsl(query, keep_blank_values=True):
            stem = value.removesuffix("*")
            if key in _LABELS and value in number:
                found.append([key, number[value], "="])
            elif key in _LABELS and stem in number:
                found.append([key, number[stem], "=*"])
            else:
                found.append([key, value, ""])
        return found

    def save(self, name: str, query: str, *, who: str = "") -> None:
        """Save a search; it is on disk when this returns.

        Parameters
        ----------
        name : str
            A search of the same name is replaced.
        query : str
            Query string of the explorer's list; an empty one removes the search.
        who : str, default=""
            Who saves it.
        """
        name = " ".join(name.split())
        if not 0 < len(name) <= _LONGEST_NAME:
            raise InvalidInput(
                f"save: the name of a search needs 1 to {_LONGEST_NAME} characters; {len(name)} "
                "were given."
            )
        if len(query) > _LONGEST_ADDRESS:
            raise InvalidInput(f"save: a search has at most {_LONGEST_ADDRESS:,} characters.")
        with self.index.write_lock:
            known = self.all()
            if query and name not in known and len(known) >= _MOST_SEARCHES:
                raise InvalidInput(
                    f"save: {len(known):,} saved searches is the maximum; remove one."
                )
            value = as_value(self._numbered(query)) if query else None
            apply_cells(self.index, {("", f"search {name}"): value}, By(who, "search"))
