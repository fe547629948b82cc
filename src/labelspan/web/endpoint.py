"""An address of the explorer: what it takes and answers, who may ask, what assistants are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_type_hints

from starlette.requests import Request
from starlette.responses import Response

from .requests import Parameter

__all__ = ["JSON", "Endpoint", "File", "Given"]

JSON = "application/json"

# The values of parameters, or the keys of a body.
Given: TypeAlias = dict[str, Any]


class File(NamedTuple):
    """A file to download: its name, and its content in parts."""

    name: str
    parts: Iterator[bytes]


@dataclass(frozen=True, eq=False)
class Endpoint:
    """An address: its path, its parameters or its body, and the function that computes its answer.

    ``answer`` is called with what it ``takes`` and what was given: with an index that does not
    change meanwhile, and with what ``background`` returns for it; with the snapshot that has both;
    or, where something is changed, with all that is served. Its return type describes the answer,
    and the first line of its docstring the address. With a ``title`` there is a page, made by the
    template of the same name, next to the JSON; ``shown`` pages have no JSON. With ``form``
    parameters may also come in a form. ``media`` is another type than JSON, of a :class:`File`.
    ``respond`` answers a request by itself.

    ``access`` tells who may ask: everyone who reaches the server, programs with its token, or
    people who entered by the printed address to edit. ``tool`` is what assistants are told about
    it; what has none is not for them.
    """

    name: str
    path: str
    answer: Callable[..., Any]
    parameters: tuple[Parameter, ...] = ()
    method: Literal["GET", "POST", "DELETE"] = "GET"
    body: Any = None
    takes: Literal["index", "snapshot", "served"] = "index"
    background: Callable[[Any], Mapping[str, Any]] | None = None
    access: Literal["read", "token", "edit"] = "read"
    writes: bool = False
    title: str = ""
    shown: bool = False
    form: bool = False
    media: str = JSON
    respond: Callable[[Any, Request], Awaitable[Response]] | None = None
    tool: str = ""

    @property
    def about(self) -> str:
        """Return a sentence about the address."""
        return (self.answer.__doc__ or "").partition("\n")[0]

    @property
    def json_path(self) -> str:
        """Return the address of the JSON endpoint."""
        if not self.title or self.path.endswith(".json"):
            return self.path
        return "/index.json" if self.path == "/" else f"{self.path}.json"

    @property
    def operation(self) -> str:
        """Return a name that no other endpoint has."""
        prefix = {"read": "", "token": "api_", "edit": "edit_"}[self.access]
        return prefix + self.name

    @property
    def answer_type(self) -> Any:
        """Return the TypedDict that describes the answer."""
        return get_type_hints(self.answer)["return"]

    def work(self, served: Any, given: Given) -> Any:
        """Compute the answer."""
        if self.takes == "served":
            return self.answer(served, given)
        with served.lease() as snapshot:
            return self.of(snapshot, given)

    def of(self, snapshot: Any, given: Given) -> Any:
        """Compute the answer from a snapshot."""
        if self.takes == "snapshot":
            return self.answer(snapshot, given)
        more = {} if self.background is None else self.background(snapshot)
        return self.answer(snapshot.index, given, **more)
