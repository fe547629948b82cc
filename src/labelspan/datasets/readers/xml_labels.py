"""The XML files of MULAN, which name the labels of an ARFF file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ..._files import read_bytes
from ...errors import InvalidFile
from .lines import malformed

__all__ = ["read_label_names"]


def read_label_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the ``name`` of every ``label`` element, nested ones included, in order.

    A document type is refused: that is where entities are declared, by which a short file
    can grow without bound or reach for other files.
    """
    path = Path(path)
    names: list[str] = []
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse(*_: Any) -> None:
        raise malformed(path, parser.CurrentLineNumber, "a DOCTYPE is not allowed; remove it")

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(" ")[2] != "label":
            return
        if "name" not in attributes:
            raise malformed(path, parser.CurrentLineNumber, "this label has no name")
        names.append(attributes["name"])

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    try:
        parser.Parse(read_bytes(path), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise malformed(path, error.lineno, f"this is not XML ({reason})") from error
    if not names:
        raise InvalidFile(f"{path} names no label; MULAN writes <label name='...'/> for each.")
    return names
