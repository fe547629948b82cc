"""An assistant's questions, asked by the client of the official package in a process of its own."""

import asyncio
import json
import os
import sys

import pytest

from labelspan import SemanticIndex

pytest.importorskip("mcp")

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
    found = answer.structured_content
    return found.get("result", found) if isinstance(found, dict) else found


def test_an_assistant_searches_reads_and_tags(folder):
    tools, answers, instructions = ask(
        folder,
        ("search", {"query": "chess", "k": 2}),
        ("search", {"query": "edits", "labels": ["sound"]}),
        ("similar", {"id": "gnuchess", "k": 2}),
        ("tag", {"text": "a chess game", "k": 2}),
        ("item", {"id": "gimp"}),
        ("labels", {"containing": "SOUND"}),
    )
    assert {tool.name for tool in tools} == {"search", "similar", "tag", "item", "labels"}
    assert all(tool.description for tool in tools)
    assert "8 items" in instructions
    chess, sound, similar, tags, item, labels = map(values, answers)
    assert {hit["id"] for hit in chess} == {"gnuchess", "xboard"}
    assert sound[0]["id"] == "audacity"
    assert all("sound" in hit["labels"] for hit in sound)
    assert similar[0]["id"] in {"xboard", "checkers"}
    assert {tag["label"] for tag in tags} == {"game", "board"}
    assert item["text"] == TEXTS["gimp"][0]
    assert item["labels"] == ["image", "edit"] or item["labels"] == ["edit", "image"]
    assert labels == [{"label": "sound", "items": 3}]


def test_errors_say_what_to_do(folder):
    _, answers, _ = ask(
        folder,
        ("item", {"id": "gnuches"}),
        ("search", {"query": "chess", "labels": ["gam"]}),
        ("search", {"query": ""}),
        ("search", {"query": "chess", "k": 100000}),
    )
    assert all(answer.is_error for answer in answers)
    messages = [json.dumps([part.text for part in answer.content]) for answer in answers]
    assert "gnuches" in messages[0]
    assert "gam" in messages[1]
    assert "Traceback" not in "".join(messages)
