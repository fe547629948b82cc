"""A file from a browser, read and fitted by ``labelspan fit`` in a process of its own.

So the browser and the command read and fit in the same way, a fit can be stopped at any moment,
and its memory is free again afterwards.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from ..index.folder import foreign_files
from .requests import Refused
from .schema import Count

__all__ = ["FileFit", "FitStateData"]

_log = logging.getLogger("labelspan.web")
_LONGEST_FILE_NAME = 100
_SECONDS_TO_STOP = 5.0
_STOPPED = "Stopped; nothing was written."


class StepData(TypedDict):
    """A step of a fit; the last one is in progress."""

    what: str
    seconds: float


class FitStateData(TypedDict):
    """The answer of ``/start.json``."""

    state: Literal["empty", "receiving", "reading", "read", "fitting", "ready"]
    file: Annotated[str, "name of the file"]
    report: Annotated[dict[str, Any] | None, "how it is read, as by `labelspan fit --dry-run`"]
    command: Annotated[str, "the command that does the same"]
    step: Annotated[Count, "number of the current step"]
    of: Annotated[Count, "number of steps"]
    steps: list[StepData]
    message: Annotated[str, "why the file was refused, or the fit ended"]
    choices: Annotated[
        dict[str, dict[str, str]], "values of an option that may help, each with what it reads"
    ]


class FileFit:
    """The file, what was read, and the process that reads or fits it; there is one at a time.

    ``opened`` is called with the file after the index was written. A process that is
    asked to stop may take ``patience`` seconds before it is killed.
    """

    def __init__(
        self,
        out: Path,
        opened: Callable[[Path], None],
        patience: float = _SECONDS_TO_STOP,
    ) -> None:
        self.out, self._opened, self._patience = out, opened, patience
        self._folder = TemporaryDirectory(prefix="labelspan-")
        self._lock = threading.Lock()
        self._state: FitStateData = {
            "state": "empty",
            "file": "",
            "report": None,
            "command": "",
            "step": 0,
            "of": 0,
            "steps": [],
            "message": "",
            "choices": {},
        }
        self._options: list[str] = []
        self._begun = 0.0
        self._stopped = False
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None

    @property
    def _file(self) -> Path:
        return Path(self._folder.name) / "file" / self._state["file"]

    @property
    def _indexed(self) -> bool:
        return (self.out / "manifest.json").exists()

    def state(self) -> FitStateData:
        """Return what is being done, and what was found."""
        with self._lock:
            steps = [dict(one) for one in self._state["steps"]]
            if steps and self._state["state"] == "fitting":
                steps[-1]["seconds"] = round(time.monotonic() - self._begun, 1)
            return {**self._state, "steps": steps}  # type: ignore[typeddict-item]

    def _set(self, **changes: Any) -> None:
        with self._lock:
            self._state.update(changes)  # type: ignore[typeddict-item]

    def _enter(self, state: str, *before: str, **changes: Any) -> None:
        """Begin something, unless another request has begun something else."""
        with self._lock:
            if self._state["state"] not in before:
                raise Refused(
                    409, "This is not possible now; another window may read or fit a file."
                )
            self._stopped = False
            self._state.update(state=state, message="", choices={}, **changes)  # type: ignore[call-arg]

    # --- what a page asks for -------------------------------------------------------------

    async def receive(self, name: str, parts: AsyncIterator[bytes]) -> None:
        """Store a file, in place of an earlier one, and begin to read it."""
        plain = re.sub(r"[^\w.,+ -]", "_", name.replace("\\", "/").rpartition("/")[2])
        plain = plain.strip(". ")[-_LONGEST_FILE_NAME:] or "file"
        self._enter("receiving", "empty", "read", file=plain, report=None, steps=[])
        try:
            shutil.rmtree(self._file.parent, ignore_errors=True)
            self._file.parent.mkdir()
            with self._file.open("wb") as file:
                async for part in parts:
                    file.write(part)
        except BaseException as error:
            self._forget()
            if isinstance(error, OSError):
                words = f"The file could not be stored on this machine: {error.strerror}."
                raise Refused(507, words) from error
            raise
        self._set(state="read")
        self.read([])

    def read(self, options: list[str]) -> None:
        """Begin to find out how the file is read, with options of `labelspan fit`."""
        self._enter("reading", "read", report=None, steps=[])
        self._options = options
        self._start(self._read)

    def fit(self) -> None:
        """Begin to fit an index on the file, as it was read."""
        if self.state()["report"] is None:
            raise Refused(409, "Choose a file that can be read first.")
        self._enter("fitting", "read", step=0, of=0, steps=[])
        self._start(self._fit)

    def cancel(self) -> None:
        """Stop reading or fitting."""
        with self._lock:
            process, self._stopped = self._process, True
        if process is not None:
            process.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)
        if (thread := self._thread) is not None:
            thread.join(self._patience)
            if thread.is_alive() and process is not None:
                process.kill()
                thread.join()

    def close(self) -> None:
        """Stop, and remove the file."""
        self.cancel()
        self._folder.cleanup()

    # --- in a thread ----------------------------------------------------------------------

    def _start(self, work: Callable[[], None]) -> None:
        name = self._state["file"]
        self._set(command=shlex.join(["labelspan", "fit", name, *self._options]))
        self._thread = threading.Thread(target=work, name="fit", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        report, message = self._run("--dry-run")
        if report is None and not (self._options or self._state["choices"]):
            self._forget(message)
        elif report is None:
            self._set(state="read", message=message)
        else:
            if not report["n_labelled"]:
                self._options += ["--method=lsi"]
            self._set(state="read", report={**report, "source": self._state["file"]})

    def _fit(self) -> None:
        existed, indexed = self.out.exists(), self._indexed
        answer, message = self._run(f"--out={self.out}")
        if answer is None:
            if not indexed:
                self._remove_rest(existed)
            self._set(state="read", message=message)
            return
        try:
            self._opened(self._file)
        except Exception:
            _log.exception("The index could not be opened.")
            said = f"The index was saved in {self.out}, but cannot be opened; see the output."
            self._set(state="read", message=said)
        else:
            self._set(state="ready")

    def _forget(self, message: str = "") -> None:
        self._file.unlink(missing_ok=True)
        self._set(state="empty", report=None, message=message)

    def _remove_rest(self, existed: bool) -> None:
        """Remove what a fit that did not end has written, and nothing else."""
        out = self.out
        if out.is_dir() and not foreign_files(out):
            for path in out.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if not existed:
                out.rmdir()

    def _run(self, *options: str) -> tuple[dict[str, Any] | None, str]:
        """Run the command; return its answer, or None and the reason."""
        # Without the folder in which it runs, a file json.py in which would be imported.
        command = [sys.executable, "-P", "-m", "labelspan", "fit", str(self._file)]
        command += ["--json", "--json-steps", *self._options, *options]
        answer = Path(self._folder.name) / "answer.json"
        failed, other = "", list[str]()
        with answer.open("wb") as out:
            with self._lock:
                if self._stopped:
                    return None, _STOPPED
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.PIPE,
                    encoding="utf-8",
                    errors="replace",
                    env={**os.environ, "PYTHONUTF8": "1"},
                )
            with self._process as process:
                assert process.stderr is not None
                for line in process.stderr:
                    if line.startswith('{"step"'):
                        self._tell(json.loads(line))
                    elif line.startswith('{"failed"'):
                        told = json.loads(line)
                        failed = told["failed"]
                        self._set(choices=told["choices"])
                    else:
                        other.append(line.rstrip())
        with self._lock:
            self._process, stopped = None, bool(self._stopped)
        # A process that was stopped while it imported a module may not have noticed.
        if process.returncode == 0 and not stopped:
            return json.loads(answer.read_bytes()), ""
        if stopped:
            return None, _STOPPED
        if process.returncode < 0:
            return None, (
                "The system ended the process that read the file; it may need more memory."
            )
        if not failed:
            _log.error("The file could not be read:\n%s", "\n".join(other))
            return None, "An error occurred while the file was read; see the output of the server."
        return None, failed.replace(f"{self._file.parent}{os.sep}", "")

    def _tell(self, now: dict[str, Any]) -> None:
        """Note the beginning of a step; one that only counts further replaces the last."""
        # A count of 0 is left out: nothing has been counted yet.
        what, at = re.sub(r"(^| )0 ", r"\1", now["now"]), time.monotonic()
        with self._lock:
            steps = self._state["steps"]
            if steps and re.sub(r"[\d,]+", "", steps[-1]["what"]) == re.sub(r"[\d,]+", "", what):
                steps[-1]["what"] = what
            else:
                if steps:
                    steps[-1]["seconds"] = round(at - self._begun, 1)
                steps.append({"what": what, "seconds": 0.0})
                self._begun = at
            self._state["step"], self._state["of"] = now["step"], now["of"]
