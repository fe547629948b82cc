"""Answer assistants by the Model Context Protocol (MCP): over standard streams, and at ``/mcp``.

Tools are the endpoints of ``/api/1/`` that change nothing, with the same parameters and answers.
The protocol is written here, because only its handshake and calls of tools are needed: the official
package takes longer to import than a session usually lasts, and is what the tests ask with.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .. import __version__

if TYPE_CHECKING:
    from .endpoint import Endpoint
    from .snapshot import Served

__all__ = ["VERSIONS", "Assistants", "answer_on_streams"]

# Of the protocol, the newest first.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
# Characters of an answer. An assistant has to read them all.
_LONGEST_ANSWER = 100_000
_NOT_JSON, _NO_REQUEST, _NO_METHOD, _WRONG, _FAILED = -32700, -32600, -32601, -32602, -32603

Message = dict[str, Any]


class Assistants:
    """Answers to messages from assistants about an index, which ``name`` introduces.

    ``served`` is called for the index, for the first time after the handshake.
    """

    def __init__(self, name: str, served: Callable[[], Served]) -> None:
        self._name, self._served = name, served

    def answer(self, text: str | bytes) -> Message | None:
        """Answer a message; None if it needs no answer."""
        try:
            message = json.loads(text)
            # Half a character is in no answer.
            json.dumps(message, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            return _error(None, _NOT_JSON, "The message cannot be read as JSON.")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _error(None, _NO_REQUEST, "Send one JSON-RPC 2.0 message.")
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            # An answer is not asked for here.
            answers = "result" in message or "error" in message
            return None if answers else _error(None, _NO_REQUEST, "There is no method.")
        if "id" not in message:
            return None
        if isinstance(number, bool) or not isinstance(number, str | int):
            return _error(None, _NO_REQUEST, "The id must be a text or a whole number.")
        given = message.get("params", {})
        methods: dict[str, Callable[[Message], Message]] = {
            "initialize": self._initialize,
            "ping": lambda given: {},
            "tools/list": lambda given: {
                "tools": [tool["described"] for tool in _tools().values()]
            },
            "tools/call": self._call,
        }
        if method not in methods:
            return _error(number, _NO_METHOD, f"There is no method {method[:60]!r} here.")
        if not isinstance(given, dict):
            return _error(number, _WRONG, "params must be an object.")
        try:
            return {"jsonrpc": "2.0", "id": number, "result": methods[method](given)}
        except LookupError as error:
            return _error(number, _WRONG, str(error.args[0]))

    def _initialize(self, given: Message) -> Message:
        wanted = given.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "labelspan", "version": __version__},
            "instructions": f"Searches and tags the collection {self._name!r}. Start with `search`;"
            " `labels` lists the labels that it can filter by. Nothing is changed.",
        }

    def _call(self, given: Message) -> Message:
        tool = _tools().get(str(given.get("name")))
        if tool is None:
            raise LookupError(f"There is no tool {str(given.get('name'))[:60]!r}.")
        from .._texts import json_text  # noqa: PLC0415 - see the module
        from .requests import as_refused  # noqa: PLC0415

        try:
            asked = tool["read"](given.get("arguments") or {})
            text = json_text(tool["work"](self._served(), asked))
        except Exception as error:
            refused = as_refused(error)
            if refused.status == 500:
                raise
            return {"content": [{"type": "text", "text": refused.message}], "isError": True}
        if len(text) > _LONGEST_ANSWER:
            words = (
                f"The answer has {len(text):,} characters, more than {_LONGEST_ANSWER:,}; "
                "ask for less: a smaller k, or a part of a text."
            )
            return {"content": [{"type": "text", "text": words}], "isError": True}
        parts = [{"type": "text", "text": text}]
        return {"content": parts, "structuredContent": json.loads(text), "isError": False}

    def talk(self, lines: Iterable[str], to: TextIO) -> None:
        """Answer messages that come line by line, until there are no more."""
        opening = threading.Thread(target=self._open)
        for line in lines:
            if not line.strip():
                continue
            try:
                answer = self.answer(line)
            except Exception as error:
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                answer = _error(json.loads(line)["id"], _FAILED, "An error occurred; see stderr.")
            if answer is not None:
                to.write(json.dumps(answer) + "\n")
                to.flush()
            if opening.ident is None:
                # The handshake does not wait for the index, and what comes next waits less.
                opening.start()
        if opening.ident is not None:
            opening.join()

    def _open(self) -> None:
        # If it fails, the first call of a tool says why.
        with suppress(Exception):
            _tools()
            self._served()


def answer_on_streams(index: Path) -> None:
    """Answer an assistant about an index over standard input and output, until it ends them."""
    lock, opened = threading.Lock(), ExitStack()
    served: list[Served] = []

    def current() -> Served:
        # Imported here, so that the handshake waits for neither numpy nor the index.
        from .snapshot import Served  # noqa: PLC0415

        with lock:
            if served:
                served[0].look_again()
            else:
                served.append(opened.enter_context(Served(index)))
            return served[0]

    with opened:
        try:
            Assistants(index.stem, current).talk(sys.stdin, sys.stdout)
        except BrokenPipeError:
            # The assistant has ended. Python must not write to it again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _error(number: Any, code: int, words: str) -> Message:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": words}}


# Two threads that import modules which import each other may see half of one.
_importing = threading.Lock()


def _tools() -> dict[str, dict[str, Any]]:
    """Return the tools by name: how each is described, reads its arguments, and works."""
    with _importing:
        return _made_tools()


@cache
def _made_tools() -> dict[str, dict[str, Any]]:
    # Imported here, so that the handshake does not wait for numpy.
    from .endpoints import ENDPOINTS  # noqa: PLC0415

    return {one.name: _tool(one) for one in ENDPOINTS if one.tool}


def _tool(endpoint: Endpoint) -> dict[str, Any]:
    from .requests import read_arguments, read_object  # noqa: PLC0415
    from .schema import json_schema  # noqa: PLC0415

    if endpoint.body is not None:
        schema = json_schema(endpoint.body, "validation")

        def read(given: Any) -> dict[str, Any]:
            return read_object(given, endpoint.body)
    else:
        known = endpoint.parameters
        fields = {
            one.name: {
                **json_schema(one.type, "validation"),
                "description": one.about,
                **({} if one.required else {"default": one.default}),
            }
            for one in known
        }
        needed = [one.name for one in known if one.required]
        schema = {"type": "object", "properties": fields, "required": needed}
        schema["additionalProperties"] = False

        def read(given: Any) -> dict[str, Any]:
            return read_arguments(known, given)

    described = {
        "name": endpoint.name,
        "title": endpoint.about.removesuffix("."),
        "description": endpoint.tool,
        "inputSchema": schema,
        "outputSchema": json_schema(endpoint.answer_type, "serialization"),
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }
    return {"described": described, "read": read, "work": endpoint.work}
