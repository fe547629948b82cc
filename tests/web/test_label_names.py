"""Labels by any name, and their tree, as JSON."""

import pytest
from _support.explorer import BASE

pytest.importorskip("starlette", reason="install labelspan[app]")
from starlette.testclient import TestClient

from labelspan import SemanticIndex
from labelspan.corpus import Concept, LabelVocabulary
from labelspan.web import Served, make_app


def test_pages_show_the_tree_and_its_facets(tmp_path):
    texts = ["hill fort", "ring fort", "stone grave", "old grave", "a ship"]
    labels = [["forts"], ["forts"], ["graves"], ["graves"], ["ships"]]
    words = {
        "1": Concept("sites"),
        "2": Concept("graves", ("burials",), ("sites",)),
        "3": Concept("forts", (), ("sites",)),
    }
    index = SemanticIndex().fit(texts, labels).use_vocabulary(LabelVocabulary(words))
    index.save(tmp_path / "index")
    with TestClient(make_app(Served(tmp_path / "index"), watch=False), base_url=BASE) as client:
        page = client.get("/labels").text
        assert page.count('<ul class="tree">') == 2
        assert page.count("<li>") == page.count("</li>")
        assert page.count("<ul") == page.count("</ul>")
        assert "label=sites%2A" in page or "label=sites*" in page
        assert client.get("/labels.json?q=burial").json()["labels"] == {"graves": 2}
        found = client.get("/search.json", params={"label": "sites*"}).json()
        assert found["count"] == 4
        groups = {one["group"]: one for one in client.get("/search.json").json()["groups"]}
        assert (groups["sites"]["pattern"], groups["sites"]["count"]) == ("sites*", 4)
        assert groups["sites"]["labels"] == {"forts": 2, "graves": 2}
        assert groups[""]["labels"] == {"ships": 1}
        # Names below a group are shown whole; only what separates levels is left out elsewhere.
        assert "<bdi>graves</bdi>" in client.get("/search").text
