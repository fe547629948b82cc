"""An assistant's questions, some of them by the client of the official package."""

import asyncio
import json
import os
import re
import subprocess
import sys

import pytest
from _support.explorer import command, explore

from labelspan import LSI, SemanticIndex

pytest.importorskip("starlette", reason="install labelspan[app]")

TEXTS = {
    "gnuchess": ("A chess program for the terminal", ["game", "board"]),
    "xboard": ("Chess board for the desktop, plays against chess engines", ["game", "board"]),
    "sox": ("Converts sound files from one format to another", ["sound", "convert"]),
    "ffmpeg": ("Converts video and sound, records and streams", ["sound", "video", "convert"]),
    "gimp": ("Edits images and photographs, with layers", ["image", "edit"]),
    "krita": ("Paints images by brush, for artists", ["image", "edit"]),
    "audacity": ("Edits and records sound in several tracks", ["sound", "edit"]),
    "checkers": ("A board game of draughts for two players", ["game", "board"]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("mcp") / "programs.labelspan"
    texts, labels = zip(*TEXTS.values(), strict=True)
    SemanticIndex().fit(list(texts), list(labels), list(TEXTS)).save(path).close()
    return path


def ask(folder, *calls):
    """Start the command, call its tools, and return the answers."""
    pytest.importorskip("mcp", reason="install labelspan[e2e]")
    from mcp import Client, StdioServerParameters

    async def talk():
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "labelspan", "mcp", str(folder)],
            env=dict(os.environ),
        )
        async with Client(server) as client:
            tools = await client.list_tools()
            answers = [await client.call_tool(name, values) for name, values in calls]
            return tools.tools, answers, client.instructions

    return asyncio.run(asyncio.wait_for(talk(), 120))


def values(answer):
    assert not answer.is_error, answer.content
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


@pytest.fixture(scope="module")
def asked(folder):
    """What the command says to an assistant: tools, answers, instructions."""
    return ask(
        folder,
        ("search", {"q": "chess", "k": 2}),
        ("search", {"label": ["sound"], "without": ["video"]}),
        ("similar", {"id": "gnuchess", "k": 2}),
        ("tag", {"text": "a chess game", "k": 2}),
        ("item", {"id": "gimp"}),
        ("labels", {"q": "SOUND"}),
        ("item", {"id": "gnuches"}),
        ("search", {"q": "chess", "label": ["gam"]}),
        ("search", {"query": "chess"}),
        ("search", {"q": "chess", "k": 100000}),
    )


def test_an_assistant_searches_reads_and_tags(asked):
    tools, answers, instructions = asked
    assert {tool.name for tool in tools} == {"search", "similar", "tag", "item", "labels"}
    for tool in tools:
        # No indentation of code, and types for arguments and answers.
        assert tool.description
        assert "\n" not in tool.description
        assert tool.annotations.read_only_hint
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema["properties"]
    assert "'programs'" in instructions
    chess, sound, similar, tags, item, labels = map(values, answers[:6])
    assert {hit["id"] for hit in chess["items"]} == {"gnuchess", "xboard"}
    assert {hit["id"] for hit in sound["items"]} == {"sox", "audacity"}
    assert similar["items"][0]["id"] in {"xboard", "checkers"}
    assert {tag["label"] for tag in tags["results"][0]} == {"game", "board"}
    assert item["text"] == TEXTS["gimp"][0]
    assert {one["label"] for one in item["labels"]} == {"image", "edit"}
    assert labels["labels"] == [{"label": "sound", "uri": None, "items": 3}]


def test_errors_say_what_to_do(asked):
    answers = asked[1][6:]
    assert all(answer.is_error for answer in answers)
    messages = [json.dumps([part.text for part in answer.content]) for answer in answers]
    assert "gnuches" in messages[0]
    assert "gam" in messages[1]
    assert "Traceback" not in "".join(messages)


def test_the_explorer_answers_over_http(folder):
    pytest.importorskip("mcp", reason="install labelspan[e2e]")
    from mcp import Client

    async def talk(address):
        async with Client(address) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, await client.call_tool("search", {"q": "chess"})

    with command(str(folder), "--port", "0") as server:
        address = re.search(r"http://\S+/", server.stderr.readline()).group()
        names, found = asyncio.run(asyncio.wait_for(talk(f"{address}mcp"), 120))
    assert "tag" in names
    assert {hit["id"] for hit in values(found)["items"]} == {"gnuchess", "xboard"}


BROKEN = [
    (b"{", 400, -32700),
    (b"[]", 400, -32600),
    (b'{"jsonrpc": "2.0", "id": 1}', 400, -32600),
    (b'{"jsonrpc": "2.0", "id": [], "method": "ping"}', 400, -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "nothing"}', 200, -32601),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 3}', 200, -32602),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}', 200, -32602),
    (b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', 202, None),
]


def test_broken_messages_are_errors_of_the_protocol(folder):
    with explore(folder) as client:
        for message, status, code in BROKEN:
            kind = {"content-type": "application/json"}
            answer = client.post("/mcp", content=message, headers=kind)
            assert answer.status_code == status, message
            assert code is None or answer.json()["error"]["code"] == code
        half = b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}'
        assert client.post("/mcp", content=half, headers=kind).json()["error"]["code"] == -32700
        assert client.get("/mcp").status_code == 405
        for headers, status in (
            ({"origin": "https://example.org"}, 403),
            ({"host": "example.org"}, 400),
            ({"mcp-protocol-version": "1999-01-01"}, 400),
            ({"content-type": "text/plain"}, 415),
        ):
            assert client.post("/mcp", json={}, headers=headers).status_code == status


def test_long_answers_are_refused_and_long_texts_read_in_parts(tmp_path):
    texts = ["chess " * 50_000, "photo " * 10]
    SemanticIndex(estimator=LSI(1)).fit(texts, None, ["long", "short"]).save(tmp_path / "i").close()
    with explore(tmp_path / "i") as client:

        def call(**given):
            params = {"name": "item", "arguments": {"id": "long", **given}}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            return client.post("/mcp", json=message).json()["result"]

        first = call()["structuredContent"]
        assert (len(first["text"]), first["length"]) == (20_000, 300_000)
        assert call(start=299_994)["structuredContent"]["text"] == "chess "
        refused = call(n=300_000)
        assert refused["isError"]
        assert "more than 100,000; ask for less" in refused["content"][0]["text"]


def test_the_handshake_waits_for_no_large_package(folder):
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    program = (
        "import io, json, sys\n"
        "from labelspan.cli import main\n"
        "from labelspan.web.mcp_server import Assistants\n"
        "Assistants._open = lambda self: None\n"
        "sys.stdin = io.StringIO(sys.argv.pop())\n"
        "main()\n"
        "assert not {'numpy', 'pydantic', 'starlette', 'typer', 'rich'} & set(sys.modules)"
    )
    command = [sys.executable, "-c", program, "mcp", str(folder), json.dumps(message)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["protocolVersion"] == "2025-11-25"


def test_an_assistant_that_ends_is_no_error(folder):
    command = [sys.executable, "-m", "labelspan", "mcp", str(folder)]
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    reader, writer = os.pipe()
    os.close(reader)
    asked = json.dumps(message) + "\n"
    done = subprocess.run(
        command, input=asked, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
