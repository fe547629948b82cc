"""The manifest: one small file that says what an index is made of.

It is replaced in one step, and what it does not name does not count. So a folder holds
the old index or the new one, whenever the writer stops.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InvalidFile, InvalidInput, MissingData
from .parts import file_size, parse_json, write_bytes

__all__ = ["MANIFEST", "field", "generation_folder", "read_manifest", "write_manifest"]

MANIFEST = "manifest.json"
_FORMAT = "labelspan-index"
_VERSION = 1
# Lists of words, where a vectoriser has some; JSON takes twenty times its size in memory.
_LARGEST = 1 << 24
_DEEPEST = 20
_GENERATION = re.compile(r"generation-[0-9a-f]{8}")
_FILE = re.compile(r"[a-z_]{1,80}\.(npy|json)")


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Put a manifest in the place of the one that may be there."""
    head = {"format": _FORMAT, "version": _VERSION, "sha256": _digest(content)}
    data = json.dumps({**head, "content": content}, ensure_ascii=False, indent=1).encode()
    if len(data) > _LARGEST:
        raise InvalidInput(
            f"save: the parameters take {len(data):,} bytes, and at most {_LARGEST:,} are written; "
            "give the vectorizer a smaller vocabulary, or none to learn it."
        )
    write_bytes(folder / MANIFEST, data)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The content of a manifest that is whole, ours, and not of a later format."""
    path = folder / MANIFEST
    try:
        if file_size(path) > _LARGEST:
            raise InvalidFile(f"{path} is no manifest of an index: it is far too large.")
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingData(f"There is no index in {str(folder)!r}; correct the path.") from None
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or error}.") from error
    head = parse_json(data, path)
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        raise InvalidFile(f"{path} is not the manifest of a labelspan index.")
    version = head.get("version")
    if type(version) is not int or version < 1:
        raise InvalidFile(f"{path} is damaged: it has no format version.")
    if version > _VERSION:
        raise InvalidFile(
            f"{folder} is an index of format {version!s:.20}, and this labelspan reads formats up "
            f"to {_VERSION}; install a newer labelspan."
        )
    content = head.get("content")
    if not _is_shallow(content, _DEEPEST):
        raise InvalidFile(f"{path} is no manifest of an index: it is nested far too deep.")
    if not isinstance(content, dict) or _digest(content) != head.get("sha256"):
        raise InvalidFile(f"{path} is damaged: its content is not what was written.")
    return content


def field(content: Mapping[str, Any], name: str, kind: type) -> Any:
    """An entry of the manifest, of the type it must have."""
    value = content.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidFile(f"{MANIFEST}: the field {name!r} is missing or not of its type.")
    return value


def generation_folder(folder: Path, content: Mapping[str, Any]) -> Path:
    """The folder with the files of a manifest, which lies in that of the index."""
    name: str = field(content, "generation", str)
    inside = folder / name
    if not _GENERATION.fullmatch(name) or inside.is_symlink():
        raise InvalidFile(f"{MANIFEST}: {name!r:.80} is no folder of this index; it is not opened.")
    for file in field(content, "files", dict):
        if not _FILE.fullmatch(file) or (inside / file).is_symlink():
            raise InvalidFile(
                f"{MANIFEST}: {file!r:.80} is no file of this index; it is not opened."
            )
    return inside


def _is_shallow(value: Any, most: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return most > 0 and all(_is_shallow(entry, most - 1) for entry in inner)


def _digest(content: Any) -> str:
    data = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()
