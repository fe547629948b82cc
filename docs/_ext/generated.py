"""Parts of pages that are written from the project itself, in place of a comment."""

from __future__ import annotations

import command
import data_sets
import formats
import http_api
from sphinx.application import Sphinx

PARTS = {
    command.MARK: command.page,
    data_sets.MARK: data_sets.table,
    formats.MARK: formats.table,
    http_api.MARK: http_api.page,
}


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app: Sphinx, name: str, source: list[str]) -> None:
    for mark, write in PARTS.items():
        if mark in source[0]:
            source[0] = source[0].replace(mark, write())
