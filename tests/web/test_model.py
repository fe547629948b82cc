"""The language model of an index in the explorer: named, or said to be missing."""

import numpy as np
import pytest
from _support.explorer import client_of, explore
from _support.tiny_models import embedding_server
from index.test_model_block import corpus, encode

from labelspan import MLSI, SemanticIndex
from labelspan.web import Served

TOKEN = "0123456789abcdef"


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    texts, labels = corpus()
    with embedding_server() as (address, _):
        index = SemanticIndex(MLSI(4), model=f"{address}#tiny").fit(texts, labels)
        index.save(tmp_path / "i")
        yield tmp_path / "i", f"{address}#tiny"


def test_the_model_is_named_and_used(saved):
    path, model = saved
    with explore(path) as client:
        home = client.get("/index.json").json()
        assert (home["model"], home["problem"]) == (model, "")
        assert model in client.get("/").text
        found = client.get("/search.json", params={"q": "automobile"}).json()
        assert (found["balance"], found["problem"]) == (50, "")
        assert found["hits"]
        assert (
            client.get("/search.json", params={"q": "car", "balance": 40}).json()["balance"] == 40
        )


def test_a_missing_model_is_said(saved, monkeypatch):
    path, _ = saved
    monkeypatch.setenv("LABELSPAN_MODEL", "http://127.0.0.1:9/v1#tiny")
    with explore(path, token=TOKEN) as client:
        client.headers["authorization"] = f"Bearer {TOKEN}"
        for page in ("/", "/search?q=oven"):
            text = client.get(page).text
            assert "use only the words" in text
            assert "127.0.0.1:9/v1/embeddings cannot be reached" in text
        found = client.get("/search.json", params={"q": "oven"}).json()
        assert "use only the words" in found["problem"]
        assert found["balance"] == 40
        assert found["hits"]
        assert "use only the words" in client.get("/tag?text=oven").text
        assert "use only the words" in client.get("/tag.json?text=oven").json()["problem"]
        for path in ("tag", "embed"):
            found = client.post(f"/api/1/{path}", json={"texts": ["an oven"]}).json()
            assert "use only the words" in found["problem"]


def test_items_of_other_programs_bring_their_vectors(tmp_path):
    texts, labels = corpus()
    vectors = np.array(encode(texts))
    SemanticIndex(MLSI(4)).fit(texts, labels, vectors=vectors).save(tmp_path / "i")
    new = [
        {"id": name, "text": "nothing known", "labels": own, "vector": vectors[row].tolist()}
        for name, own, row in (("new", ["food"], 1), ("4", ["food"], 3))
    ]
    with client_of(Served(tmp_path / "i", edit=True), token=TOKEN) as client:
        client.headers["authorization"] = f"Bearer {TOKEN}"
        done = client.post("/api/1/items", json={"items": new})
        assert (done.status_code, done.json()["added"], done.json()["changed"]) == (200, 1, 1)
        plain = [{key: value for key, value in one.items() if key != "vector"} for one in new]
        short = [{**new[0], "vector": [1.0]}, {**new[1], "vector": [2.0]}]
        uneven = [new[0], {**new[1], "vector": [1.0]}]
        for items, message in (
            (plain, "fitted with vectors of its items"),
            ([new[0], plain[1]], "2 items and 1 rows"),
            (short, f"must have {vectors.shape[1]} dimensions"),
            (uneven, "cannot be used"),
        ):
            refused = client.post("/api/1/items", json={"items": items})
            assert 400 <= refused.status_code < 500
            assert message in refused.text
    with SemanticIndex.load(tmp_path / "i") as index:
        assert len(index) == 61
        rows = index.store.block_rows.rows(index.store.rows(["new", "4"]))
        assert (rows == index.model.block.rows(vectors[[1, 3]])).all()
