"""A small index in a folder, ways to tamper with it, and processes that use it."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from _support.topics import corpus

from labelspan import MLSI, SemanticIndex
from labelspan._arrays import ArrayFile, write_arrays
from labelspan.index.folder import read_manifest, write_manifest


def made(count=24, **params):
    texts, labels, ids, metadata = corpus(count)
    params = {"estimator": MLSI(5), **params}
    return SemanticIndex(**params).fit(texts, labels, ids, metadata=metadata)


def generation(folder):
    (found,) = folder.glob("generation-*")
    return found


def answers(index):
    queries = ["chess player", "paint a photo", ""]
    kind = type(index.space).__name__
    return index.search(queries), index.tag(queries), index.axes(2), kind, index.labels, index.ids


def answers_of(folder):
    """What the index in a folder answers; it is closed again."""
    with SemanticIndex.load(folder) as index:
        return answers(index)


def edited(folder, change):
    content = read_manifest(folder)
    change(content)
    write_manifest(folder, content)


def rewritten(folder, name, **changes):
    """A file with other arrays (None for none), and a manifest that vouches for it."""
    path = generation(folder) / f"{name}.arrays"
    file = ArrayFile(path, mapped=False)
    arrays = {**file.arrays(), **changes}
    arrays = {part: array for part, array in arrays.items() if array is not None}
    entry = write_arrays(path, arrays, **file.about)
    edited(folder, lambda manifest: manifest["files"][path.name].update(entry))


def crafted(head, body=b""):
    """The content of a file with any header, and with the right hash."""
    data = head if isinstance(head, bytes) else json.dumps(head).encode()
    content = b"labelspan array\n" + len(data).to_bytes(8, "little") + data + body
    return content + hashlib.sha256(content).digest()


def run(script, *arguments):
    """Run a script in a process of its own, which finds the modules of the tests."""
    places = [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(places),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        env=environment,
        timeout=600,
    )
