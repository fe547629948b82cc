"""Scripts in processes of their own that need not import anything again: they are forked."""

import multiprocessing
import os
import sys
import tempfile
from types import SimpleNamespace

_TIMEOUT = 600
# What the scripts use; what an index or a command imports late is among it.
_IMPORTED = [
    "labelspan.cli.commands",
    "labelspan.evaluation.comparison",
    "labelspan.curation",
    "labelspan.index.fitting",
    "sklearn.isotonic",
    "sklearn.manifold",
    "typer.testing",
    "_support.hostile",
    "_support.tagged",
]


def _play(script, arguments, out, err):
    for path, place in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_WRONLY), place)
    sys.argv = ["-c", *arguments]
    exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})


def forked(script, *arguments):
    """Run a script as a process; as ``_support.stored.run``, but forked from one that waits."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before = {name: os.environ.get(name) for name in threads}
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        process = context.Process(
            target=_play, args=(script, [str(one) for one in arguments], out.name, err.name)
        )
        os.environ.update(threads)
        try:
            process.start()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
        process.join(_TIMEOUT)
        if process.is_alive():
            process.kill()
            process.join()
        texts = [stream.read().decode() for stream in (out, err)]
    return SimpleNamespace(returncode=process.exitcode, stdout=texts[0], stderr=texts[1])
