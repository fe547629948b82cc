"""Vectors from a server: batches, order, waiting, and answers that cannot be used."""

import numpy as np
import pytest
from _support.tiny_models import Server, embedding_server

from labelspan.errors import InvalidInput, MissingData
from labelspan.models import open_model
from labelspan.models.embedding_server import is_local

TEXTS = [f"{'car ' * (n % 5)}text {n}" for n in range(70)]


def test_batches_in_order():
    with embedding_server() as (address, server):
        model = open_model(f"{address}#tiny")
        found = model.vectors(TEXTS)
        np.testing.assert_allclose(found, [server.vector(text) for text in TEXTS], atol=1e-6)
        assert [len(body["input"]) for _, body in server.asked] == [32, 32, 6]
        assert {(path, body["model"]) for path, body in server.asked} == {
            ("/v1/embeddings", "tiny")
        }
        assert model.name == f"{address}#tiny"
        # Servers refuse an empty text.
        model.vectors([""])
        assert server.asked[-1][1]["input"] == [" "]


def test_a_busy_server_is_waited_for(monkeypatch):
    waits = []
    monkeypatch.setattr("labelspan.models.embedding_server.sleep", waits.append)
    with embedding_server() as (address, server):
        server.first = [
            lambda _: (429, {"Retry-After": "7"}, {}),
            lambda _: (503, {}, {}),
            lambda _: (429, {"Retry-After": "9999"}, {}),
        ]
        assert open_model(f"{address}#tiny").vectors(["car"]).shape == (1, 4)
        server.first = [lambda _: (429, {}, {"error": "slow down"})] * 6
        with pytest.raises(InvalidInput, match=r"answered 429.*slow down"):
            open_model(f"{address}#tiny").vectors(["car"])
    assert waits[:3] == [7.0, 14.0, 60.0]


@pytest.mark.parametrize(
    "answer",
    [
        lambda body: (200, {}, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}),
        lambda body: (200, {}, {"data": [{"index": n + 1, "embedding": [1.0]} for n in (0, 1)]}),
        lambda body: (200, {}, {"data": [{"index": n, "embedding": "no"} for n in (0, 1)]}),
        lambda body: (200, {}, b'{"data": [{"index": 0, "emb'),
        lambda body: (200, {}, ["no"]),
    ],
)
def test_half_an_answer_is_an_error_with_the_address(answer):
    with embedding_server() as (address, server):
        server.first = [answer]
        with pytest.raises(InvalidInput, match=f"{address}/embeddings did not answer with a vec"):
            open_model(f"{address}#tiny").vectors(["a", "b"])


def test_other_sizes_are_errors():
    with embedding_server() as (address, server):
        sizes = {"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}
        server.first = [lambda _: (200, {}, {"data": list(sizes)})]
        with pytest.raises(InvalidInput, match="different lengths"):
            open_model(f"{address}#tiny").vectors(["a", "b"])
        model = open_model(f"{address}#tiny")
        model.vectors(["a"])
        server.size = 5
        with pytest.raises(InvalidInput, match="5 dimensions, after 4"):
            model.vectors(["a"])


def test_nan_is_an_error():
    with embedding_server() as (address, server):
        rows = [{"index": 0, "embedding": [1.0, float("nan")]}]
        server.first = [lambda _: (200, {}, {"data": rows})]
        with pytest.raises(InvalidInput, match="NaN or infinity for text 1 of 1"):
            open_model(f"{address}#tiny").vectors(["a"])


def test_errors_have_the_address_and_what_the_server_said():
    with embedding_server() as (address, server):
        server.first = [lambda _: (404, {}, {"error": "model 'tiny' not found"})]
        with pytest.raises(InvalidInput, match=f"{address}/embeddings answered 404 .*not found"):
            open_model(f"{address}#tiny").vectors(["a"])
    with pytest.raises(MissingData, match=f"{address}/embeddings cannot be reached"):
        open_model(f"{address}#tiny").vectors(["a"])
    with pytest.raises(InvalidInput, match="write it as http"):
        open_model(address)


def test_a_cut_connection_is_an_error():
    class Cut(Server):
        def answer(self, body):
            raise ConnectionAbortedError

    with embedding_server(Cut()) as (address, server):
        server.first = [lambda _: (200, {"Content-Encoding": "x"}, b"")]
        with pytest.raises(InvalidInput, match="did not answer"):
            open_model(f"{address}#tiny").vectors(["a"])


def test_a_query_does_not_wait_for_a_busy_or_slow_server(monkeypatch):
    monkeypatch.setattr("labelspan.models.embedding_server._HURRIED", (0.2, 1))
    with embedding_server() as (address, server):
        model = open_model(f"{address}#tiny")
        server.first = [lambda _: (429, {"Retry-After": "30"}, {})]
        with pytest.raises(InvalidInput, match="answered 429"):
            model.hurried().vectors(["a"])
        server.delay = 1.0
        with pytest.raises(MissingData, match="cannot be reached"):
            model.hurried().vectors(["a"])
        assert model.vectors(["a"]).shape == (1, 4)


def test_keys_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with embedding_server() as (address, server):
        open_model(f"{address}#tiny").vectors(["a"])
        monkeypatch.setenv("LABELSPAN_MODEL_KEY", "own")
        open_model(f"{address}#tiny").vectors(["a"])
    # That of another program goes to its own host only.
    assert server.keys == [None, "Bearer own"]


def test_local_servers():
    assert is_local("http://127.0.0.1:11434/v1#a")
    assert is_local("http://localhost/v1#a")
    assert is_local("http://[::1]:80/v1#a")
    assert not is_local("https://api.openai.com/v1#a")
    assert not is_local("http://127.0.0.1.example.org/v1#a")
