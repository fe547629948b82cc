"""Vectors from a server that speaks ``/v1/embeddings``: Ollama, vLLM, llama.cpp, OpenAI."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from copy import copy
from ipaddress import ip_address
from time import sleep
from typing import Any, Self
from urllib.parse import urlsplit

from ..errors import InvalidInput, LabelspanError, MissingData
from .text_model import TextModel

__all__ = ["ServerModel", "is_local"]

# Texts of a request, and seconds and attempts that one may take: if nobody waits, and if somebody
# does.
_TEXTS = 32
_PATIENT, _HURRIED = (120.0, 6), (10.0, 1)
# Longest time that a server may ask to wait, in seconds, and the first wait if it names none.
_LONGEST_WAIT, _FIRST_WAIT = 60.0, 1.0
_BUSY = (429, 503)
_KEY = "LABELSPAN_MODEL_KEY"
# The only host that gets the key of another program.
_OPENAI = "api.openai.com"


def is_local(name: str) -> bool:
    """Return whether a server is on this machine."""
    host = urlsplit(name).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class ServerModel(TextModel):
    """A model of a server, ``http://127.0.0.1:11434/v1#name``.

    A key is read from the environment, ``LABELSPAN_MODEL_KEY``, or for OpenAI itself from
    ``OPENAI_API_KEY``.
    """

    batch = _TEXTS
    _limits = _PATIENT

    def __init__(self, address: str) -> None:
        url, _, model = address.partition("#")
        parts = urlsplit(url)
        if not parts.hostname or not model:
            raise InvalidInput(
                f"{address!r} is not the address of a model; write it as "
                "http://127.0.0.1:11434/v1#nomic-embed-text."
            )
        self.name, self._model = address, model
        self._url = f"{url.rstrip('/')}/embeddings"
        key = os.environ.get(_KEY)
        if not key and parts.hostname == _OPENAI:
            key = os.environ.get("OPENAI_API_KEY")
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    def hurried(self) -> Self:
        model = copy(self)
        model._limits = _HURRIED
        return model

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        rows: list[list[float]] = []
        for start in range(0, len(texts), _TEXTS):
            rows += self._ask(texts[start : start + _TEXTS])
        if len({len(row) for row in rows}) > 1:
            raise InvalidInput(f"{self._url} gave vectors of different lengths for one model.")
        return rows

    def _ask(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of a few texts, in their order."""
        # Servers refuse an empty text.
        given = {"model": self._model, "input": [text or " " for text in texts]}
        answer = self._post(json.dumps(given).encode(), *self._limits)
        try:
            found = {int(one["index"]): one["embedding"] for one in json.loads(answer)["data"]}
            rows = [[float(x) for x in found[number]] for number in range(len(texts))]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidInput(
                f"{self._url} did not answer with a vector for each of {len(texts)} texts "
                f"({type(error).__name__}: {error!s:.80}); it must speak /v1/embeddings."
            ) from error
        return rows

    def _post(self, body: bytes, timeout: float, tries: int) -> bytes:
        wait = _FIRST_WAIT
        for attempt in range(tries):
            request = urllib.request.Request(self._url, body, self._headers)
            try:
                with urllib.request.urlopen(request, timeout=timeout) as reply:
                    content: bytes = reply.read()
                    return content
            except urllib.error.HTTPError as error:
                with error:
                    said = error.read(2000).decode("utf-8", "replace")
                if error.code not in _BUSY or attempt == tries - 1:
                    raise InvalidInput(
                        f"{self._url} answered {error.code} for the model {self._model!r}: "
                        f"{' '.join(said.split())[:300] or error.reason}."
                    ) from error
                wait = _seconds(error.headers.get("Retry-After")) or wait
                sleep(min(wait, _LONGEST_WAIT))
                wait *= 2
            except (OSError, http.client.HTTPException) as error:
                reason = getattr(error, "reason", None) or error
                raise MissingData(
                    f"The model's server {self._url} cannot be reached ({reason}); start it, or "
                    "correct the address."
                ) from error
        raise LabelspanError(f"{self._url} is busy.")  # pragma: no cover - the loop returns


def _seconds(text: str | None) -> float:
    """Return the seconds that a header names; 0 if it names none."""
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0
