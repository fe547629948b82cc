"""The package: what importing it brings along, its oldest versions, and what a release holds."""

import importlib.util
import re
import subprocess
import sys
import tomllib
import warnings
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

import labelspan
from labelspan import _install

ROOT = Path(__file__).parent.parent

# What extras and the command bring, and what a user of the estimators should not wait for.
HEAVY = {
    "dask", "distributed", "jinja2", "matplotlib", "numba", "pandas", "pyarrow", "pytest", "rich",
    "starlette", "torch", "typer", "uvicorn",
}  # fmt: skip


@cache
def imported(statement):
    """Names of the modules that a fresh process holds after a statement."""
    command = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    # A .pth file of the environment may import things of its own; they are in both.
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    return frozenset(done.stdout.split())


@pytest.fixture(scope="module")
def scikit_learn():
    """scikit-learn imports pandas, and in its newest version rich, where they are installed."""
    return imported("import sklearn.base, sklearn.preprocessing, sklearn.utils.validation")


def test_importing_the_package_imports_nothing_else():
    own = imported("import labelspan")
    assert "labelspan" in own
    assert not {name.partition(".")[0] for name in own} & (HEAVY | {"numpy", "scipy", "sklearn"})
    assert {name for name in own if name.startswith("labelspan.")} == set()


def test_the_packages_of_the_documentation_are_attributes():
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {
        name
        for page in pages
        for name in re.findall(r"\blabelspan\.([a-z_]+)", page.read_text(encoding="utf-8"))
        if (ROOT / "src" / "labelspan" / name).is_dir()
        or (ROOT / "src" / "labelspan" / f"{name}.py").is_file()
    } - {"cli"}  # the command, which needs typer
    assert len(named) > 10
    checked = f"import labelspan; [getattr(labelspan, name) for name in {sorted(named)}]"
    assert {f"labelspan.{name}" for name in named} <= imported(checked)
    assert not imported("import labelspan; dir(labelspan)") & {f"labelspan.{n}" for n in named}


@pytest.mark.parametrize("name", ["MLSI", "SemanticIndex", "choose_solver", "as_operator"])
def test_a_name_brings_no_extra(name, scikit_learn):
    brought = imported(f"from labelspan import {name}") - scikit_learn
    assert ("labelspan.index" if name == "SemanticIndex" else "labelspan.operators") in brought
    assert not {module.partition(".")[0] for module in brought} & HEAVY


def test_the_estimators_do_not_bring_the_index_the_pictures_or_the_data_sets():
    own = imported("from labelspan import MLSI")
    unasked = ("checks", "cli", "datasets", "display", "index", "papers", "web")
    assert not own & {f"labelspan.{name}" for name in unasked}


def test_a_fit_brings_no_other_estimator_or_metric():
    texts = '["a chess game", "a go game", "an editor of texts", "an editor of notes"]'
    labels = '[["game"], ["game"], ["editor"], ["editor"]]'
    own = imported(
        f"from labelspan import SemanticIndex; SemanticIndex().fit({texts}, labels={labels})"
    )
    unasked = ("linear_model", "metrics", "model_selection", "neighbors", "preprocessing")
    assert "sklearn.base" in own
    assert not own & {f"sklearn.{name}" for name in unasked}


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


# --- what a release holds ---------------------------------------------------------------


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check", ROOT / "tools" / "check_release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCES = {"labelspan/__init__.py", "labelspan/errors.py"}
HOME = b"open(/" + b"home/someone/data)"


@pytest.mark.parametrize(
    ("kind", "name", "content", "fault"),
    [
        ("wheel", "labelspan/py.typed", None, "is missing"),
        ("wheel", "labelspan/errors.py", None, "is missing"),
        ("wheel", "labelspan/datasets/debtags_corpus.jsonl.gz", None, "is missing"),
        ("wheel", "labelspan/gone.py", b"", "does not belong there"),
        ("wheel", "labelspan/__pycache__/errors.cpython-311.pyc", b"", "is stray"),
        ("wheel", "labelspan/errors.py", HOME, "names a folder of one machine"),
        ("wheel", "labelspan/errors.py", bytes(2**22 + 1), "is large"),
        ("sdist", "README.md", b"[more](docs/gone.md)", "links to docs/gone.md, which is missing"),
        ("sdist", "README.md", None, "is missing"),
        ("sdist", "shared/data.npz", b"", "does not belong there"),
        ("sdist", "tests/.hypothesis/x", b"", "is stray"),
        ("sdist", "docs/a.md", HOME, "names a folder of one machine"),
    ],
)
def test_a_fault_of_a_release_is_seen(check, kind, name, content, fault):
    if kind == "wheel":
        about = (f"labelspan-1.0.dist-info/{one}" for one in check.ABOUT)
        web = {"labelspan/web/static/app.js", "labelspan/web/templates/home.html"}
        good, needed = dict.fromkeys(check.DATA | SOURCES | web | set(about), b"x"), SOURCES
    else:
        good = {"README.md": b"[more](docs/a.md), [web](https://a.b)"}
        good, needed = good | {"docs/a.md": b"", "src/a.py": b""}, {"README.md"}
    faults = {"wheel": check.faults_of_wheel, "sdist": check.faults_of_sdist}[kind]
    assert faults(good, needed) == []
    files = {key: text for key, text in (good | {name: content}).items() if text is not None}
    found = faults(files, needed)
    assert any(one.startswith(f"{name} {fault}") for one in found), found


def test_placeholders_are_not_published(check):
    about = b"Name: labelspan\nProject-URL: Homepage, https://labelspan.example.invalid\n"
    assert len(check.placeholders({"labelspan-1.dist-info/METADATA": about})) == 1
    assert check.placeholders({"labelspan-1.dist-info/METADATA": b"Name: labelspan\n"}) == []


# --- the command that installs an extra ----------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'labelspan[app]'"),
        ('{"url": "file:///a/b%20c", "dir_info": {}}', "pip install '/a/b c[app]'"),
        (
            '{"url": "https://host.example/labelspan.zip"}',
            "pip install 'labelspan[app] @ https://host.example/labelspan.zip'",
        ),
    ],
)
def test_extras_come_from_where_the_package_came_from(origin, command, monkeypatch):
    class Installed:
        def read_text(self, name):
            return origin if name == "direct_url.json" else None

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    assert _install.install_command("app") == command


def test_without_an_installation(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert _install.install_command("app,plot") == "pip install 'labelspan[app,plot]'"


def test_only_deprecations_of_other_packages_pass():
    with pytest.raises(DeprecationWarning, match="old"):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    for name, kind in [("labelspan.solvers", FutureWarning), ("sklearn.base", RuntimeWarning)]:
        with pytest.raises(kind, match="old"):
            warnings.warn_explicit("old", kind, "file.py", 1, module=name)
    for kind in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
        with pytest.warns(kind, match="old"):
            warnings.warn_explicit("old", kind, "file.py", 1, module="sklearn.datasets._base")


# --- what is said twice -------------------------------------------------------------------


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {labelspan.__version__}\n" in citation
