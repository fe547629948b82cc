"""Version 1 of the API for other programs: search, tag, store items, learn from feedback.

Addresses begin with ``/api/1/``. A later version of labelspan with the same addresses takes the
same requests and adds at most keys to answers. Every request needs the token of ``labelspan serve
--token-file``; those that change items or labels need ``--edit`` as well.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NotRequired, get_type_hints

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from typing_extensions import TypedDict

from ..curation import Review
from ..curation.label_edits import doubted
from ..errors import InvalidFile, MissingData
from ..index import Hit, Item, Tag
from ..index.results import Vote, WordShare
from .answer_parts import PageData, find_item, labels_by_count, page_of, rounded
from .edit_routes import Create, DecisionData, Labels, Similar, decision_data, known_items
from .editing import Name, Who
from .item_list import SELECTION, SORT, browse
from .requests import (
    LONGEST_QUERY,
    LONGEST_TEXT,
    Parameter,
    Refused,
    read_json_body,
    read_pairs,
    read_parameters,
    text_input,
    whole_input,
)
from .schema import WHOLE, Body, Count, MaxLen, Unit, as_json, body
from .snapshot import Served, Snapshot

__all__ = ["ENDPOINTS", "Endpoint", "api_routes", "read_token"]

MOST_TEXTS = 100
MOST_ITEMS = 1000
_MOST_EXPLAINED = 10
_MOST_TAGS = 100
# Characters of a value of the metadata in a list.
_CUT = 200
_SHORTEST_TOKEN = 16
_LONGEST_TOKEN_FILE = 10_000

_Text = Annotated[str, MaxLen(LONGEST_TEXT)]


@body(
    oneOf=[{"required": ["text"]}, {"required": ["texts"]}],
    anyOf=[
        {"properties": {"why": {"const": False}}},
        {"properties": {"texts": {"maxItems": _MOST_EXPLAINED}}},
    ],
)
class TagBody(Body):
    """One text, or several, for which labels are requested."""

    text: NotRequired[_Text]
    texts: NotRequired[Annotated[list[_Text], MaxLen(MOST_TEXTS)]]
    k: NotRequired[
        Annotated[int, Field(ge=1, le=_MOST_TAGS), WHOLE, "maximum number of labels; 10"]
    ]
    why: NotRequired[Annotated[bool, f"explain every label; for at most {_MOST_EXPLAINED} texts"]]


class TagWhyData(TypedDict):
    """What speaks for and against a label: words of the text, and labelled items near it."""

    words: tuple[WordShare, ...]
    neighbours: tuple[Vote, ...]
    implied_by: Annotated[str | None, "narrower label that gives it its probability, if one does"]


class SuggestedData(TypedDict):
    """A suggested label."""

    label: str
    uri: Annotated[str | None, "of the label in the vocabulary of the index"]
    probability: Unit
    threshold: Annotated[float, "probability from which the label is chosen"]
    chosen: bool
    why: TagWhyData | None


class SuggestionsData(TypedDict):
    """Labels of each text, the most probable first; of one text a list of one entry."""

    results: list[list[SuggestedData]]


class ItemBody(Body):
    """An item. If its id exists, what is not given stays as it was."""

    id: Name
    text: _Text
    labels: NotRequired[Annotated[Labels | None, "null if they are not known"]]
    metadata: NotRequired[dict[str, str | int | float | bool | None]]


class ItemsBody(Body):
    """Items to add or to change: all of them, or none."""

    items: Annotated[list[ItemBody], MaxLen(MOST_ITEMS)]
    create: NotRequired[Create]
    similar: NotRequired[Similar]


class KeptData(TypedDict):
    """What was done."""

    added: Count
    changed: Count
    removed: Count
    items: Annotated[Count, "number of items in the index now"]


@body(
    anyOf=[
        {"required": [name], "properties": {name: {"minItems": 1}}}
        for name in ("accepted", "rejected")
    ]
)
class FeedbackBody(Body):
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


class EmbedBody(Body):
    """Texts whose vectors are asked for."""

    texts: Annotated[list[_Text], MaxLen(MOST_TEXTS)]


class EmbeddedData(TypedDict):
    """Vectors of length one, or of zeros for a text of which no word is known."""

    dimensions: Count
    vectors: list[list[float]]


class StoredLabelData(TypedDict):
    """A label, and the number of items that have it."""

    label: str
    uri: Annotated[str | None, "of the label in the vocabulary of the index"]
    items: Count


class LabelListData(PageData):
    """Labels, the most frequent first."""

    labels: list[StoredLabelData]


class FoundItemData(TypedDict):
    """An item in a list."""

    id: str
    title: Annotated[str, "first line or sentence of the text"]
    snippet: Annotated[str, f"beginning of the text; values of metadata have {_CUT} characters"]
    labels: Annotated[list[str] | None, "null if they are not known"]
    metadata: dict[str, Any]
    score: Annotated[Unit | None, "share of the largest possible score; null if there is none"]
    weak: Annotated[bool, "whether it has less than a third of the words"]


class ItemListData(PageData):
    """Items of a list."""

    items: list[FoundItemData]


class WholeItemData(TypedDict):
    """An item, with a part of its text."""

    id: str
    title: Annotated[str, "first line or sentence of the text"]
    text: Annotated[str, "characters of the text from ``start`` on"]
    start: Count
    length: Annotated[Count, "characters of the whole text"]
    labels: Annotated[list[StoredLabelData] | None, "null if they are not known"]
    metadata: dict[str, Any]


def _uris(snapshot: Snapshot) -> Callable[[str], str | None]:
    vocabulary = snapshot.index.vocabulary
    return (lambda name: None) if vocabulary is None else vocabulary.code


def _stored(snapshot: Snapshot, names: Iterable[str]) -> list[StoredLabelData]:
    uri_of = _uris(snapshot)
    return [
        {"label": name, "uri": uri_of(name), "items": snapshot.labels.get(name, 0)}
        for name in names
    ]


def _found(hits: Iterable[Hit], *, scored: bool = True) -> list[FoundItemData]:
    def short(value: Any) -> Any:
        return f"{value[:_CUT]}…" if isinstance(value, str) and len(value) > _CUT else value

    return [
        {
            "id": hit.id,
            "title": hit.title,
            "snippet": hit.snippet,
            "labels": None if hit.labels is None else list(hit.labels),
            "metadata": {key: short(value) for key, value in hit.metadata.items()},
            "score": rounded(hit.score) if scored else None,
            "weak": hit.weak,
        }
        for hit in hits
    ]


def _labels(served: Served, given: dict[str, Any]) -> LabelListData:
    with served.lease() as snapshot:
        every = [name for name, _ in labels_by_count(snapshot)]
        if part := given["q"].strip():
            # Also by alternative names, if there is a vocabulary.
            known = {one.label for one in snapshot.index.find_labels(part, max(1, len(every)))}
            every = [name for name in every if name in known]
        shown, page = page_of(given, every, given["k"])
        return {**page, "labels": _stored(snapshot, shown)}


def _search(served: Served, given: dict[str, Any]) -> ItemListData:
    with served.lease() as snapshot:
        found = browse(snapshot, {**_NOT_SELECTED, **given})
        close = found.close
        if not len(found) and close is not None and len(close):
            # Nothing has the words: what is close in meaning is better than nothing.
            found = close
        numbers, page = page_of(given, range(len(found)), given["k"])
        hits = found.page(page["page"], given["k"]) if numbers else []
        return {**page, "items": _found(hits, scored=found.scored)}


def _similar(served: Served, given: dict[str, Any]) -> ItemListData:
    with served.lease() as snapshot:
        item = find_item(snapshot, given["id"])
        found = snapshot.index.search(None, given["k"] * given["page"], items=item.id)
        count = len(snapshot.index) - 1
        if len(found) < given["k"] * given["page"]:
            count = len(found)
        numbers, page = page_of(given, range(count), given["k"])
        return {**page, "items": _found([found[n] for n in numbers])}


def _item(served: Served, given: dict[str, Any]) -> WholeItemData:
    with served.lease() as snapshot:
        found, start = find_item(snapshot, given["id"]), given["start"]
        return {
            "id": found.id,
            "title": found.title,
            "text": found.text[start : start + given["n"]],
            "start": start,
            "length": len(found.text),
            "labels": None if found.labels is None else _stored(snapshot, found.labels),
            "metadata": found.metadata,
        }


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
        uri_of = _uris(snapshot)

        def reasons(label: str, text: str) -> TagWhyData:
            why = index.explain_tag(label, text)
            return {"words": why.words, "neighbours": why.votes, "implied_by": why.implied_by}

        def suggested(tag: Tag, text: str) -> SuggestedData:
            return {
                "label": tag.label,
                "uri": uri_of(tag.label),
                "probability": rounded(tag.probability),
                "threshold": rounded(tag.threshold),
                "chosen": tag.chosen,
                "why": reasons(tag.label, text) if explained else None,
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
    if len(set(ids)) < len(ids):
        (twice, _), *_ = Counter(ids).most_common(1)
        raise Refused(409, f"items: the id {twice!r:.60} occurs twice; give each item once.")
    with served.changing_items(), index.write_lock:
        before = {item.id: item for item in index.items([name for name in ids if name in index])}
        new = Item("", "", None, {})
        labels = [
            before.get(one["id"], new).labels
            if "labels" not in one
            else _named(_review(served), one["labels"])
            for one in items
        ]
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
    accepted, rejected = (_named(review, given.get(name, [])) for name in ("accepted", "rejected"))
    if not accepted and not rejected:
        raise Refused(400, "Give labels that were accepted or rejected.")
    if set(accepted) & set(rejected):
        raise Refused(409, "feedback: a label cannot be both accepted and rejected.")
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


def _named(review: Review, labels: Any) -> Any:
    """Return labels by their names; what was given may be URIs of the vocabulary."""
    vocabulary = review.index.vocabulary
    if vocabulary is None or labels is None:
        return labels
    return [vocabulary.names.get(one, one) for one in labels]


def _check_labels(review: Review, labels: list[str], given: dict[str, Any]) -> None:
    """Refuse labels that do not exist, unless they may be created."""
    allowed = {key: given.get(key, False) for key in ("create", "similar")}
    what, said = doubted(review, labels, **allowed)
    if what:
        raise Refused(409, f'{said} Send "{what}": true to create it.')


@dataclass(frozen=True, eq=False)
class Endpoint:
    """An endpoint: its parameters or body, its answer, and the function that computes it.

    ``tool`` is what assistants are told about it; those without it are not for them.
    """

    name: str
    path: str
    about: str
    work: Callable[[Served, dict[str, Any]], Any]
    method: str = "POST"
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    writes: bool = False
    tool: str = ""

    @property
    def answer_type(self) -> Any:
        """Return the TypedDict that describes the answer."""
        return get_type_hints(self.work)["return"]


_PAGE = whole_input("page", "Number of the page, from 1.", 1, 100_000, 1)
# What only the pages of the explorer ask for.
_NOT_SELECTED = {"finding": "", "lasso": "", "match": ""}
_K = whole_input("k", "Number of results on a page.", 10, 100, 1)
_ID = text_input("id", "Id of the item.", None)
# Ids may have slashes.
_ONE = "/api/1/items/{id:path}"

ENDPOINTS = (
    Endpoint(
        "search",
        "/api/1/search",
        "Find items by a text, labels and metadata; without a text, list them.",
        _search,
        "GET",
        (
            *(one for one in SELECTION if one.name not in ("finding", "lasso", "match")),
            SORT,
            _K,
            _PAGE,
        ),
        tool='Find items by words and by meaning, best first. In q, "two words" in quotes must '
        "follow one another, -word excludes, begin* matches all words with that beginning. "
        "Without q, list the items that have the labels and metadata asked for. Items with weak "
        "have few of the words.",
    ),
    Endpoint(
        "similar",
        "/api/1/similar",
        "Find items that are similar to a given one.",
        _similar,
        "GET",
        (_ID, _K, _PAGE),
        tool="Find items whose texts and labels are similar to those of a given item.",
    ),
    Endpoint(
        "labels",
        "/api/1/labels",
        "List labels with their numbers of items, the most frequent first.",
        _labels,
        "GET",
        (
            text_input("q", "Only labels whose name contains this.", largest=LONGEST_QUERY),
            whole_input("k", "Number of results on a page.", 100, 1000, 1),
            _PAGE,
        ),
        tool="List labels with the number of items that have them, the most frequent first.",
    ),
    Endpoint(
        "item",
        _ONE,
        "Return an item with its text, labels and metadata.",
        _item,
        "GET",
        (
            replace(_ID, in_path=True),
            whole_input("start", "Where in the text to begin.", 0, 10**9 - 1),
            whole_input("n", "Maximum number of characters of the text.", 20_000, 10**7, 1),
        ),
        tool="Read an item: its text, labels and metadata. Of a long text, start and n choose a "
        "part.",
    ),
    Endpoint(
        "tag",
        "/api/1/tag",
        "Suggest labels for texts.",
        _tag,
        body=TagBody,
        tool="Suggest labels of this collection for new texts, the most probable first. Those with "
        "chosen are the ones that labelspan would assign by itself.",
    ),
    Endpoint("embed", "/api/1/embed", "Vectors of texts.", _embed, body=EmbedBody),
    Endpoint(
        "put_items",
        "/api/1/items",
        "Add or change items.",
        _put_items,
        body=ItemsBody,
        writes=True,
    ),
    Endpoint(
        "remove_item",
        _ONE,
        "Remove an item.",
        _remove_item,
        "DELETE",
        (replace(_ID, in_path=True),),
        writes=True,
    ),
    Endpoint(
        "feedback",
        "/api/1/feedback",
        "Say which suggested labels of an item are right: a decision, learned at once.",
        _feedback,
        body=FeedbackBody,
        writes=True,
    ),
)


def api_routes(served: Served, token: str) -> list[Route]:
    """Return the addresses; without a token they refuse every request."""

    def route(path: str) -> Route:
        there = {one.method: one for one in ENDPOINTS if one.path == path}

        async def answer(request: Request) -> Response:
            _check(request, token)
            # Starlette answers HEAD where it answers GET.
            endpoint = there.get(request.method) or there["GET"]
            if endpoint.writes and served.editing is None:
                raise Refused(403, "Start `labelspan serve` with --edit to change items or labels.")
            if endpoint.body is not None:
                given = await read_json_body(request, endpoint.body)
            else:
                pairs = [*read_pairs(request.scope["query_string"]), *request.path_params.items()]
                given = read_parameters(endpoint.parameters, pairs)
            return as_json(await run_in_threadpool(endpoint.work, served, given))

        return Route(path, answer, methods=list(there))

    return [route(path) for path in dict.fromkeys(one.path for one in ENDPOINTS)]


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
