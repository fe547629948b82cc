"""The table of all addresses: routes, OpenAPI, tools and the reference derive from it.

Only what is under ``/api/1/``, and the tools, are promised to stay as they are; the JSON of a page
changes with the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..answers import (
    change_list,
    collection,
    explanations,
    findings,
    items,
    labels,
    lessons,
    lists,
    tags,
)
from . import api, changes_page, downloads, edit_routes, map_points, teach_edits, value_edits
from .endpoint import Endpoint
from .requests import LONGEST_QUERY, LONGEST_TEXT, text_input, texts_input, whole_input
from .selection import BALANCE, QUERY, SELECTION, SORT
from .snapshot import Snapshot

__all__ = ["ENDPOINTS", "PAGES"]

Background = Mapping[str, Any]

_VIEW = r"(-?[0-9]{1,6}\.-?[0-9]{1,6}\.[0-9]{1,7})?"
_PAGE = whole_input("page", "Number of the page, from 1.", 1, 100_000, 1)
_ITEM = text_input("id", "The item.", None)
_COUNT = whole_input("k", "Maximum number of results.", 10, 100, 1)
_K = whole_input("k", "Number of results on a page.", 10, 100, 1)
_ID = text_input("id", "Id of the item.", None)
# Ids may have slashes.
_ONE = "/api/1/items/{id:path}"


# --- what the server computes in the background -----------------------------------------------


def _mask(snapshot: Snapshot) -> Background:
    return {"mask": snapshot.mask}


def _reports(snapshot: Snapshot) -> Background:
    return {"reports": snapshot.report()}


def _summary(snapshot: Snapshot) -> Background:
    return {"drawn": snapshot.map, "findings": snapshot.findings, "reports": snapshot.report()}


def _map(snapshot: Snapshot) -> Background:
    state, percent = snapshot.map_state, snapshot.map_percent
    return {"drawn": snapshot.map, "state": state, "percent": percent}


def _evidence(snapshot: Snapshot) -> Background:
    return {"review": snapshot.review, "state": snapshot.audit_state}


def _audit(snapshot: Snapshot) -> Background:
    snapshot.start_audit()
    return {**_evidence(snapshot), "findings": snapshot.findings}


# --- pages ------------------------------------------------------------------------------------


PAGES: tuple[Endpoint, ...] = (
    Endpoint("home", "/", collection.home, title="Explore", background=_summary),
    Endpoint(
        "search",
        "/search",
        lists.search,
        (
            *SELECTION,
            SORT,
            text_input("show", "cards, or table.", "cards", pattern="cards|table"),
            texts_input("open", "Lists of labels and values to show longer."),
            _PAGE,
        ),
        title="Items",
        background=_mask,
    ),
    Endpoint(
        "why",
        "/why",
        explanations.why,
        (
            _ITEM,
            QUERY,
            texts_input("label", "The labels searched for, if there was no text."),
            BALANCE,
        ),
        title="Why",
    ),
    Endpoint("item", "/item", items.item, title="Item", parameters=(_ITEM, _COUNT)),
    Endpoint(
        "map",
        "/map",
        collection.map_state,
        (
            text_input("item", "An item to highlight."),
            text_input("colour", "A label to colour by."),
            text_input("colour_meta", "A key of the metadata to colour by."),
            text_input(
                "view",
                "What is visible: the centre and the zoom in percent, as x.y.zoom.",
                pattern=_VIEW,
            ),
            *SELECTION,
        ),
        title="Map",
        background=_map,
    ),
    Endpoint(
        "labels",
        "/labels",
        labels.labels,
        (
            text_input("q", "Only labels whose name contains this.", largest=LONGEST_QUERY),
            text_input(
                "sort", f"What to sort by: {', '.join(labels.SORTS)}; with a minus, reversed."
            ),
            _PAGE,
        ),
        title="Labels",
        background=_reports,
    ),
    Endpoint(
        "label",
        "/label",
        labels.label,
        title="Label",
        background=_reports,
        parameters=(text_input("name", "The label.", None),),
    ),
    Endpoint(
        "values",
        "/values",
        labels.values,
        (
            text_input("field", "A key of the metadata; empty for labels."),
            text_input(
                "how",
                "words: the same words in any order; spelling: also one letter that differs.",
                "words",
                pattern="words|spelling",
            ),
            _PAGE,
        ),
        title="Similar names",
    ),
    Endpoint(
        "review",
        "/review",
        findings.review,
        (
            text_input("kind", "Only findings of this kind; pairs for wrong and missing labels."),
            text_input("label", "Only findings about this label."),
            text_input(
                "show", "Which findings: waiting, or skipped.", "waiting", pattern="waiting|skipped"
            ),
            _PAGE,
        ),
        title="Review",
        background=_audit,
    ),
    Endpoint(
        "teach",
        "/teach",
        lessons.teach,
        title="Teach",
        parameters=(
            text_input("label", "The label that is taught."),
            text_input("q", "A search to start from.", largest=LONGEST_QUERY),
            text_input("within", "Ask only about items with this label."),
        ),
    ),
    Endpoint(
        "finding",
        "/finding",
        findings.finding,
        (text_input("key", "Key of the finding.", None, pattern="[0-9a-f]{24}"),),
        title="Finding",
        background=_evidence,
    ),
    Endpoint(
        "axis",
        "/axis",
        explanations.axis,
        (whole_input("number", "Number of the axis, from 0.", 0, 100_000),),
        title="Axis",
    ),
    Endpoint(
        "tag",
        "/tag",
        tags.tag,
        (text_input("text", "The text.", largest=LONGEST_TEXT), _COUNT),
        title="Tag a text",
        form=True,
    ),
)

# What scripts of the pages ask for, and downloads.
_DATA = (
    Endpoint("ids", "/search/ids.json", lists.ids, (*SELECTION, SORT), background=_mask),
    Endpoint(
        "teach_map",
        "/teach/map.json",
        lessons.map_colours,
        (teach_edits.LESSON,),
    ),
    Endpoint(
        "decisions",
        "/teach/decisions.json",
        lessons.decisions,
        (
            teach_edits.LESSON,
            text_input("show", "all, mine, or conflicts.", "all", pattern="all|mine|conflicts"),
            text_input("who", "Whose they are, for mine."),
            whole_input("n", "Maximum number of decisions.", 50, 2000, 1),
        ),
    ),
    Endpoint("matches", "/map/matches.json", lists.matches, SELECTION, background=_mask),
    Endpoint(
        "complete",
        "/labels/complete.json",
        labels.complete,
        (
            text_input("q", "What a name begins with, or has in it.", largest=LONGEST_QUERY),
            whole_input("n", "Maximum number of labels.", 10, 100, 1),
        ),
    ),
    Endpoint(
        "table",
        "/search.csv",
        downloads.send_table,
        (*SELECTION, SORT),
        background=_mask,
        media="text/csv; charset=utf-8",
    ),
    Endpoint(
        "lines",
        "/search.jsonl",
        downloads.send_lines,
        (*SELECTION, SORT),
        background=_mask,
        media="application/jsonl; charset=utf-8",
    ),
    Endpoint(
        "points",
        map_points.POINTS,
        map_points.points,
        media=map_points.BYTES,
        respond=map_points.send_points,
    ),
    Endpoint(
        "sketch",
        map_points.SKETCH,
        map_points.sketch,
        media=map_points.BYTES,
        respond=map_points.send_sketch,
    ),
)

# Version 1 of the API for other programs. Those with a tool are also for assistants.
_API = (
    Endpoint(
        "search",
        "/api/1/search",
        lists.items,
        (
            *(one for one in SELECTION if one.name not in ("finding", "lasso", "match")),
            SORT,
            _K,
            _PAGE,
        ),
        access="token",
        tool='Find items by words and by meaning, best first. In q, "two words" in quotes must '
        "follow one another, -word excludes, begin* matches all words with that beginning. "
        "Without q, list the items that have the labels and metadata asked for. Items with weak "
        "have few of the words.",
    ),
    Endpoint(
        "similar",
        "/api/1/similar",
        items.similar,
        (_ID, _K, _PAGE),
        access="token",
        tool="Find items whose texts and labels are similar to those of a given item.",
    ),
    Endpoint(
        "labels",
        "/api/1/labels",
        labels.label_list,
        (
            text_input("q", "Only labels whose name contains this.", largest=LONGEST_QUERY),
            whole_input("k", "Number of results on a page.", 100, 1000, 1),
            _PAGE,
        ),
        access="token",
        tool="List labels with the number of items that have them, the most frequent first.",
    ),
    Endpoint(
        "item",
        _ONE,
        items.whole_item,
        (
            replace(_ID, in_path=True),
            whole_input("start", "Where in the text to begin.", 0, 10**9 - 1),
            whole_input("n", "Maximum number of characters of the text.", 20_000, 10**7, 1),
        ),
        access="token",
        tool="Read an item: its text, labels and metadata. Of a long text, start and n choose a "
        "part.",
    ),
    Endpoint(
        "tag",
        "/api/1/tag",
        tags.suggestions,
        method="POST",
        body=api.TagBody,
        access="token",
        tool="Suggest labels of this collection for new texts, the most probable first. Those with "
        "chosen are the ones that labelspan would assign by itself.",
    ),
    Endpoint(
        "embed", "/api/1/embed", tags.embed, method="POST", body=api.EmbedBody, access="token"
    ),
    Endpoint(
        "put_items",
        "/api/1/items",
        api.put_items,
        method="POST",
        body=api.ItemsBody,
        takes="served",
        access="token",
        writes=True,
    ),
    Endpoint(
        "remove_item",
        _ONE,
        api.remove_item,
        (replace(_ID, in_path=True),),
        "DELETE",
        takes="served",
        access="token",
        writes=True,
    ),
    Endpoint(
        "feedback",
        "/api/1/feedback",
        api.feedback,
        method="POST",
        body=api.FeedbackBody,
        takes="served",
        access="token",
        writes=True,
    ),
)


def _edit(name: str, path: str, answer: Any, body: Any) -> Endpoint:
    return Endpoint(name, path, answer, (), "POST", body, "served", access="edit", writes=True)


# They do not exist with ``labelspan serve --read-only``.
_EDITS = (
    Endpoint("session", "/edit/session.json", edit_routes.session, takes="served", access="edit"),
    Endpoint(
        "history",
        "/history",
        change_list.history,
        (
            whole_input("before", "Only changes before this number; 0 for all.", 0, 10**9 - 1),
            whole_input("n", "Maximum number of changes.", 20, 100, 1),
            text_input("item", "Only changes of this item."),
            text_input("label", "Only changes of this label."),
        ),
        access="edit",
        title="History",
    ),
    Endpoint(
        "cells",
        "/history/changes.json",
        change_list.cells,
        (whole_input("number", "Number of a change.", 1, 10**9 - 1, 1),),
        access="edit",
    ),
    Endpoint(
        "changes",
        "/changes",
        changes_page.changes,
        changes_page.CHANGES_INPUTS,
        takes="served",
        access="edit",
        title="Corrected file",
    ),
    Endpoint("check", "/changes/check.json", changes_page.check, takes="served", access="edit"),
    Endpoint(
        "corrected",
        "/changes/file",
        changes_page.send_corrected,
        changes_page.FILE_INPUTS,
        takes="served",
        access="edit",
        media=map_points.BYTES,
    ),
    _edit("labels", "/edit/labels.json", edit_routes.edit_labels, edit_routes.LabelsBody),
    _edit("replace", "/edit/replace.json", edit_routes.replace_labels, edit_routes.ReplaceBody),
    _edit("decide", "/edit/decide.json", edit_routes.decide, edit_routes.DecideBody),
    _edit("undo", "/edit/undo.json", edit_routes.undo, edit_routes.UndoBody),
    _edit("start", "/edit/teach/start.json", teach_edits.start_lesson, teach_edits.StartBody),
    _edit("answer", "/edit/teach/answer.json", teach_edits.answer_question, teach_edits.AnswerBody),
    _edit("unanswer", "/edit/teach/undo.json", teach_edits.undo_answer, teach_edits.UndoAnswerBody),
    _edit("apply", "/edit/teach/apply.json", teach_edits.apply_lesson, teach_edits.ApplyBody),
    _edit("lesson", "/edit/teach/state.json", teach_edits.show_lesson, teach_edits.LessonBody),
    _edit(
        "comment", "/edit/teach/comment.json", teach_edits.comment_answer, teach_edits.CommentBody
    ),
    _edit("aim", "/edit/teach/aim.json", teach_edits.aim_lesson, teach_edits.AimBody),
    _edit("take", "/edit/teach/take.json", teach_edits.take_decisions, teach_edits.DecisionsBody),
    Endpoint(
        "answers_ris",
        "/teach/answers.ris",
        teach_edits.send_ris,
        (teach_edits.LESSON,),
        takes="served",
        access="edit",
        media="application/x-research-info-systems",
    ),
    Endpoint(
        "answers",
        "/teach/answers.csv",
        teach_edits.send_answers,
        (teach_edits.LESSON,),
        takes="served",
        access="edit",
        media="text/csv; charset=utf-8",
    ),
    _edit("values", "/edit/values.json", value_edits.replace_values, value_edits.ValuesBody),
    _edit("links", "/edit/links.json", value_edits.edit_links, value_edits.LinksBody),
    _edit("save", "/edit/search.json", value_edits.save_search, value_edits.SearchBody),
)

ENDPOINTS: tuple[Endpoint, ...] = (*PAGES, *_DATA, *_API, *_EDITS)
