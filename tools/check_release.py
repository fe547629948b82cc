"""Check what a release would be: build it, look into it, install it elsewhere, and test it there.

Run from the repository root, in an environment with the dependency group `dev`::

    python tools/check_release.py

The wheel is installed in two fresh environments, one with the newest versions of everything and
one with the oldest that pyproject.toml promises (.ci/oldest.txt). In both, away from the
repository, the command is run, and tests out of the sdist: with the oldest versions those of the
core, with the newest those of the index and the command, because all others run there in any case.
In the first, a typed program that uses the public names is checked by mypy, strictly. The first
thing that is not as it should be ends it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

__all__ = ["faults_of_sdist", "faults_of_wheel", "main", "members", "placeholders"]

ROOT = Path(__file__).parent.parent

# Tests of the core that need no extra. Those of the other layers run with all the others.
CORE = (
    "operators/test_operators.py",
    "labels/test_factor.py",
    "labels/test_reading.py",
    "solvers/test_solvers.py",
    "estimators/test_estimators.py",
    "index/test_semantic.py",
    "cli/test_cli.py",
)

# Of these, the ones that run with the newest versions: the code is the same that all the tests run
# with there, and only the wheel is new.
INSTALLED = ("index/test_semantic.py", "cli/test_cli.py")

# Compared with a library that may ask for a newer numpy than the oldest that is promised;
# it runs with all the other tests.
REFERENCES = ("test_mlsi_is_principal_covariates_regression",)

# Besides modules.
DATA = {
    "labelspan/py.typed",
    "labelspan/text/languages.json",
    "labelspan/corpus/names.toml",
    "labelspan/datasets/cards.toml",
    "labelspan/datasets/debtags_corpus.jsonl.gz",
    "labelspan/papers/claims/sun2009.toml",
    "labelspan/papers/claims/wang2010.toml",
    "labelspan/papers/claims/yu2005.toml",
}
WEB = re.compile(
    r"labelspan/(web/(static/[\w-]+\.(js|css|svg)|templates/\w+\.html)"
    r"|display/static/[\w-]+\.(js|css|html|json))"
)
ABOUT = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}

FOLDERS = {".ci", "benchmarks", "docs", "examples", "results", "src", "tests", "tools"}
STRAY = re.compile(
    r"(^|/)(__pycache__|\.hypothesis|\.\w+_cache|\.git|\.venv|build|dist|site|benchmarks/results"
    r"|docs/gallery|generated|[^/]*\.(pyc|orig|rej|swp|log|egg-info)|\.coverage|\.DS_Store)(/|$)"
)
# A folder of somebody's own, in a text that is to be read elsewhere.
MACHINE = re.compile(rb"/(?:home|Users|root)/\w+/|[A-Z]:\\Users\\")
LARGEST = 2**22

TYPED = '''\
"""A program of somebody else's, which has types."""

from typing import assert_type

import numpy as np

import labelspan
from labelspan import MLSI, SemanticIndex, choose_solver
from labelspan.errors import InvalidInput
from labelspan.index import Hit


def names(index: SemanticIndex, query: str) -> list[str]:
    found: list[Hit] = index.search(query, k=3)
    return [hit.id for hit in found]


