"""The explorer against its own OpenAPI description: schemathesis makes the requests."""

import shutil
from contextlib import contextmanager
from copy import deepcopy

import pytest
from _support.explorer import enter, serve

pytest.importorskip("starlette", reason="install labelspan[app]")
schemathesis = pytest.importorskip("schemathesis", reason="install labelspan[e2e]")
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from schemathesis.checks import CHECKS  # noqa: E402
from starlette.testclient import TestClient  # noqa: E402

from labelspan.web import Served, make_app  # noqa: E402
from labelspan.web.endpoints import ENDPOINTS  # noqa: E402
from labelspan.web.openapi import describe  # noqa: E402

ACCESS = {one.operation: one.access for one in ENDPOINTS}
DESCRIPTION = describe()
EVERY = [
    (path, method, mode, ACCESS[operation["operationId"].removesuffix("_post")])
    for path, one in DESCRIPTION["paths"].items()
    for method, operation in one.items()
    for mode in schemathesis.GenerationMode
    # Where nothing is asked for, nothing wrong can be given.
    if mode.is_positive or operation.get("parameters") or "requestBody" in operation
]
FOR_PROGRAMS = [one[:3] for one in EVERY if one[3] == "token"]
FOR_EDITING = [one[:3] for one in EVERY if one[3] == "edit"]
OPERATIONS = [one[:3] for one in EVERY if one[3] == "read"]
TOKEN = "0123456789abcdef0123456789"


@pytest.fixture(scope="module")
def described(folder):
    served = serve(folder, drawn=True, audited=True)
    # The names by which schemathesis calls an application in its own process.
    app = make_app(served, hosts={"testserver", "localhost"}, watch=False)
    yield schemathesis.openapi.from_asgi("/openapi.json", endless(app))
    served.close()


def endless(app):
    """An application that is not started and ended for every request."""

    async def answer(scope, receive, send):
        if scope["type"] == "http":
            await app(scope, receive, send)

    return answer


@contextmanager
def changeable(folder, tmp_path, **settings):
    """What a copy of an index serves to those who may change it, and its application."""
    with Served(shutil.copytree(folder, tmp_path / "index"), edit=True) as served:
        yield served, make_app(served, hosts={"testserver"}, watch=False, **settings)


def operation_of(app, path, method):
    """One operation of the description, without who may ask: the tests send what that needs.

    Who lacks it is refused elsewhere.
    """
    content = deepcopy(DESCRIPTION)
    content["paths"] = {path: {method: content["paths"][path][method]}}
    del content["paths"][path][method]["security"]
    described = schemathesis.openapi.from_dict(content)
    described.app = endless(app)
    return described[path][method]


def ask_at_random(operation, mode, check, **options):
    """Ask what schemathesis makes of a description; return the statuses."""
    asked = []

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=6,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case):
        response = case.call(**options)
        asked.append(response.status_code)
        left_out = CHECKS.get_by_names(check(response))
        case.validate_response(response, excluded_checks=left_out)

    ask()
    return set(asked)


def too_long(response):
    """Leave out what does not hold where each part is right, and the whole is too long."""
    return ["negative_data_rejection"] if response.status_code in {413, 414} else []


@pytest.mark.parametrize(("path", "method", "mode"), FOR_PROGRAMS)
def test_programs_get_what_the_description_says(folder, tmp_path, path, method, mode):
    with changeable(folder, tmp_path, token=TOKEN) as (_, app):
        operation, headers = operation_of(app, path, method), {"authorization": f"Bearer {TOKEN}"}
        asked = ask_at_random(operation, mode, too_long, headers=headers)
    # Wrong headers are made as well.
    wrong = set() if mode.is_positive else {401}
    assert asked <= {200, 400, 404, 405, 409, 413, 414, 415} | wrong


@pytest.mark.parametrize(("path", "method", "mode"), FOR_EDITING)
def test_edits_are_what_the_description_says(folder, tmp_path, path, method, mode):
    def check(response):
        # What is right by itself, and cannot be done with this index.
        told = response.status_code in {400, 404, 409}
        return ["positive_data_acceptance"] if told else []

    with changeable(folder, tmp_path) as (served, app):
        client = TestClient(app, base_url="http://testserver")
        headers = enter(client, served) | {"origin": "http://testserver"}
        cookies, operation = dict(client.cookies), operation_of(app, path, method)
        asked = ask_at_random(operation, mode, check, headers=headers, cookies=cookies)
    assert asked <= {200, 400, 404, 405, 409, 413, 415}


def test_every_route_is_in_the_table(folder, tmp_path):
    with changeable(folder, tmp_path) as (_, app):
        routes = app._app.app.routes
        paths = {(one.path, method) for one in routes for method in getattr(one, "methods", ())}
    known = {(one.path, one.method) for one in ENDPOINTS}
    known |= {(one.json_path, one.method) for one in ENDPOINTS if not one.shown}
    known |= {(path, "POST") for one in ENDPOINTS if one.form for path in (one.path, one.json_path)}
    known |= {("/mcp", "POST"), ("/enter", "GET"), ("/openapi.json", "GET")}
    assert {one for one in paths if one[1] != "HEAD"} == known
    # No two have the same name, nor the same address.
    assert len({one.operation for one in ENDPOINTS}) == len(ENDPOINTS)
    assert len({(one.path, one.method) for one in ENDPOINTS}) == len(ENDPOINTS)


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_answers_are_what_the_description_says(described, path, method, mode):
    def check(response):
        wrong = response.status_code >= 400 and "json" in response.headers["content-type"][0]
        told = response.json()["detail"] if wrong else ""
        # Each part is as the description says, and the whole may yet be too long, or say nothing.
        whole = response.status_code in {413, 414} or told.startswith("q: it is empty")
        return ["negative_data_rejection", "positive_data_acceptance"] if whole else []

    asked = ask_at_random(described[path][method], mode, check)
    assert asked <= {200, 400, 404, 405, 413, 414, 415}
    named = {"/item.json", "/label.json", "/why.json", "/axis.json", "/finding.json"}
    named |= {"/teach/map.json", "/teach/decisions.json"}
    if mode.is_positive and path not in named:
        assert 200 in asked
