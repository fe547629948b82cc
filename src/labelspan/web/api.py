"""Version 1 of the API for other programs: tag texts, store items, learn from feedback.

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
from ..curation.label_spelling import similar_words
from ..errors import InvalidFile, MissingData
from ..index import Item, Tag
from ..index.inputs import label_name
from ..index.results import Vote, WordShare
from .answer_parts import rounded
from .edit_routes import (
    Create,
    DecisionData,
    Labels,
    Name,
    Similar,
    Who,
    decision_data,
    known_items,
)
from .render import as_json
from .requests import LONGEST_TEXT, Refused, read_json_body
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


class TagWhyData(TypedDict):
    """What speaks for and against a label: words of the text, and labelled items near it."""

    words: tuple[WordShare, ...]
    neighbours: tuple[Vote, ...]


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
    create: NotRequired[Create]
    similar: NotRequired[Similar]


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
    create: NotRequired[Create]
    similar: NotRequired[Similar]
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


def _tag(served: Served, given: dict[str, Any]) -> SuggestionsData:
    if ("text" in given) == ("texts" in given):
        raise Refused(400, "Give either 'text' or 'texts'.")
    texts = [given["text"]] if "text" in given else given["texts"]
    explained = given.get("why", False)
    if explained and len(texts) > _MOST_EXPLAINED:
        raise Refused(400, f"why: at most {_MOST_EXPLAINED} texts can be explained at once.")
    with served.lease() as snapshot:
        index = snapshot.index
        tags = index.tag(texts, given.get("k", 10)) if texts else []

        def suggested(tag: Tag, text: str) -> SuggestedData:
            why = index.explain_tag(tag.label, text) if explained else None
            return {
                "label": tag.label,
                "probability": rounded(tag.probability),
                "threshold": rounded(tag.threshold),
                "chosen": tag.chosen,
                "why": None if why is None else {"words": why.words, "neighbours": why.votes},
            }

        pairs = zip(texts, tags, strict=True)
        return {"results": [[suggested(tag, text) for tag in own] for text, own in pairs]}


def _embed(served: Served, given: dict[str, Any]) -> EmbeddedData:
    with served.lease() as snapshot:
        vectors: Any = snapshot.index.embed(given["texts"]) if given["texts"] else []
        return {
            "dimensions": snapshot.index.n_dimensions,
            "vectors": [[round(float(value), 7) for value in row] for row in vectors],
        }


def _put_items(served: Served, given: dict[str, Any]) -> KeptData:
    items, index = given["items"], _review(served).index
    ids = [one["id"] for one in items]
    with served.changing_items(), index.write_lock:
        before = {item.id: item for item in index.items([name for name in ids if name in index])}
        new = Item("", "", None, {})
        labels = [one.get("labels", before.get(one["id"], new).labels) for one in items]
        metadata = [one.get("metadata", before.get(one["id"], new).metadata) for one in items]
        _check_labels(_review(served), [name for own in labels for name in own or ()], given)
        index.add([one["text"] for one in items], labels, ids, metadata=metadata, replace=True)
        added = len(items) - len(before)
        return {"added": added, "changed": len(before), "removed": 0, "items": len(index)}


def _remove_item(served: Served, given: dict[str, Any]) -> KeptData:
    index = _review(served).index
    with served.changing_items(), index.write_lock:
        index.remove(known_items(index, [given["id"]]))
        return {"added": 0, "changed": 0, "removed": 1, "items": len(index)}


def _feedback(served: Served, given: dict[str, Any]) -> FeedbackData:
    review = _review(served)
    accepted, rejected = given.get("accepted", []), given.get("rejected", [])
    if not accepted and not rejected:
        raise Refused(400, "Give labels that were accepted or rejected.")
    with review.index.write_lock:
        (item,) = known_items(review.index, [given["item"]])
        _check_labels(review, [*accepted, *rejected], given)
        made = review.feedback(item, accepted, rejected, who=given.get("who") or "api")
        labels = review.index.store.labels_of(item) or ()
    assert made is not None
    served.renew()
    return {"decision": decision_data(made), "labels": list(labels)}


def _review(served: Served) -> Review:
    assert served.editing is not None
    return served.editing.review


def _check_labels(review: Review, labels: list[str], given: dict[str, Any]) -> None:
    """Refuse labels that do not exist, unless they may be created."""
    store = review.index.store
    for name in map(label_name, labels):
        if not store.has_label(name) and not given.get("create"):
            raise Refused(409, f'{store.labels.unknown(name)} Send "create": true to create it.')
    similar = {} if given.get("similar") else review.similar(labels)
    if similar:
        said = similar_words(similar, store.labels.totals)
        raise Refused(409, f'{said} Send "similar": true to create it all the same.')


@dataclass(frozen=True)
class Endpoint:
    """An endpoint: its parameters, its answer, and the function that computes it."""

    name: str
    path: str
    about: str
    body: Any
    answer: Any
    work: Callable[[Served, dict[str, Any]], Any]
    writes: bool = False

    @property
    def method(self) -> str:
        """The method of HTTP."""
        return "DELETE" if self.body is None else "POST"


ENDPOINTS = (
    Endpoint("tag", "/api/1/tag", "Suggest labels for texts.", TagBody, SuggestionsData, _tag),
    Endpoint("embed", "/api/1/embed", "Vectors of texts.", EmbedBody, EmbeddedData, _embed),
    Endpoint(
        "put_items", "/api/1/items", "Add or change items.", ItemsBody, KeptData, _put_items, True
    ),
    Endpoint(
        "remove_item", "/api/1/items/{id}", "Remove an item.", None, KeptData, _remove_item, True
    ),
    Endpoint(
        "feedback",
        "/api/1/feedback",
        "Say which suggested labels of an item are right: a decision, learned at once.",
        FeedbackBody,
        FeedbackData,
        _feedback,
        True,
    ),
)


def api_routes(served: Served, token: str) -> list[Route]:
    """Return the addresses; without a token they refuse every request."""

    def route(endpoint: Endpoint) -> Route:
        async def answer(request: Request) -> Response:
            _check(request, token)
            if endpoint.writes and served.editing is None:
                raise Refused(403, "Start `labelspan serve` with --edit to change items or labels.")
            given = request.path_params
            if endpoint.body is not None:
                given = await read_json_body(request, endpoint.body)
            return as_json(await run_in_threadpool(endpoint.work, served, given))

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