model: MLSI = MLSI(2).fit(np.eye(4), np.eye(4))
assert_type(model, MLSI)
index = SemanticIndex().fit(["chess", "music"], [["game"], ["sound"]], ["a", "b"])
assert_type(index, SemanticIndex)
version: str = labelspan.__version__
refused: type[ValueError] = InvalidInput
several = (choose_solver,)
'''
# Only this line must be refused: were the package untyped, everything would be allowed.
MISTYPED = "index.search(k='three')\n"

SMOKE = """
import sys, pathlib, labelspan
from labelspan import MLSI, SemanticIndex
where = pathlib.Path(labelspan.__file__)
assert where.is_relative_to(sys.prefix), f"imported from {where}"
texts = ["a game of chess", "a mixer for music", "chess on a board", "music and songs"]
index = SemanticIndex(estimator=MLSI(2)).fit(texts, [["game"], ["sound"]] * 2, list("abcd"))
index.save("smoke.labelspan")
with SemanticIndex.load("smoke.labelspan") as index:
    hits = index.search("chess", k=2)
assert {hit.id for hit in hits} == {"a", "c"}, hits
import numpy, scipy, sklearn
print("  numpy", numpy.__version__, "scipy", scipy.__version__, "scikit-learn", sklearn.__version__)
"""


def members(archive: Path) -> dict[str, bytes]:
    """Files of a wheel or an sdist, by name; those of an sdist without its folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(archive) as sdist:
        files = [one for one in sdist.getmembers() if one.isfile()]
        read = {one.name.partition("/")[2]: sdist.extractfile(one) for one in files}
        return {name: stream.read() for name, stream in read.items() if stream is not None}


def _common(files: Mapping[str, bytes]) -> list[str]:
    found = [f"{name} is stray" for name in files if STRAY.search(name)]
    found += [f"{name} is large" for name, content in files.items() if len(content) > LARGEST]
    for name, content in files.items():
        seen = MACHINE.search(content)
        if seen and b"\0" not in content:
            found.append(f"{name} names a folder of one machine: {seen[0].decode()}")
    return found


def faults_of_wheel(files: Mapping[str, bytes], sources: set[str]) -> list[str]:
    """What is wrong with a wheel's content; ``sources`` are the modules it should hold."""
    about = re.compile(r"labelspan-[^/]+\.dist-info/(.+)")
    found = _common(files)
    wanted = DATA | sources
    found += [f"{name} is missing" for name in sorted(wanted - files.keys())]
    for name in sorted(files.keys() - wanted):
        said = about.fullmatch(name)
        if not (WEB.fullmatch(name) or (said and said[1] in ABOUT)):
            found.append(f"{name} does not belong there")
    return found


def placeholders(files: Mapping[str, bytes]) -> list[str]:
    """Addresses of the project that lead nowhere, in the metadata of a wheel."""
    (about,) = (content for name, content in files.items() if name.endswith("/METADATA"))
    found = re.findall(r"^Project-URL: (.*example\.invalid.*)$", about.decode(), re.MULTILINE)
    return [f"{line} is a placeholder; write the address into pyproject.toml" for line in found]


def faults_of_sdist(files: Mapping[str, bytes], tracked: set[str]) -> list[str]:
    """What is wrong with an sdist's content; ``tracked`` are files that must be in it."""
    found = _common(files)
    found += [f"{name} is missing" for name in sorted(tracked - files.keys())]
    for name in files:
        top, _, rest = name.partition("/")
        if rest and top not in FOLDERS:
            found.append(f"{name} does not belong there")
    # Pages that the README and its like send the reader to.
    for page in (name for name in files if "/" not in name and name.endswith(".md")):
        for link in re.findall(rb"\]\(([^)#:\s]+)\)", files[page]):
            if link.decode() not in files:
                found.append(f"{page} links to {link.decode()}, which is missing")
    return found


def _sources() -> set[str]:
    return {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}


def _needed() -> set[str]:
    """Files of the working tree that an sdist is nothing without."""
    tests = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")}
    docs = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")}
    return {"README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "pyproject.toml"} | tests | docs


class _Steps:
    """Says what is being done, and how long it took."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def __call__(self, what: str) -> None:
        print(f"[{time.perf_counter() - self.start:5.0f} s] {what}", flush=True)


def _run(
    command: Sequence[str | Path], cwd: Path, *, quiet: bool = True, fails: bool = False
) -> str:
    """Run a command where nothing of the repository is on the path; its output."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    # What the tests read elsewhere is not to change what is tested here.
    kept.pop("LABELSPAN_DATA", None)
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if (done.returncode != 0) != fails:
        sys.exit(f"{done.stdout}\nfailed: {' '.join(str(word) for word in command)}")
    if not quiet:
        print("\n".join(f"  {line}" for line in done.stdout.strip().splitlines()[-3:]))
    return done.stdout


def _environment(folder: Path, wheel: Path, constraints: Path | None) -> Path:
    """A fresh environment with the wheel; the path of its programs."""
    uv, programs = [sys.executable, "-m", "uv"], folder / "bin"
    _run([*uv, "venv", "--python", sys.executable, folder], folder.parent)
    there = ["--python", programs / "python"]
    kept = ["-c", constraints] if constraints else []
    # uv is several times as fast as pip, which only installs the wheel itself: users will use it.
    _run([*uv, "pip", "install", *there, *kept, wheel, "pytest", "pandas"], folder.parent)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", *there]
    _run([*pip, "install", "--no-index", "--no-deps", "--force-reinstall", wheel], folder.parent)
    return programs


def _tested(programs: Path, away: Path, *, newest: bool) -> None:
    print(_run([programs / "python", "-c", SMOKE], away).rstrip())
    _run([programs / "labelspan", "search", "-i", "smoke.labelspan", "music", "--json"], away)
    if newest:
        _run([programs / "labelspan", "demo", "--out", "demo.labelspan"], away)
    files = [f"tests/{name}" for name in (INSTALLED if newest else CORE)]
    left = [f"--deselect=tests/estimators/test_estimators.py::{name}" for name in REFERENCES]
    _run([programs / "python", "-m", "pytest", "-q", "-rs", *files, *left], away, quiet=False)


def _typed(programs: Path, away: Path) -> None:
    check = [sys.executable, "-m", "mypy", "--strict", "--python-executable", programs / "python"]
    (away / "typed.py").write_text(TYPED + MISTYPED, encoding="utf-8")
    said = _run([*check, "typed.py"], away, fails=True)
    line = TYPED.count("\n") + 1
    refused = re.findall(
        r"^typed\.py:(\d+): error: .*\[(?:call-arg|arg-type|call-overload)\]$", said, re.M
    )
    if refused != [str(line)] or "Found 1 error in 1 file" not in said:
        sys.exit(f"{said}\nmypy should refuse line {line} of typed.py, and nothing else")
    print(f"  mypy refuses the line that it should, and accepts the {line - 1} others")


def _elsewhere(
    which: str, work: Path, wheel: Path, files: Mapping[str, bytes], say: _Steps
) -> None:
    """Install the wheel in an environment of its own, and test it there."""
    say(f"install the wheel with the {which} versions, and test it")
    away = work / f"away-{which}"
    for name, content in files.items():
        if name.startswith("tests/") or name == "pyproject.toml":
            (away / name).parent.mkdir(parents=True, exist_ok=True)
            (away / name).write_bytes(content)
    constraints = ROOT / ".ci" / "oldest.txt" if which == "oldest" else None
    programs = _environment(work / which, wheel, constraints)
    _tested(programs, away, newest=which == "newest")
    if which == "newest":
        say("types, as a program of somebody else's sees them")
        _typed(programs, away)


def _refuse(name: str, faults: Sequence[str]) -> None:
    if faults:
        sys.exit("\n".join([f"{name}:", *(f"  {fault}" for fault in faults)]))


def main() -> None:
    """Check a release of the working tree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, help="keep wheel and sdist here to publish them; refuses placeholders"
    )
    parser.add_argument("--only", choices=["newest", "oldest"], help="only one environment")
    args = parser.parse_args()
    say = _Steps()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        say("build the sdist, and the wheel from it")
        built = work / "dist"
        _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", built, ROOT], work)
        (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
        _run([sys.executable, "-m", "twine", "check", "--strict", wheel, sdist], work)
        say("look into both")
        _refuse(wheel.name, faults_of_wheel(members(wheel), _sources()))
        if args.out:
            _refuse(wheel.name, placeholders(members(wheel)))
        files = members(sdist)
        _refuse(sdist.name, faults_of_sdist(files, _needed()))
        chosen = [args.only] if args.only else ["newest", "oldest"]
        # In parallel, because much of it is waiting for pip.
        with ThreadPoolExecutor() as pool:
            under_way = [
                pool.submit(_elsewhere, which, work, wheel, files, say) for which in chosen
            ]
            for one in under_way:
                one.result()
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            for archive in (wheel, sdist):
                shutil.copy2(archive, args.out)
    say("as it should be")


if __name__ == "__main__":
    main()
