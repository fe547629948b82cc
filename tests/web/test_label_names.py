"""Labels by any name, and their tree, as JSON."""

import pytest
from _support.explorer import BASE

pytest.importorskip("starlette", reason="install labelspan[app]")
from starlette.testclient import TestClient

from labelspan import SemanticIndex
from labelspan.corpus import Concept, LabelVocabulary
from labelspan.web import Served, make_app


def test_names_and_the_tree(tmp_path):
    texts = ["hill fort", "ring fort", "stone grave", "old grave"]
    index = SemanticIndex().fit(texts, [["forts"], ["forts"], ["graves"], ["graves", "sites"]])
    index.save(tmp_path / "plain")
    words = {"1": Concept("sites"), "2": Concept("graves", ("burials",), ("sites",))}
    index.use_vocabulary(LabelVocabulary(words)).save(tmp_path / "index")
    with TestClient(make_app(Served(tmp_path / "index"), watch=False), base_url=BASE) as client:
        found = client.get("/labels/complete.json", params={"q": "buri"}).json()
        assert found == {"labels": [{"label": "graves", "count": 2, "by": "burials"}]}
        assert client.get("/labels/complete.json", params={"n": 0}).status_code == 400
        tree = client.get("/labels/tree.json").json()["labels"]
        assert [(one["depth"], one["label"], one["count"], one["total"]) for one in tree] == [
            (0, "forts", 2, 2),
            (0, "sites", 1, 2),
            (1, "graves", 2, 2),
        ]
    with TestClient(make_app(Served(tmp_path / "plain"), watch=False), base_url=BASE) as client:
        assert client.get("/labels/tree.json").json() == {"labels": []}
        names = client.get("/labels/complete.json", params={"q": "GRA"}).json()["labels"]
        assert [one["label"] for one in names] == ["graves"]
