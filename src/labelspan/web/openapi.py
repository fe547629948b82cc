"""The OpenAPI description of all JSON endpoints."""

from __future__ import annotations

from typing import Any

from .. import __version__
from .api import ENDPOINTS, Endpoint
from .pages import DATA, PAGES, Page
from .requests import LONGEST_NAME, Parameter, RefusalData
from .schema import Schema, json_schema

__all__ = ["describe"]


def describe() -> dict[str, Any]:
    """Return the content of ``/openapi.json``."""
    components: dict[str, Schema] = {}
    paths: dict[str, Any] = {page.json_path: _page(page, components) for page in (*PAGES, *DATA)}
    for endpoint in ENDPOINTS:
        method = endpoint.method.lower()
        paths.setdefault(endpoint.path, {})[method] = _endpoint(endpoint, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "labelspan explorer",
            "version": __version__,
            "description": "Every page of the explorer as JSON, and /api/1/ for other programs.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {"Refused": _json("What was wrong.", json_schema(RefusalData))},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(name: str, about: str, answer: Any, components: dict[str, Schema]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": about,
        "responses": {
            "200": _json(about, json_schema(answer, components)),
            "default": {"$ref": "#/components/responses/Refused"},
        },
    }


def _json(about: str, schema: Schema) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _body(kind: str, schema: Schema) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema}}}}


def _endpoint(endpoint: Endpoint, components: dict[str, Schema]) -> dict[str, Any]:
    name = f"api_{endpoint.name}"
    found = _operation(name, endpoint.about, endpoint.answer, components)
    found["security"] = [{"token": []}]
    if endpoint.body is not None:
        return found | _body("application/json", json_schema(endpoint.body, components))
    about = "The id of the item."
    schema = {"type": "string", "maxLength": LONGEST_NAME}
    return found | {"parameters": [_parameter("id", "path", about, schema, required=True)]}


def _page(page: Page, components: dict[str, Schema]) -> dict[str, Any]:
    found = _operation(page.name, page.about, page.answer_type, components)
    known = page.parameters
    given = [
        _parameter(one.name, "query", one.about, _schema(one), required=one.required)
        for one in known
    ]
    methods = {"get": found | {"parameters": given}}
    if page.posts:
        schema = {
            "type": "object",
            "properties": {one.name: _schema(one) for one in known},
            "additionalProperties": False,
        }
        form = _body("application/x-www-form-urlencoded", schema)
        methods["post"] = found | {"operationId": f"{page.name}_post"} | form
    return methods


def _parameter(
    name: str, where: str, about: str, schema: Schema, *, required: bool
) -> dict[str, Any]:
    return {
        "name": name,
        "in": where,
        "description": about,
        "required": required,
        "schema": schema,
    }


def _schema(one: Parameter) -> Schema:
    if one.kind == "whole":
        schema: Schema = {"type": "integer", "minimum": one.smallest, "maximum": one.largest}
    else:
        schema = {"type": "string", "maxLength": one.largest}
        if one.pattern:
            schema["pattern"] = f"^(?:{one.pattern})$"
    if one.kind == "texts":
        return {"type": "array", "items": schema, "maxItems": one.most, "default": []}
    return schema if one.default is None else schema | {"default": one.default}
