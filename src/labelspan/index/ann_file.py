"""A graph of neighbours in a file: its hash, what it was made of, and that it is sound.

    labelspan graph     16 bytes, then the length of what follows in 8
    {...}               JSON: of which vectors, by which usearch, size and sha256 of the rest
    ...                 zeros up to a multiple of 64, then what usearch wrote

usearch follows the numbers in its file without looking whether they lead anywhere, so that a
file which is not what was written must never reach it. A hash shows damage; that also a file
made up by someone leads nowhere is seen by following all of its numbers here, before. What
remains to such a file is to find poor neighbours.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._files import write_whole
from .._typing import Array
from ..errors import InvalidFile
from .parts import file_size

__all__ = ["check_graph", "read_graph", "write_graph"]

_BEGINNING = b"labelspan graph\n"
_ALIGNED = 64
_LONGEST_HEADER = 1 << 16
_NODES_AT_ONCE = 1 << 16
# usearch: rows and bytes a row; a head of 64 bytes with the count in the 18th to 25th; then
# size, links, links on the ground, highest level and entry.
_MATRIX, _HEAD, _ABOUT = 8, 64, 40
_COUNT = slice(17, 25)
_KEY = 8


def write_graph(path: Path, graph: Any, made_of: Mapping[str, Any]) -> None:
    """Put a graph, as usearch writes it, in a file with its hash and what it was made of."""
    about = {**made_of, "bytes": len(graph), "sha256": hashlib.sha256(graph).hexdigest()}
    head = json.dumps(about).encode()
    head = _BEGINNING + len(head).to_bytes(8, "little") + head

    def write(file: BinaryIO) -> None:
        file.write(head + bytes(-len(head) % _ALIGNED))
        file.write(graph)

    write_whole(path, write)


def read_graph(path: Path, made_of: Mapping[str, Any], empty: bytes, *, mapped: bool) -> Any:
    """What usearch wrote, if it is whole, sound, and made of just this.

    ``empty`` is an empty graph with the same settings. The file is mapped, or else read: then
    nothing that happens to it later matters.
    """
    if file_size(path) < len(_BEGINNING) + 8:
        raise InvalidFile(f"{path} is damaged: it is too short.")
    with path.open("rb") as file:
        held: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else file.read()
    content = memoryview(held)
    at = len(_BEGINNING) + 8
    length = int.from_bytes(content[len(_BEGINNING) : at], "little")
    if content[: len(_BEGINNING)] != _BEGINNING or length > _LONGEST_HEADER:
        raise InvalidFile(f"{path} is no graph of labelspan, or damaged.")
    try:
        about = json.loads(bytes(content[at : at + length]))
    except (ValueError, RecursionError):
        raise InvalidFile(f"{path} is damaged: it cannot be read as JSON.") from None
    graph = content[at + length + -(at + length) % _ALIGNED :]
    for name, value in {**made_of, "bytes": len(graph)}.items():
        if not isinstance(about, dict) or about.get(name) != value:
            raise InvalidFile(f"{path} is out of date or damaged: its {name} is another.")
    if hashlib.sha256(graph).hexdigest() != about.get("sha256"):
        raise InvalidFile(f"{path} is damaged: its content is not what was written.")
    check_graph(graph, empty, made_of["rows"])
    return graph


def check_graph(graph: Any, empty: bytes, rows: int) -> None:
    """See that every number in a graph leads to a place inside it; its keys are rows."""
    try:
        _check(np.frombuffer(graph, dtype=np.uint8), empty, rows)
    except (ValueError, IndexError) as error:
        raise InvalidFile(f"A graph of neighbours is not sound: {error}.") from None


def _check(data: Array, empty: bytes, rows: int) -> None:
    size, width = (int(n) for n in data[:_MATRIX].view("<u4"))
    _demand(size <= rows and width == int.from_bytes(empty[4:8], "little"), "another matrix")
    at = _MATRIX + size * width
    head = bytearray(empty[_MATRIX : _MATRIX + _HEAD])
    head[_COUNT] = size.to_bytes(8, "little")
    _demand(data[at : at + _HEAD].tobytes() == bytes(head), "another head")
    at += _HEAD
    about = _numbers(data[at : at + _ABOUT][None], "<u8")[0]
    links, ground = (
        int.from_bytes(empty[n : n + 8], "little") for n in (len(empty) - 32, len(empty) - 24)
    )
    _demand(tuple(about[:3].tolist()) == (size, links, ground), "another size")
    at += _ABOUT
    levels = _numbers(data[at : at + 2 * size].reshape(size, 2), "<i2")[:, 0].astype(np.int64)
    at += 2 * size
    highest, entry = int(about[3]), int(about[4])
    _demand(size > 0 and entry < size and bool((levels >= 0).all()), "a level or its entry")
    _demand(highest == levels.max() == levels[entry], "the highest level")
    # A node: its key, its level, and for each level a count and so many links.
    lowest, upper = _KEY + 2 + 4 * (1 + ground), 4 * (1 + links)
    lengths = lowest + upper * levels
    _demand(at + int(lengths.sum()) == data.size, "another length")
    starts = at + np.cumsum(lengths) - lengths
    for first in range(0, size, _NODES_AT_ONCE):
        own = slice(first, first + _NODES_AT_ONCE)
        nodes = data[starts[own, None] + np.arange(lowest)]
        _demand(bool((_numbers(nodes[:, :_KEY], "<u8") < rows).all()), "a key")
        said = _numbers(nodes[:, _KEY : _KEY + 2], "<i2")[:, 0]
        _demand(bool((said == levels[own]).all()), "a node's level")
        _check_links(nodes[:, _KEY + 2 :], levels, 0)
    for level in range(1, highest + 1):
        reaching = np.flatnonzero(levels >= level)
        for first in range(0, reaching.size, _NODES_AT_ONCE):
            where = starts[reaching[first : first + _NODES_AT_ONCE]] + lowest + upper * (level - 1)
            _check_links(data[where[:, None] + np.arange(upper)], levels, level)


def _check_links(lists: Array, levels: Array, level: int) -> None:
    """Lists of a count and links: each link to a node that reaches the level."""
    numbers = _numbers(lists, "<u4")
    counts, links = numbers[:, 0], numbers[:, 1:]
    _demand(bool((counts <= links.shape[1]).all()), "a count of links")
    used = links[np.arange(links.shape[1]) < counts[:, None]]
    _demand(bool((used < levels.size).all()) and bool((levels[used] >= level).all()), "a link")


def _numbers(rows: Array, kind: str) -> Array:
    return np.ascontiguousarray(rows).view(kind)


def _demand(fine: bool, what: str) -> None:
    if not fine:
        raise ValueError(f"{what} is wrong")
