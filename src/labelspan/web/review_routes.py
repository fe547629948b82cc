"""Addresses of the review, which exist only in an explorer that was started for editing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..curation.decisions import as_lines, as_table
from ..curation.review_queue import finding_key
from .editing import ENTRANCE, Editing
from .fragments import link
from .middleware import read_all
from .parameters import Parameter, read_address, read_body, read_parameters
from .render import as_json, as_page
from .review_page import FORM, REVIEW, answer

__all__ = ["review_routes"]

Handler = Callable[[Request], Awaitable[Response]]
_TOKEN = (Parameter("token", "text", "The secret that was printed.", None, 100),)
_EXPORTS = {
    "/review/decisions.csv": (as_table, "text/csv; charset=utf-8"),
    "/review/decisions.jsonl": (as_lines, "application/jsonl; charset=utf-8"),
}


def review_routes(
    editing: Editing, pool: ThreadPoolExecutor, changed: Callable[[], None]
) -> list[Route]:
    """Return the addresses of the review; ``changed`` is called after labels have changed."""
    review = editing.review

    async def in_pool(work: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(pool, work, *args)

    def shown(as_data: bool) -> Handler:
        def work(asked: dict[str, Any]) -> Response:
            content = answer(editing, asked)
            if as_data:
                return as_json(content)
            return as_page(REVIEW, {**content, "secret": editing.form_secret}, asked, editing=True)

        async def show(request: Request) -> Response:
            editing.check(request)
            asked = read_parameters(REVIEW.parameters, read_address(request.scope["query_string"]))
            response: Response = await in_pool(work, asked)
            # The page holds the secret of its forms.
            response.headers["cache-control"] = "no-store"
            return response

        return show

    def form(act: Callable[[dict[str, Any]], str]) -> Handler:
        def work(asked: dict[str, Any]) -> Response:
            did = act(asked)
            changed()
            where = {
                name: asked[name]
                for name in ("label", "kind", "show", "page")
                if asked[name] not in ("waiting", 1)
            }
            return RedirectResponse(link(REVIEW.path, **where, did=did), 303)

        async def post(request: Request) -> Response:
            editing.check_writing(request)
            kind = request.headers.get("content-type", "")
            asked = read_parameters(FORM, read_body(kind, await read_all(request.receive)))
            editing.check_form(asked["secret"])
            response: Response = await in_pool(work, asked)
            return response

        return post

    def decide(asked: dict[str, Any]) -> str:
        keys, decision = asked["pair"], asked["decision"]
        if not keys or not decision:
            return "nothing"
        # Another page may have decided about some of them.
        there = {finding_key(one) for one in (*review.waiting(), *review.waiting(skipped=True))}
        found = [one for one in review.find(keys) if finding_key(one) in there]
        made = review.decide(found, decision)
        return "gone" if not made else "decided"

    def undo(asked: dict[str, Any]) -> str:
        return "undone" if review.undo() else "nothing"

    def order(asked: dict[str, Any]) -> str:
        editing.start_again()
        return "ordered"

    async def enter(request: Request) -> Response:
        token = read_parameters(_TOKEN, read_address(request.scope["query_string"]))["token"]
        response = RedirectResponse(REVIEW.path, 303)
        response.set_cookie(
            editing.cookie, editing.admit(token), path="/", httponly=True, samesite="strict"
        )
        return response

    def export(path: str) -> Handler:
        write, kind = _EXPORTS[path]

        async def send(request: Request) -> Response:
            editing.check(request)
            body = await in_pool(lambda: write(review.decisions()).encode())
            name = path.rpartition("/")[2]
            headers = {"content-disposition": f'attachment; filename="{name}"'}
            return Response(body, headers=headers, media_type=kind)

        return send

    return [
        Route(ENTRANCE, enter),
        Route(REVIEW.path, shown(False)),
        Route(REVIEW.json_path, shown(True)),
        Route("/review/decide", form(decide), methods=["POST"]),
        Route("/review/undo", form(undo), methods=["POST"]),
        Route("/review/order", form(order), methods=["POST"]),
        *(Route(path, export(path)) for path in _EXPORTS),
    ]
