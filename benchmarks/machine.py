"""What a reader must know of the machine to judge the numbers."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

__all__ = ["describe_machine", "load"]

_PACKAGES = ("labelspan", "numpy", "scipy", "scikit-learn")


def describe_machine() -> dict[str, Any]:
    """Processor, versions and load, for the record; no paths and no names of machines."""
    return {
        "cpu": _cpu_model(),
        "cores": _cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "commit": _output(["git", "describe", "--always", "--dirty"]),
        "blas": [
            {key: library.get(key) for key in ("prefix", "version", "num_threads")}
            for library in threadpool_info()
        ],
        "load_at_start": load(),
    }


def _cpu_model() -> str:
    # /proc/cpuinfo has no model name on ARM; lscpu knows it there too.
    for line in (_output(["lscpu"]) or "").splitlines():
        if line.startswith("Model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> float | None:
    """The load of the last minute: what else the machine was doing."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
