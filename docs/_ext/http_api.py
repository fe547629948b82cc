"""The reference of the HTTP endpoints, written from their OpenAPI description.

``reference/http.md`` holds a comment that ``generated`` replaces by :func:`page`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labelspan.web.openapi import describe

MARK = "<!-- the endpoints -->"


def page() -> str:
    """Every endpoint with its parameters and the fields of its answer, in Markdown."""
    described = describe()
    lines = [
        line
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        for line in _endpoint(path, method, operation)
    ]
    lines += ["## Objects in answers\n"]
    for name, schema in described["components"]["schemas"].items():
        lines += [f"**{name}**: {', '.join(_fields(schema))}\n"]
    return "\n".join(lines)


def _endpoint(path: str, method: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {method.upper()} {path}\n"
    yield f"{operation['summary']}\n"
    if operation.get("parameters"):
        yield "| parameter | |\n| --- | --- |"
        for one in operation["parameters"]:
            about = one["description"].replace("|", r"\|")
            yield f"| `{one['name']}` | {about} |"
        yield ""
    for content in operation["responses"]["200"].get("content", {}).values():
        answer = _fields(content.get("schema", {}))
        if answer:
            yield f"Answer: {', '.join(answer)}.\n"


def _fields(schema: Mapping[str, Any]) -> list[str]:
    return [
        f"`{name}`" + (f" ({about})" if (about := one.get("description")) else "")
        for name, one in schema.get("properties", {}).items()
    ]
