"""The explorer against its own OpenAPI description: schemathesis makes the requests."""

import pytest
from _support.explorer import make_index, serve

pytest.importorskip("starlette", reason="install labelspan[app]")
schemathesis = pytest.importorskip("schemathesis", reason="install labelspan[e2e]")
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from schemathesis.checks import CHECKS  # noqa: E402

from labelspan.web import Served, make_app  # noqa: E402
from labelspan.web.openapi import describe  # noqa: E402

EVERY = [
    (path, method, mode)
    for path, one in describe()["paths"].items()
    for method, operation in one.items()
    for mode in schemathesis.GenerationMode
    # Where nothing is asked for, nothing wrong can be given.
    if mode.is_positive or operation.get("parameters") or "requestBody" in operation
]
FOR_PROGRAMS = [one for one in EVERY if one[0].startswith("/api/")]
OPERATIONS = [one for one in EVERY if one not in FOR_PROGRAMS]
TOKEN = "0123456789abcdef0123456789"


@pytest.fixture(scope="module")
def described(folder):
    served = serve(folder, drawn=True, audited=True)
    # The names by which schemathesis calls an application in its own process.
    app = make_app(served, hosts={"testserver", "localhost"}, watch=False)

    async def endless(scope, receive, send):
        # It would be started and ended for every request.
        if scope["type"] == "http":
            await app(scope, receive, send)

    yield schemathesis.openapi.from_asgi("/openapi.json", endless)
    served.close()


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


@pytest.mark.parametrize(("path", "method", "mode"), FOR_PROGRAMS)
def test_programs_get_what_the_description_says(tmp_path, path, method, mode):
    make_index(tmp_path / "index")
    served = Served(tmp_path / "index", edit=True)
    app = make_app(served, hosts={"testserver"}, watch=False, token=TOKEN)

    async def endless(scope, receive, send):
        if scope["type"] == "http":
            await app(scope, receive, send)

    described = schemathesis.openapi.from_asgi("/openapi.json", endless)
    # The token is sent with every request, also with those that are made to lack one.
    known = ["ignored_auth"]
    headers = {"authorization": f"Bearer {TOKEN}"}
    asked = ask_at_random(described[path][method], mode, lambda _: known, headers=headers)
    served.close()
    # Wrong headers are made as well.
    wrong = set() if mode.is_positive else {401}
    assert asked <= {200, 400, 404, 405, 409, 413, 415} | wrong


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_answers_are_what_the_description_says(described, path, method, mode):
    def check(response):
        told = response.json()["detail"] if response.status_code >= 400 else ""
        # Each part is as the description says, and the whole may yet be too long, or say nothing.
        whole = response.status_code in {413, 414} or told.startswith("q: it is empty")
        return ["negative_data_rejection", "positive_data_acceptance"] if whole else []

    asked = ask_at_random(described[path][method], mode, check)
    assert asked <= {200, 400, 404, 405, 413, 414, 415}
    named = {"/item.json", "/label.json", "/why.json", "/axis.json", "/finding.json"}
    named.add("/teach/map.json")
    if mode.is_positive and path not in named:
        assert 200 in asked
