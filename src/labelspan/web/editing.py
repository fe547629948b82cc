"""The review by which labels are changed in the explorer, and the addresses of changes.

Only ``labelspan serve --edit`` makes one of these; without it the explorer has no address that
changes an index.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..curation import Review
from ..curation.decisions import LONGEST_WHO
from ..errors import Mismatch
from ..index import SemanticIndex
from .access import Access
from .requests import LONGEST_NAME, Parameter, read_json_body, read_pairs, read_parameters
from .schema import MaxLen, as_json

__all__ = ["Editing", "Given", "Name", "Text", "Who"]

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Text = Annotated[str, MaxLen(LONGEST_NAME)]
Who = Annotated[str, MaxLen(LONGEST_WHO), "who decides, for the history"]
Given = dict[str, Any]


class Editing:
    """The review of an index that is served for editing, and who may use it."""

    def __init__(
        self,
        index: SemanticIndex,
        who: str = "",
        corpus: Path | None = None,
        access: Access | None = None,
    ) -> None:
        if not index.can_tag:
            raise Mismatch("edit: this index was fitted without labels.")
        self.review = Review(index)
        self.who = who
        self.corpus = corpus
        self.access = Access() if access is None else access

    def name(self, given: Given) -> str:
        """Return who decides."""
        return str(given.get("who") or self.who)

    def post(self, path: str, kind: Any, work: Callable[[Given], Any]) -> Route:
        """Return an address that takes a body of a type, and changes something."""

        async def answer(request: Request) -> Response:
            self.access.check_writing(request)
            given = await read_json_body(request, kind)
            return as_json(await run_in_threadpool(work, given))

        return Route(path, answer, methods=["POST"])

    def get(
        self, path: str, work: Callable[[Given], Response], known: tuple[Parameter, ...] = ()
    ) -> Route:
        """Return an address that only those who may edit can read."""

        async def answer(request: Request) -> Response:
            self.access.check(request)
            given = read_parameters(known, read_pairs(request.scope["query_string"]))
            response = await run_in_threadpool(work, given)
            response.headers["cache-control"] = "no-store"
            return response

        return Route(path, answer)
