"""Version 1 of the interface for other programs: tag texts, keep items, learn from feedback.

Addresses begin with ``/api/1/``. A later version of labelspan with the same addresses takes the
same requests and adds at most keys to answers. Every request needs the token of ``labelspan serve
--token-file``; those that change items or labels need ``--edit`` as well.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..curation import Review
from ..errors import InvalidFile, MissingData
from ..index import Item, SemanticIndex
from ..index.inputs import label_name
from .answer_parts import rounded
from .edit_routes import DecisionData, Labels, Name, Who, decision_data, known_items
from .http_errors import Refused
from .json_body import read_json_body
from .middleware import read_all
from .parameters import LONGEST_JSON, LONGEST_TEXT
from .render import as_json
from .schema import Bounds, Characters, Count, Entries, Unit
from .snapshot import Served

__all__ = ["ENDPOINTS", "Endpoint", "api_routes", "read_token"]

MOST_TEXTS = 100
MOST_ITEMS = 1000
_MOST_EXPLAINED = 10
_MOST_TAGS = 100
_SHORTEST_TOKEN = 16
_LONGEST_TOKEN_FILE = 10_000

_Text = Annotated[str, Characters(LONGEST_TEXT)]


class TagBody(TypedDict):
    """A text whose labels are asked for, or several."""

    text: NotRequired[_Text]
    texts: NotRequired[Annotated[list[_Text], Entries(MOST_TEXTS)]]
    k: NotRequired[Annotated[int, Bounds(1, _MOST_TAGS), "maximum number of labels; 10"]]
    why: NotRequired[Annotated[bool, f"explain every label; for at most {_MOST_EXPLAINED} texts"]]


class TagWordData(TypedDict):
    """A word of the text."""

    word: str
    share: Annotated[float, "what it adds to the score of the label"]


class TagNeighbourData(TypedDict):
    """An item near the text."""

    id: str
    similarity: float
    has_label: bool


class TagWhyData(TypedDict):
    """What speaks for and against a label."""

    words: list[TagWordData]
    neighbours: list[TagNeighbourData]


class SuggestedData(TypedDict):
    """A suggested label."""

    label: str
    probability: Unit
    threshold: Annotated[float, "probability from which the label is chosen"]
    chosen: bool
    why: TagWhyData | None


class SuggestionsData(TypedDict):
    """Labels of each text, the most probable first; of one text a list of one entry."""

    results: list[list[SuggestedData]]


class ItemBody(TypedDict):
    """An item. If its id exists, what is not given stays as it was."""

    id: Name
    text: _Text
    labels: NotRequired[Annotated[Labels | None, "null if they are not known"]]
    metadata: NotRequired[Annotated[dict[str, Any], "texts, numbers, booleans or null"]]


class ItemsBody(TypedDict):
    """Items to add or to change: all of them, or none."""

    items: Annotated[list[ItemBody], Entries(MOST_ITEMS)]
    create: NotRequired[Annotated[bool, "whether labels that do not exist yet may be created"]]


class KeptData(TypedDict):
    """What was done."""

    added: Count
    changed: Count
    removed: Count
    items: Annotated[Count, "number of items in the index now"]


class FeedbackBody(TypedDict):
    """What a user said about suggested labels of an item."""

    item: Name
    accepted: NotRequired[Annotated[Labels, "the item has these labels"]]
    rejected: NotRequired[Annotated[Labels, "the item does not have these labels"]]
    create: NotRequired[Annotated[bool, "whether labels that do not exist yet may be created"]]
    who: NotRequired[Who]


class FeedbackData(TypedDict):
    """The decision that was made, and the labels of the item now."""

    decision: DecisionData
    labels: list[str]


class EmbedBody(TypedDict):
    """Texts whose vectors are asked for."""

    texts: Annotated[list[_Text], Entries(MOST_TEXTS)]


class EmbeddedData(TypedDict):
    """Vectors of length one, or of zeros for a text of which no word is known."""

    dimensions: Count
    vectors: list[list[float]]


@dataclass(frozen=True)
class Endpoint:
    """An address of the interface: what it takes, and what it answers."""

    name: str
    method: str
    path: str
    about: str
    body: Any
    answer: Any
    writes: bool = False


ENDPOINTS = (
    Endpoint("tag", "POST", "/api/1/tag", "Suggest labels for texts.", TagBody, SuggestionsData),
    Endpoint("embed", "POST", "/api/1/embed", "Vectors of texts.", EmbedBody, EmbeddedData),
    Endpoint(
        "put_items", "POST", "/api/1/items", "Add or change items.", ItemsBody, KeptData, True
    ),
    Endpoint("remove_item", "DELETE", "/api/1/items/{id}", "Remove an item.", None, KeptData, True),
    Endpoint(
        "feedback",
        "POST",
        "/api/1/feedback",
        "Say which suggested labels of an item are right: a decision, learned at once.",
        FeedbackBody,
        FeedbackData,
        True,
    ),
)


def read_token(path: str | os.PathLike[str]) -> str:
    """Read the token that programs must send from a file."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LONGEST_TOKEN_FILE + 1)
    except FileNotFoundError:
        raise MissingData(f"There is no file {str(path)!r}; give --token-file a file.") from None
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or error}.") from error
    token = content.decode("ascii", "replace").strip()
    fits = _SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN_FILE
    if not fits or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidFile(
            f"{path} must hold one token of {_SHORTEST_TOKEN} ASCII characters or more without "
            "spaces, for example from: openssl rand -hex 24."
        )
    return token


