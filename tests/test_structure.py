"""The structure of the package: no circle of imports, unique names, few base classes."""

import ast
import importlib
import inspect
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from test_layers import ROOT, imported, tree

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
