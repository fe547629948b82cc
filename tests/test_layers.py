"""Layers import only from those below; no circle of imports, unique names, few base classes."""

import ast
import importlib
import inspect
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import labelspan

ROOT = Path(labelspan.__file__).parent

# From the lowest to the highest; packages in one row may import each other. CONTRIBUTING.md shows
# the same picture, from the top down.
LAYERS = [
    {"errors", "_typing", "_texts", "_params", "_files", "_arrays", "_axis_ends", "_install"},
    {"corpus", "datasets"},
    {"operators"},
    {"labels", "graph", "metrics"},
    {"solvers"},
    {"text", "models", "estimators"},
    {"tagger", "adapt", "checks"},
    {"index"},
    {"display", "export", "curation"},
    {"answers"},
    {"papers", "evaluation"},
    {"web"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# Types of storage are the business of one package.
STORAGE = {"scipy.sparse", "torch", "dask", "distributed"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> list[str]:
    """Absolute names of everything a file imports."""
    package = ["labelspan", *path.relative_to(ROOT).parts[:-1]]
    names = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [f"{module}.{alias.name}" for alias in node.names]
    return names


def home(name: str) -> str:
    """The package that a name of ``labelspan`` comes from; the name itself if it is a package."""
    if name in RANK or name not in labelspan.__all__:
        return name
    module = getattr(getattr(labelspan, name), "__module__", "labelspan")
    return [*module.split("."), name][1]


def violations(files: list[Path]) -> list[str]:
    found = []
    for path in files:
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts == ("__main__",):  # it starts the command, above all layers
            continue
        for name in imported(path):
            pieces = name.split(".")
            if pieces[0] == "labelspan" and parts[0] != "__init__":
                own, other = parts[0], home(pieces[1])
                if other in RANK and RANK[other] > RANK[own]:
                    found.append(f"{'/'.join(parts)} imports {name}")
            storage = any(name == s or name.startswith(f"{s}.") for s in STORAGE)
            # LSQR is in scipy.sparse.linalg, but takes a LinearOperator.
            # The checks make sparse data to feed estimators with, the data sets hold it, and so
            # do texts, taggers, an index, and the labels of a map.
            if (
                storage
                and parts[0]
                not in {
                    "operators",
                    "checks",
                    "curation",
                    "datasets",
                    "index",
                    "tagger",
                    "text",
                    "display",
                }
                and "scipy.sparse.linalg" not in name
            ):
                found.append(f"{'/'.join(parts)} imports {name}")
    return found


def test_every_module_has_a_layer():
    names = {path.stem if path.suffix else path.name for path in ROOT.iterdir()}
    names -= {"__init__", "__main__", "__pycache__", "py"}
    assert {name for name in names if not name.startswith(".")} <= RANK.keys()


def test_layers_hold():
    files = list(ROOT.rglob("*.py"))
    assert len(files) > 20
    assert violations(files) == []


def test_a_violation_is_seen(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    lines = ("from .solvers import Exact", "import scipy.sparse", "from . import SemanticIndex")
    (tmp_path / "errors.py").write_text("\n".join(lines))
    assert violations([tmp_path / "errors.py"]) == [
        "errors imports labelspan.solvers.Exact",
        "errors imports scipy.sparse",
        "errors imports labelspan.SemanticIndex",
    ]


def test_the_picture_in_contributing_is_this_one():
    text = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = text.partition("<!-- layers -->")[2].partition("<!-- end -->")[0]
    rows = [
        {name.strip() for name in row.split(",")}
        for row in picture.replace("\n", " ").replace("`", "").split(">")
    ]
    assert rows[::-1] == LAYERS


# --- structure ----------------------------------------------------------------------------

PUBLIC = sorted(
    path.name
    for path in ROOT.iterdir()
    if (path / "__init__.py").exists() and path.name not in ("web", "cli")
)


def test_no_circular_imports():
    names = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    # A package's __init__ only collects names; what counts is who needs whom.
    files = {name: path for name, path in names.items() if path.name != "__init__.py"}

    def module(target):
        while target and target not in names:
            target = target.rpartition(".")[0]
        return target

    needs = {
        name: {module(one) for one in imported(path)} & files.keys() for name, path in files.items()
    }
    assert sum(map(len, needs.values())) > len(files)
    TopologicalSorter({name: found - {name} for name, found in needs.items()}).prepare()


def test_no_two_modules_share_a_name():
    # Each paper of labelspan.papers may have modules named after its own figures and tables.
    names = [path.stem for path in ROOT.rglob("*.py") if path.stem not in ("__init__", "_base")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_two_classes_share_a_name():
    found = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


@pytest.mark.parametrize("package", ["labelspan", *(f"labelspan.{name}" for name in PUBLIC)])
def test_public_classes_have_at_most_two_of_our_base_classes(package):
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", []):
        thing = getattr(module, name)
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            ours = [base for base in thing.__mro__[1:] if base.__module__.startswith("labelspan")]
            # The contract that every operator fulfils is not a layer of implementation.
            assert len(ours) <= 2, f"{package}.{name}: {ours}"


def test_slow_tests_exist():
    """tests/slow.txt names tests, and files of tests, that are there."""
    root = Path(__file__).parent.parent
    for name in (root / "tests" / "slow.txt").read_text(encoding="utf-8").split():
        file, _, function = name.partition("::")
        assert (root / file).is_file(), name
        text = (root / file).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in text, name