def api_routes(served: Served, token: str) -> list[Route]:
    """Return the addresses; without a token they refuse every request."""
    work: dict[str, Callable[[dict[str, Any]], Any]] = {
        "tag": lambda given: _reading(served, _tag, given),
        "embed": lambda given: _reading(served, _embed, given),
        "put_items": lambda given: _changing(served, _put_items, given),
        "remove_item": lambda given: _changing(served, _remove_item, given),
        "feedback": lambda given: _feedback(served, given),
    }

    def route(endpoint: Endpoint) -> Route:
        async def answer(request: Request) -> Response:
            _check(request, token)
            if endpoint.writes and served.editing is None:
                raise Refused(403, "Start `labelspan serve` with --edit to change items or labels.")
            if endpoint.body is None:
                given: dict[str, Any] = dict(request.path_params)
            else:
                body = await read_all(request.receive, longest=LONGEST_JSON)
                given = read_json_body(endpoint.body, request.headers.get("content-type", ""), body)
            return as_json(await run_in_threadpool(work[endpoint.name], given))

        # Ids may have slashes.
        return Route(endpoint.path.replace("{id}", "{id:path}"), answer, methods=[endpoint.method])

    return [route(endpoint) for endpoint in ENDPOINTS]


def _check(request: Request, token: str) -> None:
    """Refuse a request without the token."""
    if not token:
        raise Refused(403, "Start `labelspan serve` with --token-file to let programs in.")
    given = request.headers.getlist("authorization")
    scheme, _, sent = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    same = secrets.compare_digest(sent.strip().encode("utf-8", "replace"), token.encode())
    if scheme.lower() != "bearer" or not same:
        raise Refused(
            401,
            "Send the token of this server: `Authorization: Bearer TOKEN`.",
            {"www-authenticate": "Bearer"},
        )


def _reading(served: Served, work: Callable[..., Any], given: dict[str, Any]) -> Any:
    with served.lease() as snapshot:
        return work(snapshot.index, given)


def _changing(served: Served, work: Callable[..., Any], given: dict[str, Any]) -> Any:
    assert served.editing is not None
    review = served.editing.review
    with served.changing_items():
        return work(review, review.index, given)


def _tag(index: SemanticIndex, given: dict[str, Any]) -> SuggestionsData:
    if ("text" in given) == ("texts" in given):
        raise Refused(400, "Give either 'text' or 'texts'.")
    texts = [given["text"]] if "text" in given else given["texts"]
    explained = given.get("why", False)
    if explained and len(texts) > _MOST_EXPLAINED:
        raise Refused(400, f"why: at most {_MOST_EXPLAINED} texts can be explained at once.")
    if not texts:
        return {"results": []}
    found = index.tag(texts, given.get("k", 10))
    return {
        "results": [
            [
                {
                    "label": tag.label,
                    "probability": rounded(tag.probability),
                    "threshold": rounded(tag.threshold),
                    "chosen": tag.chosen,
                    "why": _why(index, tag.label, text) if explained else None,
                }
                for tag in own
            ]
            for text, own in zip(texts, found, strict=True)
        ]
    }


def _why(index: SemanticIndex, label: str, text: str) -> TagWhyData:
    why = index.explain_tag(label, text)
    return {
        "words": [{"word": one.word, "share": rounded(one.share)} for one in why.words],
        "neighbours": [
            {"id": one.id, "similarity": rounded(one.similarity), "has_label": one.has_label}
            for one in why.votes
        ],
    }


def _embed(index: SemanticIndex, given: dict[str, Any]) -> EmbeddedData:
    vectors: Any = index.embed(given["texts"]) if given["texts"] else []
    return {
        "dimensions": index.n_dimensions,
        "vectors": [[round(float(value), 7) for value in row] for row in vectors],
    }


def _put_items(review: Review, index: SemanticIndex, given: dict[str, Any]) -> KeptData:
    items = given["items"]
    ids = [one["id"] for one in items]
    before = {item.id: item for item in index.items([name for name in ids if name in index])}
    new = Item("", "", None, {})
    labels = [one.get("labels", before.get(one["id"], new).labels) for one in items]
    metadata = [one.get("metadata", before.get(one["id"], new).metadata) for one in items]
    _check_labels(index, [name for own in labels for name in own or ()], given)
    index.add([one["text"] for one in items], labels, ids, metadata=metadata, replace=True)
    return {
        "added": len(items) - len(before),
        "changed": len(before),
        "removed": 0,
        "items": len(index),
    }


def _remove_item(review: Review, index: SemanticIndex, given: dict[str, Any]) -> KeptData:
    index.remove(known_items(index, [given["id"]]))
    return {"added": 0, "changed": 0, "removed": 1, "items": len(index)}


def _feedback(served: Served, given: dict[str, Any]) -> FeedbackData:
    assert served.editing is not None
    review = served.editing.review
    (item,) = known_items(review.index, [given["item"]])
    accepted, rejected = given.get("accepted", []), given.get("rejected", [])
    if not accepted and not rejected:
        raise Refused(400, "Give labels that were accepted or rejected.")
    _check_labels(review.index, [*accepted, *rejected], given)
    made = review.feedback(item, accepted, rejected, who=given.get("who") or "api")
    assert made is not None
    served.renew()
    return {"decision": decision_data(made), "labels": list(review.index.item(item).labels or ())}


def _check_labels(index: SemanticIndex, labels: list[str], given: dict[str, Any]) -> None:
    """Refuse labels that do not exist, unless they may be created."""
    table = index.store.labels
    for name in map(label_name, labels):
        if not index.store.has_label(name) and not given.get("create"):
            raise Refused(409, f'{table.unknown(name)} Send "create": true to create it.')
