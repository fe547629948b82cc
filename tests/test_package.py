"""The package: what importing it brings along, its oldest versions, and what a release holds."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# What extras and the command bring, and what a user of the estimators should not wait for.
HEAVY = {
    "bokeh",
    "dask",
    "distributed",
    "jinja2",
    "matplotlib",
    "numba",
    "pandas",
    "pyarrow",
    "pytest",
    "rich",
    "starlette",
    "torch",
    "typer",
    "usearch",
    "uvicorn",
}


def imported(statement):
    """Names of the modules that a fresh process holds after a statement."""
    command = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    # A .pth file of the environment may import things of its own; they are in both.
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def scikit_learn():
    """scikit-learn imports pandas by itself, where pandas is installed."""
    return imported("import sklearn.base")


def test_importing_the_package_imports_nothing_else():
    own = imported("import labelspan")
    assert "labelspan" in own
    assert not {name.partition(".")[0] for name in own} & (HEAVY | {"numpy", "scipy", "sklearn"})
    assert {name for name in own if name.startswith("labelspan.")} == set()


@pytest.mark.parametrize("name", ["MLSI", "SemanticIndex", "tune", "as_operator"])
def test_a_name_brings_no_extra(name, scikit_learn):
    brought = imported(f"from labelspan import {name}") - scikit_learn
    assert "labelspan.operators" in brought
    assert not {module.partition(".")[0] for module in brought} & HEAVY


def test_the_estimators_do_not_bring_the_index_the_pictures_or_the_data_sets():
    own = imported("from labelspan import MLSI")
    unasked = ("baselines", "checks", "cli", "datasets", "display", "experiments", "index", "web")
    assert not own & {f"labelspan.{name}" for name in unasked}


def test_the_commands_help_waits_for_neither_numpy_nor_extras():
    helped = """
from labelspan.cli import app
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    app(["fit", "--help"])
"""
    tops = {name.partition(".")[0] for name in imported(helped)}
    assert {"typer", "labelspan"} <= tops
    assert not tops & ((HEAVY | {"numpy", "scipy", "sklearn"}) - {"typer", "rich"})


# --- the oldest versions ----------------------------------------------------------------


def test_the_oldest_versions_are_those_that_are_promised():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    for one in project["dependencies"]:
        name, version = one.split(">=")
        # 13 promises 13.0.0.
        assert f"{version}.0.0".split(".")[:3] == f"{pinned[name]}.0".split(".")[:3], name
