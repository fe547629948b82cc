"""Names by which the fields of a corpus are known, in lower case, the likelier first."""

from __future__ import annotations

__all__ = ["HEADINGS", "IDS", "LABELS", "TEXTS"]

TEXTS = (
    "text",
    "body",
    "content",
    "description",
    "abstract",
    "document",
    "message",
    "review",
    "comment",
    "question",
    "sentence",
)
# A heading goes before the text.
HEADINGS = ("title", "headline", "subject", "summary")
LABELS = (
    "labels",
    "tags",
    "label",
    "tag",
    "categories",
    "category",
    "topics",
    "topic",
    "keywords",
    "classes",
    "class",
    "genres",
    "genre",
)
IDS = ("id", "_id", "ids", "key", "uid", "uuid", "doc_id", "package", "name", "path", "url")
