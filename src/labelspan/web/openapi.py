"""The description of all addresses that give JSON, in the words of OpenAPI."""

from __future__ import annotations

from typing import Any

from .. import __version__
from .pages import PAGES, Page
from .parameters import LONGEST_BODY, Parameter
from .shapes import NUMBER, SCHEMAS, TEXT, WHOLE, list_of, named, table

__all__ = ["POINTS", "describe"]

POINTS = "/map/points.json"

_ERROR = {"$ref": "#/components/responses/Refused"}
_REFUSALS = {
    "400": "input that is unknown, missing or out of its range, or a Host that is not allowed",
    "403": "a request that a page of another origin made",
    "404": "an item, label or page that is not there",
    "405": "a method that the address does not take",
    "413": f"a body of more than {LONGEST_BODY:,} bytes",
    "414": "an address that is too long",
    "431": "headers that are too many or too long",
    "500": "a failure of the server",
    "503": "an index that cannot be read now, or too many requests at once",
    "505": "HTTP of another version than 1.0 and 1.1",
}
_BODY_REFUSALS = {
    "408": "a body that comes too slowly",
    "415": "a body that is neither JSON nor a form, or not in UTF-8",
}


def describe() -> dict[str, Any]:
    """The content of ``/openapi.json``."""
    paths: dict[str, Any] = {page.twin: _page(page) for page in PAGES}
    paths[POINTS] = {"get": _points()}
    paths["/openapi.json"] = {
        "get": {
            "operationId": "openapi",
            "summary": "This description.",
            "responses": {"200": _json("OpenAPI 3.1", {"type": "object"})}
            | dict.fromkeys(_REFUSALS, _ERROR),
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "labelspan explorer",
            "version": __version__,
            "description": "Every page of the explorer as JSON. Nothing here changes the index.",
        },
        "paths": paths,
        "components": {"schemas": SCHEMAS, "responses": {"Refused": _refused()}},
    }


def _page(page: Page) -> dict[str, Any]:
    answers = {"200": _json(page.about, _object(page))} | dict.fromkeys(_REFUSALS, _ERROR)
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
    if one.kind == "texts":
        return {"type": "array", "items": schema, "maxItems": one.most, "default": []}
    return schema if one.default is None else schema | {"default": one.default}


def _object(page: Page) -> dict[str, Any]:
    return table(
        **{
            name: {**schema, "description": about}
            for names, (schema, about) in page.fields.items()
            for name in names.split(", ")
        }
    )


def _json(about: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _points() -> dict[str, Any]:
    schema = table(
        ids=list_of(TEXT) | {"description": "of all items"},
        titles=list_of(TEXT) | {"description": "their first lines"},
        x=list_of(NUMBER) | {"description": "across"},
        y=list_of(NUMBER) | {"description": "upwards"},
        labels={
            "type": "object",
            "additionalProperties": list_of(WHOLE),
            "description": "for each label the numbers of its items in these lists",
        },
        regions=list_of(named("Region")) | {"description": "names for places"},
    )
    return {
        "operationId": "points",
        "summary": "All points of the map; 503 while it is being drawn.",
        "responses": {"200": _json("The points.", schema)} | dict.fromkeys(_REFUSALS, _ERROR),
    }


def _refused() -> dict[str, Any]:
    every = {**_REFUSALS, **_BODY_REFUSALS}
    about = "; ".join(f"{status}: {reason}" for status, reason in sorted(every.items()))
    error = table(status=WHOLE, name=TEXT, message=TEXT)
    return _json(about, table(error=error))
