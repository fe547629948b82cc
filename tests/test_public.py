"""The public face: what is exported, documented and typed."""

import importlib
import importlib.metadata
import inspect
import pkgutil

import pytest
from sklearn.base import BaseEstimator

import labelspan
from labelspan import KernelFeatures

MODULES = [
    info.name
    for info in pkgutil.walk_packages(labelspan.__path__, "labelspan.")
    if not info.name.rsplit(".", 1)[-1].startswith("_")
]


# What extras bring, and modules import at their top.
OPTIONAL = {"mcp", "numba", "torch", "triton"}


@pytest.mark.parametrize("name", ["labelspan", *MODULES])
def test_all_is_true_and_documented(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        pytest.skip(f"{error.name} is not installed")
    assert module.__doc__
    for exported in getattr(module, "__all__", []):
        thing = getattr(module, exported)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{name}.{exported} has no docstring"


ESTIMATORS = [
    getattr(labelspan, name)
    for name in labelspan.__all__
    if inspect.isclass(getattr(labelspan, name))
    and issubclass(getattr(labelspan, name), BaseEstimator)
]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_estimator_docstrings_are_complete(kind):
    text = inspect.getdoc(kind)
    for section in ("Parameters\n---", "Attributes\n---", "Examples\n---", ">>>", "Special cases"):
        assert section in text or kind.__name__ == "LSI"
    for parameter in inspect.signature(kind).parameters:
        assert parameter in text, f"{kind.__name__} does not explain {parameter}"


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_constructor_takes_one_positional_parameter_and_only_assigns(kind):
    parameters = list(inspect.signature(kind).parameters.values())
    assert parameters[0].name == ("kernel" if kind is KernelFeatures else "n_components")
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters[1:])
    marks = {p.name: object() for p in parameters}
    estimator = kind(**marks)
    assert all(getattr(estimator, name) is mark for name, mark in marks.items())


def test_the_version_is_one():
    assert importlib.metadata.version("labelspan") == labelspan.__version__
