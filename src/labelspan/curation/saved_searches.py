"""Saved searches of an index, on disk when a call returns.

They are events in its database, and stay when it is fitted or saved again in the same folder.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from .decisions import signed

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["SavedSearches"]

_ABOUT = "searches"
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
        found: dict[str, str] = {}
        for *_, value in self.index.store.events(_ABOUT):
            name, query = json.loads(value)
            found[name] = query
        return {name: found[name] for name in sorted(found, key=str.casefold) if found[name]}

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
        signature = signed(self.index, "save", who)
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
            if known.get(name, "") != query:
                event = (*signature, "save", json.dumps([name, query]))
                self.index.store.record(_ABOUT, [event])
