"""The structure of the package: no circle of imports, unique names, few base classes."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import labelspan

ROOT = Path(labelspan.__file__).parent
PUBLIC = sorted(
    path.name
    for path in ROOT.iterdir()
    if (path / "__init__.py").exists() and path.name not in ("web", "cli")
)


def imported(path):
    """Return the absolute names of everything that a file imports."""
    package = ["labelspan", *path.relative_to(ROOT).parts[:-1]]
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [f"{module}.{alias.name}" for alias in node.names]
    return names


def known(target, names):
    """Return the module that an imported name lies in, or an empty string."""
    while target and target not in names:
        target = target.rpartition(".")[0]
    return target


def modules():
    """Return the names of all modules of the package, and what each imports of it."""
    names = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {}
    for name, path in names.items():
        found = set()
        for target in (known(target, names) for target in imported(path)):
            # A package imports its own modules, which is not a step up.
            if target and target != name and not f"{name}.".startswith(f"{target}."):
                found.add(target)
        graph[name] = found
    return names, graph


def test_no_circular_imports():
    names, graph = modules()
    # A package's __init__ only collects names; what counts is who needs whom.
    files = {name for name in names if names[name].name != "__init__.py"}
    state, circles = {}, []

    def visit(name, path):
        state[name] = "open"
        for target in sorted(graph[name] & files):
            if state.get(target) == "open":
                circles.append([*path[path.index(target) :], target] if target in path else path)
            elif target not in state:
                visit(target, [*path, target])
        state[name] = "done"

    for name in sorted(files):
        if name not in state:
            visit(name, [name])
    assert circles == []


def test_no_two_modules_share_a_name():
    # Each paper of labelspan.papers may have modules named after its own figures and tables.
    names = [path.stem for path in ROOT.rglob("*.py") if path.stem not in ("__init__", "_base")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_two_classes_share_a_name():
    found = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
