"""What 1.0 keeps: the names on docs/reference/stable.md exist."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from typer.main import get_command

from labelspan.cli import app
from labelspan.index.folder import _VERSION
from labelspan.web.endpoints import ENDPOINTS

PAGE = (Path(__file__).parent.parent / "docs" / "reference" / "stable.md").read_text("utf-8")
COMMANDS = get_command(app).commands
REQUESTS = {f"{one.method} {one.path.replace(':path', '')}": one for one in ENDPOINTS}


def rows(heading):
    """Rows of a table, as lists of the names in each cell."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[re.findall(r"`([^`]+)`", cell) for cell in line.split(" | ")] for line in lines]


def names(start):
    """Names of the paragraph that begins so."""
    paragraph = PAGE.partition(f"\n{start}")[2].partition("\n\n")[0]
    return re.findall(r"`([^`]+)`", paragraph)


def public(name):
    module, _, attribute = name.rpartition(".")
    loaded = importlib.import_module(module)
    assert attribute in loaded.__all__
    return getattr(loaded, attribute)


@pytest.mark.parametrize(
    ("name", "parameters", "methods"), [(c[0], p, m) for c, p, m in rows("Classes")]
)
def test_a_class_has_its_parameters_and_methods(name, parameters, methods):
    kept = public(name)
    assert set(parameters) <= set(inspect.signature(kept).parameters)
    assert [one for one in methods if not callable(getattr(kept, one, None))] == []


def test_fitted_estimators_have_their_attributes():
    estimator = public("labelspan.MLSI")(2, alpha=1.0).fit(
        [[1.0, 0, 2], [0, 1, 1], [2, 1, 0]], [0, 1, 1]
    )
    assert [one for one in names("Attributes of fitted") if not hasattr(estimator, one)] == []


@pytest.mark.parametrize("name", [*names("Errors and warnings"), *names("Readers")[:1]])
def test_other_classes_exist(name):
    assert inspect.isclass(public(name))


@pytest.mark.parametrize(("command", "options"), [(c[0], o) for c, o in rows("Commands")])
def test_a_command_has_its_options(command, options):
    has = {option for parameter in COMMANDS[command].params for option in parameter.opts}
    assert set(options) <= has


@pytest.mark.parametrize(
    ("request_", "parameters"), [(r[0], p) for r, p in rows("HTTP and assistants")]
)
def test_a_request_has_its_parameters(request_, parameters):
    endpoint = REQUESTS[request_]
    body = set(getattr(endpoint.body, "__annotations__", ()))
    assert set(parameters) <= {one.name for one in endpoint.parameters} | body


def test_tools_of_assistants_exist():
    assert set(names("Tools of assistants")[1:]) <= {one.name for one in ENDPOINTS if one.tool}


def test_the_format_of_an_index_is_the_one_on_the_page():
    assert f"format {_VERSION})" in PAGE


def test_a_name_that_is_missing_is_noticed():
    with pytest.raises(AssertionError):
        public("labelspan.PLSDA")
