"""The OpenAPI description of all JSON endpoints."""

from __future__ import annotations

from typing import Any

from .. import __version__
from .api import ENDPOINTS
from .pages import DATA, PAGES
from .requests import Parameter, ProblemData
from .schema import Schema, json_schemas

__all__ = ["describe"]

_FORM = "application/x-www-form-urlencoded"


def describe() -> dict[str, Any]:
    """Return the content of ``/openapi.json``."""
    pages = (*PAGES, *DATA)
    inputs = {one: one.type for each in (*pages, *ENDPOINTS) for one in each.parameters}
    bodies = {one.body: one.body for one in ENDPOINTS if one.body is not None}
    answers = {one: one.answer_type for one in (*pages, *ENDPOINTS)}
    given = json_schemas({**inputs, **bodies}, "validation")
    made = json_schemas({**answers, ProblemData: ProblemData}, "serialization")
    paths: dict[str, dict[str, Any]] = {}
    for page in pages:
        found = _operation(page.name, page.about, made[page])
        known = [_parameter(one, given[one]) for one in page.parameters]
        methods = paths.setdefault(page.json_path, {"get": found | {"parameters": known}})
        if page.posts:
            fields = {one.name: given[one] | _default(one) for one in page.parameters}
            form = {"type": "object", "properties": fields, "additionalProperties": False}
            methods["post"] = found | {"operationId": f"{page.name}_post"} | _body(_FORM, form)
    for endpoint in ENDPOINTS:
        found = _operation(f"api_{endpoint.name}", endpoint.about, made[endpoint])
        found["security"] = [{"token": []}]
        if endpoint.parameters:
            found["parameters"] = [_parameter(one, given[one]) for one in endpoint.parameters]
        if endpoint.body is not None:
            found |= _body("application/json", given[endpoint.body])
        path = paths.setdefault(endpoint.path.replace(":path", ""), {})
        path[endpoint.method.lower()] = found
    problem = _content("application/problem+json", made[ProblemData])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "labelspan explorer",
            "version": __version__,
            "description": "Every page of the explorer as JSON, and /api/1/ for other programs.",
        },
        "paths": paths,
        "components": {
            "schemas": given["$defs"] | made["$defs"],
            "responses": {"Refused": {"description": "What was wrong.", "content": problem}},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(name: str, about: str, answer: Schema) -> dict[str, Any]:
    good = {"description": about, "content": _content("application/json", answer)}
    refused = {"$ref": "#/components/responses/Refused"}
    return {
        "operationId": name,
        "summary": about,
        "responses": {"200": good, "default": refused},
    }


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
