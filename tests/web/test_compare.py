"""What two indexes find for a text, next to each other."""

import pytest
from _support.explorer import BASE, make_index

from labelspan import LSI, SemanticIndex
from labelspan.errors import MissingData

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="install labelspan[app]")

from starlette.testclient import TestClient  # noqa: E402

from labelspan.web import Served, make_app  # noqa: E402

Q = {"q": "chess player", "k": 5}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """An index, and one by LSI of the same items and one more."""
    base = tmp_path_factory.mktemp("compare")
    first = make_index(base / "labels.labelspan")
    texts = [item.text for item in first.items()]
    other = SemanticIndex(estimator=LSI(8)).fit(texts, ids=first.ids)
    other.add(["chess player " * 3], ids=["late"]).save(base / "plain.labelspan")
    return base / "labels.labelspan", base / "plain.labelspan"


def client_of(served):
    return TestClient(make_app(served, watch=False), base_url=BASE)


def test_two_indexes_are_searched_by_meaning(folders):
    with client_of(Served(folders[0], compare_with=folders[1])) as client:
        found = client.get("/compare.json", params=Q).json()
        assert [side["name"] for side in found["sides"]] == ["labels", "plain"]
        assert [side["method"] for side in found["sides"]] == ["MLSI", "LSI"]
        assert [side["dimensions"] for side in found["sides"]] == [8, 8]
        ids = []
        for side, folder in zip(found["sides"], folders, strict=True):
            with SemanticIndex.load(folder) as index:
                hits = index.search(Q["q"], Q["k"], balance=1.0)
            ids.append([hit["id"] for hit in side["hits"]])
            assert ids[-1] == [hit.id for hit in hits]
            assert [hit["score"] for hit in side["hits"]] == pytest.approx(
                [hit.score for hit in hits], abs=1e-4
            )
        assert found["common"] == len(set(ids[0]) & set(ids[1]))
        for own, other, side in zip(ids, ids[::-1], found["sides"], strict=True):
            for name, hit in zip(own, side["hits"], strict=True):
                place = hit["elsewhere"]
                assert place is None if name not in other else other[place - 1] == name
        with SemanticIndex.load(folders[0]) as index:
            for hit in found["sides"][1]["hits"]:
                known = index.item(hit["id"]).labels if hit["here"] else None
                assert hit["labels"] == (None if known is None else list(known))
        late = next(hit for hit in found["sides"][1]["hits"] if hit["id"] == "late")
        assert not late["here"]
        page = client.get("/compare", params=Q).text
        assert 'href="/item?id=late"' not in page, "the index that is served does not have it"
        assert page.count("data-id=") == 10
        assert "only here" in page
        assert ">compare labels and plain</a>" in client.get("/search", params={"q": Q["q"]}).text


def test_the_other_index_must_be_there_and_is_followed(folders, tmp_path):
    with pytest.raises(MissingData):
        Served(folders[0], compare_with=tmp_path / "none")
    with pytest.raises(MissingData):
        Served(tmp_path / "none", compare_with=folders[1])
    make_index(tmp_path / "changing")
    served = Served(folders[0], compare_with=tmp_path / "changing")
    with client_of(served) as client:
        with SemanticIndex.load(tmp_path / "changing", write=True) as writer:
            writer.add(["chess player " * 3], ids=["late"])
        assert served._compared.look_again()
        found = client.get("/compare.json", params=Q).json()
        assert "late" in [hit["id"] for hit in found["sides"][1]["hits"]]
