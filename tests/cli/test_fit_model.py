"""A language model on the command line: fit, search, tag, fit again, and without it."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from _support.tiny_models import embedding_server, onnx_model
from index.test_model_block import corpus, encode
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from labelspan import SemanticIndex
from labelspan.cli import app


@pytest.fixture
def papers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    texts, labels = corpus()
    lines = [
        json.dumps({"id": f"i{n}", "text": text, "labels": own})
        for n, (text, own) in enumerate(zip(texts, labels, strict=True))
    ]
    (tmp_path / "papers.jsonl").write_text("\n".join(lines))
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_server_is_named_remembered_and_missed(papers):
    with embedding_server() as (address, server):
        model = f"{address}#tiny"
        done = run("fit", "papers.jsonl", "--model", model, "-o", "i")
        assert done.exit_code == 0, done.output
        assert f"by MLSI and {model}: saved" in done.output
        found = json.loads(run("search", "-i", "i", "automobile", "--json").stdout)
        assert found["note"] == ""
        assert {label for hit in found["hits"] for label in hit["labels"]} == {"traffic"}
        assert model in run("info", "i").stdout
        # Fitted again from its own items: by the same model, without encoding.
        server.asked.clear()
        assert run("fit", "i").exit_code == 0
        assert sum(len(body["input"]) for _, body in server.asked) <= 10
        with SemanticIndex.load("i") as index:
            assert index.model_name == model
        more = '{"id": "new", "text": "automobile old", "labels": ["traffic"]}'
        (papers / "more.jsonl").write_text(more)
        assert run("add", "more.jsonl", "-i", "i").exit_code == 0
    # Once more without the model: the items have their vectors.
    with SemanticIndex.load("i") as index:
        before = index.store.block_rows.rows(index.store.rows(index.ids))
    assert run("fit", "i").exit_code == 0
    with SemanticIndex.load("i") as index:
        assert_array_equal(index.store.block_rows.rows(index.store.rows(index.ids)), before)
    gone = run("search", "-i", "i", "automobile", "--json")
    assert f"{address}/embeddings cannot be reached" in gone.stderr
    assert "only the words" in json.loads(gone.stdout)["note"]
    assert "only the words" in run("tag", "-i", "i", "an oven").stderr
    assert "only the words" in json.loads(run("tag", "-i", "i", "oven", "--json").stdout)["note"]
    (papers / "more.jsonl").write_text(more.replace("new", "newer"))
    refused = run("add", "more.jsonl", "-i", "i")
    assert refused.exit_code != 0
    assert "cannot be reached" in " ".join(refused.stderr.split())
    with SemanticIndex.load("i") as index:
        assert "newer" not in index


def test_a_killed_fit_goes_on_with_what_it_encoded(papers):
    texts, labels = corpus(300)
    lines = [
        json.dumps({"id": f"i{n}", "text": f"{text} n{n}", "labels": own})
        for n, (text, own) in enumerate(zip(texts, labels, strict=True))
    ]
    (papers / "papers.jsonl").write_text("\n".join(lines))
    with embedding_server() as (address, server):
        command = ["fit", "papers.jsonl", "--model", f"{address}#tiny", "-o", "i"]
        code = "import sys; from labelspan.cli import main; sys.exit(main())"
        server.delay = 0.2

        def asked():
            return {text for _, body in server.asked for text in body["input"] if " n" in text}

        with subprocess.Popen([sys.executable, "-c", code, *command]) as process:
            deadline = time.monotonic() + 120
            while len(asked()) < 90 and time.monotonic() < deadline:
                assert process.poll() is None
                time.sleep(0.02)
            process.kill()
        assert not (papers / "i" / "manifest.json").exists()
        first = asked()
        assert 90 <= len(first) < 300
        server.asked.clear()
        server.delay = 0.0
        assert run(*command).exit_code == 0
        # What the killed one had asked for last may not have been stored, and three are probes.
        assert asked() | first >= {f"{text} n{n}" for n, text in enumerate(texts)}
        assert len(asked() & first) <= 2 * 32 + 3
        # Other parameters, and another corpus with some of the texts.
        (papers / "more.jsonl").write_text("\n".join(lines[:200]).replace("n7", "m7"))
        server.asked.clear()
        assert run(*command, "--dimensions", "3", "--force").exit_code == 0
        assert run("fit", "more.jsonl", *command[2:4], "-o", "j").exit_code == 0
        assert len(asked()) <= 3
        server.asked.clear()
        with (papers / "more.jsonl").open("w") as file:
            file.writelines(f"{line}\n" for line in (lines[5], '{"id": "new", "text": "a car n"}'))
        assert run("add", "more.jsonl", "-i", "i", "--replace").exit_code == 0
        assert asked() - {f"{text} n{n}" for n, text in enumerate(texts[:3])} == {"a car n"}


def test_vectors_of_a_file(papers):
    texts, _ = corpus()
    np.save("v.npy", np.array(encode(texts)))
    np.savez("v.npz", other=np.ones((3, 2)), own=np.array(encode(texts)))
    for given in ("v.npy", "v.npz:own"):
        done = run("fit", "papers.jsonl", "--vectors", given, "-o", "i", "--force", "--json")
        assert json.loads(done.stdout)["model"] == "given vectors"
        with SemanticIndex.load("i") as index:
            assert index.model.block.takes_vectors
            assert index.problem == ""
    assert json.loads(run("info", "i", "--json").stdout)["model"] == "given vectors"
    # New items come with theirs, and it can be fitted again from what it has.
    more = '{"id": "%s", "text": "words of nothing", "labels": ["food"]}'
    (papers / "more.jsonl").write_text(more % "new")
    refused = run("add", "more.jsonl", "-i", "i")
    assert refused.exit_code != 0
    assert "or --vectors FILE" in " ".join(refused.stderr.split())
    vectors = np.array(encode(texts))
    np.save("more.npy", vectors[1:2])
    assert run("remove", "i7", "-i", "i").exit_code == 0
    for _ in range(2):
        assert run("add", "more.jsonl", "-i", "i", "--vectors", "more.npy").exit_code == 0
        assert run("fit", "i").exit_code == 0
        with SemanticIndex.load("i") as index:
            assert index.search(vectors[4], 1)[0].labels == ("traffic",)
            assert {"new", "i1"} < {hit.id for hit in index.search(vectors[1], 30)}
            rows = index.store.block_rows.rows(index.store.rows(["new", "i1", "i30"]))
            assert_array_equal(rows[0], rows[1])
            assert_array_equal(rows, index.model.block.rows(vectors[[1, 1, 30]]))
        assert run("remove", "new", "-i", "i").exit_code == 0
    np.save("short.npy", np.array(encode(texts))[1:])
    for given, message in (
        ("short.npy", "60 items and 59 rows"),
        ("nothing.npy", "no file 'nothing.npy'"),
        ("v.npz", "these do: 'other', 'own'"),
        ("papers.jsonl", "not a file of vectors"),
    ):
        done = run("fit", "papers.jsonl", "--vectors", given, "-o", "new")
        assert done.exit_code != 0
        assert message in " ".join(done.stderr.split()), done.stderr
        assert not (papers / "new").exists()


def test_a_folder_with_a_transformer(papers):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    onnx_model(papers / "tiny")
    done = run("fit", "papers.jsonl", "--model", "tiny", "-o", "i", "--stream")
    assert done.exit_code == 0, done.output
    found = json.loads(run("search", "-i", "i", "automobile", "--json").stdout)
    assert {label for hit in found["hits"] for label in hit["labels"]} == {"traffic"}
    missing = run("fit", "papers.jsonl", "--model", "no/model", "-o", "new")
    assert missing.exit_code != 0
    assert "neither a folder nor in the local cache" in " ".join(missing.stderr.split())
    assert not (papers / "new").exists()
