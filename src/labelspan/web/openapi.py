"""The OpenAPI description of all addresses but pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import __version__
from .access import SECRET_HEADER
from .endpoint import JSON, Endpoint
from .endpoints import ENDPOINTS
from .requests import Parameter, ProblemData
from .schema import Schema, json_schemas

__all__ = ["FORM", "describe"]

FORM = "application/x-www-form-urlencoded"


def describe(
    endpoints: Iterable[Endpoint] = ENDPOINTS, cookie: str = "labelspan-0"
) -> dict[str, Any]:
    """Return the content of ``/openapi.json``; ``cookie`` is the name of that of a session."""
    known = [one for one in endpoints if not one.shown]
    inputs = {one: one.type for each in known for one in each.parameters}
    bodies = {one.body: one.body for one in known if one.body is not None}
    answers = {one: one.answer_type for one in known if one.media == JSON}
    given = json_schemas({**inputs, **bodies}, "validation")
    made = json_schemas({**answers, ProblemData: ProblemData}, "serialization")
    paths: dict[str, dict[str, Any]] = {}
    for one in known:
        found = _operation(one, made.get(one, {}))
        parameters = [_parameter(each, given[each]) for each in one.parameters]
        if parameters or one.method == "GET":
            found["parameters"] = parameters
        if one.body is not None:
            found |= _body(JSON, given[one.body])
        methods = paths.setdefault(one.json_path.replace(":path", ""), {})
        methods[one.method.lower()] = found
        if one.form:
            fields = {each.name: given[each] | _default(each) for each in one.parameters}
            form = {"type": "object", "properties": fields, "additionalProperties": False}
            del (posted := dict(found))["parameters"]
            methods["post"] = posted | {"operationId": f"{one.operation}_post"} | _body(FORM, form)
    problem = _content("application/problem+json", made[ProblemData])
    page = _content("text/html", {"type": "string"})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "labelspan explorer",
            "version": __version__,
            "description": "What is under /api/1/ stays as it is in later versions; the JSON of a "
            "page changes with the page.",
        },
        "paths": paths,
        "components": {
            "schemas": given["$defs"] | made["$defs"],
            "responses": {
                "Refused": {"description": "What was wrong.", "content": problem},
                "RefusedFile": {"description": "What was wrong.", "content": problem | page},
            },
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": cookie,
                    "description": "Set by the address that `labelspan serve` prints; its "
                    "name ends in another number in each server.",
                },
                "secret": {
                    "type": "apiKey",
                    "in": "header",
                    "name": SECRET_HEADER,
                    "description": "From /edit/session.json; the Origin must be this server.",
                },
            },
        },
    }


def _operation(one: Endpoint, answer: Schema) -> dict[str, Any]:
    file = {"type": "string", "format": "binary"}
    # A person who opens the address of a file is told by a page.
    refused = "Refused" if one.media == JSON else "RefusedFile"
    content = _content(one.media.partition(";")[0], answer if one.media == JSON else file)
    found: dict[str, Any] = {
        "operationId": one.operation,
        "summary": one.about,
        "responses": {
            "200": {"description": one.about, "content": content},
            "default": {"$ref": f"#/components/responses/{refused}"},
        },
    }
    if one.access == "token":
        found["security"] = [{"token": []}]
    elif one.access == "edit":
        found["security"] = [{"session": [], "secret": []} if one.writes else {"session": []}]
    return found


def _content(kind: str, schema: Schema) -> dict[str, Any]:
    return {kind: {"schema": schema}}


def _body(kind: str, schema: Schema) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": _content(kind, schema)}}


def _default(one: Parameter) -> dict[str, Any]:
    return {} if one.required else {"default": one.default}


def _parameter(one: Parameter, schema: Schema) -> dict[str, Any]:
    return {
        "name": one.name,
        "in": "path" if one.in_path else "query",
        "description": one.about,
        "required": one.required,
        "schema": schema | _default(one),
    }
