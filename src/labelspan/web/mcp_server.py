"""Answer an assistant's questions about an index over the Model Context Protocol (MCP)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from .. import __version__
from ..errors import LabelspanError
from ..index import Filter, Hit, Item, SemanticIndex

__all__ = ["mcp_server"]

_Count = Annotated[int, Field(ge=1, le=100, description="Maximum number of results.")]
_Id = Annotated[str, Field(description="Id of an item, as `search` returns it.")]
_Text = Annotated[str, Field(min_length=1, max_length=20_000)]


def mcp_server(index: SemanticIndex, name: str) -> MCPServer[Any]:
    """Make a server whose tools search, tag and read one saved index, with a name for assistants.

    Changes that other programs save are seen by the next call.
    """
    server: MCPServer[Any] = MCPServer(
        "labelspan",
        version=__version__,
        instructions=(
            f"Searches and tags the collection {name!r}: {len(index):,} items with "
            f"{len(index.labels):,} labels. Start with `search`; `labels` lists the labels that "
            "filters accept."
        ),
    )

    def current() -> SemanticIndex:
        index.refresh()
        return index

    def search(
        query: _Text,
        k: _Count = 10,
        labels: Annotated[list[str], Field(description="Items must have all of these.")] = [],  # noqa: B006 - the schema shows it
        without: Annotated[list[str], Field(description="Items must have none of these.")] = [],  # noqa: B006
    ) -> list[dict[str, Any]]:
        """Find items by words and by meaning, best first.

        "two words" in quotes must follow one another, -word excludes, begin* matches all words
        with that beginning. `weak` marks items that have few of the words.
        """
        condition = Filter(labels=tuple(labels), without=tuple(without))
        return [_hit(hit) for hit in current().search(query, k, condition)]

    def similar(id: _Id, k: _Count = 10) -> list[dict[str, Any]]:
        """Find items with similar texts and labels to a given item."""
        return [_hit(hit) for hit in current().search(items=id, k=k)]

    def tag(text: _Text, k: _Count = 10) -> list[dict[str, Any]]:
        """Suggest labels of this collection for a new text, most probable first.

        `chosen` marks the labels that labelspan would assign by itself.
        """
        return [
            {"label": tag.label, "probability": round(tag.probability, 4), "chosen": tag.chosen}
            for tag in current().tag(text, k)
        ]

    def item(id: _Id) -> dict[str, Any]:
        """Read one item: its whole text, labels and metadata."""
        found = current().item(id)
        return {
            "id": found.id,
            "title": found.title,
            "text": found.text,
            "labels": None if found.labels is None else list(found.labels),
            "metadata": found.metadata,
        }

    def labels(
        containing: Annotated[str, Field(description="Only labels with this in their name.")] = "",
        k: Annotated[int, Field(ge=1, le=1000)] = 100,
    ) -> list[dict[str, Any]]:
        """List labels with the number of items that have them, most frequent first."""
        part = containing.casefold()
        counts = [(name, n) for name, n in current().labels.items() if part in name.casefold()]
        counts.sort(key=lambda pair: (-pair[1], pair[0]))
        return [{"label": name, "items": count} for name, count in counts[:k]]

    for tool in (search, similar, tag, item, labels):
        server.add_tool(_plain_errors(tool))
    return server


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "id": hit.id,
        "title": Item(hit.id, hit.text, hit.labels, hit.metadata).title,
        "snippet": hit.snippet,
        "labels": None if hit.labels is None else list(hit.labels),
        "score": round(hit.score, 4),
        "weak": hit.weak,
    }


def _plain_errors(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Give the assistant the message of an error, which says what to do."""

    @wraps(tool)
    def answered(*args: Any, **kwargs: Any) -> Any:
        try:
            return tool(*args, **kwargs)
        except LabelspanError as error:
            raise ToolError(str(error)) from error

    return answered
