"""Answers as bytes: pages from templates, and JSON."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any
from urllib.parse import quote_plus

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import Response

from .. import __version__
from .http_errors import Refused, refusal
from .pages import PAGES, Page

__all__ = ["CONTENT_POLICY", "as_json", "as_page", "link", "refused_response", "templates"]

_HTML = "text/html; charset=utf-8"
_IN_MENU = ("search", "map", "labels", "axes", "tag")

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


def as_json(content: Mapping[str, Any], status: int = 200) -> Response:
    """An answer for programs; what is no number in JSON, as infinity, is null."""
    try:
        text = _dumped(content)
    except ValueError:
        text = _dumped(_finite(content))
    return Response(text.encode(), status, media_type="application/json")


_dumped = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode


def _finite(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def as_page(page: Page, content: Mapping[str, Any], asked: Mapping[str, Any]) -> Response:
    """An answer for people; its twin is named in a header and in a link."""
    twin = link(page.twin, **asked)
    # A text to tag may be longer than an address.
    twin = twin if len(twin) < 2000 else page.twin
    policy = CONTENT_POLICY
    nonce = ""
    if page.name == "map":
        # Bokeh writes style elements, which get this word, and its WebGL compiles functions.
        nonce = secrets.token_urlsafe(16)
        policy = policy | {
            "script-src": "'self' 'unsafe-eval'",
            "style-src": f"'self' 'nonce-{nonce}'",
            "img-src": "'self' data: blob:",
        }
    body = _template(f"{page.name}.html").render(
        page=page, twin=twin, nonce=nonce, asked=asked, data=content
    )
    headers = {"content-security-policy": policy_line(policy)}
    return Response(body, headers=headers, media_type=_HTML)


def refused_response(refused: Refused, *, json_wanted: bool) -> Response:
    """A refusal as a page or as JSON."""
    content = refusal(refused)
    if json_wanted:
        response = as_json(content, refused.status)
    else:
        body = _template("error.html").render(page=None, twin=None, nonce="", **content)
        response = Response(body, refused.status, media_type=_HTML)
    response.headers.update(refused.headers)
    return response


def policy_line(policy: Mapping[str, str]) -> str:
    """A content security policy as a header has it."""
    return "; ".join(f"{name} {value}" for name, value in policy.items())


def link(path: str, **parameters: Any) -> str:
    """An address with parameters; those that are empty are left out.

    Examples
    --------
    >>> from labelspan.web.render import link
    >>> link("/search", q="a b", label=["c&d", "e"], k="")
    '/search?q=a+b&label=c%26d&label=e'
    """
    pairs = []
    for name, value in parameters.items():
        several = value if isinstance(value, list | tuple) else [value]
        pairs += [f"{name}={quote_plus(str(one))}" for one in several if one not in ("", None)]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


@lru_cache(maxsize=10_000)
def label(name: str) -> Markup:
    """A label that leads to its page."""
    return Markup('<a class="label" href="{}">{}</a>').format(link("/label", name=name), name)


# There are a hundred labels on some pages, and fifty guesses: too many for a template to
# spell out each.


def chips(names: Sequence[str]) -> Markup:
    """Labels as items of a list."""
    return Markup("".join([f"<li>{label(name)}</li>" for name in names]))


def guesses(tags: Sequence[Mapping[str, Any]], own: Sequence[str] | None) -> Markup:
    """Predicted labels with their probabilities, and whether the item has them."""
    parts = []
    for tag in tags:
        right = " right" if own and tag["label"] in own else ""
        weak = "" if tag["chosen"] else " weak"
        text = f"{_escaped(tag['label'])} {tag['probability']:.0%}"
        parts.append(f'<span class="guess{weak}{right}">{text}</span>')
    return Markup("\n".join(parts))


_escaped = lru_cache(maxsize=10_000)(escape)


@cache
def templates() -> Environment:
    """All templates, compiled, with what they may call."""
    environment = Environment(
        loader=PackageLoader("labelspan.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "link": link,
        "menu": [page for page in PAGES if page.name in _IN_MENU],
        "version": __version__,
    }
    environment.filters |= {
        "chips": chips,
        "guesses": guesses,
        "label": label,
        "percent": lambda value: f"{value:.0%}",
        "thousands": lambda value: f"{value:,}",
    }
    for name in environment.list_templates():
        # Now, so that no request waits for its template to be compiled.
        environment.get_template(name)
    return environment


def _template(name: str) -> Any:
    return templates().get_template(name)
