"""Names by which the fields of a corpus are recognised, in lower case, the likelier first."""

from __future__ import annotations

__all__ = ["HEADINGS", "IDS", "LABELS", "LABEL_KEYS", "PARTS", "TEXTS"]

TEXTS = (
    "text",
    "body",
    "content",
    "description",
    "abstract",
    "extract",
    "document",
    "message",
    "review",
    "comment",
    "question",
    "sentence",
    "overview",
    "plot",
    "synopsis",
    "lyrics",
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
    "subjects",
    "keywords",
    "classes",
    "class",
    "genres",
    "genre",
)
IDS = ("id", "_id", "ids", "key", "uid", "uuid", "doc_id", "package", "name", "path", "url")
# Where labels are objects, as in [{"name": "bug"}], the key that names one.
LABEL_KEYS = ("name", "label", "title", "tag", "term", "value", "text", "id")
# Folders with these names are parts of a collection, not labels.
PARTS = frozenset(
    ("train", "training", "test", "testing", "dev", "valid", "validation", "docs", "documents")
)
