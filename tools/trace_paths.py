"""Count the files and functions of the package that a call passes through.

Run from the repository root::

    python tools/trace_paths.py

Each row is one task, with the number of distinct files and functions of ``labelspan`` that ran.
Modules that are only imported do not count.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from scipy import sparse
from starlette.testclient import TestClient

import labelspan
from labelspan import MLSI
from labelspan.cli import app
from labelspan.web import Served, make_app

ROOT = Path(labelspan.__file__).parent


class Recorder:
    """Record the functions of the package that run, in all threads, between two moments."""

    def __init__(self) -> None:
        self.active = False
        self.seen: set[tuple[str, str, int]] = set()
        threading.setprofile(self)
        sys.setprofile(self)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note one event, as sys.setprofile calls it."""
        code = frame.f_code
        # Bodies of modules and classes run when they are imported, and are not optimized code.
        called = self.active and event == "call" and code.co_flags & inspect.CO_OPTIMIZED
        if called and code.co_filename.startswith(str(ROOT)):
            self.seen.add((code.co_filename, code.co_qualname, code.co_firstlineno))

    def trace(self, task: Callable[[], Any]) -> tuple[list[str], int]:
        """Return the files that ran during ``task``, sorted, and the number of functions."""
        self.seen.clear()
        self.active = True
        try:
            task()
        finally:
            self.active = False
        files = sorted({str(Path(name).relative_to(ROOT)) for name, _, _ in self.seen})
        return files, len(self.seen)


def tasks(folder: Path) -> tuple[dict[str, Callable[[], Any]], Callable[[], Callable[[], Any]]]:
    """Return the tasks by name, and what prepares the request of the explorer."""
    rng = np.random.default_rng(0)
    X = sparse.random(3000, 6000, density=0.01, format="csr", random_state=0)
    Y = (rng.random((3000, 30)) < 0.1).astype(float)
    model = MLSI(20, solver="krylov")
    corpus = folder / "corpus.jsonl"
    words = ("chess", "music", "editor", "network", "game", "audio", "text", "server")
    with corpus.open("w", encoding="utf-8") as file:
        for number in range(200):
            one, two = words[number % 8], words[(number * 3 + 1) % 8]
            row = {
                "id": f"item{number}",
                "text": f"a {one} program with {two}",
                "labels": [one, two],
            }
            file.write(json.dumps(row) + "\n")
    index = str(folder / "index.labelspan")

    def command(*words: str) -> Callable[[], Any]:
        return lambda: app(list(words), standalone_mode=False)

    def answered() -> Callable[[], Any]:
        client = TestClient(make_app(Served(Path(index)), watch=False), base_url="http://localhost")
        client.__enter__()  # stays open until the process ends
        client.get("/search?q=chess")  # the first request fills the caches
        return lambda: client.get("/search?q=music")

    return {
        "MLSI.fit, sparse, randomized": lambda: model.fit(X, Y),
        "MLSI.transform": lambda: model.transform(X[:10]),
        "labelspan fit": command("fit", str(corpus), "--out", index),
        "labelspan search": command("search", "music", "--index", index),
        "labelspan tag": command("tag", "a chess server", "--index", index),
    }, answered


def main() -> None:
    """Print the table."""
    recorder = Recorder()

    def show(title: str, task: Callable[[], Any]) -> None:
        files, functions = recorder.trace(task)
        print(f"{title:30} {len(files):4} files {functions:5} functions", file=sys.stderr)
        if "-v" in sys.argv:
            print("    " + " ".join(files), file=sys.stderr)

    with tempfile.TemporaryDirectory() as name:
        named, answered = tasks(Path(name))
        for title, task in named.items():
            show(title, task)
        show("explorer /search", answered())


if __name__ == "__main__":
    main()
