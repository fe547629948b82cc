"""How the explorer fails, answers many at once, and follows an index that changes."""

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from _support.closing import nothing_stays_open
from _support.explorer import BASE, client_of, make_index

from labelspan import SemanticIndex
from labelspan.errors import InvalidFile

testclient = pytest.importorskip("starlette.testclient", reason="install labelspan[test]")

from labelspan.answers.common import cached  # noqa: E402
from labelspan.web import Served, make_app  # noqa: E402
from labelspan.web import snapshot as snapshot_module  # noqa: E402
from labelspan.web.map_points import POINTS  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    with nothing_stays_open():
        yield


@pytest.fixture
def own(folder, tmp_path):
    """A copy of the index, to be changed."""
    return shutil.copytree(folder, tmp_path / "index")


def exploring(path):
    served = Served(path)
    return served, client_of(served)


# --- failures -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/search?q=chess", "/search.json?q=photo"])
def test_an_internal_error_reveals_no_details(client, monkeypatch, caplog, path):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("a secret in /some/path")

    monkeypatch.setattr(SemanticIndex, "browse", fail)
    answer = client.get(path)
    assert answer.status_code == 500
    assert "An error occurred in the server" in answer.text
    for word in ("secret", "/some/path", "Traceback", "ZeroDivision", "labelspan/"):
        assert word not in answer.text
    assert "a secret in /some/path" in caplog.text
    monkeypatch.undo()
    assert client.get(path).status_code == 200


def test_an_index_that_cannot_be_read_names_no_file(client, monkeypatch, caplog):
    def fail(*args, **kwargs):
        raise InvalidFile("/some/path/items.sqlite is damaged")

    monkeypatch.setattr(SemanticIndex, "items", fail)
    answer = client.get("/item", params={"id": "item6"})
    assert answer.status_code == 503
    assert "/some/path" not in answer.text
    assert "/some/path" in caplog.text


# --- many at once ---------------------------------------------------------------------------


def test_concurrent_searches_equal_single_ones(folder):
    queries = ["chess", "music radio", "photo", "zzz", "player"] * 8
    _, client = exploring(folder)
    with client, ThreadPoolExecutor(16) as pool:
        asked = [{"q": text, "balance": 40 + n} for n, text in enumerate(queries)]
        found = list(pool.map(lambda one: client.get("/search.json", params=one).json(), asked))
    with SemanticIndex.load(folder) as index:
        for one, answer in zip(asked, found, strict=True):
            single = index.browse(one["q"], balance=one["balance"] / 100)
            assert answer["count"] == single.total
            assert [hit["id"] for hit in answer["hits"]] == [hit.id for hit in single.page(1, 20)]


# --- the index changes ----------------------------------------------------------------------


def test_items_that_a_writer_adds_are_found(own):
    served, client = exploring(own)
    with client:
        assert served.look_again() is False
        with SemanticIndex.load(own, write=True) as writer:
            writer.add(["chess chess chess"], [["game"]], ["new"])
        assert client.get("/item?id=new").status_code == 404
        with served.lease() as before:
            assert served.look_again() is True
            # Who holds the old one can go on with it.
            assert before.index.search("chess", 1)
            assert "new" not in before.index
        assert client.get("/item?id=new").status_code == 200
        assert served.look_again() is False


def test_an_index_in_place_of_another_is_served(own):
    served, client = exploring(own)
    with client:
        make_index(own, count=30)
        assert client.get("/index.json").json()["items"] == 60
        assert served.look_again() is True
        assert client.get("/index.json").json()["items"] == 30


def test_a_damaged_index_is_not_taken_over(own, caplog):
    served, client = exploring(own)
    with client:
        manifest = (own / "manifest.json").read_bytes()
        (own / "manifest.json").write_bytes(manifest[:-20])
        assert served.look_again() is False
        assert served.look_again() is False
        assert caplog.text.count("the old one stays") == 1
        assert client.get("/search?q=chess").status_code == 200
        shutil.rmtree(own)
        assert served.look_again() is False
        assert client.get("/item?id=item6").status_code == 200


def test_the_background_task_draws_the_map_and_watches_the_index(own, monkeypatch):
    monkeypatch.setattr("labelspan.web.snapshot._SECONDS_BETWEEN_LOOKS", 0.02)
    app = make_app(Served(own))
    with testclient.TestClient(app, base_url=BASE) as client:

        def wait_for(what):
            end = time.monotonic() + 180
            while not what():
                assert time.monotonic() < end
                time.sleep(0.02)

        wait_for(lambda: client.get("/map.json").json()["state"] == "ready")
        with SemanticIndex.load(own, write=True) as writer:
            writer.add(["photo"], ids=["new"])
        wait_for(lambda: client.get("/item.json?id=new").status_code == 200)
        wait_for(lambda: "new" in client.get(POINTS).text)


def test_the_last_lists_are_kept_until_a_label_changes(own, monkeypatch):
    made = []
    browse = SemanticIndex.browse
    monkeypatch.setattr(
        SemanticIndex, "browse", lambda *given, **how: made.append(1) or browse(*given, **how)
    )
    served = Served(own, edit=True)
    with client_of(served) as client:
        for page in (1, 2, 1):
            assert client.get("/search.json", params={"page": page}).status_code == 200
        assert len(made) == 1
        index = served.editor.index
        index.relabel(index.ids[0], ["another"])
        client.get("/search.json")
        assert len(made) == 2
        for number in range(20):
            client.get("/search.json", params={"balance": number})
        client.get("/search.json")
        assert len(made) == 23, "the least recently used was dropped"


def test_what_is_made_while_labels_change_is_not_kept(own):
    with Served(own, edit=True) as served, served.lease() as snapshot:

        def make():
            snapshot.index.relabel(snapshot.index.ids[0], ["another"])
            return "old"

        assert cached(snapshot.index, "one", make) == "old"
        assert cached(snapshot.index, "one", lambda: "new") == "new"
        assert cached(snapshot.index, "one", lambda: "newer") == "new"


def test_one_thread_reports_however_often_labels_change(own):
    """Many edits leave one thread, which is at work for the newest labels."""
    with Served(own, edit=True) as served:
        served.start()
        index = served.editor.index
        for n in range(25):
            index.relabel(index.ids[:2], [[f"label{n}"]] * 2)
            with served.lease() as snapshot:
                snapshot.report()
            names = [one.name for one in threading.enumerate()]
            assert names.count("work") <= 1
        with served.lease() as snapshot:
            assert snapshot.report(60)["label24"].support == 2
            assert index.store.touched - index.tagger.learned <= 0.03 * len(index)


def test_a_map_is_drawn_again_when_items_change_meanwhile(own, monkeypatch):
    served, drawn = Served(own, edit=True), []
    draw = snapshot_module.draw_points

    def slow(index, *watching):
        drawn.append(len(index))
        if len(drawn) == 1:
            with served.changing_items():
                index.add(["one more"], [["game"]], ["new"])
            raise ValueError("items are not what they were")
        return draw(index, *watching)

    monkeypatch.setattr(snapshot_module, "draw_points", slow)
    with served, served.held() as snapshot:
        snapshot.make("map")
        assert snapshot.map_state == "ready"
        assert drawn == [drawn[0], drawn[0] + 1]
