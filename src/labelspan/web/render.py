"""Render answers as pages, by templates, or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from .. import __version__
from ..answers.lists import range_of
from .endpoint import Endpoint
from .endpoints import PAGES
from .fragments import FILTERS, link
from .requests import LONGEST_NAME, LONGEST_QUERY, LONGEST_TEXT, Refused, refusal
from .schema import as_json

__all__ = ["CONTENT_POLICY", "as_page", "refused_response", "templates"]

_HTML = "text/html; charset=utf-8"
_IN_MENU = ("search", "map", "labels", "review", "teach", "tag")

CONTENT_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


def as_page(
    page: Endpoint,
    content: Mapping[str, Any],
    asked: Mapping[str, Any],
    *,
    editing: bool = False,
    json_link: str | None = None,
    images: bool = False,
    collection: Callable[[], tuple[str, bool]] | None = None,
    **settings: Any,
) -> Response:
    """Return an answer as a page with a link to its JSON endpoint.

    ``editing`` adds controls to change labels; an empty ``json_link`` means that there is no
    endpoint; ``images`` allows images of other servers on the page of an item; ``collection``
    returns the name of what is served, and whether labels can be predicted; ``settings`` are
    further variables of the template.
    """
    if json_link is None:
        json_link = "" if page.shown else link(page.json_path, **asked)
    if page.form and len(json_link) > 2000:
        # The text came in a body, and may be longer than an address.
        json_link = page.json_path
    body = _template(f"{page.name}.html").render(
        page=page,
        json_link=json_link,
        asked=asked,
        data=content,
        editing=editing,
        images=images,
        collection=collection,
        here=partial(_here, page, asked),
        **settings,
    )
    policy = CONTENT_POLICY
    if images and page.name == "item":
        policy = {**policy, "img-src": "'self' http: https:"}
    if page.name == "map":
        # A saved picture is drawn from one that the page has made.
        policy = {**policy, "img-src": "'self' blob:"}
    headers = {"content-security-policy": policy_line(policy)}
    return Response(body, headers=headers, media_type=_HTML)


def _here(page: Endpoint, asked: Mapping[str, Any], path: str = "", /, **changes: Any) -> str:
    """Return the address of a page with some parameters changed, from its first page on."""
    usual = {one.name: one.default for one in page.parameters}
    kept = {name: value for name, value in asked.items() if name != "page"} | changes
    given = {name: value for name, value in kept.items() if value != usual.get(name)}
    return link(path or page.path, **given)


def refused_response(refused: Refused, *, json_wanted: bool) -> Response:
    """Return an error as a page or as JSON."""
    content = refusal(refused)
    if json_wanted:
        response = as_json(content, refused.status, "application/problem+json")
    else:
        known = {"page": None, "json_link": None, "collection": None}
        body = _template("error.html").render(**known, error=content)
        response = Response(body, refused.status, media_type=_HTML)
    response.headers.update(refused.headers)
    return response


def policy_line(policy: Mapping[str, str]) -> str:
    """Return the header value of a content security policy."""
    return "; ".join(f"{name} {value}" for name, value in policy.items())


class _Environment(Environment):
    """Templates that read a key of a dictionary by a dot, without looking for an attribute first.

    Methods are attributes: a label may be called "items".
    """

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is dict and attribute in obj and not hasattr(dict, attribute):
            return obj[attribute]
        return super().getattr(obj, attribute)


@cache
def templates() -> Environment:
    """Return the environment with all templates compiled."""
    environment = _Environment(
        loader=PackageLoader("labelspan.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Files of the package do not change while it runs.
        auto_reload=False,
    )
    environment.globals |= {
        "link": link,
        "menu": [page for page in PAGES if page.name in _IN_MENU],
        "version": __version__,
        "longest_name": LONGEST_NAME,
        "longest_query": LONGEST_QUERY,
        "longest_text": LONGEST_TEXT,
    }
    environment.tests["range_of"] = lambda text, key: range_of(text)[0] == key
    environment.filters |= FILTERS
    for name in environment.list_templates():
        # Compile it now, so that no request waits for that.
        environment.get_template(name)
    return environment


def _template(name: str) -> Any:
    return templates().get_template(name)
