"""The OpenAPI description of all JSON endpoints."""

from __future__ import annotations

from typing import Any

from .. import __version__
from .api import ENDPOINTS, Endpoint
from .downloads import DOWNLOADS
from .http_errors import RefusalData
from .item_list import DownloadedData
from .pages import DATA, PAGES, Page
from .parameters import LONGEST_BODY, LONGEST_NAME, Parameter
from .schema import Schema, json_schema

__all__ = ["ITEMS", "POINTS", "describe"]

POINTS = "/map/points.bin"
ITEMS = "/search.jsonl"

_ERROR = {"$ref": "#/components/responses/Refused"}
_REFUSALS = {
    "400": "a parameter that is unknown, missing or out of range, or a Host that is not allowed",
    "403": "a request from a page of another origin",
    "404": "an item, label or page that does not exist",
    "405": "a method that the address does not support",
    "413": f"a body of more than {LONGEST_BODY:,} bytes",
    "414": "an address that is too long",
    "431": "too many headers, or headers that are too long",
    "500": "an error in the server",
    "503": "an index that cannot be read now, or too many requests at once",
    "505": "an HTTP version other than 1.0 and 1.1",
}
_BODY_REFUSALS = {
    "408": "a body that comes too slowly",
    "415": "a body that is neither JSON nor a form, or not in UTF-8",
}


_TOKEN_REFUSALS = {
    "401": "a missing or wrong token",
    "409": "a label that does not exist, or an index that was replaced",
}


def describe() -> dict[str, Any]:
    """Return the content of ``/openapi.json``."""
    components: dict[str, Schema] = {}
    paths: dict[str, Any] = {page.json_path: _page(page, components) for page in (*PAGES, *DATA)}
    paths[POINTS] = {
        "get": {
            "operationId": "points",
            "summary": "All points of the map; 503 while it is being drawn.",
            "responses": {
                "200": {
                    "description": "Bytes in the format of labelspan.display.map_data.",
                    "content": {"application/octet-stream": {}},
                }
            }
            | dict.fromkeys(_REFUSALS, _ERROR),
        }
    }
    items = next(one for one in DOWNLOADS if one.path == ITEMS)
    paths[ITEMS] = {
        "get": {
            "operationId": "items",
            "summary": "All items that match, one in each line.",
            "parameters": [_parameter(one) for one in items.parameters],
            "responses": {
                "200": {
                    "description": "An item in each line, as JSON.",
                    "content": {
                        "application/jsonl": {"schema": json_schema(DownloadedData, components)}
                    },
                }
            }
            | dict.fromkeys(_REFUSALS, _ERROR),
        }
    }
    for endpoint in ENDPOINTS:
        method = endpoint.method.lower()
        paths.setdefault(endpoint.path, {})[method] = _endpoint(endpoint, components)
    paths["/openapi.json"] = {
        "get": {
            "operationId": "openapi",
            "summary": "This description.",
            "responses": _responses("OpenAPI 3.1", {"type": "object"}),
        }
    }
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
            "responses": {"Refused": _refused()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _endpoint(endpoint: Endpoint, components: dict[str, Schema]) -> dict[str, Any]:
    answers = _responses(endpoint.about, json_schema(endpoint.answer, components))
    found: dict[str, Any] = {
        "operationId": f"api_{endpoint.name}",
        "summary": endpoint.about,
        "security": [{"token": []}],
        "responses": answers | dict.fromkeys(_TOKEN_REFUSALS, _ERROR),
    }
    if endpoint.body is None:
        item = {"type": "string", "maxLength": LONGEST_NAME}
        return found | {
            "parameters": [
                {
                    "name": "id",
                    "in": "path",
                    "description": "The id of the item.",
                    "required": True,
                    "schema": item,
                }
            ]
        }
    found["responses"] |= dict.fromkeys(_BODY_REFUSALS, _ERROR)
    body = json_schema(endpoint.body, components)
    content = {"application/json": {"schema": body}}
    return found | {"requestBody": {"required": True, "content": content}}


def _page(page: Page, components: dict[str, Schema]) -> dict[str, Any]:
    answers = _responses(page.about, json_schema(page.answer_type, components))
    get = {
        "operationId": page.name,
        "summary": page.about,
        "parameters": [_parameter(one) for one in page.parameters],
        "responses": answers,
    }
    if not page.posts:
        return {"get": get}
    schema = {
        "type": "object",
        "properties": {one.name: _schema(one) for one in page.parameters},
        "additionalProperties": False,
    }
    post = {
        "operationId": f"{page.name}_post",
        "summary": page.about,
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": schema},
                "application/x-www-form-urlencoded": {"schema": schema},
            },
        },
        "responses": answers | dict.fromkeys(_BODY_REFUSALS, _ERROR),
    }
    return {"get": get, "post": post}


def _parameter(one: Parameter) -> dict[str, Any]:
    return {
        "name": one.name,
        "in": "query",
        "description": one.about,
        "required": one.required,
        "schema": _schema(one),
    }


def _schema(one: Parameter) -> dict[str, Any]:
    if one.kind == "whole":
        schema: dict[str, Any] = {
            "type": "integer",
            "minimum": one.smallest,
            "maximum": one.largest,
        }
    else:
        schema = {"type": "string", "maxLength": one.largest}
        if one.pattern:
            schema["pattern"] = f"^(?:{one.pattern})$"
    if one.kind == "texts":
        return {"type": "array", "items": schema, "maxItems": one.most, "default": []}
    return schema if one.default is None else schema | {"default": one.default}


def _responses(about: str, schema: Schema) -> dict[str, Any]:
    return {"200": _json(about, schema)} | dict.fromkeys(_REFUSALS, _ERROR)


def _json(about: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _refused() -> dict[str, Any]:
    every = {**_REFUSALS, **_BODY_REFUSALS, **_TOKEN_REFUSALS}
    about = "; ".join(f"{status}: {reason}" for status, reason in sorted(every.items()))
    return _json(about, json_schema(RefusalData))
